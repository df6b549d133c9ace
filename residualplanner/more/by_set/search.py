"""The search for bases and noise: down the slope of loss times cost, from a plan with one basis for each attribute.

Bases vary by set where records are added or removed.  Source: eqs. (24), (37), (40) and (41); docs/bases.md.

The maxima in the cost are smooth, and become sharper.  The problem is not convex: what is found is as good as a local
search is.  Coordinates are relative to where a descent begins: a step then changes large and small parts of a basis in
the same proportion, and few steps are enough.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray, Steps, untold
from residualplanner.method.noise.choice import ChosenNoise
from residualplanner.method.privacy import Neighbors
from residualplanner.method.strategy.costs import unit_costs
from residualplanner.more.by_set.convex_loss import ConvexVariances
from residualplanner.more.by_set.cost import GroupBasis, Maxima, Member, TableCost
from residualplanner.more.by_set.largest import LargestVariance
from residualplanner.more.by_set.problem import BySetProblem
from residualplanner.more.by_set.replacement_cost import ReplacementCost
from residualplanner.more.by_set.summed import SummedVariances
from residualplanner.more.by_set.table_costs import TableChoice

#: The sharpness of smooth maxima at privacy cost 1: sharper ones are nearer to the cost, but steps down a smoother
#: slope are longer.  What counts in them gets weights, in so many rounds of so many steps at most, until two rounds
#: bring less than this fraction.  Where a round loses this fraction, the maxima were too smooth.
_SHARPNESS, _ROUNDS, _STEPS, _PROGRESS, _ASTRAY = 300.0, 10, 200, 1e-5, 1e-3
#: Of how many steps L-BFGS remembers how the slope changed, and the unit of messages, in which it changes fastest.
_MEMORY, _MESSAGE = 40, 0.1
#: How often a loss that is not in proportion to noise is planned for anew, for the level that noise has reached.
_SETTLED = 8
#: What a point counts where there is no value, as far from any that has one.
_NOWHERE = 1e6
#: What is to be small, and the privacy cost, each with its slopes; and what is to be small from a problem.
Objective: TypeAlias = LargestVariance | SummedVariances | ConvexVariances
ObjectiveOf: TypeAlias = Callable[[BySetProblem], Objective]
Cost: TypeAlias = TableCost | ReplacementCost


@dataclass(frozen=True, eq=False, slots=True)
class Family:
    """The members for a problem, as points of a vector space."""

    problem: BySetProblem
    loss: Objective
    cost: Cost

    @classmethod
    def of(cls, problem: BySetProblem, objective: ObjectiveOf | None = None) -> "Family":
        """The family of a problem, for the largest variance or the sum of variances unless for another objective."""
        objective = objective or (LargestVariance if problem.of_maximum else SummedVariances)
        cost = ReplacementCost.of(problem) if problem.replaced else TableCost(problem)
        return cls(problem, objective(problem), cost)

    def value(self, member: Member) -> float:
        """The logarithm of loss times cost."""
        cost, _ = self.cost.value_and_slopes(member, Maxima())
        return self.loss.value(member.bases, member.precision) + math.log(cost)

    def maxima(self, member: Member, maxima: Maxima, sharpness: float) -> Maxima:
        """Smooth maxima that are exact to first order at a member, where these maxima were."""
        _, loss = self.loss.value_and_slopes(member.bases, member.precision, maxima)
        return self.cost.value_and_slopes(member, maxima)[1].maxima(sharpness, loss)

    def with_worst(self, member: Member) -> "Family":
        """The same with what costs a member most in its cost."""
        return replace(self, cost=self.cost.with_worst(member))

    def best_noise(self, member: Member, **how: float) -> TableChoice:
        """The best noise for a member's bases, near ``enough`` to a bound; SolverError without a usable answer."""
        return self.cost.best_noise(member, self.loss.rows(member.bases), **how)

    def settled(self, member: Member) -> tuple["Family", TableChoice]:
        """The best noise for a member's bases, and the family with what is to be small where that noise is spent.

        Raises SolverError: the solver gave no usable answer.
        """
        family, found = self, self.best_noise(member, **self.loss.effort)
        for _ in range(_SETTLED):
            loss = family.loss.settled(member.bases, found.precision)
            if loss is family.loss:
                break
            family = replace(family, loss=loss)
            again = replace(member, precision=found.precision, messages=found.messages)
            found = family.best_noise(again, **loss.effort)
        return family, found

    def start(self, plain: ChosenNoise) -> Member:
        """A choice with one basis for each attribute as a member of cost 1, with messages of 0."""
        problem, bases, found = self.problem, plain.strategy.of_attributes, {}
        for i, axis in problem.axes.items():
            matrix = cast(IntArray, bases[i].matrix)  # own attributes have no subtraction basis
            first = np.unique(axis.forms.group, return_index=True)[1]
            found[i] = GroupBasis.from_matrix(axis, matrix[:, first] / math.sqrt(bases[i].pcost))
        messages = {number: [np.zeros(length) for length in each] for number, each in self.cost.message_lengths.items()}
        costs = unit_costs(plain.strategy.closure, bases, Neighbors()).largest / plain.noise_variance
        precision = np.bincount(problem.noise_of_set, costs).astype(np.float64)
        return self.scaled(Member(tuple(found[i] for i in problem.attribute_of_group.tolist()), precision, messages))

    def scaled(self, member: Member) -> Member:
        """The same with privacy cost 1."""
        cost, _ = self.cost.value_and_slopes(member, Maxima())
        messages = {number: [phi / cost for phi in phis] for number, phis in member.messages.items()}
        return replace(member, precision=member.precision / cost, messages=messages)


@dataclass(frozen=True, eq=False, slots=True)
class Coordinates:
    """Points of a vector space for the members near one, the origin.

    A basis has the core C times that of the origin, for a symmetric matrix C: any ``S' S`` is that of one such C that
    is positive definite.  Its columns move by a vector, the core of the origin times the change of b.  Entries of C off
    the diagonal, which count twice, are multiplied by the root of 2.
    """

    family: Family
    origin: Member
    unit: float  # of messages

    def point(self) -> FloatArray:
        """That of the origin: 0 and C of each group, logarithms of precisions, messages."""
        origin, eyes = self.origin, [np.eye(len(basis.core)) for basis in self.origin.bases]
        parts = [part for basis, C in zip(origin.bases, eyes, strict=True) for part in (np.zeros(len(C)), _entries(C))]
        parts += [np.log(origin.precision), *(phi / self.unit for phis in origin.messages.values() for phi in phis)]
        return np.concatenate(parts)

    def member(self, point: FloatArray) -> Member:
        """The member that has these coordinates."""
        bases, start = [], 0
        for basis in self.origin.bases:
            r = len(basis.core)
            middle, end = start + r, start + r + r * (r + 1) // 2
            C = _symmetric(point[middle:end], r)
            bases.append(GroupBasis.of(basis.axis, basis.offset + basis.inverse @ point[start:middle], C @ basis.core))
            start = end
        end, lengths = start + len(self.origin.precision), self.family.cost.message_lengths
        ends = np.cumsum([length for each in lengths.values() for length in each])
        parts = iter(np.split(point[end:] * self.unit, ends[:-1].astype(np.int64)))
        messages = {number: [next(parts) for _ in each] for number, each in lengths.items()}
        return Member(tuple(bases), np.exp(point[start:end]), messages)

    def value_and_slope(self, point: FloatArray, maxima: Maxima) -> tuple[float, FloatArray]:
        """The logarithm of the loss, and the cost, at a point, and the slope of their sum.

        Its least value is where loss times cost is least, at cost 1, where the maxima are as sharp as they should be.
        """
        member = self.member(point)
        loss, by = self.family.loss.value_and_slopes(member.bases, member.precision, maxima)
        cost, slopes = self.family.cost.value_and_slopes(member, maxima)
        each = zip(self.origin.bases, member.bases, by.by_forms, by.by_us, slopes.by_products, strict=True)
        parts = []
        for before, basis, form, u, products in each:
            by_offset, by_core = basis.slopes(form, u, products)
            by_C = by_core @ before.core.T
            parts += [before.inverse.T @ by_offset, _entries((by_C + by_C.T) / 2)]
        parts += [by.by_precision + slopes.by_precision, slopes.by_messages * self.unit]
        return loss + cost, np.concatenate(parts)


def _entries(matrix: FloatArray) -> FloatArray:
    """The coordinates (r (r+1) / 2,) of a symmetric matrix (r, r): their product is the sum of products of entries."""
    scaled = matrix * math.sqrt(2)
    np.fill_diagonal(scaled, matrix.diagonal())
    return scaled[np.tri(len(matrix), dtype=np.bool_)]


def _symmetric(entries: FloatArray, r: int) -> FloatArray:
    """Undo `_entries`."""
    matrix = np.zeros((r, r))
    matrix[np.tri(r, dtype=np.bool_)] = entries / math.sqrt(2)
    matrix += matrix.T
    matrix[np.diag_indices(r)] /= math.sqrt(2)
    return matrix


def search(family: Family, start: Member, *, enough: float, progress: Steps = untold) -> Member:
    """The member that a search comes by whose bases are best, each with the best noise for them, or ``start``.

    It makes the part of its rounds that there is time for, and stops at a loss that is small ``enough``.
    """
    sharpness, family = _SHARPNESS, family.with_worst(start)
    values, found = [family.value(start)], [start]
    here, maxima = _descended(family, start, Maxima(sharpness)), Maxima(sharpness)
    rounds = math.ceil(_ROUNDS * family.problem.part)
    for done in range(rounds):
        progress(done, rounds)
        maxima = family.maxima(here, maxima, sharpness)
        here = _descended(family, here, maxima)
        known, family, best = family.value(here), family.with_worst(here), int(np.argmin(values))
        costs_more = family.value(here) > known + _ASTRAY  # for pairs of records that were not known
        values.append(math.log(family.best_noise(here, enough=_PROGRESS / 10).loss))
        has_ended = len(values) > 3 and values[-3] - min(values[-2:]) < _PROGRESS
        found.append(here)
        if values[-1] > values[best] + _ASTRAY:
            sharpness *= 3
            here, maxima = _descended(family, found[best], Maxima(sharpness)), Maxima(sharpness)
        elif math.exp(values[-1]) <= enough or (has_ended and not costs_more):
            break
    return found[int(np.argmin(values))]


def _descended(family: Family, start: Member, maxima: Maxima) -> Member:
    """The member of cost 1 that `_STEPS` down the slope lead to."""
    from scipy import optimize  # takes a fifth of the time to import the package

    coordinates = Coordinates(family, start, _MESSAGE)

    def value_and_slope(point: FloatArray) -> tuple[float, FloatArray]:
        with np.errstate(all="ignore"), suppress(ValueError, ArithmeticError, np.linalg.LinAlgError):
            value, slope = coordinates.value_and_slope(point, maxima)
            if math.isfinite(value) and np.isfinite(slope).all():
                return value, slope
        return _NOWHERE, np.zeros(len(point))  # a step that is far too long

    found = optimize.minimize(
        value_and_slope,
        coordinates.point(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _STEPS, "maxcor": _MEMORY, "ftol": 1e-9, "gtol": 1e-9},
    )
    return family.scaled(coordinates.member(found.x))
