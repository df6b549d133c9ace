"""From a workload and a budget to a plan: the best noise for a loss, or the least budget for one.

Reads: a workload, a budget, a loss.  Gives: Plan.  Never sees a record.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from residualplanner._checks import FloatArray, require_positive, value_text
from residualplanner._words import suggestion
from residualplanner.bases import Basis, ResidualNumbers
from residualplanner.errors import BudgetError, WorkloadError, memory_for
from residualplanner.losses import (
    ConvexLoss,
    Loss,
    LossObject,
    MaxVariance,
    SumOfVariances,
    Targets,
    basis_importance,
    describe_loss,
    importance_of,
    read_loss,
)
from residualplanner.optimize import (
    BY_SET,
    Bases,
    ChoiceBySet,
    NoiseChoice,
    bases_for,
    by_set_problem,
    choose_by_set,
    least_convex,
    least_cost,
    least_largest_ratio,
    least_maximum,
    least_sum,
    spending,
    stopped_words,
)
from residualplanner.plan.plan import Plan
from residualplanner.privacy import Budget, Neighbors, Notion, pcost
from residualplanner.strategy import (
    Strategy,
    constant_strategy,
    cost_upper_bound,
    require_public_total,
    workload_numbers,
)
from residualplanner.workload import Workload, require_workload

#: What may be meant by a word for a budget, and how it is written.
_BUDGETS = {
    "zcdp": "zcdp(0.5)",
    "rho": "zcdp(0.5)",
    "gdp": "gdp(1)",
    "mu": "gdp(1)",
    "pcost": "pcost(1)",
    "approx_dp": "approx_dp(1, 1e-9)",
    "epsilon": "approx_dp(1, 1e-9)",
}
#: The factor by which a cost is kept from its limit, so that rounding never oversteps it; it costs 1e-11 in accuracy.
_RESERVE = 1 + 1e-11
#: Bases by set are taken where they make a loss smaller by this fraction; plans without are simpler.
_WORTH = 1e-4


@memory_for("to plan this workload; ask for fewer tables, or use a machine with more memory")
def select(
    workload: Workload,
    *,
    budget: Budget | None = None,
    at_most: float | None = None,
    loss: Loss = "sum",
    bases: Bases = "optimal",
    gap: float = 1e-6,
    neighbors: Notion = "add-remove",
    records_per_person: int = 1,
) -> Plan:
    """Choose the noise that makes a loss as small as a budget allows, or the least budget that reaches a loss.

    Args:
        workload: the queries to publish.
        budget: what may be spent, such as ``zcdp(0.5)``; give this or ``at_most``, or neither with `Targets`.
        at_most: the largest loss allowed, in counts squared for sums and maxima; the plan spends the least it can.
        loss: "sum" (of all cell variances), "max" (the largest cell variance), `SumOfVariances`, `MaxVariance`,
            `Targets` (margins of error that tables are to have: the largest one relative to its target), or a function
            from a CVXPY vector of the queries' average cell variances to a convex CVXPY expression.
        bases: what is measured of attributes that are asked in other kinds than identity: "optimal" (spec section 5),
            "orthogonal" (the paper's section 7), "optimal_by_set" (an attribute may have other bases in other sets of
            attributes; for sums, and where records are added or removed), or a mapping from attribute name to a matrix
            S of shape (n-1, n) whose rows are independent of one another and of a row of ones, such as ``plan.bases``
            of another plan; attributes that are not named get the optimal one.  Matrices of real numbers are rounded
            to integer multiples of a power of 2, which costs less than 1e-4 of any variance.
        gap: how close to the optimum is close enough, as a fraction; for "max", and where records are replaced for all
            built-in losses.
        neighbors: "add-remove": data sets are neighbors if one has a record more; "replace": if a record has other
            values, the number of records being public.
        records_per_person: the most records one person contributes, all of which may change; a promise about the data.

    Returns:
        The plan, with its proved gap to the optimum.

    Raises:
        BudgetError: both or neither of ``budget`` and ``at_most``; a number is not positive and finite; no noise
            reaches ``at_most``; the budget is too small or large for floating point; ``neighbors`` is another notion;
            records are replaced, and an attribute drops some or there is nothing but their number to protect.
        WorkloadError: weights do not fit, or leave noise that no query limits; the closure is too large; ``bases`` is
            another word, or a matrix does not fit its attribute or span the queries asked of it; the search for bases
            by set is too large, or they are asked for with another loss or where records are replaced.
        DomainError: ``bases`` names an attribute that is not in the domain.
        SolverError: the convex solver gave no usable answer.

    Guarantees: the plan's privacy cost, recomputed and rounded up, is at most the budget.
    Source: spec section 3; paper section 6.

    Example:
        >>> from residualplanner.domain import Domain
        >>> from residualplanner.privacy import pcost
        >>> from residualplanner.workload import marginals
        >>> cps = Domain({"income": 50, "age": 100, "race": 7, "marital": 4, "sex": 2})
        >>> plan = select(marginals(cps, order=2), budget=pcost(1))
        >>> round(plan.rmse, 3)  # spec section 9
        2.035
    """
    at_most = _one_limit(budget, at_most, loss)
    notion = Neighbors(neighbors, records_per_person)
    require_workload("select", workload)
    require_public_total(workload.domain, notion)
    if notion.notion == "replace" and len(workload.closure) == 1:
        raise BudgetError("when records are replaced their number is public: this workload has nothing to protect")
    asked, gap = read_loss(loss), require_positive("gap", gap)
    is_by_set = isinstance(bases, str) and bases == BY_SET
    if is_by_set:
        _require_sum(asked, notion)
    importance = _importance(workload, asked)
    problem = by_set_problem(workload, importance) if is_by_set else None
    given = bases_for(
        workload, basis_importance(importance) if isinstance(asked, Targets) else importance, bases, asked
    )
    frame = _Frame(workload, given, workload_numbers(workload, given), notion, budget, asked)
    frame.require_finite_costs()
    if isinstance(asked, ConvexLoss):
        return _convex_plan(frame, asked, at_most)

    choice = _unit_choice(frame, asked, importance, gap)
    choice = replace(choice, status=choice.status + stopped_words(workload.domain.names, given))
    is_margin = isinstance(asked, Targets)
    if problem is not None:
        by_set = choose_by_set(problem, given, notion)
        if by_set.noise.loss < choice.loss * (1 - _WORTH):
            return _plan_by_set(frame, by_set, at_most)
        choice = replace(choice, status=f"{choice.status}; no better bases by set were found")
    spent = spendable(budget) if at_most is None else _needed(choice.loss, float(at_most), is_margin=is_margin)
    with np.errstate(over="ignore", under="ignore"):
        noise_variance = choice.noise_variance / spent
    reached = choice.loss / spent
    return frame.plan(noise_variance, choice, math.sqrt(reached) if is_margin else reached)


@dataclass(frozen=True, eq=False, slots=True)
class _Frame:
    """What a plan is made of besides its noise."""

    workload: Workload
    bases: tuple[Basis, ...]
    numbers: ResidualNumbers
    neighbors: Neighbors
    budget: Budget | None
    loss: LossObject

    def require_finite_costs(self) -> None:
        """Refuse bases of so large entries that the costs of sets of them are no floats."""
        with np.errstate(over="ignore"):
            costs = self.workload.closure.products(self.numbers.pcost)
        if not np.isfinite(costs).all():
            raise WorkloadError("the bases have entries too large for queries of so many attributes; divide them")

    def plan(
        self, noise_variance: FloatArray, choice: NoiseChoice, loss_value: float, strategy: Strategy | None = None
    ) -> Plan:
        """The plan with this noise; without a budget, one that covers it."""
        measured = strategy or constant_strategy(self.workload.closure, self.bases)
        if not (np.isfinite(noise_variance) & (noise_variance > 0)).all():
            raise BudgetError("the budget or at_most is too small or too large for floating-point noise variances")
        return Plan(
            workload=self.workload,
            noise_variances=noise_variance,
            budget=self.budget or self._least_budget(noise_variance, measured),
            loss=describe_loss(self.loss),
            loss_value=loss_value,
            gap=choice.gap,
            status=choice.status,
            neighbors=self.neighbors,
            strategy=measured,
            targets=self.loss if isinstance(self.loss, Targets) else None,
        )

    def _least_budget(self, noise_variance: FloatArray, strategy: Strategy) -> Budget:
        """A budget that covers this noise; a float more, as a budget reads the decimal spelling where that is less."""
        cost = cost_upper_bound(strategy, noise_variance, self.neighbors)
        return pcost(math.nextafter(cost, math.inf))


def _importance(workload: Workload, loss: LossObject) -> FloatArray:
    """How much each query's average cell variance counts, (q,)."""
    if isinstance(loss, Targets):
        return loss.importance(workload)
    return importance_of(workload, None if isinstance(loss, ConvexLoss) else loss.weights)


def _unit_choice(
    frame: _Frame, loss: SumOfVariances | MaxVariance | Targets, importance: FloatArray, gap: float
) -> NoiseChoice:
    """The best noise at privacy cost 1; its loss is in proportion to the noise."""
    workload, numbers, neighbors = frame.workload, frame.numbers, frame.neighbors
    if isinstance(loss, SumOfVariances):
        return least_sum(workload, numbers, importance, neighbors, gap=gap)
    if isinstance(loss, MaxVariance):
        return least_maximum(workload, frame.bases, numbers, importance, neighbors, gap=gap)
    return least_largest_ratio(workload, frame.bases, numbers, importance, neighbors, others=loss.others, gap=gap)


def _require_sum(loss: LossObject, neighbors: Neighbors) -> None:
    """Refuse bases by set for what they are not searched for."""
    if not isinstance(loss, SumOfVariances):
        raise WorkloadError(
            'bases="optimal_by_set" is for the losses "sum" and SumOfVariances(...), '
            f'not for the {describe_loss(loss)}; use bases="optimal"'
        )
    if neighbors.notion != "add-remove":
        raise WorkloadError(
            'bases="optimal_by_set" is for neighbors="add-remove"; where records are replaced, use bases="optimal"'
        )


def _plan_by_set(frame: _Frame, choice: ChoiceBySet, at_most: float | None) -> Plan:
    """The plan with these bases by set, which has their exact cost."""
    spent = spendable(frame.budget) if at_most is None else _needed(choice.noise.loss, float(at_most), is_margin=False)
    bases, noise_variance = spending(choice, spent, frame.neighbors)
    return frame.plan(noise_variance, choice.noise, choice.noise.loss / spent, bases)


def _convex_plan(frame: _Frame, loss: ConvexLoss, at_most: float | None) -> Plan:
    if at_most is None:
        spent = spendable(frame.budget)
        choice = least_convex(frame.workload, frame.numbers, loss, frame.neighbors, pcost=spent)
        return frame.plan(choice.noise_variance, choice, choice.loss)
    choice = least_cost(frame.workload, frame.numbers, loss, frame.neighbors, at_most=at_most)
    return frame.plan(choice.noise_variance, choice, at_most)


def _needed(loss: float, at_most: float, *, is_margin: bool) -> float:
    """The cost at which a loss of ``loss`` at cost 1 is brought down to ``at_most``; margins of error are roots."""
    return (loss / at_most / at_most if is_margin else loss / at_most) * _RESERVE


def spendable(budget: Budget | None) -> float:
    """A float a little below the budget's exact privacy cost."""
    assert budget is not None
    try:
        spendable = float(budget.pcost_exact) / _RESERVE
    except OverflowError:
        spendable = math.inf
    return require_positive("the budget's pcost", spendable)


def _one_limit(budget: Budget | None, at_most: float | None, loss: Loss) -> float | None:
    """The loss to reach, or None where there is a budget; targets are to be reached where neither is given."""
    if budget is None and at_most is None and isinstance(loss, Targets):
        return 1.0
    if (budget is None) == (at_most is None):
        raise BudgetError("give exactly one of budget= and at_most=")
    if budget is not None and not isinstance(budget, Budget):
        raise BudgetError(
            f"budget must be one of zcdp, gdp, approx_dp or pcost, such as zcdp(0.5), got {value_text(budget)}"
            f"{suggestion(budget, _BUDGETS)}"
        )
    if at_most is not None:
        require_positive("at_most", at_most)
    return at_most
