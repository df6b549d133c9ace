"""What is done to unbiased tables before they are published, as one choice that can be checked in advance.

Costs no privacy budget.
"""

from dataclasses import dataclass

import numpy as np

from residualplanner.fits.adjusted.numbers import require_base, require_roundable, rounded
from residualplanner.fits.nonnegative.components import answers_of
from residualplanner.fits.nonnegative.facts import StatedTable, StatedZeros, read_facts
from residualplanner.fits.nonnegative.nonnegative import (
    nonnegative,
    nonnegative_bytes,
    require_memory_for_nonnegative,
    require_solvable,
)
from residualplanner.fits.nonnegative.table_map import reference_map
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.plan.plan import Plan
from residualplanner.release.release import Release

#: How near to the nearest tables those are that show that facts can be true together: any tables do.
_ROUGH = 0.5


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Adjustments:
    """What is done to unbiased tables before they are published."""

    is_nonnegative: bool = False  # whether they are made non-negative
    known: tuple[StatedTable, ...] = ()  # tables that are known anyway; only where they are made non-negative
    impossible: tuple[StatedZeros, ...] = ()  # cells that cannot occur, likewise
    base: int | None = None  # what they are rounded to multiples of; None where they are not rounded

    def __bool__(self) -> bool:
        return self.is_nonnegative or self.base is not None

    def bytes_for(self, plan: Plan) -> float:
        """About how many bytes of memory they take besides those of the tables themselves."""
        return nonnegative_bytes(plan) if self.is_nonnegative else 0.0

    def require_for(self, plan: Plan) -> None:
        """Check all that can be told from a plan in no time: as `require_fit`, ResourceError for too little memory."""
        self.require_fit(plan)
        if self.is_nonnegative:
            require_memory_for_nonnegative(plan)

    def require_fit(self, plan: Plan) -> None:
        """The same but for memory, which another machine may have.

        Raises:
            ArgumentError: there is no such base.
            DomainError, WorkloadError: a fact is not about the plan's tables, two facts contradict each other, what is
                measured cannot be rounded, or non-negative tables would not be found.
        """
        if self.is_nonnegative:
            require_solvable(plan)
        if self.base is not None:
            require_base(self.base)
            require_roundable(plan)
        if self.known or self.impossible:
            if not self.is_nonnegative:
                raise WorkloadError("what is known anyway is for non-negative tables only")
            read_facts(plan, self.known, self.impossible)

    def require_possible(self, plan: Plan, progress: Progress | None = None) -> None:
        """Raise WorkloadError, naming facts, where no non-negative tables agree with all, whatever is measured."""
        if self.is_nonnegative and (self.impossible or len(self.known) > 1):
            # Which tables the facts allow does not depend on the answers: only how large they are where nothing else
            # says it.  So these are answers that nobody measured, of one record that is spread evenly over all values.
            layout = reference_map(plan).own
            components = np.zeros(layout.count)
            components[0] = 1.0
            nobody = Release(Measurement(plan, answers_of(layout, components), NoiseRecord(seed=0)))
            nonnegative(nobody, known=self.known, impossible=self.impossible, gap=_ROUGH, progress=progress)

    def of(self, release: Release, progress: Progress | None = None) -> Release:
        """The tables of a release after all that is to be done to them; errors as of `nonnegative` and `rounded`."""
        if not self.is_nonnegative:
            return release if self.base is None else rounded(release, base=self.base)
        made = nonnegative(release, known=self.known, impossible=self.impossible, progress=progress)
        return made if self.base is None else rounded(made, base=self.base)
