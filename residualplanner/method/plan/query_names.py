"""The names of queries in error tables: their attributes joined, and which records they are about.

Nothing loops over queries.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from residualplanner.ground.words import AMONG, JOIN, TOTAL
from residualplanner.method.workload.blocks import QueryBlock
from residualplanner.method.workload.query import selection_text
from residualplanner.method.workload.workload import Workload

#: How many names are made at a time: what the library works in is not larger than that.
_ROWS = 2**17


def query_names(workload: Workload, blocks: Sequence[QueryBlock]) -> Any:
    """The names of queries, as `WrittenQuery.words` has them, (m,).

    Example:
        >>> from residualplanner import Among, Domain
        >>> domain = Domain({"age": 3, "employed": ["yes", "no"]})
        >>> workload = Workload(domain, [("age",), ("age", "employed"), Among(("age",), where={"employed": "yes"})])
        >>> list(query_names(workload, workload.blocks))
        ['age', 'age × employed', 'age among employed: yes']
    """
    import pandas as pd
    import pyarrow as pa

    parts = []
    for block in blocks:
        for first in range(0, len(block), _ROWS):
            parts += _names(workload, block.part(slice(first, first + _ROWS)))
    return pd.Series(pa.chunked_array(parts, type=pa.large_string()).to_pandas())


def _names(workload: Workload, block: QueryBlock) -> list[Any]:
    """The names of the queries of a block, those of the same axes and universes together."""
    import pyarrow as pa

    kinds = block.written_kinds
    is_axis = np.array([kind.is_axis for kind in workload.kinds])[kinds]
    has_where = np.array([bool(kind.where) for kind in workload.kinds])[kinds]
    patterns = np.concatenate([is_axis, has_where], axis=1)
    if (patterns == patterns[:1]).all():
        return [_names_of_pattern(workload, block, is_axis[0], has_where[0])]
    distinct, number = np.unique(patterns, axis=0, return_inverse=True)
    order = np.argsort(number.ravel(), kind="stable")
    same = np.split(order, np.cumsum(np.bincount(number.ravel()))[:-1])
    masks = (np.split(pattern, 2) for pattern in distinct)
    found = [_names_of_pattern(workload, block.part(rows), *mask) for rows, mask in zip(same, masks, strict=True)]
    return pa.chunked_array(found).take(pa.array(np.argsort(order))).chunks  # type: ignore[no-any-return]


def _names_of_pattern(workload: Workload, block: QueryBlock, is_axis: Any, has_where: Any) -> Any:
    """The names of queries that have axes, and selections, in the same positions."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text, names = pa.large_string(), workload.domain.names
    attributes, kinds = block.written_attributes, block.written_kinds
    words = pa.array(names, type=text)
    columns = [words.take(pa.array(attributes[:, column])) for column in np.flatnonzero(is_axis).tolist()]
    found = _joined(columns, JOIN) if columns else pa.array([TOTAL] * len(block), type=text)
    if not has_where.any():
        return found
    pairs = np.argwhere(workload.uses & [bool(kind.where) for kind in workload.kinds])
    number = np.zeros(workload.uses.shape, dtype=np.int64)
    number[tuple(pairs.T)] = np.arange(len(pairs))
    about = pa.array([selection_text(names[i], workload.kinds[code]) for i, code in pairs.tolist()], type=text)
    universe = [about.take(pa.array(number[attributes[:, k], kinds[:, k]])) for k in np.flatnonzero(has_where).tolist()]
    return pc.binary_join_element_wise(found, _joined(universe, ", "), pa.scalar(AMONG, text))


def _joined(columns: Sequence[Any], sign: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*columns, pa.scalar(sign, pa.large_string()))
