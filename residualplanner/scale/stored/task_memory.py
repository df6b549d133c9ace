"""Tasks of a size that the memory of those who draw them is enough for.

Reads: a plan's exact noise, the memory of workers.  Gives: Tasks, or ResourceError before anything is charged.
"""

from collections.abc import Sequence

import numpy as np

from residualplanner.gate.measurement.discrete import ExactNoise
from residualplanner.gate.measurement.resource_estimate import bytes_text, measuring_bytes
from residualplanner.ground.errors import ResourceError
from residualplanner.scale.stored.tasks import Tasks, tasks_of_noise
from residualplanner.scale.workers import Room

#: Tasks are not made smaller than this many cells for want of memory: what they take besides is more.
_LEAST_CELLS = 2**16


def tasks_within(noise: ExactNoise, task_cells: int, rooms: Sequence[Room]) -> tuple[Tasks, int]:
    """The tasks of a plan, and how many cells each has at most, so that workers have memory for them.

    Args:
        noise: of the plan.
        task_cells: how many cells a task may have where memory does not forbid it.
        rooms: all that there is.

    Raises:
        ResourceError: some room is too little for a table of the plan.
    """
    while True:
        tasks = tasks_of_noise(noise, task_cells)
        if task_cells <= _LEAST_CELLS or _excess(tasks, rooms) is None:
            require_rooms(tasks, rooms)
            return tasks, task_cells
        task_cells //= 2


def require_rooms(tasks: Tasks, rooms: Sequence[Room]) -> None:
    """Raise ResourceError where some room is too little for as many of the largest tasks as it is for."""
    found = _excess(tasks, rooms)
    if found is not None:
        room, needed = found
        count = min(room.tasks, len(tasks))
        at_once = "drawing a task" if count == 1 else f"drawing {count} tasks at a time"
        raise ResourceError(
            f"too little memory: {at_once} takes {bytes_text(needed)} for counts and answers, and {room.where} has "
            f"{bytes_text(max(room.left, 0))} left; nothing was charged or read.  Give those that draw more memory, or "
            "fewer tasks at a time (threads or cores), or ask for smaller tables, with a lower up_to or with max_cells"
        )


def _excess(tasks: Tasks, rooms: Sequence[Room]) -> tuple[Room, int] | None:
    """The room that lacks most, and the bytes needed there; None where all are enough."""
    most = max((room.tasks for room in rooms), default=0)
    largest = np.argsort(-tasks.division.cells, kind="stable")[:most].tolist()
    needed = np.cumsum([0, *(measuring_bytes(tasks.division.block(task).groups) for task in largest)])
    of_rooms = [(int(needed[min(room.tasks, len(largest))]), room) for room in rooms]
    lacking = [(bytes_ - room.left, room, bytes_) for bytes_, room in of_rooms if bytes_ > room.left]
    if not lacking:
        return None
    _, room, bytes_ = max(lacking, key=lambda each: each[0])
    return room, bytes_
