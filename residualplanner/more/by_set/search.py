"""The search for bases by set: down the slope of loss times cost, from a plan with one basis for each attribute.

Source: eqs. (24), (40) and (41); docs/bases.md.

The maxima in the cost are smooth, and become sharper.  The problem is not convex: what is found is as good as a local
search is.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.matrix import inverse_parts
from residualplanner.more.by_set.loss_and_cost import CostSlopes, Maxima, SetVariances, cost_and_slopes
from residualplanner.more.by_set.problem import BySetProblem, OwnAxis
from residualplanner.more.by_set.table_costs import CostTable, TableChoice, minimize_over_tables
from residualplanner.more.searches.basis_problem import UNUSED_LENGTH

#: The sharpness of smooth maxima at privacy cost 1: sharper ones are nearer to the cost, but steps down a smoother
#: slope are longer.  What counts in them gets weights, in so many rounds of so many steps at most, until two rounds
#: bring less than this fraction.  Where a round loses this fraction, the maxima were too smooth.
_SHARPNESS, _ROUNDS, _STEPS, _PROGRESS, _ASTRAY = 300.0, 24, 80, 1e-5, 1e-3
#: What a point counts where there is no value, as far from any that has one.
_NOWHERE = 1e6


@dataclass(frozen=True, eq=False, slots=True)
class GroupBasis:
    """A basis ``S = core (Z' - b 1')`` of directions that queries depend on; ``u = 1/g + Z b``, ``G = Z core^-1``."""

    axis: OwnAxis
    offset: FloatArray  # (r,): b
    core: FloatArray  # (r, r): invertible
    form: FloatArray  # (r, r): Z' G G' Z
    lengths: FloatArray  # (g,): the squared lengths of the columns

    @classmethod
    def of(cls, axis: OwnAxis, offset: FloatArray, core: FloatArray) -> "GroupBasis":
        """The basis with these coordinates."""
        inverse = np.linalg.inv(core)
        S = core @ (axis.Z.T - offset[:, None])
        return cls(axis, offset, core, inverse @ inverse.T, (S * S).sum(axis=0))

    @classmethod
    def from_matrix(cls, axis: OwnAxis, matrix: NDArray[np.float64]) -> "GroupBasis":
        """The basis of a matrix (g-1, g), which may have rows of other directions.

        Raises LinAlgError: it is not a basis.
        """
        u, G = inverse_parts(matrix)
        G = axis.Z.T @ G
        form = G @ G.T
        core = np.linalg.inv(np.linalg.cholesky(form))
        return cls(axis, axis.Z.T @ u, core, form, (matrix * matrix).sum(axis=0))

    def factors(self) -> tuple[FloatArray, FloatArray]:
        """``||W G||**2`` and ``||W u||**2`` per row of each kind, (kinds,) both."""
        grams, u = self.axis.grams, np.concatenate([[1.0], self.offset])
        return np.tensordot(grams[:, 1:, 1:], self.form, axes=2), grams @ u @ u

    def matrix(self) -> FloatArray:
        """A matrix (g-1, g) whose longest column has length 1, with short rows for the other directions."""
        S = self.core @ (self.axis.Z.T - self.offset[:, None])
        rows = np.vstack([S / np.sqrt(self.lengths.max()), UNUSED_LENGTH * self.axis.unused])
        scaled: FloatArray = rows / np.sqrt((rows * rows).sum(axis=0).max())
        return scaled

    def slopes(
        self, by_present: FloatArray, by_absent: FloatArray, by_b: FloatArray, by_lengths: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """From the slopes by factors (kinds,), by b where it is in offsets: b, and by lengths (g,): by b and core."""
        core, grams, columns = self.core, self.axis.grams, self.axis.Z.T - self.offset[:, None]
        by_form = np.tensordot(by_present, grams[:, 1:, 1:], axes=1)
        by_u = 2 * np.tensordot(by_absent, grams, axes=1) @ np.concatenate([[1.0], self.offset])
        by_S = 2 * (core @ columns) * by_lengths
        by_core = by_S @ columns.T - 2 * core @ (self.form @ by_form @ self.form)
        return by_b + by_u[1:] - core.T @ by_S.sum(axis=1), by_core


@dataclass(frozen=True, eq=False, slots=True)
class Member:
    """A plan of the family in real numbers."""

    bases: tuple[GroupBasis, ...]  # of each group
    precision: FloatArray  # (classes,): 1 / sigma squared times the factors of other attributes, summed over a class
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
        end, joint = start + len(self.problem.classes), self.problem.joint
        ends = np.cumsum([self.problem.axis(group).values for _, groups in joint for group in groups])
        parts = iter(np.split(point[end:], ends[:-1].astype(np.int64)))
        messages = {number: [next(parts) for _ in groups] for number, groups in joint}
        return Member(tuple(bases), np.exp(point[start:end]), messages)

    def variances(self, member: Member) -> SetVariances:
        """The weights of the noise of all sets."""
        present, absent = (
            np.concatenate(part) for part in zip(*(basis.factors() for basis in member.bases), strict=True)
        )
        offsets = [basis.offset for basis in member.bases]
        return SetVariances.of(self.problem.terms, len(self.problem.cost_class), self.grams, present, absent, offsets)

    def class_weights(self, weights: FloatArray) -> FloatArray:
        """The weight of the noise of each class, best divided among its sets: ``(sum sqrt(V_A f_A))**2``."""
        roots = np.sqrt(weights * self.problem.factor)
        summed: FloatArray = np.bincount(self.problem.cost_class, roots, len(self.problem.classes)).astype(np.float64)
        return summed * summed

    def value(self, member: Member) -> float:
        """The logarithm of loss times cost."""
        loss = float((self.class_weights(self.variances(member).weights) / member.precision).sum())
        return math.log(loss) + math.log(self.cost(member, Maxima())[0])

    def cost(self, member: Member, maxima: Maxima) -> tuple[float, CostSlopes]:
        """The right side of (41), and its slopes."""
        classes, attribute = self.problem.classes, self.attribute
        return cost_and_slopes(classes, attribute, member.precision, member.lengths, member.messages, maxima)

    def value_and_slope(self, point: FloatArray, maxima: Maxima) -> tuple[float, FloatArray]:
        """The logarithm of loss times cost at a point, and its slope."""
        problem, member = self.problem, self.member(point)
        found = self.variances(member)
        by_class = self.class_weights(found.weights)
        loss = float((by_class / member.precision).sum())
        roots = np.sqrt(by_class)[problem.cost_class] * np.sqrt(problem.factor / found.weights)
        by_present, by_absent, by_b = found.slopes(roots / (member.precision[problem.cost_class] * loss))
        cost, slopes = self.cost(member, maxima)
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

        Raises SolverError: the solver gave no usable answer.
        """
        attribute, lengths = self.attribute, member.lengths
        tables = [
            CostTable(tuple(attribute[group] for group in groups), tuple(lengths[group] for group in groups))
            for groups in self.problem.classes
        ]
        weights = self.class_weights(self.variances(member).weights)
        return minimize_over_tables(weights, tables, member.precision, member.messages)

    def start(self, bases: Sequence[Basis]) -> Member:
        """The member with one basis (d,) for each attribute, messages of 0 and the best noise for them, of cost 1."""
        problem, found = self.problem, {}
        for i, axis in problem.axes.items():
            matrix = cast(IntArray, bases[i].matrix)  # own attributes have no subtraction basis
            first = np.unique(axis.forms.group, return_index=True)[1]
            found[i] = GroupBasis.from_matrix(axis, matrix[:, first] / math.sqrt(bases[i].pcost))
        messages = {number: [np.zeros(problem.axis(g).values) for g in groups] for number, groups in problem.joint}
        member = Member(tuple(found[i] for i in self.attribute), np.ones(len(problem.classes)), messages)
        most = [float(lengths.max()) for lengths in member.lengths]
        longest = np.array([math.prod(most[group] for group in groups) for groups in problem.classes])
        precision = np.sqrt(self.class_weights(self.variances(member).weights) / longest)
        return replace(member, precision=precision / (precision @ longest))

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
        maxima = family.cost(here, maxima)[1].maxima(sharpness)
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
