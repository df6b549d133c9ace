"""The tables of a release as columns of PyArrow: made of estimates to be written, and checked when they are read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import frozen
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.stores import AnyPath
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.publish.files.sidecar import INTEGER, NUMBER, TEXT, TRUTH
from residualplanner.release.product import unlimited
from residualplanner.release.profiles import QUERY, Profile
from residualplanner.release.table import Table
from residualplanner.release.tidy_form import cell_words, label_columns

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, slots=True)
class TidyWriter:
    """Makes columns of the tables of one release, and keeps their labels."""

    plan: Plan
    profile: Profile  # the columns beside the labels
    level: float  # of confidence
    #: Of each attribute and kind so far its columns of labels by name: strings in PyArrow's arrays, others in NumPy's.
    labels: dict[tuple[int, Kind], dict[str, Any]] = field(default_factory=dict)

    def tidy(self, table: Table, average_variance: float) -> Any:
        """A table as a PyArrow table, strings dictionary-encoded; the variance is of cells that all have one."""
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
            self.labels[key] = {
                name: pa.array(labels) if isinstance(labels[0], str) else np.array(labels)
                for name, labels in columns.items()
            }
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
    """A PyArrow table with ``about`` in the metadata of its schema, and the meanings of columns in those of fields."""
    words = {name: {"unit": unit, "description": meaning} for name, unit, meaning in columns}
    schema = table.schema.with_metadata(dict(about))
    for index, each in enumerate(table.schema):
        if each.name in words:
            found = {word: text for word, text in words[each.name].items() if text}
            schema = schema.set(index, each.with_metadata(found))
    return table.cast(schema)


def _has_one_variance(table: Table) -> bool:
    """Whether all cells have one variance: with subtraction bases those of a marginal do, by symmetry."""
    bases = table.plan.strategy.of_attributes
    return all(
        bases[position].has_equal_variances(kind) for position, kind in zip(table.positions, table.kinds, strict=True)
    )


def arrow_type(word: str) -> Any:
    """The type of PyArrow for a type of the vocabulary of CSV on the Web."""
    import pyarrow as pa

    return {TEXT: pa.string(), INTEGER: pa.int64(), TRUTH: pa.bool_(), NUMBER: pa.float64()}[word]


def typed(column: Any, word: str, path: AnyPath) -> Any:
    """A column of one type as a PyArrow chunked array; FileFormatError where it holds values of another."""
    import pyarrow as pa

    try:
        if not isinstance(column, pa.ChunkedArray):
            column = pa.chunked_array([pa.array(column, arrow_type(word))])
        return column.cast(arrow_type(word))
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        raise not_the_table(path) from None


def are_labels(column: Any, labels: Sequence[object], shape: tuple[int, ...], axis: int) -> bool:
    """Whether a column holds the labels of one axis of a table, cell by cell in C order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(column, value_set=pa.array(labels, column.type))
    first = {label: index for index, label in reversed(list(enumerate(labels)))}  # several may have one meaning
    expected = np.array([first[label] for label in labels])[cell_indices(shape, axis)]
    return not found.null_count and np.array_equal(found.to_numpy(), expected)


def frame_of_columns(columns: Mapping[str, Any]) -> "pd.DataFrame":
    """The columns as a data frame, of the types that `Table.to_frame` gives."""
    import pandas as pd

    return pd.DataFrame({name: column.to_pandas().array for name, column in columns.items()})


def not_the_table(path: AnyPath) -> FileFormatError:
    """The refusal of a file that holds another table than the one that it should."""
    return FileFormatError(
        f"{path} is not the table that the index says it is; copy the folder again, or save the release again"
    )
