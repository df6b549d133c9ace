"""Records from a release, or from what was measured in stages; neither costs privacy budget.

Source: docs/mathematics.md section 13; iterative proportional fitting, Deming and Stephan (1940).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.fits.mixtures.drawing import rounding_named
from residualplanner.fits.mixtures.fitting import Ensemble
from residualplanner.fits.mixtures.mixture import Mixture, product_sums
from residualplanner.fits.nonnegative.facts import Facts, Impossible, Known, read_facts
from residualplanner.fits.synthesis.fitted_mixture import FitQuality, fit_mixture, fit_quality
from residualplanner.fits.synthesis.measured_tables import MeasuredTables, dependences, measured_tables
from residualplanner.fits.synthesis.saving import STATEMENT, column_of, save_frames
from residualplanner.fits.synthesis.staged_release import StagedRelease
from residualplanner.gate.measurement.noise_record import warning_of
from residualplanner.gate.sources.source import Progress
from residualplanner.ground import checks
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import FloatArray, IntArray, frozen, within
from residualplanner.ground.errors import ArgumentError, WorkloadError, memory_for
from residualplanner.ground.format_version import FORMAT_VERSION
from residualplanner.ground.notebooks import ROWS, caption_of, html_table, rest_note
from residualplanner.ground.words import RoundingName, count_text
from residualplanner.method.domain.domain import Domain
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.workload.query import QueryLike, written_query
from residualplanner.release.product import Product
from residualplanner.release.reconstruct import release_of
from residualplanner.release.release import Release

#: What the JSON file beside records says of their fit.
_FIT = (
    "the squared distance between the tables of the records and what was measured, in units of the noise, beside what "
    "noise alone explains; and the sets of attributes whose tables are farther away than noise explains"
)
#: How many records are written at a time.
_BLOCK = 10**6
#: Below this signal noise hides most of what attributes have to do with one another.
_WEAK = 30.0
#: The most records that are made.
_MOST_RECORDS = 10**9


if TYPE_CHECKING:
    import pandas as pd

    from residualplanner.publish.pictures.drawing import Picture


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
) -> "SyntheticRecords":
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
    _require_seed(seed)
    if ensemble is not None:
        checks.require_type("synthesize", "ensemble", ensemble, Ensemble, "write ensemble=Ensemble(members=2)")
    domain.require_equal_weights("synthesize")
    rounding_named(method)
    facts = read_facts(source.everything, known, impossible)
    count = count_to_make(source, facts, records, method)
    report = progress or checks.untold
    measured = measured_tables(source.stages, facts, domain)
    mixture = fit_mixture(measured, ensemble, seed=int(seed), progress=within(report, 0, 50))
    codes = _drawn(mixture, measured, count, method, seed, within(report, 50, 100))
    return SyntheticRecords(release, codes, method, int(seed), mixture, measured)


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
        if count > _MOST_RECORDS:
            raise ArgumentError(
                f"there are about {count:,} records, and at most {_MOST_RECORDS:,} are made; write "
                f"records={_MOST_RECORDS:_}, or fewer"
            )
    _require_count(count, "synthesize(release, records=1000)")
    rounding_named(method).require_room(count, len(release.everything.domain))
    return int(count)


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticRecords:
    """Records whose tables are near those of a release, and the mixture that they were drawn from.

    No record is that of a person.  What the records say beyond the tables that were measured, they say as if attributes
    were independent of one another within each latent class of the mixture.

    Attributes:
        release: what they were made from: a release, or what was measured in stages.
        codes (n, d): of the values of each record, in the order of the domain, read-only.
        method: how records were made of the mixture.
        seed: of the records; it is no secret, as the noise of the release does not depend on it.
        mixture: the distribution of a record, by the positions of attributes in the domain.
    """

    release: Release | StagedRelease
    codes: IntArray
    method: RoundingName
    seed: int
    mixture: Mixture
    _measured: MeasuredTables

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        about = f"{len(self):,} of {count_text(len(self.domain.names), 'attribute')}"
        caution = f"; {self.caution}" if self.caution else ""
        return f"<SyntheticRecords: {about}{warning_of(self.release.noise)}{caution}>"

    def _repr_html_(self) -> str:
        first = replace(self, codes=self.codes[:ROWS]).to_frame()
        return html_table(
            caption_of(self),
            list(map(str, first.columns)),
            first.itertuples(index=False),
            note=rest_note(len(self) - len(first), ".to_frame() has all"),
        )

    @property
    def facts(self) -> tuple[str, ...]:
        """The public facts from other sources, in words."""
        return self._measured.facts.statements

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The attributes that nothing was measured of: each value is as frequent as any, whatever the others are."""
        measured = {view.attribute for view in self._measured.views}
        measured |= {position for fact in self._measured.facts.zeros for position in fact.attributes}
        several = (number for number, size in enumerate(self.domain.sizes) if size > 1)
        return tuple(self.domain.names[number] for number in several if number not in measured)

    @property
    def signal(self) -> float:
        """Their number in units of the noise of an average pair of attributes."""
        return self._measured.signal

    @property
    def caution(self) -> str:
        """What to know where the signal is so weak that pairs of attributes hardly show; empty elsewhere."""
        if self.signal >= _WEAK or len(self.domain.sizes) < 2:
            return ""
        return (
            f"the signal is {self.signal:.0f}, and below {_WEAK:.0f} noise hides most of how attributes depend on one "
            "another: records are about as good as those from single attributes alone"
        )

    @property
    def dependence(self) -> "pd.DataFrame":
        """How much each pair of attributes was seen to depend on each other, and how much it does in the model.

        Returns:
            A row for each pair that was measured: ``attribute``, ``other``; ``measured``, the root of about its
            chi-square to a record, less what noise adds; ``std_err`` of the square; ``of_model``, the same of the
            mixture; and ``is_shown``, whether the square is more than two standard errors.
        """
        import pandas as pd

        columns = ["attribute", "other", "measured", "std_err", "of_model", "is_shown"]
        return pd.DataFrame(dependences(self._measured, self.mixture), columns=columns)

    def plot(self) -> "Picture":
        """How much pairs of attributes depend on each other in the model; what noise would hide is hatched."""
        from residualplanner.publish.pictures.drawing import Picture  # a door
        from residualplanner.publish.pictures.plots import dependence_figure  # a door

        return Picture("dependence of pairs", lambda: dependence_figure(self.domain.names, self.dependence))

    @property
    def domain(self) -> Domain:
        """Their attributes."""
        return self.release.plan.domain

    @cached_property
    def quality(self) -> FitQuality:
        """How far the tables of the mixture are from what was measured, in units of its noise, table by table."""
        return fit_quality(self._measured, self._measured.components_of(self.mixture, self._measured.tables))

    @cached_property
    def quality_of_records(self) -> FitQuality:
        """The same of the tables of the records."""
        return fit_quality(self._measured, self._measured.components_of_records(self.codes))

    def expected(self, query: QueryLike) -> FloatArray:
        """The expected answers to a query, by the mixture, (q_1, .., q_k), with its axes as it is written.

        Whatever was measured, there is such a table for any query; it is not better than the mixture is.

        Args:
            query: as in a workload: names, a mapping from name to kind of query, a `Threshold`, or one `Among` others.

        Raises:
            DomainError: an attribute is not in the domain, or is named twice.
            WorkloadError: a kind of query does not fit its attribute.
        """
        written, mixture = written_query(self.domain, query), self.mixture
        rows = [kind.apply(mixture.of_attribute(position), 0) for position, kind in zip(*written, strict=True)]
        answers = product_sums(rows, self._measured.records * mixture.weights)
        return frozen(np.asarray(written.put_together(self.domain, answers.astype(np.float64, copy=False))))

    def redrawn(
        self, records: int, *, method: RoundingName = "controlled", seed: int = 0, progress: Progress | None = None
    ) -> "SyntheticRecords":
        """Other records from the same mixture.

        Args:
            records: how many.
            method: as of `synthesize`.
            seed: of the records.
            progress: called with how much is done, and how much there is to do.

        Raises:
            ArgumentError: ``records`` or ``seed`` is no integer from 0.
            WorkloadError: there is no such method; it is known that there are no records.
            ResourceError: so many take more memory than there is.
        """
        _require_count(records, "redrawn(1000)")
        _require_seed(seed)
        rounding_named(method).require_room(records, len(self.domain))
        codes = _drawn(self.mixture, self._measured, records, method, seed, progress or checks.untold)
        return replace(self, codes=codes, method=method, seed=int(seed))

    def to_frame(self) -> "pd.DataFrame":
        """The records with the labels of the domain, a column for each attribute."""
        return self._frame(0, len(self))

    def _frame(self, first: int, last: int) -> "pd.DataFrame":
        import pandas as pd

        own = self.codes[first:last]
        columns = (column_of(each, own[:, place]) for place, each in enumerate(self.domain.attributes))
        return pd.DataFrame(dict(zip(self.domain.names, columns, strict=True)))

    def save(self, file: PathLike, *, progress: Progress | None = None) -> None:
        """Write the records to a CSV or Parquet file, and what they are to a JSON file beside it.

        The latter has the name of the former with ``.json`` added, and is written first: a run that is killed leaves no
        records without it.  Of millions of records a million at a time is in memory with their labels.

        Args:
            file: its name ends with ``.csv`` or ``.parquet``; one that exists is replaced.
            progress: called with how many records are written, and how many there are.

        Raises:
            ArgumentError: the name ends otherwise.
            OSError: the files cannot be written.
        """
        report, count = progress or checks.untold, len(self)

        def frames() -> Iterator["pd.DataFrame"]:
            for first in range(0, max(count, 1), _BLOCK):
                report(first, count)
                yield self._frame(first, first + _BLOCK)

        save_frames(file, self._described, self.release.noise.guarantee, frames())

    def _described(self, file: str, sha256: str) -> dict[str, Any]:
        plan, noise, quality = self.release.plan, self.release.noise, self.quality_of_records
        return {
            "version": FORMAT_VERSION,
            "file": file,
            "sha256": sha256,
            "statement": STATEMENT,
            "guarantee": noise.guarantee,
            "facts": list(self.facts),
            "facts_statement": Product(facts=self.facts).elsewhere,
            "noise": noise.published(plan),
            "plan_sha256": plan_hash(plan),
            "rows": len(self),
            "method": self.method,
            "seed": self.seed,
            "seed_statement": "of the model's start and of the drawing of records; the noise does not depend on it",
            "signal": float(self.signal),
            "caution": self.caution,
            "unmeasured": list(self.unmeasured),
            "unmeasured_statement": "nothing was measured of these attributes; their values are drawn evenly",
            "fit": {
                "statement": _FIT,
                "distance": float(quality.distances.sum()),
                "freedom": int(quality.freedoms.sum()),
                "worse": [list(names) for names in quality.worse],
            },
            "attributes": [{"name": each.name, "size": each.size} for each in self.domain.attributes],
        }


def _drawn(
    mixture: Mixture, measured: MeasuredTables, records: int, method: RoundingName, seed: int, report: Progress
) -> IntArray:
    if records and not measured.records:
        words = measured.facts.words
        raise WorkloadError(f"there are no records by {words}, so none can be made; ask for none, or correct it")
    generator = np.random.default_rng([int(seed), 1])
    return frozen(rounding_named(method).codes(mixture, int(records), generator, report=report))


def _require_count(records: object, example: str) -> None:
    """Raise ArgumentError unless a number of records is an integer from 0 to a billion; the example is a right call."""
    if not (checks.is_integer(records) and records <= _MOST_RECORDS):
        raise ArgumentError(
            f"records must be an integer from 0 to {_MOST_RECORDS:,}, got {checks.value_text(records)}; write {example}"
        )


def _require_seed(seed: object) -> None:
    if not checks.is_integer(seed):
        raise ArgumentError(f"seed must be an integer from 0, got {checks.value_text(seed)}")
