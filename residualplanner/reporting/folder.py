"""A release folder, read back for a report: its plan, and the tables one asks for.

Reads: a folder.  Gives: Subject.  Only estimates are taken from the folder: budget, cost, errors and the sentence that
may be signed follow from the plan in it, and a manifest that says anything else is refused.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from residualplanner.errors import FileFormatError
from residualplanner.reconstruction import SavedTables, load_tables
from residualplanner.reporting.shown_table import ShownTable, rows_to_show, with_margins
from residualplanner.reporting.subject import Subject, noise_told, subject_of_plan

#: What estimates are called: for everyone, or for readers of the American Community Survey.
_ESTIMATES = ("estimate", "E")


def subject_of_folder(folder: Path, *, level: float) -> Subject:
    """A release folder, as reports tell of it.

    Raises:
        FileFormatError: a file is missing, was altered since it was written, is not what it should be, or says
            something that is not true of the plan in the folder.
        BudgetError: ``level`` is not between 0 and 1.
    """
    if not (folder / "manifest.json").is_file():
        raise FileFormatError(f"{folder} holds no manifest.json; name a plan file, or the folder of a release")
    saved = load_tables(folder)
    _ = saved.errors  # compared with its hash: an altered folder is refused, though the plan gives these numbers anew
    told = subject_of_plan(saved.plan, folder.resolve().name, level=level)
    return replace(told, noise=noise_told(saved.noise), read_table=partial(_table, saved, level))


def _table(saved: SavedTables, level: float, row: int) -> ShownTable:
    """The rows to show of a table: estimates of the folder, standard errors of its plan."""
    (query,) = saved.plan.workload.take([row])
    frame = saved[query]
    std_err = np.sqrt(saved.plan.variance(query))
    names = tuple(map(str, frame.columns[: std_err.ndim]))
    estimate = next(frame[name] for name in _ESTIMATES if name not in names and name in frame).to_numpy(
        dtype=np.float64
    )
    rows = rows_to_show(estimate)
    texts = [frame[name].iloc[rows].astype(str) for name in names]
    labels = tuple(zip(*texts, strict=True)) if names else ((),)
    return with_margins(names, labels, estimate[rows], std_err.ravel()[rows], cells=len(estimate), level=level)
