"""The problem of the best residual basis in coordinates, and the search for its solution.

Source: eqs. (24), (29) and (31).

With T = [1^T; S] and its inverse [u | G], cost and variances depend on S only through u and ``X = (Z^T G)(Z^T G)^T``,
where the columns of Z are an orthonormal basis of the vectors that sum to 0: ``G G^T = Z X Z^T`` and
``||S e_j||**2 = (e_j - u)^T Z X^{-1} Z^T (e_j - u)``.  So the best basis minimizes

    tr(V_t Z X Z^T) + u^T V_s u   subject to   (e_j - u)^T Z X^{-1} Z^T (e_j - u) <= 1  for every value j,

a convex problem in (X, u) together.  For multipliers l_j >= 0 of the constraints the best X is a matrix square root,
the best u solves a linear system, and the multipliers are found by the multiplicative update of
docs/mathematics.md section 5.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.more.searches.eigen import eigen
from residualplanner.more.searches.extrapolation import Extrapolation

#: Directions that no query depends on still get basis vectors, so that all counts follow from the answers; they are
#: this short, and cost little.
UNUSED_LENGTH = 1e-3
#: The least weight of a direction that queries depend on, relative to the mean weight: the others' bases need not reach
#: into the last digits for it.  The gap takes account of it.
_LEAST_WEIGHT = 1e-12
#: Eigenvalues below this fraction of the largest may be rounding: they do not raise the bound.
_ROUNDING = 1e-14
#: The exponent of the multiplicative update: 2 would be Newton's step for a single constraint; neighbors need more.
_EXPONENT = 2.4
#: How far the logarithm of a multiplier moves in a step.
_FARTHEST = 5.0
#: No multiplier is less than this fraction of the largest.
_LEAST_MULTIPLIER = 1e-14
#: Columns of less than this squared length do not become as long as the others.
_SHORTEST = 1e-6

#: Orthonormal columns (n, r) of sum 0 that queries depend on, and orthonormal rows (n-1-r, n) that none depends on.
Directions = tuple[FloatArray, FloatArray]
#: Multipliers (n,) and u (n,) to begin from.
Start = tuple[FloatArray, FloatArray]


class Contrasts(NamedTuple):
    """What the queries weigh of the differences among the values of each group, where values are merged in groups.

    Merged values can be exchanged; the best basis is invariant, so all contrasts among them have one scale.  Source:
    eqs. (113) and (114).
    """

    width: FloatArray  # (n,): how many values each group has
    freedom: FloatArray  # (n,): how many contrasts are measured, width - 1 or 0
    weight: FloatArray  # (n,): the eigenvalue of V_t on them

    @classmethod
    def none(cls, size: int) -> "Contrasts":
        """Of values that are not merged."""
        return cls(np.ones(size), np.zeros(size), np.zeros(size))

    def trace(self, multipliers: FloatArray) -> float:
        """The trace of Y in these directions, for multipliers (n,) of the groups."""
        return float(self.freedom @ np.sqrt(self.weight / self.width * multipliers))

    def scales(self, multipliers: FloatArray) -> FloatArray:
        """The squared scale of what is measured of each group's contrasts, (n,); 0 where nothing is."""
        scales: FloatArray = np.sqrt(self.width * self.weight / multipliers)
        return np.where(self.freedom > 0, scales, 0.0)

    def lengths(self, scales: FloatArray) -> FloatArray:
        """What contrasts of these scales (n,) add to the squared length of the columns of each group, (n,)."""
        return self.freedom / self.width * scales


@dataclass(frozen=True, eq=False, slots=True)
class ResidualBasis:
    """A residual basis in real numbers, and how it was found."""

    S: FloatArray  # (n-1, n): the residual matrix, scaled so that its longest column has length 1
    u: FloatArray  # (n,): how the total is spread over the values where all residuals are 0
    multipliers: FloatArray  # (n,): of the constraints; a start for similar problems
    gap: float  # the objective is within this fraction of the least possible
    bound: float  # no basis has a smaller objective
    scales: FloatArray  # (n,): the squared scale of the contrasts in each group of merged values, 0 where none are


class _Multipliers(NamedTuple):
    """Multipliers (n,) and v (r,), and what follows from them."""

    multipliers: FloatArray  # scaled such that they add up to the trace
    v: FloatArray
    total: float  # of the multipliers
    apart: FloatArray  # (r,): v less the mean of the atoms
    half: FloatArray  # (r, r): half half^T = Y^{-1}, with orthogonal columns
    odd_half: FloatArray  # (h, h): the same of odd directions
    trace: float  # of Y
    certain: float  # the same without what may be rounding
    S: FloatArray  # (r + odd, n): half^T times the atoms less v, then the rows of odd directions


class _BestBasis(NamedTuple):
    """The best basis so far, and what no other is below."""

    objective: float
    bound: float
    S: FloatArray
    v: FloatArray
    multipliers: FloatArray
    scales: FloatArray

    @property
    def gap(self) -> float:
        return (self.objective - self.bound) / self.objective if self.objective < math.inf else math.inf


@dataclass(frozen=True, eq=False, slots=True)
class BasisProblem:
    """The problem in coordinates where V_t is the identity: ``c_j = V^{1/2} Z^T e_j``, ``v = V^{1/2} Z^T u``.

    Only the r directions of Z that queries depend on have coordinates.  They are such that the Gram matrix where
    the attribute is absent is diagonal: ``u^T V_s u = sum absent v**2 + 2 linear^T v + constant``.
    """

    atoms: FloatArray  # (r, n): the c_j
    absent: FloatArray  # (r,)
    linear: FloatArray  # (r,)
    constant: float
    rest: FloatArray  # (n, r): u = 1/n + rest v
    unused: FloatArray  # (n-1-r, n): orthonormal rows of sum 0 that no query depends on
    odd: FloatArray  # (h, n): atoms in the directions that a reversal of the values turns round, of which u has none
    raised: FloatArray  # (r + h,): by how much each root of V's eigenvalues was raised, in the coordinates of weighed
    weighed: FloatArray  # (r + h, n): Z^T e_j in the coordinates of V's eigenvectors
    is_fixed: bool  # whether u is kept as it is
    contrasts: Contrasts  # of the groups of values that the n stand for
    loose: FloatArray  # (n,): by how much the root of each contrast's weight was raised

    @classmethod
    def of(
        cls,
        present: NDArray[np.float64],
        absent: NDArray[np.float64],
        linear: FloatArray,
        constant: float,
        directions: Directions,
        is_fixed: bool,
        contrasts: Contrasts,
        odd: NDArray[np.float64],
    ) -> "BasisProblem":
        """The problem with these weights; ``odd`` (h, h) is the form of the differences in the first h pairs of values.

        A difference has length 1, and each value of a pair is half of the pair and its difference over the root of 2.
        """
        n, (Z, unused) = len(present), directions
        form = Z.T @ present @ Z
        values, vectors = eigen(form)
        differences, turns = eigen(odd) if len(odd) else (np.empty(0), odd)
        trace = float(values.sum() + differences.sum()) + float(contrasts.freedom @ contrasts.weight)
        least = _LEAST_WEIGHT * max(trace, 1e-3 * float(np.trace(absent)), 1e-280) / float(contrasts.width.sum())
        both = np.concatenate([values, differences])
        all_roots = np.sqrt(np.maximum(both, least))
        raised = all_roots - np.sqrt(np.maximum(both, 0.0))
        roots = all_roots[: len(values)]
        turned_Z = Z @ vectors
        rest = turned_Z / roots
        of_pairs = np.pad(turns.T / np.sqrt(2), ((0, 0), (0, n - len(odd))))
        weighed = np.vstack([turned_Z.T, of_pairs])
        atoms, odd_atoms = np.split(all_roots[:, None] * weighed, [len(values)])
        quadratic = np.zeros(len(roots))
        if not is_fixed:
            share = float(np.trace(absent)) / max(float(np.trace(present)), 1e-300)
            if np.abs(absent - share * present).max() <= 1e-14 * share * np.abs(present).max():
                quadratic = share * np.maximum(values, 0.0) / roots**2  # one kind of query: diagonal as it is
            else:
                quadratic, turned = eigen(rest.T @ absent @ rest)
                rest, atoms = rest @ turned, turned.T @ atoms
                quadratic = np.maximum(quadratic, 0.0)
        even = absent.sum(axis=0) / n + linear
        of_even = float(absent.sum()) / n**2 + 2 * float(linear.sum()) / n + constant
        weight = np.maximum(contrasts.weight, least)
        loose = np.sqrt(weight) - np.sqrt(np.maximum(contrasts.weight, 0.0))
        slope, firm = rest.T @ even, contrasts._replace(weight=weight)
        return cls(atoms, quadratic, slope, of_even, rest, unused, odd_atoms, raised, weighed, is_fixed, firm, loose)

    def solve(self, start: Start, gap: float, steps: int, reached: float) -> _BestBasis:
        """Update multipliers, X and u in turn until the dual bound is close enough to the best objective.

        That is the least one found, or what a basis at hand has ``reached``.

        A step is what the multiplicative update changes in the multipliers' logarithms, and in v.  Steps are nearly
        linear in where they start, so each goes on to where, by the last ones, none would follow.
        """
        multipliers, v = np.maximum(start[0], start[0].max() * 1e-12), self.atoms @ start[1]
        best, steady = _BestBasis(reached, -math.inf, self.atoms, v, multipliers, multipliers), Extrapolation()
        for step in range(steps):
            point = self._point(multipliers, v)
            moved = v if self.is_fixed else self._best_v(point)
            S, lengths = self._columns(point, moved)
            best = self._better(best, point, moved, S, lengths)
            leveled = point.trace + float(point.multipliers @ (lengths - 1)) + self._total_part(moved)
            if leveled - best.bound <= gap * leveled or step == steps - 1:
                best = self._leveled(best, point, moved, S, lengths)
            if best.gap <= gap:
                break
            logs = np.log(point.multipliers)
            move = np.concatenate([_EXPONENT * np.log(np.clip(lengths, 0.1, 10)), moved - v])
            # Coordinates count as in the second derivatives of the Lagrangian.
            stiff = self.absent / point.total + (point.half * point.half).sum(axis=1)
            scale = np.sqrt(np.append(point.multipliers / point.total, stiff))
            move = steady.step(np.concatenate([logs, v]), move, scale)
            multipliers = np.exp(logs + np.clip(move[: len(logs)], -_FARTHEST, _FARTHEST))
            multipliers = np.maximum(multipliers, multipliers.max() * _LEAST_MULTIPLIER)
            v = v + move[len(logs) :]
        return best

    def _point(self, multipliers: FloatArray, v: FloatArray) -> _Multipliers:
        # M = sum_j l_j (c_j - v)(c_j - v)^T, and the same of odd atoms; Y is its root.
        found = []
        for atoms in (self.atoms - v[:, None], self.odd)[: 2 if len(self.odd) else 1]:
            scaled = atoms * np.sqrt(multipliers)
            values, vectors = eigen(scaled @ scaled.T)
            found.append((atoms, values, vectors))
        largest = max(float(values[-1]) for _, values, _ in found)
        least, inside = largest * 1e-15, self.contrasts.trace(multipliers)
        trace = inside + sum(float(np.sqrt(np.maximum(values, least)).sum()) for _, values, _ in found)
        certain = inside + sum(float(np.sqrt(values[values > largest * _ROUNDING]).sum()) for _, values, _ in found)
        # All multipliers times h make Y the root of h as large; the dual function is largest where h is this:
        total = float(multipliers.sum())
        root = trace / total
        halves = [vectors / (np.maximum(values, least) ** 0.25 * np.sqrt(root)) for _, values, vectors in found]
        S = np.vstack([half.T @ atoms for half, (atoms, _, _) in zip(halves, found, strict=True)])
        apart = v - self.atoms @ multipliers / total
        scaled = multipliers * root * root
        return _Multipliers(scaled, v, total * root**2, apart, halves[0], halves[-1], trace * root, certain * root, S)

    def _columns(self, point: _Multipliers, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The residual matrix of a point's X and v, and the squared lengths of its columns."""
        S = point.S.copy()
        S[: len(v)] -= (point.half.T @ (v - point.v))[:, None]
        lengths: FloatArray = np.einsum("ij,ij->j", S, S)
        return S, lengths + self.contrasts.lengths(self.contrasts.scales(point.multipliers))

    def _better(
        self, best: _BestBasis, point: _Multipliers, v: FloatArray, S: FloatArray, lengths: FloatArray
    ) -> _BestBasis:
        """The basis of a point's X and v, as short as its longest column requires, if better; and a better bound."""
        longest = float(lengths.max())
        objective = point.trace * longest + self._total_part(v)
        if objective < best.objective:
            scales = self.contrasts.scales(point.multipliers) / longest
            best = _BestBasis(objective, best.bound, S / np.sqrt(longest), v, point.multipliers, scales)
        return best._replace(bound=max(best.bound, self._bound(point, best.objective)))

    def _leveled(
        self, best: _BestBasis, point: _Multipliers, v: FloatArray, S: FloatArray, lengths: FloatArray
    ) -> _BestBasis:
        """The same basis with each column scaled to length 1, if it is better.

        To first order this costs the mean excess of the squared lengths, weighted by the multipliers, not the largest.
        With the lengths in D, S becomes ``S D^{-1}``, u goes to ``D u`` over its sum, and G to ``(I - u 1^T) D G``.
        """
        if self.is_fixed or len(self.unused):
            return best
        lengths, contrasts = np.maximum(lengths, _SHORTEST), self.contrasts
        stretch = np.sqrt(lengths)
        u = stretch * (1 / len(lengths) + self.rest @ v)
        if not u.sum():  # no multiple of D u has the sum 1
            return best
        v = self.atoms @ (u / u.sum())
        objective = contrasts.trace(point.multipliers * lengths**2) + self._total_part(v)
        objective += _trace((self.atoms - v[:, None]) * stretch, self.rest, point.half)
        if len(self.odd):
            objective += _trace(self.odd * stretch, self.odd.T / (self.odd * self.odd).sum(axis=1), point.odd_half)
        if objective < best.objective:
            scales = contrasts.scales(point.multipliers) / lengths
            best = _BestBasis(objective, best.bound, S / stretch, v, point.multipliers, scales)
        return best

    def residuals(self, best: _BestBasis) -> ResidualBasis:
        """The basis in all directions, with a gap for the queries."""
        u = 1 / len(best.multipliers) + self.rest @ best.v
        others = UNUSED_LENGTH * (self.unused - (self.unused @ u)[:, None])
        S = np.vstack([best.S, others])
        scales = best.scales
        longest = float(((S * S).sum(axis=0) + self.contrasts.lengths(scales)).max())
        S, scales = S / np.sqrt(longest), scales / longest
        bound = min(best.bound, best.objective) - self._loosened(best, u)
        gap = 1 - bound / best.objective
        return ResidualBasis(frozen(S), frozen(u), frozen(best.multipliers), gap, bound, frozen(scales))

    def _loosened(self, best: _BestBasis, u: FloatArray) -> float:
        """How much lower the bound may be because the eigenvalues of V were raised.

        ``2 tr M^{1/2}`` is twice the sum of the singular values of ``V^{1/2} Z^T (I - u 1^T) L^{1/2}``, and these of a
        sum of two matrices have at most the sum of theirs; those of the part that was raised are at most the root of
        its rank times its length.
        """
        contrasts = self.contrasts
        inside = 2 * float(contrasts.freedom @ (self.loose * np.sqrt(best.multipliers / contrasts.width)))
        where = self.raised > 0
        if not where.any():
            return inside
        apart = self.weighed.copy()
        apart[: len(self.atoms)] -= (apart[: len(self.atoms)] @ u)[:, None]
        apart = apart[where]
        square = float((self.raised[where] ** 2) @ (apart * apart) @ best.multipliers)
        return 2 * math.sqrt(int(where.sum()) * square) + inside

    def _total_part(self, v: FloatArray) -> float:
        """``u^T V_s u``."""
        return float(self.absent @ (v * v) + 2 * self.linear @ v) + self.constant

    def _best_v(self, point: _Multipliers) -> FloatArray:
        """The v that minimizes the Lagrangian for the present X: a linear system."""
        inverse = point.total * (point.half @ point.half.T)
        right = inverse @ (point.v - point.apart) - self.linear
        inverse[np.diag_indices_from(inverse)] += self.absent
        try:
            found: FloatArray = scipy.linalg.cho_solve(scipy.linalg.cho_factor(inverse, check_finite=False), right)
        except scipy.linalg.LinAlgError:
            found = np.asarray(np.linalg.lstsq(inverse, right)[0], dtype=np.float64)
        return found

    def _bound(self, point: _Multipliers, objective: float) -> float:
        """What the objective is at least, for any basis, with one of this ``objective`` at hand.

        Where u is free, the trace of the root is convex in v: its tangent and the quadratic together have a least
        value, coordinate by coordinate.  The best v is no further from an atom than the root of the objective, since no
        column is longer than 1 and no eigenvalue of Y above its trace; so no further from v than ``reach``.
        """
        if self.is_fixed:
            return point.certain * point.certain / point.total + self._total_part(point.v)
        slope = np.abs(point.total * (point.half @ (point.half.T @ point.apart)) + self.absent * point.v + self.linear)
        reach = float(np.linalg.norm(point.apart)) + math.sqrt(objective)
        with np.errstate(over="ignore"):
            moved = np.minimum(slope / np.maximum(self.absent, 1e-300), reach)
        gained = float((2 * slope * moved - self.absent * moved * moved).sum())
        return 2 * point.certain - point.total + self._total_part(point.v) - gained


def _trace(atoms: FloatArray, inverse: FloatArray, half: FloatArray) -> float:
    """The trace of ``A A^T`` for A the atoms (r, n) times their former inverse (n, r) times that of half^T (r, r)."""
    spread = atoms @ (inverse @ (half / (half * half).sum(axis=0)))
    return float(np.vdot(spread, spread))
