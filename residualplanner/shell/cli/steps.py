"""What steps would take and do, for ``--dry-run``: time, memory and disk of a workload, and whether there is room."""

import errno
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from residualplanner.gate.measurement.resource_estimate import ResourceEstimate, resource_estimate, seconds_text
from residualplanner.ground.atomic import write_atomically, write_folder_atomically
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.json import json_text
from residualplanner.ground.words import bytes_text, number_text
from residualplanner.method.plan.files import plan_to_archive
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.files.file_names import PARTS_FORMAT
from residualplanner.release.layout import layout_of
from residualplanner.shell.cli.output import Output

#: The numbers of sets of attributes, and of cells, above which it is stated in advance what a plan needs.
LARGE_SETS, LARGE_CELLS = 100_000, 10_000_000
#: The number of values from which choosing the basis of an attribute takes long.
LARGE_SIZE = 800
#: The number of seconds above which a search for bases by set is announced.
LONG_SEARCH = 5.0
#: The most cells of a table: it is made and written as a whole.
TABLE_LIMIT = 2**28
#: The memory of the program before it works on anything, in bytes: measured, and rounded up.
_AT_REST = 2**28
#: Bytes of a measurement's file besides its numbers: names of arrays, labels of attributes.
_HEADER = 2**16
#: The errors of file systems that cannot reserve space; there nothing is reserved.
_NO_ANSWER = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
#: The least bytes for each cell and each table in files of a format.
_LEAST = {"parquet": (8, 1000), "csv": (25, 0), "xlsx": (10, 4000), "workbook": (10, 0), "parts": (8, 0)}


def say_sizes(workload: Workload, output: Output, estimate: ResourceEstimate | None = None) -> None:
    """Say what a workload needs, if that is much: what is estimated, or what it takes where all is held at once."""
    estimate = estimate or resource_estimate(workload)
    if estimate.residual_sets > LARGE_SETS:
        taking = f"{seconds_text(estimate.planning_seconds)} and {bytes_text(estimate.planning_bytes)} of memory"
        text = f"{estimate.residual_sets:,} sets of attributes; planning takes {taking}"
        output.fact("Size", text, sets=estimate.residual_sets, bytes=estimate.planning_bytes)
    basis_text = _bases_text(workload)
    if basis_text:
        output.fact("Size", basis_text)
    if estimate.counts > LARGE_CELLS:
        taking = f"{seconds_text(estimate.measuring_seconds)} and {bytes_text(estimate.measuring_bytes)} of memory"
        text = f"{number_text(estimate.counts)} counts; measuring takes {taking}, in addition to the counting"
        output.fact("Size", text, counts=estimate.counts, bytes=estimate.measuring_bytes)
    if estimate.largest_table > TABLE_LIMIT:
        output.fact("Size", _refusal(workload))
    elif estimate.cells > LARGE_CELLS:
        output.fact(
            "Size",
            f"writing takes {seconds_text(estimate.writing_seconds)}, {bytes_text(estimate.writing_bytes)} of memory "
            f"and {bytes_text(estimate.disk_bytes)} of disk as Parquet",
            bytes=estimate.writing_bytes,
            disk_bytes=estimate.disk_bytes,
        )


def say_search(workload: Workload, output: Output) -> None:
    """Say how long the search for bases by set takes, if that is long; WorkloadError where it would take too long."""
    seconds = resource_estimate(workload, by_set=True).planning_seconds
    if seconds > LONG_SEARCH:
        output.fact("Size", f"looking for bases by set takes {seconds_text(seconds)}", seconds=seconds)


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


def _bases_text(workload: Workload) -> str:
    """How long the choice of bases takes, if that is long: mostly for a step that is cubic in the number of values."""
    is_other = np.array([not kind.is_identity for kind in workload.kinds])
    own = [workload.domain.attributes[position] for position in np.flatnonzero(workload.uses[:, is_other].any(axis=1))]
    large = [attribute for attribute in own if attribute.size >= LARGE_SIZE]
    if not large:
        return ""
    names = ", ".join(f"{each.name} ({each.size:,} values)" for each in large)
    seconds = resource_estimate(workload, loss="sum").planning_seconds
    largest = resource_estimate(workload, loss="max").planning_seconds
    return f'choosing bases for {names} takes {seconds_text(seconds)} or, with loss = "max", {seconds_text(largest)}'


def measurement_bytes(plan: Plan) -> int:
    """About how many bytes the file of a measurement of a plan has: its answers, and the plan."""
    answers = np.array([basis.answers for basis in plan.strategy.of_attributes], dtype=np.float64)
    arrays = sum(array.nbytes for array in plan_to_archive(plan)[1].values())
    labels = sum(40 * attribute.size for attribute in plan.domain.attributes if attribute.labels or attribute.bins)
    labels += sum(len(json_text(meaning)) + 2 for each in plan.domain.attributes for meaning in each.meanings)
    return int(8 * plan.closure.products(answers).sum() + arrays + labels + _HEADER)


def require_space(path: Path, size: int) -> None:
    """Raise OSError unless a file of so many bytes can be made at ``path`` now; none is left there."""
    with suppress(_EnoughError), write_atomically(path) as file:
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            if error.errno not in _NO_ANSWER:
                raise
        raise _EnoughError


class _EnoughError(Exception):
    """There is space; the file or folder made to find out is removed."""


def require_room_for_tables(
    folder: Path, workload: Workload, file_format: str, *, measurement: Path | None, size: int
) -> None:
    """Raise OSError unless a folder can be made at ``folder``, on a disk that is not plainly too small for its tables.

    Nothing is left there.  The folder holds the measurement, of ``size`` bytes, which may be on the same disk before.
    """
    with suppress(_EnoughError), write_folder_atomically(folder):
        raise _EnoughError
    where = folder.absolute().parent
    per_cell, per_table = _LEAST[file_format]
    needed = int(per_cell * workload.cells.sum() + per_table * len(workload)) + size
    if measurement is not None and measurement.absolute().parent.stat().st_dev == where.stat().st_dev:
        needed += size
    free = shutil.disk_usage(where).free
    if free < needed:
        known, least = bytes_text(free), bytes_text(needed)
        known, least = (f"{free:,} bytes", f"{needed:,}") if known == least else (known, least)
        text = f"the disk has {known} free, and the tables take at least {least}"
        raise OSError(errno.ENOSPC, text, str(folder))
    system = os.statvfs(where) if hasattr(os, "statvfs") else None
    files = len(layout_of(workload)) if file_format == PARTS_FORMAT else len(workload)
    if system is not None and system.f_files > 0 and system.f_favail < files:
        text = f"the disk has room for {system.f_favail:,} more files, and the tables take {files:,}"
        raise OSError(errno.ENOSPC, text, str(folder))


class Effort(NamedTuple):
    """What a step would take, but for the counting, as that depends on the records."""

    seconds: float = 0.0
    memory: float = 0.0  # bytes
    disk: int = 0  # bytes
    is_counting: bool = False


def say_reading(paths: Sequence[Path], output: Output) -> None:
    """Say which noisy answers would be read, which costs nothing."""
    for path in paths:
        output.fact("Would read", f"{path}: noisy answers, no records", event="would-read", path=path)
    output.fact("Would spend", "nothing: this is post-processing", event="would-spend", pcost=0)


def say_writing(path: Path | str, text: str, output: Output, *, size: int) -> None:
    """Say what would be written, of about so many bytes."""
    output.fact("Would write", f"{path}: {text}", event="would-write", path=path, bytes=size)


def say_rehearsed(efforts: Sequence[Effort], path: Path, output: Output) -> None:
    """Say what all steps would take together, that it was a rehearsal, and whether the disk has room."""
    seconds, memory = sum(each.seconds for each in efforts), max((each.memory for each in efforts), default=0)
    if memory:
        counting = " in addition to the counting" if any(each.is_counting for each in efforts) else ""
        memory += _AT_REST
        text = f"{seconds_text(seconds)}{counting}, and some {bytes_text(memory)} of memory"
        output.fact("Would take", text, event="would-take", seconds=seconds, bytes=int(memory))
    free, size = shutil.disk_usage(path.absolute().parent).free, sum(each.disk for each in efforts)
    if free < size:
        text = f"Warning: the disk has {bytes_text(free)} free, and some {bytes_text(size)} are to be written."
        output.say(text, event="warning", free=free)
    output.say(
        "No record was read, and nothing was spent or written.  All that can be checked without that is in order"
        f"{'' if free >= size else ', except for the disk'}.",
        event="dry-run",
    )
    output.say("Next: the same command without --dry-run", event="next")
