"""One plan for several tables about the same units: a plan for each, and one budget that is split between them.

Source: eqs. (147) to (149).
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from residualplanner.ground.array_hashes import content_hash
from residualplanner.ground.checks import require_positive, require_type
from residualplanner.ground.errors import BudgetError, DomainError, WorkloadError
from residualplanner.ground.words import short_text_down
from residualplanner.linked.tables import LinkedTables
from residualplanner.method.losses import Loss, LossLike, read_loss
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.plan.plan import Plan
from residualplanner.method.plan.select import Bases, read_limit
from residualplanner.method.plan.select import select as select_one
from residualplanner.method.privacy import Budget, Neighbors, Notion, PrivacyClaim, pcost

if TYPE_CHECKING:
    import pandas as pd

#: By how much the cost of a limit is raised, so that rounding its parts down leaves the loss within it.
_SPARE = Fraction(1) + Fraction(1, 10**9)


@dataclass(frozen=True, eq=False, repr=False)
class LinkedPlan(Mapping[str, Plan]):
    """A mapping from tables to their plans, each of which has a part of one budget.

    Attributes:
        tables: who is protected, and what is published.
        plans: that of each table, for as many records of a unit as it has there.
        budget: what all of them may spend together.
        weights: how much the loss of each table counts.

    Raises:
        DomainError: a table has no plan, or there is one for none.
        BudgetError: the plans may spend more than the budget together, or protect something else than the tables say.

    Guarantees: the exact privacy costs of all plans add up to at most the budget.
    Source: eq. (146).
    """

    tables: LinkedTables
    plans: Mapping[str, Plan]
    budget: Budget
    weights: Mapping[str, float]

    def __post_init__(self) -> None:
        self.tables.require_mapping("plans", self.plans)
        self.tables.require_mapping("weights", self.weights)
        if any(plan.neighbors != self.tables.neighbors_of(name, self.notion) for name, plan in self.plans.items()):
            raise BudgetError("a plan protects other records of a unit than its table has; select all plans together")
        if sum(plan.budget.pcost_exact for plan in self.plans.values()) > self.budget.pcost_exact:
            raise BudgetError("the plans of the tables may spend more than the budget together")

    def __getitem__(self, name: str) -> Plan:
        return self.plans[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.plans)

    def __repr__(self) -> str:
        return f"<LinkedPlan for {' and '.join(map(repr, self))}: {self.claim.summary}>"

    @property
    def notion(self) -> Notion:
        """The notion of neighbors."""
        return next(iter(self.plans.values())).neighbors.notion

    @property
    def neighbors(self) -> Neighbors:
        """What a ledger must be for: as many records as one unit has in all tables together."""
        return self.tables.neighbors(self.notion)

    @property
    def claim(self) -> PrivacyClaim:
        """What may be claimed of the budget, for one unit with all its records."""
        budget, change = self.budget, self.tables.change(self.notion)
        return PrivacyClaim(budget.pcost_exact, change, budget.proved_for[0], budget)

    @property
    def loss_value(self) -> float:
        """The weighted sum of the losses of all tables; of maxima and targets the largest."""
        values = [self.weights[name] * self[name].loss_value for name in self]
        return max(values) if next(iter(self.plans.values())).loss.is_of_maximum else math.fsum(values)

    @property
    def parts(self) -> dict[str, float]:
        """The part of the budget's privacy cost that each table has."""
        return {name: float(self[name].budget.pcost_exact / self.budget.pcost_exact) for name in self}

    @cached_property
    def sha256(self) -> str:
        """The hash of the rules, the plans and the budget, by which a ledger knows the plan."""
        plans = {name: plan_hash(plan) for name, plan in self.items()}
        return content_hash({**self.tables.to_json(), "plans": plans, "budget": self.budget.to_json()}, {})

    def errors(self, level: float = 0.95) -> "pd.DataFrame":
        """The error tables of all plans as one, with the name of the table in the first column.

        Args:
            level: the confidence level of the margins of error, between 0 and 1.

        Raises:
            BudgetError: ``level`` is not between 0 and 1.
        """
        import pandas as pd

        found = pd.concat({name: plan.errors(level) for name, plan in self.items()}, names=["table", None])
        return found.reset_index("table").reset_index(drop=True)


def select(
    tables: LinkedTables,
    *,
    budget: Budget | None = None,
    at_most: float | None = None,
    loss: LossLike | Mapping[str, LossLike] = "sum",
    weights: Mapping[str, float] | None = None,
    bases: Bases | Mapping[str, Bases | None] | None = None,
    neighbors: Notion = "add-remove",
    **options: Any,
) -> LinkedPlan:
    """Choose the noise of all tables, and split the budget, so that the loss over all of them is least.

    Args:
        tables: who is protected, and what is published.
        budget: what all tables may spend together; give this or ``at_most``, or neither with `Targets`.
        at_most: the largest loss allowed over all tables; the plan spends the least it can.
        loss: as for `residualplanner.select`: the sum over all tables of sums, or the largest of maxima; or one of the
            same kind for each table, such as `Targets` with margins of its queries.
        weights: how much the loss of each table counts; 1 if not given.
        neighbors: "add-remove": data sets are neighbors if one has a unit more, with all its records; "replace": if a
            unit has other records, as many in each table.
        bases: as for `residualplanner.select`, the same for all tables; or, by the name of each table, its own.
        options: as for `residualplanner.select`: ``gap``, ``time``.

    Returns:
        The plan.

    Raises:
        BudgetError: as by `residualplanner.select`; or weights are not positive.
        DomainError: ``loss``, ``weights`` or ``bases`` is for other tables; or records are replaced, and those without
            a unit would be left out.
        WorkloadError: as by `residualplanner.select`; or losses are of several kinds, or convex ones; or there are
            weights beside targets.
        SolverError: as by `residualplanner.select`.

    Guarantees: the privacy costs of all plans, recomputed and rounded up, add up to at most the budget.
    Source: eqs. (147) to (149).

    Example:
        >>> from residualplanner import Domain, marginals, zcdp
        >>> from residualplanner.linked import LinkedTables
        >>> households = marginals(Domain({"tenure": 3, "region": 4}), up_to=2)
        >>> persons = marginals(Domain({"age": 5, "sex": 2}), up_to=2)
        >>> tables = LinkedTables({"households": (households, 1), "persons": (persons, 6)}, unit="serial")
        >>> plan = select(tables, budget=zcdp("0.5"))
        >>> {name: round(part, 3) for name, part in plan.parts.items()}
        {'households': 0.153, 'persons': 0.847}
    """
    require_type("linked.select", "tables", tables, LinkedTables, "write LinkedTables({...}, unit=...)")
    goals = _goals(tables, loss)
    first = next(iter(goals.values()))
    if first.has_targets and weights is not None:
        raise WorkloadError("targets say how much each table counts; leave out weights=, or give other margins")
    of_tables = _of_each(tables, "weights", 1.0 if weights is None else weights)
    counts = {name: require_positive(f"the weight of {name!r}", of_tables[name]) for name in tables}
    measured = _of_each(tables, "bases", bases)
    limit = read_limit(budget, at_most, first)
    if Neighbors(neighbors).has_public_total:
        _require_units_named(tables)
    units = {
        name: select_one(
            tables[name].workload,
            budget=pcost(1),
            loss=goals[name],
            bases=measured[name],
            neighbors=neighbors,
            records_per_person=tables[name].records,
            **options,
        )
        for name in tables
    }
    # At cost p the weighted loss of a table is this over p: all built-in losses are in proportion to variances.
    variances = {name: counts[name] / goals[name].pcost_for(1.0, units[name].loss_value) for name in tables}
    costs = _costs(first, variances, budget, limit)
    budgets = {name: pcost(short_text_down(cost)) for name, cost in costs.items()}
    if budget is None:
        budget = pcost(sum((each.pcost_exact for each in budgets.values()), Fraction(0)))
    plans = {name: _at_cost(unit, goals[name], budgets[name]) for name, unit in units.items()}
    return LinkedPlan(tables, plans, budget, counts)


def _costs(goal: Loss, variances: Mapping[str, float], budget: Budget | None, limit: float) -> dict[str, Fraction]:
    """The parts of a budget, exact, or the least costs that keep the limit.  Source: eqs. (147) to (149)."""
    portions = {name: v if goal.is_of_maximum else math.sqrt(v) for name, v in variances.items()}
    if budget is not None:
        total = sum(map(Fraction, portions.values()))
        return {name: budget.pcost_exact * Fraction(portion) / total for name, portion in portions.items()}
    whole = 1.0 if goal.is_of_maximum else math.fsum(portions.values())
    return {name: Fraction(goal.pcost_for(portion * whole, limit)) * _SPARE for name, portion in portions.items()}


def _at_cost(unit: Plan, goal: Loss, budget: Budget) -> Plan:
    """The plan of cost 1, scaled to another one: noise and loss are in proportion to one over the cost."""
    cost = float(budget.pcost_exact)
    noise = unit.noise_variances / cost
    loss_value = goal.stated(1 / goal.pcost_for(1.0, unit.loss_value) / cost)
    strategy = unit.strategy.scaled(cost)
    return replace(unit, strategy=strategy, noise_variances=noise, budget=budget, loss_value=loss_value)


def _goals(tables: LinkedTables, loss: LossLike | Mapping[str, LossLike]) -> dict[str, Loss]:
    given = _of_each(tables, "loss", loss)
    goals = {name: read_loss(given[name]) for name in tables}
    if len({(goal.is_of_maximum, goal.has_targets) for goal in goals.values()}) > 1:
        raise WorkloadError("the losses of all tables must be of one kind: all sums, all maxima, or all targets")
    if not all(goal.is_proportional for goal in goals.values()):
        raise WorkloadError("a convex loss says nothing of how to split a budget; give sums, maxima or targets")
    return goals


def _of_each(tables: LinkedTables, what: str, given: Any) -> Mapping[str, Any]:
    """What is given for each table, where that is a mapping; else the same for all."""
    found = given if isinstance(given, Mapping) else dict.fromkeys(tables, given)
    tables.require_mapping(what, found)
    return found


def _require_units_named(tables: LinkedTables) -> None:
    """DomainError where a record without a unit would be left out, when the number of records is public."""
    for name in tables.read_together:
        rules = [rule for each in tables[name].read_domain.attributes for rule in (each.unknown, each.missing)]
        if rules and "error" not in rules:
            raise DomainError(
                f"when records are replaced their number is public, and records of {name!r} without a unit would be "
                'left out; declare unknown="error" for one of its attributes'
            )
