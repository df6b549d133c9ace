"""Attributes that a query answers together, as an r-of-k threshold: what that does to tables, and to residuals.

The attributes of a query fall into groups.  Each attribute of an ordinary kind is answered for itself; those of one
joint kind together, which is a linear map of the table of their counts that commutes with permutations of each
attribute's values.  On the residual of a set of attributes such a map is a number.  Source: eqs. (58) and (59).
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.kron import SameArray
from residualplanner.method.queries.kind import Kind


def answered_jointly(tables: SameArray, kinds: Sequence[Kind], *, first_axis: int = 0) -> SameArray:
    """Tables (.., q_1, .., q_k) of attributes answered one by one, with the joint ones answered together.

    ``kinds`` (k,) are of the attributes, the axis of the first of which is ``first_axis``; all before it are of stacks.
    Where no kind is joint, it is the same array.  Cost: about 2 k r additions for each cell, for r-of-k.
    Source: eq. (58).

    Example:
        >>> from residualplanner import Matching
        >>> answered_jointly(np.array([[1, 1], [0, 1]]), [Matching(1), Matching(1)])
        array([[2, 3],
               [2, 2]])
    """
    for joint in dict.fromkeys(kind for kind in kinds if kind.at_least):
        from residualplanner.more.queries.thresholds import threshold_map  # a door

        axes = [first_axis + axis for axis, kind in enumerate(kinds) if kind == joint]
        tables = threshold_map(tables, joint.at_least, axes=axes)
    return tables


def joint_factors(kinds: Sequence[Kind], codes: NDArray[np.int16], sizes: IntArray) -> FloatArray:
    """What queries multiply the residual of every subset of their attributes by, (m, 2**k); (m, 1) where all have 1.

    Column j is for the subset that has the i-th attribute of its row iff bit i of j is set.  A factor of 0 is replaced
    by one so small that no variance changes: so every noise variance in the closure has an optimum. ``codes`` (m, k)
    number the kinds of the attributes among ``kinds``, ``sizes`` (m, k) are how many values these have. Source: eq.
    (59).

    Example:
        >>> from residualplanner import Matching
        >>> joint_factors([Matching(2)], np.zeros((1, 3), dtype=np.int16), np.array([[3, 2, 4]])).round(9)
        array([[ 7.,  4.,  5.,  2.,  3.,  0.,  1., -2.]])
    """
    factors: FloatArray = np.ones((len(codes), 1))
    for at_least, is_joint in _groups(kinds, codes):
        from residualplanner.more.queries.thresholds import threshold_factors  # a door

        factors = factors * threshold_factors(is_joint, sizes, at_least)
    return factors


def require_joint(kinds: Sequence[Kind], codes: NDArray[np.int16]) -> None:
    """Raise WorkloadError where a query has too few attributes of a joint kind, of which fewer than all must match."""
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
