"""Where a record stands among those of its person, by the entry of one column.

Each entry has a place in one fixed order, which follows from that entry alone, whatever other entries there are, and is
the same in every source:

1. numbers, by their size: integers of 64 bits exactly, all others as 64-bit floats, and a float of fewer bits as the
   decimal that it is written as; text that is a number is one ("9" before "10"), False is 0 and True is 1;
2. dates, which are midnights, and moments, by the nanosecond, those with a time zone in UTC; text in ISO 8601 that is a
   date, or a time of day on a date, without a time zone, is one;
3. all other text, by its bytes;
4. everything else, such as a null or bytes: records without an entry.
"""

import datetime as dt
from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources import columns
from residualplanner.ground.checks import IntArray, spelling
from residualplanner.method.domain.entries import day_of, integer_of, is_missing, is_narrow, number_of, spelled

#: An entry's place: what it is, and two numbers that floats hold exactly; compared in this order.
KEY = np.dtype([("kind", np.int8), ("high", np.float64), ("low", np.float64)])
Key = tuple[int, float, float]
Keys = NDArray[Any]
_NUMBER, _MOMENT, _TEXT, _NOTHING = range(4)
#: Of a record without an entry: after all others.
NOTHING: Final[Key] = (_NOTHING, 0.0, 0.0)
_DAY, _SECOND = 86_400, 10**9


class OrderColumn(columns.ColumnReader):
    """Numbers entries, remembers their keys, and ranks them when all have been read."""

    nothing = np.array([NOTHING], dtype=KEY)

    def __init__(self) -> None:
        super().__init__()
        self._read: list[Keys] = [self.nothing]
        self._count = 1
        self._texts: dict[bytes, Key] = {}
        self._others: list[bytes] = []

    def read(self, entries: Any) -> IntArray:
        """A number for each entry, by which `ranks` knows it; 0 is that of no entry."""
        keys = super().read(entries)
        self._read.append(keys)
        self._count += len(keys)
        return np.where(keys["kind"] == _NOTHING, 0, np.arange(self._count - len(keys), self._count))

    def ranks(self, numbers: IntArray) -> IntArray:
        """Integers in the order of the entries with these numbers, the same for the same entries."""
        keys = np.concatenate(self._read)[numbers]
        rank = np.empty(len(self._others))
        rank[sorted(range(len(rank)), key=self._others.__getitem__)] = np.arange(len(rank))
        is_text = keys["kind"] == _TEXT
        keys["high"][is_text] = rank[keys["high"][is_text].astype(np.int64)]
        order = np.lexsort((keys["low"], keys["high"], keys["kind"]))
        found = np.empty(len(keys), dtype=np.int64)
        found[order] = np.cumsum(np.append(False, keys[order][1:] != keys[order][:-1])[: len(keys)])
        return found

    def of_array(self, array: Any) -> Keys:
        """The keys of the entries of an Arrow array."""
        import pyarrow as pa

        plain, types = columns.plain_array(array), pa.types
        if columns.is_string(plain.type):
            texts, slots = columns.texts_of_array(plain)
            return np.array([*map(self._key_of_text, texts), NOTHING], dtype=KEY)[slots]
        if types.is_timestamp(plain.type) or types.is_date(plain.type):
            plain = plain.cast(pa.date64()) if types.is_date(plain.type) else plain
            each = columns.PER_DAY[getattr(plain.type, "unit", "ms")] // _DAY
            seconds, parts = np.divmod(_numbers(plain.cast(pa.int64())), each)
            keys = _keys(_MOMENT, seconds, parts * (_SECOND // each))
        elif types.is_integer(plain.type) or types.is_floating(plain.type):
            keys = _keys_of_numbers(_numbers(plain))
        elif types.is_decimal(plain.type) or types.is_boolean(plain.type):
            return self.of_objects(np.array(plain.to_pylist(), dtype=object))
        else:
            return np.repeat(self.nothing, len(plain))
        keys[np.asarray(plain.is_null())] = NOTHING
        return keys

    def of_objects(self, values: NDArray[np.object_]) -> Keys:
        """The same of Python objects."""
        return np.array([*columns.each_object(self._key_of_entry, values)], dtype=KEY)

    def _key_of_entry(self, entry: object) -> Key:
        if isinstance(entry, str):
            return self._key_of_text(entry.encode(errors="surrogatepass"))
        return key_of_object(entry)

    def _key_of_text(self, text: bytes) -> Key:
        if text not in self._texts:
            key = _key_of_written(text.decode(errors="replace"))
            if key is None:
                key = (_TEXT, len(self._others), 0.0)
                self._others.append(text)
            self._texts[text] = key
        return self._texts[text]


def key_of_object(entry: object) -> Key:
    """The key of an entry that is no text.

    Example:
        >>> key_of_object(True) == key_of_object(1.0) < key_of_object(np.float32(1.1)) == key_of_object(Decimal("1.1"))
        True
    """
    if is_missing(entry):
        return NOTHING
    if isinstance(entry, dt.date | np.datetime64):
        return _key_of_moment(entry)
    entry = int(entry) if isinstance(entry, bool | np.bool_) else entry
    number = float(spelling(entry)) if isinstance(entry, np.floating) else entry
    integer, nearest = integer_of(number), number_of(number)
    if nearest is None:
        return NOTHING
    is_exact = integer is not None and -(2**63) <= integer < 2**64
    _, high, low = _keys_of_numbers(np.array([integer if is_exact else nearest])).tolist()[0]
    return _NUMBER, high, low


def _key_of_written(text: str) -> Key | None:
    integer, number, day = integer_of(text), number_of(text), day_of(text)
    if number is not None:
        return key_of_object(number if integer is None else integer)
    if day is None:
        return None
    hours, minutes, seconds = [*(text[11:] or "0:0").split(":"), "0"][:3]
    whole, part = divmod(Decimal(seconds), 1)
    return _MOMENT, day * _DAY + (int(hours) * 60 + int(minutes)) * 60 + int(whole), float(part * _SECOND)


def _key_of_moment(entry: Any) -> Key:
    if hasattr(entry, "to_datetime64"):  # of pandas, in UTC where it has a zone
        entry = entry.to_datetime64()
    if isinstance(entry, np.datetime64):
        seconds = entry.astype("datetime64[s]")
        return _MOMENT, float(seconds.astype(np.int64)), float((entry - seconds).astype("m8[ns]").astype(np.int64))
    if not isinstance(entry, dt.datetime):
        entry = dt.datetime(entry.year, entry.month, entry.day)
    since = entry - dt.datetime(1970, 1, 1, tzinfo=None if entry.tzinfo is None else dt.UTC)
    return _MOMENT, since.days * _DAY + since.seconds, since.microseconds * 1000.0


def _numbers(plain: Any) -> NDArray[Any]:
    return np.asarray(plain.fill_null(0).to_numpy(zero_copy_only=False))


def _keys(kind: int, high: NDArray[Any], low: NDArray[Any]) -> Keys:
    keys = np.empty(len(high), dtype=KEY)
    keys["kind"], keys["high"], keys["low"] = kind, high, low
    return keys


def _keys_of_numbers(numbers: NDArray[Any]) -> Keys:
    """Multiples of ``2**32``, and what is left: two floats, which no rounding has changed, for integers of 64 bits."""
    if is_narrow(numbers.dtype):
        distinct, slots = np.unique(numbers, return_inverse=True)
        numbers = spelled(distinct)[slots.reshape(-1)]
    numbers = numbers.astype(np.int64) if numbers.dtype.itemsize < 8 else numbers
    with np.errstate(invalid="ignore"):
        low = np.where(np.isfinite(numbers), np.fmod(numbers, numbers.dtype.type(2**32)), 0)
    keys = _keys(_NUMBER, numbers - low, low)
    keys[np.isnan(numbers)] = NOTHING
    return keys
