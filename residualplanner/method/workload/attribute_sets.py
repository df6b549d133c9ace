"""Sets of attributes, and queries on them, as arrays: one block of rows per order, sorted, without repetition."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.errors import WorkloadError

PositionArray = NDArray[np.int32]

#: The most attribute sets of a workload or of its downward closure; checked before memory is allocated.
SET_LIMIT = 20_000_000


@dataclass(frozen=True, eq=False)
class AttributeSets:
    """Distinct sets of attributes, ordered by their order (number of members), then lexicographically."""

    blocks: tuple[PositionArray, ...]  # the sets of order k = 0, 1, .., (m_k, k): ascending in each row, rows ascending
    attribute_count: int  # how many attributes the domain has; every entry is below it
    offsets: IntArray = field(init=False)  # (K+2,), where each block starts; last, how many sets there are

    def __post_init__(self) -> None:
        counts = [len(block) for block in self.blocks]
        object.__setattr__(self, "offsets", frozen(np.cumsum([0, *counts])))

    def __len__(self) -> int:
        return int(self.offsets[-1])

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        for block in self.blocks:
            for row in block.tolist():
                yield tuple(row)

    def __getitem__(self, position: int) -> tuple[int, ...]:
        """The set with the given number."""
        order = int(np.searchsorted(self.offsets, position, side="right")) - 1
        return tuple(self.blocks[order][position - self.offsets[order]].tolist())

    def has_sets_of(self, other: "AttributeSets") -> bool:
        """Whether these are the sets of another collection, and no others."""
        mine, theirs = self.blocks, other.blocks
        return mine is theirs or (len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs)))

    @property
    def orders(self) -> IntArray:
        """The order of every set, (m,)."""
        return np.repeat(np.arange(len(self.blocks)), np.diff(self.offsets))

    @cached_property
    def factor_starts(self) -> IntArray:
        """The number of the first factor of each set, and at the end how many factors there are, (m + 1,)."""
        return frozen(np.concatenate([[0], np.cumsum(self.orders)]).astype(np.int64))

    @cached_property
    def attribute_of_factor(self) -> IntArray:
        """The attribute of each factor, (factors,)."""
        return frozen(np.concatenate([block.ravel() for block in self.blocks]).astype(np.int64))

    @cached_property
    def padded_members(self) -> IntArray:
        """The members of each set, and d where it has fewer than the largest, (m, k)."""
        members = np.full((len(self), len(self.blocks) - 1), self.attribute_count)
        for order, block in enumerate(self.blocks):
            members[self.offsets[order] : self.offsets[order + 1], :order] = block
        return members

    def products(self, factor: ArrayLike) -> FloatArray:
        """Multiply ``factor`` (d,), one number per attribute, over the members of every set, (m,)."""
        factors = np.asarray(factor, dtype=np.float64)
        return np.concatenate([factors[block].prod(axis=1) for block in self.blocks] or [np.empty(0)])


def unique_rows(rows: PositionArray, attribute_count: int) -> PositionArray:
    """The distinct rows of ``rows`` (m, k), each ascending, in lexicographic order."""
    order = rows.shape[1]
    if order == 0:
        return frozen(rows[:1].copy())
    if attribute_count**order >= 2**63:
        return frozen(np.unique(rows, axis=0))
    keys = np.ravel_multi_index(tuple(rows.T), (attribute_count,) * order)  # read as numbers in that base
    if (keys[1:] > keys[:-1]).all():
        return frozen(rows)
    return frozen(rows_of_keys(np.unique(keys), attribute_count, order))


def rows_of_keys(keys: IntArray, attribute_count: int, order: int) -> PositionArray:
    """The rows that are numbers in base ``attribute_count``, (m, order)."""
    rows = np.empty((len(keys), order), dtype=np.int32)
    rest = keys
    for column in reversed(range(order)):
        rest, rows[:, column] = np.divmod(rest, attribute_count)
    return rows


def row_numbers(rows: NDArray[Any]) -> IntArray:
    """Number the distinct rows of ``rows`` (m, k), small integers, from 0 in lexicographic order, (m,)."""
    numbers = np.zeros(len(rows), dtype=np.int64)
    for column in range(rows.shape[1]):
        # Numbered anew after each column, so that the product stays below 64 bits.
        width = int(rows[:, column].max(initial=0)) + 1
        numbers = np.unique(numbers * width + rows[:, column], return_inverse=True)[1]
    return numbers


def indices_of_numbers(numbers: IntArray) -> list[IntArray]:
    """The indices of each distinct number among ``numbers`` (m,), ascending, the smallest number first."""
    if len(numbers) < 2 or (numbers == numbers[0]).all():
        return [np.arange(len(numbers))] if len(numbers) else []
    by_number = np.argsort(numbers, kind="stable")
    return np.split(by_number, np.flatnonzero(np.diff(numbers[by_number])) + 1)


def numbers_of_blocks(blocks: Iterable[NDArray[Any]]) -> IntArray:
    """Number the distinct rows of each block (m_k, k) as `row_numbers` does, from block to block onwards, (m,)."""
    numbers, count = [np.empty(0, dtype=np.int64)], 0
    for rows in blocks:
        numbers.append(row_numbers(rows) + count)
        count = int(numbers[-1].max(initial=count - 1)) + 1
    return np.concatenate(numbers)


def combinations(attributes: ArrayLike, order: int) -> PositionArray:
    """All sets of ``order`` attributes out of ``attributes`` (d,), ascending; lexicographic, (C(d, order), order)."""
    members = np.asarray(attributes, dtype=np.int32)
    require_set_count(math.comb(len(members), order), what=f"sets of {order} of {len(members)} attributes")
    rows = np.empty((1, 0), dtype=np.int32)
    for _ in range(order):
        rows = extensions(rows, len(members))
    return frozen(members[rows])


def subsets_of(members: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All subsets of some attributes, those of fewer first."""
    orders = range(len(members) + 1)
    return itertools.chain.from_iterable(itertools.combinations(members, order) for order in orders)


def extensions(rows: PositionArray, attribute_count: int) -> PositionArray:
    """Every way to append one larger attribute to each row of ``rows`` (m, k), (m', k+1), in lexicographic order."""
    last = rows[:, -1] if rows.shape[1] else np.full(len(rows), -1, dtype=np.int32)
    counts = attribute_count - 1 - last.astype(np.int64)
    total = int(counts.sum())
    require_set_count(total, what=f"sets of {rows.shape[1] + 1} attributes")
    # The rows that extend one row are next to one another: its last attribute plus 1, 2, .. up to the largest.
    longer = np.empty((total, rows.shape[1] + 1), dtype=np.int32)
    longer[:, :-1] = np.repeat(rows, counts, axis=0)
    ends = np.cumsum(counts)
    longer[:, -1] = np.arange(total) + np.repeat(last + 1 - (ends - counts), counts)
    return longer


def require_set_count(count: int, *, what: str, limit: int = SET_LIMIT) -> None:
    """Raise WorkloadError if there are more sets than ``limit``, or than this library plans for at once."""
    if count > min(limit, SET_LIMIT):
        raise WorkloadError(
            f"too large: {count:,} {what}, the limit is {min(limit, SET_LIMIT):,}; choose a lower order, or max_cells="
        )


@dataclass(frozen=True, eq=False, slots=True)
class QueryBlock:
    """The queries of one order, in lexicographic order of their attributes, then kinds."""

    attributes: PositionArray  # (m, k), positions in the domain, ascending in each row
    kinds: NDArray[np.int16]  # (m, k), the number of each attribute's kind among the workload's kinds of query
    weights: FloatArray  # (m,), the importance of each query, at least 0
    # (m, k), the order in which each query was written, as columns of attributes; None, to save memory, where all are
    # in the domain's order.
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


def block_as_written(attributes: PositionArray, kinds: NDArray[np.int16], weights: FloatArray) -> QueryBlock:
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
