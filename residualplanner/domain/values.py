"""The codes of raw values: the attribute's value that a record's entry stands for.

Reads: an attribute and raw entries.  Gives: codes 0 .. size-1, or UNKNOWN or MISSING; the attribute's rules are applied
to these elsewhere.

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
bins            finite numbers; strings that are numbers as programs write them: "1500", "-2.5", "1e3"
=============== ====================================================================================================

True and False are not 1 and 0, bytes are not text, and dates match nothing.
"""

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, IntArray
from residualplanner.domain.attribute import Attribute, Label
from residualplanner.domain.bins import Bins

#: The code of an entry that is not one of the attribute's values.
UNKNOWN = -1
#: The code of an entry without a value.
MISSING = -2

#: Of 64-bit floats, Python's own.
_FIRST_ROUNDED = 2**53

_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def codes_of_values(attribute: Attribute, values: Sequence[object]) -> IntArray:
    """The code of each raw value, one at a time: for the few distinct values of a column.

    Args:
        attribute: the column's description.
        values (m,): raw entries of any type.

    Returns:
        (m,): codes 0 .. size-1, UNKNOWN or MISSING.

    Cost: about a microsecond a value.

    Example:
        >>> codes_of_values(Attribute("grade", labels=[1, 2]), ["2", 1.0, "02", True, None])
        array([ 1,  0, -1, -1, -2])
    """
    if attribute.bins is not None:
        numbers = [math.nan if _is_missing(value) else _number_of(value) for value in values]
        return _codes_in_bins(attribute.bins, np.array(numbers, dtype=np.float64))
    code_of = _matcher(attribute)
    codes = (MISSING if _is_missing(value) else code_of(value) for value in values)
    return np.fromiter(codes, dtype=np.int64, count=len(values))


def codes_of_numbers(attribute: Attribute, numbers: NDArray[np.number]) -> IntArray:
    """The codes of a whole column of numbers at once, for attributes with a size, integers or bins.

    Args:
        attribute: a size, integer labels or bins.
        numbers (m,): integers, or floats with NaN where the entry is missing.

    Returns:
        (m,): codes 0 .. size-1, UNKNOWN or MISSING; the same as ``codes_of_values`` gives.

    Cost: O(m log size), without a Python step per number.

    Example:
        >>> codes_of_numbers(Attribute("income", bins=Bins([0, 10, 20])), np.array([5.0, 20.0, 20.5, np.nan]))
        array([ 0,  1, -1, -2])
    """
    if attribute.bins is not None:
        return _codes_in_bins(attribute.bins, numbers.astype(np.float64))
    if numbers.dtype.kind in "iu":
        return _codes_of_integers(attribute, cast("NDArray[np.integer]", numbers))
    limit = float(first_rounded_integer(numbers.dtype))
    floats = numbers.astype(np.float64)
    integral = (floats == np.trunc(floats)) & (np.abs(floats) < limit)
    codes = _codes_of_integers(attribute, np.where(integral, floats, 0).astype(np.int64))
    return np.where(np.isnan(floats), MISSING, np.where(integral, codes, UNKNOWN))


def first_rounded_integer(kind: np.dtype[Any]) -> int:
    """The least positive integer to which a type of floats rounds another integer, the next one.

    Example:
        >>> first_rounded_integer(np.dtype(np.float64)) == 2**53, float(2**53) == float(2**53 + 1)
        (True, True)
    """
    return 1 << min(int(np.finfo(kind).nmant) + 1, 53)  # wider floats are read in 64 bits


def integer_range(attribute: Attribute) -> tuple[int, int] | None:
    """The least and the largest integer among the attribute's values; None for bins, and where there is none.

    Example:
        >>> integer_range(Attribute("grade", 5)), integer_range(Attribute("sex", labels=["F", "M"]))
        ((0, 4), None)
    """
    if attribute.matching == "code":
        return 0, attribute.size - 1
    if attribute.matching in ("bin", "truth"):
        return None
    numbers = [number for number in map(_integer_of, attribute.value_labels) if number is not None]
    return (min(numbers), max(numbers)) if numbers else None


def _codes_of_integers(attribute: Attribute, numbers: NDArray[np.integer]) -> IntArray:
    if attribute.labels is None:
        known = (numbers >= 0) & (numbers < attribute.size)
        return np.where(known, numbers.astype(np.int64), UNKNOWN)
    fits = numbers <= np.iinfo(np.int64).max  # unsigned integers beyond it equal no label
    labels = np.array(attribute.labels, dtype=np.int64)
    order = np.argsort(labels)
    wanted = np.where(fits, numbers, 0).astype(np.int64)
    nearest = np.minimum(np.searchsorted(labels[order], wanted), labels.size - 1)
    codes = order[nearest]
    return np.where(fits & (labels[codes] == wanted), codes, UNKNOWN)


def _codes_in_bins(bins: Bins, numbers: FloatArray) -> IntArray:
    edges = np.array(bins.edges)
    codes = np.searchsorted(edges, numbers, side="right") - 1
    codes[numbers == edges[-1]] = len(bins) - 1
    known = (numbers >= edges[0]) & (numbers <= edges[-1]) & np.isfinite(numbers)
    return np.where(np.isnan(numbers), MISSING, np.where(known, codes, UNKNOWN))


def _matcher(attribute: Attribute) -> Callable[[object], int]:
    """The code of an entry that is not missing, for every attribute but bins."""
    if attribute.matching == "code":
        size = attribute.size
        return lambda value: _code_in_range(_integer_of(value), size)
    codes = {label: code for code, label in enumerate(attribute.value_labels)}
    key_of: Callable[[object], Label | None] = _truth_of
    if attribute.matching != "truth":
        key_of = _integer_of if attribute.matching == "integer" else _text_of
    return lambda value: codes.get(key_of(value), UNKNOWN)  # type: ignore[arg-type]  # None is no label


def _code_in_range(number: int | None, size: int) -> int:
    return number if number is not None and 0 <= number < size else UNKNOWN


def _is_missing(value: object) -> bool:
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _plain_number(value: object) -> int | float | Decimal | None:
    """The entry as a Python number, or None if it is no number; truth values and NumPy's time spans are not."""
    if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
        return int(value)
    if isinstance(value, np.floating):
        return float(value)
    return value if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else None


def _integer_of(value: object) -> int | None:
    """The integer an entry means, or None."""
    if isinstance(value, str):
        return int(value) if len(value) <= 20 and _INTEGER.fullmatch(value) else None
    if isinstance(value, np.floating) and not abs(float(value)) < first_rounded_integer(value.dtype):
        return None
    if isinstance(value, float) and not abs(value) < _FIRST_ROUNDED:
        return None
    number = _plain_number(value)
    if number is None or not -(2**64) < number < 2**64:  # keeps Decimal("1e999999") from being spelled out
        return None
    return int(number) if number == int(number) else None


def _text_of(value: object) -> str | None:
    """The string an entry means, or None."""
    if isinstance(value, str):
        return str(value)
    number = _integer_of(value)
    return None if number is None else str(number)


def _truth_of(value: object) -> bool | None:
    """The truth value an entry means, or None."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    return _TRUTH.get(value) if isinstance(value, str) else None


def _number_of(value: object) -> float:
    """The float an entry means; infinity, which is in no bin, where it means none."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return math.inf
    number = value if isinstance(value, str) else _plain_number(value)
    try:
        return math.inf if number is None else float(number)
    except OverflowError:
        return math.inf
