"""Whose each record is, and which records of a person count.

Which are kept follows from a person's own entry and records, and from a key that is the same for all; from nothing
else, not even from where the records stand.  So they are the same in every pass and on every machine, and others come
and go without changing them.  All records of a person must be there together; codes are in memory until all are read.

Where a record stands among those of its person is said by the entry of one column.  Each entry has a place in one fixed
order, which follows from that entry alone, whatever other entries there are, and is the same in every source:

1. numbers, by their size: integers of 64 bits exactly, all others as 64-bit floats, and a float of fewer bits as the
   decimal that it is written as; text that is a number is one ("9" before "10"), False is 0 and True is 1;
2. dates, which are midnights, and moments, by the nanosecond, those with a time zone in UTC; text in ISO 8601 that is a
   date, or a time of day on a date, without a time zone, is one;
3. all other text, by its bytes;
4. everything else, such as a null or bytes: records without an entry.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from hashlib import shake_128
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources import columns as entries
from residualplanner.gate.sources.limited_records import Contributions, NumberedPersons
from residualplanner.gate.sources.rules import CodedBlock, of_records
from residualplanner.ground.checks import IntArray, spelling
from residualplanner.ground.errors import DataError
from residualplanner.ground.process import memory_left
from residualplanner.method.domain.entries import day_of, integer_of, is_missing, is_narrow, number_of, spelled

#: The number of a person where there is no entry, or one that is no integer and no text.
NOBODY: Final = -1
#: How many bytes of random choice a record has: equal ones are as good as impossible, and do no harm.
_BYTES = 8


class PersonColumn(entries.ColumnReader):
    """Numbers the persons of a column of integers or text: 7 and "7" are the same person, "07" is another."""

    nothing = np.array([NOBODY])

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[bytes, int] = {}  # the entry of each person, in the order of their numbers

    def of_array(self, array: Any) -> IntArray:
        """The number of each record's person, NOBODY where the entry is missing, empty, or of another kind."""
        import pyarrow as pa

        plain = entries.plain_array(array)
        if pa.types.is_integer(plain.type):
            plain = plain.cast(pa.large_string())
        elif not entries.is_string(plain.type):
            return np.full(len(plain), NOBODY, dtype=np.int64)
        texts, slots = entries.texts_of_array(plain)
        return np.array([*map(self._number, texts), NOBODY], dtype=np.int64)[slots]

    def of_objects(self, values: NDArray[np.object_]) -> IntArray:
        """The same of Python objects."""
        return np.fromiter(entries.each_object(self._number_of_entry, values), dtype=np.int64, count=len(values))

    def _number_of_entry(self, entry: object) -> int:
        if isinstance(entry, str):
            return self._number(entry.encode(errors="surrogatepass"))
        if isinstance(entry, int | np.integer) and not isinstance(entry, bool | np.timedelta64):
            return self._number(str(int(entry)).encode())
        return NOBODY

    def _number(self, text: bytes) -> int:
        return self.known.setdefault(text, len(self.known)) if text else NOBODY


#: An entry's place: what it is, and two numbers that floats hold exactly; compared in this order.
KEY = np.dtype([("kind", np.int8), ("high", np.float64), ("low", np.float64)])
Key = tuple[int, float, float]
Keys = NDArray[Any]
_NUMBER, _MOMENT, _TEXT, _NOTHING = range(4)
#: Of a record without an entry: after all others.
NOTHING: Final[Key] = (_NOTHING, 0.0, 0.0)
_DAY, _SECOND = 86_400, 10**9


class OrderColumn(entries.ColumnReader):
    """Numbers entries, remembers their keys, and ranks them when all have been read."""

    nothing = np.array([NOTHING], dtype=KEY)

    def __init__(self) -> None:
        super().__init__()
        self._read: list[Keys] = [self.nothing]
        self._count = 1
        self._texts: dict[bytes, Key] = {}
        self._others: list[bytes] = []

    def read(self, column: Any) -> IntArray:
        """A number for each entry, by which `ranks` knows it; 0 is that of no entry."""
        keys = super().read(column)
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
        differs = np.zeros(len(keys), dtype=np.bool_)
        for word in KEY.names or ():
            differs[1:] |= keys[word][order[1:]] != keys[word][order[:-1]]
        found = np.empty(len(keys), dtype=np.int64)
        found[order] = np.cumsum(differs)
        return found

    def of_array(self, array: Any) -> Keys:
        """The keys of the entries of an Arrow array."""
        import pyarrow as pa

        plain, types = entries.plain_array(array), pa.types
        if entries.is_string(plain.type):
            texts, slots = entries.texts_of_array(plain)
            return np.array([*map(self._key_of_text, texts), NOTHING], dtype=KEY)[slots]
        if types.is_timestamp(plain.type) or types.is_date(plain.type):
            plain = plain.cast(pa.date64()) if types.is_date(plain.type) else plain
            each = entries.PER_DAY[getattr(plain.type, "unit", "ms")] // _DAY
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
        return np.array([*entries.each_object(self._key_of_entry, values)], dtype=KEY)

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


class PersonReader:
    """Numbers the persons of one stream of records, and leaves out those records of theirs that do not count."""

    def __init__(self, limit: Contributions) -> None:
        self._limit, self._persons, self._order = limit, PersonColumn(), OrderColumn()

    def read(self, columns: Sequence[Any], *, unknown: int) -> IntArray:
        """Persons and order of some records as `CodedBlock.persons`, and of so many further ones without entries."""
        persons = self._persons.read(columns[0])
        positions = self._order.read(columns[1]) if len(columns) > 1 else np.zeros_like(persons)
        of_unknown = np.array([[NOBODY], [0]]).repeat(unknown, axis=1)
        return np.concatenate([np.stack([persons, positions]), of_unknown], axis=1)

    def kept(self, blocks: Iterator[CodedBlock]) -> Iterator[CodedBlock]:
        """The blocks of the records that count; DataError where memory cannot hold all.  Source: eq. (103)."""
        read: list[CodedBlock] = []
        held = checked = 0
        for block in blocks:
            read.append(block)
            held += block.codes.nbytes + 3 * block.persons.nbytes
            if held > 2 * checked:
                checked = held
                if min((room for room, _ in memory_left()), default=held) < held:  # as much again is needed
                    raise DataError(
                        "there is too little memory to choose the records of each person, for which all are held at "
                        "once; use a machine with more memory, or an engine with several workers"
                    )
        people = NumberedPersons(self._persons.known, self._order.ranks)
        if any(block.breaches for block in read) or not read:
            yield from (replace(block, people=people) for block in read)
            return
        numbers = np.concatenate([block.persons for block in read], axis=1)
        crowded = np.bincount(numbers[0], minlength=1) > self._limit.keep
        stay = np.ones(numbers.shape[1], dtype=bool)
        chosen = np.flatnonzero(crowded[numbers[0]])
        numbers = np.stack([numbers[0, chosen], people.ranks(numbers[1, chosen])])
        stay[chosen] = self._first(numbers, _contents(read, chosen))
        for block, part in zip(read, np.split(stay, _ends(read)[:-1]), strict=True):
            yield replace(of_records(block, part), people=people)

    def _first(self, numbers: IntArray, contents: Sequence[NDArray[np.generic]]) -> NDArray[np.bool_]:
        """Which records are among the first of their person: by the order, then at random.

        ``numbers`` (2, records): of the person, and in the order; ``contents`` (records,) each: all else that is known.
        """
        person, position = numbers
        # Equal records are as good as one another, so that in this order a person's records are always the same.
        canonical = np.lexsort((*contents, position, person))
        starts = np.flatnonzero(np.diff(person[canonical], prepend=-1))  # of the records of each person
        lengths = np.diff(starts, append=person.size)
        texts, priority = list(self._persons.known), np.empty(person.size, dtype=np.uint64)
        digests = (
            shake_128(self._limit.key + texts[number]).digest(_BYTES * length)  # random to who does not have the key
            for number, length in zip(person[canonical][starts].tolist(), lengths.tolist(), strict=True)
        )
        priority[canonical] = np.frombuffer(b"".join(digests), dtype="<u8")
        by_rule = np.lexsort((priority, position, person))  # in which persons have the same runs
        stay = np.empty(person.size, dtype=bool)
        stay[by_rule] = np.arange(person.size) - np.repeat(starts, lengths) < self._limit.keep
        return stay


def _ends(blocks: Sequence[CodedBlock]) -> IntArray:
    return np.cumsum([block.persons.shape[1] for block in blocks])


def _contents(blocks: Sequence[CodedBlock], chosen: IntArray) -> list[NDArray[np.generic]]:
    """All that is known of the chosen records, besides persons and order: (records,) each."""
    ends = _ends(blocks)
    found: list[list[NDArray[np.generic]]] = []
    for block, end, own in zip(blocks, ends, np.split(chosen, np.searchsorted(chosen, ends[:-1])), strict=True):
        rows = own - (end - block.persons.shape[1])
        columns = [*block.codes[:, rows], *(of_all[rows] for of_all in block.above.values())]
        found.append([*columns, *([] if block.often is None else [block.often[rows]])])
    return [np.concatenate(columns) for columns in zip(*found, strict=True)]


def require_person_types(limit: Contributions, person: Any, order: Any = None) -> None:
    """DataError unless columns of persons and of their order, of these Arrow types, serve; None may hold anything."""
    import pyarrow as pa

    types = pa.types
    person, kind = (each.value_type if each and types.is_dictionary(each) else each for each in (person, order))
    if person is not None and not (types.is_integer(person) or entries.is_string(person) or types.is_null(person)):
        raise DataError(
            f"column {limit.person!r} is of a type that holds no integers and no text, and says whose a record is; "
            'convert the column (in pandas, where a null turns integers into floats: dtype "Int64")',
            column=limit.person or "",
        )
    if kind is None:
        return
    is_known = entries.is_string(kind) or types.is_null(kind) or types.is_timestamp(kind)
    if (types.is_dictionary(order) and order.ordered) or not (is_known or entries.entries_of_type(kind) is not None):
        raise DataError(
            f"column {limit.order!r} must hold numbers, dates, moments or text to order a person's records by it; of "
            "ordered categories give the numbers",
            column=limit.order or "",
        )
