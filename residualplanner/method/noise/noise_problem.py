"""The best noise of every set for a loss, for either notion of neighbors.  Source: eqs. (14) to (18), (27) and (37).

Sums and maxima are in proportion to the noise: that of privacy cost 1 serves, scaled, every budget.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from residualplanner.ground.checks import FloatArray, frozen, require_positive
from residualplanner.ground.errors import BudgetError, WorkloadError
from residualplanner.method.bases.basis import Basis, stopped_words
from residualplanner.method.noise import minimax_noise
from residualplanner.method.noise.choice import ChosenNoise, NoiseChoice, minimize_weighted_variance
from residualplanner.method.privacy import Neighbors
from residualplanner.method.strategy import variances
from residualplanner.method.strategy.accuracy import Accuracy
from residualplanner.method.strategy.costs import UnitCosts, cost_upper_bound, unit_costs
from residualplanner.method.strategy.strategy import Strategy, constant_strategy
from residualplanner.method.workload.symmetry import workload_orbits
from residualplanner.method.workload.workload import Workload

#: All noise that is cut costs less than this part of the whole: more of it would save nothing, and cost tables digits.
_NEGLIGIBLE = 2.0**-50

#: Bases from a search are chosen where they make a loss smaller by this fraction; plans without are simpler.
_WORTH = 1e-4

#: A search for better bases and their noise, from the best choice with those at hand, one for each attribute; and for
#: another objective than the sum or the maximum of variances.
StrategySearch = Callable[[ChosenNoise, Neighbors, Any], ChosenNoise]


@dataclass(frozen=True, eq=False)
class NoiseProblem:
    """Queries, one basis an attribute, and which data sets are neighbors: what noise is chosen for."""

    workload: Workload
    bases: tuple[Basis, ...]  # (d,)
    importance: FloatArray  # (q,), how much each query's variance counts
    neighbors: Neighbors
    gap: float  # how close to the optimum is close enough, as a fraction
    search: StrategySearch | None = None  # for better bases, if there may be any

    def __post_init__(self) -> None:
        require_positive("gap", self.gap)
        with np.errstate(over="ignore"):
            costs = self.workload.closure.products(self.numbers.pcost)
        if not np.isfinite(costs).all():
            raise WorkloadError("the bases have entries too large for queries of so many attributes; divide them")

    @cached_property
    def numbers(self) -> variances.ResidualNumbers:
        """What each attribute contributes to cost and variance."""
        return variances.workload_numbers(self.workload, self.bases)

    @cached_property
    def costs(self) -> UnitCosts:
        """What every set costs at unit noise."""
        return unit_costs(self.workload.closure, self.bases, self.neighbors)

    @cached_property
    def strategy(self) -> Strategy:
        """What is measured."""
        return constant_strategy(self.workload.closure, self.bases)

    def selection(self, choice: NoiseChoice) -> ChosenNoise:
        """The strategy with a choice of its noise, none of it so large that it costs next to nothing."""
        status = choice.status + stopped_words(self.workload.domain.names, self.bases)
        noise_variance = limited_noise(choice.noise_variance, self.costs.largest)
        return ChosenNoise(self.strategy, noise_variance, choice.loss, choice.gap, status, choice.weights)

    def average_variances(self, found: ChosenNoise) -> FloatArray:
        """The variance of an average cell of every query with some noise, (q,), in units of its scale, squared.

        Source: eqs. (11) and (40).
        """
        accuracy = Accuracy(self.workload, found.strategy, found.noise_variance, self.neighbors)
        return np.asarray(accuracy.average_variances / self.workload.scales**2)

    def searched(self, plain: ChosenNoise, objective: Any = None) -> ChosenNoise:
        """A choice, or the one that the search finds if that is better.

        The ``objective`` is what is to be small where that is neither the sum nor the maximum of variances.
        """
        if self.search is None:
            return plain
        found = self.search(plain, self.neighbors, objective)
        if found is plain:
            return plain
        if found.loss < plain.loss * (1 - _WORTH):
            gain = 1 - math.sqrt(found.loss / plain.loss)
            return replace(found, status=f"{found.status}, errors {gain:.1%} smaller than without it")
        return replace(plain, status=f"{plain.status}; a search found no better bases")


def limited_noise(noise_variance: FloatArray, costs: FloatArray) -> FloatArray:
    """The noise of every set (m,), or so much that it costs an even part of what is negligible, if that is less.

    Where a set matters to no query near the maximum, a search may leave its noise almost without a limit, which would
    cancel in formulas and not in floating point.  Noise is a variance, in counts squared; ``costs`` (m,) are the pcost
    of each set at a variance of 1, 0 where noise is free.
    """
    spent = costs / noise_variance
    least = _NEGLIGIBLE * float(spent.sum()) / len(costs)
    is_cut = (spent < least) & (costs > 0)
    if not is_cut.any():
        return noise_variance
    cut = noise_variance.copy()
    cut[is_cut] = costs[is_cut] / least
    return frozen(cut)


def least_sum(problem: NoiseProblem) -> NoiseChoice:
    """The least sum of average cell variances weighted by their queries' importance, at privacy cost 1.

    It is a closed form, or where records are replaced a search like that of `least_maximum`, over one row.  Source: eq.
    (14); for "replace" eq. (37).
    """
    workload, costs = problem.workload, problem.costs
    weights = variances.variance_weights(workload, problem.numbers, problem.importance)
    _require_limited(workload, weights)
    if costs.is_sum and (costs.largest > 0).all():
        return minimize_weighted_variance(costs.rows()[0], weights, pcost=1.0)
    orbits = workload_orbits(workload, problem.numbers.code, problem.importance)
    row = orbits.sum_sets(scipy.sparse.csr_array(weights[None, :]))
    choice = minimax_noise.least_maximum_row(minimax_noise.MinimaxProblem(costs, row, np.ones(1), orbits), problem.gap)
    return replace(choice, weights=None)


def least_maximum(problem: NoiseProblem) -> NoiseChoice:
    """The least maximum of cell variances times the importance of their query, at privacy cost 1.

    Noise that is the same on each orbit of sets suffices, by convexity, where the workload is symmetric; one query of
    each orbit stands for all.  Source: eqs. (15) to (17) and (23); for "replace" eq. (37).
    """
    workload, closure = problem.workload, problem.workload.closure
    orbits = workload_orbits(workload, problem.numbers.code, problem.importance)
    chosen = np.sort(orbits.representative)  # as the queries come in the workload's order
    queries, importance = workload.take(chosen), problem.importance[chosen]
    size = orbits.query_size[orbits.query[chosen]].astype(np.float64)
    matrix = variances.variance_matrix(queries, closure, problem.numbers)
    matrix.data *= np.repeat(importance, np.diff(matrix.indptr))
    matrix = orbits.sum_sets(matrix)
    _require_limited(workload, (matrix.T @ np.ones(len(chosen)))[orbits.member])
    average = minimax_noise.MinimaxProblem(problem.costs, matrix, size, orbits)
    if variances.has_equal_cells(queries, problem.strategy):
        choice = minimax_noise.least_maximum_row(average, problem.gap)
        if not problem.costs.is_sum or choice.weights is None:
            return replace(choice, weights=None)  # the proof needs weights of ways to replace a record, too
        of_orbit = np.empty(len(chosen))  # its queries have even parts of its weight
        of_orbit[orbits.query[chosen]] = choice.weights / size
        return replace(choice, weights=frozen(of_orbit[orbits.query]))
    cells = minimax_noise.CellRows.of(queries, problem.strategy, importance)
    return replace(minimax_noise.least_maximum_cell(average, cells, problem.gap), weights=None)


def least_largest_ratio(problem: NoiseProblem, *, reserve: float) -> NoiseChoice:
    """The least maximum of cell variances times importance, at privacy cost 1, with finite noise for all sets.

    The queries of importance 0 take no part in the maximum.  Sets that only they need get the part ``reserve`` of the
    cost, divided for the least sum of the average variances of these queries, each in units of its scale.  The bound is
    for noise that leaves those sets out, so that the gap includes the reserve.  Source: eqs. (14), (15) and (23); for
    "replace" eq. (37).
    """
    importance, closure = problem.importance, problem.workload.closure
    limited = np.flatnonzero(importance > 0)
    part = replace(problem, workload=problem.workload.take(limited), importance=importance[limited])
    if not (part.costs.largest > 0).any():
        raise BudgetError("when records are replaced their number is public: it needs no target; name another table")
    # Sets within the queries with targets are those of a closure of their own: nothing else adds to their variances.
    choice = replace(least_maximum(part), weights=None)
    own = closure.positions_of_sets(part.workload.closure)
    free = np.ones(len(closure), dtype=np.bool_)
    free[own] = False
    noise_variance = np.empty(len(closure))
    noise_variance[own] = choice.noise_variance
    if not free.any():
        return replace(choice, noise_variance=frozen(noise_variance))
    apart = np.where(importance == 0, 1 / problem.workload.scales**2, 0.0)
    weights = variances.variance_weights(problem.workload, problem.numbers, apart)
    costs, spent = problem.costs.largest[free] * problem.costs.factor, reserve / (1 - reserve)
    # With cost 1 for the others, r / (1 - r) is the part r of the whole.
    noise_variance[free] = minimize_weighted_variance(costs, weights[free], pcost=spent).noise_variance
    # Measured together they may cost a little less than apart.
    cost = cost_upper_bound(problem.strategy, noise_variance, problem.neighbors)
    status = f"{choice.status}, {reserve:.2g} of the cost for tables without a target"
    return replace(choice, noise_variance=frozen(noise_variance * cost), loss=choice.loss * cost, status=status)


def _require_limited(workload: Workload, weights: FloatArray) -> None:
    """Refuse a loss that leaves some noise unlimited, as where all queries of a set have weight 0."""
    unlimited = np.flatnonzero(~(weights > 0))
    if len(unlimited):
        names = tuple(workload.domain.names[position] for position in workload.closure[int(unlimited[0])])
        raise WorkloadError(
            f"every query that contains {names!r} has weight 0, so nothing limits its noise; "
            "give one of them a positive weight, or leave them out"
        )
