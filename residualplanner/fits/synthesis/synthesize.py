"""Records from a release, or from what was measured in stages; neither costs privacy budget."""

from collections.abc import Iterable

from residualplanner.fits.mixtures.drawing import rounding_named
from residualplanner.fits.mixtures.fitting import Ensemble
from residualplanner.fits.mixtures.mixture import within
from residualplanner.fits.nonnegative.facts import Facts, Impossible, Known, read_facts
from residualplanner.fits.synthesis import records as synthetic
from residualplanner.fits.synthesis.fitted_mixture import fit_mixture
from residualplanner.fits.synthesis.measured_tables import measured_tables
from residualplanner.fits.synthesis.staged_release import StagedRelease
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import require_type, untold
from residualplanner.ground.errors import ArgumentError, memory_for
from residualplanner.ground.words import RoundingName
from residualplanner.release.reconstruct import release_of
from residualplanner.release.release import Release


@memory_for("for so many synthetic records; ask for fewer, or use a machine with more memory")
def synthesize(
    release: Release | StagedRelease,
    records: int | None = None,
    *,
    known: Known | None = None,
    impossible: Iterable[Impossible] = (),
    method: RoundingName = "controlled",
    ensemble: Ensemble | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> synthetic.SyntheticRecords:
    """Records whose tables are near those of a release.

    A mixture of products is fitted to the noisy answers, each in units of its noise, and records are drawn from it.
    Its tables are non-negative, agree with one another, and exist of any attributes.

    Args:
        release: a release, or its folder as `load_tables` opens it, which holds its measurement; or what
            `measure_in_stages` measured, which gives records that are nearer to the truth.
        records: how many; their known or estimated number unless given.
        known: counts that are public anyway, as of `nonnegative`; of a total of 0 no records are made.
        impossible: cells that cannot occur, as of `nonnegative`.
        method: "controlled", records whose tables of pairs are brought near those of the mixture; "sobol", records
            spread evenly over it; "independent", records drawn independently of one another.
        ensemble: how many mixtures are fitted, of how many latent classes, in how many steps; chosen by how strong
            the signal is, unless given.
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
        records, and others about.
    Cost: of Adult 3 to 6 CPU seconds for epsilon up to 1, and some 15 at epsilon 10.
    Source: eqs. (66) to (78).

    Example:
        >>> import numpy as np
        >>> from residualplanner import Domain, marginals, measure, reconstruct, select, zcdp
        >>> plan = select(marginals(Domain({"a": 2, "b": 3}), order=2), budget=zcdp(1))
        >>> release = reconstruct(measure(plan, np.zeros((200, 2), dtype=int)))
        >>> people = synthesize(release, 200)
        >>> len(people), people.to_frame().columns.tolist(), int((people.codes == 0).all(axis=1).sum()) > 150
        (200, ['a', 'b'], True)
    """
    source = release if isinstance(release, StagedRelease) else in_one_stage(release)
    domain = source.everything.domain
    domain.require_no_amounts("synthetic records have values that are listed")
    synthetic.require_seed(seed)
    if ensemble is not None:
        require_type("synthesize", "ensemble", ensemble, Ensemble, "write ensemble=Ensemble(members=2)")
    domain.require_equal_weights("synthesize")
    rounding_named(method)
    facts = read_facts(source.everything, known, impossible)
    count = count_to_make(source, facts, records, method)
    report = progress or untold
    measured = measured_tables(source.stages, facts, domain)
    mixture = fit_mixture(measured, facts, ensemble, seed=int(seed), progress=within(report, 0, 50))
    return synthetic.drawn(
        release, (mixture, measured), facts, count, method=method, seed=seed, report=within(report, 50, 100)
    )


def in_one_stage(release: object) -> StagedRelease:
    """A release as if it had been measured in stages, of which it is the only one."""
    unbiased = release_of(release, "synthesize", "write synthesize(reconstruct(measurement))")
    return StagedRelease(unbiased, (), unbiased.plan)


def count_to_make(release: StagedRelease, facts: Facts, records: int | None, method: RoundingName) -> int:
    """How many records will be made, after all that can be checked without making them."""
    count = records
    if count is None:
        totals = [float(fact.counts.sum()) for fact in facts.known]
        count = max(round(totals[0] if totals else release.total), 0)
        if count > synthetic.MOST_RECORDS:
            raise ArgumentError(
                f"there are about {count:,} records, and at most {synthetic.MOST_RECORDS:,} are made; write "
                f"records={synthetic.MOST_RECORDS:_}, or fewer"
            )
    synthetic.require_count(count, "synthesize(release, records=1000)")
    rounding_named(method).require_room(count, len(release.everything.domain))
    return int(count)
