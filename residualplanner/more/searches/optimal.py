"""The best residual basis of one attribute, for given weights of its two variance factors: a convex problem.

Source: eqs. (24), (29) and (31).
"""

import numpy as np
from numpy.typing import NDArray

from residualplanner.more.searches.basis_problem import BasisProblem, Directions, ResidualBasis, Start
from residualplanner.more.searches.contrasts import Contrasts
from residualplanner.more.searches.eigen import eigen

#: Eigenvalues of the queries' Gram matrix below this fraction of the largest count as 0.
_ZERO = 1e-13
#: Above this many values the search starts from the multipliers of a problem a quarter as large.
_COARSE_ABOVE = 96


def optimal_residuals(  # noqa: PLR0913 - a problem, and how it is to be solved
    present: NDArray[np.float64],
    absent: NDArray[np.float64] | None = None,
    *,
    linear: NDArray[np.float64] | None = None,
    constant: float = 0.0,
    u: NDArray[np.float64] | None = None,
    directions: Directions | None = None,
    gap: float = 1e-5,
    steps: int = 200,
    start: ResidualBasis | None = None,
    finish: bool = True,
    contrasts: Contrasts | None = None,
) -> ResidualBasis:
    """Minimize ``p tr(V_t G G^T) + u^T V_s u`` over all residual bases of one attribute, with ``p = max ||S e_j||**2``.

    Args:
        present (n, n): V_t, positive semidefinite: the weighted Gram matrix of the queries where the attribute's own
            residuals are used.
        absent (n, n): V_s, the same where they are not; None to keep u as given.
        linear (n,): ``2 linear^T u`` is added to ``u^T V_s u``, for the constant parts of rows.
        constant: likewise added, such that the sum is never negative.
        u (n,): what u is kept at where there is no V_s, with sum 1; ``1/n``, the best basis orthogonal to the total,
            when omitted.
        directions: those that queries depend on, as `weighted_directions` says; by default of both matrices.
        gap: stop when the objective is proved to be within this fraction of the least possible.
        steps: stop after this many steps, with the gap reached.
        start: the solution of a similar problem.
        finish: whether Newton steps follow where the gap is not reached, and they are quick.
        contrasts: where each of the n stands for a group of values that can be exchanged, what the queries weigh of the
            differences among these; the columns of S, u and the multipliers are then those of the groups.

    Returns:
        The best basis seen.

    Raises:
        SolverError: numbers are too large or too small for floating point.

    Guarantees: the gap is certified by a dual bound, up to rounding.
    Cost: for each step an eigenvalue problem of size n; usually 10 to 30 steps.
    Source: eqs. (29) and (31).

    Example:
        >>> found = optimal_residuals(np.eye(3), np.eye(3))
        >>> found.u.round(6), found.gap < 1e-5
        (array([0.333333, 0.333333, 0.333333]), True)
    """
    n = len(present)
    kept = np.full(n, 1 / n) if u is None else u
    V = np.zeros((n, n)) if absent is None else absent
    slope = np.zeros(n) if linear is None else linear
    if start is not None:
        begin = start.multipliers, start.u
    elif contrasts is not None:
        scale = max(float(np.trace(present)), float(contrasts.freedom @ contrasts.weight), 1e-300)
        begin = scale * contrasts.width / contrasts.width.sum() ** 2, kept
    elif n > _COARSE_ABOVE:
        begin = _coarse_start(present, absent, slope, constant, kept, gap)
    else:
        begin = np.full(n, max(float(np.trace(present)), 1e-300) / n**2), kept
    known = directions or weighted_directions(present + V)
    inside = contrasts or Contrasts.none(n)
    problem = BasisProblem.of(present, V, slope, constant, known, absent is None, inside)
    found = problem.solve(begin if absent is not None else (begin[0], kept), gap, steps)
    return problem.residuals(problem.polished(found, gap) if finish else found)


def weighted_directions(form: NDArray[np.float64]) -> Directions:
    """Which directions of sum 0 have a weight in a positive semidefinite form (n, n), and which have none."""
    Z = zero_sum_basis(len(form))
    values, vectors = eigen(Z.T @ form @ Z)
    is_used = values > _ZERO * values[-1]
    return (Z, np.empty((0, len(form)))) if is_used.all() else (Z @ vectors[:, is_used], (Z @ vectors[:, ~is_used]).T)


def _coarse_start(
    present: NDArray[np.float64],
    absent: NDArray[np.float64] | None,
    linear: NDArray[np.float64],
    constant: float,
    u: NDArray[np.float64],
    gap: float,
) -> Start:
    """Multipliers and u of the problem with four neighboring values in one, spread over them again."""
    n = len(present)
    group = np.arange(n) * (-(-n // 4)) // n
    width = np.bincount(group).astype(np.float64)
    spread = (group[:, None] == np.arange(len(width))) / width
    coarse = optimal_residuals(
        spread.T @ present @ spread,
        None if absent is None else spread.T @ absent @ spread,
        linear=spread.T @ linear,
        constant=constant,
        u=np.bincount(group, weights=u).astype(np.float64),
        gap=max(gap, 1e-3),
    )
    centers = spread.T @ np.arange(n)
    multipliers, start = (np.interp(np.arange(n), centers, x / width) for x in (coarse.multipliers, coarse.u))
    return multipliers, start / start.sum()


def zero_sum_basis(size: int) -> NDArray[np.float64]:
    """Orthonormal columns that each sum to zero, (size, size - 1): all but the first of a Householder reflection.

    Example:
        >>> zero_sum_basis(2).round(6)
        array([[-0.707107],
               [ 0.707107]])
    """
    w = np.full(size, 1 / np.sqrt(size))
    w[0] += 1
    reflection = np.eye(size) - np.outer(w, w) / w[0]
    columns: NDArray[np.float64] = reflection[:, 1:]
    return columns
