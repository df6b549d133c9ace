"""Frames of every library, as one stream of Arrow record batches.

Reads: Arrow tables and streams, Polars frames, DuckDB relations, Ibis tables.  Gives: record batches of the
columns needed.
No library is imported here that the caller has not imported already.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from residualplanner.gate.sources.counting import BLOCK
from residualplanner.ground.errors import DataError


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frame:
    """A table of records that has not been read yet.

    Attributes:
        columns: the names of its columns.
        batches: starts a stream of Arrow record batches that hold the named columns, at least one, and possibly others.
        types: the Arrow types of the named columns, once for each part of the table that may have types of its own.
        is_order_declared: whether a dictionary that is ordered holds all values in the order in which they were
            declared, and not those that occur.
    """

    columns: tuple[object, ...]
    batches: Callable[[Sequence[str]], Iterator[Any]]
    types: Callable[[Sequence[str]], Iterable[Sequence[Any]]]
    is_order_declared: bool = False


def frame_of_arrow_table(table: Any) -> Frame:
    """The batches of a pyarrow Table or RecordBatch."""
    return Frame(tuple(table.schema.names), lambda names: _slices(table.select(names)), types_of_schema(table.schema))


def frame_of_arrow_reader(reader: Any) -> Frame:
    """The batches of a pyarrow RecordBatchReader, which can be read once."""
    unread = [reader]

    def batches(_: Sequence[str]) -> Iterator[Any]:
        if not unread:
            raise DataError("a RecordBatchReader can be read only once; open it again")
        for batch in unread.pop():
            yield from _slices(batch)

    return Frame(tuple(reader.schema.names), batches, types_of_schema(reader.schema))


def frame_of_polars(frame: Any) -> Frame:
    """The batches of a Polars DataFrame."""
    batches = lambda names: _polars_batches(_chosen(frame, names))  # noqa: E731
    return Frame(tuple(frame.columns), batches, _polars_types(frame.lazy()), is_order_declared=True)


def frame_of_lazy_polars(frame: Any) -> Frame:
    """The batches of a Polars LazyFrame, which is run in streaming mode."""

    def batches(names: Sequence[str]) -> Iterator[Any]:
        chosen = _chosen(frame, names)
        parts = chosen.collect_batches() if hasattr(chosen, "collect_batches") else [chosen.collect()]
        for part in parts:
            yield from _polars_batches(part)

    return Frame(tuple(frame.collect_schema().names()), batches, _polars_types(frame), is_order_declared=True)


def frame_of_duckdb(relation: Any) -> Frame:
    """The batches of a DuckDB relation, which DuckDB runs."""

    def batches(names: Sequence[str]) -> Iterator[Any]:
        chosen = relation.select(_quoted(names))
        read = chosen.to_arrow_reader if hasattr(chosen, "to_arrow_reader") else chosen.fetch_record_batch
        yield from read(BLOCK)

    def types(names: Sequence[str]) -> Iterator[Sequence[Any]]:
        yield relation.select(_quoted(names)).limit(0).to_arrow_table().schema.types

    return Frame(tuple(relation.columns), batches, types)


def frame_of_ibis(table: Any) -> Frame:
    """The batches of an Ibis table, which its backend runs."""

    def batches(names: Sequence[str]) -> Iterator[Any]:
        chosen = table.select(list(names))
        backend = chosen.get_backend()
        if backend.name == "duckdb":  # Ibis 12 calls a method that DuckDB 2 has dropped
            chosen.limit(0).to_pyarrow()  # registers tables that are in memory only with DuckDB
            return frame_of_duckdb(backend.con.sql(backend.compile(chosen))).batches(names)
        return iter(chosen.to_pyarrow_batches(chunk_size=BLOCK))

    return Frame(tuple(table.columns), batches, lambda names: [table.select(list(names)).schema().to_pyarrow().types])


def types_of_schema(schema: Any) -> Callable[[Sequence[str]], Iterable[Sequence[Any]]]:
    """The types of named columns of an Arrow schema."""
    return lambda names: [[schema.field(name).type for name in names]]


def _chosen(frame: Any, names: Sequence[str]) -> Any:
    """The named columns of a Polars frame, whose own select takes names such as "*" and "^a.*$" for patterns.

    Integers of 128 bits, which Arrow does not have, are text, in which each of them is itself.
    """
    import polars as pl
    from polars import selectors

    wide = {kind: pl.String for name in ("Int128", "UInt128") if (kind := getattr(pl, name, None)) is not None}
    return frame.select(selectors.by_name(*names)).cast(wide)


def _polars_types(frame: Any) -> Callable[[Sequence[str]], Iterable[Sequence[Any]]]:
    return lambda names: [_chosen(frame, names).clear().collect().to_arrow().schema.types]


def _quoted(names: Sequence[str]) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)


def _polars_batches(frame: Any) -> Iterator[Any]:
    for part in frame.iter_slices(BLOCK):
        yield from part.to_arrow().to_batches()


def _slices(table: Any) -> Iterator[Any]:
    """Batches of at most BLOCK records of a Table or RecordBatch."""
    for start in range(0, table.num_rows, BLOCK):
        part = table.slice(start, BLOCK)
        yield from part.to_batches() if hasattr(part, "to_batches") else [part]
