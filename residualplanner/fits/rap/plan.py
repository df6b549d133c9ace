"""What a run of RAP will do and cost, decided before any record is read."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any, Self

from residualplanner.fits.rap.own_queries import QueryClass
from residualplanner.fits.rap.projection import ProjectionSettings
from residualplanner.fits.rap.relaxed_records import OF_CELLS, OF_TABLES
from residualplanner.fits.rap.tiles import ThresholdTable, own_table, thresholds_of
from residualplanner.ground.checks import entry_named, require_fraction, require_integer, require_type
from residualplanner.ground.errors import BudgetError, WorkloadError
from residualplanner.ground.json import json_text
from residualplanner.ground.words import count_text
from residualplanner.method.privacy import Budget, Neighbors, Notion, claim_of_budget, require_discrete
from residualplanner.method.strategy.costs import require_public_total
from residualplanner.method.workload.workload import Workload

#: How many bits the rates and precisions of noise have, so that their exact costs stay short.
BITS = 40
#: The largest pcost by policy: noise of a standard deviation below 1e-9 protects nobody.
_LARGEST_PCOST = 2**60


@dataclass(slots=True)
class Account:
    """The exact privacy costs of a run's draws, whose sum never exceeds its limit."""

    limit: Fraction  # the pcost that may be spent
    entries: list[tuple[str, Fraction]] = field(default_factory=list)  # what was drawn, and its pcost

    def charge(self, what: str, cost: Fraction) -> None:
        """Record a cost before the draw is made; BudgetError where costs would exceed the limit together."""
        if not cost > 0 or not sum((each for _, each in self.entries), cost) <= self.limit:
            raise BudgetError("the draws of this run would cost more than its budget; nothing was drawn")
        self.entries.append((what, cost))


def rounded_down(value: Fraction) -> Fraction:
    """The largest number of `BITS` significant binary digits that is at most ``value``, which must be positive."""
    shift = BITS - value.numerator.bit_length() + value.denominator.bit_length()
    scale = Fraction(2) ** shift
    return Fraction(int(value * scale)) / scale


def root_down(value: Fraction) -> Fraction:
    """A number of about `BITS` binary digits whose square is at most ``value``, which must be positive."""
    shift = BITS - (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    scale = Fraction(4) ** shift
    return Fraction(isqrt(int(value * scale))) / Fraction(2) ** shift


@dataclass(frozen=True, eq=False)
class RapPlan:
    """A run of RAP: which tables it chooses from, how often, how much, and at what cost.  Nothing here saw a record.

    Attributes:
        workload: the prespecified tables.  Their weights are those of their squared errors in the fits; choices and
            noise do not depend on them.
        budget: the most that all draws may cost together.
        neighbors: "add-remove", as of `select`, or "replace", as in the papers, where the number of records is public.
            Costs for one notion are not costs for the other.
        rounds: T, how often cells are chosen, measured and fitted.
        choices: K, how many cells or tables each round chooses; None to measure everything at once, without choosing.
        unit: what is chosen: "cell", as in the papers, or "table", which measures all cells of the tables chosen.
        sensitivity: "joint", or "per-cell" to charge for each cell on its own, as in the papers.
        answer_fraction: of each round's budget, what the answers get; the choices get the rest.
        total: the number of records, if it is public though records are added or removed.
        total_fraction: of the budget, what measuring the number of records gets where it is not public.
        projection: how relaxed records are fitted.
        own_queries: query classes of one's own, which are prespecified besides the workload.
        records_per_person: the most records of one person, all of which may change.

    Raises:
        WorkloadError: the workload is none of marginals and thresholds; rounds, choices, unit or sensitivity is
            invalid; there are fewer cells or tables than all rounds choose.
        BudgetError: the budget does not hold for discrete noise; the neighbors or a fraction is invalid.

    Source: docs/adaptive-projection.md eqs. (a) to (e).

    Example:
        >>> from residualplanner import Domain, marginals, zcdp
        >>> pairs = marginals(Domain({"a": 4, "b": 5, "c": 6}), order=2)
        >>> RapPlan(pairs, budget=zcdp("0.1"), neighbors="replace", rounds=2, choices=3)
        <RapPlan: 2 rounds of 3 cells each, of 3 tables with 74 cells; zcdp(0.1), replacing one record>
    """

    workload: Workload
    budget: Budget = field(kw_only=True)
    neighbors: Notion = field(default="add-remove", kw_only=True)
    rounds: int = field(default=16, kw_only=True)
    choices: int | None = field(default=4, kw_only=True)
    unit: str = field(default="cell", kw_only=True)
    sensitivity: str = field(default="joint", kw_only=True)
    answer_fraction: Fraction | float | str = field(default=Fraction(1, 2), kw_only=True)
    total: int | None = field(default=None, kw_only=True)
    total_fraction: Fraction | float | str = field(default=Fraction(1, 100), kw_only=True)
    projection: ProjectionSettings = field(default=ProjectionSettings(), kw_only=True)
    records_per_person: int = field(default=1, kw_only=True)
    own_queries: Sequence[QueryClass] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        require_type("RapPlan", "workload", self.workload, Workload, "make one with marginals(domain, order=3)")
        require_type("RapPlan", "budget", self.budget, Budget, "write zcdp(0.5) or approx_dp(1, 1e-9)")
        require_type("RapPlan", "projection", self.projection, ProjectionSettings, "write ProjectionSettings()")
        self.workload.domain.require_no_amounts("relaxed projection is of counts")
        require_discrete(self.budget)
        if not self.budget.pcost_exact <= _LARGEST_PCOST:
            raise BudgetError("the budget is so large that noise would protect nobody; choose a smaller one")
        require_public_total(self.workload.domain, self.protected)
        self.workload.domain.require_equal_weights("relaxed adaptive projection")
        for name in ("answer_fraction", "total_fraction"):
            object.__setattr__(self, name, given := require_fraction(name, getattr(self, name)))
            if not given < 1:
                raise BudgetError(f"{name} must lie strictly between 0 and 1, got {given}")
        for name in ("rounds", "total", "choices"):
            value = getattr(self, name)
            if value is not None or name == "rounds":
                object.__setattr__(self, name, require_integer(name, value))
        for own in (each.own for each in self.thresholds if each.own is not None):
            own.require_sensitivity(self.protected)
        is_marginal = all(each.at_least == len(each.positions) for each in self.thresholds)
        if self.projection.kind.is_interval and not is_marginal:
            raise WorkloadError('relaxation="interval" answers marginals alone; take "sparsemax" for thresholds')
        self._require_choices()
        first = OF_TABLES if self.choices is None or self.is_by_table else OF_CELLS
        object.__setattr__(self, "projection", self.projection.of(first))

    @classmethod
    def published(cls, workload: Workload, *, budget: Budget, rounds: int, choices: int | None) -> Self:
        """RAP as published: records are replaced, each cell is charged alone, and fits end only where they stall.

        Example:
            >>> from residualplanner import Domain, marginals, zcdp
            >>> pairs = marginals(Domain({"a": 4, "b": 5, "c": 6}), order=2)
            >>> RapPlan.published(pairs, budget=zcdp("0.1"), rounds=1, choices=None).projection.steps
            5000
        """
        settings = ProjectionSettings.published()
        plan = cls(workload, budget=budget, neighbors="replace", rounds=rounds, choices=choices, projection=settings)
        return replace(plan, sensitivity="per-cell")

    def _require_choices(self) -> None:
        entry_named("sensitivity", self.sensitivity, {"joint": True, "per-cell": False})
        is_by_table = entry_named("unit", self.unit, {"cell": False, "table": True})
        if self.choices is None:
            if self.rounds != 1:
                raise WorkloadError("choices=None measures everything in one round; write rounds=1")
            return
        most = len(self.thresholds) if is_by_table else sum(each.cells for each in self.thresholds)
        if not self.rounds * self.choices <= most:
            raise WorkloadError(
                f"rounds={self.rounds} with choices={self.choices} each ask for more than the workload's "
                f"{count_text(most, self.unit)}; ask for fewer, or write rounds=1, choices=None to measure everything"
            )

    def __repr__(self) -> str:
        tables = count_text(len(self.thresholds), "table")
        cells = count_text(sum(each.cells for each in self.thresholds), "cell")
        each = f"{count_text(self.choices, self.unit)} each" if self.choices else "everything"
        rounds = count_text(self.rounds, "round")
        caution = claim_of_budget(self.budget, self.protected).caution
        about = f"{rounds} of {each}, of {tables} with {cells}; {self.budget}, {self.protected.words}"
        return f"<RapPlan: {about}{caution and f'.  {caution}'}>"

    @property
    def protected(self) -> Neighbors:
        """The data sets that must be hard to tell apart."""
        return Neighbors(self.neighbors, self.records_per_person)

    @cached_property
    def thresholds(self) -> tuple[ThresholdTable, ...]:
        """The tables, in the order of the workload, and one of each query class of one's own."""
        domain = self.workload.domain
        return (*thresholds_of(self.workload), *(own_table(query, domain) for query in self.own_queries))

    @cached_property
    def importance(self) -> tuple[float, ...]:
        """The weight w of each table in docs/adaptive-projection.md eq. (e), as a fraction of the largest."""
        weights = self.workload.weights
        return (*(weights / weights.max()).tolist(), *(1.0 for _ in self.own_queries))

    @property
    def is_by_table(self) -> bool:
        """Whether tables are chosen, and not cells."""
        return self.unit == "table"

    def bound(self, measured: Mapping[ThresholdTable, int], neighbors: Neighbors) -> int:
        """A bound on the squared L2 distance that one record makes in the answers of a round, by measured cells.

        A record counts in few cells of a table, however many are measured: jointly, of each table those count that it
        can change, if these are fewer; cell by cell, as the papers charge, all.  Source: docs/adaptive-projection.md
        eq. (a).
        """
        if self.sensitivity == "per-cell":
            return sum(measured.values())
        return sum(min(cells, table.most_changed(neighbors)) for table, cells in measured.items())

    @cached_property
    def cost(self) -> Fraction:
        """The exact pcost that is charged for a run: at most the budget's, which it rounds down to 40 digits."""
        return rounded_down(self.budget.pcost_exact)

    @cached_property
    def total_cost(self) -> Fraction:
        """The part of it for measuring the number of records; 0 where that is public."""
        is_public = self.protected.has_public_total or self.total is not None
        return Fraction(0) if is_public else rounded_down(self.cost * Fraction(self.total_fraction))

    @property
    def round_cost(self) -> Fraction:
        """What one round may cost."""
        return (self.cost - self.total_cost) / self.rounds

    @property
    def answer_cost(self) -> Fraction:
        """What the answers of one round may cost; all of the round where nothing is chosen."""
        return self.round_cost * (1 if self.choices is None else Fraction(self.answer_fraction))

    @property
    def choice_cost(self) -> Fraction:
        """What the choices of one round may cost together."""
        return self.round_cost - self.answer_cost

    @property
    def sha256(self) -> str:
        """The hash of all that the plan says, by which a ledger names it."""
        return hashlib.sha256(json_text(self._facts())).hexdigest()

    def _facts(self) -> dict[str, Any]:
        classes = [(each.positions, each.own) for each in self.thresholds if each.own is not None]
        return {
            "format": "residualplanner/rap",
            "domain": self.workload.domain.to_json(),
            "tables": [[list(each.positions), each.at_least] for each in self.thresholds],
            "own": [[list(at), each.query.sensitivity, each.matrix.toarray().tolist()] for at, each in classes],
            "weights": list(self.importance),
            "budget": self.budget.to_json(),
            "neighbors": self.protected.words,
            "rounds": [self.rounds, self.choices, self.unit, self.sensitivity, self.total],
            "fractions": [str(self.answer_fraction), str(self.total_fraction)],
            "projection": repr(self.projection),
        }
