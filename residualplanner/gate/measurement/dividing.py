"""Sets divided into blocks, each of which is counted and gets its noise by itself.

Reads: the sets that are measured.  Gives: blocks, which follow from the sets and a limit alone.

A block holds some sets that are part of no other set, and those of their subsets that are summed down from them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from residualplanner.gate.measurement.counting import Parents
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.method.strategy.basis_groups import BasisGroups


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Sets that are counted and get their noise together.

    Attributes:
        groups: these sets by the bases of their attributes; ``group`` and ``row`` are -1 for all others.
        numbers: which of all groups each of these is.
        rows: where its sets stand in that.
    """

    groups: BasisGroups
    numbers: tuple[int, ...]
    rows: tuple[IntArray, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Division:
    """All sets of a closure, each in one of several blocks.

    Attributes:
        groups: the sets by the bases of their attributes.
        sets (m,): their numbers, block after block, ascending in each.
        starts (blocks + 1,): where each block starts in that, and where the last one ends.
    """

    groups: BasisGroups
    sets: IntArray
    starts: IntArray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[Block]:
        """The blocks, each made when it is its turn: one has arrays as long as there are sets."""
        return map(self.block, range(len(self)))

    @property
    def cells(self) -> FloatArray:
        """How many cells the tables of each block have together, (blocks,)."""
        return np.add.reduceat(cells_of_sets(self.groups)[self.sets], self.starts[:-1])

    def members(self, number: int) -> IntArray:
        """The numbers of the sets of a block, ascending."""
        return self.sets[self.starts[number] : self.starts[number + 1]]

    def block(self, number: int) -> Block:
        """One of the blocks."""
        chosen, groups = self.members(number), self.groups
        of_set = groups.group[chosen]
        group, row = np.full(len(groups.group), -1), np.full(len(groups.group), -1)
        numbers = tuple(np.unique(of_set).tolist())
        members = tuple(frozen(chosen[of_set == own]) for own in numbers)
        for part, mine in enumerate(members):
            group[mine], row[mine] = part, np.arange(len(mine))
        part_groups = BasisGroups(
            tuple(groups.bases[own] for own in numbers),
            tuple(groups.shapes[own] for own in numbers),
            tuple(groups.answer_shapes[own] for own in numbers),
            frozen(group),
            frozen(row),
            members,
        )
        return Block(part_groups, numbers, tuple(groups.row[mine] for mine in members))


def division(groups: BasisGroups, family: Parents, most: int, sizes: FloatArray | None = None) -> Division:
    """Divide sets into blocks of at most so many cells, as far as each is more than one maximal set with its subsets.

    Args:
        groups: the sets by the bases of their attributes.
        family: which larger set each is summed down from.
        most: how many cells the tables of a block may have together.
        sizes (t,): of each maximal set with its subsets, to count in place of cells.

    Guarantees: each set is in exactly one block, that of the set which it is summed down from.  The blocks follow from
        the sets and from ``most``.
    """
    number = np.full(len(family.parent), -1)
    number[family.is_maximal] = _filled(cells_of_maximal(groups, family) if sizes is None else sizes, most)
    number = number[_tops(family)]
    counts = np.bincount(number)
    starts = np.cumsum([0, *counts.tolist()])
    return Division(groups, frozen(np.argsort(number, kind="stable")), frozen(starts))


def cells_of_maximal(groups: BasisGroups, family: Parents) -> FloatArray:
    """For each maximal set how many cells its table has and those of all sets that are summed down from it, (t,)."""
    return _of_maximal(groups, family, groups.shapes)


def answers_of_maximal(groups: BasisGroups, family: Parents) -> FloatArray:
    """For each maximal set how many answers it has together with all sets that are summed down from it, (t,)."""
    return _of_maximal(groups, family, groups.answer_shapes)


def _of_maximal(groups: BasisGroups, family: Parents, shapes: Sequence[tuple[int, ...]]) -> FloatArray:
    """For each maximal set the entries of arrays of its group's shape, and of those of its subsets, (t,)."""
    entries = _entries(groups, shapes)
    found = np.bincount(_tops(family), weights=entries, minlength=len(entries)).astype(np.float64)
    return found[family.is_maximal]


def cells_of_sets(groups: BasisGroups) -> FloatArray:
    """How many cells the table of each set has, (m,)."""
    return _entries(groups, groups.shapes)


def _entries(groups: BasisGroups, shapes: Sequence[tuple[int, ...]]) -> FloatArray:
    """The entries of an array of the shape of each set's group, (m,)."""
    return np.array([math.prod(shape) for shape in shapes], dtype=np.float64)[groups.group]


def _tops(family: Parents) -> IntArray:
    """For every set that from which it is summed down in the end, itself if it is part of no other, (m,)."""
    top = np.where(family.is_maximal, np.arange(len(family.parent)), family.parent)
    while True:
        above = top[top]
        if (above == top).all():
            return top
        top = above


def _filled(sizes: FloatArray, room: float) -> IntArray:
    """Number the blocks (k,) that things of these ``sizes`` (k,) fill one after another, none with more than room.

    What is larger than the room is alone.
    """
    numbers = np.empty(len(sizes), dtype=np.int64)
    ends = np.cumsum(sizes)
    start = number = 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0.0
        stop = max(start + 1, int(np.searchsorted(ends, before + room, side="right")))
        numbers[start:stop] = number
        start, number = stop, number + 1
    return numbers
