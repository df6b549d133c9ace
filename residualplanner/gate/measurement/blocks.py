"""Measuring block by block: how much is held in memory, and where the answers of all blocks are collected.

Reads: the sets that are measured, a number of bytes.  Gives: blocks, and collectors of their answers.

The tables of a block are counted, get their noise, and are dropped; then the records are read again for the next block.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.measurement.answers import AnswerLayout, FloatResiduals, IntegerResiduals
from residualplanner.gate.measurement.counting import Parents
from residualplanner.gate.measurement.dividing import Block, Division, answers_of_maximal, cells_of_maximal, division
from residualplanner.gate.measurement.measuring_memory import BYTES_OF_NUMBER, working_bytes
from residualplanner.gate.measurement.resource_estimate import bytes_text
from residualplanner.gate.measurement.resources import require_memory
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import IntArray, frozen, is_integer, value_text
from residualplanner.ground.errors import ResourceError
from residualplanner.method.strategy.basis_groups import BasisGroups

Residuals = IntegerResiduals | FloatResiduals
#: What makes residuals of all numbers, and of those groups whose numbers int64 cannot hold.
Join = Callable[[NDArray[Any], Mapping[int, NDArray[Any]]], Residuals]


class Blocks(Protocol):
    """Blocks that are measured one after another."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Block]: ...


def blocks_within(groups: BasisGroups, family: Parents, memory: int) -> Division:
    """Divide sets into blocks, the measuring of each of which holds about so many bytes at once, and no more.

    Args:
        groups: the sets by the bases of their attributes.
        family: which larger set each is summed down from.
        memory: how many bytes of counts, noise and answers may be held at once.

    Raises:
        ResourceError: the counts of one set, and of the subsets that are summed down from it, take more.

    Guarantees: as `division`.
    """
    # Counts and answers of a block are held together for a while.
    sizes = BYTES_OF_NUMBER * (cells_of_maximal(groups, family) + answers_of_maximal(groups, family))
    working, largest = working_bytes(groups), int(sizes.max())
    if largest + working > memory:
        raise ResourceError(
            f"too little memory: the largest tables take {bytes_text(largest + working)} at once, and "
            f"memory= (--memory) allows {bytes_text(memory)}; nothing was charged or read.  Allow more, or ask for "
            "smaller tables"
        )
    return division(groups, family, memory - working, sizes)


class AnswerCollector(Protocol):
    """What the answers of blocks are collected in."""

    def put(self, block: Block, residuals: Residuals) -> None:
        """Take the answers of a block."""
        ...

    def answers(self) -> Residuals:
        """All answers, when each block has been put."""
        ...


class AnswersInMemory:
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


class AnswersOnDisk:
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
        numbers = stored.astype(object)
        for rows, integers in self._wide[number]:
            numbers[rows] = integers
        stored[...] = 0
        return frozen(numbers)


class Room(Protocol):
    """How much may be held at once."""

    def blocks(self, groups: BasisGroups, family: Parents) -> Blocks:
        """What is measured at a time.  ResourceError where even that is too much."""
        ...

    def collector(self, groups: BasisGroups, dtype: type[np.generic], join: Join) -> AnswerCollector:
        """What the answers of the blocks are put into."""
        ...


class AllAtOnce:
    """All counts and all answers are held in memory."""

    def blocks(self, groups: BasisGroups, family: Parents) -> Blocks:
        """All sets, if the machine has the memory for them."""
        del family
        require_memory(groups)
        return [Block(groups, tuple(range(len(groups.members))), tuple(groups.row[sets] for sets in groups.members))]

    def collector(self, groups: BasisGroups, dtype: type[np.generic], join: Join) -> AnswerCollector:
        """One in memory."""
        del groups, dtype, join
        return AnswersInMemory()


@dataclass(frozen=True, slots=True)
class Within:
    """At most so many bytes of counts and noise are held; answers are put on disk.

    Attributes:
        memory: how many bytes.
        scratch: the folder for the answers; None for that of temporary files.
    """

    memory: int
    scratch: PathLike | None

    def blocks(self, groups: BasisGroups, family: Parents) -> Blocks:
        """As many sets at a time as there is room for, if the machine has the memory for them."""
        require_memory(groups, self.memory)
        return blocks_within(groups, family, self.memory)

    def collector(self, groups: BasisGroups, dtype: type[np.generic], join: Join) -> AnswerCollector:
        """One on disk."""
        return AnswersOnDisk(groups, dtype, join, self.scratch)


def room_for(memory: int | None, scratch: PathLike | None) -> Room:
    """The room that the arguments of `measure` allow.

    Raises:
        ResourceError: ``memory`` is not a number of bytes, or ``scratch`` not a folder.
    """
    if memory is None:
        return AllAtOnce()
    if not is_integer(memory, least=1):
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
        ResourceError: there is too little room, or no file can be made there.
    """
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
