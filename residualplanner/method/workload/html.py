"""Queries as a notebook shows them: the first few, with their sizes and weights."""

from typing import Protocol

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.html import ROWS, caption_of, html_table, rest_note
from residualplanner.ground.words import JOIN, number_text
from residualplanner.method.domain.domain import Domain
from residualplanner.method.workload.query import WrittenQuery


class _ShownWorkload(Protocol):
    @property
    def domain(self) -> Domain: ...

    @property
    def cells(self) -> FloatArray: ...

    @property
    def weights(self) -> FloatArray: ...

    def __len__(self) -> int: ...

    def query_at(self, number: int) -> WrittenQuery: ...


def workload_html(workload: _ShownWorkload, noun: object, *, remedy: str) -> str:
    """The first queries of a workload as a table.

    Args:
        workload: the queries.
        noun: what they are the queries of; what it says of itself stands above the table.
        remedy: where the other queries are.
    """
    count = min(len(workload), ROWS)
    rows = []
    for number, cells, weight in zip(range(count), workload.cells.tolist(), workload.weights.tolist(), strict=False):
        query = workload.query_at(number)
        kinds = JOIN.join(kind.unselected.name for kind in query.table_axes.kinds)
        rows.append((query.words(workload.domain), kinds, number_text(cells), number_text(weight)))
    note = rest_note(len(workload) - count, remedy)
    return html_table(caption_of(noun), ["query", "kinds", "cells", "weight"], rows, note=note)
