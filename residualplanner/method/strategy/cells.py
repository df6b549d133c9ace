"""The cells of all queries of a workload at once: the largest variance of each query, and the variances of all cells.

Attributes with one basis in all sets, the *constant* ones, enter by factors.  Those that vary, whose basis depends on
the set, enter by a table over their answers for each subset: `residualplanner.more.varying.varying_tables`.  In nearly
every strategy none varies, and that table has a single cell, 1.
A subset is given by its bits: bit i is for the attribute of axis i.  Arrays have an axis for each varying attribute.
Source: eqs. (23), (26) and (40).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.method.queries.kind import Kind
from residualplanner.method.strategy.strategy import Strategy
from residualplanner.method.workload.attribute_sets import QueryBlock, indices_of_numbers, row_numbers
from residualplanner.method.workload.workload import Workload

if TYPE_CHECKING:
    from residualplanner.more.varying.varying_tables import VaryingTable, VaryingTables

Cells = FloatArray


@dataclass(frozen=True, slots=True)
class ConstantTable:
    """The part of a table's variances that is about its varying attributes, where none of ``order`` varies."""

    order: int
    axes: ClassVar[tuple[int, ...]] = ()
    shape: ClassVar[tuple[int, ...]] = ()
    factors: ClassVar[Mapping[tuple[int, int], Any]] = {}

    @property
    def constant(self) -> tuple[int, ...]:
        """The axes of the constant attributes, ascending: all."""
        return tuple(range(self.order))

    @property
    def columns(self) -> IntArray:
        """The bits of every subset, by those of its constant and of its varying attributes, (2**c, 2**v)."""
        return np.arange(1 << self.order)[:, None]

    def multiply(self, coefficients: FloatArray, rows: NDArray[np.bool_]) -> None:
        """Multiply rows of ``coefficients`` (m, 2**k) by the factors in the variance of an average cell: by 1."""

    def of_cells(self, most: float = math.inf) -> Iterator[Cells]:
        """The factor of each subset's noise in the variance of cells, at most so many at a time: (2**k, 1) of 1."""
        del most
        yield np.ones((1 << self.order, 1))

    def applied(self, noise: FloatArray, weights: Cells) -> Cells:
        """The noise (m, 2**k) by subsets of the constant attributes at cells over the others: (m, 2**k, 1)."""
        del weights
        return noise[:, :, None]

    def covariances(self, noise: FloatArray) -> Iterator[Cells]:
        """The covariance of cells over the varying attributes for each subset of the constant ones, (1, 1)."""
        yield from noise[:, :, None]

    def noise_weights(self, parts: Sequence[Cells]) -> Iterator[tuple[int, Cells]]:
        """Weights on each subset's residuals as they are, by the subset's bits."""
        return enumerate(parts)

    def rest(self, bits: int) -> Cells:
        """What cells depend on beside the attributes of a subset, by those that vary: 1."""
        del bits
        return np.ones(())


@dataclass(frozen=True, eq=False, slots=True)
class _ConstantTables:
    """The tables of a strategy in which no attribute varies."""

    strategy: Strategy

    def numbered(
        self, attributes: NDArray[np.int32], kinds: NDArray[np.int16], names: Sequence[Kind]
    ) -> tuple[IntArray, Sequence["CellTable"]]:
        """The tables of some queries, and which of them each has, (m,): one for all."""
        del kinds, names
        return np.zeros(len(attributes), dtype=np.int64), [ConstantTable(attributes.shape[1])]

    def table(self, attributes: NDArray[np.int32], kinds: Sequence[Kind]) -> "CellTable":
        """The table of one query: its attributes (k,), ascending, a set of the closure but for single values."""
        del kinds
        return ConstantTable(len(attributes))


CellTable: TypeAlias = "ConstantTable | VaryingTable"
CellTables: TypeAlias = "_ConstantTables | VaryingTables"


def cell_tables(strategy: Strategy) -> CellTables:
    """The tables of all queries that a strategy answers, each found once."""
    if not strategy.varying.any():
        return _ConstantTables(strategy)
    from residualplanner.more.varying.varying_tables import VaryingTables  # a door

    return VaryingTables(strategy)


#: How many cells are worked on at a time.
_CHUNK = 2**21
#: Varying attributes stand among the answers to try as one answer that counts 1.
_VARYING, _ONE = (-1, -1), (np.ones(1), np.ones(1))
#: Answers whose factors differ by less than this, relative to the largest, count as equal: symmetry, but for rounding.
_EQUAL = 1e-13

#: The factors of the answers to try on one attribute, (m, h) each: where it is present, and where it is absent.
_Factor = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False, slots=True)
class AnswerFactors:
    """The variance factors of the answers on single attributes, for every attribute and kind of the workload."""

    pair: IntArray  # (d, kinds), which distinct pair of a basis and a kind it is; -1 where the workload has none
    start: IntArray  # (pairs,), where the answers of each pair stand
    count: IntArray  # (pairs,)
    present: FloatArray  # (all,), the factor of each answer where the attribute is present
    absent: FloatArray  # (all,), and where it is absent

    def counts(self, block: QueryBlock) -> IntArray:
        """How many answers each attribute of each query has, (m, k)."""
        return np.asarray(self.count[self.pair[block.attributes, block.kinds]])

    def all_of(self, pair: IntArray, count: int) -> tuple[FloatArray, FloatArray]:
        """The factors of all answers of some pairs (m,) that have equally many, (m, count) each."""
        indexes = self.start[pair][:, None] + np.arange(count)
        return self.present[indexes], self.absent[indexes]

    def at(self, block: QueryBlock, answer: IntArray) -> tuple[FloatArray, FloatArray]:
        """The factors of one answer on each attribute of each query: ``answer`` (m, k) is its index."""
        index = self.start[self.pair[block.attributes, block.kinds]] + answer
        return self.present[index], self.absent[index]


def answer_factors(workload: Workload, strategy: Strategy, *, on_hull: bool) -> AnswerFactors:
    """The factors of the answers on constant attributes; where all of an attribute are equal, one stands for them.

    With ``on_hull`` only those answers are kept that can have the largest variance in some table.
    """
    uses, bases = workload.uses, strategy.of_attributes
    pair = np.full(uses.shape, -1, dtype=np.int64)
    known: dict[tuple[int, int], int] = {}
    parts: list[_Factor] = []
    for attribute, kind in np.argwhere(uses).tolist():
        key = _VARYING if strategy.varying[attribute] else (int(strategy.of_attribute[attribute]), kind)
        if key not in known:
            known[key] = len(parts)
            present, absent = _ONE if key == _VARYING else bases[attribute].row_variance_factors(workload.kinds[kind])
            parts.append(hull_rows(present, absent) if on_hull else (present, absent))
        pair[attribute, kind] = known[key]
    count = np.array([len(present) for present, _ in parts], dtype=np.int64)
    present = np.concatenate([np.empty(0), *(part for part, _ in parts)])
    absent = np.concatenate([np.empty(0), *(part for _, part in parts)])
    return AnswerFactors(*map(frozen, (pair, np.cumsum(count) - count, count, present, absent)))


def largest_cells(
    workload: Workload, answers: AnswerFactors, noise_variance: FloatArray, tables: CellTables
) -> tuple[FloatArray, IntArray]:
    """The largest cell variance of every query, (q,), and which combination of ``answers`` has it, (q,).

    The latter is the index of the cell in C order where no attribute varies.  ``answers`` are the factors of those to
    try on constant attributes; all answers on varying ones are tried.  ``tables`` are of a strategy among whose sets
    are all subsets of the queries' attributes, with noise variances (m,).  Source: eqs. (23), (26) and (40).
    """
    largest, index = np.full(len(workload), -np.inf), np.zeros(len(workload), dtype=np.int64)
    for numbers, factors, noise in _runs(workload, answers, noise_variance, tables, most=_CHUNK):
        values, indexes = _largest(factors, noise)
        is_larger = values > largest[numbers]
        largest[numbers[is_larger]], index[numbers[is_larger]] = values[is_larger], indexes[is_larger]
    return largest, index


def variances_of_cells(
    workload: Workload, answers: AnswerFactors, noise_variance: FloatArray, tables: CellTables
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Runs of queries with equally many cells: their numbers (m,), and the variances of their cells (m, cells)."""
    for numbers, factors, noise in _runs(workload, answers, noise_variance, tables, most=np.inf):
        yield numbers, _cells(factors, noise)


def _runs(
    workload: Workload, answers: AnswerFactors, noise_variance: FloatArray, tables: CellTables, *, most: float
) -> Iterator[tuple[IntArray, list[_Factor], FloatArray]]:
    """Runs of queries with equally many answers to try and one table over varying attributes, by parts of that table.

    Yields: their numbers, the factors of the answers of each constant attribute, and the noise of all subsets of these
    for each cell over the varying ones, (m, 2**c, x).
    """
    for queries, block in workload.runs():
        counts = answers.counts(block)
        number, found = tables.numbered(block.attributes, block.kinds, workload.kinds)
        group = row_numbers(np.concatenate([number[:, None], counts], axis=1))
        for members in indices_of_numbers(group):
            table, tried = found[number[members[0]]], counts[members[0]].tolist()
            for weights in table.of_cells(most):
                cells = max(np.prod(tried, dtype=np.float64) * weights.shape[1], 1 << len(tried))
                step = max(1, int(_CHUNK // cells))
                for first in range(0, len(members), step):
                    part = members[first : first + step]
                    chosen = block.part(part)
                    noise = noise_variance[tables.strategy.closure.subset_positions(chosen.attributes)]
                    noise = noise * workload.joint_factors(chosen) ** 2
                    pairs = answers.pair[chosen.attributes, chosen.kinds]
                    factors = [answers.all_of(pairs[:, axis], tried[axis]) for axis in table.constant]
                    yield queries.start + part, factors, table.applied(noise, weights)


def _largest(factors: list[_Factor], noise: FloatArray) -> tuple[FloatArray, IntArray]:
    """The largest cell of each query and its index in C order, (m,) each.

    Where the cells of a single query are too many to hold, one answer on the first attribute is tried after another.
    """
    later = int(np.prod([present.shape[1] for present, _ in factors[1:]], dtype=np.float64))
    if len(factors) > 1 and factors[0][0].size * later > 4 * _CHUNK:
        (present, absent), others = factors[0], factors[1:]
        found = [_largest(others, _extended(noise, present[:, [i]], absent[:, [i]])) for i in range(present.shape[1])]
        values, indexes = np.stack([value for value, _ in found]), np.stack([index for _, index in found])
        best = values.argmax(axis=0)
        return values.max(axis=0), best * later + indexes[best, np.arange(len(best))]
    cells = _cells(factors, noise)
    index = cells.argmax(axis=1)
    return cells[np.arange(len(cells)), index], index


def _cells(factors: list[_Factor], noise: FloatArray) -> FloatArray:
    cells = noise
    # Bit 0 of a subset's number is the first attribute: each step turns the lowest bit left into an axis of answers.
    for present, absent in factors:
        cells = _extended(cells, present, absent)
    return cells.reshape(len(cells), -1)


def _extended(cells: FloatArray, present: FloatArray, absent: FloatArray) -> FloatArray:
    """Bring in the next attribute's answers: from (m, 2**r, c) to (m, 2**(r-1), c * h)."""
    pairs = cells.reshape(len(cells), cells.shape[1] // 2, 2, cells.shape[2], 1)
    extended = pairs[:, :, 0] * absent[:, None, None, :] + pairs[:, :, 1] * present[:, None, None, :]
    return extended.reshape(len(cells), cells.shape[1] // 2, -1)


def hull_rows(present: FloatArray, absent: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The points (present, absent) (q,) that are largest in some direction with no negative component, (h,) each.

    With the answers of the other attributes fixed, the variance of a cell is linear in the factors of one attribute's
    answer, with coefficients of at least 0: so its maximum is attained at one of these.  That holds up to a relative
    1e-13, since points that only rounding tells apart become one.
    """
    order = np.lexsort([-absent, -present])
    x, y = present[order], absent[order]
    highest = np.maximum.accumulate(np.concatenate([[-np.inf], y[:-1]]))
    hull: list[tuple[float, float]] = []
    for point in _merged(x[y > highest].tolist(), y[y > highest].tolist()):
        while len(hull) > 1 and not _is_outside(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    rows = np.array(hull)
    return frozen(rows[:, 0].copy()), frozen(rows[:, 1].copy())


def _merged(x: list[float], y: list[float]) -> list[tuple[float, float]]:
    """Points from right to left and from below, those next to each other made one that is no smaller than either."""
    near_x, near_y = _EQUAL * x[0], _EQUAL * y[-1]
    points = [(x[0], y[0])]
    for right, high in zip(x[1:], y[1:], strict=True):
        last_right, last_high = points[-1]
        if last_right - right < near_x:
            points[-1] = (last_right, high)
        elif high - last_high >= near_y:
            points.append((right, high))
    return points


def _is_outside(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    """Whether the middle one of three points from right to left is beyond the line through the others."""
    rise, fall = middle[1] - first[1], middle[0] - last[0]
    return rise * fall > (last[1] - middle[1]) * (first[0] - middle[0])
