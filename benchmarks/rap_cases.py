"""Data sets, workloads, baselines and errors for the benchmarks of RAP.

Errors are fractions of all records, compared with the truth: they are not private, and are computed here only.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

import residualplanner as rp
from residualplanner.datasets import adult
from residualplanner.fits.rap.tiles import ThresholdTable, thresholds_of
from residualplanner.gate.sources.counting import CountedTables
from residualplanner.more.queries.thresholds import threshold_map, threshold_probability

Array = NDArray[np.float64]
#: Columns of loans that are empty for most of them.
MOSTLY_EMPTY = ("settlement_", "debt_settlement_", "pub_rec", "collection_recovery_fee", "recoveries")
MOSTLY_EMPTY += ("delinq_amnt", "mths_since_last_record", "next_pymnt_d")


def counts_of(columns: NDArray[Any], domain: rp.Domain, positions: Sequence[int]) -> NDArray[np.int64]:
    """The counts of the table over some attributes."""
    counts = CountedTables(domain.sizes, [np.array([positions])])
    counts.add(columns, None)
    return counts.tables[0][0]


@dataclass(frozen=True, eq=False)
class Case:
    """Records to answer queries about.

    Attributes:
        name: of the data set; "loans_like" are stand-in records on the schema of Loans.
        domain: the schema.
        codes (records, d): of the values.
    """

    name: str
    domain: rp.Domain
    codes: NDArray[np.int64]

    @property
    def records(self) -> int:
        return len(self.codes)

    def rho(self, epsilon: float) -> float:
        """The zCDP of the papers, epsilon = rho + 2 sqrt(rho ln(1/delta)), at delta = 1 / n**2."""
        log = 2 * math.log(self.records)
        return (epsilon / (math.sqrt(log + epsilon) + math.sqrt(log))) ** 2

    def budget(self, epsilon: float) -> rp.privacy.Budget:
        return rp.zcdp(repr(self.rho(epsilon)))

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        return np.ascontiguousarray(self.codes.T)

    def truth(self, table: ThresholdTable) -> NDArray[np.int64]:
        """The exact counts of a table."""
        return np.asarray(table.answers(counts_of(self.columns, self.domain, table.positions)))

    def sets(self, order: int, max_cells: int | None = None) -> list[tuple[str, ...]]:
        """All sets of so many attributes whose table has at most so many cells."""
        found = combinations(self.domain.names, order)
        return [names for names in found if max_cells is None or self.domain.cells(names) <= max_cells]

    def workload(
        self, order: int, count: int, seed: int, *, at_least: int | None = None, max_cells: int | None = None
    ) -> rp.Workload:
        """So many random tables of an order."""
        sets = self.sets(order, max_cells)
        chosen = np.random.default_rng(seed).permutation(len(sets))[:count]
        return self.workload_of([sets[number] for number in chosen], order if at_least is None else at_least)

    def workload_of(self, sets: Sequence[tuple[str, ...]], at_least: int) -> rp.Workload:
        return rp.Workload(self.domain, [rp.Threshold(names, min(at_least, len(names))) for names in sets])


@cache
def adult_case() -> Case:
    domain, path = adult()
    table = pq.read_table(path)
    codes = []
    for attribute in domain.attributes:
        number = {label: code for code, label in enumerate(attribute.value_labels)}
        codes.append([number[label] for label in table[attribute.name].to_pylist()])
    return Case("adult", domain, np.array(codes, dtype=np.int64).T)


def loans_like(schema: Path, *, records: int = 42_535, seed: int = 0) -> Case:
    """Stand-in records on a schema (a JSON object of sizes): 30 latent classes, as section A12 of the spec says."""
    sizes: dict[str, int] = json.loads(schema.read_text())
    generator = np.random.default_rng(seed)
    weights = 1 / np.arange(1, 31)
    classes = generator.choice(30, records, p=weights / weights.sum())
    codes = np.empty((records, len(sizes)), dtype=np.int64)
    for column, (name, size) in enumerate(sizes.items()):
        is_empty = name.startswith(MOSTLY_EMPTY)
        for number in range(30):
            members = np.flatnonzero(classes == number)
            masses = 0.4 * generator.dirichlet(np.full(size, 0.05))
            masses[generator.integers(size)] += 0.6
            if is_empty:
                masses *= 0.1
                masses[0] += 0.9
            codes[members, column] = generator.choice(size, len(members), p=masses / masses.sum())
    return Case("loans_like", rp.Domain(sizes), codes)


@dataclass(frozen=True)
class Errors:
    """How far answers are from the truth, as fractions of all records.

    Attributes:
        largest: the largest error of all cells.
        mean_largest: the mean over tables of the largest error in each.
        rmse: the root mean square error of all cells.
        variation: the mean over tables of half the sum of all errors.
        cells: how many there are.
    """

    largest: float
    mean_largest: float
    rmse: float
    variation: float
    cells: int


#: Gives the estimated counts of a table.
Answers = Callable[[ThresholdTable], Array]


def errors(case: Case, tables: Sequence[ThresholdTable], answers: Answers) -> Errors:
    """Compare answers with the truth, one table at a time."""
    largest, squares, variations, cells = [], 0.0, [], 0
    for table in tables:
        wrong = np.abs(answers(table) - case.truth(table)) / case.records
        largest.append(float(wrong.max()))
        squares += float(np.vdot(wrong, wrong))
        variations.append(float(wrong.sum()) / 2)
        cells += wrong.size
    return Errors(max(largest), float(np.mean(largest)), math.sqrt(squares / cells), float(np.mean(variations)), cells)


def rap_answers(result: rp.fits.rap.RapResult) -> Answers:
    return lambda table: result.records.fractions(table) * result.total


def all_zero(table: ThresholdTable) -> Array:
    return np.zeros(table.shape)


def gaussian(case: Case, workload: rp.Workload, rho: float, *, sensitivity: str, neighbors: str, seed: int) -> Answers:
    """The Gaussian mechanism on every cell, clipped to the possible."""
    tables, generator = thresholds_of(workload), np.random.default_rng(seed)
    notion = rp.fits.rap.RapPlan(
        workload, budget=rp.zcdp(1), neighbors=neighbors, rounds=1, choices=None, sensitivity=sensitivity
    )
    squared = notion.bound({table: table.cells for table in tables}, notion.protected)
    deviation = math.sqrt(squared / (2 * rho))

    def answers(table: ThresholdTable) -> Array:
        return np.clip(case.truth(table) + deviation * generator.standard_normal(table.shape), 0, case.records)

    return answers


def released(case: Case, workload: rp.Workload, budget: rp.privacy.Budget, *, neighbors: str, seed: int) -> rp.Release:
    """A release of the same tables, all equally important, with continuous noise of a seed."""
    plan = rp.select(workload, budget=budget, neighbors=neighbors, loss=rp.losses.SumOfVariances("equal"))
    return rp.reconstruct(rp.measure(plan, case.codes, noise="gaussian", seed=seed))


def residual_planner(
    case: Case, workload: rp.Workload, budget: rp.privacy.Budget, *, neighbors: str, seed: int
) -> Answers:
    """The unbiased tables of a release."""
    release = released(case, workload, budget, neighbors=neighbors, seed=seed)

    def answers(table: ThresholdTable) -> Array:
        names = tuple(case.domain.names[position] for position in table.positions)
        query = names if table.at_least == len(names) else rp.Threshold(names, table.at_least)
        return np.asarray(release[query].estimate)

    return answers


def clipped(answers: Answers) -> Answers:
    return lambda table: np.maximum(answers(table), 0)


def expected_all_zero(
    case: Case, order: int, at_least: int, sizes: Sequence[int], max_cells: int | None
) -> list[float]:
    """The mean over random workloads, drawn without replacement, of the largest fraction in any of their tables."""
    tops = []
    for names in case.sets(order, max_cells):
        positions = case.domain.positions(names)
        counted = case.truth(ThresholdTable(positions, tuple(case.domain.sizes[i] for i in positions), order))
        tops.append(float(threshold_map(counted, at_least).max()) / case.records)
    return list(_means_of_maxima(np.sort(tops)[::-1], sizes))


def _means_of_maxima(descending: Array, sizes: Sequence[int]) -> Iterator[float]:
    """The i-th largest is the maximum if it is drawn and none before it is."""
    count = len(descending)
    for size in sizes:
        total, none_before = 0.0, 1.0
        for number, top in enumerate(descending):
            chance = size / (count - number) if number <= count - size else 0.0
            total += none_before * chance * top
            none_before *= 1 - chance
        yield total


def evaluation() -> dict[str, Any]:
    """3-of-4 thresholds of 250 cells, 1,000 records: times of inclusion-exclusion and recursion, by that of definition.

    And the operations of inclusion-exclusion and of the definition: products, sums, factors and differences from 1.
    """
    columns, k, r = list(np.random.default_rng(0).random((4, 250, 1000)).astype(np.float32)), 4, 3
    ways = by_definition, by_inclusion_exclusion, threshold_probability
    found = [way(columns, r) for way in ways]
    assert np.allclose(found[0], found[1], atol=1e-4)
    assert np.allclose(found[0], found[2], atol=1e-4)
    seconds = [[timed(partial(way, columns, r)) for way in ways] for _ in range(15)]
    sets = {count: math.comb(k, count) for count in range(r, k + 1)}
    sums = sum(sets.values()) - 1
    by_products = sums + sum(number * (count - 1) + (count > r) for count, number in sets.items())
    return {
        "products": [round(each[1] / each[0], 4) for each in seconds],
        "recursion": [round(each[2] / each[0], 4) for each in seconds],
        "operations": [by_products, sums + k + sum(sets.values()) * (k - 1)],
    }


def timed(function: Callable[[], Any]) -> float:
    start = time.process_time()
    for _ in range(10):
        function()
    return (time.process_time() - start) / 10


def by_definition(columns: list[Any], at_least: int) -> Any:
    """The sum over the sets of at least so many matches, of their probabilities and those of no match elsewhere."""
    total: Any = 0.0
    others = [1 - p for p in columns]
    for count in range(at_least, len(columns) + 1):
        for members in combinations(range(len(columns)), count):
            term: Any = 1.0
            for axis, p in enumerate(columns):
                term = term * (p if axis in members else others[axis])
            total = total + term
    return total


def by_inclusion_exclusion(columns: list[Any], at_least: int) -> Any:
    """The same by products of matches alone."""
    total: Any = 0.0
    for count in range(at_least, len(columns) + 1):
        factor = (-1) ** (count - at_least) * math.comb(count - 1, count - at_least)
        for members in combinations(range(len(columns)), count):
            term = columns[members[0]]
            for axis in members[1:]:
                term = term * columns[axis]
            total = total + factor * term
    return total
