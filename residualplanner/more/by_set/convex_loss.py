"""Any convex loss of average variances in a search for bases by set, and its slopes.

A search is for what is in proportion to noise, as a convex loss need not be.  The factor by which all variances are to
be divided, so that the loss is at a given level, takes its place: the privacy cost at which the level is reached, as a
multiple of that at hand.  It is a convex function of the variances, in proportion to them.  Where it is smooth its
slopes are, but for a factor, those of the loss at the level, and those of a sum of variances with these as weights.

Source: eqs. (18) and (40).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import SolverError
from residualplanner.method.noise.choice import ChosenNoise
from residualplanner.method.noise.noise_problem import NoiseProblem
from residualplanner.more.by_set.cost import EvenLoss, GroupBasis, LossSlopes, Maxima, largest
from residualplanner.more.by_set.problem import BySetProblem
from residualplanner.more.by_set.summed import SummedVariances
from residualplanner.more.by_set.table_costs import Rows
from residualplanner.more.convex.loss_function import ConvexFunction, ConvexLossFunction, read_loss_function

#: Steps of Newton's method to the level, and the fraction of the level that is near enough.
_STEPS, _NEAR = 100, 1e-13
#: Coefficients of noise below this fraction of a query's largest are rounding.
_ROUNDING = 1e-14
#: Levels that differ by less than this fraction are the same.
_SETTLED = 1e-9
#: Where the loss is touched as well on the way from the best precisions so far to others.
_WAY = (0.5, 0.25, 0.1)
#: By how much variances are moved to see the other sides of a kink, and by what fraction slopes change there.
_NEAR_KINK, _TURNED = 1e-5, 1e-2
#: Planes that are equal to so many decimals are one.
_DIGITS = 6
#: A plane that is above the cost by more than this fraction is none.
_CONTRADICTION = 1e-9
#: By what the cost is raised so that rounding does not leave the loss above its limit.
RESERVE = 1 + 1e-9


class ConvexVariances(EvenLoss):
    """The privacy cost at which a convex loss of average variances is at a level."""

    effort: ClassVar[Mapping[str, float]] = {"enough": 1e-7}  # nearer, each plane takes as long and brings nothing

    def __init__(
        self, problem: BySetProblem, loss: ConvexLossFunction, level: float, spent: float | None, rises: list[float]
    ) -> None:
        """The loss is of the queries' variances (q,) in units of their scales; the level is fixed, or a cost is spent.

        The importances of the problem are different wherever the loss may tell queries apart.  To ``rises`` is added,
        for each plane that proves how good noise is, what it rises by from no variance to where it touches the loss.
        """
        self.problem, self.loss, self.level, self.spent, self.rises = problem, loss, level, spent, rises
        self._sums = SummedVariances(problem)
        self._planes: FloatArray | None = None  # (k, q): that the cost is the maximum of; none where it is smooth

    def _variances(self, bases: Sequence[GroupBasis]) -> FloatArray:
        """What multiplies each noise in the average variance of each query, (q, noises)."""
        terms, member, count = self.problem.terms, self.problem.noise_of_set, len(self.problem.importance)
        factor = self.problem.even_factor[terms.set] / self.problem.importance[terms.query]
        values, noises = self._sums.of_terms(bases) * factor, int(member.max()) + 1
        found = np.bincount(terms.query * noises + member[terms.set], values, count * noises).reshape(count, noises)
        # what cancels but for rounding would count where a set that no query needs has noise almost without a limit
        found[found < _ROUNDING * found.max(axis=1, keepdims=True)] = 0.0
        return np.asarray(found / self.problem.workload.scales[:, None] ** 2)

    def _cost(self, variances: FloatArray) -> tuple[float, FloatArray, float]:
        """The cost at which the level is reached, relative to that of these variances (q,); its slopes (q,); the rise.

        Raises SolverError: the loss has no slopes, or falls as variances grow.
        """
        part = 1.0  # of the variances that has the level, by Newton's method: the loss is convex in it
        for _ in range(_STEPS):
            value, slopes = self.loss.value(part * variances), self.loss.subgradient(part * variances)
            rise = float(slopes @ variances)
            if not (math.isfinite(value) and np.isfinite(slopes).all() and rise > 0 and slopes.min() >= 0):
                raise SolverError("the loss has no slopes that a search can go down", status="no")
            change = (value - self.level) / rise
            if abs(change) <= _NEAR * part:
                break
            part = max(part - change, part / 10)
        return 1 / part, slopes / (rise * part), rise * part

    def value(self, bases: Sequence[GroupBasis], precision: FloatArray) -> float:
        """The logarithm of the cost."""
        return math.log(self._cost(self._variances(bases) @ (1 / precision))[0])

    def value_and_slopes(
        self, bases: Sequence[GroupBasis], precision: FloatArray, maxima: Maxima
    ) -> tuple[float, LossSlopes]:
        """The logarithm of the cost, and its slopes; at a kink, of the smooth maximum of the planes that meet there."""
        variances = self._variances(bases) @ (1 / precision)
        if self._planes is None:
            self._planes = self._sides(variances)
        if not len(self._planes):
            cost, slopes, _ = self._cost(variances)
            return math.log(cost), self._weighted(slopes).value_and_slopes(bases, precision, maxima)[1]
        heights = self._planes @ variances
        value, weights = largest(np.log(heights), maxima.sharpness, maxima.variances)
        _, slopes_of_sum = self._weighted(weights / heights @ self._planes).value_and_slopes(bases, precision, maxima)
        return value, replace(slopes_of_sum, variances=weights)

    def _sides(self, variances: FloatArray) -> FloatArray:
        """The slopes (k, q) on all sides of a kink near variances (q,); none (0, q) where the loss is smooth."""
        near = variances * (1 + _NEAR_KINK * np.eye(len(variances)))
        found = np.array([self._cost(point)[1] for point in (variances, *near)])
        turned = np.abs(found - found[0]) @ variances / (found[0] @ variances)
        return _distinct(found) if turned.max() > _TURNED else found[:0]

    def _weighted(self, slopes: FloatArray) -> SummedVariances:
        """The sum of variances with these weights (q,), in units of scales."""
        problem = self.problem
        return self._sums.weighted((slopes / problem.workload.scales**2 / problem.importance)[problem.terms.query])

    def rows(self, bases: Sequence[GroupBasis]) -> Rows:
        """Planes that touch the cost at precisions, and on the way to these from the best that were seen.

        They raise SolverError where one is above the cost: the loss is not convex, or CVXPY gets its slopes wrong.
        """
        matrix = self._variances(bases)
        best, least, seen = np.empty(0), math.inf, np.empty((0, len(matrix)))

        def planes(precision: FloatArray) -> tuple[float, FloatArray]:
            nonlocal best, least, seen
            points = [precision, *((1 - part) * best + part * precision for part in _WAY if len(best))]
            touched = [self._cost(matrix @ (1 / point)) for point in points]
            if touched[0][0] < least:
                best, least = precision, touched[0][0]
            slopes = np.array([slopes for _, slopes, _ in touched])
            seen = np.concatenate([seen, slopes])
            if float((seen @ (matrix @ (1 / precision))).max()) > touched[0][0] * (1 + _CONTRADICTION):
                raise SolverError("the slopes of the loss contradict its values", status="no")
            self.rises.extend(rise for _, _, rise in touched)
            if self._planes is not None and len(self._planes):
                self._planes = _distinct(np.concatenate([self._planes, slopes]))
            return touched[0][0], slopes @ matrix

        return planes

    def settled(self, bases: Sequence[GroupBasis], precision: FloatArray) -> Self:
        """The same for the level of precisions of cost 1 where the cost is spent; itself where that is its own."""
        if self.spent is None:
            return self
        variances = self._variances(bases) @ (1 / precision) / self.spent
        if self.loss.degree(variances) is not None:  # then all levels have the same planes
            return self
        level = self.loss.value(variances)
        if abs(level - self.level) <= _SETTLED * abs(level):
            return self
        return type(self)(self.problem, self.loss, level, self.spent, self.rises)


def _distinct(planes: FloatArray) -> FloatArray:
    """Each plane once, in the order in which they came."""
    first = np.unique(np.round(planes / planes.max(), _DIGITS), axis=0, return_index=True)[1]
    return planes[np.sort(first)]


def with_better_bases(
    problem: NoiseProblem, plain: ChosenNoise, loss: ConvexFunction, pcost: float, *, spends: bool
) -> ChosenNoise:
    """Noise that costs as much as some noise and has a smaller loss, or less at the same loss, if a search finds bases.

    The noise at hand has this privacy cost.  What is found spends it, or else has the same loss.
    Source: eqs. (18) and (40).
    """
    if problem.search is None:
        return plain
    function = read_loss_function(loss, len(problem.workload))
    rises: list[float] = []

    def objective(by_set: BySetProblem) -> ConvexVariances:
        return ConvexVariances(by_set, function, plain.loss, pcost if spends else None, rises)

    found = problem.searched(replace(plain.at(1 / pcost), loss=pcost), objective)
    if found.loss == pcost:
        return replace(plain, status=found.status)
    if not spends:
        return replace(found.at(found.loss * RESERVE), loss=plain.loss)
    spent = found.at(pcost)
    value = function.value(problem.average_variances(spent))
    # Noise for these bases that has this loss costs at least this part; so some plane is at most so far below the loss.
    bound = value - max(rises) * found.gap / (1 + found.gap)
    return replace(spent, loss=value, gap=(value - bound) / bound if bound > 0 else math.inf)
