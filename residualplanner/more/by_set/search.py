"""The search for bases by set: down the slope of loss times cost, from a plan with one basis for each attribute.

Source: eqs. (40) and (41); docs/bases.md.

The maxima in the cost are smooth, and become sharper.  The problem is not convex: what is found is as good as a local
search is.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.method.bases.basis import Basis
from residualplanner.more.by_set.basis import GroupBasis, GroupNumbers
from residualplanner.more.by_set.cost_slopes import CostSlopes, Maxima, cost_and_slopes
from residualplanner.more.by_set.loss import SetVariances
from residualplanner.more.by_set.problem import BySetProblem
from residualplanner.more.convex.table_bound import CostTable
from residualplanner.more.replacement.table_costs import TableChoice, minimize_over_tables

#: The maxima in the cost are smooth at first: sharpness at privacy cost 1, for each maximum that there is, and steps.
_SCHEDULE = ((10.0, 100), (30.0, 100), (100.0, 100), (300.0, 100))
#: Then what counts in them gets weights, in so many rounds of so many steps at most, until two rounds bring less than
#: this fraction.
_ROUNDS, _STEPS, _PROGRESS = 12, 100, 1e-5
#: What a point counts where there is no value, as far from any that has one.
_NOWHERE = 1e6


@dataclass(frozen=True, eq=False, slots=True)
class Member:
    """A plan of the family in real numbers.

    Attributes:
        bases: of each group.
        precision (classes,): of each class of sets, 1 / sigma squared times the factors of other attributes, summed.
        messages: for each class of two own attributes or more an array (g,) for each of them.
    """

    bases: tuple[GroupBasis, ...]
    precision: FloatArray
    messages: dict[int, list[FloatArray]]


class Family:
    """The members for a problem, as points of a vector space."""

    def __init__(self, problem: BySetProblem) -> None:
        self.problem = problem
        self.attribute: list[int] = problem.attribute_of_group.tolist()
        self.grams = {i: axis.grams for i, axis in problem.axes.items()}

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
        end = start + len(self.problem.classes)
        return Member(tuple(bases), np.exp(point[start:end]), self._messages(point[end:]))

    def _messages(self, values: FloatArray) -> dict[int, list[FloatArray]]:
        joint = self.problem.joint
        ends = np.cumsum([self.problem.axis(group).values for _, groups in joint for group in groups])
        parts = iter(np.split(values, ends[:-1].astype(np.int64)))
        return {number: [next(parts) for _ in groups] for number, groups in joint}

    def variances(self, numbers: GroupNumbers) -> SetVariances:
        """The weights of the noise of all sets."""
        sets = len(self.problem.cost_class)
        return SetVariances.of(self.problem.terms, sets, self.grams, numbers.present, numbers.absent, numbers.offsets)

    def class_weights(self, weights: FloatArray) -> FloatArray:
        """The weight of the noise of each class, best divided among its sets: ``(sum sqrt(V_A f_A))**2``."""
        roots = np.sqrt(weights * self.problem.factor)
        summed: FloatArray = np.bincount(self.problem.cost_class, roots, len(self.problem.classes)).astype(np.float64)
        return summed * summed

    def value(self, member: Member) -> float:
        """The logarithm of loss times cost."""
        numbers = GroupNumbers.of(member.bases)
        loss = float((self.class_weights(self.variances(numbers).weights) / member.precision).sum())
        return math.log(loss) + math.log(self.cost(member, numbers, Maxima())[0])

    def cost(self, member: Member, numbers: GroupNumbers, maxima: Maxima) -> tuple[float, CostSlopes]:
        """The right side of (41), and its slopes."""
        classes, lengths = self.problem.classes, numbers.lengths
        return cost_and_slopes(classes, self.attribute, member.precision, lengths, member.messages, maxima)

    def value_and_slope(self, point: FloatArray, maxima: Maxima) -> tuple[float, FloatArray]:
        """The logarithm of loss times cost at a point, and its slope."""
        problem, member = self.problem, self.member(point)
        numbers = GroupNumbers.of(member.bases)
        found = self.variances(numbers)
        by_class = self.class_weights(found.weights)
        loss = float((by_class / member.precision).sum())
        roots = np.sqrt(by_class)[problem.cost_class] * np.sqrt(problem.factor / found.weights)
        by_present, by_absent, by_b = found.slopes(roots / (member.precision[problem.cost_class] * loss))
        cost, slopes = self.cost(member, numbers, maxima)
        parts: list[FloatArray] = []
        start = 0
        for group, basis in enumerate(member.bases):
            kinds = slice(start, start + len(basis.axis.grams))
            parts += basis.slopes(by_present[kinds], by_absent[kinds], by_b[group], slopes.by_lengths[group] / cost)
            start = kinds.stop
        parts.append(slopes.by_precision / cost - by_class / member.precision / loss)
        parts += [slope / cost for phis in slopes.by_messages.values() for slope in phis]
        return math.log(loss) + math.log(cost), np.concatenate([np.ravel(part) for part in parts])

    def best_noise(self, member: Member) -> TableChoice:
        """The best precisions and messages for a member's bases.

        Raises:
            SolverError: the solver gave no usable answer.
        """
        numbers, attribute = GroupNumbers.of(member.bases), self.attribute
        tables = [
            CostTable(tuple(attribute[group] for group in groups), tuple(numbers.lengths[group] for group in groups))
            for groups in self.problem.classes
        ]
        weights = self.class_weights(self.variances(numbers).weights)
        return minimize_over_tables(weights, tables, member.precision, member.messages)

    def start(self, bases: Sequence[Basis]) -> Member:
        """The member with one basis (d,) for each attribute, messages of 0 and the best noise for them, of cost 1."""
        problem, found = self.problem, {}
        for i, axis in problem.axes.items():
            (matrix,), first = bases[i].multipliers, np.unique(axis.forms.group, return_index=True)[1]
            found[i] = GroupBasis.from_matrix(axis, matrix[:, first] / math.sqrt(bases[i].pcost))
        of_group = tuple(found[i] for i in self.attribute)
        numbers = GroupNumbers.of(of_group)
        longest = np.array([math.prod(float(numbers.lengths[g].max()) for g in groups) for groups in problem.classes])
        precision = np.sqrt(self.class_weights(self.variances(numbers).weights) / longest)
        messages = {number: [np.zeros(problem.axis(g).values) for g in groups] for number, groups in problem.joint}
        return Member(of_group, precision / (precision @ longest), messages)

    def scaled(self, member: Member) -> Member:
        """The same with privacy cost 1."""
        cost, _ = self.cost(member, GroupNumbers.of(member.bases), Maxima())
        messages = {number: [phi / cost for phi in phis] for number, phis in member.messages.items()}
        return replace(member, precision=member.precision / cost, messages=messages)


def search(family: Family, start: Member) -> Member:
    """The member that a search comes by whose bases are best, each with the best noise for them, or ``start``."""
    count = len(family.problem.joint) + len(family.problem.axes)
    here, values, found = start, [family.value(start)], [start]
    for sharpness, steps in _SCHEDULE:
        maxima = Maxima(sharpness * count)
        here = _descended(family, here, maxima, steps)
    for number in range(_ROUNDS):
        maxima = family.cost(here, GroupNumbers.of(here.bases), maxima)[1].maxima(sharpness * count)
        here = _descended(family, here, maxima, _STEPS)
        values.append(math.log(family.best_noise(here).loss))
        found.append(here)
        if number > 1 and values[-3] - min(values[-2:]) < _PROGRESS:
            break
    return found[int(np.argmin(values))]


def _descended(family: Family, start: Member, maxima: Maxima, steps: int) -> Member:
    """The member of cost 1 that so many steps down the slope lead to."""
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
        options={"maxiter": steps, "maxcor": 20, "ftol": 1e-9, "gtol": 1e-9},
    )
    return family.scaled(family.member(found.x))
