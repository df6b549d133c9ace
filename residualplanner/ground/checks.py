"""Checks of arguments: numbers, arrays, types, paths.

Every comparison is written so that NaN fails it.
"""

import errno
import math
import os
import re
import reprlib
import stat
from collections.abc import Callable, Mapping
from contextlib import closing
from decimal import Decimal
from fractions import Fraction
from typing import IO, Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.ground.errors import ArgumentError, BudgetError, FileFormatError, WorkloadError
from residualplanner.ground.words import suggestion

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
#: Called with the number of steps done, and of all that there may be.
Steps = Callable[[int, int], None]
Number = int | float | str | Fraction | Decimal
#: Texts of numbers that no fraction is.
_NUMBER_LIKE = re.compile(r"[-+]?(nan|inf(inity)?|[0-9]+/0+)", re.IGNORECASE)
Entry = TypeVar("Entry")


def untold(_done: int, _total: int) -> None:
    """The progress that nobody is told of."""


def within(report: Steps, first: int, last: int) -> Steps:
    """The report of a part of some work, which is that from one percent of it to another."""
    return lambda done, total: report(first + (last - first) * done // max(total, 1), 100)


def value_text(value: object) -> str:
    """A value as a message may show it: a short string or number, anything else, which may be records, by its type."""
    if value is None or isinstance(value, str | bool | int | float | Fraction | Decimal | np.number):
        return reprlib.repr(value)
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


def is_integer(value: object, *, least: int = 0) -> TypeGuard[int]:
    """Whether a value is an integer, Python's or NumPy's, of at least so much; truth values are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= least)


def require_integer(name: str, value: object, *, least: int = 1) -> int:
    """A value as an int, or raise WorkloadError unless it is an integer, Python's or NumPy's, of at least so much."""
    if not is_integer(value, least=least):
        raise WorkloadError(f"{name} must be an integer, at least {least}, got {value_text(value)}")
    return int(value)


def is_sha256(value: object) -> TypeGuard[str]:
    """Whether a value is 32 bytes, such as a SHA-256, as hexadecimal digits in lower case."""
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def entry_named(what: str, name: object, known: Mapping[str, Entry]) -> Entry:
    """The entry that a user has named as ``what``; WorkloadError, with the closest name, where there is none."""
    if not isinstance(name, str) or name not in known:
        message = f"{what} must be one of {list(known)}, got {value_text(name)}{suggestion(name, list(known))}"
        raise WorkloadError(message)
    return known[name]


def require_type(call: str, name: str, value: object, expected: type | tuple[type, ...], remedy: str) -> None:
    """Raise ArgumentError unless the argument of a call is of an expected type."""
    if not isinstance(value, expected):
        types = expected if isinstance(expected, tuple) else (expected,)
        names = " or ".join(f"a{'n' * (each.__name__[0] in 'AEIOUaeiou')} {each.__name__}" for each in types)
        raise ArgumentError(f"{call}: {name} must be {names}, got {value_text(value)}; {remedy}")


def is_frame(value: object) -> bool:
    """Whether it is a data frame of some library; iterating over one gives the names of its columns."""
    return hasattr(value, "columns")


def is_data(value: object) -> bool:
    """Whether it is a data frame, a column of one, or an array: it may be the records."""
    return is_frame(value) or hasattr(value, "dtype")


def is_unicode(text: str) -> bool:
    """Whether files can hold a string: no half of a surrogate pair stands alone."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def require_path(call: str, path: object, example: str) -> None:
    """Raise ArgumentError unless ``path`` is a string or path; ``example`` is a correct call."""
    require_type(call, "path", path, (str, os.PathLike), f"write {example}")


def open_regular(path: str | os.PathLike[str]) -> IO[bytes]:
    """A file opened for reading, or OSError; FileFormatError for a pipe or a device, which may never end or begin."""
    if os.path.isdir(path):  # Windows would say that permission is denied
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise FileFormatError(f"{os.fspath(path)} is a pipe, a device or the like; write its content to a file")


def limited_bytes(path: Any, limit: int, *, name: object, remedy: str = "") -> bytes:
    """The bytes of a file; FileFormatError, with its name and a remedy in words, where there are more than ``limit``.

    No more than these are read: a file that somebody hands over may be of any size.
    """
    with closing(open_regular(path) if isinstance(path, str | os.PathLike) else path.open("rb")) as file:
        content = bytes(file.read(limit + 1))
    if len(content) > limit:
        raise FileFormatError(f"{name} is too large: the limit is {limit:,} bytes{remedy and f'; {remedy}'}")
    return content


def require_positive(name: str, value: float) -> float:
    """Return ``value`` as a float, or raise BudgetError unless ``0 < value < inf``."""
    number = float_of(value)
    if not 0 < number < math.inf:
        raise BudgetError(f"{name} must be positive and finite, got {value_text(value)}")
    return number


def spelling(value: float | np.floating[Any]) -> str:
    """A float as it is written, in the digits of its own precision.

    Example:
        >>> spelling(0.1), spelling(np.float32(0.1)), float(np.float32(0.1))
        ('0.1', '0.1', 0.10000000149011612)
    """
    return repr(float(value)) if isinstance(value, float) else str(value)


def require_fraction(name: str, value: Number) -> Fraction:
    """Return ``value`` as an exact positive fraction, or raise BudgetError.

    A float is read as the smaller of its binary value and its decimal spelling: 0.1 means at most 1/10.  One of another
    precision has two spellings, its own and that of the double: ``numpy.float32(0.1)`` means at most 1/10, too.
    """
    if isinstance(value, bool | np.timedelta64) or not isinstance(value, Number | np.integer | np.floating):
        raise BudgetError(f"{name} must be a number, got {value_text(value)}")
    try:
        if isinstance(value, float | np.floating):
            exact = min(Fraction(*value.as_integer_ratio()), *map(Fraction, (spelling(value), repr(float(value)))))
        else:
            exact = Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)
    except (ValueError, OverflowError, ZeroDivisionError):
        is_number = not isinstance(value, str) or bool(_NUMBER_LIKE.fullmatch(value.strip()))
        expected = "positive and finite" if is_number else "a number, with a decimal point such as 0.5"
        raise BudgetError(f"{name} must be {expected}, got {value_text(value)}") from None
    if not exact > 0:
        raise BudgetError(f"{name} must be positive and finite, got {value_text(value)}")
    return exact


def require_numbers(message: str, values: ArrayLike) -> FloatArray:
    """Return ``values`` as an array of floats, or raise WorkloadError with the message."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise WorkloadError(message) from None


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Mark ``array`` read-only and return it."""
    array.flags.writeable = False
    return array


def float_of(value: object) -> float:
    """A number as a float; NaN, which no comparison holds of, for anything else and for truth values."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | Decimal | np.number):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def has_shape(value: object, shape: Any) -> bool:
    """Whether a JSON value has a shape.

    A shape is a type, None, or a test of the value; a list with the shape of every entry; a mapping from the names of
    all fields to their shapes; or a tuple of alternatives.

    Example:
        >>> [has_shape(value, {"edges": (None, [float])}) for value in ({"edges": [0.5]}, {"edges": [1]}, {})]
        [True, False, False]
    """
    if isinstance(shape, dict):
        is_object = isinstance(value, dict) and value.keys() == shape.keys()
        return is_object and all(has_shape(value[name], of) for name, of in shape.items())  # type: ignore[index]
    if isinstance(shape, list):
        return isinstance(value, list) and all(has_shape(entry, shape[0]) for entry in value)
    if isinstance(shape, tuple):
        return any(has_shape(value, each) for each in shape)
    if isinstance(shape, type):
        return type(value) is shape
    return value is None if shape is None else bool(shape(value))


def pair_of(first: Any, second: Any) -> Callable[[object], bool]:
    """The shape of a list of two values of these shapes."""
    return lambda value: (
        isinstance(value, list) and len(value) == 2 and has_shape(value[0], first) and has_shape(value[1], second)
    )
