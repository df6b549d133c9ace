"""The best residual basis of one attribute, for given weights of its two variance factors: a convex problem.

Reads: the Gram matrices of what is asked.  Gives: ResidualBasis, a real matrix, with a proof of how good it is.
Source: spec section 5, eqs. (24), (29) and (31); docs/bases.md has the proof.

With T = [1^T; S] and its inverse [u | G], cost and variances depend on S only through u and ``X = (Z^T G)(Z^T G)^T``,
where the columns of Z are an orthonormal basis of the vectors that sum to 0: ``G G^T = Z X Z^T`` and
``||S e_j||**2 = (e_j - u)^T Z X^{-1} Z^T (e_j - u)``.  So the best basis minimizes

    tr(V_t Z X Z^T) + u^T V_s u   subject to   (e_j - u)^T Z X^{-1} Z^T (e_j - u) <= 1  for every value j,

a convex problem in (X, u) together.  For multipliers l_j >= 0 of the constraints the best X is a matrix square root,
the best u solves a linear system, and the multipliers are found by the multiplicative update of spec section 3.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from residualplanner._checks import FloatArray, frozen

#: Eigenvalues of all that is asked below this share of the largest count as 0.  What is not asked about still gets
#: basis vectors, so that all counts follow from the answers; they are this long, and so cost little precision.
_ZERO = 1e-11
_UNASKED_LENGTH = 1e-3
#: Added to the weights of all directions that are asked about, as a share of the mean weight, so that none is 0.
_LEAST_WEIGHT = 1e-8
#: Above this many values the search starts from the multipliers of a problem a quarter as large.
_COARSE_ABOVE = 96
#: Of the multiplicative update; 2 would be Newton's step for a single constraint.
_EXPONENT = 1.8
#: What the exponent is multiplied by after a step that did not raise the dual bound, as where two values take turns,
#: and after one that did.
_DAMPING = 0.7
_RECOVERY = 1.1


@dataclass(frozen=True, eq=False, slots=True)
class ResidualBasis:
    """A residual basis in real numbers, and how it was found.

    Attributes:
        S (n-1, n): the residual matrix, scaled so that its longest column has length 1.
        u (n,): the share of the total that each value is taken to have.
        multipliers (n,): of the constraints; a start for similar problems.
        gap: the objective is within this fraction of the least possible.
    """

    S: FloatArray
    u: FloatArray
    multipliers: FloatArray
    gap: float


class _Start(NamedTuple):
    multipliers: FloatArray
    u: FloatArray


class _Found(NamedTuple):
    objective: float
    S: FloatArray
    v: FloatArray
    multipliers: FloatArray


def optimal_residuals(
    present: NDArray[np.float64],
    absent: NDArray[np.float64] | None = None,
    *,
    u: NDArray[np.float64] | None = None,
    gap: float = 1e-5,
    steps: int = 200,
    start: ResidualBasis | None = None,
) -> ResidualBasis:
    """Minimize ``p tr(V_t G G^T) + u^T V_s u`` over all residual bases of one attribute, with ``p = max ||S e_j||**2``.

    Args:
        present (n, n): V_t, positive semidefinite: the weighted Gram matrix of what is asked where the attribute's own
            residuals are used.
        absent (n, n): V_s, the same where they are not; None to keep u as given.
        u (n,): what u is kept at where there is no V_s, with sum 1; ``1/n``, the best basis orthogonal to the total,
            when omitted.
        gap: stop when the objective is proved to be within this fraction of the least possible.
        steps: stop after this many steps, with the gap reached.
        start: the solution of a similar problem.

    Returns:
        The best basis seen.

    Guarantees: the gap is certified by a dual bound, up to rounding.
    Cost: for each step an eigenvalue problem of size n; usually 10 to 30 steps.
    Source: spec eqs. (29) and (31).

    Example:
        >>> found = optimal_residuals(np.eye(3), np.eye(3))
        >>> found.u.round(6), found.gap < 1e-5
        (array([0.333333, 0.333333, 0.333333]), True)
    """
    n = len(present)
    kept = np.full(n, 1 / n) if u is None else u
    if start is not None:
        begin = _Start(start.multipliers, start.u)
    elif n > _COARSE_ABOVE:
        begin = _coarse_start(present, absent, kept, gap)
    else:
        begin = _Start(np.full(n, float(np.trace(present)) / n**2), kept)
    return _Problem.of(present, absent).solve(begin if absent is not None else begin._replace(u=kept), gap, steps)


@dataclass(frozen=True, eq=False, slots=True)
class _Problem:
    """The problem in coordinates where V_t is the identity: ``c_j = V^{1/2} Z^T e_j``, ``v = V^{1/2} Z^T u``.

    Only the r directions of Z that something is asked about have coordinates.

    Attributes:
        atoms (r, n): the c_j.
        absent (r, r), linear (r,), constant: ``u^T V_s u = v^T absent v + 2 linear^T v + constant``.
        rest (n, r): ``u = 1/n + rest v``.
        unasked (n-1-r, n): orthonormal rows that sum to 0, of which nothing is asked.
        factor: the Cholesky factor of ``absent``.
        is_fixed: whether u is kept as it is.
    """

    atoms: FloatArray
    absent: FloatArray
    linear: FloatArray
    constant: float
    rest: FloatArray
    unasked: FloatArray
    factor: tuple[FloatArray, bool]
    is_fixed: bool

    @classmethod
    def of(cls, present: NDArray[np.float64], absent: NDArray[np.float64] | None) -> "_Problem":
        n = len(present)
        V = np.zeros((n, n)) if absent is None else absent
        Z, unasked = asked_directions(present + V)
        least = _LEAST_WEIGHT * float(np.trace(present) + np.trace(V)) / n * (Z @ Z.T)
        values, vectors = linalg.eigh(Z.T @ (present + least) @ Z)
        roots = np.sqrt(np.maximum(values, values[-1] * 1e-14))
        atoms = (vectors * roots).T @ Z.T
        rest = (Z @ vectors) / roots
        spread = (V + least if absent is not None else V) @ rest
        linear, constant = spread.sum(axis=0) / n, float(V.sum()) / n**2
        quadratic = rest.T @ spread
        ridge = max(float(np.trace(quadratic)), 1e-300) * 1e-13 * np.eye(len(atoms))
        factor = linalg.cho_factor(quadratic + ridge)
        return cls(atoms, quadratic, linear, constant, rest, unasked, factor, absent is None)

    def solve(self, start: _Start, gap: float, steps: int) -> ResidualBasis:
        """Update multipliers, X and u in turn until the dual bound is close enough."""
        multipliers = np.maximum(start.multipliers, start.multipliers.max() * 1e-12)
        v = self.atoms @ start.u
        best, bound, exponent = _Found(np.inf, self.atoms, v, multipliers), -np.inf, _EXPONENT
        for _ in range(steps):
            total = float(multipliers.sum())
            mean = self.atoms @ multipliers / total
            moment = (self.atoms * multipliers) @ self.atoms.T - total * np.outer(mean, mean)
            moment += total * np.outer(v - mean, v - mean)
            values, vectors = linalg.eigh(moment, driver="evd", overwrite_a=True, check_finite=False)
            values = np.maximum(values, values[-1] * 1e-15)
            trace = float(np.sqrt(values).sum())
            half = vectors / values**0.25
            if self.is_fixed:
                value = trace * trace / total + self.constant
            else:
                value = 2 * trace - total + self._least_share(half, total, mean, v)
                v = self._best_v(half, total, mean)
            exponent = min(exponent * _RECOVERY, _EXPONENT) if value > bound else exponent * _DAMPING
            bound = max(bound, value)
            S = half.T @ (self.atoms - v[:, None])
            lengths = np.einsum("ij,ij->j", S, S)
            longest = float(lengths.max())
            objective = trace * longest + self._share(v)
            if objective < best.objective:
                best = _Found(objective, S / np.sqrt(longest), v, multipliers)
            if best.objective - bound <= gap * best.objective:
                break
            multipliers = multipliers * np.clip(lengths, 1e-3, 1e3) ** exponent
        u = 1 / len(multipliers) + self.rest @ best.v
        others = _UNASKED_LENGTH * (self.unasked - (self.unasked @ u)[:, None])
        S = np.vstack([best.S, others])
        S /= np.sqrt((S * S).sum(axis=0).max())
        reached = max(0.0, best.objective - bound) / best.objective
        return ResidualBasis(frozen(S), frozen(u), frozen(best.multipliers), reached)

    def _share(self, v: FloatArray) -> float:
        """``u^T V_s u``."""
        return float(v @ self.absent @ v + 2 * self.linear @ v) + self.constant

    def _best_v(self, half: FloatArray, total: float, mean: FloatArray) -> FloatArray:
        """The v that minimizes the Lagrangian for the present X: a linear system."""
        inverse = half @ half.T
        found: FloatArray = linalg.solve(
            self.absent + total * inverse, total * (inverse @ mean) - self.linear, assume_a="pos", check_finite=False
        )
        return found

    def _least_share(self, half: FloatArray, total: float, mean: FloatArray, v: FloatArray) -> float:
        """What ``u^T V_s u`` and the change of twice the trace away from v come to at least, for any v.

        The trace of the root is convex in v: its tangent and the quadratic together have a least value.
        """
        slope = total * (half @ (half.T @ (v - mean))) + self.absent @ v + self.linear
        return self._share(v) - float(slope @ linalg.cho_solve(self.factor, slope, check_finite=False))


def asked_directions(form: NDArray[np.float64]) -> tuple[FloatArray, FloatArray]:
    """Orthonormal columns (n, r) that sum to 0 and are asked about, and orthonormal rows (n-1-r, n) that are not."""
    Z = zero_sum_basis(len(form))
    values, vectors = linalg.eigh(Z.T @ form @ Z)
    asked = values > _ZERO * values[-1]
    return (Z, np.empty((0, len(form)))) if asked.all() else (Z @ vectors[:, asked], (Z @ vectors[:, ~asked]).T)


def _coarse_start(
    present: NDArray[np.float64], absent: NDArray[np.float64] | None, u: NDArray[np.float64], gap: float
) -> _Start:
    """Multipliers and u of the problem with four neighboring values in one, spread over them again."""
    n = len(present)
    group = np.arange(n) * (-(-n // 4)) // n
    width = np.bincount(group).astype(np.float64)
    spread = (group[:, None] == np.arange(len(width))) / width
    coarse = optimal_residuals(
        spread.T @ present @ spread,
        None if absent is None else spread.T @ absent @ spread,
        u=np.bincount(group, weights=u).astype(np.float64),
        gap=max(gap, 1e-3),
    )
    centers = spread.T @ np.arange(n)
    multipliers, shares = (np.interp(np.arange(n), centers, x / width) for x in (coarse.multipliers, coarse.u))
    return _Start(multipliers, shares / shares.sum())


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
