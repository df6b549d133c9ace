"""The tables that are prespecified: r-of-k thresholds, of which marginals are the case r = k.

Reads: a workload.  Gives: ThresholdTable, with its exact answers and how much one record matters.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from residualplanner.ground.errors import WorkloadError
from residualplanner.method.kron import SameArray
from residualplanner.method.privacy import Neighbors
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.workload import Workload
from residualplanner.more.queries.thresholds import threshold_count, threshold_distance, threshold_map


@dataclass(frozen=True, slots=True)
class ThresholdTable:
    """One table: for each combination of values, how many records match it in at least r of k attributes.

    Attributes:
        positions: of the attributes in the domain, ascending.
        shape: how many values each has.
        at_least: r, from 1 to k; k for a marginal.
    """

    positions: tuple[int, ...]
    shape: tuple[int, ...]
    at_least: int

    @property
    def cells(self) -> int:
        """How many answers it has."""
        return math.prod(self.shape)

    def answers(self, marginal: SameArray) -> SameArray:
        """Its table, from that of the marginal over its attributes.  Source: eq. (58)."""
        return threshold_map(marginal, self.at_least) if self.at_least < len(self.positions) else marginal

    def most_changed(self, neighbors: Neighbors) -> int:
        """In how many cells at most the tables of two data sets differ if one record does.

        Source: eq. (59) of no attribute; docs/adaptive-projection.md eq. (b).

        Example:
            >>> ThresholdTable((0, 1, 2), (3, 2, 4), 2).most_changed(Neighbors("replace"))
            14
        """
        if not neighbors.has_public_total:
            return threshold_count(self.shape, self.at_least) if self.positions else 1
        return max(
            (threshold_distance(self.shape, self.at_least, agreeing=same) for same in self._agreements()), default=0
        )

    def _agreements(self) -> Iterator[tuple[int, ...]]:
        """The axes in which two different records may have equal values."""
        axes = range(len(self.shape))
        free = [axis for axis in axes if self.shape[axis] > 1]
        for count in range(1, len(free) + 1):
            for differing in combinations(free, count):
                yield tuple(axis for axis in axes if axis not in differing)


def thresholds_of(workload: Workload) -> tuple[ThresholdTable, ...]:
    """The tables of a workload, in its order, with their attributes in the order of the domain.

    Raises:
        WorkloadError: a query is neither a marginal nor a threshold of all its attributes.

    Example:
        >>> from residualplanner.method.domain.domain import Domain
        >>> from residualplanner.more.queries.thresholds import Threshold
        >>> thresholds_of(Workload(Domain({"a": 2, "b": 3}), [("a", "b"), Threshold(("a", "b"), 1)]))
        (ThresholdTable(positions=(0, 1), shape=(2, 3), at_least=2),
         ThresholdTable(positions=(0, 1), shape=(2, 3), at_least=1))
    """
    sizes, found = workload.domain.sizes, []
    for block in workload.blocks:
        for positions, codes in zip(block.attributes.tolist(), block.kinds.tolist(), strict=True):
            shape = tuple(sizes[position] for position in positions)
            found.append(ThresholdTable(tuple(positions), shape, _at_least([workload.kinds[code] for code in codes])))
    return tuple(found)


def _at_least(kinds: Sequence[Kind]) -> int:
    """How many of a query's attributes must match."""
    if any(kind != kinds[0] for kind in kinds) or not all(kind.is_identity for kind in kinds):
        raise WorkloadError("RAP measures marginals and thresholds; plan ranges and other kinds of query with select")
    return (kinds[0].at_least if kinds else 0) or len(kinds)
