"""The accelerated ascent where there are very many cells: in single precision, each step from the tables' margins.

Reads: a problem, facets.  Gives: multipliers.
Source: spec eqs. (53), (54) and (99).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.postprocessing.facets import Facets
from residualplanner.postprocessing.problem import Problem
from residualplanner.postprocessing.table_map import TableStack

#: About how many cells are worked on at a time, so that they stay in the processor's cache.
_CELLS = 1 << 16

Array = NDArray[np.float64]
Single = NDArray[np.float32]


@dataclass(frozen=True, eq=False, slots=True)
class _Block:
    """Some tables of the same bases.

    Attributes:
        cells: where their cells stand among those of all tables.
        shape: (b, n_1, .., n_k).
        margins: for each attribute, where the margins over it stand among all.
        freedom (b, 1, .., 1): of the tables' own residuals.
        step (b, 1, .., 1): of the ascent, times the freedom; at most 1.
    """

    cells: slice
    shape: tuple[int, ...]
    margins: tuple[slice, ...]
    freedom: Array
    step: Single

    def of(self, cells: Single) -> Single:
        """Its part of an array over all cells, as a view."""
        return cells[self.cells].reshape(self.shape)

    def margin(self, values: Array, axis: int) -> Array:
        """Its part of an array over the margins over one attribute, as a view."""
        return values[self.margins[axis]].reshape(self.shape[: axis + 1] + self.shape[axis + 2 :])


class MarginAscent:
    """Accelerated ascent in the dual problem, from multipliers of 0.

    Multipliers are held in counts: times the freedom of their table.

    Args:
        problem: to solve.
        facets: of its tables.
    """

    def __init__(self, problem: Problem, facets: Facets) -> None:
        self._facets = facets
        self._blocks = list(_blocks(problem, facets))
        self._unbiased = problem.cells(problem.start, np.empty(problem.tables.size)).astype(np.float32)
        self._multipliers, self._ahead = np.zeros_like(self._unbiased), np.zeros_like(self._unbiased)
        self._means, self._momentum = np.zeros(len(facets.cell)), 1.0

    def advance(self, steps: int) -> None:
        """Take some steps.  The momentum is dropped where it points downhill.  Source: spec eqs. (53) and (99)."""
        for _ in range(steps):
            moved = self._moved()
            downhill = sum(self._step(block, moved) for block in self._blocks)
            self._momentum = 1.0 if downhill > 0 else self._momentum
            grown = (1 + math.sqrt(1 + 4 * self._momentum**2)) / 2
            for block in self._blocks:
                self._look_ahead(block, (self._momentum - 1) / grown)
            self._momentum = grown

    def multipliers(self) -> Array:
        """Of all cells, (y,)."""
        found = self._multipliers.astype(np.float64)
        for block in self._blocks:
            view = found[block.cells].reshape(block.shape)
            view /= block.freedom
        return found

    def _moved(self) -> Array:
        """By how much multipliers raise the cells beyond themselves: a number for each cell of a margin, (p,)."""
        facets, found = self._facets, np.empty_like(self._means)
        for block in self._blocks:
            for axis in range(len(block.margins)):
                view = block.margin(found, axis)
                np.divide(block.margin(self._means, axis), block.freedom.reshape(-1, *(1,) * (view.ndim - 1)), out=view)
        shared = facets.spread(found)[facets.cell]
        for block in self._blocks:
            for axis, size in enumerate(block.shape[1:]):
                view = block.margin(shared, axis)
                _center(view, axis)
                view /= size
        shared -= self._means
        return shared

    def _step(self, block: _Block, moved: Array) -> float:
        """Step from the point ahead, which is overwritten by the change; how far that is downhill."""
        multipliers, ahead = block.of(self._multipliers), block.of(self._ahead)
        following = block.of(self._unbiased).copy()
        for axis in range(len(block.margins)):
            following += np.expand_dims(block.margin(moved, axis).astype(np.float32), axis + 1)
        following *= -block.step
        if (block.step < 1).any():
            following += (1 - block.step) * ahead
        np.maximum(following, 0, out=following)
        ahead -= following
        np.subtract(following, multipliers, out=multipliers)
        downhill = np.einsum("bi,bi->b", ahead.reshape(len(ahead), -1), multipliers.reshape(len(ahead), -1))
        ahead[...] = multipliers
        multipliers[...] = following
        return float((downhill / (block.freedom * block.step).ravel()).sum())

    def _look_ahead(self, block: _Block, momentum: float) -> None:
        """The point ahead, from the change, and its means along each axis."""
        ahead = block.of(self._ahead)
        ahead *= np.float32(momentum)
        ahead += block.of(self._multipliers)
        for axis, size in enumerate(block.shape[1:]):
            view = block.margin(self._means, axis)
            np.divide(np.add.reduce(ahead, axis=axis + 1), size, out=view)
            _center(view, axis)


def _center(tables: Array, axes: int) -> None:
    """Subtract from tables (b, ..) their means along each of the first axes, in place."""
    for axis in range(1, axes + 1):
        tables -= tables.mean(axis=axis, keepdims=True)


def _blocks(problem: Problem, facets: Facets) -> Iterator[_Block]:
    """All tables, about as many cells at a time as fit in the cache."""
    for stack, starts, freedom in zip(problem.tables.stacks, facets.starts, facets.freedom, strict=True):
        size = math.prod(stack.shape[1:])
        rows = max(_CELLS // size, 1)
        step = stack.per_table(problem.steps)[:, 0] * freedom
        for first in range(0, len(freedom), rows):
            yield _block(stack, starts, freedom, step, slice(first, min(first + rows, len(freedom))))


def _block(stack: TableStack, starts: tuple[int, ...], freedom: Array, step: Array, rows: slice) -> _Block:
    """Some of the tables of a stack."""
    size, count = math.prod(stack.shape[1:]), rows.stop - rows.start
    margins = []
    for start, length in zip(starts, stack.shape[1:], strict=True):
        margin = size // length
        margins.append(slice(start + rows.start * margin, start + rows.stop * margin))
    ones = (1,) * len(starts)
    first = stack.cells.start
    return _Block(
        slice(first + rows.start * size, first + rows.stop * size),
        (count, *stack.shape[1:]),
        tuple(margins),
        freedom[rows].reshape(count, *ones),
        step[rows].reshape(count, *ones).astype(np.float32),
    )
