"""Bases that users ask for by a word, or give as matrices, of integers or real numbers.

Source: eqs. (24) and (36).
"""

import math
from collections.abc import Mapping

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from residualplanner.ground.checks import FloatArray, IntArray, Steps, frozen, require_numbers, untold, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import suggestion
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.matrix import integer_basis, inverse_parts
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.domain.domain import Domain
from residualplanner.method.plan.select import Bases
from residualplanner.method.workload.workload import Workload
from residualplanner.more.replacement.one_way import one_way_problems
from residualplanner.more.searches.attribute_grams import plain_grams, searched_attributes
from residualplanner.more.searches.basis_choice import choose_bases
from residualplanner.more.searches.joint_choice import choose_bases_for_maximum
from residualplanner.more.searches.tree_grams import grams_for_sum

_BY_SET = "optimal_by_set"
_WORDS = ("optimal", _BY_SET, "orthogonal")
#: How much larger, relative, a variance may get because S is rounded.
_LOSS = 1e-4
#: Entries up to here are floats without rounding.
_LARGEST_ENTRY = 2.0**50
#: The largest condition number of a matrix with its row of ones, that of a basis.
_CONDITION = 1e8
#: A strategy's columns are dependent where R of its QR decomposition has a diagonal entry below this fraction.
_TOLERANCE = 1e-10


def bases_for(
    workload: Workload,
    importance: FloatArray,
    bases: Bases,
    *,
    for_maximum: bool,
    replaced: bool,
    progress: Steps = untold,
) -> tuple[Basis, ...]:
    """The basis of every attribute, (d,): those that are given, and the best ones elsewhere; refusals as `read_bases`.

    The variance of each query counts by its ``importance`` (q,): in the sum of average variances, or in the largest
    cell variance.  The search for bases by set starts from these.  Where records are ``replaced`` attributes that only
    one-way tables are about have bases for that.
    """
    option = read_bases(workload.domain, bases)
    given = {} if isinstance(option, str) else option
    names, sizes = workload.domain.names, workload.domain.sizes
    if replaced and option != "orthogonal":
        problems, rest = one_way_problems(workload, importance, of_maximum=for_maximum)
        given = given | {names[i]: problem.basis() for i, problem in problems.items() if names[i] not in given}
        workload, importance = (workload.take(rest), importance[rest]) if len(rest) else (workload, importance)
    if all(names[attribute] in given for attribute in searched_attributes(workload)):
        found = tuple(subtraction_basis(size) for size in sizes)
    elif option == "orthogonal":
        found = choose_bases(workload, importance, "orthogonal")
    elif for_maximum:
        found = choose_bases_for_maximum(workload, importance, progress)
    else:
        grams_of = plain_grams if option == _BY_SET else grams_for_sum
        found = choose_bases(workload, importance, grams_of=grams_of, progress=progress)
    return tuple(given.get(name, basis) for name, basis in zip(names, found, strict=True))


def read_bases(domain: Domain, bases: Bases) -> str | dict[str, Basis]:
    """The word for all bases, or the bases given by name; DomainError or WorkloadError for anything else."""
    if isinstance(bases, str) and bases in _WORDS:
        return bases
    if not isinstance(bases, Mapping):
        raise WorkloadError(
            'bases must be "optimal", "optimal_by_set", "orthogonal" or a mapping from attribute names to matrices, '
            f"got {value_text(bases)}{suggestion(bases, _WORDS)}"
        )
    for name in bases:
        domain.positions((name,))
    return {name: _checked_basis(name, domain[name].size, matrix) for name, matrix in bases.items()}


def _checked_basis(name: str, size: int, matrix: ArrayLike | Basis) -> Basis:
    if isinstance(matrix, Basis):
        if matrix.size != size:
            raise WorkloadError(f"the basis given for {name!r} is for {matrix.size} values, but it has {size}")
        return matrix
    try:
        array = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        raise WorkloadError(f"the basis given for {name!r} must be a matrix of numbers") from None
    if array.shape != (size - 1, size):
        raise WorkloadError(
            f"the basis given for {name!r} must have shape {(size - 1, size)}: one row fewer than it has values, all "
            f"independent of one another and of a row of ones; got {array.shape}"
        )
    try:
        return integer_basis(integer_twin(array)[0], "given")
    except WorkloadError as error:
        raise WorkloadError(f"the basis given for {name!r} cannot be used: {error}") from error


def integer_twin(basis: ArrayLike, *, loss: float = _LOSS) -> tuple[IntArray, int, float]:
    """The integers for a basis matrix S (n-1, n), n >= 2, with the smallest exponent that loses at most ``loss``.

    Returns:
        A matrix (n-1, n) close to ``2**exponent S``; the exponent; and how much larger, relative and at equal privacy
        cost, a variance is at most.

    Raises:
        WorkloadError: the matrix is of another shape, not finite, or too close to dependent rows.

    Guarantees: at equal cost, for every query W the part of the variances that comes from the attribute's own answers,
        ``W G G^T W^T``, grows by less than ``loss`` relative, and so does, for identity queries, the part
        ``W u u^T W^T`` that comes from the total; u moves by less than ``loss / 2`` of its length.
    Source: eq. (36).

    Example:
        >>> integer_twin([[0.3, -0.3]])[:2]  # 0.3 * 2**2, rounded
        (array([[ 1, -1]]), 2)
    """
    S = _checked(basis)
    scale = np.abs(S).max()
    u, G = inverse_parts(S / scale)
    G = G / scale
    pcost = float((S * S).sum(axis=0).max())
    first = -math.floor(math.log2(scale))
    for exponent in range(first, first + 50):
        rounded = np.rint(np.ldexp(S, exponent))
        found = _loss(rounded, G, u, pcost)
        if found < loss:
            return frozen(rounded.astype(np.int64)), exponent, found
    raise WorkloadError("a basis matrix must be well conditioned; no integer matrix comes close enough to this one")


def _loss(rounded: NDArray[np.float64], G: NDArray[np.float64], u: NDArray[np.float64], pcost: float) -> float:
    """How much worse the rounded matrix is than the one with inverse parts u and G and cost ``pcost``.

    Its own inverse parts are ``G M`` and ``u - G M B u`` with ``M`` the inverse of ``B G``, so that ``G M M^T G^T`` is
    at most the largest eigenvalue of ``M M^T`` times ``G G^T``, for every query.
    """
    if np.abs(rounded).max() > _LARGEST_ENTRY:
        return math.inf
    product = rounded @ G
    largest, smallest = np.linalg.norm(product, 2), np.linalg.norm(product, -2)
    if not smallest > largest / 2:  # near 2**b times the identity they are equal
        return math.inf
    own = (rounded * rounded).sum(axis=0).max() / smallest**2 / pcost - 1
    moved = np.linalg.norm(G @ np.linalg.solve(product, rounded @ u)) / np.linalg.norm(u)
    return float(max(own, 2 * moved + moved * moved))


def _checked(basis: ArrayLike) -> NDArray[np.float64]:
    S = np.array(basis, dtype=np.float64)
    if S.ndim != 2 or S.shape[0] < 1 or S.shape[1] != S.shape[0] + 1 or not np.isfinite(S).all():
        raise WorkloadError(f"a basis matrix must be finite, of shape (n-1, n) with n >= 2, got shape {S.shape}")
    with np.errstate(all="ignore"):
        scaled = np.vstack([np.ones(S.shape[1]), S / np.abs(S).max()])
    if not np.isfinite(scaled).all() or not np.linalg.cond(scaled) < _CONDITION:
        raise WorkloadError("a basis matrix must have rows that are independent of one another and of a row of ones")
    return S


def orthogonal_residuals(strategy: ArrayLike, covariance: ArrayLike | None = None) -> FloatArray:
    """The residual matrix of a strategy replacement: what the strategy measures apart from the total.

    Args:
        strategy (m, n): S, of full column rank, whose rows can be anything that the queries follow from.
        covariance (m, m): C, of the noise the strategy would be measured with; independent and equal when omitted.

    Returns:
        Sub (n-1, n) with rows orthogonal to the row of ones and ``Sub^T Sub = P^T P``, where
        ``P = C^{-1/2} (S - S 1 1^T / n)``; ``select`` takes it as a basis: ``bases={"age": Sub}``.

    Raises:
        WorkloadError: a matrix is not finite, of another shape, or the strategy's columns are dependent.

    Source: paper Algorithm 4.

    Example:
        >>> Sub = orthogonal_residuals(np.eye(3))
        >>> np.round(Sub.T @ Sub, 6)
        array([[ 0.666667, -0.333333, -0.333333],
               [-0.333333,  0.666667, -0.333333],
               [-0.333333, -0.333333,  0.666667]])
    """
    S = require_numbers("a strategy must be a matrix of numbers", strategy)
    if S.ndim != 2 or S.shape[1] < 2 or S.shape[0] < S.shape[1] - 1 or not np.isfinite(S).all():
        raise WorkloadError(f"a strategy must be finite, of shape (m, n) with m >= n - 1 and n >= 2, got {S.shape}")
    P = S - S.mean(axis=1, keepdims=True)
    if covariance is not None:
        C = require_numbers("the covariance must be a matrix of numbers", covariance)
        if C.shape != (len(S), len(S)) or not np.isfinite(C).all() or not np.allclose(C, C.T):
            raise WorkloadError(f"the covariance must be symmetric, of shape ({len(S)}, {len(S)}), got {C.shape}")
        try:
            P = scipy.linalg.solve_triangular(np.linalg.cholesky(C), P, lower=True)
        except np.linalg.LinAlgError:
            raise WorkloadError("the covariance of a strategy's noise must be positive definite") from None
    R: FloatArray = np.asarray(np.linalg.qr(P, mode="r"))[: S.shape[1] - 1]
    # The last diagonal entry of the triangle belongs to the total, which P does not see.
    if not (np.abs(np.diagonal(R)) > _TOLERANCE * np.abs(R).max(initial=0.0)).all():
        raise WorkloadError("a strategy must have independent columns, apart from the total")
    return frozen(R)
