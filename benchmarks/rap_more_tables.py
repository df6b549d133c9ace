"""The figures of the paper that introduced RAP, as far as they can be had: more tables, smaller epsilons, rounding.

    python -m benchmarks.rap_more_tables [EXPERIMENT ...] [--seeds N] [--json FILE]
    python -m benchmarks.rap_more_tables --page         prints the table of docs/rap-as-published.md

Experiments, all on Adult: privacy (Figure 2: 64 tables, by epsilon), more (Figures 3 and 4: up to all tables that the
paper's filter leaves, at epsilon 0.1 and 0.05), rounding (Figure 5b, at an epsilon at which RAP's own error does not
hide it), all (a run on all 20.9 million three-way cells); and of AK thresholds (Figures 7 and 8: r-of-4 thresholds of
at most a million queries, 4, 16 and 64 of them; a quarter of an hour of CPU time), many (256 of them, one seed) and
records (Figure 9: 500 and 2,000 relaxed records, 4 thresholds).  All but rounding and all are run in the published
accounting, each cell charged on its own; the first two with the part of the published grid of T and K that has at most
50 cells.  Points that the file holds already are not run again.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.rap_cases import adult_case
from benchmarks.rap_findings import FEM, FEM_MORE
from benchmarks.rap_grid import Point, run
from benchmarks.rap_results import FILES, best_setting, chosen, mean, runs_of

FILE = FILES[3]
#: (T, K) of the published grid (T of 2, 5, 10, 25, 50; K of 5, 10, 25, 50, 100).
SETTINGS = ((2, 5), (2, 25), (5, 5), (5, 10), (10, 5))
#: By the order of the tables: the epsilons of Figure 2, and the numbers of tables of Figures 3 and 4.  The filter of
#: the paper leaves 278 tables of three attributes and 156 of five, so that no more can be asked for.
EPSILONS = {3: (0.25, 0.2, 0.15, 0.1), 5: (1.0, 0.5, 0.25, 0.15, 0.1)}
TABLES = {3: (64, 128, 278), 5: (64, 128, 156)}
#: By the number of thresholds (T, K) of AK's grid: T of 1 to 64, K of 4 to 256.
THRESHOLDS = {4: ((4, 4), (4, 16), (16, 4), (16, 16)), 16: ((4, 4), (4, 16), (16, 4), (16, 16))}
THRESHOLDS |= {64: ((4, 4), (4, 16), (16, 4)), 256: ((16, 4),)}


def privacy(seed: int) -> Iterator[Point]:
    for order, epsilons in EPSILONS.items():
        for epsilon in epsilons:
            yield from _settings(Point("privacy", order, order, epsilon, 64, filtered=True, seed=seed))


def more(seed: int) -> Iterator[Point]:
    for order, numbers in TABLES.items():
        for epsilon in (0.1, 0.05):
            for tables in numbers:
                yield from _settings(Point("more", order, order, epsilon, tables, filtered=True, seed=seed))


def _settings(point: Point) -> Iterator[Point]:
    for rounds, choices in SETTINGS:
        yield replace(point, rounds=rounds, choices=choices, sensitivity="per-cell")
    yield replace(point, method="zero")


def rounding(seed: int) -> Iterator[Point]:
    for oversample in (None, 1, 2, 5, 10, 50):
        yield Point("rounding", epsilon=1.0, rounds=16, choices=4, oversample=oversample, seed=seed)


def every(seed: int) -> Iterator[Point]:
    yield Point("all", tables=364, rounds=4, choices=4, seed=seed)


def thresholds(seed: int) -> Iterator[Point]:
    yield from _thresholds(Point("thresholds", 4, max_cells=10**6, seed=seed), (4, 16, 64))


def many(seed: int) -> Iterator[Point]:
    if seed == 0:
        yield from _thresholds(Point("thresholds", 4, max_cells=10**6, seed=seed), (256,))


def _thresholds(point: Point, numbers: Sequence[int]) -> Iterator[Point]:
    """RAP and Gaussian noise, each cell charged on its own, and answering 0."""
    for tables, at_least in product(numbers, (4, 3, 2, 1)):
        here = replace(point, at_least=at_least, tables=tables)
        for rounds, choices in THRESHOLDS[tables]:
            yield replace(here, rounds=rounds, choices=choices, sensitivity="per-cell")
        yield replace(here, method="zero")
        yield replace(here, method="gaussian", sensitivity="per-cell")


def records(seed: int) -> Iterator[Point]:
    for at_least, relaxed in product((4, 3, 2, 1), (500, 2000)):
        yield Point(
            "records", 4, at_least, tables=4, sensitivity="per-cell", relaxed=relaxed, max_cells=10**6, seed=seed
        )


EXPERIMENTS = {
    "thresholds": thresholds,
    "many": many,
    "records": records,
    "all": every,
    "privacy": privacy,
    "more": more,
    "rounding": rounding,
}
HEAD = "| attributes, tables | epsilon | RAP | best T, K | answering 0 | FEM, by its authors | Figure |"


def page_rows(points: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The table of the page: means over seeds, and their range."""
    yield HEAD
    yield "|---" * (HEAD.count("|") - 1) + "|"
    fem = FEM | FEM_MORE
    for order, numbers in TABLES.items():
        for epsilon in dict.fromkeys((*EPSILONS[order], 0.05)):
            for tables in numbers if epsilon <= 0.1 else (64,):
                experiment = "more" if epsilon <= 0.1 else "privacy"
                wanted = {"experiment": experiment, "order": order, "tables": tables, "epsilon": epsilon}
                runs = runs_of(points, **wanted)
                rounds, choices = best_setting(runs)
                zero = {point["seed"]: point["largest"] for point in chosen(points, method="zero", **wanted)}
                other = [
                    (number, error)
                    for (each, number, at), error in fem.items()
                    if (each, at) == (order, epsilon) and (number == tables or number > 128 < tables)
                ]
                cells = (
                    f"{order}, {tables}",
                    f"{epsilon:g}",
                    with_range(runs[rounds, choices]),
                    f"{rounds}, {choices}",
                    f"{mean(zero):.3f}",
                    ", ".join(f"{error:.3f}" + f" ({number:,})" * (number != tables) for number, error in other) or "-",
                    "2" if epsilon > 0.1 else "4" if epsilon < 0.1 else "2, 3" if tables == 64 else "3",
                )
                yield f"| {' | '.join(cells)} |"


def with_range(runs: dict[int, float]) -> str:
    if len(runs) == 1:
        return f"{mean(runs):.3f}"
    return f"{mean(runs):.3f} ({min(runs.values()):.3f} to {max(runs.values()):.3f})"


def main() -> int:
    parser = argparse.ArgumentParser(description="The figures of the paper that introduced RAP.")
    parser.add_argument("experiments", nargs="*", help=f"some of {list(EXPERIMENTS)}; all by default")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--page", action="store_true", help="print the table of the page")
    parser.add_argument("--json", type=Path, default=FILE, help="lines are added to this file")
    arguments = parser.parse_args()
    have = [json.loads(line) for line in arguments.json.read_text().splitlines()] if arguments.json.exists() else []
    if arguments.page:
        print("\n".join(page_rows(have)))
        return 0
    done = {json.dumps({name: each[name] for name in asdict(Point(""))}, sort_keys=True) for each in have}
    with arguments.json.open("a") as file:
        for seed in range(arguments.seeds):
            for experiment in arguments.experiments or EXPERIMENTS:
                for point in EXPERIMENTS[experiment](seed):
                    key = json.dumps(asdict(point), sort_keys=True)
                    if key not in done:
                        file.write(json.dumps(run(point, adult_case())) + "\n")
                        file.flush()
                        done.add(key)
    return 0


if __name__ == "__main__":
    sys.exit(main())
