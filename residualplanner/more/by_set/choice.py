"""Bases by set in integers, with the best noise for them and a proof of that.

Source: eqs. (40), (41) and (36).
"""

import math
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray, Steps, untold
from residualplanner.ground.errors import SolverError, WorkloadError
from residualplanner.ground.process import one_thread
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.noise.choice import ChosenNoise, NoiseChoice
from residualplanner.method.noise.noise_problem import limited_noise
from residualplanner.method.privacy import Neighbors
from residualplanner.method.strategy.costs import cost_upper_bound
from residualplanner.method.strategy.strategy import Strategy, varying_strategy
from residualplanner.method.workload.workload import Workload
from residualplanner.more.by_set.cost import GroupBasis, Member
from residualplanner.more.by_set.problem import by_set_problem
from residualplanner.more.by_set.search import Family, ObjectiveOf, search
from residualplanner.more.by_set.table_costs import TableChoice
from residualplanner.more.searches.basis_choice import ROUNDING_LOSS
from residualplanner.more.searches.rounding import rounded_matrix

#: Messages are multiples of this at privacy cost 1, before they are scaled: none is so small that fractions get long.
_QUANTUM = 2.0**-44
#: How often noise is raised to make up for rounding, at least by so much each time.
_ROUNDINGS, _ULP = 20, 2.0**-50
_STATUS = "noise certified for bases by set from a local search"


def choose_by_set(
    workload: Workload,
    importance: FloatArray,
    plain: ChosenNoise,
    neighbors: Neighbors,
    objective: ObjectiveOf | None = None,
    *,
    enough: float,
    progress: Steps = untold,
    **how: Any,
) -> ChosenNoise:
    """The best bases by set that are found for a loss, and the best noise of cost 1 for them.

    The search starts from a choice with one basis for each attribute, which is returned where no search can find a
    better one.  It makes the part of its steps that there is time for, and ends where the loss is small ``enough``.  An
    ``objective`` is a function of average variances that stands for their sum.  The other arguments are those of
    `by_set_problem`.

    Raises:
        SolverError: the solver gave no usable noise, or no integers come close to the bases.
        WorkloadError: the search would be too large; or records are replaced, and there are too many pairs of them.
    """
    if objective is not None:  # which may tell any two queries apart: no importance is another's
        importance, how = 1 + np.arange(len(workload)) / len(workload), how | {"is_sum": False}
    problem = by_set_problem(workload, importance, replaced=neighbors.has_public_total, **how)
    if problem is None:
        return plain
    family = Family.of(problem, objective)
    with one_thread():
        found = search(family, family.start(plain), enough=enough, progress=progress)
        return _with_noise(family, *_rounded(family, found), neighbors)


def bases_for_replaced(
    workload: Workload,
    importance: FloatArray,
    plain: ChosenNoise,
    *,
    enough: float,
    progress: Steps = untold,
    **how: Any,
) -> tuple[Basis, ...]:
    """One basis for each attribute, (d,), the best that are found where records are replaced; else as above."""
    problem = by_set_problem(workload, importance, replaced=True, is_one=True, **how)
    bases = list(plain.strategy.of_attributes)
    if problem is None:
        return tuple(bases)
    family = Family.of(problem)
    with one_thread():
        matrices, _, _ = _rounded(family, search(family, family.start(plain), enough=enough, progress=progress))
    groups = zip(workload.closure.attribute_of_factor.tolist(), problem.group.tolist(), strict=True)
    for i, group in dict(groups).items():
        if group >= 0:
            bases[i] = integer_basis(matrices[group][:, problem.axes[i].forms.group], "optimal")
    return tuple(bases)


def _rounded(family: Family, found: Member) -> tuple[list[IntArray], list[int], Member]:
    """The bases in integers, with as few digits as lose little enough.

    Matrices (g-1, g), the exponents they are scaled by, and the member with these divided out.
    """
    real = [GroupBasis.from_matrix(basis.axis, basis.matrix()) for basis in found.bases]
    # A matrix has another scale: precisions make up for it.
    pairs = zip(found.bases, real, strict=True)
    scale = np.array([mine.lengths.max() / new.lengths.max() for mine, new in pairs])
    factors = np.array([scale[list(groups)].prod() for groups in family.problem.classes])
    before = replace(found, bases=tuple(real), precision=found.precision * factors[family.problem.class_of_noise])
    allowed = family.value(before) + ROUNDING_LOSS
    for digits in range(1, 30):
        exponents = [digits + len(basis.lengths).bit_length() for basis in real]
        matrices = [rounded_matrix(basis.matrix(), e) for basis, e in zip(real, exponents, strict=True)]
        with suppress(np.linalg.LinAlgError, WorkloadError):
            bases = [
                GroupBasis.from_matrix(basis.axis, np.ldexp(matrix, -e))
                for basis, matrix, e in zip(real, matrices, exponents, strict=True)
            ]
            member = replace(before, bases=tuple(bases))
            if family.value(member) <= allowed:
                for matrix in matrices:
                    integer_basis(matrix, "optimal_by_set")
                return matrices, exponents, family.scaled(member)
    raise SolverError("no integer matrices come close to the bases by set; ask for bases='optimal'")


def _with_noise(
    family: Family, matrices: list[IntArray], scaled_by: list[int], member: Member, neighbors: Neighbors
) -> ChosenNoise:
    """The best noise for these bases, in units of the integer matrices."""
    problem, (settled, found) = family.problem, family.settled(member)
    longest = [float(basis.lengths.max()) for basis in member.bases]
    of_classes = np.array([math.prod(longest[group] for group in groups) for groups in problem.classes])
    precision = family.loss.precision_of_sets(member.bases, found.precision)
    costs = problem.factor * of_classes[problem.cost_class]
    if neighbors.has_public_total:
        costs[problem.workload.closure.orders == 0] = 0.0
    precision = 1 / limited_noise(1 / precision, costs)
    exponents = np.array([2 * sum(scaled_by[g] for g in groups) for groups in problem.classes])
    noise = np.ldexp(1 / precision, exponents[problem.cost_class])
    strategy = _strategy(family, matrices, member, found, precision * problem.factor)
    strategy, costing = _of_cost_one(strategy, noise, neighbors)
    more = float(costing[0] / noise[0])
    loss, own = (math.exp(each.loss.value(member.bases, found.precision)) * more for each in (family, settled))
    choice = NoiseChoice(costing, own, min(found.bound * neighbors.cost_factor_up, own), _STATUS)
    return ChosenNoise(strategy, costing, loss, choice.gap, _STATUS)


def _strategy(
    family: Family, matrices: list[IntArray], member: Member, found: TableChoice, cost: FloatArray
) -> Strategy:
    """Bases and messages of all factors; ``cost`` (m,) is each set's precision times the factor of its others."""
    lengths = [basis.lengths for basis in member.bases]
    problem, of_classes = family.problem, family.problem.of_classes(found.precision)
    workload, closure = problem.workload, problem.workload.closure
    own = [
        integer_basis(matrix[:, problem.axis(group).forms.group], "optimal_by_set")
        for group, matrix in enumerate(matrices)
    ]
    plain = sorted({i for i in range(len(workload.domain)) if i not in problem.axes and not closure.trivial[i]})
    others = {i: len(own) + at for at, i in enumerate(plain)}
    bases = (*own, *(subtraction_basis(workload.domain.sizes[i]) for i in plain))
    of_factor, messages, factor = problem.group.copy(), [np.empty(0)], 0
    for number, members in enumerate(closure):
        code = int(problem.cost_class[number])
        if problem.replaced:  # the cost of all pairs of records is known, and needs no proof
            of_group = {group: np.zeros(len(lengths[group])) for group in problem.classes[code]}
        else:
            phis, part = found.messages.get(code, []), float(cost[number] / of_classes[code])
            of_group = _messages(phis, part, problem.classes[code], lengths, float(cost[number]))
        for i in members:
            if i not in problem.axes:
                of_factor[factor] = others[i]
            elif len(members) > 1:
                messages.append(of_group[int(problem.group[factor])][problem.axes[i].forms.group])
            factor += 1
    sent = np.rint(np.concatenate(messages) / _QUANTUM) * _QUANTUM
    return varying_strategy(closure, workload.domain.sizes, bases, of_factor, sent)


def _messages(
    phis: list[FloatArray], part: float, groups: tuple[int, ...], lengths: list[FloatArray], cost: float
) -> dict[int, FloatArray]:
    """The messages of a set, by group: a part of those of its class; the cost, where it is of one own attribute.

    Attributes of one group get the mean of theirs.  As (41) is convex and they can be exchanged, it costs no more.
    """
    if len(groups) == 1:
        return {groups[0]: cost * lengths[groups[0]]}
    return {
        group: part * np.mean([phi for phi, own in zip(phis, groups, strict=True) if own == group], axis=0)
        for group in groups
    }


def _of_cost_one(strategy: Strategy, noise: FloatArray, neighbors: Neighbors) -> tuple[Strategy, FloatArray]:
    """The strategy and noise (m,) scaled to cost 1 at most, exactly, and hardly less."""
    factor = 1 / cost_upper_bound(strategy, noise, neighbors)
    with np.errstate(over="ignore", under="ignore"):
        strategy, noise = strategy.scaled(factor), noise / factor
        for _ in range(_ROUNDINGS):
            excess = cost_upper_bound(strategy, noise, neighbors) - 1
            if excess <= 0:
                break
            noise = noise * (1 + max(2 * excess, _ULP))
    return strategy, noise
