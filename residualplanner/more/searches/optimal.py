"""The best residual basis of one attribute, for given weights of its two variance factors: a convex problem.

Source: eqs. (24), (29) and (31).
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.method.bases.matrix import inverse_parts
from residualplanner.more.searches.basis_problem import BasisProblem, Contrasts, Directions, ResidualBasis, Start
from residualplanner.more.searches.eigen import eigen, zero_sum_basis

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
        gap: stop when the objective is proved to be within this fraction of the least possible, up to rounding.
        steps: stop after this many, with the gap reached; each solves an eigenvalue problem of size n.
        start: the solution of a similar problem.
        finish: whether Newton steps follow where the gap is not reached, and they are quick.
        contrasts: where each of the n stands for a group of values that can be exchanged, what the queries weigh of the
            differences among these; the columns of S, u and the multipliers are then those of the groups.

    Raises:
        SolverError: numbers are too large or too small for floating point.

    Source: eqs. (29) and (31).
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


class Tangent(NamedTuple):
    """The objective of one attribute in a round: ``p tr(V_t G G^T) + u^T V_s u + 2 linear^T u + constant``, eq. (31).

    The constant parts of rows give the linear part and the constant.
    """

    present: NDArray[np.float64]  # (g, g): V_t
    absent: NDArray[np.float64]  # (g, g): V_s
    linear: FloatArray  # (g,)
    constant: float
    contrasts: Contrasts | None = None  # V_t on the differences among merged values that queries tell apart

    @classmethod
    def of(
        cls, present: NDArray[np.float64], absent: NDArray[np.float64], contrasts: Contrasts | None = None
    ) -> "Tangent":
        """From augmented forms (1 + g, 1 + g), the first index of which stands for the constant parts of rows."""
        return cls(present[1:, 1:], absent[1:, 1:], absent[0, 1:], float(absent[0, 0]), contrasts)

    def best_orthogonal(self, even: FloatArray, directions: Directions, **how: Any) -> ResidualBasis:
        """The best basis orthogonal to the total for the present part, with u ``even`` (g,)."""
        return optimal_residuals(self.present, u=even, directions=directions, contrasts=self.contrasts, **how)

    def best(self, directions: Directions, **how: Any) -> ResidualBasis:
        """The best basis, see `optimal_residuals`."""
        present, absent, linear, constant, contrasts = self
        return optimal_residuals(
            present, absent, linear=linear, constant=constant, directions=directions, contrasts=contrasts, **how
        )

    def restricted(self, averaging: NDArray[np.float64]) -> "Tangent":
        """The same for merged values, each a mean over its group with the weights ``averaging`` (groups, g)."""
        present, absent = (averaging @ form @ averaging.T for form in (self.present, self.absent))
        return Tangent(present, absent, averaging @ self.linear, self.constant)

    def loss(self, S: NDArray[np.float64]) -> float:
        """Its value for a residual matrix (g-1, g)."""
        u, form = inverse_forms(S)
        return float((S * S).sum(axis=0).max() * (self.present * form).sum()) + self.at(u)

    def at(self, u: FloatArray) -> float:
        """The part that depends on u (g,) only."""
        return float(u @ self.absent @ u + 2 * self.linear @ u) + self.constant


@lru_cache(maxsize=1)
def forms_of_found(found: ResidualBasis) -> tuple[FloatArray, FloatArray]:
    """`inverse_forms` of the matrix of a basis that was found: once, however many kinds of query ask for it in turn."""
    return inverse_forms(found.S)


def inverse_forms(S: NDArray[np.float64]) -> tuple[FloatArray, FloatArray]:
    """The vector u (g,) and ``G G^T`` (g, g) of a residual matrix (g-1, g)."""
    u, G = inverse_parts(S)
    return u, G @ G.T
