"""What has been paid for is kept: a measurement is on the disk, whole, before anything is made of it.

Reads: plans, paths, ledgers.  Gives: files that survive a failure, and words on what to do with them.
"""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from residualplanner._atomic import write_atomically, write_folder_atomically
from residualplanner.cli.messages.failures import notes_of
from residualplanner.cli.messages.output import command_text
from residualplanner.errors import ResidualPlannerError
from residualplanner.ledger import Ledger
from residualplanner.plan import Plan, bytes_text, plan_to_archive
from residualplanner.workload import Workload

#: Bytes of a measurement's file besides its numbers: names of arrays, labels of attributes.
_HEADER = 2**16
#: What file systems answer that cannot set space aside; only the file itself is tried there.
_NO_ANSWER = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
#: Bytes for each cell and each table that files of a format take at least.
_LEAST = {"parquet": (8, 1000), "csv": (25, 0), "xlsx": (10, 4000)}


def measurement_beside(folder: Path) -> Path:
    """Where a release keeps what it measured until its tables are there: beside their folder.

    Example:
        >>> measurement_beside(Path("out")).name
        'out.measurement'
    """
    return folder.with_name(f"{folder.name}.measurement")


def require_no_measurement(kept: Path, folder: Path) -> None:
    """Raise FileExistsError where an earlier release was stopped after it had paid for what it measured."""
    if kept.exists() or kept.is_symlink():
        raise FileExistsError(
            f"{kept} is there already: what an earlier run measured and has paid for, but made no tables of.\n"
            f"Make them, at no further cost, with  {reconstructing(kept, folder)}\n"
            "or move that file elsewhere to measure again, at the full cost"
        )


def reconstructing(measurement: Path, folder: Path) -> str:
    """The command that makes tables of a measurement."""
    return command_text("reconstruct", measurement, "-o", folder)


def measurement_bytes(plan: Plan) -> int:
    """About how many bytes the file of a measurement of a plan has: its answers, and the plan."""
    answers = np.array([basis.answers for basis in plan.strategy.of_attributes], dtype=np.float64)
    arrays = sum(array.nbytes for array in plan_to_archive(plan)[1].values())
    labels = sum(40 * attribute.size for attribute in plan.domain.attributes if attribute.labels or attribute.bins)
    return int(8 * plan.closure.products(answers).sum() + arrays + labels + _HEADER)


def require_space(path: Path, size: int) -> None:
    """Raise OSError unless a file of so many bytes can be made at ``path`` now; none is left there.

    Called before anything is spent: what is measured then will not fail to be written for want of space.
    """
    with suppress(_EnoughError), write_atomically(path) as file:
        _set_aside(file.fileno(), size)
        raise _EnoughError


class _EnoughError(Exception):
    """There is space; what was made to find out is removed."""


def _set_aside(handle: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(handle, 0, size)
        except OSError as error:
            if error.errno not in _NO_ANSWER:
                raise


def require_room_for_tables(
    folder: Path, workload: Workload, file_format: str, *, measurement: Path, size: int
) -> None:
    """Raise OSError unless a folder can be made at ``folder``, on a disk that is not plainly too small for its tables.

    Args:
        folder: where the tables are to be; nothing is left there.
        workload: the tables.
        file_format: of their files.
        measurement: where what is measured is kept until then, maybe on the same disk.
        size: of its file, in bytes.
    """
    with suppress(_EnoughError), write_folder_atomically(folder):
        raise _EnoughError
    where = folder.absolute().parent
    per_cell, per_table = _LEAST[file_format]
    needed = int(per_cell * workload.cells.sum() + per_table * len(workload))
    if measurement.absolute().parent.stat().st_dev == where.stat().st_dev:
        needed += size
    free = shutil.disk_usage(where).free
    if free < needed:
        text = f"the disk has {bytes_text(free)} free, and the tables take at least {bytes_text(needed)}"
        raise OSError(errno.ENOSPC, text, str(folder))
    system = os.statvfs(where) if hasattr(os, "statvfs") else None
    if system is not None and system.f_files > 0 and system.f_favail < len(workload):
        text = f"the disk has room for {system.f_favail:,} more files, and there are {len(workload):,} tables"
        raise OSError(errno.ENOSPC, text, str(folder))


@contextmanager
def telling_loss(measurement: Path, ledger: Ledger | None) -> Iterator[None]:
    """Tell, where the block fails to write what was measured, that it is lost, though paid for."""
    try:
        yield
    except BaseException as error:
        if not measurement.exists():
            charged = "" if ledger is None else ", and stays charged to the ledger"
            error.add_note(f"What was measured is lost; its cost counts as spent{charged}.")
        raise


@contextmanager
def telling_measurement(measurement: Path, folder: Path, *, is_release: bool) -> Iterator[None]:
    """Tell, whatever the block raises, what is on the disk by then, and what comes next.

    Args:
        measurement: where what is measured goes; nothing is there before.
        folder: where its tables are or will be.
        is_release: whether the block makes these tables, too.
    """
    try:
        yield
    except BaseException as error:
        found = _found(measurement, folder, is_release=is_release)
        is_refusal = isinstance(error, ResidualPlannerError) and not notes_of(error)
        for note in found or ([] if is_refusal else ["Nothing was written."]):
            error.add_note(note)
        raise


def _found(measurement: Path, folder: Path, *, is_release: bool) -> list[str]:
    """What is on the disk, where anything is: files and folders appear whole or not at all."""
    has_tables = is_release and folder.is_dir() and any(folder.iterdir())
    if has_tables:
        also = f"; what was measured is safe in {measurement}" if measurement.exists() else ""
        return [f"All tables are in {folder}, whole{also}."]
    if not measurement.exists():
        return []
    tables = "; no tables were written" if is_release else ""
    return [
        f"What was measured, and has been paid for, is safe in {measurement}{tables}.",
        f"Next: {reconstructing(measurement, folder)}",
    ]
