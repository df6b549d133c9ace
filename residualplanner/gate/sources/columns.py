"""The codes of entries: the attribute's value that each stands for, in few Python steps for a whole column.

The same entry gets the same code whatever container it came in.  ``None``, NaN, pandas' NA and NaT are missing.  Then:

=============== ====================================================================================================
the attribute   what matches
=============== ====================================================================================================
size, integers  integers; floats and decimals without a fraction (a null turns a column of integers into
                floats), but no float so large that other integers are rounded to it: 2**53 and more in 64 bits;
                strings that are the integer's usual spelling: "7", "-3"; not "07", "+7", " 7", "7.0", "-0"
strings         the same string, code point by code point; an integer with that spelling, because readers turn "1"
                into 1; so 1 and 1.0 match "1", and nothing but the string "01" matches "01"
truth values    True and False; the strings "true", "True", "TRUE", "false", "False", "FALSE"
bins of numbers finite numbers; strings that are numbers as programs write them: "1500", "-2.5", "1e3"
dates, and bins dates, and times of day on a date, without a time zone; strings that are such: "2020-02-29",
of dates        "2020-02-29 23:59:59", "2020-02-29T23:59:59.5"; nothing that names a time zone, and no number
=============== ====================================================================================================

True and False are not 1 and 0, and bytes are not text.  A label under which unknown or missing entries are counted is
no value: no entry matches it.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError
from residualplanner.method.domain.domain import SchemaColumn
from residualplanner.method.domain.entries import first_rounded_integer, is_missing
from residualplanner.method.domain.families import MISSING, UNKNOWN, Entries

if TYPE_CHECKING:
    import pandas as pd


def codes_of_values(attribute: SchemaColumn, values: Sequence[object]) -> IntArray:
    """The code of each raw value (m,), one at a time, a microsecond each: for the few distinct values of a column.

    Codes are 0 .. size-1, UNKNOWN or MISSING.

    Example:
        >>> from residualplanner import Attribute
        >>> codes_of_values(Attribute("grade", labels=[1, 2]), ["2", 1.0, "02", True, None])
        array([ 1,  0, -1, -1, -2])
    """
    code_of = attribute.values.code_of
    codes = (MISSING if is_missing(value) else code_of(value) for value in values)
    return np.fromiter(codes, dtype=np.int64, count=len(values))


T = TypeVar("T")

#: How many of each unit of time a day has.
PER_DAY = {"s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}


class ColumnReader(ABC):
    """Reads one column, some of its entries at a time: an Arrow array, or a part of a pandas column.

    How a pandas column is read follows from its type alone: as an Arrow array, or each Python object by itself.
    """

    nothing: NDArray[Any]  # (1,): what is read where there is no category

    def __init__(self) -> None:
        self._categories: Any = None
        self._of_categories = self.nothing

    @abstractmethod
    def of_array(self, array: Any) -> NDArray[Any]:
        """What is read of the entries of an Arrow array, (len(array),)."""

    @abstractmethod
    def of_objects(self, values: NDArray[np.object_]) -> NDArray[Any]:
        """The same of Python objects."""

    def read(self, column: Any) -> NDArray[Any]:
        """The same of any of these."""
        import pyarrow as pa

        return self.of_array(column) if isinstance(column, pa.Array | pa.ChunkedArray) else self._of_series(column)

    def _of_series(self, column: "pd.Series[Any]") -> NDArray[Any]:
        import pandas as pd

        if isinstance(column.dtype, pd.CategoricalDtype):
            if self._categories is not column.dtype.categories:  # they are the same in all parts of a column
                self._of_categories = np.append(self._of_series(pd.Series(column.dtype.categories)), self.nothing)
                self._categories = column.dtype.categories
            return self._of_categories[column.cat.codes.to_numpy()]  # the code -1 finds nothing, at the end
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "Oc":  # Arrow has no complex numbers
            return self.of_objects(column.to_numpy())
        return self.of_array(arrow_of_series(column))


class CodedColumn(ColumnReader):
    """Reads codes by the rules of ``codes_of_values``; it remembers the last dictionary, which seldom changes."""

    nothing = np.array([MISSING])

    def __init__(self, attribute: SchemaColumn) -> None:
        super().__init__()
        self._attribute = attribute
        self._dictionary: Any = None
        self._codes: IntArray = self.nothing

    def of_array(self, array: Any) -> IntArray:
        """The codes of an array's entries, (len(array),)."""
        import pyarrow as pa

        types = pa.types
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        if isinstance(array, pa.ExtensionArray) and is_string(array.type.storage_type):
            array = array.storage
        if types.is_dictionary(array.type):
            if self._dictionary is None or not array.dictionary.equals(self._dictionary):
                self._codes = CodedColumn(self._attribute).of_array(array.dictionary)
                self._dictionary = array.dictionary
            return _look_up(self._codes, array.indices)
        entries = entries_of_type(array.type)
        codes_of = None if entries is None else self._attribute.values.codes_of_column(entries)
        if codes_of is not None and not types.is_decimal(array.type):  # NumPy has no decimals
            codes = codes_of(_plain_numbers(array))
        elif entries in ("numbers", "truth values") or is_string(array.type):  # by way of the few distinct ones
            encoded = array.dictionary_encode()
            return _look_up(codes_of_values(self._attribute, _entries(encoded.dictionary)), encoded.indices)
        else:  # dates where none are declared, bytes, lists
            codes = np.full(len(array), UNKNOWN, dtype=np.int64)
        return np.where(array.is_null().to_numpy(zero_copy_only=False), MISSING, codes)

    def of_objects(self, values: NDArray[np.object_]) -> IntArray:
        """The same of Python objects: fast where all are strings, else one by one, with 1, True and 1.0 kept apart."""
        import pandas as pd
        import pyarrow as pa

        if pd.api.types.infer_dtype(values, skipna=True) == "string":
            with suppress(pa.ArrowException, UnicodeEncodeError):  # NaN that is no Python float; half a surrogate pair
                return self.of_array(pa.array(values, type=pa.large_string(), from_pandas=True))
        codes = each_object(lambda value: codes_of_values(self._attribute, [value])[0], values)
        return np.fromiter(codes, dtype=np.int64, count=len(values))


def arrow_of_series(column: "pd.Series[Any]") -> Any:
    """The Arrow array of a pandas column that holds no Python objects."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(column.dtype, pd.SparseDtype):
        column = cast("Any", column).sparse.to_dense()
    if isinstance(column.dtype, np.dtype) and not column.dtype.isnative:
        column = column.astype(column.dtype.newbyteorder("="))
    if isinstance(column.dtype, np.dtype) and column.dtype.kind == "f" and column.dtype.itemsize > 8:
        column = column.astype(np.float64)  # Arrow has no wider floats
    return pa.Array.from_pandas(column)


def plain_array(array: Any) -> Any:
    """An Arrow array without chunks, dictionary or extension."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    return array.cast(pa.large_string()) if pa.types.is_string_view(array.type) else array


def texts_of_array(array: Any) -> tuple[list[bytes], IntArray]:
    """The distinct texts of an Arrow array of strings, and the index of each entry's, -1 where there is none."""
    encoded = array.cast("large_binary").dictionary_encode()
    slots = encoded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    return encoded.dictionary.to_pylist(), slots


def python_entries(entries: Any, chosen: NDArray[np.bool_]) -> list[Any]:
    """Some entries of a column of Arrow, pandas or NumPy in Python; text that is not valid UTF-8 as bytes."""
    import pyarrow as pa

    if not isinstance(entries, pa.Array | pa.ChunkedArray):
        return list((entries if isinstance(entries, np.ndarray) else entries.array)[chosen])
    some = plain_array(entries).filter(pa.array(chosen))
    try:
        return _entries(some)
    except (ValueError, OverflowError, pa.ArrowException):  # a date beyond Python's calendar
        return _entries(some.cast(pa.string()))


def each_object(read: Callable[[Any], T], values: NDArray[np.object_]) -> Iterator[T]:
    """What is read of each object by itself, equal ones of one type once; 1, True and 1.0 are kept apart."""
    read_once = lru_cache(maxsize=None, typed=True)(read)
    for value in values:
        try:
            hash(value)
        except TypeError:
            yield read(value)
        else:
            yield read_once(value)


def _entries(values: Any) -> list[Any]:
    """The values in Python; strings that are not valid UTF-8 as bytes, which match nothing."""

    def text(entry: bytes | None) -> str | bytes | None:
        try:
            return None if entry is None else entry.decode()
        except UnicodeDecodeError:
            return entry

    try:
        return list(values.to_pylist())
    except UnicodeDecodeError:
        return [*map(text, values.cast("large_binary").to_pylist())]


def _look_up(codes: IntArray, indices: Any) -> IntArray:
    slots = indices.cast("int64").fill_null(len(codes)).to_numpy(zero_copy_only=False)
    return np.asarray(np.append(codes, MISSING)[slots])


def entries_of_type(kind: Any) -> Entries | None:
    """What entries of an Arrow type are, other than strings; None for all that can be no value of an attribute.

    Moments with a time zone are not dates: which date one has depends on where one is.
    """
    import pyarrow as pa

    types = pa.types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_boolean(kind):
        return "truth values"
    is_date = types.is_date(kind) or (types.is_timestamp(kind) and kind.tz is None)
    return "dates" if is_date else None


def _plain_numbers(array: Any) -> NDArray[Any]:
    """Numbers as they are, and dates as days from 1970-01-01; 0 where there is none."""
    import pyarrow as pa

    types = pa.types
    if types.is_date32(array.type):
        array = array.cast(pa.int32())
    elif types.is_date64(array.type) or types.is_timestamp(array.type):
        unit = "ms" if types.is_date64(array.type) else array.type.unit
        moments = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return np.asarray(moments // PER_DAY[unit])  # rounds down, before 1970 too
    return np.asarray(array.fill_null(0).to_numpy(zero_copy_only=False))


def is_string(kind: Any) -> bool:
    """Whether an Arrow type is one of strings."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


# Types of columns that can hold no value of an attribute are refused before anything is counted, whatever is in them.


def type_of_series(column: "pd.Series[Any]") -> Any:
    """The Arrow type of a pandas column, None if it holds Python objects; its entries are not read."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(column.dtype, pd.CategoricalDtype):
        kind = type_of_series(pd.Series(column.cat.categories))
        # Ordered ones stay categories: a person's records are not sorted by them.
        return pa.dictionary(pa.int64(), kind or pa.null(), ordered=True) if column.dtype.ordered else kind
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "Oc":
        return None if column.dtype.kind == "O" else pa.struct([])  # Arrow has no complex numbers
    return arrow_of_series(column.iloc[:0]).type


def type_of_spark(name: str) -> Any:
    """The Arrow type of a Spark type by its simple name, such as "bigint", as exactly as the checks need; or None."""
    import pyarrow as pa

    word = re.split(r"[(< ]", name, maxsplit=1)[0]
    known = {"string": pa.string(), "varchar": pa.string(), "char": pa.string(), "void": pa.null()}
    known |= {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}
    known |= {"float": pa.float32(), "double": pa.float64(), "boolean": pa.bool_(), "decimal": pa.decimal128(38)}
    known |= {"date": pa.date32(), "timestamp_ntz": pa.timestamp("us")}
    known |= {"timestamp": pa.timestamp("us", tz="UTC")}  # shown in the session's zone, whichever that is
    known |= {"binary": pa.binary()} | dict.fromkeys(["array", "map", "struct"], pa.list_(pa.null()))
    return known.get(word)


def require_type(attribute: SchemaColumn, kind: Any) -> None:
    """DataError where a column's Arrow type rules out every value of its attribute, or rounds some of them."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_null(kind) or is_string(kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind):
        return  # no entries at all, or text, which can spell every value
    entries, where = entries_of_type(kind), f"column {attribute.name!r}"
    if types.is_timestamp(kind) and kind.tz is not None and attribute.values.holds("dates"):
        raise DataError(
            f"{where} holds moments with a time zone, and which date a moment has depends on the zone; convert the "
            "column to dates, in the zone that you mean",
            column=attribute.name,
        )
    if entries is None or not attribute.values.holds(entries):
        found = entries or "dates, bytes, lists or other entries"
        remedy = "declare dates" if found == "dates" else "declare other values"
        if types.is_floating(kind):  # whether this column is empty may not be told
            remedy += (
                '.  pandas makes floats of a column without any entry; give it another type with .astype("string")'
            )
        raise DataError(
            f"{where} is of a type that holds {found}, and the attribute's values are "
            f"{attribute.values.words}, so none could match; convert the column, or {remedy}",
            column=attribute.name,
        )
    numbers = attribute.values.integer_range()
    limit = first_rounded_integer(np.dtype(kind.to_pandas_dtype())) if types.is_floating(kind) else None
    if numbers is not None and limit is not None and max(-numbers[0], numbers[1]) >= limit:
        raise DataError(
            f"{where} holds floats, in which integers cannot be told apart from 2**{limit.bit_length() - 1} on, and "
            "the attribute has such values; read it as 64-bit integers (in pandas, where a null turns integers into "
            'floats: dtype "Int64")',
            column=attribute.name,
        )
