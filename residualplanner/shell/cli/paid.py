"""What has been paid for is kept: a measurement is on the disk, whole, before any table is computed from it.

Reads: plans, paths, ledgers.  Gives: files that survive a failure, and messages on what to do with them.
"""

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from residualplanner.gate.ledger import CHARGE_UNKNOWN, Ledger, charged_text
from residualplanner.gate.measurement.resource_estimate import bytes_text
from residualplanner.ground.atomic import write_atomically, write_folder_atomically
from residualplanner.ground.errors import FileFormatError, ResidualPlannerError
from residualplanner.ground.json import json_text
from residualplanner.method.plan.files import plan_to_archive
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.files.export_files import PARTS_FORMAT
from residualplanner.publish.parts.layout import layout_of
from residualplanner.shell.cli.messages.failures import notes_of
from residualplanner.shell.cli.messages.output import command_text

#: Bytes of a measurement's file besides its numbers: names of arrays, labels of attributes.
_HEADER = 2**16
#: The errors of file systems that cannot reserve space; there nothing is reserved.
_NO_ANSWER = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
#: The least bytes for each cell and each table in files of a format.
_LEAST = {"parquet": (8, 1000), "csv": (25, 0), "xlsx": (10, 4000), "workbook": (10, 0), "parts": (8, 0)}


def measurement_beside(folder: Path) -> Path:
    """The path of the measurement of a release until its tables are written: beside their folder.

    Example:
        >>> measurement_beside(Path("out")).name
        'out.measurement'
    """
    return folder.with_name(f"{folder.name}.measurement")


def require_no_measurement(kept: Path, folder: Path, options: Sequence[str] = ()) -> None:
    """Raise FileExistsError if an earlier release was stopped after it had paid for its measurement."""
    if kept.exists() or kept.is_symlink():
        raise FileExistsError(
            f"{kept} exists already: an earlier run measured and paid for it, but wrote no tables.\n"
            f"Write them, at no further cost, with  {reconstructing(kept, folder, options)}\n"
            "or move that file elsewhere to measure again, at the full cost"
        )


def reconstructing(measurement: Path, folder: Path, options: Sequence[str] = ()) -> str:
    """The command that computes the tables of a measurement, with options where they are not to be unbiased."""
    return command_text("reconstruct", measurement, "-o", folder, *options)


def measurement_bytes(plan: Plan) -> int:
    """About how many bytes the file of a measurement of a plan has: its answers, and the plan."""
    answers = np.array([basis.answers for basis in plan.strategy.of_attributes], dtype=np.float64)
    arrays = sum(array.nbytes for array in plan_to_archive(plan)[1].values())
    labels = sum(40 * attribute.size for attribute in plan.domain.attributes if attribute.labels or attribute.bins)
    labels += sum(len(json_text(meaning)) + 2 for each in plan.domain.attributes for meaning in each.meanings)
    return int(8 * plan.closure.products(answers).sum() + arrays + labels + _HEADER)


def require_space(path: Path, size: int) -> None:
    """Raise OSError unless a file of so many bytes can be made at ``path`` now; none is left there.

    Called before anything is spent: then the measurement will not fail to be written for lack of space.
    """
    with suppress(_EnoughError), write_atomically(path) as file:
        _reserve(file.fileno(), size)
        raise _EnoughError


class _EnoughError(Exception):
    """There is space; the file or folder made to find out is removed."""


def _reserve(handle: int, size: int) -> None:
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

    Nothing is left there.  The folder holds the measurement, of ``size`` bytes, which may be on the same disk before.
    """
    with suppress(_EnoughError), write_folder_atomically(folder):
        raise _EnoughError
    where = folder.absolute().parent
    per_cell, per_table = _LEAST[file_format]
    needed = int(per_cell * workload.cells.sum() + per_table * len(workload)) + size
    if measurement.absolute().parent.stat().st_dev == where.stat().st_dev:
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


@contextmanager
def telling_charge(ledger: Ledger | None) -> Iterator[None]:
    """Add to whatever the block raises what it has charged, even where it is left between two of its steps."""
    before = 0 if ledger is None else len(ledger.entries)
    try:
        yield
    except BaseException as error:
        told = " ".join(notes_of(error))
        try:
            charges = [] if ledger is None else [charged_text(entry) for entry in ledger.entries[before:]]
        except (OSError, FileFormatError):
            charges = [] if "charged" in told else [CHARGE_UNKNOWN]
        for charge in charges:
            if charge not in told:
                error.add_note(charge)
        raise


@contextmanager
def telling_loss(measurement: Path, ledger: Ledger | None, kept: str | None = None) -> Iterator[None]:
    """Add to an error, where the block fails to write a measurement, that it is lost, though paid for; or is kept."""
    try:
        yield
    except BaseException as error:
        if not measurement.exists():
            charged = "" if ledger is None else ", and stays charged to the ledger"
            error.add_note(kept or f"The measurement is lost; its cost counts as spent{charged}.")
        raise


@contextmanager
def telling_measurement(
    measurement: Path, folder: Path, *, is_release: bool, options: Sequence[str] = (), kept: str | None = None
) -> Iterator[None]:
    """Add to whatever the block raises what is on the disk by then, and what comes next.

    Args:
        measurement: the path of the measurement; nothing is there before.
        folder: the folder of its tables, now or later.
        is_release: whether the block writes these tables, too.
        options: of the command that makes them.
        kept: the note on an error that says that answers are kept elsewhere.
    """
    try:
        yield
    except BaseException as error:
        found = _found(measurement, folder, options, is_release=is_release)
        is_refusal = isinstance(error, ResidualPlannerError) and not notes_of(error)
        for note in found or ([] if is_refusal or kept in notes_of(error) else ["Nothing was written."]):
            error.add_note(note)
        raise


def _found(measurement: Path, folder: Path, options: Sequence[str], *, is_release: bool) -> list[str]:
    """What is on the disk, if anything: files and folders appear whole or not at all."""
    has_tables = is_release and folder.is_dir() and any(folder.iterdir())
    if has_tables:
        also = f"; the measurement is safe in {measurement}" if measurement.exists() else ""
        return [f"All tables are in {folder}, whole{also}."]
    if not measurement.exists():
        return []
    tables = "; no tables were written" if is_release else ""
    return [
        f"The measurement, which has been paid for, is safe in {measurement}{tables}.",
        f"Next: {reconstructing(measurement, folder, options)}",
    ]
