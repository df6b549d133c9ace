"""Components in which combinations of values that cannot occur have probability 0.

The values that a class may have are a set for each attribute, and all combinations of them can occur.
Source: eq. (74).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.mixture import OneHot
from residualplanner.ground.checks import FloatArray

#: How often a first record of a class is drawn table by table before one is searched for, and the most values that the
#: search gives to attributes before none is believed to be possible.
_TRIES, _MOST_GIVEN = 100, 10_000


@dataclass(frozen=True, eq=False, slots=True)
class Possible:
    """Which cells of a table can occur, and about how many records are there."""

    attributes: tuple[int, ...]  # by position, ascending
    counts: FloatArray  # (n_1, .., n_k): 0 where there is no record, above 0 elsewhere


def supports(
    blocks: OneHot, near: Sequence[FloatArray], tables: Sequence[Possible], classes: int, generator: np.random.Generator
) -> NDArray[np.bool_] | None:
    """The values that each class may have, (d', c), all of whose combinations can occur; None if no record was found.

    A record that can occur is drawn for each class, by probabilities ``near``.  Then values are added to it, in random
    order, as long as all combinations can occur by all tables.
    """
    found = np.ones((blocks.count, classes), dtype=np.bool_)
    for number in range(classes):
        tries: Iterator[dict[int, int]] = ({} for _ in range(_TRIES))  # table after table, given the values that it has
        drawn = (record for record in tries if all(_extended(record, table, near, generator) for table in tables))
        record = next(drawn, None) or _searched(near, tables, generator)
        if record is None:
            return None
        for attribute, values in _grown(record, tables, blocks, generator).items():
            found[blocks.rows(attribute), number] = values
    return found


def _searched(
    near: Sequence[FloatArray], tables: Sequence[Possible], generator: np.random.Generator
) -> dict[int, int] | None:
    """The values of one record that can occur, by giving up values that leave none for another attribute."""
    every = {attribute: np.ones(len(near[attribute]), np.bool_) for table in tables for attribute in table.attributes}
    left = iter(range(_MOST_GIVEN))

    def completed(record: dict[int, int], may: dict[int, NDArray[np.bool_]]) -> dict[int, int] | None:
        if not may:
            return record
        attribute = min(may, key=lambda each: int(may[each].sum()))
        values = np.flatnonzero(may[attribute])
        chances = near[attribute][values] ** 0.5
        for value in generator.choice(values, len(values), replace=False, p=chances / chances.sum()).tolist():
            longer = {**record, attribute: value}
            others = {each: own for each, own in may.items() if each != attribute}
            rest = _narrowed(longer, others, [table for table in tables if attribute in table.attributes])
            found = None if rest is None or next(left, None) is None else completed(longer, rest)
            if found is not None:
                return found
        return None

    start = _narrowed({}, every, tables)
    return None if start is None else completed({}, start)


def _narrowed(
    record: dict[int, int], may: dict[int, NDArray[np.bool_]], tables: Sequence[Possible]
) -> dict[int, NDArray[np.bool_]] | None:
    """Which values each attribute that a record lacks may have by each table alone; None where one has none."""
    found = dict(may)
    for table in tables:
        part = table.counts[tuple(record.get(attribute, slice(None)) for attribute in table.attributes)] > 0
        for axis, attribute in enumerate(each for each in table.attributes if each not in record):
            found[attribute] = found[attribute] & part.any(tuple(other for other in range(part.ndim) if other != axis))
            if not found[attribute].any():
                return None
        if not part.any():
            return None
    return found


def _extended(
    record: dict[int, int], table: Possible, near: Sequence[FloatArray], generator: np.random.Generator
) -> bool:
    """Draw the values that a record lacks of a table's attributes; False where none fit those that it has."""
    fixed = tuple(record.get(attribute, slice(None)) for attribute in table.attributes)
    new = [attribute for attribute in table.attributes if attribute not in record]
    mass = np.array(table.counts[fixed])
    for axis, attribute in enumerate(new):
        mass = mass * near[attribute].reshape(-1, *(1,) * (len(new) - axis - 1)) ** 0.5
    total = mass.sum()
    if not total > 0:
        return False
    cell = np.unravel_index(int(generator.choice(mass.size, p=mass.ravel() / total)), mass.shape)
    record.update(zip(new, map(int, cell), strict=True))
    return True


def _grown(
    record: dict[int, int], tables: Sequence[Possible], blocks: OneHot, generator: np.random.Generator
) -> dict[int, NDArray[np.bool_]]:
    """The values of each attribute in a product of sets around a record, all of whose combinations can occur."""
    values = {}
    for attribute, value in record.items():
        values[attribute] = np.zeros(blocks.sizes[attribute], dtype=np.bool_)
        values[attribute][value] = True
    more = [(attribute, value) for attribute in record for value in range(blocks.sizes[attribute])]
    for number in generator.permutation(len(more)).tolist():
        attribute, value = more[number]
        if all(_fits(table, values, attribute, value) for table in tables if attribute in table.attributes):
            values[attribute][value] = True
    return values


def _fits(table: Possible, values: dict[int, NDArray[np.bool_]], attribute: int, value: int) -> bool:
    """Whether one more value leaves only combinations that can occur."""
    part = table.counts
    for axis, each in enumerate(table.attributes):
        kept = [value] if each == attribute else np.flatnonzero(values[each])
        part = part.take(kept, axis=axis)
    return bool((part > 0).all())
