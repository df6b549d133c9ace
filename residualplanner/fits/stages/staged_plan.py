"""What is measured in stages for records: each stage is chosen by what those before it have shown.

First the number of records, and the counts of all attributes by themselves; then all pairs of attributes, in as many
groups of values as the noise lets show; then these again, more exactly the more two attributes depend on each other.
Source: docs/mathematics.md section 13, on stages; eqs. (130) and (131).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from residualplanner.fits.mixtures.denoising import positive_mean
from residualplanner.fits.nonnegative.facts import Facts
from residualplanner.fits.synthesis.coarsening import (
    Coarsening,
    all_fine,
    coarsened_domain,
    counts_within,
    equal_mass,
    has_order,
)
from residualplanner.fits.synthesis.measured_tables import MeasuredTables, Stage, dependence, measured_tables
from residualplanner.gate.measurement.averages import as_one
from residualplanner.ground.checks import require_type
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import count_text, short_text_down
from residualplanner.method.domain.domain import Domain
from residualplanner.method.losses import SumOfVariances
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import Budget, Neighbors, Notion, pcost, require_discrete
from residualplanner.method.strategy.accuracy import Accuracy
from residualplanner.method.strategy.costs import cost_upper_bound, require_public_total
from residualplanner.method.strategy.strategy import subtraction_strategy
from residualplanner.method.workload.workload import Workload

#: The fraction of the budget that the number of records gets, where it is not public; and what it gets again, beside
#: single attributes, where its noise is more than this part of it.
_TOTAL, _TOTAL_AGAIN, _UNCERTAIN = Fraction(1, 100), 0.1, 0.1
#: Of the rest single attributes get this over the root of the signal, within limits; all where the signal is weak.
_ALONE, _ALONE_LIMITS, _WEAK = 4.0, (0.05, 0.9), 8.0
#: Single attributes get fractions of it in proportion to their numbers of values to this power; to the other where the
#: signal is weak.
_POWERS_ALONE = 2 / 3, 1 / 3
#: From this signal on triples are measured, too; what pairs get of what is left at first, and again, and triples.
_STRONG = 200.0
_FRACTIONS = Fraction(5, 100), Fraction(95, 100)
_FRACTIONS_OF_STRONG = Fraction(5, 100), Fraction(60, 100), Fraction(35, 100)
#: Triples have at most so many cells before their values are in groups.
_MOST_FINE = 1 << 24
#: Triples are of so many attributes at most.
_MOST_ATTRIBUTES = 60
#: At most so many triples to a pair; each has at most so many cells, or all together at most so many.
_TRIPLES_TO_A_PAIR, _MOST_CELLS, _MOST_TOGETHER = 4, 1000.0, 50_000.0
#: Pairs get budget in proportion to their dependence to this power, and this part of its standard error.
_POWER, _ERROR = 0.3, 0.25
#: How many times the noise sets have that a stage does not need.
_UNNEEDED = 2.0**20
#: The noise of a public total, which costs nothing.
_PUBLIC = 2.0**-30
#: The score of a pair that could not be measured.
_LEAST_SCORE = 1e-9
#: What rounding the cost of noise may add to it, relative.
_ROUNDING = 1e-9
#: How many groups each attribute of some sets has, by set.
_Groups = dict[tuple[int, ...], list[int]]


@dataclass(frozen=True, eq=False)
class StagedPlan:
    """What is spent on synthetic records that are measured in stages; what each stage measures, the others show.

    Attributes:
        domain: the schema.
        budget: what all stages may cost together.
        neighbors: which data sets count as neighbors: "add-remove" or "replace", as of `select`.
        records_per_person: the most records of one person, all of which may change.

    Raises:
        ArgumentError: ``domain`` is not a domain, or ``budget`` is not a budget.
        DomainError: an attribute's values are amounts, or records have weights: no records could be made of these.
        BudgetError: the budget does not hold for discrete noise, or the neighbors are invalid.
        WorkloadError: no attribute has more than one value.

    Example:
        >>> from residualplanner import Domain, zcdp
        >>> StagedPlan(Domain({"age": 85, "sex": 2, "race": 5}), budget=zcdp("0.1"))
        <StagedPlan for 3 pairs of attributes: zcdp(0.1), adding or removing one record>
    """

    domain: Domain
    budget: Budget = field(kw_only=True)
    neighbors: Notion = field(default="add-remove", kw_only=True)
    records_per_person: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        require_type("StagedPlan", "domain", self.domain, Domain, "write StagedPlan(domain, budget=zcdp(0.1))")
        require_type("StagedPlan", "budget", self.budget, Budget, "write StagedPlan(domain, budget=zcdp(0.1))")
        self.domain.require_no_amounts("synthetic records have values that are listed")
        self.domain.require_equal_weights("synthesize")
        require_discrete(self.budget)
        require_public_total(self.domain, self.protected)
        if not self.several:
            raise WorkloadError("synthetic records need an attribute with more than one value, and the domain has none")

    def __repr__(self) -> str:
        pairs = count_text(len(self.pairs), "pair")
        return f"<StagedPlan for {pairs} of attributes: {self.budget!r}, {self.protected.words}>"

    @property
    def protected(self) -> Neighbors:
        """Which data sets count as neighbors."""
        return Neighbors(self.neighbors, self.records_per_person)

    @property
    def cost(self) -> Fraction:
        """The most that all stages cost together, exactly."""
        return self.budget.pcost_exact

    @property
    def several(self) -> list[int]:
        """The positions of attributes of more than one value."""
        return [position for position, size in enumerate(self.domain.sizes) if size > 1]

    @property
    def pairs(self) -> list[tuple[int, ...]]:
        """All pairs of these."""
        return list(combinations(self.several, 2))

    @property
    def has_triples(self) -> bool:
        """Whether some three attributes have a table that is not too large to be counted."""
        smallest = sorted(self.domain.sizes[position] for position in self.several)[:3]
        return len(smallest) == 3 and len(self.several) <= _MOST_ATTRIBUTES and math.prod(smallest) <= _MOST_FINE

    @cached_property
    def everything(self) -> Plan:
        """A plan of all tables that stages coarsen, to count them."""
        sets = self.pairs or [(position,) for position in self.several]
        return _choice(self, "all pairs", dict.fromkeys(sets, 1.0), all_fine(self.domain), self.cost).plan


@dataclass(frozen=True, eq=False, slots=True)
class StageChoice:
    """What a stage measures: sets of coarsened attributes, with noise of its own cost."""

    plan: Plan
    coarsenings: tuple[Coarsening, ...]  # of the attributes of the plan
    order: int  # of how many attributes the sets are


def choose(staged: StagedPlan, stages: Sequence[Stage]) -> StageChoice | None:
    """What the next stage measures, after these; None where nothing is left to spend.

    Guarantees: it depends on noisy answers alone, and the costs of all stages add up to at most that of the plan.
    """
    if not stages:
        return _choice(staged, "number of records", {(): 1.0}, all_fine(staged.domain), staged.cost * _TOTAL)
    rest = staged.cost if staged.protected.has_public_total else staged.cost * (1 - _TOTAL)
    first = stages[0].measurement
    error = math.sqrt(first.plan.noise_variances[0])
    total = positive_mean(float(first.residuals.values[0]), error)
    alone = rest * _fraction_alone(staged, total)
    if len(stages) == 1:
        power, again = _POWERS_ALONE[alone == rest], _TOTAL_AGAIN * (error > _UNCERTAIN * total)
        return _choice(staged, "single attributes", _noise_alone(staged, power, again), all_fine(staged.domain), alone)
    left, number = rest - alone, len(stages) - 2
    is_strong = _signal(staged, total) > _STRONG and staged.has_triples
    fractions = _FRACTIONS_OF_STRONG if is_strong else _FRACTIONS
    if not left or number == len(fractions):
        return None
    # The number of records and single attributes are as if measured together.
    alone_as_one = as_one([measurement for stage in stages[:2] for measurement in stage.measurement.measurements])
    measured = measured_tables([Stage(alone_as_one, stages[0].coarsenings), *stages[2:]], Facts(), staged.domain)
    scores = _scores(staged, measured) if number else dict.fromkeys(staged.pairs, 1.0)
    if number == 2:
        scores = _scores_of_triples(staged, scores)
    return _coarsened(staged, ("pairs", "pairs again", "triples")[number], measured, scores, left * fractions[number])


def _noise_alone(staged: StagedPlan, power: float, again: float) -> dict[tuple[int, ...], float]:
    """Noise in proportion for single attributes, and ``again``, of what they get, for the number of records."""
    sizes = staged.domain.sizes
    found: dict[tuple[int, ...], float] = {
        (position,): (1 - 1 / sizes[position]) / sizes[position] ** power for position in staged.several
    }
    if again:
        found[()] = 1 / (again * sum(sizes[position] ** power for position in staged.several))
    return found


def _scores(staged: StagedPlan, measured: MeasuredTables) -> dict[tuple[int, ...], float]:
    """What pairs get budget in proportion to: the more, the more they depend on each other, or may."""
    found: dict[tuple[int, ...], float] = dict.fromkeys(staged.pairs, _LEAST_SCORE)
    for members, table in measured.pairs.items():
        distance, error = dependence(measured, table)
        found[members] = (max(distance, 0.0) + _ERROR * error) ** _POWER
    return found


def _scores_of_triples(staged: StagedPlan, scores: Mapping[tuple[int, ...], float]) -> dict[tuple[int, ...], float]:
    """The triples of the strongest pairs, with the score of the weaker of the two that join them."""
    sizes = staged.domain.sizes
    found = {
        members: sorted(scores[pair] for pair in combinations(members, 2))[1]
        for members in combinations(staged.several, 3)
        if math.prod(sizes[position] for position in members) <= _MOST_FINE
    }
    best = sorted(found, key=lambda members: (-found[members], members))[: _TRIPLES_TO_A_PAIR * len(scores)]
    return {members: found[members] for members in sorted(best)}


def _signal(staged: StagedPlan, total: float) -> float:
    """The number of records in units of the noise of a pair, if all cost as much.  Source: eq. (130)."""
    return total * math.sqrt(float(staged.cost) / max(len(staged.pairs), 1))


def _fraction_alone(staged: StagedPlan, total: float) -> Fraction:
    """What part of the budget single attributes get: less the stronger the signal is."""
    signal = _signal(staged, total)
    if signal < _WEAK or not staged.pairs:
        return Fraction(1)
    low, high = _ALONE_LIMITS
    return Fraction(min(max(_ALONE / math.sqrt(signal), low), high))


def _counts(
    staged: StagedPlan, measured: MeasuredTables, scores: Mapping[tuple[int, ...], float], cost: Fraction
) -> _Groups:
    """How many groups each attribute has in each set, whose fraction of the cost is in proportion to its score."""
    sizes, whole = staged.domain.sizes, sum(scores.values())
    found: _Groups = {}
    for members, score in scores.items():
        # as many cells as there are records for each unit of the noise
        cells = measured.records * math.sqrt(score / whole * float(cost))
        cells = min(cells, max(_MOST_CELLS, _MOST_TOGETHER / len(scores))) if len(members) > 2 else cells
        found[members] = counts_within([sizes[each] for each in members], cells)
    return found


def _usual(counts: _Groups) -> _Groups:
    """The median number of groups of each attribute in all its sets: the fewer kinds of groups, the faster the fit."""
    of_attribute: dict[int, list[int]] = {}
    for members, own in counts.items():
        for attribute, count in zip(members, own, strict=True):
            of_attribute.setdefault(attribute, []).append(count)
    median = {attribute: sorted(found)[len(found) // 2] for attribute, found in of_attribute.items()}
    return {members: [median[attribute] for attribute in members] for members in counts}


def _coarsened(
    staged: StagedPlan, name: str, measured: MeasuredTables, scores: Mapping[tuple[int, ...], float], cost: Fraction
) -> StageChoice:
    """Sets of attributes in groups, each for a fraction of the cost in proportion to its score."""
    near, counts = measured.near, _counts(staged, measured, scores, cost)
    if name == "triples":
        counts = _usual(counts)
    attributes = staged.domain.attributes
    chosen = {
        members: [
            equal_mass(each, near[each], count, is_ordered=has_order(attributes[each]))
            for each, count in zip(members, own, strict=True)
        ]
        for members, own in counts.items()
    }
    found = {each.key: each for axes in chosen.values() for each in axes}
    coarsenings = sorted(found.values(), key=lambda each: (each.attribute, each.count, each.key))
    number = {each.key: position for position, each in enumerate(coarsenings)}
    noise = {
        tuple(number[each.key] for each in axes): math.prod(1 - 1 / each.count for each in axes) / scores[members]
        for members, axes in chosen.items()
    }
    return _choice(staged, name, noise, coarsenings, cost)


def _choice(
    staged: StagedPlan,
    name: str,
    noise: Mapping[tuple[int, ...], float],
    coarsenings: Sequence[Coarsening],
    cost: Fraction,
) -> StageChoice:
    """A plan for some sets of coarsened attributes, with noise variances in these proportions, that has this cost."""
    domain, neighbors = coarsened_domain(staged.domain, coarsenings), staged.protected
    workload = Workload(domain, [tuple(domain.names[position] for position in members) for members in noise])
    strategy, closure = subtraction_strategy(workload), workload.closure
    variances = np.full(len(closure), max(noise.values()) * _UNNEEDED)
    for members, variance in noise.items():
        variances[closure.position_of(members)] = variance
    budget = pcost(short_text_down(cost))
    if neighbors.has_public_total:
        variances[0] = _PUBLIC
    variances[int(neighbors.has_public_total) :] *= (
        cost_upper_bound(strategy, variances, neighbors) / budget.pcost * (1 + _ROUNDING)
    )
    loss = SumOfVariances()
    reached = float(loss.importance(workload) @ Accuracy(workload, strategy, variances, neighbors).average_variances)
    plan = Plan(
        workload=workload,
        strategy=strategy,
        noise_variances=variances,
        loss=loss,
        budget=budget,
        loss_value=reached,
        gap=math.inf,
        status=f"a stage of synthetic records: {name}",
        neighbors=neighbors,
    )
    return StageChoice(plan, tuple(coarsenings), max(map(len, noise)))
