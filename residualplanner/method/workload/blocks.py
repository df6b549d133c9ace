"""The queries of one order as arrays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.method.workload.attribute_sets import PositionArray


@dataclass(frozen=True, eq=False, slots=True)
class QueryBlock:
    """The queries of one order, in lexicographic order of their attributes, then kinds.

    Attributes:
        attributes (m, k): positions in the domain, ascending in each row.
        kinds (m, k): the number of each attribute's kind among the workload's kinds of query.
        weights (m,): the importance of each query, at least 0.
        axes (m, k): the order in which each query was written, as columns of ``attributes``; None, to save memory,
            where all are in the domain's order.
    """

    attributes: PositionArray
    kinds: NDArray[np.int16]
    weights: NDArray[np.float64]
    axes: PositionArray | None = None

    def __post_init__(self) -> None:
        if self.axes is not None and (self.axes == np.arange(self.axes.shape[1])).all():
            object.__setattr__(self, "axes", None)

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def written_attributes(self) -> PositionArray:
        """The attributes of each query in the order in which it was written, (m, k)."""
        return self.attributes if self.axes is None else np.take_along_axis(self.attributes, self.axes, axis=1)

    @property
    def written_kinds(self) -> NDArray[np.int16]:
        """The kinds of each query in that order, (m, k)."""
        return self.kinds if self.axes is None else np.take_along_axis(self.kinds, self.axes, axis=1)

    @property
    def every_axes(self) -> PositionArray:
        """The order in which each query was written, (m, k), even where it is the domain's."""
        if self.axes is None:
            return np.broadcast_to(np.arange(self.kinds.shape[1], dtype=np.int32), self.kinds.shape)
        return self.axes

    def part(self, rows: Any) -> "QueryBlock":
        """Some of the queries, by number, slice or mask."""
        axes = None if self.axes is None else self.axes[rows]
        return QueryBlock(self.attributes[rows], self.kinds[rows], self.weights[rows], axes)


def block_of_order(blocks: Sequence[QueryBlock], order: int) -> QueryBlock:
    """The queries of one order among the blocks of a workload, which may be none."""
    if order < len(blocks):
        return blocks[order]
    empty = np.empty((0, order))
    return QueryBlock(empty.astype(np.int32), empty.astype(np.int16), np.empty(0))


def block_as_written(attributes: PositionArray, kinds: NDArray[np.int16], weights: NDArray[np.float64]) -> QueryBlock:
    """A block of queries (m, k) whose attributes are in the order in which they were written."""
    ascending = np.argsort(attributes, axis=1)
    return QueryBlock(
        np.take_along_axis(attributes, ascending, axis=1),
        np.take_along_axis(kinds, ascending, axis=1),
        weights,
        np.argsort(ascending, axis=1).astype(np.int32),
    )


def concatenated(left: QueryBlock, right: QueryBlock) -> QueryBlock:
    """The queries of both, one after the other."""
    is_in_domain_order = left.axes is None and right.axes is None
    return QueryBlock(
        np.concatenate([left.attributes, right.attributes]),
        np.concatenate([left.kinds, right.kinds]),
        np.concatenate([left.weights, right.weights]),
        None if is_in_domain_order else np.concatenate([left.every_axes, right.every_axes]),
    )


def merged(block: QueryBlock) -> QueryBlock:
    """The queries in order and without repetitions: of equal ones the larger weight holds, and the last of the axes."""
    if not len(block):
        return block
    written = () if block.axes is None else block.axes.T[::-1]
    order = np.lexsort([block.weights, *written, *block.kinds.T[::-1], *block.attributes.T[::-1]])
    rows = np.concatenate([block.attributes, block.kinds], axis=1)[order]
    starts = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)]))
    last = order[np.concatenate([starts[1:], [len(rows)]]) - 1]
    return replace(block.part(last), weights=np.maximum.reduceat(block.weights[order], starts))


def runs_of(blocks: Sequence[QueryBlock], most: int | None) -> Iterator[tuple[slice, QueryBlock]]:
    """All queries of a workload's blocks in order, in runs of one order, as `Workload.runs` describes."""
    start = 0
    for order, block in enumerate(blocks):
        step = max(1, len(block) if most is None else most >> order)
        for first in range(0, len(block), step):
            part = block.part(slice(first, first + step))
            yield slice(start + first, start + first + len(part)), part
        start += len(block)


def runs_between(blocks: Sequence[QueryBlock], first: int, last: int) -> Iterator[tuple[slice, QueryBlock]]:
    """The queries from one number on up to another, in runs of one order, as `Workload.between` describes."""
    start = 0
    for block in blocks:
        low, high = (min(max(number - start, 0), len(block)) for number in (first, last))
        if low < high:
            yield slice(start + low, start + high), block.part(slice(low, high))
        start += len(block)
