"""How accurate a plan is: the error table of all its queries, and the table of one query.

pandas and PyArrow are imported when one is made.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.margins import margin_factor
from residualplanner.ground.words import JOIN
from residualplanner.method.losses import Targets
from residualplanner.method.plan.query_names import query_names
from residualplanner.method.strategy.accuracy import Accuracy
from residualplanner.method.strategy.table_accuracy import TableAccuracy
from residualplanner.method.workload.attribute_sets import row_numbers
from residualplanner.method.workload.query import QueryLike, written_query
from residualplanner.method.workload.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

#: How many rows are made at a time where all are not held at once.
_ROWS = 2**17


@dataclass(frozen=True, eq=False)
class ErrorTable:
    """The error table of all queries of a workload, of which any rows can be made.

    Attributes:
        workload: the queries.
        accuracy: of them, with some noise.
        level: the confidence level of the margins of error.
        targets: for margins of error, if there are any.
    """

    workload: Workload
    accuracy: Accuracy
    level: float
    targets: Targets | None

    def __len__(self) -> int:
        return len(self.workload)

    def frame(self, first: int, last: int) -> "pd.DataFrame":
        """The rows of the queries from one number on up to another, as ``Plan.errors`` describes.

        Raises:
            BudgetError: the level is not between 0 and 1.
        """
        import pandas as pd

        rows, accuracy, factor = slice(first, last), self.accuracy, margin_factor(self.level)
        blocks = [block for _, block in self.workload.between(first, last)]
        cells, std_err = self.workload.cells[rows], np.sqrt(accuracy.average_variances[rows])
        table = pd.DataFrame(
            {
                "query": query_names(self.workload, blocks),
                "kinds": pd.Categorical.from_codes(self._kinds[0][rows], categories=pd.Index(self._kinds[1])),
                "order": np.concatenate([self._is_axis[block.kinds].sum(axis=1) for block in blocks]),
                "cells": cells.astype(np.int64) if self._largest < 2**53 else cells,
                "weight": np.concatenate([block.weights for block in blocks]),
                "privacy_share": accuracy.privacy_shares[rows],
                "std_err": std_err,
                "max_std_err": np.sqrt(accuracy.max_variances[rows]),
                "moe": factor * std_err,
                "conf_level": np.full(len(cells), self.level),
                "expected_abs_error": math.sqrt(2 / math.pi) * accuracy.mean_std_errs[rows],
                "expected_max_abs_error": accuracy.max_abs_errors[rows],
            }
        )
        domain = self.workload.domain
        if self.workload.has_sums or domain.weight.unit_name:
            table["unit"] = [self.workload.query_at(number).unit(domain) for number in range(first, last)]
        if self.workload.has_sums:
            table["scale"] = self.workload.scales[rows]
        if self.targets is not None:
            table["target"] = self.targets.in_order(self.workload)[rows]
            is_met = self.targets.are_met(self.workload, accuracy.max_variances)[rows]
            table["meets_target"] = pd.Series(is_met, dtype="boolean").mask(table["target"].isna())
        return table

    def frames(self) -> "Iterator[pd.DataFrame]":
        """All rows, some hundred thousand at a time."""
        for first in range(0, len(self), _ROWS):
            yield self.frame(first, min(first + _ROWS, len(self)))

    @cached_property
    def _is_axis(self) -> NDArray[np.bool_]:
        """Whether tables have an axis for each kind, (kinds,)."""
        return np.array([kind.is_axis for kind in self.workload.kinds])

    @cached_property
    def _largest(self) -> float:
        return float(self.workload.cells.max())

    @cached_property
    def _kinds(self) -> tuple[NDArray[np.int32], list[str]]:
        """The kinds of every query, joined in the order of its attributes: a code for each, (q,), and the words."""
        names = [kind.unselected.name for kind in self.workload.kinds]
        codes: list[NDArray[np.int32]] = []
        labels: dict[str, int] = {}
        for kinds in (block.written_kinds for block in self.workload.blocks):
            numbers = row_numbers(kinds)
            distinct = kinds[np.unique(numbers, return_index=True)[1]].tolist()
            words = [JOIN.join(names[code] for code in row if self._is_axis[code]) for row in distinct]
            codes.append(np.array([labels.setdefault(word, len(labels)) for word in words], dtype=np.int32)[numbers])
        return np.concatenate(codes), list(labels)


def query_table(accuracy: Accuracy, query: QueryLike) -> TableAccuracy:
    """Variances and covariances within the table of a query, with its axes as it is written.

    Raises:
        WorkloadError: the plan does not answer the query.
    """
    domain, closure = accuracy.workload.domain, accuracy.workload.closure
    written = written_query(domain, query)
    positions = written.in_domain_order.positions
    if closure.position_of(positions) < 0:
        names = tuple(domain.names[position] for position in written.positions)
        raise WorkloadError(
            f"the plan does not answer {names!r}: it is not part of a query of the workload; add it and plan again"
        )
    return accuracy.table(written)
