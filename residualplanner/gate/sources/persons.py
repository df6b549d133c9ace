"""Whose each record is, and which records of a person count.

Which are kept follows from a person's own entry and records, and from a key that is the same for all; from nothing
else, not even from where the records stand.  So they are the same in every pass and on every machine, and others come
and go without changing them.  All records of a person must be there together; codes are in memory until all are read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import shake_128
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources import columns as entries
from residualplanner.gate.sources.limited_records import NO_PERSONS, Contributions
from residualplanner.gate.sources.person_order import OrderColumn
from residualplanner.gate.sources.rules import CodedBlock, of_records
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError
from residualplanner.ground.process import memory_left

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
        if any(block.breaches for block in read) or not read:
            yield from read
            return
        numbers = np.concatenate([block.persons for block in read], axis=1)
        crowded = np.bincount(numbers[0], minlength=1) > self._limit.keep
        stay = np.ones(numbers.shape[1], dtype=bool)
        chosen = np.flatnonzero(crowded[numbers[0]])
        numbers = np.stack([numbers[0, chosen], self._order.ranks(numbers[1, chosen])])
        stay[chosen] = self._first(numbers, _contents(read, chosen))
        for block, part in zip(read, np.split(stay, _ends(read)[:-1]), strict=True):
            yield replace(of_records(block, part), persons=NO_PERSONS)

    def _first(self, numbers: IntArray, contents: Sequence[NDArray[np.generic]]) -> NDArray[np.bool_]:
        """Which records are among the first of their person: by the order, then at random.

        ``numbers`` (2, records) are those of the person and in the order; ``contents`` (records,) each, all that else
        is known.
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
        columns = [*block.codes[:, rows], *(of_all[rows] for of_all in block.numerators.values())]
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
