"""Attributes that a query answers together, as an r-of-k threshold: what that does to tables, and to residuals.

Reads: the kinds of query on each attribute.  Gives: tables; the factor of every residual.

The attributes of a query fall into groups.  Each attribute of an ordinary kind is answered for itself; those of one
joint kind together, which is a linear map of the table of their counts that commutes with permutations of each
attribute's values.  On the residual of a set of attributes such a map is a number.
Source: eqs. (58) and (59).
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.kron import SameArray
from residualplanner.method.queries.kind import Kind
from residualplanner.more.queries.thresholds import threshold_map

#: The least factor, relative to a query's largest.
_LEAST = 2.0**-50


def answered_jointly(tables: SameArray, kinds: Sequence[Kind], *, first_axis: int = 0) -> SameArray:
    """Tables whose joint attributes have been answered together; the same array where there are none.

    Args:
        tables (.., q_1, .., q_k): in which each attribute is answered for itself.
        kinds (k,): of query on each attribute.
        first_axis: the axis of the first attribute; all before it are of stacks.

    Cost: about 2 k r additions for each cell, for r-of-k.
    Source: eq. (58).

    Example:
        >>> from residualplanner.method.queries.identity import Matching
        >>> answered_jointly(np.array([[1, 1], [0, 1]]), [Matching(1), Matching(1)])
        array([[2, 3],
               [2, 2]])
    """
    for joint in dict.fromkeys(kind for kind in kinds if kind.at_least):
        axes = [first_axis + axis for axis, kind in enumerate(kinds) if kind == joint]
        tables = threshold_map(tables, joint.at_least, axes=axes)
    return tables


def joint_factors(kinds: Sequence[Kind], codes: NDArray[np.int16], sizes: NDArray[np.int64]) -> FloatArray:
    """What queries multiply the residual of every subset of their attributes by, (m, 2**k); (m, 1) where all have 1.

    Column j is for the subset that has the i-th attribute of its row iff bit i of j is set.  A factor of 0 is replaced
    by one so small that no variance changes: so every noise variance in the closure has an optimum.

    Args:
        kinds: the kinds of query.
        codes (m, k): the number of each attribute's kind among them.
        sizes (m, k): how many values each attribute has.

    Source: eq. (59).

    Example:
        >>> from residualplanner.method.queries.identity import Matching
        >>> joint_factors([Matching(2)], np.zeros((1, 3), dtype=np.int16), np.array([[3, 2, 4]])).round(9)
        array([[ 7.,  4.,  5.,  2.,  3.,  0.,  1., -2.]])
    """
    factors: FloatArray = np.ones((len(codes), 1))
    for at_least, is_joint in _groups(kinds, codes):
        factors = factors * _threshold_factors(is_joint, sizes, at_least)
    return factors


def require_joint(kinds: Sequence[Kind], codes: NDArray[np.int16]) -> None:
    """Raise WorkloadError where a query has too few attributes of a joint kind, of which fewer than all must match.

    Args:
        kinds: the kinds of query.
        codes (m, k): the number of each attribute's kind among them.
    """
    for at_least, is_joint in _groups(kinds, codes):
        counts = is_joint.sum(axis=1)
        if ((counts > 0) & (counts <= at_least)).any():
            raise WorkloadError(
                f"Matching({at_least}) is for more than {at_least} attributes of a query, of which at least {at_least} "
                "must match; where all must, write Identity()"
            )


def _groups(kinds: Sequence[Kind], codes: NDArray[np.int16]) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """For each joint kind in how many attributes a record must match, and which attributes have it, (m, k)."""
    for joint in dict.fromkeys(kind for kind in kinds if kind.at_least):
        yield joint.at_least, np.isin(codes, [code for code, kind in enumerate(kinds) if kind == joint])


def _threshold_factors(is_joint: NDArray[np.bool_], sizes: NDArray[np.int64], at_least: int) -> FloatArray:
    """The factors of one joint kind, (m, 2**k): 1 for queries without it.

    The recursion of `threshold_factor` for all queries and subsets at once: the states are arrays (m, 2**i) after i
    attributes, and an attribute that is not joint changes none.
    """
    count = len(is_joint)
    states = [np.ones((count, 1)), *(np.zeros((count, 1)) for _ in range(at_least))]
    for axis in range(is_joint.shape[1]):
        joint, size = is_joint[:, axis, None], sizes[:, axis, None].astype(np.float64)
        lower = [np.zeros_like(states[0]), *states[:-1]]
        absent = [state * (size - 1) + less for state, less in zip(states, lower, strict=True)]
        present = [less - state for state, less in zip(states, lower, strict=True)]
        absent[-1], present[-1] = states[-1] * size + lower[-1], lower[-1]  # the last one stands for as many or more
        states = [
            np.concatenate([np.where(joint, out, state), np.where(joint, within, state)], axis=1)
            for state, out, within in zip(states, absent, present, strict=True)
        ]
    found = np.where(is_joint.any(axis=1, keepdims=True), states[-1], 1.0)
    return np.where(found == 0, _LEAST * np.abs(found).max(axis=1, keepdims=True), found)
