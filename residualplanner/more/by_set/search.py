"""The search for bases by set: down the slope of loss times cost, from a plan with one basis for each attribute.

Source: eqs. (24), (40) and (41); docs/bases.md.

The maxima in the cost are smooth, and become sharper.  The problem is not convex: what is found is as good as a local
search is.
"""

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.noise.choice import ChosenNoise
from residualplanner.method.privacy import Neighbors
from residualplanner.method.strategy.costs import unit_costs
from residualplanner.more.by_set.cost import CostSlopes, Maxima, cost_and_slopes
from residualplanner.more.by_set.group_basis import GroupBasis
from residualplanner.more.by_set.largest import LargestVariance
from residualplanner.more.by_set.problem import BySetProblem
from residualplanner.more.by_set.summed import SummedVariances
from residualplanner.more.by_set.table_costs import CostTable, TableChoice, minimize_over_tables

#: The sharpness of smooth maxima at privacy cost 1: sharper ones are nearer to the cost, but steps down a smoother
#: slope are longer.  What counts in them gets weights, in so many rounds of so many steps at most, until two rounds
#: bring less than this fraction.  Where a round loses this fraction, the maxima were too smooth.
_SHARPNESS, _ROUNDS, _STEPS, _PROGRESS, _ASTRAY = 300.0, 24, 80, 1e-5, 1e-3
#: What a point counts where there is no value, as far from any that has one.
_NOWHERE = 1e6


@dataclass(frozen=True, eq=False, slots=True)
class Member:
    """A plan of the family in real numbers."""

    bases: tuple[GroupBasis, ...]  # of each group
    precision: FloatArray  # (noises,): 1 / sigma squared times the factors of other attributes, summed over its sets
    messages: dict[int, list[FloatArray]]  # (g,) for each own attribute of each class of two or more

    @property
    def lengths(self) -> list[FloatArray]:
        """The squared column lengths (g,) of each group."""
        return [basis.lengths for basis in self.bases]


class Family:
    """The members for a problem, as points of a vector space."""

    def __init__(self, problem: BySetProblem) -> None:
        self.problem = problem
        self.attribute: list[int] = problem.attribute_of_group.tolist()
        self.loss = LargestVariance(problem) if problem.of_maximum else SummedVariances(problem)

    def point(self, member: Member) -> FloatArray:
        """The coordinates of a member: b and core of each group, logarithms of precisions, messages."""
        parts = [part for basis in member.bases for part in (basis.offset, basis.core)]
        parts += [np.log(member.precision), *(phi for phis in member.messages.values() for phi in phis)]
        return np.concatenate([np.ravel(part) for part in parts])

    def member(self, point: FloatArray) -> Member:
        """Undo `point`."""
        bases, start = [], 0
        for i in self.attribute:
            axis = self.problem.axes[i]
            r = axis.directions
            middle, end = start + r, start + r + r * r
            bases.append(GroupBasis.of(axis, point[start:middle], point[middle:end].reshape(r, r)))
            start = end
        end, joint = start + len(self.loss.class_of_noise), self.problem.joint
        ends = np.cumsum([self.problem.axis(group).values for _, groups in joint for group in groups])
        parts = iter(np.split(point[end:], ends[:-1].astype(np.int64)))
        messages = {number: [next(parts) for _ in groups] for number, groups in joint}
        return Member(tuple(bases), np.exp(point[start:end]), messages)

    def value(self, member: Member) -> float:
        """The logarithm of loss times cost."""
        return self.loss.value(member.bases, member.precision) + math.log(self.cost(member, Maxima())[0])

    def of_classes(self, precision: FloatArray) -> FloatArray:
        """The precision of each class of sets, (classes,), from that of each noise."""
        return np.bincount(self.loss.class_of_noise, precision, len(self.problem.classes)).astype(np.float64)

    def cost(self, member: Member, maxima: Maxima) -> tuple[float, CostSlopes]:
        """The right side of (41), and its slopes."""
        classes, precision = self.problem.classes, self.of_classes(member.precision)
        return cost_and_slopes(classes, self.attribute, precision, member.lengths, member.messages, maxima)

    def value_and_slope(self, point: FloatArray, maxima: Maxima) -> tuple[float, FloatArray]:
        """The logarithm of loss times cost at a point, and its slope."""
        member = self.member(point)
        loss, by = self.loss.value_and_slopes(member.bases, member.precision, maxima)
        cost, slopes = self.cost(member, maxima)
        each = zip(member.bases, by.by_forms, by.by_us, slopes.by_lengths, strict=True)
        parts = [part for basis, form, u, lengths in each for part in basis.slopes(form, u, lengths / cost)]
        by_class = slopes.by_precision / self.of_classes(member.precision)
        parts.append(by.by_precision + by_class[self.loss.class_of_noise] * member.precision / cost)
        parts += [slope / cost for phis in slopes.by_messages.values() for slope in phis]
        return loss + math.log(cost), np.concatenate([np.ravel(part) for part in parts])

    def maxima(self, member: Member, maxima: Maxima, sharpness: float) -> Maxima:
        """Smooth maxima that are exact to first order at a member, where these maxima were."""
        _, loss = self.loss.value_and_slopes(member.bases, member.precision, maxima)
        return self.cost(member, maxima)[1].maxima(sharpness, loss)

    def best_noise(self, member: Member) -> TableChoice:
        """The best precisions and messages for a member's bases.

        Raises SolverError: the solver gave no usable answer.
        """
        attribute, lengths = self.attribute, member.lengths
        tables = [
            CostTable(tuple(attribute[group] for group in groups), tuple(lengths[group] for group in groups))
            for groups in self.problem.classes
        ]
        rows, table_of = self.loss.rows(member.bases), self.loss.class_of_noise
        return minimize_over_tables(rows, tables, table_of, member.precision, member.messages)

    def start(self, plain: ChosenNoise) -> Member:
        """A choice with one basis for each attribute as a member of cost 1, with messages of 0."""
        problem, bases, found = self.problem, plain.strategy.of_attributes, {}
        for i, axis in problem.axes.items():
            matrix = cast(IntArray, bases[i].matrix)  # own attributes have no subtraction basis
            first = np.unique(axis.forms.group, return_index=True)[1]
            found[i] = GroupBasis.from_matrix(axis, matrix[:, first] / math.sqrt(bases[i].pcost))
        messages = {number: [np.zeros(problem.axis(g).values) for g in groups] for number, groups in problem.joint}
        costs = unit_costs(plain.strategy.closure, bases, Neighbors()).largest / plain.noise_variance
        precision = np.bincount(self.loss.noise_of_set, costs).astype(np.float64)
        return self.scaled(Member(tuple(found[i] for i in self.attribute), precision, messages))

    def scaled(self, member: Member) -> Member:
        """The same with privacy cost 1."""
        cost, _ = self.cost(member, Maxima())
        messages = {number: [phi / cost for phi in phis] for number, phis in member.messages.items()}
        return replace(member, precision=member.precision / cost, messages=messages)


def search(family: Family, start: Member, *, part: float, enough: float) -> Member:
    """The member that a search comes by whose bases are best, each with the best noise for them, or ``start``.

    It makes a ``part`` of its rounds, and stops at a loss that is small ``enough``.
    """
    sharpness = _SHARPNESS
    here, maxima = _descended(family, start, Maxima(sharpness)), Maxima(sharpness)
    values, found = [family.value(start)], [start]
    for _ in range(math.ceil(_ROUNDS * part)):
        maxima = family.maxima(here, maxima, sharpness)
        here = _descended(family, here, maxima)
        best = int(np.argmin(values))
        values.append(math.log(family.best_noise(here).loss))
        found.append(here)
        if values[-1] > values[best] + _ASTRAY:
            sharpness *= 3
            here, maxima = _descended(family, found[best], Maxima(sharpness)), Maxima(sharpness)
        elif math.exp(values[-1]) <= enough or (len(values) > 3 and values[-3] - min(values[-2:]) < _PROGRESS):
            break
    return found[int(np.argmin(values))]


def _descended(family: Family, start: Member, maxima: Maxima) -> Member:
    """The member of cost 1 that `_STEPS` down the slope lead to."""
    from scipy import optimize  # takes a fifth of the time to import the package

    def value_and_slope(point: FloatArray) -> tuple[float, FloatArray]:
        with np.errstate(all="ignore"), suppress(ValueError, OverflowError, np.linalg.LinAlgError):
            value, slope = family.value_and_slope(point, maxima)
            if math.isfinite(value) and np.isfinite(slope).all():
                return value, slope
        return _NOWHERE, np.zeros(len(point))  # a step that is far too long

    found = optimize.minimize(
        value_and_slope,
        family.point(start),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _STEPS, "maxcor": 80, "ftol": 1e-9, "gtol": 1e-9},
    )
    return family.scaled(family.member(found.x))
