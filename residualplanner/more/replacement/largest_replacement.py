"""The two records whose exchange costs the most: a search over what can differ in each class of attributes.

Source: eq. (37).

The cost of two records is ``P(a) + P(b) - 2 P(c)``: a and b have the squared length of each record's column for every
attribute, c has their product, and P, a sum over sets of products, is linear in each attribute.  Attributes of a class
have the same columns and can be exchanged, so only how many of them differ in which way matters.  Where all extreme
pairs of a class have columns of full length, P is needed at its corners only.  Other classes are branched on, with the
corners of what is left as a bound.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray

#: The most ways in which attributes of a class may differ for all of them to be tried, and the most entries at a time.
_OPTIONS, _ENTRIES = 2**14, 2**22
#: A branch is followed unless it costs less than the best known way by this part.
_TIE = 1e-11
#: How many of the costliest ways are given.
_GIVEN = 64
#: How often each class is changed to find a way that costs much.
_SWEEPS = 3

Array = NDArray[np.float64]
#: Choices for the first classes: what is left of the table, (f, 3, ..), for the first lengths, the second ones and the
#: products; the options, (f, classes); and what no way to go on costs more than, (f,).
_Nodes = tuple[Array, IntArray, Array]


@dataclass(frozen=True, eq=False, slots=True)
class ReplacementOptions:
    """The ways in which the attributes of one class can differ."""

    records: Array  # (o, 3, M): for each of M attributes the squared lengths of two records' columns, and their product
    #: (o, 3, L): for k below L the sums of products of k of these numbers; where there are too many options to try all,
    #: of numbers that are at least as costly.
    bounds: Array
    corners: Array  # (q, L): the same for products of columns that are each the largest or the least, by how many are
    full: Array  # (L,): the same for lengths that are all the largest
    is_corner: bool  # whether the options are the corners, so that there is no need to branch

    @classmethod
    def of(cls, pairs: FloatArray, longest: float, count: int, length: int) -> "ReplacementOptions":
        """Of a class of M = ``count`` attributes, of which a set has fewer than L = ``length``.

        From `Basis.extreme_pairs` (t, 3) and the largest squared length of a column.
        """
        same = np.full((1, 3), longest)
        states = np.vstack([same, np.unique(np.vstack([pairs, pairs[:, [1, 0, 2]]]), axis=0)])
        corners = np.vstack([same, [longest, longest, pairs[:, 2].min()]])
        least = states[1 + states[1:, 2].argmin()]
        is_corner = not are_few(pairs, count) or np.array_equal(states, corners)
        actual, limits = (np.vstack([same, least]), corners) if is_corner else (states, states)
        chosen = _multisets(len(actual), count)
        bounds = np.stack([_elementary(limits[chosen, part], length) for part in range(3)], axis=1)
        lowest = _elementary(corners[_multisets(2, count), 2], length)
        return cls(np.swapaxes(actual[chosen], 1, 2), bounds, lowest, bounds[0, 0], is_corner)


def are_few(pairs: FloatArray, count: int) -> bool:
    """Whether all ways in which ``count`` attributes of these pairs (t, 3) can differ are tried, at most."""
    return math.comb(count + 2 * len(pairs), count) <= _OPTIONS


def largest_replacement(table: Array, options: Sequence[ReplacementOptions]) -> tuple[float, Array]:
    """Search for the two records of the largest cost, from the precision of sets by how many they have of each class.

    The table has an axis for each class, as there are options for each.  Found are what no two records cost more than,
    but for rounding; and the squared lengths and products of some ways that cost the most, class after class, (k, 3,
    attributes).

    Cost: where all classes are at their corners, a pass over the table for each class; for each class that is branched
        on, some million operations at most, after which the least promising branches are left with their bound.
    """
    order = sorted(range(len(options)), key=lambda at: (options[at].is_corner, len(options[at].bounds)))
    sorted_options = [options[at] for at in order]
    bound, chosen = _searched(np.ascontiguousarray(np.transpose(table, order)), sorted_options)
    parts = [options[at].records[chosen[:, axis]] for axis, at in enumerate(order)]
    return bound, np.concatenate([parts[order.index(at)] for at in range(len(options))], axis=2)


def _searched(table: Array, options: list[ReplacementOptions]) -> tuple[float, IntArray]:
    """A bound of the cost, and the options (k, classes) of ways that cost the most; corners come last."""
    branching = sum(not each.is_corner for each in options)
    best, loose = _climbed(table, options, branching) if branching else 0.0, 0.0
    tables, picked = np.broadcast_to(table, (1, 3, *table.shape)), np.empty((1, 0), dtype=np.int64)
    limits = np.full(1, math.inf)
    for depth in range(branching):
        room = max(1, _ENTRIES // (3 * len(options[depth].bounds) * math.prod(table.shape[depth:])))
        order = np.argsort(-limits)
        loose = max([loose, *limits[order[room : room + 1]]])
        kept = order[:room]
        tables, picked, limits = _branched(tables[kept], picked[kept], options[depth:], best)
        if not len(limits):  # all that is left is among those that there was no room for
            return max(best, loose), np.empty((0, len(options)), dtype=np.int64)
    corners = options[branching:]
    costs, chosen = [np.full(1, -math.inf)], [np.zeros((0, len(options)), dtype=np.int64)]
    step = max(1, _ENTRIES // math.prod(len(each.corners) for each in corners))
    for start in range(0, len(limits), step):
        every = _costs(tables[start : start + step], corners)
        if every.size <= _GIVEN:
            top = np.argsort(-every, axis=None)
        else:
            top = np.argpartition(every, -_GIVEN, axis=None)[-_GIVEN:]
        row, *corner = np.unravel_index(top, every.shape)
        costs.append(every.ravel()[top])
        chosen.append(np.column_stack([picked[start + row], *corner]))
    found = np.concatenate(costs)[1:]
    bound = max(best, loose, float(found.max(initial=0.0)))
    return bound, np.concatenate(chosen)[np.argsort(found)[-_GIVEN:]]


def _branched(tables: Array, chosen: IntArray, options: list[ReplacementOptions], best: float) -> _Nodes:
    """The nodes with each option of the first of these classes, but for those that cannot cost as much as ``best``."""
    below = np.einsum("fpl...,opl->fop...", tables, options[0].bounds)
    costs = _costs(below.reshape(-1, *below.shape[2:]), options[1:])
    limit = costs.reshape(*below.shape[:2], -1).max(axis=2)
    row, option = np.nonzero(limit >= best * (1 - _TIE))
    return below[row, option], np.column_stack([chosen[row], option]), limit[row, option]


def _costs(tables: Array, options: Sequence[ReplacementOptions]) -> Array:
    """The costs (f, q, ..) of nodes at all corners of the classes that are left."""
    lengths, products, shape = tables[:, 0] + tables[:, 1], tables[:, 2], [len(tables)]
    for each in options:
        lengths = np.einsum("fl...,l->f...", lengths, each.full)
        products = products.reshape(math.prod(shape), len(each.full), -1)
        products = np.einsum("flr,ql->fqr", products, each.corners)
        shape.append(len(each.corners))
    return lengths.reshape(-1, *(1,) * len(options)) - 2 * products.reshape(shape)


def _climbed(table: Array, options: list[ReplacementOptions], branching: int) -> float:
    """The cost of a way that is changed class by class, from the costliest corner on."""
    costs = _costs(np.broadcast_to(table, (1, 3, *table.shape)), options)[0]
    corner = np.unravel_index(int(costs.argmax()), costs.shape)
    tables = [table, table, table]
    for each, at in zip(options[: branching - 1 : -1], corner[: branching - 1 : -1], strict=True):
        tables = [left @ vector for left, vector in zip(tables, each.bounds[at], strict=True)]
    first = zip(options[:branching], corner[:branching], strict=True)
    vectors = [np.array([each.full, each.full, each.corners[at]]) for each, at in first]
    best = 0.0
    for number in [*range(branching)] * _SWEEPS:
        own = options[number].bounds
        sums = [_but_one(left, [each[part] for each in vectors], number) for part, left in enumerate(tables)]
        values = own[:, 0] @ sums[0] + own[:, 1] @ sums[1] - 2 * own[:, 2] @ sums[2]
        vectors[number], best = own[values.argmax()], float(values.max())
    return best


def _but_one(table: Array, vectors: Sequence[Array], kept: int) -> Array:
    """The table summed with a vector for each axis but one."""
    for axis in reversed(range(len(vectors))):
        if axis != kept:
            table = np.tensordot(table, vectors[axis], axes=(axis, 0))
    return table


def _multisets(states: int, count: int) -> IntArray:
    """All choices of so many of some states without order, (o, count)."""
    return np.array(list(itertools.combinations_with_replacement(range(states), count)), dtype=np.int64)


def _elementary(values: Array, length: int) -> Array:
    """The sums of products of k of the values (o, M), for k below ``length``, (o, length)."""
    sums = np.eye(1, length).repeat(len(values), axis=0)
    # e_k of the values up to one is e_k of those before, plus that one times their e_(k-1).
    for value in values.T:
        sums[:, 1:] += value[:, None] * sums[:, :-1]
    return sums
