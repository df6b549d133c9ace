"""The tables of a release as columns of PyArrow: made of estimates to be written, and checked when they are read."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import frozen
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.stores import AnyPath
from residualplanner.publish.files.sidecar import INTEGER, NUMBER, TEXT, TRUTH, Description, FileForm
from residualplanner.release.profiles import QUERY
from residualplanner.release.table import Table
from residualplanner.release.tidy_form import number_columns

if TYPE_CHECKING:
    import pandas as pd


def tidy_table(described: Description, form: FileForm, table: Table, average_variance: float) -> Any:
    """A table as a PyArrow table; the average variance of its cells is that of each where all have one."""
    import pyarrow as pa

    # The variances of all cells would take as long as their estimates, and mostly are one number: with subtraction
    # bases those of a marginal are, by symmetry.
    bases, pairs = table.plan.strategy.of_attributes, zip(table.positions, table.kinds, strict=True)
    is_one = all(bases[position].has_equal_variances(kind) for position, kind in pairs)
    variance = average_variance if is_one else table.variance
    std_err = np.broadcast_to(np.sqrt(variance), table.estimate.shape)
    values = number_columns(table, described.profile, table.estimate, std_err, described.level)
    columns = label_arrays(form)
    for column in form.columns:
        array = pa.array(values[column.name], from_pandas=column.is_optional)  # where nan is nothing
        is_word = column.datatype == TEXT and column.name != QUERY
        columns[column.name] = array.dictionary_encode() if is_word else array
    return pa.table(columns)


def tidy_statistic(described: Description, form: FileForm, table: Table) -> Any:
    """The statistic that a table is for, as a PyArrow table."""
    import pyarrow as pa

    assert form.statistic is not None
    values = form.statistic.values(table.estimate, table.unbiased.estimate, table.variance, described.level)
    numbers = {name: pa.array(column, from_pandas=True) for name, column in values.items()}
    return pa.table(label_arrays(form) | numbers)


def label_arrays(form: FileForm) -> dict[str, Any]:
    """The columns of labels by name, as PyArrow arrays, (rows,), strings dictionary-encoded."""
    import pyarrow as pa

    found: dict[str, Any] = {}
    for axis, columns in enumerate(form.axes):
        codes = cell_indices(form.shape, axis)
        for name, labels in columns.items():
            if isinstance(labels[0], str):
                # Each label once: of a dictionary with repeats PyArrow writes Parquet with memory of the process in it.
                encoded = pa.array(labels).dictionary_encode()
                found[name] = pa.DictionaryArray.from_arrays(encoded.indices.to_numpy()[codes], encoded.dictionary)
            else:
                found[name] = pa.array(np.array(labels)[codes])
    return found


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
