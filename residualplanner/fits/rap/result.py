"""What a run of RAP gives: relaxed records, what was chosen and answered, and what it cost.

Everything here may be published.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from residualplanner.fits.rap.plan import RapPlan
from residualplanner.fits.rap.relaxed_records import RelaxedRecords
from residualplanner.fits.rap.selection import Candidate
from residualplanner.fits.synthesis import rounding_named
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.ground.checks import FloatArray, IntArray, is_integer, require_type, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.html import ROWS, caption_of, html_table, rest_note
from residualplanner.ground.words import decimal_text_up
from residualplanner.method.workload.query import QueryLike, written_query
from residualplanner.method.workload.workload import Workload


@dataclass(frozen=True, slots=True, eq=False)
class RapRound:
    """One round: what was chosen, the noisy answers, and how they were fitted.

    Attributes:
        chosen: the cells or tables, in the order in which they were drawn; none where everything is measured.
        cells: of each table that was measured, by its number, the numbers (c,) of its cells.
        answers: of each table that was measured the noisy counts (c,) of these cells, integers.
        noise_variance: of the noise, in counts squared.
        losses: before each step of the fits, and after the last of each fit.
        steps: how many steps the fits made.
    """

    chosen: tuple[Candidate, ...]
    cells: dict[int, IntArray]
    answers: dict[int, IntArray]
    noise_variance: Fraction
    losses: tuple[float, ...]
    steps: int


@dataclass(frozen=True, slots=True, eq=False)
class RapResult:
    """What a run of RAP gives, all of which may be published.

    Attributes:
        plan: what was to be done.
        records: the relaxed records after the last round.
        total: the number of records, as it is public or was measured with noise.
        rounds: what was chosen and answered in each.
        costs: the exact pcost of every draw; together at most ``plan.cost``, which was charged.
        noise: how the noise was drawn, and what may be claimed for it.
    """

    plan: RapPlan
    records: RelaxedRecords
    total: int
    rounds: tuple[RapRound, ...]
    costs: tuple[tuple[str, Fraction], ...]
    noise: NoiseRecord

    def __repr__(self) -> str:
        return f"<RapResult of {self.plan!r}: {self.noise.guarantee}>"

    def _repr_html_(self) -> str:
        rows = [[label, decimal_text_up(cost / 2)] for label, cost in self.costs]
        return html_table(
            caption_of(self), ["draw", "rho"], rows[:ROWS], note=rest_note(len(rows) - ROWS, ".costs has all")
        )

    @property
    def spent(self) -> Fraction:
        """The sum of the costs of all draws."""
        return sum((cost for _, cost in self.costs), Fraction(0))

    def table(self, query: QueryLike) -> FloatArray:
        """The estimated answers to a query, (q_1, .., q_k), with its axes as it is written, prespecified or not.

        Args:
            query: as in a workload: names, a mapping from name to kind of query, a `Threshold`, or one `Among` others.

        Raises:
            DomainError: an attribute is not in the domain, or is named twice.
            WorkloadError: a kind of query does not fit its attribute; a threshold stands beside other kinds, and the
                relaxation is "clip".
        """
        domain = self.plan.workload.domain
        found = self.records.answers(written_query(domain, query), domain)
        found *= self.total
        return found

    def tables(self, workload: Workload | None = None) -> Iterator[FloatArray]:
        """The same for every query of a workload in its order, one at a time; by default of the plan's own.

        Raises:
            ArgumentError: ``workload`` is something else.
            WorkloadError: it is of another domain, or as by `table`.
        """
        if workload is not None:
            require_type("tables", "workload", workload, Workload, "make one with marginals(domain, order=2)")
            if workload.domain != self.plan.workload.domain:
                raise WorkloadError("the workload is of another domain than the plan")
        yield from map(self.table, self.plan.workload if workload is None else workload)

    def codes(self, records: int | None = None, *, seed: int = 0) -> IntArray:
        """Records (n, d), as codes in the order of the domain, spread evenly over the model.

        Args:
            records: how many; as many as there are unless given.
            seed: it is no secret, as nothing private depends on it.

        Raises:
            WorkloadError: the relaxed records are no distribution, as under the relaxation "clip"; ``records`` or
                ``seed`` is no integer from 0.
            ResourceError: so many records take more memory than there is.

        Source: eq. (76).
        """
        count = self.total if records is None else records
        for name, value in (("records", count), ("seed", seed)):
            if not is_integer(value):
                raise WorkloadError(f"{name} must be an integer from 0, got {value_text(value)}")
        even, mixture = rounding_named("sobol"), self.records.mixture
        even.require_room(count, len(self.plan.workload.domain))
        codes, _ = even.draw(mixture, int(count), np.random.default_rng(int(seed)))
        return codes
