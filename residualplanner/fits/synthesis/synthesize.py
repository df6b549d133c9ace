"""What to measure for synthetic records, and records from a release.  Neither costs privacy budget."""

import math
from collections.abc import Iterable, Iterator
from itertools import combinations

from residualplanner.fits.mixtures.fitting import Ensemble
from residualplanner.fits.mixtures.mixture import unreported, within
from residualplanner.fits.nonnegative.facts import Facts, Impossible, Known, read_facts
from residualplanner.fits.synthesis import records as synthetic
from residualplanner.fits.synthesis.fitted_mixture import fit_mixture
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import is_integer, require_positive, require_type, value_text
from residualplanner.ground.errors import ArgumentError, WorkloadError, memory_for
from residualplanner.method.domain.domain import Domain
from residualplanner.method.losses import SumOfVariances
from residualplanner.method.plan.plan import Plan
from residualplanner.method.plan.select import select
from residualplanner.method.privacy import Budget, Notion
from residualplanner.method.workload.workload import Workload
from residualplanner.release.reconstruct import release_of
from residualplanner.release.release import Release

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
    if triples is not None and not is_integer(triples):
        raise ArgumentError(f"synthesis_plan: triples must be an integer from 0, got {value_text(triples)}")
    by_budget = round(_TRIPLES_TO_A_PAIR * len(pairs)) if budget.pcost >= _PCOST_OF_TRIPLES else 0
    larger = _smallest_triples(domain, several, by_budget if triples is None else int(triples), triples is None)
    chosen = [*alone, *pairs, *larger]
    workload = Workload(domain, [tuple(domain.names[position] for position in members) for members in chosen])
    weights = [weight if len(members) == 1 else 1.0 for members in chosen]
    loss = SumOfVariances(weights=weights if weight > 1 else "equal")
    return select(workload, budget=budget, loss=loss, neighbors=neighbors, records_per_person=records_per_person)


def _smallest_triples(domain: Domain, several: list[int], count: int, is_limited: bool) -> Iterator[tuple[int, ...]]:
    """The triples with the fewest cells, in the order of the domain; none with too many where that is to be limited."""
    few = sorted(several, key=lambda position: domain.sizes[position])[: min(count + 2, _FEW)]
    cells = {
        tuple(sorted(members)): math.prod(domain.sizes[position] for position in members)
        for members in combinations(few, 3)
    }
    chosen = sorted(cells, key=lambda members: (cells[members], members))[:count]
    yield from sorted(members for members in chosen if not is_limited or cells[members] <= _CELLS)


@memory_for("for so many synthetic records; ask for fewer, or use a machine with more memory")
def synthesize(
    release: Release,
    records: int | None = None,
    *,
    known: Known | None = None,
    impossible: Iterable[Impossible] = (),
    method: synthetic.RoundingName = "controlled",
    ensemble: Ensemble | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> synthetic.SyntheticRecords:
    """Records whose tables are near those of a release.

    A mixture of products is fitted to the noisy answers, each in units of its noise, and records are drawn from it.
    Its tables are non-negative, agree with one another, and exist of any attributes.

    Args:
        release: a release, or its folder as `load_tables` opens it, which holds its measurement.
        records: how many; their known or estimated number unless given.
        known: counts that are public anyway, as of `nonnegative`; of a total of 0 no records are made.
        impossible: cells that cannot occur, as of `nonnegative`.
        method: "controlled", records whose tables of pairs are brought near those of the mixture, and those of three
            attributes where such were measured; "sobol", records spread evenly over it; "weighted", four times as
            many of weight 1/4; "independent", records drawn independently of one another.
        ensemble: how many mixtures are fitted, of how many latent classes, in how many steps; chosen by how far
            attributes are from independence, in units of the noise, unless given.
        seed: of the fit and of the records, 0 or more; the same release and seed give the same records.
        progress: called with how much is done, and how much there is to do: half is for the mixture, half for records.

    Returns:
        The records, with the mixture and how well it fits.

    Raises:
        ArgumentError: ``release`` is not a release; ``records`` or ``seed`` is no integer from 0;
            ``ensemble`` is not one; there are more than a billion records.
        FileFormatError: the measurement in the folder is missing or was altered.
        DomainError: a fact has an attribute or label that is not in the domain.
        WorkloadError: a fact does not fit the release; facts contradict
            one another or leave no possible record; there is no such method.

    Guarantees: post-processing; it costs no budget.  Neither mixture nor records have a combination of values that
        cannot occur.  Known totals and tables of single attributes hold exactly in the mixture, and in as many
        records; with "weighted" known tables hold exactly wherever records are, and others about.
    Cost: of Adult, 91 tables of pairs, 3 to 5 CPU seconds for epsilon up to 1; with 121 tables of three attributes
        besides, at epsilon 10, about 15 for the fit and 20 for the records.
    Source: eqs. (66) to (76).

    Example:
        >>> import numpy as np
        >>> from residualplanner import Domain, marginals, measure, reconstruct, select, zcdp
        >>> plan = select(marginals(Domain({"a": 2, "b": 3}), order=2), budget=zcdp(1))
        >>> release = reconstruct(measure(plan, np.zeros((200, 2), dtype=int)))
        >>> people = synthesize(release, 200)
        >>> len(people), people.to_frame().columns.tolist(), int((people.codes == 0).all(axis=1).sum()) > 150
        (200, ['a', 'b'], True)
    """
    release = release_of(release, "synthesize", "write synthesize(reconstruct(measurement))")
    release.plan.domain.require_no_amounts("synthetic records have values that are listed")
    synthetic.require_seed(seed)
    if ensemble is not None:
        require_type("synthesize", "ensemble", ensemble, Ensemble, "write ensemble=Ensemble(members=2)")
    release.plan.domain.require_equal_weights("synthesize")
    synthetic.rounding_named(method)
    facts = read_facts(release.plan, known, impossible)
    count = count_to_make(release, facts, records, method)
    report = progress or unreported
    model = fit_mixture(release.measurement, facts, ensemble, seed=int(seed), progress=within(report, 0, 50))
    return synthetic.drawn(release, model, facts, count, method=method, seed=seed, report=within(report, 50, 100))


def count_to_make(release: Release, facts: Facts, records: int | None, method: synthetic.RoundingName) -> int:
    """How many records will be made, after all that can be checked without making them."""
    count = records
    if count is None:
        totals = [float(fact.counts.sum()) for fact in facts.known]
        count = max(round(totals[0] if totals else float(release[()].estimate)), 0)
        if count > synthetic.MOST_RECORDS:
            raise ArgumentError(
                f"there are about {count:,} records, and at most {synthetic.MOST_RECORDS:,} are made; write "
                f"records={synthetic.MOST_RECORDS:_}, or fewer"
            )
    synthetic.require_count(count, "synthesize(release, records=1000)")
    synthetic.rounding_named(method).require_room(count, len(release.plan.domain))
    return int(count)
