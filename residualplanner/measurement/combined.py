"""Several measurements of the same records, averaged residual by residual.

Reads: measurements.  Gives: CombinedMeasurement.  Costs nothing beyond what they have cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from residualplanner._checks import frozen
from residualplanner.errors import ArgumentError, BudgetError, memory_for
from residualplanner.measurement.answers import AnswerLayout, FloatResiduals
from residualplanner.measurement.measurement import Measurement, answers_hash, groups_of_plan
from residualplanner.measurement.noise_record import Kind, NoiseRecord
from residualplanner.plan import Plan, combined_plan, combined_precision, sets_of_plan
from residualplanner.privacy import PrivacyClaim


@dataclass(frozen=True, slots=True)
class CombinedNoise:
    """How the noise of several measurements was drawn, and what may be claimed for all of them together.

    Attributes:
        records: how that of each was.
    """

    records: tuple[NoiseRecord, ...]

    @property
    def kind(self) -> Kind:
        """The noise of all: discrete if that of each is, else continuous."""
        return "discrete" if all(record.kind == "discrete" for record in self.records) else "gaussian"

    @property
    def pcost(self) -> Fraction | None:
        """The exact privacy cost of all together; None where that of one is not known."""
        costs = [record.pcost for record in self.records if record.pcost is not None]
        return sum(costs, Fraction(0)) if len(costs) == len(self.records) else None

    @property
    def is_private(self) -> bool:
        """Whether nobody could foresee the noise of any."""
        return all(record.is_private for record in self.records)

    @property
    def randomness(self) -> str:
        """Where the noise came from, in words."""
        return ", ".join(dict.fromkeys(record.randomness for record in self.records))

    @property
    def has_guarantee(self) -> bool:
        """Whether a sentence may be signed for all of them."""
        return all(record.has_guarantee for record in self.records)

    @property
    def guarantee(self) -> str:
        """The sentence as files have it: it starts with "none: " if there is no guarantee."""
        return self.sentence if self.has_guarantee else f"none: {self.sentence}"

    @property
    def sentence(self) -> str:
        """The sentence that may be signed for all of them, or the reason why there is none."""
        for record in self.records:
            if not record.has_guarantee:
                return record.sentence
        claim = PrivacyClaim(self.pcost or Fraction(0), self.records[0].neighbors, "discrete")
        return f"{claim.released}  This covers {len(self.records)} measurements of the records, whose costs add up."


@dataclass(frozen=True, eq=False)
class CombinedMeasurement:
    """Several measurements of the same records as one: every residual has the average of its answers.

    Averages are weighted by precision, so that no other unbiased linear estimate has a smaller variance.

    Attributes:
        measurements: all of them.
        plan: what they measured together; its noise is that of the averages.

    Source: spec section 7, on several measurements.
    """

    measurements: tuple[Measurement, ...]
    plan: Plan

    def __repr__(self) -> str:
        count = len(self.measurements)
        return f"<Measurement of {len(self.plan.closure):,} attribute sets, combined from {count}>"

    @property
    def noise(self) -> CombinedNoise:
        """How the noise of each was drawn."""
        return CombinedNoise(tuple(measurement.noise for measurement in self.measurements))

    @cached_property
    @memory_for("to combine these measurements; use a machine with more memory")
    def residuals(self) -> FloatResiduals:
        """The averages, rounded to floats; where only one measurement has a residual, its own answers."""
        closure, groups = self.plan.closure, groups_of_plan(self.plan)
        layout = AnswerLayout(groups)
        values = np.zeros(layout.count)
        total = combined_precision(closure, [measurement.plan for measurement in self.measurements])
        for measurement in self.measurements:
            sets, own = sets_of_plan(closure, measurement.plan), measurement.residuals
            weights = 1 / measurement.plan.noise_variances / total[sets]
            for number, members in enumerate(own.groups.members):
                group, rows = groups.group[sets[members[0]]], groups.row[sets[members]]
                scale = weights[members].reshape(-1, *(1,) * len(own.groups.shapes[number]))
                layout.part(values, group)[rows] += scale * own.block(number)
        return FloatResiduals(groups, frozen(values))


def combine(measurements: Sequence[Measurement]) -> CombinedMeasurement:
    """Several measurements of the same records as one.

    That they are of the same records is for the caller to know; nothing in a measurement tells.

    Args:
        measurements: two or more, each with noise of its own.

    Raises:
        ArgumentError: there are fewer than two, or one of them is not a measurement.
        BudgetError: one is there twice, or they protect different changes of the records.
        WorkloadError: they are over different domains, or measure an attribute in different bases.

    Guarantees: post-processing; the cost is what all of them have cost together.
    Source: spec section 7, on several measurements.
    """
    chosen = tuple(measurements)
    if len(chosen) < 2 or not all(isinstance(measurement, Measurement) for measurement in chosen):
        raise ArgumentError("combine two or more measurements, from measure or load_measurement")
    if len(set(map(answers_hash, chosen))) < len(chosen):
        raise BudgetError("a measurement is there twice; its noise would be averaged with itself and not become less")
    return CombinedMeasurement(chosen, combined_plan([measurement.plan for measurement in chosen]))
