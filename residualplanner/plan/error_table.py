"""The error table of a plan: one row per query, built column by column.

pandas' and PyArrow's home in this layer; both are imported when the table is asked for.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner._checks import FloatArray
from residualplanner._margins import margin_factor
from residualplanner._words import JOIN
from residualplanner.losses import Targets
from residualplanner.workload import Workload, row_numbers

if TYPE_CHECKING:
    import pandas as pd

#: How the query of no attributes, the number of records, is called in tables.
TOTAL = "(total)"


def error_table(
    workload: Workload,
    *,
    shares: FloatArray,
    average_variance: FloatArray,
    max_variance: FloatArray,
    mean_std_err: FloatArray,
    max_abs_error: FloatArray,
    level: float,
    targets: Targets | None = None,
) -> "pd.DataFrame":
    """One row per query, as `Plan.errors` describes."""
    import pandas as pd

    factor = margin_factor(level)
    std_err = np.sqrt(average_variance)
    table = pd.DataFrame(
        {
            "query": _query_names(workload),
            "kinds": _kind_names(workload),
            "order": workload.orders,
            "cells": _whole(workload.cells),
            "weight": workload.weights,
            "privacy_share": shares,
            "std_err": std_err,
            "max_std_err": np.sqrt(max_variance),
            "moe": factor * std_err,
            "conf_level": np.full(len(workload), level),
            "expected_abs_error": math.sqrt(2 / math.pi) * mean_std_err,
            "expected_max_abs_error": max_abs_error,
        }
    )
    if targets is not None:
        table["target"] = targets.in_order(workload)
        is_met = pd.Series(targets.are_met(workload, max_variance), dtype="boolean")
        table["meets_target"] = is_met.mask(table["target"].isna())
    return table


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
    """The kinds asked in every query, joined in the order of its attributes; a category per distinct combination."""
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


def _whole(cells: FloatArray) -> Any:
    """Numbers of cells as integers where they fit, else as floats."""
    return cells.astype(np.int64) if cells.max() < 2**53 else cells
