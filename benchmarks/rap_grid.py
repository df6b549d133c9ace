"""The published experiments with RAP, at reduced repetitions: every point is one run, and one line of JSON.

    python -m benchmarks.rap_grid [EXPERIMENT ...] [--seeds N] --json FILE

Experiments: sizes (X6, X7), filter (X7, with --seeds 6), baselines (X11), fem (X1), small (X2), rounding (X3),
relaxed (X4), nonadaptive (F7), tables (ours), optimizer (F12).  Thresholds (X8) are in `benchmarks.rap_more_tables`.
Points that the file holds already are not run again, so that a run that was stopped goes on where it was;
`benchmarks.rap_findings` judges them.  What two seeds cannot decide is repeated by

    python -m benchmarks.rap_grid repeated --seeds 3 --json benchmarks/results/rap_grid.jsonl

The papers repeat each setting with several seeds and larger grids (T and K up to 64 and 256); this program runs the
part of the grid that two slow cores can do in an hour.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import residualplanner as rp
from benchmarks.rap_cases import Case, adult_case, all_zero, counts_of, errors, gaussian, rap_answers, residual_planner
from residualplanner.fits.mixtures.mixture import Mixture
from residualplanner.fits.rap.tiles import ThresholdTable, thresholds_of

ALL_RECORDS = 48_842
METHODS = (("zero", "joint"), ("gaussian", "joint"), ("gaussian", "per-cell"), ("residual planner", "joint"))
FEW = ((1, 4), (1, 16), (4, 4), (4, 16))
GRID = [(rounds, choices) for rounds in (1, 4, 16) for choices in (1, 4, 16, 64)]


@dataclass(frozen=True)
class Point:
    """One run to make.

    Attributes:
        experiment: to which it belongs.
        order, at_least: k and r of its tables.
        epsilon: at delta = 1 / n**2.
        tables: how many.
        filtered: whether tables have at most as many cells as there are records.
        method: "rap", "zero", "gaussian", "residual planner".
        rounds, choices, unit, sensitivity, relaxed: of RAP; choices None measures everything.
        oversample: records that are rounded from each relaxed one; None for the relaxed ones themselves.
        max_cells: of each table.
        most_steps, stops, relaxation: of the fits, and whether they stop at the noise.
        seed: of the workload, the start and the noise.
    """

    experiment: str
    order: int = 3
    at_least: int = 3
    epsilon: float = 0.1
    tables: int = 64
    filtered: bool = False
    method: str = "rap"
    rounds: int = 16
    choices: int | None = 4
    unit: str = "cell"
    sensitivity: str = "joint"
    relaxed: int = 1000
    oversample: int | None = None
    max_cells: int | None = None
    most_steps: int = 300
    stops: bool = True
    relaxation: str = "softmax"
    seed: int = 0


def points_of(experiment: str, seed: int) -> Iterator[Point]:
    yield from EXPERIMENTS[experiment](seed)


def sizes(seed: int) -> Iterator[Point]:
    for tables in (1, 4, 16, 64):
        for epsilon in (0.1, 1.0, 0.01):
            for filtered in (False, True):
                for rounds, choices in GRID:
                    if rounds * choices <= 256:
                        yield Point("sizes", 3, 3, epsilon, tables, filtered, "rap", rounds, choices, seed=seed)


def filters(seed: int) -> Iterator[Point]:
    """Few settings of `sizes`, for many seeds: what the filter does by the number of tables."""
    for point in sizes(seed):
        if point.tables <= 16 and (point.rounds, point.choices) in FEW:
            yield replace(point, experiment="filter")


def fem(seed: int) -> Iterator[Point]:
    for order, epsilons in ((3, (0.25, 0.2, 0.15, 0.1)), (5, (1.0, 0.5, 0.25, 0.15, 0.1))):
        for epsilon in epsilons:
            for rounds, choices in ((4, 4), (8, 4), (4, 16)):
                yield Point("fem", order, order, epsilon, 64, filtered=True, rounds=rounds, choices=choices, seed=seed)


def small(seed: int) -> Iterator[Point]:
    for method, sensitivity in (("gaussian", "joint"), ("residual planner", "joint")):
        yield Point("small", tables=15, max_cells=8_000, method=method, sensitivity=sensitivity, seed=seed)
    for rounds, choices in ((4, 4), (8, 4), (16, 4), (4, 16)):
        yield Point("small", tables=15, max_cells=8_000, rounds=rounds, choices=choices, seed=seed)


def rounding(seed: int) -> Iterator[Point]:
    for oversample in (None, 1, 2, 5, 10, 50):
        yield Point("rounding", rounds=4, choices=4, oversample=oversample, seed=seed)


def relaxed(seed: int) -> Iterator[Point]:
    for records in (100, 300, 1000, 3000):
        yield Point("relaxed", rounds=8, choices=4, relaxed=records, seed=seed)


def nonadaptive(seed: int) -> Iterator[Point]:
    for tables in (1, 4, 16):
        for epsilon in (0.01, 0.1):
            yield Point(
                "nonadaptive",
                3,
                3,
                epsilon,
                tables,
                rounds=1,
                choices=None,
                sensitivity="per-cell",
                relaxed=200,
                seed=seed,
            )


def whole_tables(seed: int) -> Iterator[Point]:
    for tables in (16, 64):
        for epsilon in (0.1, 1.0, 0.01):
            for rounds, choices in ((1, None), (4, 4)):
                yield Point(
                    "tables", 3, 3, epsilon, tables, False, "rap", rounds, choices, "table", relaxed=300, seed=seed
                )


def baselines(seed: int) -> Iterator[Point]:
    for tables in (1, 4, 16, 64):
        for epsilon in (0.1, 1.0, 0.01):
            for method, sensitivity in METHODS:
                yield Point("baselines", 3, 3, epsilon, tables, method=method, sensitivity=sensitivity, seed=seed)


def optimizer(seed: int) -> Iterator[Point]:
    """Other fits at the best settings of `sizes`: what the optimizer does to the errors."""
    for epsilon, rounds, choices in ((0.1, 4, 4), (0.01, 4, 1)):
        for relaxation, steps in (("softmax", 300), ("softmax", 1000), ("sparsemax", 1000)):
            yield Point(
                "optimizer",
                3,
                3,
                epsilon,
                16,
                rounds=rounds,
                choices=choices,
                most_steps=steps,
                stops=False,
                relaxation=relaxation,
                seed=seed,
            )


def repeated(seed: int) -> Iterator[Point]:
    """What is to have three seeds, the cheapest first; of `sizes` all tables, not the filtered ones."""
    for cheap in (relaxed, fem, small, rounding, nonadaptive, baselines):
        yield from cheap(seed)
    yield from (point for point in sizes(seed) if not point.filtered)


EXPERIMENTS = {
    "sizes": sizes,
    "filter": filters,
    "baselines": baselines,
    "fem": fem,
    "small": small,
    "rounding": rounding,
    "relaxed": relaxed,
    "nonadaptive": nonadaptive,
    "tables": whole_tables,
    "optimizer": optimizer,
    "repeated": repeated,
}


def run(point: Point, case: Case) -> dict[str, Any]:
    """Make a run, and compare its answers with the truth."""
    limit = ALL_RECORDS if point.filtered else point.max_cells
    workload = case.workload(point.order, point.tables, point.seed, at_least=point.at_least, max_cells=limit)
    tables, start, steps = thresholds_of(workload), time.process_time(), 0
    if point.method == "gaussian":
        rho = case.rho(point.epsilon)
        answers = gaussian(case, workload, rho, sensitivity=point.sensitivity, neighbors="replace", seed=point.seed)
    elif point.method == "zero":
        answers = all_zero
    elif point.method == "residual planner":
        answers = residual_planner(case, workload, case.budget(point.epsilon), neighbors="replace", seed=point.seed)
    else:
        plan = rp.fits.rap.RapPlan(
            workload,
            budget=case.budget(point.epsilon),
            neighbors="replace",
            rounds=point.rounds,
            choices=point.choices,
            unit=point.unit,
            sensitivity=point.sensitivity,
            projection=rp.fits.rap.ProjectionSettings(
                relaxed_records=point.relaxed,
                relaxation=point.relaxation,
                steps=point.most_steps,
                stops_at_noise=point.stops,
            ),
        )
        result = rp.fits.rap.rap(plan, case.codes, seed=point.seed)
        steps = sum(each.steps for each in result.rounds)
        answers = rap_answers(result)
        if point.oversample is not None:
            answers = rounded_answers(case, result.records.mixture, point.oversample, point.seed)
    seconds = time.process_time() - start
    return {**asdict(point), **asdict(errors(case, tables, answers)), "cpu_seconds": round(seconds, 2), "steps": steps}


def rounded_answers(case: Case, mixture: Mixture, oversample: int, seed: int) -> Any:
    """Answers of records drawn from the mixture, so many for each of its components."""
    generator, count = np.random.default_rng(seed), mixture.classes * oversample
    columns = []
    for attribute in range(len(case.domain)):
        ends = np.repeat(np.cumsum(mixture.of_attribute(attribute), axis=0), oversample, axis=1)
        drawn = (ends < generator.random(count)).sum(axis=0)
        columns.append(np.minimum(drawn, case.domain.sizes[attribute] - 1))
    codes = np.array(columns)

    def answers(table: ThresholdTable) -> Any:
        return table.answers(counts_of(codes, case.domain, table.positions)) * (case.records / count)

    return answers


def main() -> int:
    parser = argparse.ArgumentParser(description="The published experiments with RAP.")
    parser.add_argument("experiments", nargs="*", help=f"some of {list(EXPERIMENTS)}; all by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--json", type=Path, required=True, help="lines are added to this file")
    arguments = parser.parse_args()
    have = [json.loads(line) for line in arguments.json.read_text().splitlines()] if arguments.json.exists() else []
    default = asdict(Point(""))
    done = {json.dumps({name: each.get(name, default[name]) for name in default}, sort_keys=True) for each in have}
    with arguments.json.open("a") as file:
        for seed in range(arguments.seeds):
            for experiment in arguments.experiments or EXPERIMENTS:
                for point in points_of(experiment, seed):
                    key = json.dumps(asdict(point), sort_keys=True)
                    if key not in done:
                        file.write(json.dumps(run(point, adult_case())) + "\n")
                        file.flush()
                        done.add(key)
    return 0


if __name__ == "__main__":
    sys.exit(main())
