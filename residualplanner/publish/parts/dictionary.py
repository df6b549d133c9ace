"""What the tables of a release in parts are, and what their cells are about: as data that SQL can join.

Nothing loops over tables.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from residualplanner.method.plan.error_table import ErrorTable
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import MEANING, meanings_of
from residualplanner.method.workload.attribute_sets import QueryBlock
from residualplanner.release.layout import Layout

#: The columns of the dictionary of tables that are not those of `Plan.errors`, and what its "kinds" is called there.
OWN_COLUMNS = ("table_id", "attributes", "kinds", "shape", "part")
KINDS = "kinds_of_query"


#: How many rows are made at a time.
_ROWS = 2**17


def tables_tables(plan: Plan, layout: Layout, level: float, parts: Sequence[int]) -> Iterator[Any]:
    """One row for each table of some parts, as PyArrow tables of many rows each: what `tables.parquet` holds.

    Columns: ``table_id``; ``attributes``, ``kinds`` and ``shape``, lists with one entry for each axis; ``part``; and
    those of `Plan.errors`.
    """
    errors = plan.error_table(level)
    breaks = [0, *(1 + np.flatnonzero(np.diff(parts) > 1)).tolist(), len(parts)]
    for start, stop in pairwise(breaks):
        first, last = int(layout.parts[parts[start]]), int(layout.parts[parts[stop - 1] + 1])
        for low in range(first, last, _ROWS):
            yield _rows(plan, layout, errors, low, min(low + _ROWS, last))


def _rows(plan: Plan, layout: Layout, error_table: ErrorTable, first: int, last: int) -> Any:
    """The rows of the tables from one number on up to another."""
    import pyarrow as pa

    workload, numbers = plan.workload, np.arange(first, last)
    errors = pa.Table.from_pandas(error_table.frame(first, last), preserve_index=False)
    blocks = [block for _, block in workload.between(first, last)]
    parts = np.searchsorted(layout.parts, numbers, side="right") - 1
    names, kinds = pa.array(plan.domain.names), pa.array([kind.name for kind in workload.kinds])
    columns = {
        "table_id": pa.array(numbers, pa.int32()),
        "attributes": _lists(blocks, lambda block: names.take(pa.array(block.written_attributes.ravel()))),
        "kinds": _lists(blocks, lambda block: kinds.take(pa.array(block.written_kinds.ravel()))),
        "shape": _lists(blocks, lambda block: pa.array(_lengths(plan, block).ravel())),
        "part": pa.array(parts, pa.int32()),
    }
    for name in errors.column_names:
        columns[KINDS if name == "kinds" else name] = errors[name]
    return pa.table(columns)


def labels_table(plan: Plan) -> Any:
    """One row for each answer on each attribute in each kind of query on it.

    Columns: ``attribute``, ``kind`` as in the dictionary of tables, ``index`` of the answer on its axis, ``label``, and
    ``meaning``: the label in words, or the label itself.  Where a hierarchy is from a file or a frame, also ``level``,
    ``code``, ``name`` and ``parent``, which are null for all others.
    """
    import pyarrow as pa

    axes = [(plan.domain.attributes[position], kind) for position, kind in plan.workload.attribute_kinds]
    beside = [kind.columns_beside(attribute) for attribute, kind in axes]
    more = list(dict.fromkeys(word for columns in beside for word in columns if word != MEANING))
    rows: dict[str, list[Any]] = {word: [] for word in ("attribute", "kind", "index", "label", MEANING, *more)}
    for (attribute, kind), columns in zip(axes, beside, strict=True):
        labels = [str(label) for label in kind.labels(attribute)]
        rows["attribute"] += [attribute.name] * len(labels)
        rows["kind"] += [kind.name] * len(labels)
        rows["index"] += range(len(labels))
        rows["label"] += labels
        rows[MEANING] += meanings_of(kind, attribute) or labels
        for word in more:
            rows[word] += columns.get(word, [None] * len(labels))
    return pa.table(rows)


def _lengths(plan: Plan, block: QueryBlock) -> Any:
    """How many answers each axis of each table has, (m, k)."""
    rows = plan.workload.answers.astype(np.int64)
    return rows[block.written_attributes, block.written_kinds]


def _lists(blocks: Sequence[QueryBlock], of: Any) -> Any:
    """For each query of each order a list with an entry for each of its attributes."""
    import pyarrow as pa

    lists = []
    for block in blocks:
        values, order = of(block), block.kinds.shape[1]
        offsets = pa.array(np.arange(len(block) + 1) * order, pa.int32())
        lists.append(pa.ListArray.from_arrays(offsets, values))
    return pa.chunked_array(lists)
