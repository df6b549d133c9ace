"""A plan as a notebook shows it: its totals, and the first rows of its error table."""

from typing import TYPE_CHECKING, Protocol

from residualplanner.ground.html import ROWS, caption_of, html_table, rest_note
from residualplanner.ground.words import number_text
from residualplanner.method.workload.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

#: Of how many queries at most some are shown, and what of each.
LARGEST, _COLUMNS = 20_000, ["query", "kinds", "cells", "std_err", "max_std_err", "moe"]


class _ShownPlan(Protocol):
    @property
    def workload(self) -> Workload: ...

    def errors(self, level: float = 0.95) -> "pd.DataFrame": ...


def plan_html(plan: _ShownPlan) -> str:
    """The plan in words, and the errors of its first queries where there are not too many."""
    if len(plan.workload) > LARGEST:
        return html_table(caption_of(plan), [], [], note=".errors() has the error table")
    errors = plan.errors()
    rows = errors[_COLUMNS].head(ROWS).to_numpy().tolist()
    texts = [[query, kinds, *map(number_text, numbers)] for query, kinds, *numbers in rows]
    return html_table(caption_of(plan), _COLUMNS, texts, note=rest_note(len(errors) - len(rows), ".errors() has all"))
