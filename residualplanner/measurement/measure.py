"""The gate: the only function that sees records, and the noise that lets what it returns be seen.

Reads: a plan, confidential records.  Gives: Measurement.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from residualplanner._checks import FloatArray, IntArray, frozen
from residualplanner.errors import BudgetError, DataError
from residualplanner.measurement.answers import ResidualAnswers, residual_count
from residualplanner.measurement.counting import NOTHING, Parents, count_tables, parents, require_cells
from residualplanner.measurement.discrete import integer_answers
from residualplanner.measurement.discrete_gaussian import ByteSource, OperatingSystemBits
from residualplanner.measurement.gaussian import (
    Mechanism,
    gaussian_mechanism,
    generator_of_entropy,
    release_generator,
)
from residualplanner.measurement.measurement import Measurement, groups_of_plan
from residualplanner.measurement.noise_record import NoiseRecord
from residualplanner.measurement.precision import (
    measured_cost,
    neighbor_words,
    precision_of,
    require_affordable,
    require_drawable,
)
from residualplanner.plan import Plan
from residualplanner.sources import Progress, open_source
from residualplanner.workload import ShapeGroups

#: How many cells are worked on at a time, so that they stay in the processor's cache.
BATCH_CELLS = 2**16


def measure(
    plan: Plan,
    data: object,
    *,
    noise: str = "discrete",
    seed: int | None = None,
    progress: Progress | None = None,
) -> Measurement:
    """Count the records and add the plan's noise: every call spends the plan's privacy budget once more.

    Args:
        plan: what to measure.
        data: the records: code array, data frame, path to CSV or Parquet, or ready counts.
        noise: "discrete": discrete Gaussian noise, exact in distribution, from the operating system's random bits;
            "gaussian": continuous noise in floating point, for research: the result carries no guarantee.
        seed: of continuous noise, for research.
        progress: called with the number of steps done and their total, which the plan alone decides: one for each table
            that is counted, one for each that gets noise.

    Returns:
        The noisy answers.  They hold neither the number of records nor where these came from.

    Raises:
        BudgetError: ``noise`` or ``seed`` is not what it can be; the exact cost of the noise exceeds the budget.
        WorkloadError: the tables are too large to hold.
        DataError: the records do not fit the schema; no noise has been drawn.
        NoiseError: the random bytes or the machine's arithmetic failed a check; nothing may be released.

    Guarantees: zCDP at half the exact cost that the result states, which is at most the plan's rho, for neighbors as
        the plan says.
    Source: spec eqs. (34) and (35), paper Algorithm 3; for "gaussian" eq. (7), Algorithm 1.
    """
    _require_options(noise, seed)
    if noise == "discrete":
        return measure_with_bits(plan, data, OperatingSystemBits(), progress=progress)
    groups, family = _groups(plan)
    steps = _Steps.of(family, progress)
    tables = _tables_or_error(plan, data, groups, family, progress=steps.counting)
    del data  # the traceback of what is raised here must not lead to the records
    if isinstance(tables, DataError):
        raise tables
    generator = release_generator() if seed is None else generator_of_entropy(int(seed))
    variances = plan.noise_variance.array
    values = residual_values(gaussian_mechanism(generator), tables, groups, variances, progress=steps.answering)
    record = NoiseRecord("gaussian", None if seed is None else int(seed), neighbors=neighbor_words(plan))
    return Measurement(plan, ResidualAnswers(groups, frozen(values)), record)


def measure_with_bits(plan: Plan, data: object, source: ByteSource, *, progress: Progress | None = None) -> Measurement:
    """`measure` with discrete noise from any source of bytes, whose mark the result keeps; for tests."""
    groups, family = _groups(plan)
    precision = precision_of(plan.noise_variance.array)
    cost = measured_cost(plan, precision)
    require_affordable(plan, cost)
    require_drawable(groups, precision)
    steps = _Steps.of(family, progress)
    tables = _tables_or_error(plan, data, groups, family, progress=steps.counting)
    del data  # the traceback of what is raised here must not lead to the records
    if isinstance(tables, DataError):
        raise tables
    answers = integer_answers(tables, groups, precision, source, progress=steps.answering)
    return Measurement(plan, answers, NoiseRecord("discrete", None, source.mark, cost, neighbor_words(plan)))


def residual_values(
    mechanism: Mechanism,
    tables: list[IntArray],
    groups: ShapeGroups,
    noise_variance: FloatArray,
    *,
    progress: Progress | None = None,
) -> FloatArray:
    """What ``mechanism`` answers for all sets, in the order of `ResidualAnswers`.

    Args:
        mechanism: answers for a stack of tables.
        tables: the counts of each group, which are let go on the way, since they are large.
        groups: the sets by the shape of their tables.
        noise_variance (m,): of every set, in counts squared.
        progress: called with the number of tables done and their total.
    """
    values = np.empty(residual_count(groups))
    done, start = 0, 0
    for number, (shape, members) in enumerate(zip(groups.shapes, groups.members, strict=True)):
        counts, tables[number] = tables[number], NOTHING
        residual_shape = tuple(size - 1 for size in shape)
        stop = start + math.prod(residual_shape) * len(members)
        answers = values[start:stop].reshape(len(members), *residual_shape)
        step = max(1, BATCH_CELLS // math.prod(shape))
        for first, last in pairwise([*range(0, len(members), step), len(members)]):
            part = slice(first, last)
            mechanism(counts[part], noise_variance[members[part]], answers[part])
            if progress is not None:
                progress(done + last, len(groups.group))
        done, start = done + len(members), stop
    return values


def _tables_or_error(
    plan: Plan, data: object, groups: ShapeGroups, family: Parents, *, progress: Progress | None
) -> list[IntArray] | DataError:
    """The counts of all sets, or what is wrong with the records: not raised, and without history."""
    try:
        return count_tables(open_source(data, plan.domain), plan.closure, groups, family, progress=progress)
    except DataError as error:
        return DataError(str(error), column=error.column)


class _Steps(NamedTuple):
    """How the two parts of the work report their progress: each step counts once."""

    counting: Progress | None
    answering: Progress | None

    @classmethod
    def of(cls, family: Parents, progress: Progress | None) -> "_Steps":
        if progress is None:
            return cls(None, None)
        counted, total = int(family.is_maximal.sum()), len(family.parent)
        return cls(
            lambda done, _: progress(done, counted + total), lambda done, _: progress(counted + done, counted + total)
        )


def _groups(plan: Plan) -> tuple[ShapeGroups, Parents]:
    """What is to be measured, if it can be held."""
    groups = groups_of_plan(plan)
    require_cells(groups)
    return groups, parents(plan.closure)


def _require_options(noise: str, seed: int | None) -> None:
    if noise not in ("discrete", "gaussian"):
        raise BudgetError(f'noise must be "discrete" or "gaussian", got {noise!r}')
    if seed is None:
        return
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise BudgetError(f"seed must be a whole number, at least 0, or None for a release; got {seed!r}")
    if noise == "discrete":
        raise BudgetError('only noise="gaussian", which is for research, takes a seed; leave it out for a release')
