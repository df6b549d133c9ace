"""What to measure for synthetic records: all pairs of attributes, and small triples where noise is low."""

import math
from collections.abc import Iterator
from itertools import combinations

from residualplanner.ground.checks import is_integer, require_positive, require_type, value_text
from residualplanner.ground.errors import ArgumentError, WorkloadError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.losses import SumOfVariances
from residualplanner.method.plan.plan import Plan
from residualplanner.method.plan.select import select
from residualplanner.method.privacy import Budget, Notion
from residualplanner.method.workload.workload import Workload

#: Triples are measured, too, where the budget is at least this pcost, that of epsilon 5 at delta 1e-9.
_PCOST_OF_TRIPLES = 0.62
#: The weight of single attributes beside pairs at pcost 1; it falls with the root of the budget.  Below 1 they are left
#: out.
_WEIGHT_ALONE = 0.36
#: How many triples to a pair, and the most cells that each may have.
_TRIPLES_TO_A_PAIR, _CELLS = 4 / 3, 2600
#: Triples are of so many of the smallest attributes.
_FEW = 200


def synthesis_plan(
    domain: Domain,
    budget: Budget,
    *,
    triples: int | None = None,
    max_cells: int = 1_000_000,
    neighbors: Notion = "add-remove",
    records_per_person: int = 1,
) -> Plan:
    """The plan of a release from which records are to be made.

    All pairs of attributes are measured with equal weights: none is chosen by looking at the records, which would cost
    a part of the budget and did not pay in our measurements.  Up to about epsilon 2 (at delta 1e-9) single
    attributes are asked for besides, with a weight that is the larger the smaller the budget is: 2 at epsilon 1, 19 at
    0.1.  Where pairs hardly show above the noise, single attributes are what records are made of.  From about epsilon 5
    on, the smallest triples are measured besides.

    Args:
        domain: the schema.
        budget: what may be spent.
        triples: how many triples to measure, the smallest ones; chosen by the budget unless given.
        max_cells: larger pairs are left out; their attributes are measured at least alone.
        neighbors: as of `select`.
        records_per_person: as of `select`.

    Returns:
        The plan, for `measure`; then comes ``synthesize(reconstruct(measurement))``.

    Raises:
        ArgumentError: ``domain`` is not a domain, ``budget`` is not a budget, or ``triples`` no integer from 0.
        DomainError: an attribute's values are amounts, or records have weights: no records could be made of these.
        BudgetError: ``max_cells`` is not positive, or as `select` raises it.
        WorkloadError: no attribute has more than one value.

    Cost: as of `select`, with a closed form.

    Example:
        >>> from residualplanner import Domain, approx_dp
        >>> domain = Domain({"age": 85, "sex": 2, "race": 5, "income": 2})
        >>> [len(synthesis_plan(domain, approx_dp(epsilon, 1e-9)).workload) for epsilon in (1, 10)]
        [10, 10]
    """
    require_type("synthesis_plan", "domain", domain, Domain, "write synthesis_plan(domain, zcdp(0.1))")
    require_type("synthesis_plan", "budget", budget, Budget, "write synthesis_plan(domain, zcdp(0.1))")
    domain.require_no_amounts("synthetic records have values that are listed")
    domain.require_equal_weights("synthesize")
    most = require_positive("max_cells", max_cells)
    several = [position for position, size in enumerate(domain.sizes) if size > 1]
    if not several:
        raise WorkloadError("synthetic records need an attribute with more than one value, and the domain has none")
    pairs = [pair for pair in combinations(several, 2) if domain.sizes[pair[0]] * domain.sizes[pair[1]] <= most]
    weight = _WEIGHT_ALONE / math.sqrt(budget.pcost)
    alone = [(position,) for position in several if weight > 1 or not any(position in pair for pair in pairs)]
    larger = _smallest_triples(domain, several, _count(budget, triples, len(pairs)), triples is None)
    chosen = [*alone, *pairs, *larger]
    workload = Workload(domain, [tuple(domain.names[position] for position in members) for members in chosen])
    weights = [weight if len(members) == 1 else 1.0 for members in chosen]
    loss = SumOfVariances(weights=weights if weight > 1 else "equal")
    return select(workload, budget=budget, loss=loss, neighbors=neighbors, records_per_person=records_per_person)


def _count(budget: Budget, triples: int | None, pairs: int) -> int:
    if triples is None:
        return round(_TRIPLES_TO_A_PAIR * pairs) if budget.pcost >= _PCOST_OF_TRIPLES else 0
    if not is_integer(triples):
        raise ArgumentError(f"synthesis_plan: triples must be an integer from 0, got {value_text(triples)}")
    return int(triples)


def _smallest_triples(domain: Domain, several: list[int], count: int, is_limited: bool) -> Iterator[tuple[int, ...]]:
    """The triples with the fewest cells, in the order of the domain; none with too many where that is to be limited."""
    few = sorted(several, key=lambda position: domain.sizes[position])[: min(count + 2, _FEW)]
    cells = {
        tuple(sorted(members)): math.prod(domain.sizes[position] for position in members)
        for members in combinations(few, 3)
    }
    chosen = sorted(cells, key=lambda members: (cells[members], members))[:count]
    yield from sorted(members for members in chosen if not is_limited or cells[members] <= _CELLS)
