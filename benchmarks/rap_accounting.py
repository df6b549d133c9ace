"""RAP's grid under both accountings and by several optimizers: every point is one run, and one line of JSON.

    python -m benchmarks.rap_accounting [--optimizers NAME ...] [--tables N ...] [--accountings NAME ...] [--seeds N]
                                        [--epsilons E ...] [--cells N] [--most SECONDS] [--json FILE]
    python -m benchmarks.rap_accounting --show [--json FILE]      prints all means over seeds
    python -m benchmarks.rap_accounting --page [--json FILE]      prints the table of docs/adaptive-projection.md

Each cell is charged for itself ("per-cell", as published) or for what one record changes ("joint"); otherwise both have
the same tables, start and random bits.  With one cell a round they are the same, and such a run counts for both.
Optimizers: "default"; "published", which takes 10 to 60 CPU seconds a round; and "before", as in an earlier version,
with steps of 0.1 from logits that spread less.  Three-way marginals of Adult, records replaced, delta = 1 / n**2; other
optimizers than the default with 16 tables at epsilons of 0.1 and 1, the published one with all charged together, and
where T = 1 and K = 4 with other numbers of tables, too.

The most telling points come first.  Points that the file holds already are not run again, and none is begun after
``--most`` CPU seconds, so that a run that was stopped goes on where it was.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import residualplanner as rp
from benchmarks.rap_cases import adult_case, rap_answers
from benchmarks.rap_results import ACCOUNTINGS, SEEDS, BySeed, Ratio, charged_lines, mean, ratio
from residualplanner.fits.rap.tiles import ThresholdTable

RESULTS = Path(__file__).parent / "results" / "rap_accounting.jsonl"
Settings = rp.fits.rap.ProjectionSettings
OPTIMIZERS = {
    "default": Settings(),
    "published": Settings.published(),
    "before": Settings(learning_rate=0.1, spread=1.0),
}
#: Those that the default is compared with: it is to be as good as the better of them.
RIVALS = ("published", "before")
#: (T, K), by how much they tell; the last three with 16 tables alone, at 0.1 and 1.
GRID = ((1, 16), (1, 64), (4, 4), (4, 16), (16, 1), (16, 4), (1, 4), (4, 1), (1, 1), (4, 64), (16, 16), (16, 64))


@dataclass(frozen=True)
class Point:
    """One run to make: what its plan says, how it is fitted, and of which seed."""

    epsilon: float
    tables: int
    rounds: int
    choices: int
    sensitivity: str
    optimizer: str
    seed: int


def points(seeds: int) -> Iterator[Point]:
    """Each setting for all seeds and accountings: the default; the others with 16 tables; and the published one."""
    places = [(tables, epsilon) for tables in (16, 4, 64, 1) for epsilon in (0.1, 1.0, 0.01)]
    for optimizer in ("default", "before"):
        for (tables, epsilon), (rounds, choices) in product(places, GRID):
            if (tables == 16 and epsilon > 0.01) or (optimizer == "default" and rounds * choices <= 64):
                for seed, sensitivity in product(range(seeds), ACCOUNTINGS if choices > 1 else ACCOUNTINGS[:1]):
                    yield Point(epsilon, tables, rounds, choices, sensitivity, optimizer, seed)
    for (tables, epsilon), seed, sensitivity in product(places, range(seeds), ACCOUNTINGS):
        yield Point(epsilon, tables, 1, 4, sensitivity, "published", seed)
    for (rounds, choices), seed, epsilon in product(sorted(GRID), range(seeds), (0.1, 1.0)):
        yield Point(epsilon, 16, rounds, choices, "joint" if choices > 1 else "per-cell", "published", seed)


@cache
def truth(table: ThresholdTable) -> Any:
    return adult_case().truth(table)


def run(point: Point) -> dict[str, Any]:
    case = adult_case()
    plan = rp.fits.rap.RapPlan(
        case.workload(3, point.tables, point.seed),
        budget=case.budget(point.epsilon),
        neighbors="replace",
        rounds=point.rounds,
        choices=point.choices,
        sensitivity=point.sensitivity,
        projection=OPTIMIZERS[point.optimizer],
    )
    start = time.process_time()
    result = rp.fits.rap.rap(plan, case.codes, seed=point.seed)
    seconds, answers = time.process_time() - start, rap_answers(result)
    errors = [float(np.abs(answers(table) - truth(table)).max()) / case.records for table in plan.thresholds]
    return {
        **asdict(point),
        "largest": round(max(errors), 5),
        "mean_largest": round(float(np.mean(errors)), 5),
        "noise": round(float(result.rounds[-1].noise_variance) ** 0.5 / case.records, 6),
        "steps": sum(each.steps for each in result.rounds),
        "cpu_seconds": round(seconds, 2),
    }


#: A setting: the accounting, tables, epsilon, T and K.
Setting = tuple[Any, ...]


def by_setting(lines: list[dict[str, Any]], value: str = "largest") -> dict[Setting, dict[str, BySeed]]:
    """Of each setting and optimizer the errors, or something else that was written, by seed."""
    found: dict[Setting, dict[str, BySeed]] = defaultdict(lambda: defaultdict(dict))
    for line in lines:
        setting = tuple(line[name] for name in ("sensitivity", "tables", "epsilon", "rounds", "choices"))
        found[setting][line["optimizer"]][line["seed"]] = line[value]
    return dict(sorted(found.items()))


def everything(lines: list[dict[str, Any]]) -> Iterator[str]:
    """The mean largest errors over the seeds, with how many there are and the mean seconds."""
    errors, seconds = by_setting(lines), by_setting(lines, "cpu_seconds")
    yield f"| accounting | tables | epsilon | T | K | {' | '.join(OPTIMIZERS)} |"
    yield "|" + "---|" * (5 + len(OPTIMIZERS))
    for setting, by in errors.items():
        shown = (
            f"{mean(by[name]):.3f} ({len(by[name])} seeds, {mean(seconds[setting][name]):.1f} s)" if by[name] else ""
            for name in OPTIMIZERS
        )
        yield f"| {' | '.join(map(str, setting))} | {' | '.join(shown)} |"


def worst_of(by: dict[str, BySeed]) -> tuple[str, Ratio]:
    """The default's errors as multiples of those of the better of the others, on the seeds that both have."""
    ratios = {
        name: ratio(by["default"], by[name]) for name in RIVALS if len(by[name].keys() & by["default"].keys()) > 1
    }
    name = max(ratios, key=lambda each: ratios[each].mean)
    return name, ratios[name]


def page_rows(lines: list[dict[str, Any]]) -> Iterator[str]:
    """The table of docs/adaptive-projection.md: means of 16 tables over the seeds that all have, and the ratios."""
    errors = by_setting(lines)
    yield "| epsilon | T | K | per cell | together | published | before | times the better |"
    yield "|---|---|---|---|---|---|---|---|"
    for setting, by in errors.items():
        accounting, tables, *shown = setting
        if (accounting, tables) == ("joint", 16) and by["before"]:
            runs = [errors["per-cell", *setting[1:]]["default"], *(by[name] for name in ("default", *RIVALS))]
            means = [f"{mean(of_seeds(each)):.3f}" if each else "" for each in runs]
            name, found = worst_of(by)
            cells = *map(str, shown), *means, f"{found}; {name}, {found.less.seeds} seeds"
            yield f"| {' | '.join(cells)} |"


def of_seeds(runs: BySeed) -> BySeed:
    return {seed: error for seed, error in runs.items() if seed in SEEDS}


def main() -> int:
    parser = argparse.ArgumentParser(description="RAP's grid under both accountings.")
    parser.add_argument("--json", type=Path, default=RESULTS, help="lines are added to this file")
    parser.add_argument("--most", type=float, default=600.0, help="CPU seconds after which no run is begun")
    parser.add_argument("--optimizers", nargs="+", choices=list(OPTIMIZERS), default=list(OPTIMIZERS))
    parser.add_argument("--accountings", nargs="+", choices=ACCOUNTINGS, default=ACCOUNTINGS)
    parser.add_argument("--tables", nargs="+", type=int, default=[16, 4, 64, 1])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 1.0, 0.01])
    parser.add_argument("--cells", type=int, default=1024, help="settings with at most so many cells T K")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--show", action="store_true", help="run nothing, and print all means")
    parser.add_argument("--page", action="store_true", help="run nothing, and print the table of the page")
    asked = parser.parse_args()
    lines = charged_lines(asked.json) if asked.json.exists() else []
    if asked.show or asked.page:
        print("\n".join(page_rows(lines) if asked.page else everything(lines)))
        return 0
    done = {Point(*(line[name] for name in asdict(Point(0, 0, 0, 0, "", "", 0)))) for line in lines}
    wanted = (
        point
        for point in points(asked.seeds)
        if point.optimizer in asked.optimizers
        and point.sensitivity in asked.accountings
        and point.tables in asked.tables
        and point.epsilon in asked.epsilons
        and point.rounds * point.choices <= asked.cells
        and point not in done
    )
    with asked.json.open("a") as file:
        for point in wanted:
            if time.process_time() > asked.most:
                break
            file.write(json.dumps(run(point)) + "\n")
            file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
