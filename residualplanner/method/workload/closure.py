"""The downward closure of a collection of attribute sets: every subset of a member, once.

A closure is stored as a trie, in which the parent of a set is the set without its largest attribute.  A step down the
trie is one search in a sorted array, so all subsets of all queries are found without a loop.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.method.workload.attribute_sets import (
    SET_LIMIT,
    AttributeSets,
    PositionArray,
    combinations,
    require_set_count,
    unique_rows,
)

_IN_CLOSURE = "attribute sets in the downward closure, or more"
#: Up to so many subsets, each as often as it is found, are sorted at once.
_CANDIDATES = 5_000_000


@dataclass(frozen=True, eq=False)
class Closure(AttributeSets):
    """A downward closed collection of attribute sets: paper section 4, the closure of a workload."""

    trivial: NDArray[np.bool_]  # (d,), which attributes have a single value: no set has them, as no table needs them
    _keys: IntArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        AttributeSets.__post_init__(self)
        object.__setattr__(self, "_keys", np.empty(0, dtype=np.int64))
        # A set's key is its parent's number and its last attribute.  As sets are sorted, keys are ascending: the place
        # of a key among all of them is the number of its set, less one for the empty set.
        for order in range(1, len(self.blocks)):
            rows = self.blocks[order]
            parents = self.positions_of(rows[:, :-1])
            keys = np.concatenate([self._keys, parents * self.attribute_count + rows[:, -1]])
            object.__setattr__(self, "_keys", frozen(keys))

    def positions_of(self, rows: ArrayLike) -> IntArray:
        """The number of each set among ``rows`` (m, k), ascending, single values aside; -1 where it is no member."""
        members = np.asarray(rows)
        nodes = np.zeros(len(members), dtype=np.int64)
        for column in range(members.shape[1]):
            children = self._children(np.maximum(nodes, 0), members[:, column])
            nodes = np.where(nodes < 0, -1, children)
        return nodes if len(self) else np.full(len(members), -1, dtype=np.int64)

    def position_of(self, members: Sequence[int]) -> int:
        """The number of one set, its members ascending; -1 where it is not a member."""
        return int(self.positions_of(np.array(members, dtype=np.int32).reshape(1, -1))[0])

    def positions_of_sets(self, sets: AttributeSets) -> IntArray:
        """The number of every set of another collection, in its order; -1 where it is not a member, (m,)."""
        return np.concatenate([self.positions_of(block) for block in sets.blocks])

    def subset_positions(self, rows: ArrayLike) -> IntArray:
        """The numbers of all subsets of the sets ``rows`` (m, k), which must be members, (m, 2**k).

        Column j holds the subset that has the i-th attribute of its row iff bit i of j is set.  Where an attribute has
        a single value, the subsets with and without it are the same set.
        """
        members = np.asarray(rows)
        nodes = np.zeros((len(members), 1 << members.shape[1]), dtype=np.int64)
        for column in range(members.shape[1]):
            known = 1 << column
            nodes[:, known : 2 * known] = self._children(nodes[:, :known], members[:, column, None])
        return nodes

    def _children(self, nodes: IntArray, attributes: PositionArray) -> IntArray:
        """One step down the trie: the set at ``nodes`` together with a larger attribute, -1 where absent."""
        keys = nodes * self.attribute_count + attributes
        slots = np.searchsorted(self._keys, keys)
        found = self._keys.take(slots, mode="clip") == keys if len(self._keys) else np.zeros(keys.shape, dtype=np.bool_)
        children = np.where(found, slots + 1, -1)
        return np.where(self.trivial[attributes], nodes, children)


def downward_closure(sets: AttributeSets, trivial: ArrayLike | None = None, *, set_limit: int = SET_LIMIT) -> Closure:
    """All subsets of the members of ``sets``, without the ``trivial`` (d,) attributes."""
    count = sets.attribute_count
    dropped = frozen(np.zeros(count, dtype=np.bool_) if trivial is None else np.array(trivial, dtype=np.bool_))
    blocks = _without(sets.blocks, dropped)
    while len(blocks) > 1 and not len(blocks[-1]):
        blocks.pop()
    require_set_count(2 ** (len(blocks) - 1), what=_IN_CLOSURE, limit=set_limit)
    used = np.zeros(count, dtype=np.bool_)
    for block in blocks:
        used[block] = True
    # From the largest sets down: those of an order that are found are complete before subsets are taken of them.
    for order in range(len(blocks) - 2, -1, -1):
        blocks[order] = _with_subsets(blocks[order], blocks[order + 1], np.flatnonzero(used))
        above = sum(map(len, blocks[order + 1 :]))
        require_set_count(above + least_subsets(len(blocks[order]), order), what=_IN_CLOSURE, limit=set_limit)
    return Closure(tuple(blocks), count, dropped)


def least_subsets(count: int, order: int) -> int:
    """How many subsets, themselves among them, so many different sets of an order have together at least.

    So few are those of the first sets of that order in colexicographic order: four sets of 3 have 15 subsets.
    Source: the theorem of Kruskal (1963) and Katona (1968), applied order by order.
    """
    if order == 0:
        return count
    subsets = 0
    while count > 0:
        size = order
        while math.comb(size + 1, order) <= count:
            size += 1
        subsets += sum(math.comb(size, smaller) for smaller in range(order + 1))
        count -= math.comb(size, order)
        order -= 1
    return subsets


def subset_products(absent: ArrayLike, present: ArrayLike) -> FloatArray:
    """For every subset of k members, multiply ``present`` (m, k) over it, ``absent`` (m, k) over the rest: (m, 2**k).

    The columns are those of `Closure.subset_positions`.
    """
    without, within = np.asarray(absent, dtype=np.float64), np.asarray(present, dtype=np.float64)
    products = np.ones((len(without), 1 << without.shape[1]))
    # With one member more there are twice as many subsets: those that have it, after those that do not.
    for column in range(without.shape[1]):
        known = 1 << column
        np.multiply(products[:, :known], within[:, column, None], out=products[:, known : 2 * known])
        products[:, :known] *= without[:, column, None]
    return products


def _without(blocks: tuple[PositionArray, ...], dropped: NDArray[np.bool_]) -> list[PositionArray]:
    if not dropped.any():
        return list(blocks)
    pieces: list[list[PositionArray]] = [[] for _ in blocks]
    for block in blocks:
        kept = ~dropped[block]
        orders = kept.sum(axis=1)
        for order in np.unique(orders).tolist():
            chosen = orders == order
            pieces[order].append(block[chosen][kept[chosen]].reshape(int(chosen.sum()), order))
    rows = [np.concatenate([np.empty((0, order), dtype=np.int32), *found]) for order, found in enumerate(pieces)]
    return [unique_rows(block, len(dropped)) for block in rows]


def _with_subsets(rows: PositionArray, larger: PositionArray, used: IntArray) -> PositionArray:
    """``rows`` (m, k) and all sets of that order within one of ``larger`` (m', k+1); all attributes are in ``used``."""
    order = rows.shape[1]
    if len(rows) == math.comb(len(used), order):
        return rows
    if len(larger) == math.comb(len(used), order + 1):
        return combinations(used, order)
    count = int(used[-1]) + 1
    if len(rows) + len(larger) * (order + 1) <= _CANDIDATES:
        parts = [np.delete(larger, column, axis=1) for column in range(order + 1)]
        return unique_rows(np.concatenate([rows, *parts]), count)
    for column in range(order + 1):  # most candidates recur, so that few are held at a time
        rows = unique_rows(np.concatenate([rows, np.delete(larger, column, axis=1)]), count)
        require_set_count(len(rows), what=_IN_CLOSURE)
    return rows
