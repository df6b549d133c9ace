"""Counts that were made elsewhere.

Reads: a mapping from attribute sets to tables of counts.  Gives: CountSource.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from residualplanner._checks import IntArray
from residualplanner.domain import Domain
from residualplanner.errors import DataError
from residualplanner.sources.counting import zero_tables
from residualplanner.sources.protocol import Progress

#: Positions of attributes of more than one value, ascending; the others have no say in what a table holds.
Key = tuple[int, ...]


class CountSource:
    """Tables of counts; smaller tables are summed down from the smallest that holds them.

    Args:
        counts: attribute names to an integer array, its axes in the order of the names.  The unit is one record.
        domain: the schema.

    Raises:
        DataError: a table that is not of whole nonnegative counts, not of the schema's shape, or contradicts another.
        DomainError: a name is not in the domain, or comes twice.
    """

    def __init__(self, counts: Mapping[Any, Any], domain: Domain) -> None:
        self._domain = domain
        tables = sorted(
            (_table(names, array, domain) for names, array in counts.items()), key=lambda item: item[1].size
        )
        self._tables = [table for _, table in tables]
        self._keys = [key for key, _ in tables]
        self._holder = _holders(self._keys, self._tables)

    def count(self, groups: Sequence[IntArray], *, progress: Progress | None = None) -> list[IntArray]:
        """Sum the supplied tables down to those asked for; see Source.

        Args:
            groups: each (g, k): attribute positions, all of the same shape.
            progress: told how many tables are done.

        Returns:
            One int64 array (g, n1, .., nk) per group.

        Raises:
            DataError: a table asked for is part of no table supplied.
        """
        outcome = self._count(groups, progress)
        del self  # the traceback must not lead to the counts
        if isinstance(outcome, DataError):
            raise outcome
        return outcome

    def _count(self, groups: Sequence[IntArray], progress: Progress | None) -> list[IntArray] | DataError:
        sizes = self._domain.sizes
        keys = [[_key(row, sizes) for row in rows.tolist()] for rows in groups]
        absent = next((key for group in keys for key in group if key not in self._holder), None)
        if absent is not None:
            names = tuple(self._domain.names[position] for position in absent)
            return DataError(f"no table of counts holds the attributes {names}; supply one over them or more")
        stacks = zero_tables(sizes, groups)
        asked, done = sum(map(len, groups)), 0
        for group, stack in zip(keys, stacks, strict=True):
            for table, key in zip(stack.reshape(len(group), -1), group, strict=True):
                table[:] = self._sum_down(key).reshape(-1)
            done += len(group)
            if progress is not None:
                progress(done, asked)
        return stacks

    def _sum_down(self, key: Key) -> IntArray:
        holder = self._holder[key]
        return _sum_down(self._keys[holder], self._tables[holder], key)


def _key(positions: Iterable[int], sizes: Sequence[int]) -> Key:
    return tuple(sorted(position for position in positions if sizes[position] > 1))


def _table(names: object, array: object, domain: Domain) -> tuple[Key, IntArray]:
    """The table in domain order, without axes of length 1."""
    if not isinstance(names, tuple):
        raise DataError(
            f'counts are a mapping from tuples of attribute names, like ("age", "sex"), got the key {names!r}'
        )
    wanted = domain.positions(names)
    given = [domain.positions((name,))[0] for name in names]
    shape = tuple(domain.sizes[position] for position in given)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
        raise DataError(f"the counts of {names} must be a NumPy array of integers")
    if array.shape != shape:
        raise DataError(f"the counts of {names} must have the shape {shape}, got {array.shape}")
    if (array < 0).any():
        raise DataError(f"the counts of {names} must not be negative")
    if int(array.max(initial=0)) * array.size >= 2**63:
        raise DataError(f"the counts of {names} are too large for 64-bit integers")
    ordered = array.astype(np.int64).transpose([given.index(position) for position in wanted])
    key = _key(wanted, domain.sizes)
    return key, ordered.reshape([domain.sizes[position] for position in key])


def _sum_down(key: Key, table: IntArray, wanted: Key) -> IntArray:
    axes = tuple(axis for axis, position in enumerate(key) if position not in wanted)
    return np.asarray(table.sum(axis=axes, dtype=np.int64))


def _holders(keys: Sequence[Key], tables: Sequence[IntArray]) -> dict[Key, int]:
    """For every set that some table holds, the first such table; DataError where two tables contradict each other.

    A table is compared on the largest sets it shares with the tables before it.  Agreement on a set implies agreement
    on its subsets, so in the end all tables agree on all they share.
    """
    holder: dict[Key, int] = {}
    for index, (key, table) in enumerate(zip(keys, tables, strict=True)):
        compared: list[set[int]] = []
        for order in range(len(key), -1, -1):
            for part in combinations(key, order):
                other = holder.setdefault(part, index)
                if other != index and not any(set(part) <= larger for larger in compared):
                    compared.append(set(part))
                    if not np.array_equal(_sum_down(key, table, part), _sum_down(keys[other], tables[other], part)):
                        raise DataError("the tables of counts contradict each other: they must count the same records")
    return holder
