"""RAP's grid under both accountings and by several optimizers: every point is one run, and one line of JSON.

    python -m benchmarks.rap_accounting [--most SECONDS] [--optimizers NAME ...] [--seeds N] [--show] [--json FILE]

Each cell is charged for itself ("per-cell", as published) or for what one record changes ("joint"); otherwise both have
the same tables, start and random bits.  Optimizers: "default"; "published", which takes 40 to 60 CPU seconds a round;
"stand-in", 300 steps of the published relaxation at the falling rate 0.02, which comes near it in 1 to 3 seconds;
"before", the default until its start was changed.  Three-way marginals of Adult, records replaced, delta = 1 / n**2.

The most telling points come first.  Points that the file holds already are not run again, and none is begun after
``--most`` CPU seconds, so that a run that was stopped goes on where it was.  ``--show`` prints means over seeds.
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
from residualplanner.fits.rap import relaxed_records
from residualplanner.fits.rap.tiles import ThresholdTable

RESULTS = Path(__file__).parent / "results" / "rap_accounting.jsonl"
Settings = rp.fits.rap.ProjectionSettings
OPTIMIZERS = {
    "default": Settings(),
    "published": Settings.published(),
    "stand-in": Settings(relaxation="sparsemax", learning_rate=0.02),
    "before": Settings(),
}
ACCOUNTINGS = ("per-cell", "joint")
#: (T, K), by how much they tell.
GRID = ((1, 16), (1, 64), (4, 4), (4, 16), (16, 1), (16, 4), (1, 4), (4, 1), (4, 64), (16, 16), (16, 64))


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
    """Each setting for all seeds, accountings and cheap optimizers; then the published one."""
    places = [(epsilon, tables) for tables in (16, 4, 64, 1) for epsilon in (0.1, 1.0, 0.01)]
    cheap = [(one, other) for one in ACCOUNTINGS for other in ("default", "stand-in", "before")]
    cheap.remove(("per-cell", "before"))
    for (epsilon, tables), (rounds, choices), seed in product(places, GRID, range(seeds)):
        for sensitivity, optimizer in cheap:
            yield Point(epsilon, tables, rounds, choices, sensitivity, optimizer, seed)
    for (epsilon, tables), (rounds, choices), seed in product(places, GRID, range(seeds)):
        for sensitivity in ACCOUNTINGS:
            yield Point(epsilon, tables, rounds, choices, sensitivity, "published", seed)


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
    spread, start = relaxed_records.SPREAD, time.process_time()
    relaxed_records.SPREAD = 1.0 if point.optimizer == "before" else spread
    try:
        result = rp.fits.rap.rap(plan, case.codes, seed=point.seed)
    finally:
        relaxed_records.SPREAD = spread
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


def rows(lines: list[dict[str, Any]]) -> Iterator[str]:
    """The mean largest errors over the seeds, of each setting by accounting and optimizer, with how many there are."""
    found: dict[tuple[Any, ...], dict[tuple[str, str], list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        place = tuple(line[name] for name in ("tables", "epsilon", "rounds", "choices"))
        found[place][line["sensitivity"], line["optimizer"]].append(line)
    columns = [(one, other) for one in ACCOUNTINGS for other in OPTIMIZERS if (one, other) != ("per-cell", "before")]
    yield "| tables | epsilon | T | K | noise, per-cell and joint | " + " | ".join(map(", ".join, columns)) + " |"
    yield "|" + "---:|" * (5 + len(columns))
    for place, by in sorted(found.items()):
        lists = [by[one, "default"] or by[one, "published"] for one in ACCOUNTINGS]
        noise = ", ".join(f"{np.mean([line['noise'] for line in each]):.4f}" for each in lists if each)
        cells = [shown(by[column]) for column in columns]
        yield "| " + " | ".join([*map(str, place), noise, *cells]) + " |"


def shown(lines: list[dict[str, Any]]) -> str:
    if not lines:
        return ""
    error, seconds = (float(np.mean([line[name] for line in lines])) for name in ("largest", "cpu_seconds"))
    return f"{error:.3f} ({len(lines)} seeds, {seconds:.1f} s)"


def main() -> int:
    parser = argparse.ArgumentParser(description="RAP's grid under both accountings.")
    parser.add_argument("--json", type=Path, default=RESULTS, help="lines are added to this file")
    parser.add_argument("--most", type=float, default=600.0, help="CPU seconds after which no run is begun")
    parser.add_argument("--optimizers", nargs="+", choices=list(OPTIMIZERS), default=list(OPTIMIZERS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--show", action="store_true", help="run nothing, and print the table")
    arguments = parser.parse_args()
    lines = [json.loads(line) for line in arguments.json.read_text().splitlines()] if arguments.json.exists() else []
    if arguments.show:
        print("\n".join(rows(lines)))
        return 0
    done = {Point(*(line[name] for name in asdict(Point(0, 0, 0, 0, "", "", 0)))) for line in lines}
    with arguments.json.open("a") as file:
        for point in points(arguments.seeds):
            if time.process_time() > arguments.most:
                break
            if point not in done and point.optimizer in arguments.optimizers:
                file.write(json.dumps(run(point)) + "\n")
                file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
