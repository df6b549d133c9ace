"""The error table as a page holds it: its columns, and their numbers as they are shown.

Reads: an error table.  Gives: ErrorRows, and its JSON, which no name that a user chose can end.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.ground.margins import margin_factor
from residualplanner.ground.words import JOIN
from residualplanner.publish.report.subject import Subject
from residualplanner.publish.report.words import decimals_for, level_text, table_names

if TYPE_CHECKING:
    import pandas as pd

#: The most rows that a page holds, about 60 bytes each.
LIMIT = 100_000


@dataclass(frozen=True, slots=True)
class PageColumn:
    """One column of the error table in a page.

    Attributes:
        key: its name in the data.
        label: its heading.
        meaning: what it is, in a sentence.
        form: "text", "count", "number", "error", which is shown as 0 only where it is 0, "percent" or "truth".
        decimals: how many are shown.
    """

    key: str
    label: str
    meaning: str
    form: str
    decimals: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class ErrorRows:
    """The rows that a page holds.

    Attributes:
        columns: of the table.
        values: for each column its values, as JSON has them.
        total: how many queries there are in all.
        links: for each row the URL of the file of its table; none where there are no files.
    """

    columns: tuple[PageColumn, ...]
    values: dict[str, list[Any]]
    total: int
    links: Sequence[str] = ()

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


def error_rows(subject: Subject, links: Sequence[str] = (), *, limit: int = LIMIT) -> ErrorRows:
    """The error table of a report's subject; above ``limit`` rows the least accurate ones, in their order.

    Args:
        subject: of the report.
        links: for each query the URL of the file of its table; none where there are no files.
        limit: the most rows.
    """
    errors = subject.errors
    if len(errors) > limit:
        worst = np.sort(np.argsort(-errors["max_std_err"].to_numpy(), kind="stable")[:limit])
        errors = errors.iloc[worst]
        links = [links[row] for row in worst.tolist()] if links else ()
    columns, values = [], {}
    for column, series in _found(subject, errors):
        columns.append(column)
        values[column.key] = [as_shown(value, column) for value in series]
    return ErrorRows(tuple(columns), values, len(subject.errors), links)


def rows_json(rows: ErrorRows) -> str:
    """The rows as JSON for a script element: names that recur are numbered, and nothing in it ends the element.

    ``parts`` are the names between the signs that join them; in ``query`` each is replaced by its number.
    """
    parts: dict[str, int] = {}
    queries = [
        ",".join(str(parts.setdefault(part, len(parts))) for part in query.split(JOIN))
        for query in rows.values["query"]
    ]
    content = {
        "join": JOIN,
        "parts": list(parts),
        "columns": [{"key": column.key, "form": column.form, "decimals": column.decimals} for column in rows.columns],
        "values": rows.values | {"query": queries},
        **({"links": list(rows.links)} if rows.links else {}),
    }
    return script_json(json.dumps(content, allow_nan=False, separators=(",", ":")))


def script_json(text: str) -> str:
    """JSON for a script element, which nothing in it ends."""
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def as_shown(value: Any, column: PageColumn) -> Any:
    """A value as a page holds it, rounded to the decimals of its column; None where there is none.

    Example:
        >>> moe = PageColumn("moe", "", "", "error", 1)
        >>> [as_shown(value, moe) for value in (42008926.649, 0.00321, float("nan"))]
        [42008926.6, 0.0032, None]
    """
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


def _found(subject: Subject, errors: "pd.DataFrame") -> "list[tuple[PageColumn, Any]]":
    """The columns with something to show, and their values."""
    margin, quantile = f"{level_text(subject.level)} margin of error", margin_factor(subject.level)
    differ = bool((errors["max_std_err"] > errors["std_err"] * (1 + 1e-4)).any())
    found = [
        (PageColumn("query", "Table", "The attributes that the table crosses.", "text"), table_names(errors)),
        (PageColumn("order", "Order", "How many attributes it crosses.", "count"), errors["order"]),
        (PageColumn("cells", "Cells", "How many numbers are published in it.", "count"), errors["cells"]),
    ]
    if "unit" in errors:
        found.append((PageColumn("unit", "Unit", "What its numbers and errors are in.", "text"), errors["unit"]))
    optional = [
        ("weight", "Weight", "How much it counts in the loss.", "number", errors["weight"].nunique() > 1),
        ("rmse", "RMSE of published numbers", "The root mean square error of a cell of the published table, by "
         "simulation; the standard error is that of the unbiased estimates that it was made from.", "error", True),
        ("bias", "Bias of published numbers", "The root mean square, over its cells, of the bias of the published "
         "numbers, by simulation.", "error", True),
        ("privacy_share", "Share of budget", "The part of the privacy cost that it accounts for.", "percent", True),
        ("std_err", "Standard error", "The root of the average variance of its cells.", "error", True),
        ("moe", margin, f"An average cell is this near the truth in {level_text(subject.level)} of releases.",
         "error", True),
        ("worst", f"{level_text(subject.level)} margin, worst cell", "The same for its least accurate cell.",
         "error", differ),
        ("expected_abs_error", "Expected error", "The mean distance from the truth, over its cells.", "error", True),
        ("expected_max_abs_error", "Expected largest error",
         "The mean of the largest distance from the truth among its cells, or what bounds it.", "error", True),
        ("target", "Target", "The largest margin of error that was allowed.", "error", True),
        ("meets_target", "Meets target", "Whether the worst cell's margin is within the target.", "truth", True),
    ]  # fmt: skip
    available = errors.assign(worst=errors["max_std_err"] * quantile)
    for key, label, meaning, form, is_shown in optional:
        if is_shown and key in available:
            series = available[key]
            numbers = series.to_numpy(dtype=np.float64, na_value=np.nan) * (100 if form == "percent" else 1)
            decimals = 0 if form == "truth" else decimals_for(numbers)
            found.append((PageColumn(key, label, meaning, form, decimals), series))
    return found
