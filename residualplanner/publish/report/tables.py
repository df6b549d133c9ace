"""The tables of numbers that a page holds, to be searched and sorted: the error table, and those of a release.

Numbers are held as they are shown, and labels once.  JSON is such that no name that a user chose ends its element.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.ground.margins import margin_factor
from residualplanner.ground.words import JOIN
from residualplanner.publish.report import words
from residualplanner.publish.report.subject import Subject
from residualplanner.release.quality import Quality
from residualplanner.release.table import Table

if TYPE_CHECKING:
    import pandas as pd

#: The most rows of the error table that a page holds, about 60 bytes each.
_MOST_ROWS = 100_000
#: The most cells that a page holds, of all tables together, unless another number is given.
CELLS = 20_000
#: The errors that are in proportion to the noise, and how many significant digits a page holds of them for that.
_IN_PROPORTION = ("std_err", "moe", "worst", "expected_abs_error", "expected_max_abs_error")
_HELD = 10
_UNBIASED_ERROR = "Standard error of the unbiased estimate that the number was made from; not that of the number shown."


@dataclass(frozen=True, slots=True)
class PageColumn:
    """One column of a table in a page."""

    key: str  # its name in the data
    label: str  # its heading
    meaning: str  # in a sentence
    form: str  # "text", "count", "number", "error", which is shown as 0 only where it is 0, "percent" or "truth"
    decimals: int = 0
    #: On the page of a plan, of an error in proportion to the noise: the number that decides on the decimals, and how
    #: many standard errors it is in every row, 0 where rows differ in that.
    typical: float = 0.0
    times: float = 0.0


@dataclass(frozen=True, eq=False, slots=True)
class ErrorRows:
    """The rows of the error table that a page holds."""

    columns: tuple[PageColumn, ...]
    values: dict[str, list[Any]]  # of each column, as JSON has them
    total: int  # how many queries there are in all
    links: Sequence[str] = ()  # of each row the URL of the file of its table; none where there are no files
    #: On the page of a plan, what its data hold in place of some columns, for other budgets: errors with more digits,
    #: and for ``meets_target`` how many times as large errors may be.
    held: Mapping[str, list[Any]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many rows the page holds."""
        return len(self.values["query"])

    @property
    def orders(self) -> list[int]:
        """Which orders occur."""
        return sorted(set(self.values["order"]))

    def texts(self, row: int) -> list[str]:
        """What a row shows in each column, as the page itself writes it."""
        return [cell_text(self.values[column.key][row], column) for column in self.columns]


def error_rows(subject: Subject, links: Sequence[str] = (), *, limit: int = _MOST_ROWS) -> ErrorRows:
    """The error table of a report's subject; above ``limit`` rows the least accurate ones, in their order."""
    errors = subject.errors
    if len(errors) > limit:
        worst = np.sort(np.argsort(-errors["max_std_err"].to_numpy(), kind="stable")[:limit])
        errors = errors.iloc[worst]
        links = [links[row] for row in worst.tolist()] if links else ()
    found = _error_columns(subject, errors)
    values = {column.key: [as_shown(value, column) for value in series] for column, series in found}
    if subject.tables is None:
        found = [(_in_proportion(column, series, errors["std_err"]), series) for column, series in found]
    held: dict[str, list[Any]] = {
        column.key: [None if math.isnan(value) else float(f"{value:.{_HELD}g}") for value in series]
        for column, series in found
        if column.typical
    }
    if held and "target" in errors:
        room = errors["target"] / (margin_factor(subject.target_level) * errors["max_std_err"])
        held["meets_target"] = [None if math.isnan(each) else float(each) for each in room]
    return ErrorRows(tuple(column for column, _ in found), values, len(subject.errors), links, held)


def _in_proportion(column: PageColumn, values: "pd.Series[Any]", std_err: "pd.Series[Any]") -> PageColumn:
    """A column of a plan's page with what other budgets need to know of it, if its numbers follow the noise."""
    if column.key not in _IN_PROPORTION:
        return column
    each = (values / std_err).to_numpy(dtype=np.float64)
    is_one = column.key != "std_err" and bool(np.ptp(each) <= 1e-12 * each[0])
    typical = words.typical_of(values.to_numpy(dtype=np.float64))
    return replace(column, typical=typical, times=each[0] if is_one else 0.0)


def rows_json(rows: ErrorRows) -> str:
    """The rows as JSON for a script element; in ``query`` names stand as their numbers in ``parts``."""
    parts: dict[str, int] = {}
    names = (query.split(JOIN) for query in rows.values["query"])
    queries = [",".join(str(parts.setdefault(part, len(parts))) for part in of_query) for of_query in names]
    shown = ("key", "form", "decimals", *(("typical", "times") if rows.held else ()))
    derived = {column.key for column in rows.columns if column.times}
    held = {key: values for key, values in {**rows.values, **rows.held}.items() if key not in derived}
    content = {
        "join": JOIN,
        "parts": list(parts),
        "columns": [{name: getattr(each, name) for name in shown} for each in rows.columns],
        "values": held | {"query": queries},
        **({"links": list(rows.links)} if rows.links else {}),
    }
    return script_json(content)


def script_json(content: Any) -> str:
    """JSON for a script element, which nothing in it ends."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def as_shown(value: Any, column: PageColumn) -> Any:
    """A value as a page holds it, rounded to the decimals of its column; None where there is none."""
    import pandas as pd

    if pd.isna(value):
        return None
    if column.form == "text":
        return value
    if column.form == "truth":
        return bool(value)
    if column.form == "count":
        return int(value) if abs(value) < 2**53 else float(value)
    rounded = round(float(value), column.decimals + 2 * (column.form == "percent")) + 0.0  # never -0.0
    return float(f"{value:.2g}") if column.form == "error" and not rounded and value else rounded


def cell_text(value: Any, column: PageColumn) -> str:
    """A value as its column shows it; the page's script does the same."""
    if value is None:
        return "–"
    if column.form == "text":
        return str(value)
    if column.form == "truth":
        return "yes" if value else "no"
    if abs(value) >= 1e15:
        return f"{value:.3e}"
    if column.form == "error" and 0 < abs(value) < 0.5 * 10.0**-column.decimals:
        return f"{value:.1e}"
    # The decimal of the data: float's own formatting would show digits that the page's script does not see.
    number, sign = (100 * value, "%") if column.form == "percent" else (value, "")
    return f"{Decimal(repr(number)):,.{column.decimals}f}{sign}"


def _error_columns(subject: Subject, errors: "pd.DataFrame") -> "list[tuple[PageColumn, Any]]":
    margin, quantile = f"{words.level_text(subject.level)} margin of error", margin_factor(subject.level)
    differ = bool((errors["max_std_err"] > errors["std_err"] * (1 + 1e-4)).any())
    columns = [
        ("query", "Table", "The attributes that the table crosses.", "text", True),
        ("order", "Order", "How many attributes it crosses.", "count", True),
        ("cells", "Cells", "How many numbers are published in it.", "count", True),
        ("unit", "Unit", "What its numbers and errors are in.", "text", True),
        ("weight", "Weight", "How much it counts in the loss.", "number", errors["weight"].nunique() > 1),
        ("rmse", "RMSE of published numbers", "The root mean square error of a cell of the published table, by "
         "simulation; the standard error is that of the unbiased estimates that it was made from.", "error", True),
        ("bias", "Bias of published numbers", "The root mean square, over its cells, of the bias of the published "
         "numbers, by simulation.", "error", True),
        ("privacy_share", "Share of budget", "The part of the privacy cost that it accounts for.", "percent", True),
        ("std_err", "Standard error", "The root of the average variance of its cells.", "error", True),
        ("moe", margin, f"An average cell is this near the truth in {words.level_text(subject.level)} of releases.",
         "error", True),
        ("worst", f"{words.level_text(subject.level)} margin, worst cell", "The same for its least accurate cell.",
         "error", differ),
        ("expected_abs_error", "Expected error", "The mean distance from the truth, over its cells.", "error", True),
        ("expected_max_abs_error", "Expected largest error",
         "The mean of the largest distance from the truth among its cells, or what bounds it.", "error", True),
        ("target", "Target", "The largest margin of error that was allowed.", "error", True),
        ("meets_target", "Meets target", "Whether the worst cell's margin is within the target.", "truth", True),
    ]  # fmt: skip
    available, found = errors.assign(query=words.table_names(errors), worst=errors["max_std_err"] * quantile), []
    for key, label, meaning, form, is_shown in columns:
        if is_shown and key in available:
            decimals = 0
            if form in ("number", "error", "percent"):
                numbers = available[key].to_numpy(dtype=np.float64, na_value=np.nan)
                decimals = words.decimals_for(numbers * (100 if form == "percent" else 1))
            found.append((PageColumn(key, label, meaning, form, decimals), available[key]))
    return found


@dataclass(frozen=True, eq=False, slots=True)
class PageTable:
    """One table of a release in a page."""

    name: str  # of its query
    heads: tuple[str, ...]  # what stands above its labels: the titles of its attributes, or their names
    axes: tuple[int, ...]  # the numbers of the lists of labels along its axes
    shape: tuple[int, ...]  # how many labels each of these has
    values: Mapping[str, Any]  # of each column, by its key, in C order as they are shown, or one for all cells
    decimals: int  # of its estimates and errors, which depend on how small its errors are

    @property
    def cells(self) -> int:
        """How many cells it has."""
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False, slots=True)
class PageTables:
    """The tables of a release that a page holds."""

    columns: tuple[PageColumn, ...]  # of numbers, the same for all tables
    total: int  # how many tables the release has
    tables: list[PageTable] = field(default_factory=list)  # those that fit, in the order of the workload
    labels: list[tuple[str, ...]] = field(default_factory=list)  # the lists that they share
    #: the level of each of their labels, none where no levels
    levels: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def first(self) -> int:
        """Which table is shown first: the first of several cells."""
        return next((number for number, table in enumerate(self.tables) if table.cells > 1), 0)

    def texts(self, table: PageTable, rows: int) -> list[list[str]]:
        """What the first rows of a table show, as the page's script writes it."""
        labels = list(islice(product(*(self.labels[axis] for axis in table.axes)), rows))
        columns = [
            [cell_text(value, column) for value in (each[:rows] if isinstance(each, list) else [each] * len(labels))]
            for column in _with_decimals(self.columns, table.decimals)
            for each in (table.values[column.key],)
        ]
        return [[*names, *shown] for names, *shown in zip(labels, *columns, strict=True)]


def page_tables(subject: Subject, *, limit: int = CELLS) -> PageTables:
    """The smallest tables of a release whose cells are at most ``limit`` together; none of a plan."""
    found = np.flatnonzero(subject.has_table)
    page = PageTables(_columns(subject), len(found))
    cells = subject.errors["cells"].to_numpy(dtype=np.float64)[found]
    # as many tables as can be: the smallest first, until their cells are too many; then in the order of the workload
    smallest = np.argsort(cells, kind="stable")
    chosen = np.sort(found[smallest[np.cumsum(cells[smallest]) <= limit]])
    numbers: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
    for row, name in zip(chosen.tolist(), words.table_names(subject.errors.iloc[chosen]), strict=True):
        table = subject.table(row)
        keys = zip(table.labels_in_words, table.levels, strict=True)
        axes = tuple(numbers.setdefault(key, len(numbers)) for key in keys)
        heads = tuple(subject.plan.domain[attribute].heading for attribute in table.names)
        values, decimals = _values(subject, row, table)
        shown: dict[str, Any] = {}
        for column in _with_decimals(page.columns, decimals):
            every = [as_shown(value, column) for value in values[column.key].tolist()]
            is_one = len(every) > 1 and len(set(every)) == 1 and every[0] is not None
            shown[column.key] = every[0] if is_one else every
        page.tables.append(PageTable(name, heads, axes, table.estimate.shape, shown, decimals))
    page.labels.extend(labels for labels, _ in numbers)
    page.levels.extend(levels for _, levels in numbers)
    return page


def tables_json(page: PageTables) -> str:
    """The tables as JSON for a script element."""
    columns = [{name: getattr(each, name) for name in ("key", "label", "form", "decimals")} for each in page.columns]
    shown = ("name", "heads", "axes", "decimals", "values")
    tables = [{name: getattr(table, name) for name in shown} for table in page.tables]
    return script_json({"columns": columns, "labels": page.labels, "levels": page.levels, "tables": tables})


def _columns(subject: Subject) -> tuple[PageColumn, ...]:
    is_unbiased, is_rounded = subject.product.is_unbiased, subject.product.is_rounded
    level, unit = words.level_text(subject.level), subject.plan.domain.weight.unit_name
    published = f"The published total of {unit}." if unit else "The published number of records."
    cut = f"of the {level} interval for the true count: that of the unbiased estimate, cut at possible counts."
    errors = [PageColumn("std_err", "Standard error, unbiased", _UNBIASED_ERROR, "error")]
    if is_unbiased:
        errors = [PageColumn("moe", f"± {level}", f"Margin of error of the cell by itself, at {level}.", "error")]
    elif subject.has_intervals:
        errors.append(PageColumn("low", f"{level} from", f"Low end {cut}", "number"))
        errors.append(PageColumn("high", f"{level} to", f"High end {cut}", "number"))
    grades = subject.quality.meaning if subject.quality else ""
    grade = PageColumn("quality", "Quality", f"{grades[:1].upper()}{grades[1:]}.", "text")
    return (
        PageColumn("estimate", "Estimate", published, "count" if is_rounded else "number"),
        *errors,
        PageColumn("cv", "Coefficient of variation", "Standard error over the size of the estimate.", "percent", 1),
        *([grade] if subject.quality else []),
    )


def _values(subject: Subject, row: int, table: Table) -> tuple[dict[str, Any], int]:
    estimate, std_err = table.estimate.ravel(), table.std_err.ravel()
    quality, is_unbiased = subject.quality or Quality(), subject.product.is_unbiased
    variation = quality.variation(estimate, std_err)
    error = margin_factor(subject.level) * std_err if is_unbiased else std_err
    decimals = words.decimals_of_errors(error)
    found = {"estimate": estimate, "cv": variation, "moe" if is_unbiased else "std_err": error}
    if subject.has_intervals:
        found |= dict(zip(("low", "high"), words.apart(*subject.interval(row), decimals), strict=True))
    return found | ({"quality": quality.grades(variation)} if subject.quality else {}), decimals


def _with_decimals(columns: Sequence[PageColumn], decimals: int) -> list[PageColumn]:
    return [replace(column, decimals=decimals) if column.form in ("number", "error") else column for column in columns]
