"""From a workload and a budget to a plan: the best noise for a loss, or the least budget for one."""

import math
from collections.abc import Mapping
from typing import Literal

from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, require_positive, value_text
from residualplanner.ground.errors import BudgetError, memory_for
from residualplanner.ground.words import suggestion
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.losses import RESERVE, Loss, LossLike, read_loss
from residualplanner.method.noise.noise_problem import NoiseProblem
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import Budget, Neighbors, Notion, pcost
from residualplanner.method.strategy.costs import cost_upper_bound, require_public_total
from residualplanner.method.workload.workload import Workload, require_workload

#: What `select` accepts as bases.
Bases = Literal["optimal", "optimal_by_set", "orthogonal"] | Mapping[str, ArrayLike | Basis]
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


@memory_for("to plan this workload; ask for fewer tables, or use a machine with more memory")
def select(
    workload: Workload,
    *,
    budget: Budget | None = None,
    at_most: float | None = None,
    loss: LossLike = "sum",
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
        bases: what is measured of attributes with other kinds than identity: "optimal" (docs/mathematics.md section 5),
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
            another word, or a matrix does not fit its attribute or span its queries; the search for bases
            by set is too large, or is for another loss or where records are replaced.
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
    limit = _read_limit(budget, at_most, goal)
    require_workload("select", workload)
    notion = _read_neighbors(workload, neighbors, records_per_person)
    importance = goal.importance(workload)
    by_set = goal.by_set(workload, importance, notion) if isinstance(bases, str) and bases == "optimal_by_set" else None
    measured = _measured(workload, goal.basis_importance(workload, importance), bases, for_maximum=goal.is_of_maximum)
    problem = NoiseProblem(workload, measured, importance, notion, gap, by_set)
    if budget is not None:
        found = goal.best_noise(problem, limit)
    else:
        found = goal.cheapest_noise(problem, limit)
        # A float more than the noise costs, as a budget reads the decimal spelling where that is less.
        budget = pcost(math.nextafter(cost_upper_bound(found.strategy, found.noise_variance, notion), math.inf))
    return Plan(
        workload=workload,
        strategy=found.strategy,
        noise_variances=found.noise_variance,
        budget=budget,
        loss=goal,
        loss_value=found.loss,
        gap=found.gap,
        status=found.status,
        neighbors=notion,
    )


def _measured(workload: Workload, importance: FloatArray, bases: Bases, *, for_maximum: bool) -> tuple[Basis, ...]:
    """The basis of every attribute: of one count per value the subtraction basis, which is the best for these."""
    if isinstance(bases, str) and bases == "optimal" and all(kind.is_identity for kind in workload.kinds):
        return tuple(subtraction_basis(size) for size in workload.domain.sizes)
    from residualplanner.more.searches.basis_options import bases_for  # a door

    return bases_for(workload, importance, bases, for_maximum=for_maximum)


def spendable(budget: Budget) -> float:
    """A float a little below the budget's exact privacy cost."""
    try:
        spendable = float(budget.pcost_exact) / RESERVE
    except OverflowError:
        spendable = math.inf
    return require_positive("the budget's pcost", spendable)


def _read_limit(budget: Budget | None, at_most: float | None, loss: Loss) -> float:
    """The privacy cost to spend; without a budget the loss to reach."""
    if budget is None and at_most is None:
        at_most = loss.default_limit
    if (budget is None) == (at_most is None):
        raise BudgetError("give exactly one of budget= and at_most=")
    if at_most is not None:
        return require_positive("at_most", at_most)  # a float, as files have it: the hash is of what is stated
    if not isinstance(budget, Budget):
        raise BudgetError(
            f"budget must be one of zcdp, gdp, approx_dp or pcost, such as zcdp(0.5), got {value_text(budget)}"
            f"{suggestion(budget, _BUDGETS)}"
        )
    return spendable(budget)


def _read_neighbors(workload: Workload, notion: Notion, records_per_person: int) -> Neighbors:
    """Which data sets are neighbors; BudgetError where they differ in nothing that the workload has tables of."""
    neighbors = Neighbors(notion, records_per_person, workload.domain.weight.maximum)
    require_public_total(workload.domain, neighbors)
    if neighbors.has_public_total and len(workload.closure) == 1:
        raise BudgetError("when records are replaced their number is public: this workload has nothing to protect")
    return neighbors
