"""What the variances of a table's cells take of the noise of each subset of its attributes, beside a product.

Attributes with one basis in all sets, the *constant* ones, enter by factors.  Those that vary, whose basis depends on
the set, enter by a table over their answers for each subset: `residualplanner.more.by_set.varying_tables`.  In nearly
every strategy none varies, and that table has a single cell, 1.

A subset is given by its bits: bit i is for the attribute of axis i.  Arrays have an axis for each varying attribute.
Source: eq. (40).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.queries.kind import Kind
from residualplanner.method.strategy.strategy import Strategy

Cells = NDArray[np.float64]


class CellTable(Protocol):
    """The part of a table's variances that is about its varying attributes."""

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of its varying attributes, ascending."""
        ...

    @property
    def constant(self) -> tuple[int, ...]:
        """The axes of its constant attributes, ascending."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """How many answers each varying attribute has."""
        ...

    @property
    def columns(self) -> NDArray[np.int64]:
        """The bits of every subset, by those of its constant and of its varying attributes alone, (2**c, 2**v)."""
        ...

    def multiply(self, coefficients: FloatArray, rows: NDArray[np.bool_]) -> None:
        """Multiply some rows of ``coefficients`` (m, 2**k) by the factors in the variance of an average cell."""
        ...

    def of_cells(self, most: float = math.inf) -> Iterator[Cells]:
        """The factor of the noise of each subset in the variance of cells, at most so many at a time, (2**k, cells)."""
        ...

    def applied(self, noise: FloatArray, weights: Cells) -> Cells:
        """The noise of all subsets of the constant attributes at some cells over the varying ones, (m, 2**c, x).

        Args:
            noise (m, 2**k): sigma squared of every subset of some tables' attributes.
            weights (2**k, x): from `of_cells`.
        """
        ...

    def covariances(self, noise: FloatArray) -> Iterator[Cells]:
        """The covariance of cells over the varying attributes for each subset of the constant ones, (cells, cells).

        Args:
            noise (2**c, 2**v): sigma squared of every subset, as `columns` has them.
        """
        ...

    def combination_variance(self, parts: Sequence[Cells], noise: FloatArray) -> float:
        """The variance of a weighted sum of cells, without their covariance.

        Args:
            parts: for each subset of the constant attributes, what the weights are on its residuals and on the totals
                and values of the varying attributes, (.., 1 + n_i, ..): the axes of all attributes, in order.
            noise (2**c, 2**v): as of `covariances`.
        """
        ...


class CellTables(Protocol):
    """The tables of all queries that a strategy answers, each found once."""

    @property
    def strategy(self) -> Strategy:
        """The bases."""
        ...

    def numbered(
        self, attributes: NDArray[np.int32], kinds: NDArray[np.int16], names: Sequence[Kind]
    ) -> tuple[IntArray, Sequence[CellTable]]:
        """The tables of some queries, and which of them each query has, (m,).

        Args:
            attributes (m, k): of the queries, ascending in each row.
            kinds (m, k): the number of the kind of each.
            names: the kinds that are numbered.
        """
        ...

    def table(self, attributes: NDArray[np.int32], kinds: Sequence[Kind]) -> CellTable:
        """The table of one query: its attributes (k,), ascending, a set of the closure but for single values."""
        ...


@dataclass(frozen=True, slots=True)
class ConstantTable:
    """A table of ``order`` attributes none of which varies."""

    order: int
    axes: ClassVar[tuple[int, ...]] = ()
    shape: ClassVar[tuple[int, ...]] = ()

    @property
    def constant(self) -> tuple[int, ...]:
        """All axes."""
        return tuple(range(self.order))

    @property
    def columns(self) -> NDArray[np.int64]:
        """Every subset by its own bits, (2**k, 1)."""
        return np.arange(1 << self.order)[:, None]

    def multiply(self, coefficients: FloatArray, rows: NDArray[np.bool_]) -> None:
        """Leave them: all factors are 1."""

    def of_cells(self, most: float = math.inf) -> Iterator[Cells]:
        """One cell with the factor 1 for each subset, (2**k, 1)."""
        del most
        yield np.ones((1 << self.order, 1))

    def applied(self, noise: FloatArray, weights: Cells) -> Cells:
        """The noise itself, (m, 2**k, 1)."""
        del weights
        return noise[:, :, None]

    def covariances(self, noise: FloatArray) -> Iterator[Cells]:
        """The noise of each subset, (1, 1)."""
        yield from noise[:, :, None]

    def combination_variance(self, parts: Sequence[Cells], noise: FloatArray) -> float:
        """The sum of squared weights on the residuals of each subset times its noise."""
        pairs = zip(parts, noise[:, 0].tolist(), strict=True)
        return sum((variance * float(np.vdot(weights, weights)) for weights, variance in pairs), start=0.0)


@dataclass(frozen=True, eq=False, slots=True)
class _ConstantTables:
    strategy: Strategy

    def numbered(
        self, attributes: NDArray[np.int32], kinds: NDArray[np.int16], names: Sequence[Kind]
    ) -> tuple[IntArray, Sequence[CellTable]]:
        """One table for all."""
        del kinds, names
        return np.zeros(len(attributes), dtype=np.int64), [ConstantTable(attributes.shape[1])]

    def table(self, attributes: NDArray[np.int32], kinds: Sequence[Kind]) -> CellTable:
        """The table of so many attributes."""
        del kinds
        return ConstantTable(len(attributes))


def cell_tables(strategy: Strategy) -> CellTables:
    """The tables of a strategy's queries."""
    if not strategy.varying.any():
        return _ConstantTables(strategy)
    from residualplanner.more.by_set.varying_groups import VaryingTables  # a door

    return VaryingTables(strategy)
