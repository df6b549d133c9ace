"""RAP rebuilt from the papers' text and the published code, apart from this library's mechanism and optimizer.

    python -m benchmarks.rap_rebuilt [--seeds N] [--json FILE]     runs what the file does not hold already
    python -m benchmarks.rap_rebuilt --page                        prints what stands on docs/rap-as-published.md

On 16 random three-way tables of Adult, as in Avent and Korolova ("AK"): each cell charged on its own, one-shot
selection by Gumbel noise, Adam at the constant rate 1e-4 sqrt(batch) on relaxed records that start uniform and are
projected on the simplices after each step, at most 5,000 epochs, and an end at the first epoch that lowers the mean
square by less than 1e-9; noisy answers are clipped to [0, 1].

AK's code removes the cells that were chosen before from the answers of a table, selects in what is left, and uses the
numbers found there for the whole table.  So from the second round on it measures the neighbors of the cells that it
chose, by as many places as were removed before them, and may measure a cell again.  ``index="shifted"`` does the same;
``"right"`` measures what was chosen.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rap_cases import adult_case
from residualplanner.fits.mixtures.mixture import OneHot
from residualplanner.fits.rap.relaxed_records import RelaxedRecords, sparsemax
from residualplanner.fits.rap.tiles import ThresholdTable, thresholds_of

FILE = Path(__file__).parent / "results" / "rap_rebuilt.jsonl"
TABLES, FEWER = 16, 250
#: Adam's constants, and those of the published fits.
FIRST, SECOND, SMALL = 0.9, 0.999, 1e-8
RATE, EPOCHS, TOLERANCE = 1e-4, 5_000, 1e-9
Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Point:
    """One run.

    Attributes:
        epsilon: at delta = 1 / n**2.
        rounds, choices: T and K.
        index: "right" or "shifted".
        clips: whether noisy answers are clipped to [0, 1].
        records: relaxed ones.
        seed: of the workload, the start and the noise.
    """

    epsilon: float
    rounds: int
    choices: int
    index: str = "right"
    clips: bool = True
    records: int = 1000
    seed: int = 0


def points(seed: int) -> Iterator[Point]:
    """Clipped and not, at the published number of relaxed records; and both indices, with fewer, as they cost much."""
    if seed < 3:
        yield from (Point(0.01, 1, 4, clips=clips, seed=seed) for clips in (True, False))
    for rounds, choices, index in ((1, 16, "right"), (4, 4, "right"), (4, 4, "shifted")):
        yield Point(0.1, rounds, choices, index, records=FEWER, seed=seed)


@cache
def workload(seed: int) -> list[tuple[ThresholdTable, NDArray[np.float64]]]:
    """Each table, and the true fractions of its cells."""
    case = adult_case()
    tables = thresholds_of(case.workload(3, TABLES, seed))
    return [(table, case.truth(table).ravel() / case.records) for table in tables]


class Fit:
    """Relaxed records (rows, records), moved towards the noisy answers of cells."""

    def __init__(self, sizes: Sequence[int], records: int, generator: np.random.Generator) -> None:
        self.blocks = OneHot(tuple(sizes))
        self.values: Floats = sparsemax(generator.random((self.blocks.count, records), dtype=np.float32), self.blocks)

    def rows_of(self, table: ThresholdTable, cell: int) -> list[int]:
        codes = np.unravel_index(cell, table.shape)
        return [self.blocks.rows(i).start + int(code) for i, code in zip(table.positions, codes, strict=True)]

    def fit(self, rows: Integers, targets: NDArray[np.float64]) -> int:
        """Move them until an epoch gains too little.  Gives the number of epochs."""
        used = np.unique(rows)
        moved = [i for i in range(len(self.blocks.sizes)) if np.isin(used, range_of(self.blocks, i)).any()]
        where = np.searchsorted(used, rows)
        mean, square = (np.zeros_like(self.values[used]) for _ in range(2))
        rate, before = RATE * math.sqrt(len(targets)), math.inf
        for epoch in range(1, EPOCHS + 1):
            slope = self.slope(self.values[used], where, targets)
            mean = FIRST * mean + np.float32(1 - FIRST) * slope
            square = SECOND * square + np.float32(1 - SECOND) * slope**2
            step = np.sqrt(square / np.float32(1 - SECOND**epoch)) + np.float32(SMALL)
            self.values[used] -= np.float32(rate / (1 - FIRST**epoch)) * mean / step
            for i in moved:
                project(self.values[self.blocks.rows(i)])
            loss = float(np.mean((self.answers(rows) - targets) ** 2))
            if before - loss < TOLERANCE:
                return epoch
            before = loss
        return EPOCHS

    def answers(self, rows: Integers) -> NDArray[np.float64]:
        found: Floats = self.values[rows].prod(axis=1).mean(axis=1)
        return found.astype(np.float64)

    def slope(self, values: Floats, where: Integers, targets: NDArray[np.float64]) -> Floats:
        """The gradient of the mean square by the rows that cells are made of."""
        factors = [values[each] for each in where.T]
        off = (factors[0] * factors[1] * factors[2]).mean(axis=1) - targets
        weights = (2 * off / len(targets) / values.shape[1]).astype(np.float32)[:, None]
        found = np.zeros_like(values)
        for axis in range(3):
            one, other = (factors[i] for i in range(3) if i != axis)
            for row, slope in zip(where[:, axis], weights * one * other, strict=True):
                found[row] += slope
        return found


def range_of(blocks: OneHot, attribute: int) -> Integers:
    return np.arange(blocks.count)[blocks.rows(attribute)]


def project(points: Floats) -> None:
    """Put each column on the simplex, at the nearest point: Newton's steps, of columns that still change."""
    threshold = (points.sum(axis=0) - 1) / np.float32(len(points))
    # Where the sum is above 1 the threshold is above 0: what is not positive drops out at once.
    positive = np.maximum(points, 0)
    of_positive = (positive.sum(axis=0) - 1) / (points > 0).sum(axis=0, dtype=np.float32)
    threshold = np.where(of_positive > 0, of_positive, threshold)
    left = np.arange(points.shape[1])
    while left.size:
        part = np.maximum(points[:, left] - threshold[left], 0)
        change = (part.sum(axis=0) - 1) / (part > 0).sum(axis=0, dtype=np.float32)
        threshold[left] += np.maximum(change, 0)
        left = left[change > np.float32(2e-7)]
    np.maximum(points - threshold, 0, out=points)


def run(point: Point) -> dict[str, Any]:
    """All rounds, and the largest error over all cells."""
    case, started = adult_case(), time.process_time()
    tables, generator = workload(point.seed), np.random.default_rng([point.seed, 1])
    fit, rho = Fit(case.domain.sizes, point.records, generator), case.rho(point.epsilon) / point.rounds
    # Half of a round's rho selects, by Gumbel noise for K choices; half answers K cells: the scale is the same.
    scale = math.sqrt(point.choices / rho) / case.records
    chosen: list[list[int]] = [[] for _ in tables]
    rows: list[list[int]] = []
    targets: list[float] = []
    epochs = []
    for _ in range(point.rounds):
        for number, cell in selected(fit, tables, chosen, point, scale, generator):
            answer = tables[number][1][cell] + scale * generator.standard_normal()
            targets.append(min(max(answer, 0.0), 1.0) if point.clips else answer)
            rows.append(fit.rows_of(tables[number][0], cell))
            chosen[number].append(cell)
        epochs.append(fit.fit(np.array(rows), np.array(targets)))
    worst = max(float(np.abs(off).max()) for off in errors(fit, tables))
    again = sum(len(each) - len(set(each)) for each in chosen)
    seconds = round(time.process_time() - started, 1)
    return {**asdict(point), "largest": round(worst, 5), "again": again, "epochs": epochs, "cpu_seconds": seconds}


def errors(fit: Fit, tables: Sequence[tuple[ThresholdTable, NDArray[np.float64]]]) -> list[NDArray[np.float64]]:
    records = RelaxedRecords(fit.blocks, fit.values)
    return [truth - records.fractions(table).ravel() for table, truth in tables]


def selected(
    fit: Fit,
    tables: Sequence[tuple[ThresholdTable, NDArray[np.float64]]],
    chosen: Sequence[Sequence[int]],
    point: Point,
    scale: float,
    generator: np.random.Generator,
) -> list[tuple[int, int]]:
    """K cells that are answered worst, up to noise: the number of the table, and the cell that will be measured."""
    found = []
    for number, (off, before) in enumerate(zip(errors(fit, tables), chosen, strict=True)):
        left = np.delete(np.arange(len(off)), before)
        noisy = np.abs(off[left]) + scale * generator.gumbel(size=len(left))
        top = np.argpartition(noisy, -min(point.choices, len(noisy)))[-point.choices :]
        cells = left[top] if point.index == "right" else top
        found += [(float(noisy[place]), number, int(cell)) for place, cell in zip(top, cells, strict=True)]
    return [(number, cell) for _, number, cell in sorted(found, reverse=True)[: point.choices]]


def results(path: Path = FILE) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def page_rows(found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The table of the page: the mean of the largest errors, with its standard error over seeds."""
    yield "| T, K | measured | largest error | measured again | epochs of a round |"
    yield "|---|---|---|---|---|"
    for rounds, choices, index in ((1, 16, "right"), (4, 4, "right"), (4, 4, "shifted")):
        runs = wanted_of(found, epsilon=0.1, rounds=rounds, choices=choices, index=index)
        epochs = [each for run in runs for each in run["epochs"]]
        what = "the chosen cells" if index == "right" else "their neighbors, as by the code"
        again = sum(run["again"] for run in runs)
        yield (
            f"| {rounds}, {choices} | {what} | {with_error(runs)} | {again} of {rounds * choices * len(runs)} | "
            f"{min(epochs):,} to {max(epochs):,} |"
        )


def wanted_of(found: Sequence[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    return [each for each in found if all(each[name] == value for name, value in wanted.items())]


def by_seed(found: Sequence[dict[str, Any]], **wanted: Any) -> dict[int, float]:
    """The largest errors of the runs that are wanted."""
    return {each["seed"]: each["largest"] for each in wanted_of(found, **wanted)}


def mean_of(found: Sequence[dict[str, Any]], **wanted: Any) -> str:
    """The mean of the runs that are wanted, and its standard error."""
    return with_error(wanted_of(found, **wanted))


def with_error(runs: Sequence[dict[str, Any]]) -> str:
    errors = np.array([run["largest"] for run in runs])
    return f"{errors.mean():.3f} ± {errors.std(ddof=1) / math.sqrt(len(errors)):.3f}"


def main() -> int:
    parser = argparse.ArgumentParser(description="RAP rebuilt from the papers and the published code.")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--page", action="store_true", help="print the table of the page")
    parser.add_argument("--json", type=Path, default=FILE, help="lines are added to this file")
    arguments = parser.parse_args()
    have = results(arguments.json) if arguments.json.exists() else []
    if arguments.page:
        print("\n".join(page_rows(have)))
        return 0
    done = [{name: each[name] for name in asdict(Point(0, 0, 0))} for each in have]
    with arguments.json.open("a") as file:
        for point in (point for seed in range(arguments.seeds) for point in points(seed)):
            if asdict(point) not in done:
                file.write(json.dumps(run(point)) + "\n")
                file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
