"""Frames of every library, Parquet files, and folders of these, as one stream of Arrow record batches.

No library is imported here that the caller has not imported already, but for PyArrow.  No library's own way with
folders ``year=2020/part-0.parquet`` is used: they read "01" as 1, the word NULL as no value, or a column that a file
lacks as a column of nulls.  DuckDB reads a path as a pattern and "A" as "a", and fails on strings that are not UTF-8.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from residualplanner.gate.sources import coding, package_files
from residualplanner.gate.sources.columns import type_of_series
from residualplanner.gate.sources.counting import BLOCK
from residualplanner.gate.sources.limited_records import Contributions
from residualplanner.gate.sources.records import source_of_blocks
from residualplanner.gate.sources.source import Source
from residualplanner.gate.sources.tally import Tally
from residualplanner.ground.errors import DataError
from residualplanner.ground.file_kinds import kind_of_name
from residualplanner.method.domain.domain import Domain


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frame:
    """A table of records that has not been read yet."""

    columns: tuple[object, ...]  # the names of its columns
    #: starts a stream of Arrow record batches, or pandas frames, that hold the named columns, and possibly others
    batches: Callable[[Sequence[str]], Iterable[Any]]
    #: the Arrow types of the named columns, once for each part of the table that may have types of its own
    types: Callable[[Sequence[str]], Iterable[Sequence[Any]]]


def source_of(data: Any, domain: Domain, contributions: Contributions, watch: Tally | None) -> Source:
    """The records of a frame, a Parquet file, or a folder of them."""
    frame, names = frame_of(data), coding.names_of_columns(domain, contributions)
    coding.require_columns(names, frame.columns)
    if names:
        for types in frame.types(names):
            coding.require_types_of(domain, contributions, dict(zip(names, types, strict=True)).__getitem__)
    read = names or [str(name) for name in frame.columns[:1]]  # some column must say how many records there are
    return source_of_blocks(
        domain, lambda: coding.blocks_of_batches(domain, contributions, frame.batches(read), watch=watch)
    )


def names_of(data: Any) -> tuple[object, ...]:
    """The names of the columns."""
    return frame_of(data).columns


def maker_of(data: object) -> "Callable[[Any], Frame] | None":
    """What makes a `Frame` of data of this class; None where none does."""
    names = ((cls.__module__.partition(".")[0].removeprefix("_"), cls.__name__) for cls in type(data).__mro__)
    return next((_FRAMES[name] for name in names if name in _FRAMES), None)


def _frame_of_pandas(frame: Any) -> Frame:
    types = lambda names: [[type_of_series(frame[name]) for name in names]]  # noqa: E731
    return Frame(tuple(frame.columns), lambda _: coding.batches_of_pandas(frame), types)


def _frame_of_arrow_table(table: Any) -> Frame:
    return Frame(tuple(table.schema.names), lambda names: _slices(table.select(names)), types_of_schema(table.schema))


def _frame_of_arrow_reader(reader: Any) -> Frame:
    unread = [reader]

    def batches(_: Sequence[str]) -> Iterator[Any]:
        if not unread:
            raise DataError("a RecordBatchReader can be read only once; open it again")
        for batch in unread.pop():
            yield from _slices(batch)

    return Frame(tuple(reader.schema.names), batches, types_of_schema(reader.schema))


def _frame_of_polars(frame: Any) -> Frame:
    """The batches of a Polars DataFrame, or of a LazyFrame, which is run in streaming mode."""
    lazy = frame.lazy()

    def batches(names: Sequence[str]) -> Iterator[Any]:
        chosen = _chosen(lazy, names)
        for part in chosen.collect_batches() if hasattr(chosen, "collect_batches") else [chosen.collect()]:
            yield from _slices(part.to_arrow())

    types = lambda names: [_chosen(lazy, names).clear().collect().to_arrow().schema.types]  # noqa: E731
    return Frame(tuple(lazy.collect_schema().names()), batches, types)


def _frame_of_duckdb(relation: Any) -> Frame:
    def chosen(names: Sequence[str]) -> Any:
        return relation.select(", ".join('"' + name.replace('"', '""') + '"' for name in names))

    def batches(names: Sequence[str]) -> Iterator[Any]:
        some = chosen(names)
        yield from (some.to_arrow_reader if hasattr(some, "to_arrow_reader") else some.fetch_record_batch)(BLOCK)

    types = lambda names: [chosen(names).limit(0).to_arrow_table().schema.types]  # noqa: E731
    return Frame(tuple(relation.columns), batches, types)


def _frame_of_ibis(table: Any) -> Frame:
    def batches(names: Sequence[str]) -> Iterable[Any]:
        chosen = table.select(list(names))
        backend = chosen.get_backend()
        if backend.name == "duckdb":  # Ibis 12 calls a method that DuckDB 2 has dropped
            chosen.limit(0).to_pyarrow()  # registers tables that are in memory only with DuckDB
            return _frame_of_duckdb(backend.con.sql(backend.compile(chosen))).batches(names)
        stream: Iterable[Any] = chosen.to_pyarrow_batches(chunk_size=BLOCK)
        return iter(stream)

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


def _slices(table: Any) -> Iterable[Any]:
    import pyarrow as pa

    whole = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
    batches: Iterable[Any] = whole.to_batches(max_chunksize=BLOCK)
    return iter(batches)


#: By library and class: names, so that no library is imported that the caller has not.
_FRAMES: dict[tuple[str, str], Callable[[Any], Frame]] = {
    ("pandas", "DataFrame"): _frame_of_pandas,
    ("pyarrow", "Table"): _frame_of_arrow_table,
    ("pyarrow", "RecordBatch"): _frame_of_arrow_table,
    ("pyarrow", "RecordBatchReader"): _frame_of_arrow_reader,
    ("polars", "DataFrame"): _frame_of_polars,
    ("polars", "LazyFrame"): _frame_of_polars,
    ("duckdb", "DuckDBPyRelation"): _frame_of_duckdb,
    ("ibis", "Table"): _frame_of_ibis,
}

#: How much of each column is read at a time, in bytes.
_BUFFER = 2**20
#: What Hive, and Spark after it, write for no value.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


#: A file, and the columns that its path holds: names and values.
FolderFile = tuple[Path, tuple[tuple[str, str | None], ...]]


def frame_of(data: Any) -> Frame:
    """The records of a frame, of a Parquet file, of one of a statistics package, or of a folder of Parquet files.

    DataError where there is no such file, or its name ends otherwise; or the folder holds anything but Parquet files.
    """
    if not isinstance(data, str | Path):
        make = maker_of(data)
        assert make is not None
        return make(data)
    file = Path(data)
    if file.is_dir():
        return _frame_of_folder(file)
    require_regular(file)
    if file.suffix.lower() == ".parquet":
        return _frame_of_file((file, ()))
    if file.suffix.lower() in package_files.READERS:
        return _frame_of_package_file(file)
    kind = kind_of_name(file)
    remedy = "" if kind is None else f": {kind}"
    read = "records are read from .csv, .csv.gz and .parquet files, and those of SPSS, Stata and SAS"
    raise DataError(f"{read}, not from {file.name!r}{remedy}")


def _frame_of_package_file(file: Path) -> Frame:
    names = tuple(column.name for column in package_files.columns_of_file(file))
    return Frame(
        names,
        lambda chosen: chain.from_iterable(map(coding.batches_of_pandas, package_files.frames_of_file(file, chosen))),
        lambda chosen: [package_files.types_of_columns(file, chosen)],
    )


def require_regular(path: Path) -> None:
    """DataError unless there is a file with a beginning and an end."""
    if not path.exists():
        raise DataError(f"there is no file {str(path)!r}")
    if not path.is_file():
        raise DataError(f"{str(path)!r} is a pipe, a folder or the like; write the records to a file")


def _frame_of_folder(folder: Path) -> Frame:
    """The records of all Parquet files in a folder and its subfolders, with the columns of the first file.

    A folder ``key=value`` below it makes a column ``key`` of strings, ``value`` in all records of its files, which
    follow the same rules as strings in a CSV file: "01" is not 1, and "1" is 1 where the schema has integers.  Names
    that start with "_" or "." are skipped.  DataError where there are no Parquet files, or files of another kind, or
    links to folders; or where the table keeps a log.
    """
    parts = sorted(_parts_of(folder), key=lambda part: part[0])
    if not parts:
        raise DataError(f"there is no .parquet file in the folder {str(folder)!r}")
    return Frame(
        _frame_of_file(parts[0]).columns,
        lambda names: chain.from_iterable(_frame_of_file(part).batches(names) for part in parts),
        lambda names: chain.from_iterable(_frame_of_file(part).types(names) for part in parts),
    )


def _parts_of(folder: Path) -> Iterator[FolderFile]:
    for where, folders, files in os.walk(folder, onerror=_raise):
        if any(name in folders for name in ("_delta_log", ".hoodie")):
            raise DataError(
                "the folder holds a table whose log says which files count (Delta Lake, Hudi); read it with the "
                "library that knows the log, and give the frame"
            )
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        if any((Path(where) / name).is_symlink() for name in folders):
            raise DataError("the folder holds links to other folders; give a folder without links")
        shown = [name for name in files if not name.startswith(("_", "."))]
        if not all(name.lower().endswith(".parquet") for name in shown):
            raise DataError("the folder holds files that are not .parquet; only names that start with _ or . may")
        keys = _keys(Path(where).relative_to(folder).parts)
        for name in shown:
            require_regular(Path(where) / name)
            yield Path(where) / name, keys


def _raise(error: OSError) -> None:
    raise error


def _keys(folders: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    """The columns in a path, whose special characters are written as in URLs: %2F for a slash."""
    pairs = [name.partition("=") for name in folders if "=" in name]
    return tuple(
        (unquote(key, errors="strict"), None if value == _NO_VALUE else unquote(value, errors="strict"))
        for key, _, value in pairs
    )


def _frame_of_file(part: FolderFile) -> Frame:
    """The records of one Parquet file, in each of which the columns in its path have the value there."""
    import pyarrow as pa
    from pyarrow import parquet

    (path, keys), schema = part, parquet.read_schema(part[0])
    fixed, columns = dict(keys), (*schema.names, *(key for key, _ in keys))

    def column(batch: Any, name: str) -> Any:
        if name not in fixed:
            return batch.column(name)
        if fixed[name] is None:
            return pa.nulls(batch.num_rows, pa.string())
        indices = pa.repeat(pa.scalar(0, pa.int32()), batch.num_rows)
        return pa.DictionaryArray.from_arrays(indices, pa.array([fixed[name]]))

    def batches(names: Sequence[str]) -> Iterator[Any]:
        coding.require_columns(names, columns)
        for batch in _batches_of_file(path, [name for name in names if name not in fixed]):
            yield pa.RecordBatch.from_arrays([column(batch, name) for name in names], list(names)) if fixed else batch

    def types(names: Sequence[str]) -> Iterator[Sequence[Any]]:
        coding.require_columns(names, columns)
        yield [pa.string() if name in fixed else schema.field(name).type for name in names]

    return Frame(columns, batches, types)


def _batches_of_file(path: Path, names: Sequence[str]) -> Iterator[Any]:
    """Record batches with the named columns, and possibly others; where none is named, one column of as many nulls."""
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
        if names:
            yield from file.iter_batches(BLOCK, columns=list(names), use_threads=False)
            return
        records = file.metadata.num_rows
    for start in range(0, records, BLOCK):
        yield pa.RecordBatch.from_arrays([pa.nulls(min(BLOCK, records - start))], names=[""])
