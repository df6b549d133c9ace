"""Several measurements of the same records, averaged residual by residual, at no cost beyond what they have cost."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from operator import add

import numpy as np

from residualplanner.gate.measurement.answers import AnswerLayout, Residuals
from residualplanner.gate.measurement.measurement import Measurement, NoisyAnswers, measurement_html
from residualplanner.gate.measurement.noise_record import NoiseRecord, noise_from_json
from residualplanner.ground.array_hashes import content_hash
from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import ArgumentError, BudgetError, FileFormatError, WorkloadError, memory_for
from residualplanner.ground.json import json_text
from residualplanner.ground.words import count_text, decimal_text_up
from residualplanner.method.bases.basis import basis_codes
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.losses import SumOfVariances
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import zcdp
from residualplanner.method.strategy.accuracy import Accuracy
from residualplanner.method.strategy.basis_groups import basis_groups
from residualplanner.method.strategy.costs import cost_upper_bound
from residualplanner.method.strategy.strategy import Strategy, constant_strategy
from residualplanner.method.workload.closure import Closure
from residualplanner.method.workload.workload import Workload

_REMEDY = (
    "answers in different bases are not averages of one another; plan the second measurement with bases= of the first"
)


def combined_plan(plans: Sequence[Plan]) -> Plan:
    """The plan for all queries whose noise is what remains when the answers of several measurements are averaged.

    A residual that several of them measure gets the average of its answers, weighted by their precisions, which is the
    best linear unbiased estimate: its precision is the sum of theirs.  The cost is the sum of the costs up to rounding,
    and the budget that of the budgets.  How far the sum of variances is above the least one is not known: the ``gap``
    is infinite.  WorkloadError for different domains or bases; BudgetError for different neighbors, too high a cost, or
    noise whose variances have no finite sum.

    Source: eq. (8), and docs/mathematics.md section 7 on several measurements.
    """
    first, *others = plans
    for other in others:
        if other.domain != first.domain:
            raise WorkloadError("measurements are combined over one domain; these have different attributes or values")
        if other.neighbors != first.neighbors:
            raise BudgetError(
                "measurements are combined where they protect the same change of the records; these protect "
                f"{first.neighbors.words} and {other.neighbors.words}"
            )
    workload: Workload = reduce(add, (plan.workload for plan in plans))
    strategy = _combined_strategy(workload.closure, plans)
    loss = SumOfVariances()
    with np.errstate(over="ignore", invalid="ignore"):
        noise = 1 / combined_precision(workload.closure, plans)
        accuracy = Accuracy(workload, strategy, noise, first.neighbors)
        loss_value = float(loss.importance(workload) @ accuracy.average_variances)
    if not math.isfinite(loss_value):
        raise BudgetError("the noise of these measurements is too large: the sum of its variances is no finite number")
    cost = cost_upper_bound(strategy, noise, first.neighbors)
    allowed = sum((plan.budget.pcost_exact for plan in plans), Fraction(0))
    if not math.isfinite(cost):
        raise BudgetError("these measurements cost more together than any budget can allow")
    return Plan(
        workload=workload,
        noise_variances=noise,
        strategy=strategy,
        neighbors=first.neighbors,
        budget=zcdp(decimal_text_up(max(allowed, Fraction(cost)) / 2)),  # which holds for every noise
        loss=loss,
        loss_value=loss_value,
        gap=math.inf,
        status=f"combined from {len(plans)} plans",
    )


def combined_precision(closure: Closure, plans: Sequence[Plan]) -> FloatArray:
    """The sum of the precisions with which plans measure each set of a closure, (m,); 0 where none does."""
    total = np.zeros(len(closure))
    for plan in plans:
        total[closure.positions_of_sets(plan.closure)] += 1 / plan.noise_variances
    return total


def _combined_strategy(closure: Closure, plans: Sequence[Plan]) -> Strategy:
    """What is measured by all plans together; WorkloadError where an attribute is measured in different bases."""
    if any(plan.strategy.varying.any() for plan in plans):
        first, *others = (plan.strategy for plan in plans)
        for other in others:
            codes = basis_codes([*first.bases, *other.bases])
            mine, theirs = codes[first.factor_bases], codes[len(first.bases) + other.factor_bases]
            are_same = first.closure.has_sets_of(other.closure) and bool((mine == theirs).all())
            if not (are_same and (first.varying == other.varying).all()):
                raise WorkloadError(
                    "bases vary by set, and are not the same in all plans; answers in different bases are not averages "
                    'of one another; measure one plan again, with again=True, or plan with bases="optimal"'
                )
        # the messages of (41) add up as the costs do
        return replace(first, messages=np.sum([plan.strategy.messages for plan in plans], axis=0))
    domain = plans[0].domain
    bases = [subtraction_basis(size) for size in domain.sizes]
    for attribute, name in enumerate(domain.names):
        measured = [plan.strategy.of_attributes[attribute] for plan in plans if plan.workload.uses[attribute].any()]
        if len(np.unique(basis_codes(measured))) > 1:
            raise WorkloadError(f"{name!r} is measured in different bases; {_REMEDY}")
        bases[attribute : attribute + 1] = measured[:1] or [bases[attribute]]
    return constant_strategy(closure, bases)


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
    residuals: Residuals = field(repr=False)

    def __repr__(self) -> str:
        sets = count_text(len(self.plan.closure), "attribute set")
        return f"<Measurement of {sets}, combined from {len(self.measurements)}>"

    def _repr_html_(self) -> str:
        return measurement_html(self, self.plan, self.residuals, self.noise)

    @property
    def noise(self) -> NoiseRecord:
        """How the noise of each was drawn, and what may be claimed for all of them together."""
        plans, records = zip(*((each.plan, each.noise) for each in self.measurements), strict=True)
        return NoiseRecord.of_several(plans, records)

    @cached_property
    def answers_sha256(self) -> str:
        """The SHA-256 of the averages: 64 hexadecimal digits."""
        return content_hash({}, self.residuals.to_arrays(), self.residuals.hashes)

    def with_residuals(self, residuals: Residuals) -> "CombinedMeasurement":
        """The same with other answers, such as those of tables that have been adjusted."""
        return replace(self, residuals=residuals)


@memory_for("to combine these measurements; use a machine with more memory")
def combine(measurements: Sequence[Measurement]) -> CombinedMeasurement:
    """Two or more measurements of the same records, each with noise of its own, as one; errors as of `combined_plan`.

    That they are of the same records is for the caller to know; nothing in a measurement tells.

    Guarantees: post-processing; the cost is what all of them have cost together.
    Source: docs/mathematics.md section 7, on several measurements.
    """
    chosen = tuple(measurements)
    if len(chosen) < 2 or not all(isinstance(measurement, Measurement) for measurement in chosen):
        raise ArgumentError("combine two or more measurements, from measure or load_measurement")
    if len({measurement.answers_sha256 for measurement in chosen}) < len(chosen):
        raise BudgetError("a measurement is there twice; its noise would be averaged with itself and not become less")
    plan = combined_plan([measurement.plan for measurement in chosen])
    closure, groups = plan.closure, basis_groups(plan.strategy)
    layout = AnswerLayout(groups)
    values = np.zeros(layout.count)
    total = combined_precision(closure, [measurement.plan for measurement in chosen])
    for measurement in chosen:
        sets, own = closure.positions_of_sets(measurement.plan.closure), measurement.residuals
        weights = 1 / measurement.plan.noise_variances / total[sets]
        for number, members in enumerate(own.groups.members):
            group, rows = groups.group[sets[members[0]]], groups.row[sets[members]]
            scale = weights[members].reshape(-1, *(1,) * len(own.groups.shapes[number]))
            layout.part(values, group)[rows] += scale * own.block(number)
    return CombinedMeasurement(chosen, plan, Residuals(groups, frozen(values)))


def as_one(measurements: Sequence[Measurement]) -> NoisyAnswers:
    """A single measurement as it is, several combined; errors as those of `combine`."""
    return measurements[0] if len(measurements) == 1 else combine(measurements)


def noise_of_release(stated: object, plan: Plan, plans: Sequence[Plan]) -> NoiseRecord:
    """Undo ``published``, if every word is true of a release's plan, and of those of its measurements.

    Errors are those of `noise_from_json`, and WorkloadError where the plans do not fit together.
    """
    if not isinstance(stated, Mapping) or "measurements" not in stated:
        return _record_of_release(stated, plan)
    several = stated["measurements"]
    are_several = isinstance(several, list) and all(isinstance(each, Mapping) for each in several)
    if not are_several or len(several) != len(plans) or len(plans) < 2:
        raise FileFormatError("it does not say what the noise of each measurement was")
    true = combined_plan(plans)
    is_near = math.isclose(plan.loss_value, true.loss_value, rel_tol=1e-9)  # as machines round
    if not is_near or plan_hash(plan) != plan_hash(replace(true, loss_value=plan.loss_value)):  # noise bit for bit
        raise FileFormatError("its plan is not that of all measurements together")
    about_noise = ({name: each[name] for name in each if name != "plan_sha256"} for each in several)
    records = tuple(map(_record_of_release, about_noise, plans))
    noise = NoiseRecord.of_several(plans, records)
    if json_text(dict(stated)) != json_text(noise.published(plan)):
        raise FileFormatError("what it says of all measurements together does not follow from each")
    return noise


def _record_of_release(stated: object, plan: Plan) -> NoiseRecord:
    if not isinstance(stated, Mapping) or "seed" in stated:
        raise FileFormatError("it does not say what the noise was")
    # No release holds its seed, and nothing depends on which it was: any number will do.
    seed = 0 if stated.get("randomness") == NoiseRecord(seed=0).randomness else None
    return noise_from_json({**stated, "seed": seed}, plan)
