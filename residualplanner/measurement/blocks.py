"""Measuring block by block: the sets of a plan divided so that the counts of one block fit into memory.

Reads: the sets that are measured, a number of bytes.  Gives: blocks, and a place on disk for the answers of all.

A block holds some sets that are part of no other set, and those of their subsets that are summed down from them.  Its
tables are counted, get their noise, and are dropped; then the records are read again for the next block.
"""

import math
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from residualplanner._atomic import PathLike
from residualplanner._checks import FloatArray, IntArray, frozen, value_text
from residualplanner.errors import ResourceError
from residualplanner.measurement.answers import AnswerLayout, FloatResiduals, IntegerResiduals
from residualplanner.measurement.counting import Parents
from residualplanner.measurement.resources import BYTES_OF_NUMBER, require_memory, working_bytes
from residualplanner.plan import bytes_text
from residualplanner.strategy import BasisGroups

Residuals = IntegerResiduals | FloatResiduals
#: What makes residuals of all numbers, and of those groups whose numbers int64 cannot hold.
Join = Callable[[NDArray[Any], Mapping[int, NDArray[Any]]], Residuals]


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


def blocks_within(groups: BasisGroups, family: Parents, memory: int) -> list[Block]:
    """Divide sets into blocks, the measuring of each of which holds about so many bytes at once, and no more.

    Args:
        groups: the sets by the bases of their attributes.
        family: which larger set each is summed down from.
        memory: how many bytes of counts, noise and answers may be held at once.

    Raises:
        ResourceError: the counts of one set, and of the subsets that are summed down from it, take more.

    Guarantees: each set is in exactly one block, that of the set which it is summed down from.  The blocks follow from
        the plan and from ``memory``.
    """
    top, working = _tops(family), working_bytes(groups)
    # Counts and answers of a block are held together for a while.
    bytes_of_top = np.zeros(len(top))
    np.add.at(bytes_of_top, top, 2 * BYTES_OF_NUMBER * _cells_of_sets(groups))
    tops = np.flatnonzero(family.is_maximal)
    needed, room = bytes_of_top[tops], memory - working
    if (needed > room).any():
        raise ResourceError(
            f"too little memory: the largest tables take {bytes_text(int(needed.max()) + working)} at once, and "
            f"memory= allows {bytes_text(memory)}; nothing was charged or read.  Allow more, or ask for smaller tables"
        )
    block_of_set = np.full(len(top), -1)
    block_of_set[tops] = _filled(needed, room)
    block_of_set = block_of_set[top]
    return [_block(groups, block_of_set == number) for number in range(int(block_of_set.max()) + 1)]


class Store(Protocol):
    """Where the answers of blocks are put together."""

    def put(self, block: Block, residuals: Residuals) -> None:
        """Take the answers of a block."""
        ...

    def answers(self) -> Residuals:
        """All answers, when each block has been put."""
        ...


class MemoryStore:
    """For a single block: its answers are all there are."""

    def __init__(self) -> None:
        self._residuals: list[Residuals] = []

    def put(self, block: Block, residuals: Residuals) -> None:
        """Take the answers of the only block."""
        del block
        self._residuals.append(residuals)

    def answers(self) -> Residuals:
        """The same."""
        (residuals,) = self._residuals
        return residuals


class DiskStore:
    """For any blocks: a file without a name, which nobody else can open, and which vanishes with the last who uses it.

    Room for all answers is made at once, so that none is lacking later.

    Args:
        groups: all sets by the bases of their attributes.
        dtype: of the numbers that are stored.
        join: makes residuals of all numbers, and of those groups that int64 cannot hold.
        folder: where; that for temporary files if not given.

    Raises:
        ResourceError: there is too little room.
    """

    def __init__(self, groups: BasisGroups, dtype: type[np.generic], join: Join, folder: PathLike | None) -> None:
        self._layout, self._join = AnswerLayout(groups), join
        with _scratch_file(self._layout.count, folder) as file:
            self._flat = np.memmap(file, dtype, "r+", shape=(self._layout.count,))
        self._wide: dict[int, list[tuple[IntArray, NDArray[Any]]]] = {}

    def put(self, block: Block, residuals: Residuals) -> None:
        """Take the answers of a block."""
        for part, (number, rows) in enumerate(zip(block.numbers, block.rows, strict=True)):
            stored = residuals.stored(part)
            if stored.dtype == self._flat.dtype:
                self._layout.part(self._flat, number)[rows] = stored
            else:
                self._wide.setdefault(number, []).append((rows, stored))

    def answers(self) -> Residuals:
        """All answers, those that int64 cannot hold in memory."""
        wide = {number: self._wide_group(number) for number in self._wide}
        return self._join(frozen(self._flat.view(np.ndarray)), wide)

    def _wide_group(self, number: int) -> NDArray[Any]:
        stored = self._layout.part(self._flat, number)
        whole = stored.astype(object)
        for rows, integers in self._wide[number]:
            whole[rows] = integers
        stored[...] = 0
        return frozen(whole)


class Room(Protocol):
    """How much may be held at once."""

    def blocks(self, groups: BasisGroups, family: Parents) -> list[Block]:
        """What is measured at a time.  ResourceError where even that is too much."""
        ...

    def store(self, groups: BasisGroups, dtype: type[np.generic], join: Join) -> Store:
        """What the answers of the blocks are put into."""
        ...


class AllAtOnce:
    """All counts and all answers are held in memory."""

    def blocks(self, groups: BasisGroups, family: Parents) -> list[Block]:
        """All sets, if the machine has the memory for them."""
        del family
        require_memory(groups)
        return [Block(groups, tuple(range(len(groups.members))), tuple(groups.row[sets] for sets in groups.members))]

    def store(self, groups: BasisGroups, dtype: type[np.generic], join: Join) -> Store:
        """One in memory."""
        del groups, dtype, join
        return MemoryStore()


@dataclass(frozen=True, slots=True)
class Within:
    """At most so many bytes of counts and noise are held; answers are put on disk.

    Attributes:
        memory: how many bytes.
        scratch: the folder for the answers; None for that of temporary files.
    """

    memory: int
    scratch: PathLike | None

    def blocks(self, groups: BasisGroups, family: Parents) -> list[Block]:
        """As many sets at a time as there is room for."""
        return blocks_within(groups, family, self.memory)

    def store(self, groups: BasisGroups, dtype: type[np.generic], join: Join) -> Store:
        """One on disk."""
        return DiskStore(groups, dtype, join, self.scratch)


def room_for(memory: int | None, scratch: PathLike | None) -> Room:
    """What `measure` was told of memory.

    Raises:
        ResourceError: it is no number of bytes, or there is no such folder.
    """
    if memory is None:
        return AllAtOnce()
    if isinstance(memory, bool) or not isinstance(memory, int | np.integer) or memory <= 0:
        raise ResourceError(f"memory must be a number of bytes, such as 4 * 2**30, got {value_text(memory)}")
    if scratch is not None and not os.path.isdir(scratch):
        raise ResourceError("scratch must be a folder that exists; make it first")
    return Within(int(memory), scratch)


def _scratch_file(count: int, folder: PathLike | None) -> IO[bytes]:
    """A file without a name that has room for so many numbers; it vanishes with the last who uses it.

    Args:
        count: how many numbers.
        folder: where; that for temporary files if not given.

    Raises:
        ResourceError: there is too little room.
    """
    size = max(1, BYTES_OF_NUMBER * count)
    where = tempfile.gettempdir() if folder is None else os.fspath(folder)
    free = shutil.disk_usage(where).free
    file = tempfile.TemporaryFile(dir=where)  # noqa: SIM115 - it is open for as long as the answers are used
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
            "nothing was charged or read.  Name another folder with scratch="
        ) from None
    return file


def _tops(family: Parents) -> IntArray:
    """For every set that from which it is summed down in the end, itself if it is part of no other, (m,)."""
    top = np.where(family.is_maximal, np.arange(len(family.parent)), family.parent)
    while True:
        above = top[top]
        if (above == top).all():
            return top
        top = above


def _cells_of_sets(groups: BasisGroups) -> FloatArray:
    """How many cells the table of each set has, (m,)."""
    cells = np.array([math.prod(shape) for shape in groups.shapes], dtype=np.float64)
    return cells[groups.group]


def _filled(sizes: FloatArray, room: float) -> IntArray:
    """Number the blocks (k,) that things of these ``sizes`` (k,) fill one after another, none with more than room."""
    numbers = np.empty(len(sizes), dtype=np.int64)
    ends = np.cumsum(sizes)
    start = number = 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0.0
        stop = max(start + 1, int(np.searchsorted(ends, before + room, side="right")))
        numbers[start:stop] = number
        start, number = stop, number + 1
    return numbers


def _block(groups: BasisGroups, chosen: NDArray[np.bool_]) -> Block:
    """The block of the chosen sets, (m,)."""
    group, row = np.full(len(chosen), -1), np.full(len(chosen), -1)
    numbers: list[int] = []
    members: list[IntArray] = []
    for number, sets in enumerate(groups.members):
        mine = sets[chosen[sets]]
        if len(mine):
            group[mine], row[mine] = len(numbers), np.arange(len(mine))
            numbers.append(number)
            members.append(frozen(mine))
    part = BasisGroups(
        tuple(groups.bases[number] for number in numbers),
        tuple(groups.shapes[number] for number in numbers),
        tuple(groups.answer_shapes[number] for number in numbers),
        frozen(group),
        frozen(row),
        tuple(members),
    )
    return Block(part, tuple(numbers), tuple(groups.row[mine] for mine in members))
