"""An audit of records in stages: many whole runs, and an adversary who tells two neighboring tables apart.

Every stage is chosen by what those before it have shown, so that no two runs measure the same.  The adversary knows
both tables and sees the answers of all stages, and scores a run by its likelihood ratio: the sum over all sets of the
change that the record would make, in units of the noise.  The claim is that the noise protects as much as that of a
single Gaussian mechanism of the whole cost, in every course of events.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

import residualplanner as rp
from benchmarks.auditing import Scores
from residualplanner.fits.nonnegative.components import centered, measured_components
from residualplanner.fits.stages.measuring import measure_with_bits
from residualplanner.fits.synthesis.measured_tables import Stage
from residualplanner.gate.discrete_gaussian import ByteSource

DOMAIN = rp.Domain({"a": 6, "b": 3, "c": 2})
#: The record that one of the tables has more, in a cell of its own.
RECORD = (5, 2, 1)


@dataclass(frozen=True)
class StagesExperiment:
    """What is claimed of runs, and what is really done.

    Attributes:
        claimed: the plan whose cost is claimed.
        plan: the plan that is carried out.
        records: of the table without the record, or about as many.
    """

    claimed: rp.fits.StagedPlan
    plan: rp.fits.StagedPlan
    records: int

    @classmethod
    def of(cls, rho: str, records: int, *, really: str | None = None) -> "StagesExperiment":
        """At rho 0.5 and 300 records pairs are measured twice, and triples; at 0.05 and 20 single attributes alone."""
        claimed, plan = (rp.fits.StagedPlan(DOMAIN, budget=rp.zcdp(each)) for each in (rho, really or rho))
        return cls(claimed, plan, records)

    @property
    def cost(self) -> Fraction:
        """The pcost that is claimed for all stages together."""
        return self.claimed.cost

    @property
    def table(self) -> NDArray[np.int64]:
        """The counts without the record: two attributes depend on each other, and the record's cell is empty."""
        each = np.arange(self.records)
        counts = np.zeros(DOMAIN.sizes, dtype=np.int64)
        np.add.at(counts, (each % 6, each % 6 // 2, each % 5 // 4), 1)
        counts[RECORD] = 0
        return counts

    def likelihood_scores(self, is_after: bool, runs: int, source: ByteSource) -> Scores:
        """The scores of so many runs, which are standard normal without the record if the noise is Gaussian."""
        before, counts = self.table, self.table
        counts[RECORD] += is_after
        releases = (measure_with_bits(self.plan, {DOMAIN.names: counts}, source) for _ in range(runs))
        return np.array([self._score(release, before) for release in releases])

    def _score(self, release: rp.fits.StagedRelease, before: NDArray[np.int64]) -> float:
        first, *pairs = release.stages
        alone = [Stage(measurement, first.coarsenings) for measurement in first.measurement.measurements]
        score = power = 0.0
        for stage in (*alone, *pairs):
            layout, plan = stage.layout, stage.measurement.plan
            components = measured_components(layout, stage.measurement)
            for number, members in enumerate(plan.closure):
                axes = [stage.coarsenings[position] for position in members]
                others = tuple({0, 1, 2} - {each.attribute for each in axes})
                truth = before.sum(axis=others)
                for axis, each in enumerate(axes):
                    truth = each.summed(truth, axis)
                ones = [np.eye(each.count)[each.groups[RECORD[each.attribute]]] for each in axes]
                every = range(truth.ndim)
                change = centered(reduce(np.multiply.outer, ones, np.ones(())), every)
                away = layout.of_set(components, number) - centered(truth.astype(np.float64), every)
                score += float((away * change).sum()) / float(plan.noise_variances[number])
                power += float((change**2).sum()) / float(plan.noise_variances[number])
        return score / math.sqrt(power)
