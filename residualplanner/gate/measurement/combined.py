"""Several measurements of the same records, averaged residual by residual.

Reads: measurements.  Gives: CombinedMeasurement.  Costs nothing beyond what they have cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from residualplanner.gate.measurement.answers import AnswerLayout, FloatResiduals, IntegerResiduals
from residualplanner.gate.measurement.combined_plan import combined_plan, combined_precision
from residualplanner.gate.measurement.measurement import (
    Measurement,
    groups_of_plan,
    load_measurement,
    map_measurement,
    measurement_html,
)
from residualplanner.gate.measurement.noise_statement import CombinedNoise, NoiseStatement
from residualplanner.ground.array_hashes import content_hash
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import frozen
from residualplanner.ground.errors import ArgumentError, BudgetError, memory_for
from residualplanner.ground.verified_file import VerifiedFile
from residualplanner.ground.words import count_text
from residualplanner.method.plan.plan import Plan


class NoisyAnswers(Protocol):
    """Noisy answers that tables follow from, such as a `Measurement`, or a `CombinedMeasurement` of several."""

    @property
    def plan(self) -> Plan:
        """Which sets of attributes were measured, with how much noise."""
        ...

    @property
    def residuals(self) -> IntegerResiduals | FloatResiduals:
        """The answers."""
        ...

    @property
    def noise(self) -> NoiseStatement:
        """How the noise was drawn."""
        ...

    @property
    def answers_sha256(self) -> str:
        """The SHA-256 of the answers: 64 hexadecimal digits."""
        ...

    def with_residuals(self, residuals: FloatResiduals) -> "NoisyAnswers":
        """The same with other answers."""
        ...

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The measurements that they are of: one, or several that were averaged."""
        ...


@dataclass(frozen=True, eq=False)
class CombinedMeasurement:
    """Several measurements of the same records as one: every residual has the average of its answers.

    Averages are weighted by precision, so that no other unbiased linear estimate has a smaller variance.

    Attributes:
        measurements: all of them.
        plan: what they measured together; its noise is that of the averages.
        residuals: the averages, rounded to floats; where only one measurement has a residual, its own answers.

    Source: docs/mathematics.md section 7, on several measurements.
    """

    measurements: tuple[Measurement, ...]
    plan: Plan
    residuals: FloatResiduals = field(repr=False)

    def __repr__(self) -> str:
        sets = count_text(len(self.plan.closure), "attribute set")
        return f"<Measurement of {sets}, combined from {len(self.measurements)}>"

    def _repr_html_(self) -> str:
        return measurement_html(self)

    @property
    def noise(self) -> CombinedNoise:
        """How the noise of each was drawn."""
        plans, records = zip(*((each.plan, each.noise) for each in self.measurements), strict=True)
        return CombinedNoise(plans, records)

    @cached_property
    def answers_sha256(self) -> str:
        """The SHA-256 of the averages: 64 hexadecimal digits."""
        return content_hash({}, self.residuals.to_arrays(), self.residuals.hashes)

    def with_residuals(self, residuals: FloatResiduals) -> "CombinedMeasurement":
        """The same with other answers, such as those of tables that have been adjusted."""
        return replace(self, residuals=residuals)


@memory_for("to combine these measurements; use a machine with more memory")
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
    Source: docs/mathematics.md section 7, on several measurements.
    """
    chosen = tuple(measurements)
    if len(chosen) < 2 or not all(isinstance(measurement, Measurement) for measurement in chosen):
        raise ArgumentError("combine two or more measurements, from measure or load_measurement")
    if len({measurement.answers_sha256 for measurement in chosen}) < len(chosen):
        raise BudgetError("a measurement is there twice; its noise would be averaged with itself and not become less")
    plan = combined_plan([measurement.plan for measurement in chosen])
    return CombinedMeasurement(chosen, plan, _averages(chosen, plan))


def load_measurements(paths: Sequence[PathLike]) -> Measurement | CombinedMeasurement:
    """Read one measurement, or several as one.

    Raises:
        FileFormatError, BudgetError, OSError: as `load_measurement`.
        BudgetError, WorkloadError: as `combine`.
    """
    return as_one([load_measurement(path) for path in paths])


def map_measurements(files: Sequence[VerifiedFile]) -> Measurement | CombinedMeasurement:
    """Map the file of one measurement, or those of several as one, whose hashes may have been compared before.

    Raises:
        FileFormatError, BudgetError, OSError, WorkloadError: as `load_measurements`.
    """
    return as_one([map_measurement(file) for file in files])


def as_one(measurements: Sequence[Measurement]) -> Measurement | CombinedMeasurement:
    """A single measurement as it is, several combined; errors as those of `combine`."""
    return measurements[0] if len(measurements) == 1 else combine(measurements)


def _averages(measurements: Sequence[Measurement], plan: Plan) -> FloatResiduals:
    """The average answers to all that a plan of measurements together measures, weighted by precision."""
    closure, groups = plan.closure, groups_of_plan(plan)
    layout = AnswerLayout(groups)
    values = np.zeros(layout.count)
    total = combined_precision(closure, [measurement.plan for measurement in measurements])
    for measurement in measurements:
        sets, own = closure.positions_of_sets(measurement.plan.closure), measurement.residuals
        weights = 1 / measurement.plan.noise_variances / total[sets]
        for number, members in enumerate(own.groups.members):
            group, rows = groups.group[sets[members[0]]], groups.row[sets[members]]
            scale = weights[members].reshape(-1, *(1,) * len(own.groups.shapes[number]))
            layout.part(values, group)[rows] += scale * own.block(number)
    return FloatResiduals(groups, frozen(values))
