"""Records that can occur by facts: a search for one, and the values that others around it may have."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative.facts import Fact
from residualplanner.ground.checks import FloatArray

#: The most values that the search for a record gives to attributes before none is believed to be possible.
_MOST_GIVEN = 10_000


def possible_values(
    near: Sequence[FloatArray], tables: Sequence[Fact], generator: np.random.Generator
) -> dict[int, NDArray[np.bool_]] | None:
    """Which values some attributes may have, (n,) each, all of whose combinations can occur; None if none was found.

    A record that can occur is searched for, by probabilities ``near`` of the values of each attribute.  Then values are
    added to it, in random order, as long as all combinations can occur by all tables.
    """
    record = _searched(near, tables, generator)
    return None if record is None else _grown(record, tables, [len(own) for own in near], generator)


def _searched(
    near: Sequence[FloatArray], tables: Sequence[Fact], generator: np.random.Generator
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
    record: dict[int, int], may: dict[int, NDArray[np.bool_]], tables: Sequence[Fact]
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


def _grown(
    record: dict[int, int], tables: Sequence[Fact], sizes: Sequence[int], generator: np.random.Generator
) -> dict[int, NDArray[np.bool_]]:
    """The values of each attribute in a product of sets around a record, all of whose combinations can occur."""
    values = {}
    for attribute, value in record.items():
        values[attribute] = np.zeros(sizes[attribute], dtype=np.bool_)
        values[attribute][value] = True
    more = [(attribute, value) for attribute in record for value in range(sizes[attribute])]
    for number in generator.permutation(len(more)).tolist():
        attribute, value = more[number]
        others: dict[int, Any] = {**values, attribute: [value]}
        with_it = (
            table.counts[np.ix_(*(others[each] for each in table.attributes))]
            for table in tables
            if attribute in table.attributes
        )
        if all((part > 0).all() for part in with_it):
            values[attribute][value] = True
    return values
