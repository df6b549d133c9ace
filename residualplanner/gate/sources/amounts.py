"""Tables of records with amounts, each record divided between the ends of the bins that its amounts are in.

Reads: coded blocks.  Gives: integer tables, in which a record counts D in all, the product of the denominators of the
table's amounts.  A set without amounts is counted as ever.
Source: eq. (104).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product

import numpy as np

from residualplanner.gate.sources.counting import Counts, zero_tables
from residualplanner.gate.sources.covering import Codes
from residualplanner.gate.sources.multiplicities import Multiplicities
from residualplanner.gate.sources.rules import Block
from residualplanner.ground.checks import IntArray
from residualplanner.method.domain.domain import Domain

#: Positions of attributes of amounts, ascending.
Amounts = tuple[int, ...]


class RecordCounts:
    """Tables of a domain to which records are added, some at a time.

    Args:
        domain: the schema.
        groups: each (g, k): g sets of k ascending attribute positions, all of the same shape.
    """

    def __init__(self, domain: Domain, groups: Sequence[IntArray]) -> None:
        self._domain, self._groups = domain, groups
        self._chosen = _sets_by_amounts(domain, groups)
        self._counts = {
            amounts: Counts(domain.sizes, [groups[number][rows] for number, rows in chosen.items()])
            for amounts, chosen in self._chosen.items()
        }

    @property
    def tables(self) -> list[IntArray]:
        """One int64 array (g, n1, .., nk) per group, in each of whose tables a record counts D."""
        if list(self._counts) == [()]:
            return self._counts[()].tables
        tables = zero_tables(self._domain.sizes, self._groups)
        for amounts, chosen in self._chosen.items():
            for (number, rows), found in zip(chosen.items(), self._counts[amounts].tables, strict=True):
                tables[number][rows] = found
        return tables

    def add(self, block: Block, *, report: Callable[[int], None] | None = None) -> None:
        """Add some records.

        Args:
            block: without breaches; int64 holds what its records and those before count, times `largest_denominator`.
            report: called now and then with the number of tables done so far.
        """
        done = 0
        for amounts, counts in self._counts.items():
            *first, last = _divided(self._domain, block, amounts)
            for codes, multiplicities in first:
                counts.add(codes, multiplicities)
            counts.add(*last, report=None if report is None else partial(_report_after, report, done))
            done += sum(len(rows) for rows in self._chosen[amounts].values())


def _report_after(report: Callable[[int], None], before: int, done: int) -> None:
    report(before + done)


def denominator_of_set(domain: Domain, members: Sequence[int]) -> int:
    """D: how often a record counts in all in the table of a set of attributes, given by their positions.

    Source: eq. (104).
    """
    return math.prod(domain.attributes[position].denominator for position in members)


def largest_denominator(domain: Domain, groups: Sequence[IntArray]) -> int:
    """The largest D of the sets of all groups; 1 where there are none."""
    return max((denominator_of_set(domain, amounts) for amounts in _sets_by_amounts(domain, groups)), default=1)


def _sets_by_amounts(domain: Domain, groups: Sequence[IntArray]) -> dict[Amounts, dict[int, IntArray]]:
    """The sets that contain the same amounts: by the number of a group, the indices of its rows."""
    amounts = [position for position, each in enumerate(domain.attributes) if each.numeric is not None]
    found: dict[Amounts, dict[int, IntArray]] = {}
    for number, rows in enumerate(groups):
        contains = (rows[:, :, None] == np.array(amounts, dtype=np.int64)).any(axis=1)
        for own in np.unique(contains, axis=0):
            key = tuple(position for position, is_own in zip(amounts, own.tolist(), strict=True) if is_own)
            found.setdefault(key, {})[number] = np.flatnonzero((contains == own).all(axis=1))
    return found


def _divided(domain: Domain, block: Block, amounts: Amounts) -> Iterator[tuple[Codes, Multiplicities]]:
    """The records in each combination of the ends of their bins, with how much of each is there, in 1/D."""
    for is_high in product((False, True), repeat=len(amounts)):
        codes, multiplicities = block.codes.copy() if any(is_high) else block.codes, block.multiplicities
        for position, high in zip(amounts, is_high, strict=True):
            numerators, denominator = block.numerators[position], domain.attributes[position].denominator
            if high:
                codes[position] += numerators > 0  # a cell without an amount has no other end
            multiplicities = multiplicities.times_entries(numerators if high else denominator - numerators)
        yield codes, multiplicities
