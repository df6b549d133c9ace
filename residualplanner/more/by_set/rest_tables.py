"""How what is measured of a set of attributes spreads over the other attributes of a table, with bases by set.

Source: eq. (39).

A subset of a table's attributes is given by its bits: bit i stands for the attribute of axis i.  Arrays have an
axis for each attribute of the table, of length 1 where the attribute makes no difference.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]


def rest_tables(origins: Mapping[tuple[int, int], _Array], start: _Array, order: int) -> dict[int, _Array]:
    """``W h_{A,B}`` for all subsets B of a table's attributes A: the table on A without B, by the bits of B.

    Args:
        origins: for each subset and each axis in it, ``W u`` of that attribute there, along its axis.
            Axes that have none count as 1.
        start: what all tables are multiplied by.
        order: how many attributes the table has.

    An attribute that is spread in the same way in all sets is a factor: ``h_{A,B}`` is its u times ``h_{A without it,
    B}``.

    Cost: ``4**k`` products of tables at most, for k attributes that are not spread in the same way in all sets.
    Source: eq. (39).

    Example:
        >>> origins = {(1, 0): [[1.0], [0]], (3, 0): [[0.5], [0.5]], (2, 1): [[1.0, 0]], (3, 1): [[0.5, 0.5]]}
        >>> found = rest_tables({key: np.array(u) for key, u in origins.items()}, np.ones((1, 1)), 2)
        >>> found[1].tolist(), found[0].tolist()  # by the basis of the pair; by those of both sizes of set
        ([[0.5, 0.5]], [[0.75, 0.25], [0.25, -0.25]])
    """
    everything = (1 << order) - 1
    search = _Spread(origins, start, everything & ~_spread_apart(origins))
    return {part: search.table(everything, part) for part in _subsets(everything)}


@dataclass(frozen=True, eq=False, slots=True)
class _Spread:
    """The recursion (39), every table once.

    Attributes:
        origins, start: as of `rest_tables`.
        constant: the attributes that are spread in the same way in all sets, as bits.
        known: the tables that have been made, by the bits of A and B.
    """

    origins: Mapping[tuple[int, int], _Array]
    start: _Array
    constant: int
    known: dict[tuple[int, int], _Array] = field(default_factory=dict)

    def table(self, whole: int, part: int) -> _Array:
        """The one for two subsets, the second within the first."""
        if whole == part:
            return self.start
        if (whole, part) not in self.known:
            rest = whole & ~part
            factors = rest & self.constant
            first = factors & -factors
            self.known[whole, part] = self._term(whole, part, first) if first else self._sum(whole, part, rest)
        return self.known[whole, part]

    def _sum(self, whole: int, part: int, rest: int) -> _Array:
        terms = ((outside.bit_count(), self._term(whole, part, outside)) for outside in _subsets(rest) if outside)
        return np.asarray(sum(term if count % 2 else -term for count, term in terms))

    def _term(self, whole: int, part: int, outside: int) -> _Array:
        """The table without the attributes outside of it, times their u."""
        term = self.table(whole & ~outside, part)
        for axis in range(outside.bit_length()):
            if outside >> axis & 1 and (whole, axis) in self.origins:
                term = term * self.origins[whole, axis]
        return term


def _spread_apart(origins: Mapping[tuple[int, int], _Array]) -> int:
    """The axes whose arrays are not the same in all sets, as bits."""
    apart = (axis for (_, axis), origin in origins.items() if not np.array_equal(origin, origins[1 << axis, axis]))
    return reduce(or_, (1 << axis for axis in apart), 0)


def _subsets(bits: int) -> Iterator[int]:
    """All subsets of a subset, itself last."""
    part = 0
    while part != bits:
        yield part
        part = (part - bits) & bits
    yield bits
