"""The records of each person that count, among all that have been read.

Reads: coded blocks with the numbers of persons.  Gives: the same blocks with fewer records.

Which records are kept follows from a person's own entry and records, and from a key that is the same for all; from
nothing else, not even from where the records stand.  So they are the same in every pass and on every machine, and
others come and go without changing them.  All records of a person must be there together, and codes are held in memory
until all have been read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import shake_128

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources.people.entries import PersonColumn
from residualplanner.gate.sources.people.order import OrderColumn
from residualplanner.gate.sources.rules import NO_PERSONS, Block, of_records
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError
from residualplanner.ground.memory import memory_left

#: How many bytes of random choice a record has: equal ones are as good as impossible, and do no harm.
_BYTES = 8


def kept_blocks(
    blocks: Iterator[Block], persons: PersonColumn, order: OrderColumn, *, keep: int, key: bytes
) -> Iterator[Block]:
    """The blocks of the records that count.

    Args:
        blocks: with persons; all of them are read before the first is given.
        persons: what has numbered them.
        order: what has read their order.
        keep: how many records of each person.
        key: of the random choice.

    Raises:
        DataError: there is too little memory to hold all of them.

    Source: eq. (103).
    """
    read: list[Block] = []
    held = checked = 0
    for block in blocks:
        read.append(block)
        held += block.codes.nbytes + 3 * block.persons.nbytes
        if held > 2 * checked:
            _require_memory(held)
            checked = held
    if any(block.breaches for block in read) or not read:
        yield from read
        return
    numbers = np.concatenate([block.persons for block in read], axis=1)
    crowded = np.bincount(numbers[0], minlength=1) > keep
    stay = np.ones(numbers.shape[1], dtype=bool)
    chosen = np.flatnonzero(crowded[numbers[0]])
    numbers = np.stack([numbers[0, chosen], order.ranks(numbers[1, chosen])])
    stay[chosen] = _first(numbers, _contents(read, chosen), persons.texts, keep=keep, key=key)
    start = 0
    for block in read:
        end = start + block.persons.shape[1]
        yield replace(of_records(block, stay[start:end]), persons=NO_PERSONS)
        start = end


def _require_memory(held: int) -> None:
    """DataError where as much again as is held could not be had."""
    room = min((room for room, _ in memory_left()), default=held)
    if room < held:
        raise DataError(
            "there is too little memory to choose the records of each person, for which all are held at once; use a "
            "machine with more memory, or an engine with several workers"
        )


def _first(
    numbers: IntArray, contents: Sequence[NDArray[np.generic]], texts: list[bytes], *, keep: int, key: bytes
) -> NDArray[np.bool_]:
    """Which records are among the first of their person: by the order, then at random.

    Args:
        numbers (2, records): of the person, and in the order.
        contents: (records,) each, all that else is known of the records.
        texts: the entry of each person.
        keep: how many of each.
        key: of the random choice.
    """
    person, position = numbers
    # Equal records are as good as one another, so that in this order a person's records are always the same.
    canonical = np.lexsort((*contents, position, person))
    priority = np.empty(person.size, dtype=np.uint64)
    priority[canonical] = _random_numbers(key, person[canonical], texts)
    by_rule = np.lexsort((priority, position, person))
    starts = np.flatnonzero(np.diff(person[by_rule], prepend=-1))
    lengths = np.diff(starts, append=person.size)
    stay = np.empty(person.size, dtype=bool)
    stay[by_rule] = np.arange(person.size) - np.repeat(starts, lengths) < keep
    return stay


def _random_numbers(key: bytes, person: IntArray, texts: list[bytes]) -> NDArray[np.uint64]:
    """For each of the records, sorted by person, a number that looks random to whoever does not have the key."""
    starts = np.flatnonzero(np.diff(person, prepend=-1))
    lengths = np.diff(starts, append=person.size)
    digests = (
        shake_128(key + texts[number]).digest(_BYTES * length)
        for number, length in zip(person[starts].tolist(), lengths.tolist(), strict=True)
    )
    return np.frombuffer(b"".join(digests), dtype="<u8")


def _contents(blocks: Sequence[Block], chosen: IntArray) -> list[NDArray[np.generic]]:
    """All that is known of the chosen records, besides persons and order: (records,) each."""
    ends = np.cumsum([block.persons.shape[1] for block in blocks])
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    found: list[list[NDArray[np.generic]]] = []
    for block, end, own in zip(blocks, ends, parts, strict=True):
        rows = own - (end - block.persons.shape[1])
        columns = [*block.codes[:, rows], *(of_all[rows] for of_all in block.numerators.values())]
        found.append([*columns, block.multiplicities.entries[rows]])
    return [np.concatenate(columns) for columns in zip(*found, strict=True)]
