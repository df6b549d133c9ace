"""Sums of cells as linear maps of whole arrays of cells, and their transposed maps.

Protocol: `answer` maps cells (b, n_1, .., n_d) to sums (b, k), `spread` is the transposed map; b counts draws.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from residualplanner.fits.optimizers import Array
from residualplanner.ground.checks import IntArray


class Sums(ABC):
    """Some sums of cells."""

    shape: tuple[int, ...]  # (d,): of the cells

    @property
    @abstractmethod
    def covers(self) -> bool:
        """Whether every cell is in exactly one of the sums, with weight 1."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many sums there are."""

    @abstractmethod
    def answer(self, cells: Array) -> Array:
        """The sums (b, k) of cells (b, n_1, .., n_d)."""

    @abstractmethod
    def spread(self, values: Array) -> Array:
        """The transposed map of values (b, k): an array that broadcasts to the shape of cells."""

    @property
    def is_disjoint(self) -> bool:
        """Whether no cell is in two of the sums."""
        return True

    @property
    def marginal_axes(self) -> tuple[int, ...] | None:
        """The axes of which the sums are the marginal, ascending; None where they are none."""
        return None

    @property
    def is_all_cells(self) -> bool:
        """Whether the sums are all single cells, in their order."""
        return self.marginal_axes == tuple(range(len(self.shape)))

    @property
    def differs_by_draw(self) -> bool:
        """Whether different draws of the noise have different sums."""
        return False

    def squares(self, part: Array) -> Array:
        """About the sums of cells (b, n_1, .., n_d) with squared coefficients, (b, k)."""
        return self.answer(part)

    def precision(self, subset: Sequence[int]) -> float | None:  # noqa: ARG002 - for those that have none
        """The eigenvalue of spreading the answers, on components of a set of axes, or None.  Source: eq. (80)."""
        return None

    def take(self, rows: IntArray) -> "Sums":  # noqa: ARG002 - for those that are the same
        """The same for some draws of the noise."""
        return self

    def matrix(self) -> Array:
        """A row (k, n_1 ... n_d) for each sum."""
        rows = np.broadcast_to(self.spread(np.eye(self.count)), (self.count, *self.shape))
        return np.ascontiguousarray(rows).reshape(self.count, -1)


def centered(table: Array, axes: Sequence[int]) -> Array:
    """A table less its means along each of some axes."""
    for axis in axes:
        table = table - table.mean(axis=axis, keepdims=True)
    return table


@dataclass(frozen=True, slots=True)
class MarginalSums(Sums):
    """The cells of the marginal of some axes, ascending; centered, less its means along each axis: their component.

    Of components, only the total is a sum of whole cells.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    is_centered: bool = False

    @property
    def covers(self) -> bool:
        """A marginal always does."""
        return not (self.is_centered and self.axes)

    @property
    def is_disjoint(self) -> bool:
        """A marginal always is."""
        return self.covers

    @property
    def marginal_axes(self) -> tuple[int, ...] | None:
        """Its axes; of a component None."""
        return None if self.is_centered else self.axes

    @property
    def count(self) -> int:
        """How many cells the marginal has."""
        return math.prod(self.shape[axis] for axis in self.axes)

    def answer(self, cells: Array) -> Array:
        """The marginals, or these centered, in C order."""
        return self._centered(self.squares(cells))

    def squares(self, part: Array) -> Array:
        """The marginals, which are larger than components."""
        others = tuple(1 + axis for axis in range(len(self.shape)) if axis not in self.axes)
        summed: Array = part.sum(axis=others) if others else part
        return summed.reshape(len(part), -1)

    def spread(self, values: Array) -> Array:
        """The value of its marginal, or that centered, for each cell."""
        shape = (n if axis in self.axes else 1 for axis, n in enumerate(self.shape))
        return self._centered(values).reshape(-1, *shape)

    def precision(self, subset: Sequence[int]) -> float | None:
        """How many cells a sum has, for components that the marginal has; else 0.  Source: eq. (80)."""
        others = [n for axis, n in enumerate(self.shape) if axis not in self.axes]
        has = set(subset) == set(self.axes) if self.is_centered else set(subset) <= set(self.axes)
        return float(math.prod(others)) if has else 0.0

    def _centered(self, values: Array) -> Array:
        if not self.is_centered:
            return values
        tables = values.reshape(-1, *(self.shape[axis] for axis in self.axes))
        return centered(tables, range(1, tables.ndim)).reshape(len(values), -1)


@dataclass(frozen=True, eq=False, slots=True)
class MatrixSums(Sums):
    """Sums of any cells, no cell in two of them: a row (k, n_1 ... n_d) of zeros and ones for each."""

    shape: tuple[int, ...]
    rows: Array

    @property
    def covers(self) -> bool:
        """Whether every cell is in one of them."""
        return bool((self.rows.sum(axis=0) == 1).all())

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    def answer(self, cells: Array) -> Array:
        """The product with the rows."""
        return cells.reshape(len(cells), -1) @ self.rows.T

    def spread(self, values: Array) -> Array:
        """The product with their transpose."""
        return (values @ self.rows).reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False, slots=True)
class MaskedSum(Sums):
    """The sum of some of other sums, of different ones in each draw of the noise: those where ``mask`` (b, k) is 1."""

    shape: tuple[int, ...]
    sums: Sums
    mask: Array

    covers = False
    differs_by_draw = True
    count = 1

    def answer(self, cells: Array) -> Array:
        """The sum of the chosen sums, (b, 1)."""
        found: Array = (self.mask * self.sums.answer(cells)).sum(axis=1, keepdims=True)
        return found

    def spread(self, values: Array) -> Array:
        """The value for each cell of a chosen sum, else 0."""
        return self.sums.spread(self.mask * values)

    def take(self, rows: IntArray) -> "MaskedSum":
        """The same for some of the draws."""
        return MaskedSum(self.shape, self.sums, self.mask[rows])
