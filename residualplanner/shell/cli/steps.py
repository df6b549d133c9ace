"""What steps would take and do, for ``--dry-run``: time, memory and disk of a workload, and whether there is room."""

import errno
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from residualplanner.gate.measurement.resource_estimate import resource_estimate, seconds_text
from residualplanner.ground.atomic import write_atomically, write_folder_atomically
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.json import json_text
from residualplanner.ground.words import bytes_text, number_text
from residualplanner.method.plan.files import plan_to_archive
from residualplanner.method.plan.plan import Plan
from residualplanner.method.plan.select import Bases
from residualplanner.method.workload.workload import Workload
from residualplanner.shell.cli.output import Output

#: The numbers of sets of attributes, and of cells, above which it is stated in advance what a plan needs.
LARGE_SETS, LARGE_CELLS = 100_000, 10_000_000
#: The most cells of a table: it is made and written as a whole.
TABLE_LIMIT = 2**28
#: The memory of the program before it works on anything, in bytes: measured, and rounded up.
_AT_REST = 2**28
#: Bytes of a measurement's file besides its numbers: names of arrays, labels of attributes.
_HEADER = 2**16
#: The least bytes for each cell and each table in files of a format.
_LEAST = {"parquet": (8, 1000), "csv": (25, 0), "xlsx": (10, 4000), "workbook": (10, 0), "parts": (8, 0)}


def say_sizes(workload: Workload, output: Output, *, memory: int | None = None, bases: Bases | None = None) -> None:
    """Say what a workload needs, if that is much: where all is held at once, unless there is a limit."""
    planning = resource_estimate(workload, bases=bases)
    measuring = planning if memory is None else resource_estimate(workload, memory=memory)
    if planning.residual_sets > LARGE_SETS or planning.planning_seconds > 5:
        taking = f"{seconds_text(planning.planning_seconds)} and {bytes_text(planning.planning_bytes)} of memory"
        text = f"{planning.residual_sets:,} sets of attributes; planning takes {taking}"
        output.fact("Size", text, sets=planning.residual_sets, bytes=planning.planning_bytes)
    if measuring.counts > LARGE_CELLS:
        taking = f"{seconds_text(measuring.measuring_seconds)} and {bytes_text(measuring.measuring_bytes)} of memory"
        text = f"{number_text(measuring.counts)} counts; measuring takes {taking}, in addition to the counting"
        output.fact("Size", text, counts=measuring.counts, bytes=measuring.measuring_bytes)
    if planning.largest_table > TABLE_LIMIT:
        output.fact("Size", _refusal(workload))
    elif planning.cells > LARGE_CELLS:
        taking = f"{seconds_text(planning.writing_seconds)}, {bytes_text(planning.writing_bytes)} of memory"
        text = f"writing takes {taking} and {bytes_text(planning.disk_bytes)} of disk as Parquet"
        output.fact("Size", text, bytes=planning.writing_bytes, disk_bytes=planning.disk_bytes)


def require_writable(workload: Workload) -> None:
    """Raise WorkloadError if a table has more than `TABLE_LIMIT` cells, before anything is spent on it."""
    if workload.cells.max() > TABLE_LIMIT:
        raise WorkloadError(_refusal(workload))


def _refusal(workload: Workload) -> str:
    number = int(workload.cells.argmax())
    names = list(next(iter(workload.take(np.array([number])))))
    return (
        f"the table of {', '.join(names)} has {number_text(float(workload.cells[number]))} cells; no more than "
        f"{TABLE_LIMIT:,} can be written; choose coarser bins, or prefixes in place of ranges"
    )


def measurement_bytes(plan: Plan) -> int:
    """About how many bytes the file of a measurement of a plan has: its answers, and the plan."""
    answers = np.array([basis.answers for basis in plan.strategy.of_attributes], dtype=np.float64)
    arrays = sum(array.nbytes for array in plan_to_archive(plan)[1].values())
    labels = sum(40 * attribute.size for attribute in plan.domain.attributes if attribute.labels or attribute.bins)
    labels += sum(len(json_text(meaning)) + 2 for each in plan.domain.attributes for meaning in each.meanings)
    # of each set the product of its attributes' answers, in 8 bytes each
    return int(8 * plan.closure.products(answers).sum() + arrays + labels + _HEADER)


def require_space(path: Path, size: int) -> None:
    """Raise OSError unless a file of so many bytes can be made at ``path`` now; none is left there."""
    with suppress(_EnoughError), write_atomically(path) as file:
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):  # of those that cannot reserve space
                raise
        raise _EnoughError


class _EnoughError(Exception):
    """There is space; the file or folder made to find out is removed."""


def require_room_for_tables(
    folder: Path, workload: Workload, file_format: str, *, measurement: Path | None, size: int
) -> None:
    """Raise OSError unless a folder can be made, on a disk that is not plainly too small for its tables."""
    with suppress(_EnoughError), write_folder_atomically(folder):
        raise _EnoughError
    where = folder.absolute().parent
    per_cell, per_table = _LEAST[file_format]
    needed = int(per_cell * workload.cells.sum() + per_table * len(workload)) + size
    if measurement is not None and measurement.absolute().parent.stat().st_dev == where.stat().st_dev:
        needed += size
    free = shutil.disk_usage(where).free
    if free < needed:
        text = f"the disk has {free:,} bytes free, and the tables take at least {needed:,}"
        raise OSError(errno.ENOSPC, text, str(folder))


def say_reading(paths: Sequence[Path], output: Output) -> None:
    """Say which noisy answers would be read, which costs nothing."""
    for path in paths:
        output.fact("Would read", f"{path}: noisy answers, no records", event="would-read", path=path)
    output.fact("Would spend", "nothing: this is post-processing", event="would-spend", pcost=0)


def say_writing(path: Path | str, text: str, output: Output, *, size: int) -> None:
    """Say what would be written, of about so many bytes."""
    output.fact("Would write", f"{path}: {text}", event="would-write", path=path, bytes=size)


def say_rehearsed(
    efforts: Sequence[tuple[float, float, int]], path: Path, output: Output, *, is_counting: bool = False
) -> None:
    """Say what steps would take, each so many seconds without the counting, bytes of memory and bytes of disk."""
    seconds, memory = sum(each[0] for each in efforts), max((each[1] for each in efforts), default=0)
    if memory:
        counting, memory = " in addition to the counting" if is_counting else "", memory + _AT_REST
        text = f"{seconds_text(seconds)}{counting}, and some {bytes_text(memory)} of memory"
        output.fact("Would take", text, event="would-take", seconds=seconds, bytes=int(memory))
    free, size = shutil.disk_usage(path.absolute().parent).free, sum(each[2] for each in efforts)
    if free < size:
        text = f"Warning: the disk has {bytes_text(free)} free, and some {bytes_text(size)} are to be written."
        output.say(text, event="warning", free=free)
    output.say(
        "No record was read, and nothing was spent or written.  All that can be checked without that is in order"
        f"{'' if free >= size else ', except for the disk'}.",
        event="dry-run",
    )
    output.say("Next: the same command without --dry-run", event="next")
