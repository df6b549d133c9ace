"""From a workload and a budget to a plan: the best noise for a loss, or the least budget for one."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, Steps, require_positive, untold, value_text
from residualplanner.ground.errors import BudgetError, SolverError, WorkloadError, memory_for
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.losses import RESERVE, Loss, LossLike, read_loss
from residualplanner.method.noise.choice import ChosenNoise
from residualplanner.method.noise.noise_problem import NoiseProblem, StrategySearch
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import Budget, Neighbors, Notion, pcost
from residualplanner.method.strategy.costs import cost_upper_bound, require_public_total
from residualplanner.method.workload.workload import Workload, require_workload

#: What `select` accepts as bases.
Bases = Literal["optimal", "optimal_by_set", "orthogonal"] | Mapping[str, ArrayLike | Basis]
#: The word for those that vary by set.
BY_SET = "optimal_by_set"
#: Above this distance from the best of all mechanisms a sharper bound and better bases are searched for, and below this
#: one no longer.
_FAR, _NEAR = 0.005, 0.001
#: Distances are rounded up to a multiple of one over this; weights that differ by less than this are equal.
_DIGITS, _EQUAL = 1e6, 1e-9


@memory_for("to plan this workload; ask for fewer tables, or use a machine with more memory")
def select(  # noqa: PLR0913 - arguments that have nothing to do with one another
    workload: Workload,
    *,
    budget: Budget | None = None,
    at_most: float | None = None,
    loss: LossLike = "sum",
    bases: Bases | None = None,
    gap: float = 1e-6,
    neighbors: Notion = "add-remove",
    records_per_person: int = 1,
    time: float = 10.0,
    progress: Steps | None = None,
) -> Plan:
    """Choose the noise that makes a loss as small as a budget allows, or the least budget that reaches a loss.

    Args:
        workload: the queries to publish.
        budget: what may be spent, such as ``zcdp(0.5)``; give this or ``at_most``, or neither with `Targets`.
        at_most: the largest loss allowed, in counts squared for sums and maxima; the plan spends the least it can.
        loss: "sum" (of all cell variances), "max" (the largest cell variance), `SumOfVariances`, `MaxVariance`,
            `Targets` (margins of error that tables are to have: the largest one relative to its target), or a function
            from a CVXPY vector of the queries' average cell variances to a convex CVXPY expression.
        bases: what is measured of attributes with other kinds than identity.  By default one basis for each, or, where
            these are not proved to be within 0.5% of the best of all mechanisms, others in other sets of attributes, if
            a search finds better ones; but one for each where records are replaced and have too many pairs, and no
            search for targets of some tables only, and, where records are added or removed, sums with one kind for each
            attribute.  "optimal" is one for each (docs/mathematics.md section 5),
            "optimal_by_set" searches for others in any case, for up to two minutes, "orthogonal"
            is as in the paper's section 7; or a mapping from attribute name to a matrix S of shape (n-1, n) whose rows
            are independent of one another and of a row of ones, such as ``plan.bases`` of another plan; attributes that
            are not named get the optimal one.  Matrices of real numbers are rounded to integer multiples of a power of
            2, which costs less than 1e-4 of any variance.
        gap: how close to the optimum is close enough, as a fraction; for "max", and where records are replaced for all
            built-in losses.
        neighbors: "add-remove": data sets are neighbors if one has a record more; "replace": if a record has other
            values, the number of records being public.
        records_per_person: the most records one person contributes, all of which may change; a promise about the data.
        time: about how many seconds of one core may go to the proof of how far from the best of all mechanisms the plan
            is, and by default as many to a search for better bases.  How long they take is estimated from sizes alone,
            so that equal arguments give equal plans.
        progress: called with the number of steps done, and of all that there may be, in each search for bases.

    Returns:
        The plan, with its proved distance from the best of all mechanisms where one is known.

    Raises:
        BudgetError: both or neither of ``budget`` and ``at_most``; a number is not positive and finite; no noise
            reaches ``at_most``; the budget is too small or large for floating point; ``neighbors`` is another notion;
            records are replaced, and an attribute drops some or there is nothing but their number to protect; ``time``
            is less than 0.
        WorkloadError: weights do not fit, or leave noise that no query limits; the closure is too large; ``bases`` is
            another word, or a matrix does not fit its attribute or span its queries; the search for bases
            by set is too large, or is for a loss without one, or records are replaced and have too many pairs.
        DomainError: ``bases`` names an attribute that is not in the domain.
        SolverError: the convex solver gave no usable answer.

    Guarantees: the plan's privacy cost, recomputed and rounded up, is at most the budget.
    Source: docs/mathematics.md section 3; paper section 6.

    Example:
        >>> from residualplanner import Domain, marginals, pcost
        >>> cps = Domain({"income": 50, "age": 100, "race": 7, "marital": 4, "sex": 2})
        >>> plan = select(marginals(cps, order=2), budget=pcost(1))
        >>> round(plan.rmse, 3)
        2.035
    """
    goal = read_loss(loss)
    limit = read_limit(budget, at_most, goal)
    if not time >= 0:
        raise BudgetError(f"time must be a number of seconds, at least 0, got {value_text(time)}")
    require_workload("select", workload)
    notion = _read_neighbors(workload, neighbors, records_per_person)
    importance = goal.importance(workload)
    important = goal.basis_importance(workload, importance)
    told = progress or untold
    how = {"for_maximum": goal.is_of_maximum, "replaced": notion.has_public_total, "progress": told}
    measured = _measured(workload, important, bases, **how)
    problem = NoiseProblem(workload, measured, importance, notion, gap)
    if isinstance(bases, str) and bases == BY_SET:
        problem = replace(problem, search=_search(problem, goal, told, is_asked=True))

    def solved(problem: NoiseProblem) -> tuple[ChosenNoise, float]:
        """The noise, and what it costs."""
        if budget is not None:
            return goal.best_noise(problem, limit), limit
        found = goal.cheapest_noise(problem, limit)
        return found, cost_upper_bound(found.strategy, found.noise_variance, notion)

    found, cost, distance = _compared(problem, goal, solved, time, told, searches=bases is None)
    if budget is None:
        # A float more than the noise costs, as a budget reads the decimal spelling where that is less.
        budget = pcost(math.nextafter(cost, math.inf))
    return Plan(
        workload=workload,
        strategy=found.strategy,
        noise_variances=found.noise_variance,
        budget=budget,
        loss=goal,
        loss_value=found.loss,
        gap=found.gap,
        suboptimality=distance,
        dual_weights=found.dual_weights,
        status=found.status,
        neighbors=notion,
    )


def _compared(
    problem: NoiseProblem,
    goal: Loss,
    solved: Callable[[NoiseProblem], tuple[ChosenNoise, float]],
    seconds: float,
    progress: Steps,
    *,
    searches: bool,
) -> tuple[ChosenNoise, float, float]:
    """The noise, its cost and its distance from the best; if that is large, of a search by set if it may be better."""
    found, cost = solved(problem)
    distance, known = _proved(problem, goal, found, cost, seconds)
    if searches and distance > _FAR and _is_mixed(problem, goal):
        least = known if goal.is_proportional and isinstance(known, float) else 0.0
        enough = least / problem.neighbors.cost_factor_up * (1 + _NEAR) ** 2
        try:
            search = _search(problem, goal, progress, seconds=seconds, enough=enough)
            found, cost = solved(replace(problem, search=search))
            if goal.is_proportional:
                distance = _distance(goal, found, cost, known)
            else:
                distance, known = _proved(problem, goal, found, cost, seconds)
        except (SolverError, WorkloadError) as error:
            found = replace(found, status=f"{found.status}; better bases were not searched for: {error}")
    if isinstance(known, str) and known:
        found = replace(found, status=f"{found.status}; distance from the best of all mechanisms not known: {known}")
    return found, cost, distance


def _proved(
    problem: NoiseProblem, goal: Loss, found: ChosenNoise, cost: float, seconds: float
) -> tuple[float, float | str | None]:
    """The distance from the best of all mechanisms, and the variance that proves it, or why it is not known."""
    touching = goal.touching(problem, found)
    if touching is None:
        return math.inf, "the loss has a kink at the variances of the plan, or no slopes there"
    weighted, value = touching
    own = problem if weighted is goal else replace(problem, importance=weighted.importance(problem.workload))
    at_cost_1 = weighted.pcost_for(1.0, value)  # 0 where it is too small for a float
    try:
        known = _least_variance(own, weighted, cost / at_cost_1 if at_cost_1 > 0 else math.inf, seconds)
        if known is None and weighted is not goal:  # whose best noise is that of the sum, but for what was not found
            unit = weighted.unit_noise(own)
            known = unit.loss / (1 + unit.gap)
    except WorkloadError as error:
        known = str(error)
    return _distance(weighted, replace(found, loss=value), cost, known), known


def _search(
    problem: NoiseProblem,
    goal: Loss,
    progress: Steps,
    *,
    enough: float = 0.0,
    is_asked: bool = False,
    **limit: float,
) -> StrategySearch:
    """The search for better bases, which raises WorkloadError where it would be too large.

    Bases vary by set; where records are replaced and it is not for these that somebody ``is_asked``, one basis for each
    attribute is searched for if they cannot.  The search ends at a loss that is small ``enough``; the ``limit`` is of
    its seconds, two minutes without one.
    """
    from residualplanner.more.by_set.choice import bases_for_replaced, choose_by_set  # a door

    if is_asked and not _has_search(problem, goal):
        raise WorkloadError(
            'bases="optimal_by_set" is for losses of all tables, and these targets are of some; use bases="optimal"'
        )
    what = problem.workload, problem.importance
    how: dict[str, Any] = {"of_maximum": goal.is_of_maximum, "enough": enough, "progress": progress, **limit}

    def search(plain: ChosenNoise, neighbors: Neighbors, objective: Any) -> ChosenNoise:
        found = plain
        try:
            found = choose_by_set(*what, plain, neighbors, objective, **how)
        except WorkloadError:
            if is_asked or objective is not None or not neighbors.has_public_total:
                raise
        if found is not plain or not neighbors.has_public_total:
            return found
        better = goal.unit_noise(replace(problem, bases=bases_for_replaced(*what, plain, **how), search=None))
        return replace(better, status=f"{better.status}, bases from a local search")

    return search


def _has_search(problem: NoiseProblem, goal: Loss) -> bool:
    return not goal.has_targets or bool(problem.importance.all())


def _is_mixed(problem: NoiseProblem, goal: Loss) -> bool:
    """Whether a search may find better bases: in a sum where records are added, for several kinds or weights only."""
    if problem.neighbors.has_public_total or goal.is_of_maximum or not goal.is_proportional:
        return _has_search(problem, goal)
    each = problem.importance / problem.workload.cells
    is_even = np.ptp(each) <= _EQUAL * each.max()
    return _has_search(problem, goal) and bool((problem.workload.uses.sum(axis=1) > 1).any() or not is_even)


def _least_variance(problem: NoiseProblem, goal: Loss, reached: float, seconds: float) -> float | str | None:
    """No mechanism of cost 1 has a smaller variance, or why that is not known; None where the gap says it.

    The one at hand has the variance ``reached`` at cost 1.
    """
    # Permutations of the values of an attribute change neither queries of single values nor the cost: by convexity some
    # mechanism of the family is the best of all.
    is_symmetric = all(kind.is_identity or kind.at_least for kind in problem.workload.kinds)
    if is_symmetric and all(basis.family == "subtraction" for basis in problem.bases):
        return None
    from residualplanner.more.bounds.suboptimality import least_variance, sharp_least_variance  # a door

    workload, neighbors = problem.workload, problem.neighbors
    try:
        least = least_variance(workload, goal, problem.bases, neighbors, seconds=seconds)
    except WorkloadError as error:
        return str(error)
    if reached <= least * (1 + _FAR) ** 2:
        return least
    enough = reached / (1 + _NEAR) ** 2
    return max(least, sharp_least_variance(workload, goal, neighbors, enough=enough, seconds=seconds))


def _distance(goal: Loss, found: ChosenNoise, cost: float, known: float | str | None) -> float:
    """By what fraction errors may be above those of the best of all mechanisms, rounded up; infinite if not known."""
    if isinstance(known, str):
        return math.inf
    excess = 1 + found.gap if known is None else cost / goal.pcost_for(known, found.loss)
    return math.ceil((math.sqrt(max(excess, 1.0)) - 1) * _DIGITS) / _DIGITS if excess < math.inf else math.inf


def _measured(workload: Workload, importance: FloatArray, bases: Bases | None, **how: Any) -> tuple[Basis, ...]:
    """The basis of every attribute: of one count per value the subtraction basis, which is the best for these."""
    bases = "optimal" if bases is None else bases
    if isinstance(bases, str) and bases == "optimal" and all(kind.is_identity for kind in workload.kinds):
        return tuple(subtraction_basis(size) for size in workload.domain.sizes)
    from residualplanner.more.searches.basis_options import bases_for  # a door

    return bases_for(workload, importance, bases, **how)


def spendable(budget: Budget) -> float:
    """A float a little below the budget's exact privacy cost."""
    try:
        spendable = float(budget.pcost_exact) / RESERVE
    except OverflowError:
        spendable = math.inf
    return require_positive("the budget's pcost", spendable)


def read_limit(budget: Budget | None, at_most: float | None, loss: Loss) -> float:
    """The cost that may be spent, or the loss to reach without a budget; BudgetError unless one of both is given."""
    if budget is None and at_most is None:
        at_most = loss.default_limit
    if (budget is None) == (at_most is None):
        raise BudgetError("give exactly one of budget= and at_most=")
    if at_most is not None:
        return require_positive("at_most", at_most)  # a float, as files have it: the hash is of what is stated
    if not isinstance(budget, Budget):
        raise BudgetError(f"budget must be zcdp(0.5), approx_dp(1, 1e-6) or pcost(1), say, got {value_text(budget)}")
    return spendable(budget)


def _read_neighbors(workload: Workload, notion: Notion, records_per_person: int) -> Neighbors:
    neighbors = Neighbors(notion, records_per_person, workload.domain.weight.maximum)
    require_public_total(workload.domain, neighbors)
    if neighbors.has_public_total and len(workload.closure) == 1:
        raise BudgetError("when records are replaced their number is public: this workload has nothing to protect")
    return neighbors
