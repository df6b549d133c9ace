"""Column types that can hold no value of an attribute: refused before anything is counted, whatever the records are."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.gate.sources.columns import arrow_of_series, entries_of_type, is_string
from residualplanner.ground.errors import DataError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.domain.entries import first_rounded_integer
from residualplanner.method.domain.families import SchemaColumn

if TYPE_CHECKING:
    import pandas as pd


def require_types(domain: Domain, types: Iterable[Any]) -> None:
    """DataError where a column's type rules out every value of its attribute, or rounds some of them."""
    for attribute, kind in zip(domain.columns, types, strict=True):
        if kind is not None:
            _require_type(attribute, kind)


def type_of_series(column: "pd.Series[Any]") -> Any:
    """The Arrow type of a pandas column, None if it holds Python objects; its entries are not read."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(column.dtype, pd.CategoricalDtype):
        kind = type_of_series(pd.Series(column.cat.categories))
        return pa.dictionary(pa.int64(), kind or pa.null(), ordered=True) if column.dtype.ordered else kind
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "Oc":
        return None if column.dtype.kind == "O" else pa.struct([])  # Arrow has no complex numbers
    return arrow_of_series(column.iloc[:0]).type


def has_categories(column: "pd.Series[Any]") -> bool:
    """Whether a pandas column is of categories, all of which were declared with it."""
    import pandas as pd

    return isinstance(column.dtype, pd.CategoricalDtype)


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


def _require_type(attribute: SchemaColumn, kind: Any) -> None:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if (
        types.is_null(kind)
        or is_string(kind)
        or (isinstance(kind, pa.BaseExtensionType) and is_string(kind.storage_type))
    ):
        return
    entries = entries_of_type(kind)
    if types.is_timestamp(kind) and kind.tz is not None and attribute.values.holds("dates"):
        raise _zone_error(attribute)
    if entries is None or not attribute.values.holds(entries):
        raise _type_error(attribute, entries or "dates, bytes, lists or other entries", kind)
    numbers = attribute.values.integer_range()
    if types.is_floating(kind) and numbers is not None:
        _require_distinct(attribute, numbers, first_rounded_integer(np.dtype(kind.to_pandas_dtype())))


def _type_error(attribute: SchemaColumn, found: str, kind: Any) -> DataError:
    import pyarrow as pa

    remedy = "declare dates" if found == "dates" else "declare other values"
    if pa.types.is_floating(kind):  # whether this column is empty may not be told
        remedy += '.  pandas makes floats of a column without any entry; give it another type with .astype("string")'
    return DataError(
        f"column {attribute.name!r} is of a type that holds {found}, and the attribute's values are "
        f"{attribute.values.words}, so none could match; convert the column, or {remedy}",
        column=attribute.name,
    )


def _zone_error(attribute: SchemaColumn) -> DataError:
    return DataError(
        f"column {attribute.name!r} holds moments with a time zone, and which date a moment has depends on the zone; "
        "convert the column to dates, in the zone that you mean",
        column=attribute.name,
    )


def _require_distinct(attribute: SchemaColumn, numbers: tuple[int, int], limit: int) -> None:
    if max(-numbers[0], numbers[1]) >= limit:
        raise DataError(
            f"column {attribute.name!r} holds floats, in which integers cannot be told apart "
            f"from 2**{limit.bit_length() - 1} on, and the attribute has such values; read it as 64-bit integers "
            '(in pandas, where a null turns integers into floats: dtype "Int64")',
            column=attribute.name,
        )
