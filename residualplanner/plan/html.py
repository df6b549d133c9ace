"""A plan as a notebook shows it: its totals, and the first rows of its error table.

Reads: what a plan says of itself.  Gives: HTML.
"""

from typing import TYPE_CHECKING, Protocol

from residualplanner._html import html_table
from residualplanner._words import number_text
from residualplanner.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

#: How many queries are shown, of how many at most, and what of each.
ROWS, LARGEST, _COLUMNS = 20, 20_000, ["query", "kinds", "cells", "std_err", "max_std_err", "moe"]


class _Shown(Protocol):
    @property
    def workload(self) -> Workload: ...

    def errors(self, level: float = 0.95) -> "pd.DataFrame": ...


def plan_html(plan: _Shown) -> str:
    """The plan in words, and the errors of its first queries where there are not too many."""
    if len(plan.workload) > LARGEST:
        return html_table(repr(plan), [], [], note=".errors() has the error table")
    errors = plan.errors()
    rows = errors[_COLUMNS].head(ROWS).to_numpy().tolist()
    texts = [[query, kinds, *map(number_text, numbers)] for query, kinds, *numbers in rows]
    left = len(errors) - len(rows)
    return html_table(repr(plan), _COLUMNS, texts, note=f"and {left:,} more; .errors() has all" if left else "")
