"""Measuring block by block: sets divided into blocks, each of which is counted, gets its noise and is dropped.

The records are read again for the next block.  Blocks follow from the sets and a limit alone.
"""

import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.measurement.answers import AnswerLayout, Residuals
from residualplanner.gate.measurement.counting import Parents
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import FloatArray, IntArray, frozen, is_integer, value_text
from residualplanner.ground.errors import ResourceError
from residualplanner.ground.process import memory_left
from residualplanner.ground.words import bytes_text
from residualplanner.method.strategy.basis_groups import BasisGroups


@dataclass(frozen=True, eq=False, slots=True)
class SetBlock:
    """Sets that are counted and get their noise together."""

    groups: BasisGroups  # these sets by the bases of their attributes; ``group`` and ``row`` are -1 for all others
    numbers: tuple[int, ...]  # which of all groups each of these is
    rows: tuple[IntArray, ...]  # where its sets stand in that


@dataclass(frozen=True, eq=False, slots=True)
class Division:
    """All sets of a closure, each in one of several blocks."""

    groups: BasisGroups  # the sets by the bases of their attributes
    sets: IntArray  # (m,): their numbers, block after block, ascending in each
    starts: IntArray  # (blocks + 1,): where each block starts in that, and where the last one ends

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[SetBlock]:
        """The blocks, each made when it is its turn: one has arrays as long as there are sets."""
        return map(self.block, range(len(self)))

    @property
    def cells(self) -> FloatArray:
        """How many cells the tables of each block have together, (blocks,)."""
        return np.add.reduceat(_entries(self.groups, self.groups.shapes)[self.sets], self.starts[:-1])

    def block(self, number: int) -> SetBlock:
        """One of the blocks."""
        chosen, groups = self.sets[self.starts[number] : self.starts[number + 1]], self.groups
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
        return SetBlock(part_groups, numbers, tuple(groups.row[mine] for mine in members))


def division(groups: BasisGroups, family: Parents, most: int, sizes: FloatArray | None = None) -> Division:
    """Divide sets into blocks of at most ``most`` cells, as far as each is more than one maximal set with its subsets.

    ``sizes`` (t,) of each maximal set with its subsets count in place of cells.

    Guarantees: each set is in exactly one block, that of the set which it is summed down from.
    """
    number = np.full(len(family.parent), -1)
    number[family.is_maximal] = filled(_of_maximal(groups, family, groups.shapes) if sizes is None else sizes, most)
    number = number[_tops(family)]
    counts = np.bincount(number)
    starts = np.cumsum([0, *counts.tolist()])
    return Division(groups, frozen(np.argsort(number, kind="stable")), frozen(starts))


def _of_maximal(groups: BasisGroups, family: Parents, shapes: Sequence[tuple[int, ...]]) -> FloatArray:
    """For each maximal set the entries of arrays of its group's shape, and of those of its subsets, (t,)."""
    entries = _entries(groups, shapes)
    found = np.bincount(_tops(family), weights=entries, minlength=len(entries)).astype(np.float64)
    return found[family.is_maximal]


def _entries(groups: BasisGroups, shapes: Sequence[tuple[int, ...]]) -> FloatArray:
    return np.array([math.prod(shape) for shape in shapes], dtype=np.float64)[groups.group]


def _tops(family: Parents) -> IntArray:
    """For every set that from which it is summed down in the end, itself if it is part of no other, (m,)."""
    top = np.where(family.is_maximal, np.arange(len(family.parent)), family.parent)
    while (top != top[top]).any():
        top = top[top]
    return top


def filled(sizes: FloatArray, room: float) -> IntArray:
    """Number the blocks (k,) that things of these ``sizes`` (k,) fill in turn, none above the room unless alone."""
    numbers = np.empty(len(sizes), dtype=np.int64)
    ends = np.cumsum(sizes)
    start = number = 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0.0
        stop = max(start + 1, int(np.searchsorted(ends, before + room, side="right")))
        numbers[start:stop] = number
        start, number = stop, number + 1
    return numbers


#: Bytes for a count, and for an answer.
BYTES_OF_NUMBER = 8
#: Further bytes for each cell of a table that is worked on: noise, products, a block of counts that is added; and how
#: many of the largest tables there are at once, as threads draw noise ahead.
_WORKING, _AT_ONCE = 24, 3
#: Bytes for each set of attributes: where its table stands, of which larger table it is the sum; and in any case.
_BYTES_OF_SET, _PROCESS_BYTES = 65, 2**23


def counts_and_answers_bytes(groups: BasisGroups) -> int:
    """The most bytes of counts and answers that measuring holds at a time.

    Counts are released group by group as answers are computed, so that the two are never held in full together.
    """
    sets = [len(members) for members in groups.members]
    counts = [math.prod(shape) * number for shape, number in zip(groups.shapes, sets, strict=True)]
    answers = [math.prod(shape) * number for shape, number in zip(groups.answer_shapes, sets, strict=True)]
    left = [sum(counts) - done for done in accumulate(counts[:-1], initial=0)]
    return BYTES_OF_NUMBER * max(waiting + made for waiting, made in zip(left, accumulate(answers), strict=True))


def working_bytes(groups: BasisGroups) -> int:
    """Bytes besides counts and answers: what work on the largest tables takes."""
    cells = [math.prod(shape) for shape in groups.shapes]
    every = sum(number * len(members) for number, members in zip(cells, groups.members, strict=True))
    return _WORKING * min(every, _AT_ONCE * max(cells))


def measuring_bytes(groups: BasisGroups, memory: int | None = None) -> int:
    """About how many bytes measuring takes at most, besides the records and the plan.

    With ``memory`` no more of counts, answers and work are held at once, the rest being left on disk.
    """
    held = counts_and_answers_bytes(groups) + working_bytes(groups)
    return min(held, held if memory is None else memory) + _BYTES_OF_SET * len(groups.group) + _PROCESS_BYTES


def blocks_within(groups: BasisGroups, family: Parents, memory: int) -> Division:
    """Divide sets into blocks, the measuring of each of which holds about so many bytes at once, and no more.

    ResourceError where the counts of one set, and of the subsets that are summed down from it, take more.
    """
    # Counts and answers of a block are held together for a while.
    cells, answers = (_of_maximal(groups, family, shapes) for shapes in (groups.shapes, groups.answer_shapes))
    sizes = BYTES_OF_NUMBER * (cells + answers)
    working, largest = working_bytes(groups), int(sizes.max())
    if largest + working > memory:
        raise ResourceError(
            f"too little memory: the largest tables take {bytes_text(largest + working)} at once, and "
            f"memory= (--memory) allows {bytes_text(memory)}; nothing was charged or read.  Allow more, or ask for "
            "smaller tables"
        )
    return division(groups, family, memory - working, sizes)


class AnswersOnDisk:
    """For any blocks: a file without a name, which nobody else can open, and which vanishes with the last who uses it.

    Room for all answers, of which these are the ``divisors``, is made at once, so that none is lacking later;
    ResourceError where there is too little in the folder, by default that for temporary files.
    """

    def __init__(self, groups: BasisGroups, divisors: tuple[int, ...] | None, folder: PathLike | None) -> None:
        self._layout, self._divisors = AnswerLayout(groups), divisors
        dtype = np.float64 if divisors is None else np.int64
        with _scratch_file(self._layout.count, folder) as file:
            self._flat: NDArray[Any] = np.memmap(file, dtype, "r+", shape=(self._layout.count,))
        self._wide: dict[int, list[tuple[IntArray, NDArray[Any]]]] = {}

    def put(self, block: SetBlock, residuals: Residuals) -> None:
        """Take the answers of a block."""
        for part, (number, rows) in enumerate(zip(block.numbers, block.rows, strict=True)):
            stored = residuals.stored(part)
            if stored.dtype == self._flat.dtype:
                self._layout.part(self._flat, number)[rows] = stored
            else:
                self._wide.setdefault(number, []).append((rows, stored))

    def answers(self) -> Residuals:
        """All answers, those that int64 cannot hold in memory."""
        wide = {}
        for number, parts in self._wide.items():
            stored = self._layout.part(self._flat, number)
            numbers = stored.astype(object)
            for rows, integers in parts:
                numbers[rows] = integers
            stored[...], wide[number] = 0, frozen(numbers)
        return Residuals(self._layout.groups, frozen(self._flat.view(np.ndarray)), self._divisors, wide)


def require_room_given(memory: int | None, scratch: PathLike | None) -> None:
    """ResourceError where ``memory`` is not a number of bytes, or ``scratch`` with it not a folder."""
    if memory is None:
        return
    if not is_integer(memory, least=1):
        raise ResourceError(f"memory must be a number of bytes, such as 4 * 2**30, got {value_text(memory)}")
    if scratch is not None and not os.path.isdir(scratch):
        raise ResourceError("scratch must be a folder that exists; make it first")


def blocks_held(groups: BasisGroups, family: Parents, memory: int | None = None) -> Division | list[SetBlock]:
    """As many sets at a time as so many bytes of counts and noise hold, all if none are given, or ResourceError."""
    require_memory(groups, memory=memory)
    if memory is not None:
        return blocks_within(groups, family, int(memory))
    return [SetBlock(groups, tuple(range(len(groups.members))), tuple(groups.row[sets] for sets in groups.members))]


def _scratch_file(count: int, folder: PathLike | None) -> IO[bytes]:
    size = max(1, BYTES_OF_NUMBER * count)
    where = tempfile.gettempdir() if folder is None else os.fspath(folder)
    try:
        free = shutil.disk_usage(where).free
        file = tempfile.TemporaryFile(dir=where)  # noqa: SIM115 - it is open for as long as the answers are used
    except OSError as error:
        raise ResourceError(
            f"the answers cannot be put into a file in {where}: {error.strerror or error}; nothing was charged or "
            "read.  Name another folder with scratch= (--scratch)"
        ) from None
    try:
        if free < size:
            raise OSError
        if hasattr(os, "posix_fallocate"):  # a file with holes would fail only when they are filled, after the charge
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
    except OSError:
        file.close()
        raise ResourceError(
            f"too little room: the answers take {bytes_text(size)} on disk, and {where} has {bytes_text(free)} left; "
            "nothing was charged or read.  Name another folder with scratch= (--scratch)"
        ) from None
    return file


def require_memory(*groups: BasisGroups, memory: int | None = None) -> None:
    """Raise ResourceError where measuring needs more memory than this process can get; all counts come before noise."""
    require_room(
        sum(measuring_bytes(each, memory) for each in groups),
        "measuring holds {needed} of counts and answers at once",
        "nothing was charged or read.  Ask for fewer or smaller tables, with a lower up_to or with max_cells, measure "
        "block by block with memory= (--memory), or on a machine with more memory",
    )


def require_room(needed: float, purpose: str, remedy: str) -> None:
    """Raise ResourceError where ``needed`` bytes, which the purpose names, are more than this process can get."""
    room, where = min(memory_left(), default=(needed, ""))
    if room < needed:
        held = purpose.format(needed=bytes_text(needed))
        raise ResourceError(f"too little memory: {held}, and {where} has {bytes_text(max(room, 0))} left; {remedy}")
