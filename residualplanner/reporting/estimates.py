"""The tables of a release that a report shows: the largest of each order, with intervals.

Reads: Subject.  Gives: Figures.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from residualplanner._words import count_text, number_text
from residualplanner.reporting.drawing import svg_of
from residualplanner.reporting.figures import Figure
from residualplanner.reporting.plots import draw_intervals
from residualplanner.reporting.subject import ShownTable, Subject
from residualplanner.reporting.words import level_text, table_names

#: The most cells of a table that is read for a report, and the most orders that are shown.
LARGEST = 2_000_000
_ORDERS = 4


def rows_of_tables(subject: Subject) -> list[int]:
    """The rows of the error table of the tables to show: of each order the one with the most cells.

    Orders 1 to 4, or the lowest four there are, without tables of more than two million cells.
    """
    orders, cells = subject.errors["order"].to_numpy(), subject.errors["cells"].to_numpy(dtype=np.float64)
    possible = np.where(cells <= LARGEST, cells, -1.0)
    found = [int(np.argmax(np.where(orders == order, possible, -1.0))) for order in np.unique(orders[orders > 0])]
    return [row for row in found if possible[row] > 0][:_ORDERS]


def estimates_of(subject: Subject) -> Iterator[Figure]:
    """The tables of a release to show, read one at a time."""
    rows = rows_of_tables(subject) if subject.tables else []
    for row, name in zip(rows, table_names(subject.errors.iloc[rows]), strict=True):
        yield _figure(subject.read_table(row), name, int(subject.errors["order"].iloc[row]), subject.level)


def total_texts(subject: Subject) -> tuple[str, str] | None:
    """The number of records and its margin, where a release has the table of it."""
    rows = np.flatnonzero(subject.errors["order"].to_numpy() == 0)
    if not (rows.size and subject.tables):
        return None
    table = subject.read_table(int(rows[0]))
    return f"{table.estimates[0]:,.1f}", number_text(float(table.margins[0]))


def _figure(table: ShownTable, name: str, order: int, level: float) -> Figure:
    import pandas as pd

    percent = level_text(level)
    lows, highs = table.estimates - table.margins, table.estimates + table.margins
    data = pd.DataFrame([list(labels) for labels in table.labels], columns=list(table.names))
    numbers = (table.estimates, table.margins, lows, highs, table.joint_margins)
    columns = dict(zip(("estimate", "moe", "ci_low", "ci_high", "joint_moe"), numbers, strict=True))
    data = pd.concat([data, pd.DataFrame(columns)], axis=1)
    labels = (f"{percent} interval of the cell by itself", "of all cells of the table at once")
    note = (
        f"All {count_text(table.cells, 'cell')}."
        if table.is_whole
        else f"The {len(table.labels)} largest estimates of {table.cells:,}. Chosen for their size, they tend to be "
        "too high; the wide intervals hold for all cells at once, hence also for chosen ones."
    )
    return Figure(
        name=f"table-{order}",
        title=name,
        caption=note,
        svg=svg_of(partial(draw_intervals, table, labels=labels)),
        data=data,
        head=(*table.names, "Estimate", f"± {percent}", "From", "To", "± all at once"),
        rows=[
            (*cell, *(f"{number:,.1f}" for number in row)) for cell, *row in zip(table.labels, *numbers, strict=True)
        ],
    )
