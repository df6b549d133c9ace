"""Whether the disk has room for a measurement and its tables, found out before anything is spent."""

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np

from residualplanner.gate.measurement.resource_estimate import bytes_text
from residualplanner.ground.atomic import write_atomically, write_folder_atomically
from residualplanner.ground.json import json_text
from residualplanner.method.plan.plan import Plan, plan_to_archive
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.files.export_files import PARTS_FORMAT
from residualplanner.publish.parts.layout import layout_of

#: Bytes of a measurement's file besides its numbers: names of arrays, labels of attributes.
_HEADER = 2**16
#: The errors of file systems that cannot reserve space; there nothing is reserved.
_NO_ANSWER = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)
#: The least bytes for each cell and each table in files of a format.
_LEAST = {"parquet": (8, 1000), "csv": (25, 0), "xlsx": (10, 4000), "workbook": (10, 0), "parts": (8, 0)}


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
