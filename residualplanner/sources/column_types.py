"""Column types that can hold no value of an attribute: refused before anything is counted, whatever the records are.

Reads: Arrow types, and those of pandas and Spark.  Gives: nothing, or DataError.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.domain import Attribute, Domain, first_rounded_integer, integer_range
from residualplanner.errors import DataError
from residualplanner.sources.columns import arrow_of_series, is_string

if TYPE_CHECKING:
    import pandas as pd

_VALUES = {
    "code": "integers",
    "integer": "integers",
    "text": "strings",
    "truth": "truth values",
    "bin": "intervals of numbers",
}


def require_types(domain: Domain, types: Iterable[Any]) -> None:
    """DataError where a column's type rules out every value of its attribute, or rounds some of them.

    Args:
        domain: the schema.
        types (d,): the Arrow type of each attribute's column; None for a column that may hold anything.
    """
    for attribute, kind in zip(domain.attributes, types, strict=True):
        if kind is not None:
            _require_type(attribute, kind)


def type_of_series(column: "pd.Series[Any]") -> Any:
    """The Arrow type of a pandas column, None if it holds Python objects; its entries are not read."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(column.dtype, pd.CategoricalDtype):
        categories = column.cat.categories
        return type_of_series(pd.Series(categories)) if len(categories) else pa.null()
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "Oc":
        return None if column.dtype.kind == "O" else pa.struct([])  # Arrow has no complex numbers
    return arrow_of_series(column.iloc[:0]).type


def type_of_values(column: "pd.Series[Any]") -> Any:
    """The same, but None for floats that are all missing, which is how pandas reads a column without entries."""
    is_empty = getattr(column.dtype, "kind", "") == "f" and bool(column.isna().all())
    return None if is_empty else type_of_series(column)


def type_of_spark(name: str) -> Any:
    """The Arrow type of a Spark type by its simple name, such as "bigint", as exactly as the checks need; or None."""
    import pyarrow as pa

    word = re.split(r"[(< ]", name, maxsplit=1)[0]
    known = {"string": pa.string(), "varchar": pa.string(), "char": pa.string(), "void": pa.null()}
    known |= {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}
    known |= {"float": pa.float32(), "double": pa.float64(), "boolean": pa.bool_(), "decimal": pa.decimal128(38)}
    known |= {"date": pa.date32(), "timestamp": pa.timestamp("us"), "timestamp_ntz": pa.timestamp("us")}
    known |= {"binary": pa.binary()} | dict.fromkeys(["array", "map", "struct"], pa.list_(pa.null()))
    return known.get(word)


def _require_type(attribute: Attribute, kind: Any) -> None:
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
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if types.is_boolean(kind):
        _require(attribute.matching == "truth", attribute, "truth values")
    elif is_number:
        numbers = integer_range(attribute)
        _require(attribute.matching == "bin" or numbers is not None, attribute, "numbers")
        if types.is_floating(kind) and numbers is not None:
            _require_distinct(attribute, numbers, first_rounded_integer(np.dtype(kind.to_pandas_dtype())))
    else:
        _require(False, attribute, "dates, bytes, lists or other entries")


def _require(is_possible: bool, attribute: Attribute, found: str) -> None:
    if not is_possible:
        raise DataError(
            f"column {attribute.name!r} is of a type that holds {found}, and the attribute's values are "
            f"{_VALUES[attribute.matching]}, so none could match; convert the column, or declare other values",
            column=attribute.name,
        )


def _require_distinct(attribute: Attribute, numbers: tuple[int, int], limit: int) -> None:
    if max(-numbers[0], numbers[1]) >= limit:
        raise DataError(
            f"column {attribute.name!r} holds floats, in which integers cannot be told apart "
            f"from 2**{limit.bit_length() - 1} on, and the attribute has such values; read it as 64-bit integers "
            '(in pandas, where a null turns integers into floats: dtype "Int64")',
            column=attribute.name,
        )
