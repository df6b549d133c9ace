"""What was measured in stages: all of it may be published, and tables with standard errors follow from it.

Source: docs/mathematics.md section 13, on stages; eq. (132).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from residualplanner.fits.nonnegative.components import centered
from residualplanner.fits.synthesis.coarsening import Coarsening, all_fine, coarsened_domain
from residualplanner.fits.synthesis.measured_tables import Stage
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.measurement.noise_record import NoiseRecord, warning_of
from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.notebooks import frame_html
from residualplanner.ground.words import count_text
from residualplanner.method.domain.domain import Domain
from residualplanner.method.plan.plan import Plan
from residualplanner.release.release import Release

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class StagedRelease:
    """Noisy answers that were measured in stages, each chosen by those before it.

    Attributes:
        singles: the number of records and the tables of single attributes, of the first two stages.
        pairs: the stages after these, of pairs of attributes in groups of their values; none where the noise would hide
            all of them.
        everything: a plan of all tables that facts may be about, by which nothing was measured.
    """

    singles: Release
    pairs: tuple[Stage, ...]
    everything: Plan

    def __repr__(self) -> str:
        about = f"{count_text(len(self.tables), 'table')} of pairs beside single attributes"
        return f"<StagedRelease: {about}{warning_of(self.noise)}>"

    def _repr_html_(self) -> str:
        return frame_html(self.to_frame())

    @property
    def domain(self) -> Domain:
        """The schema."""
        return self.plan.domain

    @property
    def plan(self) -> Plan:
        """That of the number of records and of single attributes."""
        return self.singles.plan

    @property
    def total(self) -> float:
        """The estimated number of records."""
        return float(self.singles[()].estimate)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What records are made from: single attributes, then pairs."""
        return (Stage(self.singles.measurement, all_fine(self.domain)), *self.pairs)

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Those of all stages, in their order."""
        return tuple(own for stage in self.stages for own in stage.measurement.measurements)

    @property
    def noise(self) -> NoiseRecord:
        """How the noise of all stages was drawn, what it cost together, and what may be claimed for it."""
        measured = self.measurements
        return NoiseRecord.of_several([each.plan for each in measured], [each.noise for each in measured])

    @cached_property
    def tables(self) -> dict[tuple[str, ...], "StagedTable"]:
        """The tables of pairs by the names of their attributes: those that were measured last, and most exactly."""
        names, found = self.domain.names, dict[tuple[str, ...], StagedTable]()
        for stage in self.pairs:
            if stage.order == 2:  # the pairs of a triple are measured in groups of their own
                for axes, components, variance in stage.tables():
                    coarsenings, residual = tuple(each for each, _ in axes), centered(components, (0, 1))
                    table = StagedTable(self.singles, coarsenings, residual, variance)
                    found[tuple(names[each.attribute] for each in coarsenings)] = table
        return found

    def __getitem__(self, names: tuple[str, ...]) -> "StagedTable":
        try:
            return self.tables[names]
        except (KeyError, TypeError):
            raise WorkloadError(
                f"{names!r} was not measured as a pair; .tables has those that were, and .singles all attributes alone"
            ) from None

    def to_frame(self) -> "pd.DataFrame":
        """A row for each pair: its attributes, how many groups each has, and the standard error of an average cell."""
        import pandas as pd

        rows = [
            (*names, *(each.count for each in table.coarsenings), float(np.sqrt((table.std_err**2).mean())))
            for names, table in self.tables.items()
        ]
        return pd.DataFrame(rows, columns=["attribute", "other", "groups", "groups_of_other", "std_err"])


@dataclass(frozen=True, eq=False, slots=True)
class StagedTable:
    """The unbiased table of a pair of attributes in groups of their values, with standard errors.

    What only the pair shows was measured in a stage of its own; its margins and its total are from single attributes.
    """

    singles: Release
    coarsenings: tuple[Coarsening, ...]  # of the two attributes
    residual: FloatArray  # (m, m'): noisy, in counts; its sums along both axes are 0
    noise_variance: float  # of it, before its means were subtracted

    @property
    def estimate(self) -> FloatArray:
        """The estimated count of each combination of groups, (m, m'); together they are the estimated total."""
        names = self.singles.plan.domain.names
        one, other = (each.indicators @ self.singles[(names[each.attribute],)].estimate for each in self.coarsenings)
        return np.asarray(self.residual + one[:, None] / len(other) + other / len(one) - one.sum() / self.residual.size)

    @property
    def std_err(self) -> FloatArray:
        """The standard error of each, (m, m').  Source: eq. (132)."""
        plan, counts = self.singles.plan, self.residual.shape
        spread = np.full(counts, self.noise_variance * (1 - 1 / counts[0]) * (1 - 1 / counts[1]))
        of_total = np.full(counts, -1 / self.residual.size)
        for axis, (each, others) in enumerate(zip(self.coarsenings, reversed(counts), strict=True)):
            sizes = np.bincount(each.groups)  # how many values each group has
            noise = plan.noise_variances[plan.closure.position_of((each.attribute,))]
            shape = (-1, 1) if axis == 0 else (1, -1)
            spread += (noise * (sizes - sizes**2 / sizes.sum()) / others**2).reshape(shape)
            of_total += (sizes / sizes.sum() / others).reshape(shape)
        return np.asarray(np.sqrt(spread + plan.noise_variances[0] * of_total**2))

    def to_frame(self) -> "pd.DataFrame":
        """A row for each combination of groups: their labels, ``estimate`` and ``std_err``."""
        import pandas as pd

        domain = coarsened_domain(self.singles.plan.domain, self.coarsenings)
        index = pd.MultiIndex.from_product([each.value_labels for each in domain.attributes], names=domain.names)
        columns = {"estimate": self.estimate.ravel(), "std_err": self.std_err.ravel()}
        return pd.DataFrame(columns, index=index).reset_index()
