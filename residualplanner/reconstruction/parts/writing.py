"""One part of a release as the bytes of a Parquet file.

Reads: a release, a part's number.  Gives: bytes, which depend on nothing else.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from residualplanner._checks import FloatArray, IntArray
from residualplanner._json import parse_json
from residualplanner.errors import FileFormatError
from residualplanner.plan import plan_hash
from residualplanner.reconstruction.parts.layout import Layout
from residualplanner.reconstruction.release import Release, TableBatch
from residualplanner.strategy import has_equal_cells
from residualplanner.workload import query_of

#: The columns: the table's number in the workload's order, the cell's number in C order, and what is said of the cell.
TABLE_ID, CELL, ESTIMATE, STD_ERR = "table_id", "cell", "estimate", "std_err"
#: The key of what a part says of itself.
ABOUT = b"residualplanner"


def columns_of(release: Release) -> tuple[str, ...]:
    """The columns of the parts of a release: standard errors only where cells of one table differ in them."""
    plan = release.plan
    is_equal = has_equal_cells(plan.workload, plan.strategy)
    return (TABLE_ID, CELL, ESTIMATE) if is_equal else (TABLE_ID, CELL, ESTIMATE, STD_ERR)


def part_bytes(release: Release, layout: Layout, part: int, about: dict[str, Any]) -> Any:
    """A part as Parquet: one row for each cell, table after table, whole tables in each row group.

    Args:
        release: whose tables it holds.
        layout: of its workload.
        part: the number of the part.
        about: what the file says of itself, as JSON values.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = columns_of(release)
    types = {TABLE_ID: pa.int32(), CELL: pa.int64(), ESTIMATE: pa.float64(), STD_ERR: pa.float64()}
    text = json.dumps(about | {"part": part}, sort_keys=True)
    schema = pa.schema([(name, types[name]) for name in columns], metadata={ABOUT: text})
    stream = pa.BufferOutputStream()
    # Estimates hardly repeat: neither a dictionary nor compression makes them smaller.
    compression = {TABLE_ID: "zstd", CELL: "zstd", ESTIMATE: "none", STD_ERR: "zstd"}
    options = {"use_dictionary": [name for name in columns if name == STD_ERR], "write_statistics": [TABLE_ID]}
    with pq.ParquetWriter(
        stream, schema, compression={name: compression[name] for name in columns}, **options
    ) as writer:
        for first, last in pairwise(layout.row_groups(part).tolist()):
            cells = layout.cells[first : last + 1] - layout.cells[first]
            values = {
                TABLE_ID: np.repeat(np.arange(first, last, dtype=np.int32), np.diff(cells)),
                CELL: np.arange(cells[-1]) - np.repeat(cells[:-1], np.diff(cells)),
                **_numbers(release, first, last, cells, columns[2:]),
            }
            group = pa.table([pa.array(values[name], types[name]) for name in columns], schema=schema)
            writer.write_table(group, row_group_size=max(1, len(group)))
    return stream.getvalue()


def about_release(release: Release, answers_sha256: str) -> dict[str, Any]:
    """What every part of a release says of itself."""
    return {
        "plan_sha256": plan_hash(release.plan),
        "answers_sha256": answers_sha256,
        "guarantee": release.measurement.noise.guarantee,
    }


def _numbers(release: Release, first: int, last: int, cells: IntArray, names: tuple[str, ...]) -> dict[str, FloatArray]:
    """The columns of numbers of a run of tables, before each of which so many ``cells`` of the run come."""
    found = {name: np.empty(int(cells[-1])) for name in names}
    for batch in release.batches(first, last):
        count = int(np.prod(batch.estimates.shape[1:], dtype=np.int64))
        starts = cells[batch.queries - first]
        estimates = batch.estimates.reshape(len(starts), count)
        _put(found[ESTIMATE], starts, estimates)
        if STD_ERR in found:
            std_errs = np.stack([std_err.ravel() for std_err in _std_errs(release, batch)])
            _put(found[STD_ERR], starts, std_errs)
    return found


def _std_errs(release: Release, batch: TableBatch) -> Iterator[FloatArray]:
    """The standard errors of each table of a batch."""
    for positions in batch.attributes.tolist():
        yield np.sqrt(release.plan.variance(query_of(release.plan.domain, positions, batch.kinds)))


def _put(column: FloatArray, starts: IntArray, rows: FloatArray) -> None:
    """Write each of the rows (b, cells) to the column from its start on."""
    count = rows.shape[1]
    if (np.diff(starts) == count).all():
        column[starts[0] : starts[0] + rows.size] = rows.ravel()
    else:
        column[starts[:, None] + np.arange(count)] = rows


def stated_of_part(content: bytes) -> object:
    """What a part says of itself; None where the bytes are no part."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_schema(pa.BufferReader(content)).metadata or {}
        return parse_json(metadata.get(ABOUT, b"null").decode("utf-8"))
    except (pa.ArrowException, OSError, UnicodeDecodeError, FileFormatError):
        return None
