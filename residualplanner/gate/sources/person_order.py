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
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources.columns import ColumnReader, each_object, is_string, plain_array, texts_of_array
from residualplanner.ground.checks import IntArray, spelling
from residualplanner.method.domain.entries import day_of, integer_of, is_missing, is_narrow, number_of

if TYPE_CHECKING:
    import pandas as pd

#: An entry's place: what it is, how large in integers, and what is left; compared in this order.
KEY = np.dtype([("kind", np.int8), ("value", np.int64), ("rest", np.float64)])
Key = tuple[int, int, float]
Keys = NDArray[Any]
_BELOW, _NUMBER, _ABOVE, _MOMENT, _TEXT, _NOTHING = range(6)
#: Of a record without an entry: after all others.
NOTHING: Final[Key] = (_NOTHING, 0, 0.0)
_HALF, _DAY = 2**63, 86_400 * 10**6
#: How many microseconds, and of how many units, a unit of Arrow's moments has.
_MICROSECONDS = {"s": 10**6, "ms": 10**3, "us": 1}


class OrderColumn(ColumnReader):
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

    def _of_series(self, column: "pd.Series[Any]") -> Keys:
        """The keys of a pandas column; ordered categories are in the order declared."""
        import pandas as pd

        if isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.ordered:
            ranks = np.append(_keys_of_integers(np.arange(len(column.dtype.categories))), self.nothing)
            return ranks[column.cat.codes.to_numpy()]
        return super()._of_series(column)

    def ranks(self, numbers: IntArray) -> IntArray:
        """Integers in the order of the entries with these numbers, the same for the same entries."""
        keys = np.concatenate(self._read)[numbers]
        rank = np.empty(len(self._others), dtype=np.int64)
        rank[sorted(range(len(rank)), key=self._others.__getitem__)] = np.arange(len(rank))
        is_text = keys["kind"] == _TEXT
        keys["value"][is_text] = rank[keys["value"][is_text]]
        order = np.lexsort((keys["rest"], keys["value"], keys["kind"]))
        differs = np.zeros(len(keys), dtype=np.bool_)
        for word in KEY.names or ():
            differs[1:] |= keys[word][order[1:]] != keys[word][order[:-1]]
        found = np.empty(len(keys), dtype=np.int64)
        found[order] = np.cumsum(differs)
        return found

    def of_array(self, array: Any) -> Keys:
        """The keys of the entries of an Arrow array."""
        import pyarrow as pa

        if pa.types.is_dictionary(array.type) and array.type.ordered:
            array = array.indices  # of an Enum, whose values are all in the dictionary, as declared
        plain = plain_array(array)
        keys = self._keys_of_plain(plain)
        keys[np.asarray(plain.is_null())] = NOTHING
        return keys

    def _keys_of_plain(self, plain: Any) -> Keys:
        import pyarrow as pa

        types = pa.types
        if is_string(plain.type):
            texts, slots = texts_of_array(plain)
            return _keys([*map(self._key_of_text, texts), NOTHING])[slots]
        if types.is_decimal(plain.type):
            encoded = plain.dictionary_encode()
            keys = _keys([*map(key_of_object, encoded.dictionary.to_pylist()), NOTHING])
            indices: IntArray = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
            return keys[indices]
        if types.is_floating(plain.type):
            return _keys_of_floats(plain.fill_null(0).to_numpy(zero_copy_only=False))
        if types.is_integer(plain.type) or types.is_boolean(plain.type):
            return _keys_of_integers(plain.fill_null(0).to_numpy(zero_copy_only=False))
        if types.is_timestamp(plain.type) or types.is_date(plain.type):
            return _keys_of_moments(plain)
        return _keys([NOTHING] * len(plain))

    def of_objects(self, values: NDArray[np.object_]) -> Keys:
        """The same of Python objects."""
        return _keys([*each_object(self._key_of_entry, values)])

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
    if isinstance(entry, bool | np.bool_):
        return _NUMBER, int(entry), 0.0
    if isinstance(entry, dt.date | np.datetime64):
        return _key_of_moment(entry)
    number = float(spelling(entry)) if isinstance(entry, np.floating) else entry
    integer = integer_of(number)
    if integer is not None and -_HALF <= integer < 2 * _HALF:
        return (_NUMBER, integer, 0.0) if integer < _HALF else (_ABOVE, integer - _HALF, 0.0)
    nearest = number_of(number)
    return NOTHING if nearest is None else _key_of_float(nearest)


def _key_of_float(number: float) -> Key:
    if number < -_HALF:
        return _BELOW, 0, number
    if number >= 2 * _HALF:
        return _ABOVE, _HALF - 1, number
    whole = int(number)
    return (_NUMBER, whole, number - whole) if number < _HALF else (_ABOVE, whole - _HALF, 0.0)


def _key_of_written(text: str) -> Key | None:
    integer, number, day = integer_of(text), number_of(text), day_of(text)
    if number is not None:
        return key_of_object(number if integer is None else integer)
    if day is None:
        return None
    hours, minutes, seconds = [*(text[11:] or "0:0").split(":"), "0"][:3]
    nanoseconds = (int(hours) * 60 + int(minutes)) * 60 * 10**9 + int(Decimal(seconds) * 10**9)
    return _MOMENT, day * _DAY + nanoseconds // 1000, float(nanoseconds % 1000)


def _key_of_moment(entry: Any) -> Key:
    if hasattr(entry, "to_datetime64"):  # of pandas, in UTC where it has a zone
        entry = entry.to_datetime64()
    if isinstance(entry, np.datetime64):
        is_fine = np.datetime_data(entry)[0] in ("ns", "ps", "fs", "as")
        rest = int(entry.astype("datetime64[ns]").astype(np.int64)) % 1000 if is_fine else 0
        return _MOMENT, int(entry.astype("datetime64[us]").astype(np.int64)), float(rest)
    if not isinstance(entry, dt.datetime):
        return _MOMENT, (entry - dt.date(1970, 1, 1)).days * _DAY, 0.0
    since = entry.replace(tzinfo=None) - dt.datetime(1970, 1, 1) - (entry.utcoffset() or dt.timedelta())
    return _MOMENT, since // dt.timedelta(microseconds=1), 0.0


def _keys(keys: list[Key]) -> Keys:
    return np.array(keys, dtype=KEY)


def _keys_of_integers(numbers: NDArray[Any]) -> Keys:
    keys = np.zeros(len(numbers), dtype=KEY)
    is_above = numbers > np.int64(_HALF - 1) if numbers.dtype == np.uint64 else np.zeros(len(numbers), dtype=np.bool_)
    keys["kind"] = np.where(is_above, _ABOVE, _NUMBER)
    keys["value"] = numbers.astype(np.int64)
    keys["value"][is_above] -= -_HALF  # 2**63 and more have wrapped around
    return keys


def _keys_of_floats(numbers: NDArray[Any]) -> Keys:
    if is_narrow(numbers.dtype):
        distinct, slots = np.unique(numbers, return_inverse=True)
        numbers = np.array([float(spelling(number)) for number in distinct])[slots.reshape(-1)]
    keys = np.zeros(len(numbers), dtype=KEY)
    within = np.abs(numbers) < _HALF
    whole = np.trunc(np.where(within, numbers, 0))
    keys["kind"], keys["value"], keys["rest"] = _NUMBER, whole.astype(np.int64), np.where(within, numbers - whole, 0)
    is_nothing = np.isnan(numbers)
    is_large = ~within & ~is_nothing
    keys[is_nothing] = NOTHING
    keys[is_large] = _keys([*map(_key_of_float, numbers[is_large].tolist())])
    return keys


def _keys_of_moments(plain: Any) -> Keys:
    import pyarrow as pa

    if pa.types.is_date(plain.type):
        unit, plain = "ms", plain.cast(pa.date64())
    else:
        unit = plain.type.unit
    moments = plain.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    keys = np.zeros(len(moments), dtype=KEY)
    keys["kind"] = _MOMENT
    if unit == "ns":
        keys["value"], keys["rest"] = np.divmod(moments, 1000)
    else:
        each = _MICROSECONDS[unit]
        keys["value"] = np.clip(moments, -(_HALF // each), (_HALF - 1) // each) * each
    return keys
