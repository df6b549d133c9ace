"""Tables of very many cells, some at a time, and their margins."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative.potentials import Facets
from residualplanner.fits.nonnegative.problem import DualProblem
from residualplanner.fits.nonnegative.table_map import TableStack

#: About how many cells are worked on at a time, so that they stay in the processor's cache.
_CELLS = 1 << 16

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Number = TypeVar("Number", np.float32, np.float64)


@dataclass(frozen=True, eq=False, slots=True)
class TableBlock:
    """Some tables of the same bases."""

    cells: slice  # where their cells stand among those of all tables
    shape: tuple[int, ...]  # (b, n_1, .., n_k)
    margins: tuple[slice, ...]  # for each attribute, where the margins over it stand among all
    freedom: Array  # (b, 1, .., 1): of the tables' own residuals

    def raised(self, unbiased: NDArray[Number], raise_by: NDArray[Number]) -> NDArray[Number]:
        """Its unbiased cells, raised by a number for each cell of their margins."""
        found = self.of(unbiased).copy()
        for axis in range(len(self.margins)):
            found += np.expand_dims(self.margin(raise_by, axis), axis + 1)
        return found

    def of(self, cells: NDArray[Number]) -> NDArray[Number]:
        """Its part of an array over all cells, as a view."""
        return cells[self.cells].reshape(self.shape)

    def margin(self, values: NDArray[Number], axis: int) -> NDArray[Number]:
        """Its part of an array over the margins over one attribute, as a view."""
        return values[self.margins[axis]].reshape(self.shape[: axis + 1] + self.shape[axis + 2 :])


@dataclass(frozen=True, eq=False, slots=True)
class Margins:
    """The margins of all tables over one attribute each, (p,), and what follows from them."""

    blocks: tuple[TableBlock, ...]  # all tables
    facets: Facets  # of the tables
    over_freedom: Array  # (p,): 1 over the freedom of the margin's table
    lengths: Array  # (p,): how many cells each is the sum of

    @classmethod
    def of(cls, problem: DualProblem, facets: Facets) -> "Margins":
        """Those of a problem."""
        made = cls(tuple(blocks_of(problem, facets)), facets, *np.empty((2, len(facets.cell))))
        for block in made.blocks:
            for axis, length in enumerate(block.shape[1:]):
                view = block.margin(made.over_freedom, axis)
                view[...] = 1 / block.freedom.reshape(-1, *(1,) * (view.ndim - 1))
                block.margin(made.lengths, axis)[...] = length
        return made

    def sums(self, cells: Single) -> Array:
        """The margins of cells."""
        found = np.empty_like(self.lengths)
        for block in self.blocks:
            for axis in range(len(block.margins)):
                own = block.of(cells)
                np.add.reduce(own, axis=axis + 1, dtype=np.float64, out=block.margin(found, axis))
        return found

    def centered(self, values: Array) -> Array:
        """Values for margins, less their means along each attribute before the one that is summed over, in place."""
        for block in self.blocks:
            for axis in range(1, len(block.margins)):
                center(block.margin(values, axis), axis)
        return values

    def raised_by(self, means: Array) -> Array:
        """By how much multipliers raise the cells beyond themselves, from centered means.  Source: eq. (99)."""
        found: Array = self.facets.spread(means * self.over_freedom)[self.facets.cell]
        found /= self.lengths
        self.centered(found)
        found -= means
        return found


def center(tables: Array, axes: int) -> None:
    """Subtract from tables (b, ..) their means along each of the first axes, in place."""
    for axis in range(1, axes + 1):
        means = np.add.reduce(tables, axis=axis, keepdims=True)
        means /= tables.shape[axis]
        tables -= means


def blocks_of(problem: DualProblem, facets: Facets) -> Iterator[TableBlock]:
    """All tables, about as many cells at a time as fit in the cache."""
    for stack, starts, freedom in zip(problem.tables.stacks, facets.starts, facets.freedom, strict=True):
        size = math.prod(stack.shape[1:])
        rows = max(_CELLS // size, 1)
        for first in range(0, len(freedom), rows):
            yield _block(stack, starts, freedom, slice(first, min(first + rows, len(freedom))))


def _block(stack: TableStack, starts: tuple[int, ...], freedom: Array, rows: slice) -> TableBlock:
    size, count = math.prod(stack.shape[1:]), rows.stop - rows.start
    margins = []
    for start, length in zip(starts, stack.shape[1:], strict=True):
        margin = size // length
        margins.append(slice(start + rows.start * margin, start + rows.stop * margin))
    ones = (1,) * len(starts)
    first = stack.cells.start
    return TableBlock(
        slice(first + rows.start * size, first + rows.stop * size),
        (count, *stack.shape[1:]),
        tuple(margins),
        freedom[rows].reshape(count, *ones),
    )
