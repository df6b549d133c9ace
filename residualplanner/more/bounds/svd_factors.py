"""What each attribute contributes to the singular values of a workload: a small matrix, and a number for the rest.

Source: eq. (33).

With ``1/sqrt(n)`` for the first coordinate, a kind's Gram matrix over n is ``[[a, b^T], [b, C]]``, and that of an
attribute that is summed out has a single 1 in its corner.  In the eigenvectors of C only one direction for each
distinct eigenvalue can be tied to the corner by b: these make up the head.  The others, the tail, are on their own:
wherever one of them is present so is the attribute, and its eigenvalue is a factor of everything.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.workload import Workload

#: The largest symmetric matrix whose eigenvalues are computed.
LARGEST = 6_000
#: Eigenvalues that differ by less than this fraction of the largest are equal; ties weaker than the second are none.
_SAME = 1e-13
_NO_TIE = 1e-14


@dataclass(frozen=True, eq=False, slots=True)
class AttributeFactors:
    """What every attribute contributes.

    Attributes:
        heads: (r, r) for each attribute and kind, by their numbers, where the head is larger than its corner.
        roots: the sum of the roots of the eigenvalues of each of them.
        corner (d, kinds): the corner a, where that is all of the head; else 1.
        tail (d,): the sum of the roots of the eigenvalues in the tail; 0 where there is none.
    """

    heads: Mapping[tuple[int, int], FloatArray]
    roots: Mapping[tuple[int, int], float]
    corner: FloatArray
    tail: FloatArray


def attribute_factors(workload: Workload) -> AttributeFactors:
    """What every attribute of a workload contributes.

    Where all queries have one kind of an attribute, its singular values are factors of all others: all of it is tail.
    An attribute with several kinds has no tail.

    Raises:
        WorkloadError: an attribute has too many values, or joint and other kinds.

    Cost: an eigenvalue problem of size n for each attribute with other kinds than identity.
    Source: eq. (33).
    """
    require_exchangeable_values(workload)
    sizes = workload.domain.sizes
    corner, tail = np.ones(workload.uses.shape), np.zeros(len(sizes))
    heads: dict[tuple[int, int], FloatArray] = {}
    roots: dict[tuple[int, int], float] = {}
    known: dict[tuple[int, tuple[int, ...], bool], tuple[list[FloatArray], list[float], float]] = {}
    always = _query_counts(workload) == len(workload)
    for attribute, size in enumerate(sizes):
        codes = tuple(np.flatnonzero(workload.uses[attribute]).tolist())
        kinds = [workload.kinds[code] for code in codes]
        key = (size, codes, bool(always[attribute].any()) and not kinds[0].at_least)
        if key not in known:
            found, rest = _head_and_tail(workload.domain.names[attribute], size, kinds, key[2])
            known[key] = found, [root_trace(head) for head in found], rest
        found, traces, tail[attribute] = known[key]
        for code, head, trace in zip(codes, found, traces, strict=True):
            if len(head) > 1:
                heads[attribute, code], roots[attribute, code] = head, trace
            else:
                corner[attribute, code] = head[0, 0]
    return AttributeFactors(heads, roots, corner, tail)


def require_exchangeable_values(workload: Workload) -> None:
    """Raise WorkloadError where a threshold has an attribute whose values other queries tell apart.

    Its Gram matrix is then no product over attributes.
    """
    joint = np.array([kind.at_least > 0 for kind in workload.kinds])
    other = np.array([not kind.is_identity for kind in workload.kinds])
    mixed = np.flatnonzero(workload.uses[:, joint].any(axis=1) & workload.uses[:, other].any(axis=1))
    if len(mixed):
        raise WorkloadError(
            f"the bound is not computed where {workload.domain.names[mixed[0]]!r} is in thresholds and has other kinds "
            "of query than single values; leave out one or the other"
        )


def root_trace(matrix: NDArray[np.float64]) -> float:
    """The sum of the roots of the eigenvalues of a positive semidefinite matrix (n, n).

    Eigenvalues that cannot be told from 0 count as 0, which can only lower the sum.
    """
    values = scipy.linalg.eigvalsh(matrix, check_finite=False)
    return float(np.sqrt(np.where(values > len(values) * 2e-16 * values[-1], values, 0.0)).sum())


def reflected(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """The columns of ``array`` (q, n) in coordinates of which the first is along ``1/sqrt(n)``, (q, n).

    The coordinates are those of a Householder reflection, which costs O(q n).

    Example:
        >>> reflected(np.ones((1, 4))).round(6)
        array([[-2.,  0.,  0.,  0.]])
    """
    w = np.full(array.shape[1], 1 / np.sqrt(array.shape[1]))
    w[0] += 1
    turned: NDArray[np.float64] = array - np.outer(array @ w / w[0], w)
    return turned


def _query_counts(workload: Workload) -> NDArray[np.int64]:
    """How many queries have each kind of each attribute, (d, kinds)."""
    times = np.zeros(workload.uses.shape, dtype=np.int64)
    for block in workload.blocks:
        np.add.at(times, (block.attributes, block.kinds), 1)
    return times


def _head_and_tail(name: str, size: int, kinds: list[Kind], always: bool) -> tuple[list[FloatArray], float]:
    """The head of one attribute in each kind, and its tail."""
    if all(kind.is_identity for kind in kinds):
        n, is_tail = float(size), always and size > 1
        corner = np.full((1, 1), 0.0 if is_tail else 1 / n)
        return [corner] * len(kinds), n**0.5 if is_tail else (n - 1) / n**0.5
    if always and size > 1:
        return [np.zeros((1, 1))], root_trace(kinds[0].gram(size) / size)
    if size > LARGEST:
        raise WorkloadError(
            f"the bound needs the eigenvalues of matrices of as many rows as {name!r} has values, {size:,}; it is "
            f"computed up to {LARGEST:,}: ask for its single values, or use coarser ones"
        )
    turned = [reflected(reflected(kind.gram(size)).T) / size for kind in kinds]
    return _arrow(turned[0]) if len(turned) == 1 else (turned, 0.0)


def _arrow(turned: NDArray[np.float64]) -> tuple[list[FloatArray], float]:
    """The head of a single matrix (n, n), with entries in its first row and column and on its diagonal; its tail."""
    corner = turned[0, 0]
    values, vectors = scipy.linalg.eigh(turned[1:, 1:], check_finite=False)
    values = np.maximum(values, 0.0)
    largest = max(corner, float(values.max(initial=0.0)))
    group = np.cumsum(np.diff(values, prepend=values[:1]) > _SAME * largest)
    count = np.bincount(group)
    value = np.bincount(group, weights=values) / count
    tie = np.sqrt(np.bincount(group, weights=(vectors.T @ turned[1:, 0]) ** 2))
    tied = tie > _NO_TIE * largest
    head = np.diag(np.concatenate([[corner], value[tied]]))
    head[0, 1:] = head[1:, 0] = tie[tied]
    return [head], float(((count - tied) * np.sqrt(value)).sum())
