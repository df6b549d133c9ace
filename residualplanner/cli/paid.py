"""What has been paid for is kept: a measurement is on the disk, whole, before anything is made of it.

Reads: plans, paths, ledgers.  Gives: files that survive a failure, and words on what to do with them.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from residualplanner._whole import write_whole
from residualplanner.cli.failures import noting
from residualplanner.cli.ledgers import above
from residualplanner.cli.output import command_text
from residualplanner.errors import FileFormatError
from residualplanner.measurement import Ledger
from residualplanner.plan import Plan, plan_hash, plan_to_archive

#: Bytes of a measurement's file besides its numbers: names of arrays, labels of attributes.
_HEADER = 2**16
#: What file systems answer that cannot set space aside; only the file itself is tried there.
_NO_ANSWER = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


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
    answers = np.array([basis.answers for basis in plan.basis_of_attribute], dtype=np.float64)
    arrays = sum(array.nbytes for array in plan_to_archive(plan)[1].values())
    labels = sum(40 * attribute.size for attribute in plan.domain.attributes if attribute.labels or attribute.bins)
    return int(8 * plan.closure.products(answers).sum() + arrays + labels + _HEADER)


def require_space(path: Path, size: int) -> None:
    """Raise OSError unless a file of so many bytes can be made at ``path`` now; none is left there.

    Called before anything is spent: what is measured then will not fail to be written for want of space.
    """
    with suppress(_EnoughError), write_whole(path) as file:
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


@contextmanager
def telling_charge(ledger: Ledger | None, plan: Plan) -> Iterator[None]:
    """Tell, where the block raises after it has charged the ledger, that it has."""
    before = 0 if ledger is None else len(ledger.entries)
    try:
        yield
    except BaseException as error:
        with suppress(OSError, FileFormatError):  # a ledger that has become unreadable tells nothing
            charged = [] if ledger is None else ledger.entries[before:]
            own = [entry for entry in charged if entry.plan_sha256 == plan_hash(plan)]
            if own:
                error.add_note(
                    f"No output was written, but the charge stays: pcost {above(own[-1].cost)}, entry "
                    f"{own[-1].sequence} of the ledger.  That a run fails may itself tell something of the records."
                )
        raise


@contextmanager
def keeping(measurement: Path, folder: Path) -> Iterator[None]:
    """Tell, whatever the block raises, where the measurement is and what makes tables of it."""
    with noting(
        f"What was measured, and has been paid for, is safe in {measurement}; no tables were written.",
        f"Next: {reconstructing(measurement, folder)}",
    ):
        yield
