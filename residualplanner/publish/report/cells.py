"""The tables of a release as a page holds them, up to a number of cells: labels once, numbers as they are shown.

Reads: Subject.  Gives: PageTables, and their JSON.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from residualplanner.ground.margins import margin_factor
from residualplanner.publish.report.rows import PageColumn, as_shown, cell_text, script_json
from residualplanner.publish.report.subject import Subject
from residualplanner.publish.report.words import apart, decimals_of_errors, level_text, table_names
from residualplanner.release.quality import Quality
from residualplanner.release.table import Table

#: The most cells that a page holds, of all tables together, unless another number is given.
CELLS = 20_000
_UNBIASED_ERROR = "Standard error of the unbiased estimate that the number was made from; not that of the number shown."


@dataclass(frozen=True, eq=False, slots=True)
class PageTable:
    """One table in a page.

    Attributes:
        name: of its query.
        heads: what stands above its labels: the titles of its attributes, or their names.
        axes: the numbers of the lists of labels along its axes.
        sizes: how many labels each of these has.
        values: for each column of numbers, by its key, its values in C order as they are shown, or one for all cells.
        decimals: of its estimates and errors, which depend on how small its errors are.
    """

    name: str
    heads: tuple[str, ...]
    axes: tuple[int, ...]
    sizes: tuple[int, ...]
    values: Mapping[str, Any]
    decimals: int

    @property
    def cells(self) -> int:
        """How many cells it has."""
        return int(np.prod(self.sizes, dtype=np.int64))


@dataclass(frozen=True, eq=False, slots=True)
class PageTables:
    """The tables that a page holds.

    Attributes:
        columns: of numbers, the same for all tables.
        total: how many tables the release has.
        tables: those that fit, in the order of the workload.
        labels: the lists of labels that they share.
    """

    columns: tuple[PageColumn, ...]
    total: int
    tables: list[PageTable] = field(default_factory=list)
    labels: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def first(self) -> int:
        """Which table is shown first: the first of several cells."""
        return next((number for number, table in enumerate(self.tables) if table.cells > 1), 0)

    def texts(self, table: PageTable, rows: int) -> list[list[str]]:
        """What the first rows of a table show, as the page's script writes it."""
        found = []
        for row in range(min(rows, table.cells)):
            codes = np.unravel_index(row, table.sizes or (1,))
            names = [self.labels[axis][int(code)] for axis, code in zip(table.axes, codes, strict=False)]
            columns = _with_decimals(self.columns, table.decimals)
            shown = (cell_text(_value(table.values[column.key], row), column) for column in columns)
            found.append([*names, *shown])
        return found

    def heads(self, table: PageTable) -> list[tuple[str, bool]]:
        """The headings of a table, and whether numbers stand below."""
        return [(name, False) for name in table.heads] + [
            (column.label, column.form != "text") for column in self.columns
        ]


def page_tables(subject: Subject, *, limit: int = CELLS) -> PageTables:
    """The smallest tables of a release whose cells are at most ``limit`` together; none of a plan."""
    columns, found = _columns(subject), np.flatnonzero(subject.has_table)
    page = PageTables(columns, len(found))
    if subject.tables is None:
        return page
    cells = subject.errors["cells"].to_numpy()[found]
    smallest = found[np.argsort(cells, kind="stable")]
    fitting = np.cumsum(np.sort(cells, kind="stable"), dtype=np.float64) <= limit
    chosen = np.sort(smallest[fitting])
    numbers: dict[tuple[str, ...], int] = {}
    for row, name in zip(chosen.tolist(), table_names(subject.errors.iloc[chosen]), strict=True):
        table = subject.table(row)
        axes = tuple(numbers.setdefault(labels, len(numbers)) for labels in table.labels_in_words)
        heads = tuple(subject.plan.domain[attribute].heading for attribute in table.names)
        values, decimals = _values(subject, row, table)
        of_table = _with_decimals(page.columns, decimals)
        shown = {column.key: _plain(values[column.key], column) for column in of_table}
        page.tables.append(PageTable(name, heads, axes, table.estimate.shape, shown, decimals))
    page.labels.extend(numbers)
    return page


def tables_json(page: PageTables) -> str:
    """The tables as JSON for a script element, which nothing in it ends."""
    content = {
        "columns": [
            {key: value for key, value in asdict(column).items() if key != "meaning"} for column in page.columns
        ],
        "labels": page.labels,
        "tables": [
            {
                "name": each.name,
                "heads": each.heads,
                "axes": each.axes,
                "decimals": each.decimals,
                "values": dict(each.values),
            }
            for each in page.tables
        ],
    }
    return script_json(json.dumps(content, allow_nan=False, separators=(",", ":")))


def _columns(subject: Subject) -> tuple[PageColumn, ...]:
    product = subject.product
    level, unit = level_text(subject.level), subject.plan.domain.weight.unit_name
    published = f"The published total of {unit}." if unit else "The published number of records."
    cut = f"of the {level} interval for the true count: that of the unbiased estimate, cut at possible counts."
    ends = (PageColumn("low", f"{level} from", f"Low end {cut}", "number"),
            PageColumn("high", f"{level} to", f"High end {cut}", "number"))  # fmt: skip
    errors = (
        (PageColumn("moe", f"± {level}", f"Margin of error of the cell by itself, at {level}.", "error"),)
        if product.is_unbiased
        else (
            PageColumn("std_err", "Standard error, unbiased", _UNBIASED_ERROR, "error"),
            *(ends if subject.has_intervals else ()),
        )
    )
    grades = subject.quality.meaning if subject.quality else ""
    grade = PageColumn("quality", "Quality", f"{grades[:1].upper()}{grades[1:]}.", "text")
    return (
        PageColumn("estimate", "Estimate", published, "count" if product.is_rounded else "number"),
        *errors,
        PageColumn("cv", "Coefficient of variation", "Standard error over the size of the estimate.", "percent", 1),
        *([grade] if subject.quality else []),
    )


def _values(subject: Subject, row: int, table: Table) -> tuple[dict[str, Any], int]:
    """The values of each column of a table, and how many decimals its errors need."""
    estimate, std_err = table.estimate.ravel(), table.std_err.ravel()
    quality = subject.quality or Quality()
    variation = quality.variation(estimate, std_err)
    error = std_err if not subject.product.is_unbiased else margin_factor(subject.level) * std_err
    decimals = decimals_of_errors(error)
    found = {"estimate": estimate, "cv": variation, "std_err" if not subject.product.is_unbiased else "moe": error}
    if subject.has_intervals:
        found |= dict(zip(("low", "high"), apart(*subject.interval(row), decimals), strict=True))
    return found | ({"quality": quality.grades(variation)} if subject.quality else {}), decimals


def _with_decimals(columns: Sequence[PageColumn], decimals: int) -> list[PageColumn]:
    """The columns as one table has them."""
    return [replace(column, decimals=decimals) if column.form in ("number", "error") else column for column in columns]


def _plain(values: Any, column: PageColumn) -> Any:
    """The values of a column as they are shown, as a list; or one value where all are the same."""
    found = [as_shown(value, column) for value in values.tolist()]
    return found[0] if len(found) > 1 and len(set(found)) == 1 and found[0] is not None else found


def _value(values: Any, row: int) -> Any:
    return values[row] if isinstance(values, list) else values
