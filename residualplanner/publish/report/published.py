"""The errors of published numbers in a report, where they are no longer unbiased.

Reads: a data frame of `PublishedErrors`.  Gives: rows of strings.
"""

from typing import TYPE_CHECKING

from residualplanner.ground.words import number_text
from residualplanner.publish.report.words import decimals_for, table_names

if TYPE_CHECKING:
    import pandas as pd

#: The headings of the table on the page, and the most rows there; the file beside the page has all.
HEAD = (
    "Table",
    "Cells",
    "RMSE of published numbers",
    "Simulation error",
    "Bias of published numbers",
    "Simulation error",
    "RMSE of unbiased estimates",
)
MOST_ROWS = 100
_NUMBERS = ("rmse", "rmse_simulation_error", "bias", "bias_simulation_error", "std_err_unbiased")


def published_rows(errors: "pd.DataFrame") -> list[tuple[str, ...]]:
    """The tables with the largest errors, as strings, in the order of the workload."""
    shown = errors.loc[errors["rmse"].nlargest(MOST_ROWS).index.sort_values()]
    decimals = decimals_for(shown[["rmse", "std_err_unbiased"]].to_numpy().ravel())
    rows = zip(table_names(shown), shown["cells"].tolist(), shown[list(_NUMBERS)].to_numpy().tolist(), strict=True)
    return [
        (name, number_text(cells), *(f"{number:,.{decimals}f}" for number in numbers)) for name, cells, numbers in rows
    ]
