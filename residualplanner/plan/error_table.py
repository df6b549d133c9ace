"""How accurate a plan is: the error table of all its queries, and the table of one query.

Reads: the accuracy of a plan.  Gives: a DataFrame; TableAccuracy.  pandas and PyArrow are imported when one is made.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner._margins import margin_factor
from residualplanner._words import JOIN, TOTAL
from residualplanner.errors import WorkloadError
from residualplanner.losses import Targets
from residualplanner.strategy import Accuracy, TableAccuracy, mean_max_bound
from residualplanner.workload import QueryLike, Workload, row_numbers, written_query

if TYPE_CHECKING:
    import pandas as pd


def error_table(workload: Workload, accuracy: Accuracy, *, level: float, targets: Targets | None) -> "pd.DataFrame":
    """One row per query, as `Plan.errors` describes."""
    import pandas as pd

    factor, cells = margin_factor(level), workload.cells
    std_err = np.sqrt(accuracy.average_variances)
    table = pd.DataFrame(
        {
            "query": _query_names(workload),
            "kinds": _kind_names(workload),
            "order": workload.orders,
            "cells": cells.astype(np.int64) if cells.max() < 2**53 else cells,
            "weight": workload.weights,
            "privacy_share": accuracy.privacy_shares,
            "std_err": std_err,
            "max_std_err": np.sqrt(accuracy.max_variances),
            "moe": factor * std_err,
            "conf_level": np.full(len(workload), level),
            "expected_abs_error": math.sqrt(2 / math.pi) * accuracy.mean_std_errs,
            "expected_max_abs_error": accuracy.max_abs_errors,
        }
    )
    if targets is not None:
        table["target"] = targets.in_order(workload)
        is_met = pd.Series(targets.are_met(workload, accuracy.max_variances), dtype="boolean")
        table["meets_target"] = is_met.mask(table["target"].isna())
    return table


def query_table(accuracy: Accuracy, query: QueryLike) -> TableAccuracy:
    """Variances and covariances within the table of a query, with its axes as it is written.

    Raises:
        WorkloadError: the plan does not answer the query.
    """
    domain, closure = accuracy.workload.domain, accuracy.workload.closure
    written = written_query(domain, query)
    positions = written.in_domain_order.positions
    if closure.positions_of(np.array([positions], dtype=np.int32))[0] < 0:
        names = tuple(domain.names[position] for position in written.positions)
        raise WorkloadError(
            f"the plan does not answer {names!r}: it is not part of a query of the workload; add it and plan again"
        )
    return accuracy.table(written)


def mean_largest_error(table: TableAccuracy) -> float:
    """A bound on the mean of the largest absolute error of a table's cells, see `Plan.expected_max_abs_error`."""
    variances, counts = np.unique(table.differing_variances(), return_counts=True)
    cells_for_each = math.prod(map(float, table.shape)) / counts.sum()
    return mean_max_bound(np.sqrt(variances), counts * cells_for_each)


def _query_names(workload: Workload) -> Any:
    """The attributes of every query, as it was written, joined; a pandas string array, without a loop over queries."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array(workload.domain.names, type=pa.large_string())
    parts = []
    for order, attributes in enumerate(block.written_attributes for block in workload.blocks):
        if order == 0:
            parts.append(pa.array([TOTAL] * len(attributes), type=pa.large_string()))
        elif len(attributes):
            columns = [names.take(pa.array(attributes[:, column])) for column in range(order)]
            parts.append(pc.binary_join_element_wise(*columns, pa.scalar(JOIN, pa.large_string())))
    return pd.Series(pa.chunked_array(parts, type=pa.large_string()).to_pandas())


def _kind_names(workload: Workload) -> Any:
    """The kinds of every query, joined in the order of its attributes; a category per distinct combination."""
    import pandas as pd

    names = [kind.name for kind in workload.kinds]
    codes: list[Any] = []
    labels: dict[str, int] = {}
    for kinds in (block.written_kinds for block in workload.blocks):
        numbers = row_numbers(kinds)
        distinct = kinds[np.unique(numbers, return_index=True)[1]].tolist()
        words = [JOIN.join(names[code] for code in row) for row in distinct]
        codes.append(np.array([labels.setdefault(word, len(labels)) for word in words], dtype=np.int64)[numbers])
    return pd.Categorical.from_codes(np.concatenate(codes), categories=pd.Index(list(labels)))
