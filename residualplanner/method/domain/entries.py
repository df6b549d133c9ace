"""What a raw entry of a column means: an integer, a string, a truth value, a number, a date; or that there is none.

The same entry means the same whatever container it came in: readers turn "1" into 1, and 1 into 1.0.
"""

import datetime as dt
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, spelling

#: Of 64-bit floats, Python's own.
_FIRST_ROUNDED = 2**53
#: The ordinal of 1970-01-01, from which days are numbered.
_EPOCH = dt.date(1970, 1, 1).toordinal()

_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
#: A date in ISO 8601, and possibly a time of day without a time zone.
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?"
_DATE = re.compile(rf"([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})(?:[T ]{_TIME})?")
#: NumPy's units of time that are no longer than a day.
_WITHIN_DAYS = frozenset(("D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"))


def first_rounded_integer(kind: np.dtype[Any]) -> int:
    """The least positive integer to which a type of floats rounds another one, its successor: ``2**53`` of 64 bits."""
    return 1 << min(int(np.finfo(kind).nmant) + 1, 53)  # wider floats are read in 64 bits


def is_narrow(kind: np.dtype[Any]) -> bool:
    """Whether a type of floats has fewer than 64 bits."""
    return kind.kind == "f" and kind.itemsize < 8


def spelled(floats: NDArray[Any]) -> FloatArray:
    """The decimals that floats (m,) are written as, in the digits of their own type, as 64-bit floats."""
    return np.array([float(spelling(each)) for each in floats], dtype=np.float64)


def bounds_in(kind: np.dtype[Any], bounds: Sequence[float], *, upper: bool = False) -> NDArray[Any]:
    """Declared numbers (m,) as bounds of a column of floats: compared with these, each float is where its decimal is.

    A float of fewer than 64 bits stands for two numbers, itself and the decimal that it is written as, and is on a
    bound that is either.  Of such a type are the bounds: the least floats that are at least the given ones, or with
    ``upper``, which a float is beyond if it is larger, the largest that are at most these.
    """
    exact = np.array(bounds, dtype=np.float64)
    if not is_narrow(kind):
        return exact
    with np.errstate(over="ignore"):
        own = exact.astype(kind)
    meant = np.stack([own.astype(np.float64), spelled(own)])
    beyond = (meant > exact).all(axis=0) if upper else (meant < exact).all(axis=0)
    return np.where(beyond, np.nextafter(own, kind.type(-np.inf if upper else np.inf)), own)


def is_missing(entry: object) -> bool:
    """Whether an entry says that there is no value: None, NaN, NA and NaT do."""
    if isinstance(entry, float | np.floating):
        return math.isnan(entry)
    if isinstance(entry, Decimal):
        return entry.is_nan()
    if isinstance(entry, np.datetime64 | np.timedelta64):
        return bool(np.isnat(entry))
    return entry is None or type(entry).__name__ in ("NAType", "NaTType")


def integer_of(entry: object) -> int | None:
    """The integer that an entry means, or None."""
    if isinstance(entry, str):
        return int(entry) if len(entry) <= 20 and _INTEGER.fullmatch(entry) else None
    if isinstance(entry, np.floating) and not abs(float(entry)) < first_rounded_integer(entry.dtype):
        return None
    if isinstance(entry, float) and not abs(entry) < _FIRST_ROUNDED:
        return None
    number = _plain_number(entry)
    if number is None or not -(2**64) < number < 2**64:  # keeps Decimal("1e999999") from being spelled out
        return None
    return int(number) if number == int(number) else None


def text_of(entry: object) -> str | None:
    """The string that an entry means, or None."""
    if isinstance(entry, str):
        return str(entry)
    number = integer_of(entry)
    return None if number is None else str(number)


def truth_of(entry: object) -> bool | None:
    """The truth value that an entry means, or None."""
    if isinstance(entry, bool | np.bool_):
        return bool(entry)
    return _TRUTH.get(entry) if isinstance(entry, str) else None


def number_of(entry: object) -> float | None:
    """The finite or infinite float that an entry means, or None."""
    if isinstance(entry, str) and not _NUMBER.fullmatch(entry):
        return None
    number = entry if isinstance(entry, str) else _plain_number(entry)
    try:
        return None if number is None else float(number)
    except OverflowError:
        return None


def day_of(entry: object) -> int | None:
    """The day that an entry means, numbered from 1970-01-01, or None; a time of day belongs to its day.

    A moment with a time zone means no day: which day it is depends on where one is.
    """
    if isinstance(entry, str):
        found = _DATE.fullmatch(entry)
        try:
            return None if found is None else dt.date(*map(int, found.groups())).toordinal() - _EPOCH
        except ValueError:
            return None
    if isinstance(entry, dt.datetime) and entry.tzinfo is not None:
        return None
    if isinstance(entry, dt.date):
        return entry.toordinal() - _EPOCH
    if isinstance(entry, np.datetime64) and np.datetime_data(entry)[0] in _WITHIN_DAYS:
        return int(entry.astype("datetime64[D]").astype(np.int64))
    return None


def date_of_day(day: int) -> dt.date:
    """The date of a day that is numbered from 1970-01-01."""
    return dt.date.fromordinal(day + _EPOCH)


def _plain_number(entry: object) -> int | float | Decimal | None:
    """The entry as a Python number, or None if it is not a number; truth values and NumPy's time spans are not."""
    if isinstance(entry, np.integer) and not isinstance(entry, np.timedelta64):
        return int(entry)
    if isinstance(entry, np.floating):
        return float(entry)
    return entry if isinstance(entry, int | float | Decimal) and not isinstance(entry, bool) else None
