"""The best residual basis of one attribute, for given weights of its two variance factors: a convex problem.

Source: eqs. (24), (29) and (31).
"""

import math
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.method.bases.matrix import inverse_parts
from residualplanner.more.searches.basis_problem import BasisProblem, Contrasts, Directions, ResidualBasis
from residualplanner.more.searches.eigen import eigen, reflected_form, zero_sum_basis

#: Eigenvalues of the queries' Gram matrix below this fraction of the largest count as 0.
_ZERO = 1e-13
#: None is if what is left without this fraction of their sum is positive definite.
_CLEAR = 1e-12
#: From so many values on a problem that reversal leaves as it is is solved in halves.
_HALVED_FROM = 32
#: What is left as it is but for this fraction of the largest entry, which is rounding.
_MIRRORED = 1e-11


def optimal_residuals(  # noqa: PLR0913 - a problem, and how it is to be solved
    present: NDArray[np.float64],
    absent: NDArray[np.float64] | None = None,
    *,
    linear: NDArray[np.float64] | None = None,
    constant: float = 0.0,
    u: NDArray[np.float64] | None = None,
    directions: Directions | None = None,
    gap: float = 1e-6,
    steps: int = 200,
    start: ResidualBasis | None = None,
    contrasts: Contrasts | None = None,
    reached: float = math.inf,
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
        contrasts: where each of the n stands for a group of values that can be exchanged, what the queries weigh of the
            differences among these; the columns of S, u and the multipliers are then those of the groups.
        reached: the objective of a basis at hand; where none is found that is better, only the bound has a meaning.

    Raises:
        SolverError: numbers are too large or too small for floating point.

    Source: eqs. (29) and (31).
    """
    n = len(present)
    kept = np.full(n, 1 / n) if u is None else u
    V = np.zeros((n, n)) if absent is None else absent
    slope = np.zeros(n) if linear is None else linear
    known, inside = directions or weighted_directions(present + V), contrasts or Contrasts.none(n)
    scale = max(float(np.trace(present)), float(inside.freedom @ inside.weight), 1e-300)
    multipliers = scale * inside.width / inside.width.sum() ** 2
    if start is not None:
        multipliers, kept = start.multipliers, start.u if absent is not None else kept
    is_halved = contrasts is None and n >= _HALVED_FROM and not len(known[1]) and _is_mirrored(present, V, slope, kept)
    if not is_halved:
        whole = BasisProblem.of(present, V, slope, constant, known, absent is None, inside, np.empty((0, 0)))
        return whole.residuals(whole.solve((multipliers, kept), gap, steps, reached))
    # As in eq. (114) for pairs of values, but for their differences, which have a matrix in place of scales.
    half, pairs = n // 2, n - n // 2
    odd = present[:half, :half] - present[:half, ::-1][:, :half]
    forms, known = (_even(present), _even(V), slope[:pairs]), (zero_sum_basis(pairs), np.empty((0, pairs)))
    problem = BasisProblem.of(*forms, constant, known, absent is None, Contrasts.none(pairs), odd)
    begin = _of_pairs(multipliers), _of_pairs(kept)
    return _unfolded(problem.residuals(problem.solve(begin, gap, steps, reached)), n)


def _is_mirrored(*arrays: NDArray[np.float64]) -> bool:
    return all(np.abs(array - np.flip(array)).max() <= _MIRRORED * np.abs(array).max() for array in arrays)


def _even(form: NDArray[np.float64]) -> NDArray[np.float64]:
    """The form of sums of pairs that are divided evenly, the first value with the last and so on."""
    pairs = len(form) - len(form) // 2
    return (form[:pairs, :pairs] + form[:pairs, ::-1][:, :pairs]) / 2


def _of_pairs(values: FloatArray) -> FloatArray:
    """The sums of pairs of values, the first with the last and so on; a value in the middle is alone."""
    pairs, half = len(values) - len(values) // 2, len(values) // 2
    sums = values[:pairs].copy()
    sums[:half] += values[::-1][:half]
    return sums


def _unfolded(found: ResidualBasis, size: int) -> ResidualBasis:
    """The basis of the values, from that of pairs."""
    pairs, half = size - size // 2, size // 2
    pair = np.minimum(np.arange(size), size - 1 - np.arange(size))
    S, width = found.S[:, pair], np.bincount(pair)
    S[pairs - 1 :, size - half :] *= -1
    u, multipliers = (frozen((values / width)[pair]) for values in (found.u, found.multipliers))
    return replace(found, S=frozen(S), u=u, multipliers=multipliers, scales=frozen(np.zeros(size)))


def weighted_directions(form: NDArray[np.float64]) -> Directions:
    """Which directions of sum 0 have a weight in a positive semidefinite form (n, n), and which have none."""
    Z = zero_sum_basis(len(form))
    apart = reflected_form(form)[1:, 1:]
    with suppress(np.linalg.LinAlgError):  # it has a factor where no eigenvalue is as small as that
        np.linalg.cholesky(apart - _CLEAR * float(np.trace(apart)) * np.eye(len(apart)))
        return Z, np.empty((0, len(form)))
    values, vectors = eigen(apart)
    is_used = values > _ZERO * values[-1]
    return Z @ vectors[:, is_used], (Z @ vectors[:, ~is_used]).T


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

    def loss(self, found: ResidualBasis) -> float:
        """Its value for a basis without contrasts, whatever the lengths of its columns."""
        u, form = inverse_forms(found)
        return float((found.S * found.S).sum(axis=0).max() * (self.present * form).sum()) + self.at(u)

    def at(self, u: FloatArray) -> float:
        """The part that depends on u (g,) only."""
        return float(u @ self.absent @ u + 2 * self.linear @ u) + self.constant


@lru_cache(maxsize=2)  # however many kinds of query ask in turn, and once more for what is rounded
def inverse_forms(found: ResidualBasis) -> tuple[FloatArray, FloatArray]:
    """The vector u (g,) and ``G G^T`` (g, g) of the matrix of a basis."""
    u, G = inverse_parts(found.S)
    return u, G @ G.T
