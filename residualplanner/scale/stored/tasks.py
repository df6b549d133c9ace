"""The tasks of a plan: sets that are counted, and get their noise, together at one worker that has the memory for it.

They follow from the plan's exact noise and a number of cells alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from residualplanner.gate.discrete_gaussian import ByteSource
from residualplanner.gate.measurement.answers import AnswerLayout, Residuals
from residualplanner.gate.measurement.blocks import BYTES_OF_NUMBER, Division, division, measuring_bytes
from residualplanner.gate.measurement.counting import rows_to_count, with_sums
from residualplanner.gate.measurement.discrete import ExactNoise, exact_noise
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import ResourceError
from residualplanner.ground.words import bytes_text
from residualplanner.method.plan.files import plan_bytes
from residualplanner.scale.engines.partitions import CountingTask
from residualplanner.scale.stored.release import StoredRelease
from residualplanner.scale.workers import Room

#: How many cells the tables of a task have together at most, unless it is a single maximal set with its subsets.
TASK_CELLS = 2**22
#: Tasks are not made smaller than this many cells for want of memory: what they take besides is more.
_LEAST_CELLS = 2**16
#: Bytes that a task takes besides its answers: a claim, and what is around the answers, in blocks of a disk.
_BYTES_OF_TASK = 2**14
#: The terms, a generation, the manifest, a claim and answers under way, and the folders, as if they were tasks.
_OTHERS = 4


@dataclass(frozen=True, eq=False, slots=True)
class Tasks:
    """All sets of a plan, each in one task."""

    noise: ExactNoise
    division: Division

    def __len__(self) -> int:
        return len(self.division)

    @property
    def stored_bytes(self) -> int:
        """How many bytes all objects take in a folder, about, if int64 holds the answers."""
        answers = BYTES_OF_NUMBER * AnswerLayout(self.noise.groups).count
        return answers + len(plan_bytes(self.noise.plan)) + _BYTES_OF_TASK * (_OTHERS + len(self))

    def counting(self, number: int) -> CountingTask:
        """What is counted for a task."""
        noise = self.noise
        rows = rows_to_count(noise.plan.closure, self.division.block(number).groups, noise.family)
        return CountingTask(number, tuple(rows))

    def answers(self, number: int, counted: list[IntArray], source: ByteSource) -> Residuals:
        """The noisy answers of a task, from what was counted for it; NoiseError as `ExactNoise.answers`."""
        block = self.division.block(number)
        noise = replace(self.noise, source=source)
        return noise.answers(block, with_sums(counted, block.groups, noise.family))


def tasks_of_noise(noise: ExactNoise, task_cells: int) -> Tasks:
    """The tasks of a plan."""
    return Tasks(noise, division(noise.groups, noise.family, task_cells))


@lru_cache(maxsize=1)
def tasks_of_release(release: StoredRelease) -> Tasks:
    """The tasks of a release, from the plan in its store; errors as `StoredRelease.plan` and `exact_noise`."""
    return tasks_of_noise(exact_noise(release.plan()), release.task_cells)


def tasks_within(noise: ExactNoise, task_cells: int, rooms: Sequence[Room]) -> tuple[Tasks, int]:
    """The tasks of a plan, and how many cells each has at most: ``task_cells``, or fewer where memory forbids it.

    ResourceError where some room is too little for a table of the plan.
    """
    while True:
        tasks = tasks_of_noise(noise, task_cells)
        try:
            require_rooms(tasks, rooms)
            return tasks, task_cells
        except ResourceError:
            if task_cells <= _LEAST_CELLS:
                raise
        task_cells //= 2


def require_rooms(tasks: Tasks, rooms: Sequence[Room]) -> None:
    """Raise ResourceError where some room is too little for as many of the largest tasks as it is for."""
    most = max((room.tasks for room in rooms), default=0)
    largest = np.argsort(-tasks.division.cells, kind="stable")[:most].tolist()
    # needed[n]: what the n largest tasks take at a time, the worst that n tasks can meet in
    needed = np.cumsum([0, *(measuring_bytes(tasks.division.block(task).groups) for task in largest)])
    of_rooms = ((room, int(needed[min(room.tasks, len(largest))])) for room in rooms)
    lacking = [(room, bytes_) for room, bytes_ in of_rooms if bytes_ > room.left]
    if lacking:
        room, bytes_ = max(lacking, key=lambda each: each[1] - each[0].left)
        count = min(room.tasks, len(tasks))
        at_once = "drawing a task" if count == 1 else f"drawing {count} tasks at a time"
        raise ResourceError(
            f"too little memory: {at_once} takes {bytes_text(bytes_)} for counts and answers, and {room.where} has "
            f"{bytes_text(max(room.left, 0))} left; nothing was charged or read.  Give those that draw more memory, or "
            "fewer tasks at a time (threads or cores), or ask for smaller tables, with a lower up_to or with max_cells"
        )
