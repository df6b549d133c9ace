"""The tables of a release as columns, and these as the bytes of files.  PyArrow's home, with `reading_files`."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import frozen, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import suggestion
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.method.workload.workload import Workload
from residualplanner.release.product import unlimited
from residualplanner.release.profiles import QUERY, FormatName, Profile
from residualplanner.release.quality import Quality
from residualplanner.release.table import Table
from residualplanner.release.tidy_form import cell_words, label_columns

#: The formats that have a file for each table; that of one workbook for all, and that of very many tables, which has
#: Parquet files of many each.
FILES_FORMATS, BOOK_FORMAT, PARTS_FORMAT = ("parquet", "csv", "xlsx"), "workbook", "parts"
FORMATS = (*FILES_FORMATS, BOOK_FORMAT)
#: Up to this many tables are written to a file each where no format is given.
MOST_FILES = 5_000
#: Columns whose values hardly repeat, for which a dictionary would only cost time.
_ESTIMATES = ("estimate", "estimate_nonneg", "estimate_unbiased", "E", "E_nonneg", "E_unbiased")
_DISTINCT = frozenset((*_ESTIMATES, "ci_low", "ci_high", "query", "cv"))


def require_format(name: object) -> None:
    """Raise WorkloadError unless it is one of `FORMATS` or `PARTS_FORMAT`."""
    every = (*FORMATS, PARTS_FORMAT)
    if not isinstance(name, str) or name not in every:
        raise WorkloadError(f"format must be one of {list(every)}, got {value_text(name)}{suggestion(name, every)}")


def chosen_format(
    workload: Workload, format: FormatName | None, profile: str = "default", *, quality: Quality | None = None
) -> FormatName:
    """The format of the tables of a workload: the given one, or else "parquet", or "parts" where there are very many.

    Args:
        workload: the tables; more than 5,000 are very many.
        format: None where none is given.
        profile: of the columns; tables in any but "default" are "parquet", since parts have no other.
        quality: of estimates; where it is to be said, tables are "parquet", too.

    Raises:
        WorkloadError: there is no such format.

    Example:
        >>> from residualplanner import Domain, marginals
        >>> many = marginals(Domain({f"q{number}": 2 for number in range(101)}), up_to=2)
        >>> len(many), chosen_format(many, None), chosen_format(many, "csv"), chosen_format(many, None, "acs")
        (5152, 'parts', 'csv', 'parquet')
    """
    if format is not None:
        require_format(format)
        return format
    return "parts" if len(workload) > MOST_FILES and profile == "default" and quality is None else "parquet"


@dataclass(frozen=True, eq=False, slots=True)
class TidyWriter:
    """Writes the tables of one release as columns, and keeps their labels.

    Attributes:
        plan: what was measured, with how much noise.
        profile: the columns beside the labels.
        level: the confidence level.
        labels: of each attribute and kind written so far its columns of labels, by name: strings as a PyArrow array,
            anything else as a NumPy array.
    """

    plan: Plan
    profile: Profile
    level: float
    labels: dict[tuple[int, Kind], dict[str, Any]] = field(default_factory=dict)

    def tidy(self, table: Table, average_variance: float) -> Any:
        """A table as a PyArrow table: one row per cell, strings dictionary-encoded.

        Args:
            table: the table.
            average_variance: of its cells, and of each of them where all have the same.
        """
        import pyarrow as pa

        estimate = table.estimate.ravel()
        variance = average_variance if _has_one_variance(table) else table.variance.ravel()
        std_err = np.broadcast_to(np.sqrt(variance), estimate.shape)
        axes = WrittenQuery(table.positions, table.kinds).table_axes
        keys = enumerate(zip(*axes, strict=True))
        shape = table.estimate.shape
        columns = {name: column for axis, key in keys for name, column in self.label_arrays(shape, axis, key)}
        if self.profile.is_described:
            columns[QUERY] = pa.array(cell_words(table.names, table.labels_in_words, table.universe), type=pa.string())
        origin = (table.origin or unlimited(table.estimate)).raveled()
        names, optional = [name for name, _ in self.profile.columns], self.profile.optional_names
        numbers = self.profile.numbers(estimate, std_err, self.level, origin=origin)
        for name, values in zip(names, numbers, strict=True):
            array = pa.array(values, from_pandas=name in optional)  # where nan is nothing
            columns[name] = array.dictionary_encode() if name in self.profile.text_names else array
        return pa.table(columns)

    def label_arrays(self, shape: tuple[int, ...], axis: int, key: tuple[int, Kind]) -> Iterator[tuple[str, Any]]:
        """The columns of labels of an axis of a table of this shape, by name, as PyArrow arrays."""
        import pyarrow as pa

        if key not in self.labels:
            columns = label_columns(self.plan.domain.attributes[key[0]], key[1])
            self.labels[key] = {name: _label_array(labels) for name, labels in columns.items()}
        codes = cell_indices(shape, axis)
        for name, labels in self.labels[key].items():
            is_number = isinstance(labels, np.ndarray)
            yield name, pa.array(labels[codes]) if is_number else pa.DictionaryArray.from_arrays(codes, labels)


@lru_cache(maxsize=64)
def cell_indices(shape: tuple[int, ...], axis: int) -> NDArray[np.int32]:
    """The index along one axis of each cell of a table in C order, (cells,)."""
    indices = np.arange(shape[axis], dtype=np.int32).reshape(-1, *(1,) * (len(shape) - axis - 1))
    return frozen(np.broadcast_to(indices, shape).ravel())


def described_table(table: Any, about: Iterable[tuple[str, str]], columns: Iterable[Sequence[str]]) -> Any:
    """A PyArrow table that says what it is: in the metadata of its schema, and of the fields of its schema.

    Args:
        table: the table.
        about: pairs of strings on the table: what is said, and its value.
        columns: for columns of the table, not all of them: name, unit and meaning.
    """
    words = {name: {"unit": unit, "description": meaning} for name, unit, meaning in columns}
    schema = table.schema.with_metadata(dict(about))
    for index, each in enumerate(table.schema):
        if each.name in words:
            found = {word: text for word, text in words[each.name].items() if text}
            schema = schema.set(index, each.with_metadata(found))
    return table.cast(schema)


def parquet_bytes(table: Any) -> Any:
    """A table as Parquet, with dictionaries where values repeat."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = pa.BufferOutputStream()
    # Where estimates are left out, standard errors are written in full: readers expect some bytes of each row.
    has_gaps = any(column.null_count for column in table.columns)
    is_short = {name: pa.types.is_dictionary(table[name].type) or not has_gaps for name in table.column_names}
    repeated = [name for name in table.column_names if is_short[name] and name not in _DISTINCT]
    pq.write_table(table, stream, use_dictionary=repeated, write_statistics=False)
    return stream.getvalue()


def csv_bytes(table: Any) -> Any:
    """A table as CSV in UTF-8: strings in quotes, numbers in the fewest digits that tell them from all others."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    plain = [
        pa.field(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in table.schema
    ]
    stream = pa.BufferOutputStream()
    pa_csv.write_csv(table.cast(pa.schema(plain)), stream)
    return stream.getvalue()


def csv_files(frames: Mapping[str, Any]) -> dict[str, Any]:
    """Data frames, by the names of their files, as CSV."""
    import pyarrow as pa

    tables = {name: pa.Table.from_pandas(frame, preserve_index=False) for name, frame in frames.items()}
    return {name: csv_bytes(table) for name, table in tables.items()}


def write_new(path: Path, pieces: Iterable[Any]) -> str:
    """Write a new file, piece by piece, and return the SHA-256 of its bytes."""
    digest = hashlib.sha256()
    with open(path, "xb", buffering=0) as file:
        for piece in pieces:
            digest.update(piece)
            waiting = memoryview(piece)
            while waiting:  # a system may write less than it was given, as where the disk is nearly full
                waiting = waiting[file.write(waiting) :]
    return digest.hexdigest()


def _has_one_variance(table: Table) -> bool:
    """Whether all cells have one variance: with subtraction bases those of a marginal do, by symmetry."""
    bases = table.plan.strategy.of_attributes
    return all(
        bases[position].has_equal_variances(kind) for position, kind in zip(table.positions, table.kinds, strict=True)
    )


def _label_array(labels: tuple[object, ...]) -> Any:
    import pyarrow as pa

    return pa.array(labels) if isinstance(labels[0], str) else np.array(labels)
