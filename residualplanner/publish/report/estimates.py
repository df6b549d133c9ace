"""The tables of a release in a report: of each order the largest."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.words import count_text, query_text, table_text
from residualplanner.method.workload.query import selection_text
from residualplanner.publish.pictures.drawing import svg_of
from residualplanner.publish.pictures.plots import ShownTable, draw_intervals
from residualplanner.publish.report.figures import Figure
from residualplanner.publish.report.subject import Subject
from residualplanner.publish.report.words import apart, decimals_of_errors, level_text, title_of
from residualplanner.release.statistic_forms import rows_of_statistics

#: The most cells of a table that is read for a report, and the most orders that are shown.
_LARGEST, _ORDERS = 2_000_000, 4
#: What is said of intervals of numbers that are not unbiased.
_CUT = (
    " Intervals are those of the unbiased estimates, cut at the counts that are possible: a number can be outside "
    "its own."
)


def rows_of_tables(subject: Subject) -> list[int]:
    """The rows of the error table of the tables to show: of the four lowest orders the largest that can be read.

    None of them is for a statistic: those stand in a section of their own.
    """
    orders, cells = subject.errors["order"].to_numpy(), subject.errors["cells"].to_numpy(dtype=np.float64)
    possible = np.where((cells <= _LARGEST) & (subject.has_table if subject.tables else True), cells, -1.0)
    possible[[*rows_of_statistics(subject.plan.workload)]] = -1.0
    of_orders = (np.where(orders == order, possible, -1.0) for order in np.unique(orders[orders > 0]))
    return [int(np.argmax(of_order)) for of_order in of_orders if of_order.max() > 0][:_ORDERS]


def estimates_of(subject: Subject) -> Iterator[Figure]:
    """The tables of a release to show, read one at a time."""
    for row in rows_of_tables(subject) if subject.tables else []:
        yield _of_table(subject, row, subject.read_table(row))


def _title(subject: Subject, row: int) -> str:
    query, attributes = subject.plan.workload.query_at(row), subject.plan.domain.attributes
    universe = [selection_text(title_of(attributes[at]), kind) for at, kind in zip(*query.universe, strict=True)]
    words = query_text([title_of(attributes[at]) for at in query.table_axes.positions], universe)
    return table_text(words, str(subject.errors["kinds"].iloc[row]))


def _note(table: ShownTable, *, is_unbiased: bool) -> str:
    shown = "All" if table.is_whole else f"The {len(table.labels)} largest"
    if is_unbiased and not table.is_whole:
        return (
            f"{shown} estimates of {table.cells:,}. Chosen for their size, they tend to be too high; the wide "
            "intervals hold for all cells at once, hence also for chosen ones."
        )
    of, cut = "" if table.is_whole else " numbers of", "" if is_unbiased or table.ends is None else _CUT
    return f"{shown}{of} {count_text(table.cells, 'cell')}.{cut}"


def _columns(table: ShownTable, *, is_unbiased: bool) -> tuple[dict[tuple[str, str], FloatArray], FloatArray]:
    """The columns of numbers by their names in the data and their headings; and the errors that set their digits."""
    percent = level_text(table.level)
    heads = ("ci_low_unbiased", f"{percent} from"), ("ci_high_unbiased", "To")
    ends = {} if table.ends is None else dict(zip(heads, table.ends, strict=True))
    if not is_unbiased:
        std_err = "std_err_unbiased", "Standard error of the unbiased estimate"
        return {("estimate", "Estimate"): table.estimates, std_err: table.std_errs, **ends}, table.std_errs
    return {
        ("estimate", "Estimate"): table.estimates,
        ("moe", f"± {percent}"): table.margins,
        ("ci_low", "From"): table.estimates - table.margins,
        ("ci_high", "To"): table.estimates + table.margins,
        ("joint_moe", "± all at once"): table.joint_margins,
    }, table.margins


def _of_table(subject: Subject, row: int, table: ShownTable) -> Figure:
    import pandas as pd

    is_unbiased, heads = subject.product.is_unbiased, tuple(subject.plan.domain[name].heading for name in table.names)
    columns, errors = _columns(table, is_unbiased=is_unbiased)
    decimals, shown = decimals_of_errors(errors), dict(columns)
    labels = f"{level_text(table.level)} interval of the cell by itself", "of all cells of the table at once"
    data = pd.DataFrame([list(labels) for labels in table.labels], columns=list(table.names))
    ends = [key for key in columns if key[0].startswith("ci_")]
    if ends:
        low, high = ends
        shown[low], shown[high] = apart(columns[low], columns[high], decimals)
    return Figure(
        f"table-{int(subject.errors['order'].iloc[row])}",
        _title(subject, row),
        _note(table, is_unbiased=is_unbiased),
        svg=svg_of(partial(draw_intervals, replace(table, names=heads), labels=labels)),
        data=pd.concat([data, pd.DataFrame({key: values for (key, _), values in columns.items()})], axis=1),
        head=(*heads, *(heading for _, heading in columns)),
        rows=[
            (*cell, *("–" if np.isnan(number) else f"{number:,.{decimals}f}" for number in row))
            for cell, *row in zip(table.labels, *shown.values(), strict=True)
        ],
        texts=len(table.names),
    )
