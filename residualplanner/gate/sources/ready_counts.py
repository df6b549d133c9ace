"""Counts that were made elsewhere."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources.counting import zero_tables
from residualplanner.gate.sources.records import denominator_of_set
from residualplanner.gate.sources.source import Source, WantedTables, guarded
from residualplanner.ground.checks import IntArray, untold
from residualplanner.ground.errors import DataError
from residualplanner.ground.words import names_text
from residualplanner.method.domain.domain import Domain

#: Positions of attributes of more than one value, ascending; the others do not change a table.
Key = tuple[int, ...]
#: A table of counts, one axis for each attribute of its key.
Table = tuple[Key, IntArray]


def source_of_counts(counts: Mapping[Any, Any], domain: Domain) -> Source:
    """Tables of counts; smaller tables are summed down from the smallest that holds them.

    Attribute names stand before an integer array, its axes in the order of the names.  The unit is one record; in
    tables with amounts, whose axes have the cells that `Numeric.ready_counts` gives, the fraction 1/D of one.  Whoever
    counts gets an error where a table has negative counts, or contradicts another: what is in the tables decides
    nothing before.  DataError where a table is not of integers, or not of the schema's shape; DomainError where a name
    is not in the domain, or comes twice.

    Source: eq. (104).
    """
    for names, array in counts.items():
        if not isinstance(names, tuple):
            message = f'counts are a mapping from tuples of attribute names, like ("age", "sex"), got the key {names!r}'
            raise DataError(message)
        shape = tuple(domain.sizes[position] for position in domain.positions_as_written(names))
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu" or array.shape != shape:
            raise DataError(f"the counts of {names} must be a NumPy array of integers, of the shape {shape}")
    kept = dict(counts)

    @cache
    def holder() -> Mapping[Key, Table]:  # tables are checked when they are first counted
        tables = sorted((_table(names, array, domain) for names, array in kept.items()), key=lambda item: item[1].size)
        return {key: tables[index] for key, index in _holders(domain, tables).items()}

    return Source(partial(_count, domain, holder))


def _count(
    domain: Domain, holder_of: Callable[[], Mapping[Key, Table]], wanted: WantedTables
) -> list[IntArray] | DataError:
    holder, (groups, merged, progress, later) = guarded(holder_of), wanted
    if isinstance(holder, DataError):
        return holder
    keys = [[_key(row, domain.sizes) for row in rows.tolist()] for rows in groups]
    needed = chain(*keys, (_key(row, domain.sizes) for rows in later for row in rows.tolist()))
    absent = next((key for key in needed if key not in holder), None)
    if absent is not None:
        names = tuple(domain.names[position] for position in absent)
        held = f"holds the {names_text('attribute', names)}" if names else "tells the number of records"
        return DataError(f"no table of counts {held}; supply one that does")
    stacks = zero_tables(merged.of_domain(domain).sizes, groups)
    total, done = sum(map(len, groups)), 0
    for group, stack in zip(keys, stacks, strict=True):
        for table, key in zip(stack.reshape(len(group), -1), group, strict=True):
            table[:] = merged.of_table(_sum_down(domain, holder[key], key), key).reshape(-1)
        done += len(group)
        (progress or untold)(done, total)
    return stacks


def _key(positions: Iterable[int], sizes: Sequence[int]) -> Key:
    return tuple(sorted(position for position in positions if sizes[position] > 1))


def _table(names: tuple[str, ...], array: NDArray[Any], domain: Domain) -> Table:
    """The table in domain order, without axes of length 1; DataError where it is none of counts."""
    wanted, given = domain.positions(names), domain.positions_as_written(names)
    if isinstance(array, np.ma.MaskedArray):
        raise DataError(f"the counts of {names} must be an array without a mask; fill what is masked")
    if (array < 0).any():
        raise DataError(f"the counts of {names} must not be negative")
    if int(array.max(initial=0)) * array.size >= 2**63:
        raise DataError(f"the counts of {names} are too large for 64-bit integers")
    for axis, position in enumerate(given):
        numeric = domain.attributes[position].numeric
        if numeric is not None:  # the cells of a bin hold multiples of D together
            along, cells, step = array.swapaxes(0, axis), len(numeric), numeric.per_bin
            parts = (along[:cells].reshape(-1, step, *along.shape[1:]).sum(axis=1), along[cells:])
            if any((part % numeric.denominator).any() for part in parts):
                raise DataError(
                    f"the counts of {names} must count each record {numeric.denominator:,} times along "
                    f"{domain.names[position]!r}, divided between the cells of a bin; make that axis by "
                    "Numeric.ready_counts(counts, sums)"
                )
    ordered = array.astype(np.int64).transpose([given.index(position) for position in wanted])
    key = _key(wanted, domain.sizes)
    return key, ordered.reshape([domain.sizes[position] for position in key])


def _sum_down(domain: Domain, table: Table, wanted: Key) -> IntArray:
    key, counts = table
    axes = tuple(axis for axis, position in enumerate(key) if position not in wanted)
    return np.asarray(counts.sum(axis=axes, dtype=np.int64)) // denominator_of_set(domain, [key[axis] for axis in axes])


def _holders(domain: Domain, tables: Sequence[Table]) -> dict[Key, int]:
    """For every set that some table holds, the first such table; DataError where two tables contradict each other.

    A table is compared with those before it on the largest sets that both hold.  Agreement on a set implies agreement
    on its subsets, so in the end all tables agree on all that they have in common.
    """
    holder: dict[Key, int] = {}
    for index, (key, _) in enumerate(tables):
        compared: list[set[int]] = []
        for order in range(len(key), -1, -1):
            for part in combinations(key, order):
                other = holder.setdefault(part, index)
                if other != index and not any(set(part) <= larger for larger in compared):
                    compared.append(set(part))
                    ours, theirs = (_sum_down(domain, tables[number], part) for number in (index, other))
                    if not np.array_equal(ours, theirs):
                        raise DataError("the tables of counts contradict each other: they must count the same records")
    return holder
