"""The best residual basis of an attribute that only one-way tables are about, where records are replaced.

Source: eqs. (37) and (128).

The cost of replacing a record is then a sum over such attributes, and what the other attributes cost; so the largest
cost is the sum of the largest ones, and the number of records is free.  With ``X = (Z^T G)(Z^T G)^T`` as in (31), the
best basis minimizes

    tr(V Z X Z^T)   subject to   (e_j - e_k)^T Z X^{-1} Z^T (e_j - e_k) <= 1   for all values j and k,

with V the Gram matrix of the queries; for the largest variance V is that of weighted rows, with the largest value over
all weights of sum 1.  Multipliers of the pairs of values are the weights of the edges of a graph.  Its Laplacian takes
the place of the multipliers of single values in (31).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.process import one_thread
from residualplanner.method.bases.basis import Basis
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.workload import Workload
from residualplanner.more.searches import attribute_grams
from residualplanner.more.searches.basis_choice import ROUNDING_LOSS, basis_in_integers
from residualplanner.more.searches.basis_problem import UNUSED_LENGTH, ResidualBasis
from residualplanner.more.searches.eigen import eigen
from residualplanner.more.searches.extrapolation import Extrapolation

#: The search ends when the objective is within this fraction of the least possible, or after so many steps.
_GAP, _STEPS = 1e-5, 300
#: The exponents of the multiplicative update of the pairs' multipliers, and where rows have weights of both.
_EXPONENT, _EXPONENT_OF_BOTH = 2.4, 1.8
#: No multiplier is less than this fraction of the largest, and no direction has less weight than this part of all.
_LEAST, _LEAST_WEIGHT = 1e-10, 1e-12
#: Eigenvalues below this fraction of the largest may be rounding.
_ROUNDING = 1e-14


def one_way_problems(
    workload: Workload, importance: FloatArray, *, of_maximum: bool
) -> tuple[dict[int, "OneWayProblem"], IntArray]:
    """The problem of each attribute that has other queries than for single values, and is in no set with another one.

    And the numbers of the other queries, whose variances count by their importance (q,) as well.  Attributes of very
    many values have no such problem: their bases are the same as where records are added or removed.
    """
    combined = {attribute for block in workload.closure.blocks[2:] for attribute in np.unique(block).tolist()}
    sizes, block, first = workload.domain.sizes, workload.blocks[1], len(workload.blocks[0])
    found, is_left = {}, np.ones(len(workload), dtype=np.bool_)
    for attribute in attribute_grams.searched_attributes(workload):
        if attribute not in combined and sizes[attribute] <= attribute_grams.COARSE_VALUES:
            numbers = np.flatnonzero(block.attributes[:, 0] == attribute)
            kinds = tuple(workload.kinds[code] for code in block.kinds[numbers, 0].tolist())
            weights = tuple(importance[first + numbers].tolist())
            if not any(weights):
                continue
            found[attribute] = OneWayProblem(sizes[attribute], kinds, weights, of_maximum)
            is_left[first + numbers] = False
    return found, np.flatnonzero(is_left)


@dataclass(frozen=True, slots=True)
class OneWayProblem:
    """The queries of one attribute: their kinds, and how much the variance of each counts."""

    size: int  # n
    kinds: tuple[Kind, ...]
    importance: tuple[float, ...]  # of each kind
    of_maximum: bool  # whether the largest cell variance counts, or the average one of each kind, added

    def least(self) -> float:
        """No mechanism has a smaller objective at cost 1.  Source: eq. (128)."""
        return _solved(self).bound

    def basis(self) -> Basis:
        """The best basis, in integers."""
        grams, found = self.grams(), _solved(self)

        def objective(near: Any) -> float:
            forms = [factors[1] for factors in grams.row_factors(near, grams.kinds)]
            return float(_squared_distances(near.S.T @ near.S).max()) * self.loss(forms)

        def excess(near: Any) -> float:
            return (objective(near) / exact - 1) / ROUNDING_LOSS

        def gap_of(near: Any) -> float:
            return max(0.0, 1 - found.bound / objective(near))

        exact = objective(grams.exact(found))
        # Distances of columns count, not their lengths: entries that are rounded stay.
        return basis_in_integers(grams, found, excess, "optimal", slack=1.0, gap_of=gap_of)

    def loss(self, forms: Sequence[FloatArray]) -> float:
        """The objective of the variances of the rows of each kind, (rows,) each."""
        each = [form.max() if self.of_maximum else form.mean() for form in forms]
        return float(max(np.array(self.importance) * each) if self.of_maximum else np.dot(self.importance, each))

    def grams(self) -> attribute_grams.AttributeGrams:
        """The Gram matrices of the kinds, numbered in their order."""
        return attribute_grams.grams_of_kinds(self.size, tuple(range(len(self.kinds))), self.kinds)


@lru_cache(maxsize=64)
def _solved(problem: OneWayProblem) -> ResidualBasis:
    """The best basis, and in its ``bound`` the least objective; found once for the basis and for the bound."""
    with one_thread():
        return _Search.of(problem, problem.grams()).run()


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for multipliers of pairs, and for weights of rows where the largest variance counts."""

    problem: OneWayProblem
    grams: attribute_grams.AttributeGrams
    first: IntArray  # (k,): of each pair of groups of values
    second: IntArray  # (k,)
    count: IntArray  # (kinds,): how many rows have weights; none where their sum counts

    @classmethod
    def of(cls, problem: OneWayProblem, grams: attribute_grams.AttributeGrams) -> "_Search":
        pairs = np.triu_indices(len(grams.width), 1)
        rows = [kind.rows(problem.size) if problem.of_maximum else 0 for kind in problem.kinds]
        return cls(problem, grams, *pairs, np.array(rows))

    def run(self) -> ResidualBasis:
        """Update all weights in turn until the bound is close enough.

        Steps are extrapolated as those of `BasisProblem.solve`, which has the same update for single values.
        """
        k, rows = len(self.first), int(self.count.sum())
        weights = np.concatenate([np.full(k, 1 / k), np.full(rows, 1 / max(rows, 1))])
        best, steady = (math.inf, np.empty((0, 0)), np.empty(0)), Extrapolation()
        exponent = _EXPONENT_OF_BOTH if rows else _EXPONENT
        for _ in range(_STEPS):
            weights[:k] /= weights[:k].sum()
            weights[k:] /= max(weights[k:].sum(), 1e-300)
            S, objective, certain, ratios = self._evaluated(weights)
            logs = steady.climb(certain, weights, ratios, exponent)
            if objective < best[0]:
                best = objective, S, np.diag(self._laplacian(weights[:k])).copy()
            bound = steady.highest**2
            if best[0] <= bound * (1 + _GAP):
                break
            weights = np.exp(logs)
            for part in (weights[:k], weights[k:]):
                np.maximum(part, part.max(initial=0.0) * _LEAST, out=part)
        objective, S, degrees = best
        even, none = np.full(len(degrees), 1 / len(degrees)), np.zeros(len(degrees))
        S = np.vstack([S, UNUSED_LENGTH * self.grams.directions[1]])
        gap = 1 - bound / objective
        return ResidualBasis(frozen(S), frozen(even), frozen(degrees), gap, bound, frozen(none))

    def _evaluated(self, weights: FloatArray) -> tuple[FloatArray, float, float, FloatArray]:
        """A basis of cost 1, its objective, the root of a bound, and how far each cost and variance is off its mean.

        With L the Laplacian, ``C = V^{1/2} Z^T`` and ``Y = (C L C^T)^{1/2}``, the products of the columns of the best S
        are ``C^T Y^{-1} C``.
        """
        k = len(self.first)
        C, inverse, raised = self._roots(weights[k:]) if self.problem.of_maximum else self._roots_of_sum
        M = C @ self._laplacian(weights[:k]) @ C.T
        squares, turns = eigen(M)
        # What may be rounding, or comes of directions that were given more weight, does not raise the bound.
        certain = float(np.sqrt(squares[squares > squares[-1] * _ROUNDING]).sum()) - raised
        squares = np.maximum(squares, squares[-1] * 1e-15)
        trace = float(np.sqrt(squares).sum())
        S = (turns / squares**0.25).T @ C
        costs = _squared_distances(S.T @ S)[self.first, self.second]
        G = inverse @ turns * squares**0.25
        form = G @ G.T
        forms = [self.grams.variances(code, form) for code in self.grams.kinds]
        longest = float(costs.max())
        objective = longest * self.problem.loss(forms)
        weighted = zip(self.problem.importance, forms, strict=True) if len(weights) > k else ()
        own = [weight * form for weight, form in weighted]
        return S / math.sqrt(longest), objective, max(certain, 0.0), np.concatenate([costs, *own]) / trace

    @cached_property
    def _roots_of_sum(self) -> tuple[FloatArray, FloatArray, float]:
        return self._roots(np.empty(0))

    def _roots(self, weights: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """``V^{1/2} Z^T`` (r, g), but for a rotation; its right inverse (g, r) of sum 0; and by how much F may be off.

        Singular values of a sum of matrices add up to at most those of its parts, and those of one to at most the
        root of its rank times its length.
        """
        Z = self.grams.directions[0]
        values, vectors = eigen(Z.T @ self._gram(weights) @ Z)
        exact = np.sqrt(np.maximum(values, 0.0))
        roots = np.sqrt(np.maximum(values, _LEAST_WEIGHT * values.sum()))
        added, columns = roots - exact, Z @ vectors
        raised = math.sqrt(2 * np.count_nonzero(added) * float(added @ added))  # L has trace 2
        return roots[:, None] * columns.T, columns / roots, raised

    def _gram(self, weights: FloatArray) -> NDArray[np.float64]:
        """V, (g, g)."""
        if not self.problem.of_maximum:
            return np.asarray(np.tensordot(np.array(self.problem.importance), self.grams.grams[:, 1:, 1:], axes=1))
        parts = np.split(weights, np.cumsum(self.count)[:-1])
        return self.grams.gram_of_rows([w * x for w, x in zip(self.problem.importance, parts, strict=True)])

    def _laplacian(self, weights: FloatArray) -> NDArray[np.float64]:
        L = np.zeros((len(self.grams.width),) * 2)
        L[self.first, self.second] = -weights
        L += L.T
        L[np.diag_indices_from(L)] = -L.sum(axis=1)
        return L


def _squared_distances(products: NDArray[np.float64]) -> FloatArray:
    """The squared distances of all pairs of columns, from the products of all."""
    lengths = np.diag(products)
    return np.asarray(lengths[:, None] + lengths - 2 * products)
