"""The gate: the only function that sees records, and the noise that lets what it returns be seen.

Reads: a plan, confidential records.  Gives: Measurement.
"""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from residualplanner._checks import FloatArray, IntArray, frozen
from residualplanner.errors import BudgetError, DataError
from residualplanner.measurement.counting import NOTHING, Parents, count_tables, parents, require_cells
from residualplanner.measurement.gaussian import (
    Mechanism,
    gaussian_mechanism,
    generator_of_entropy,
    release_generator,
)
from residualplanner.measurement.ledger import Ledger, charge_plan
from residualplanner.measurement.measurement import (
    Measurement,
    NoiseRecord,
    ResidualAnswers,
    groups_of_plan,
    residual_count,
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
    noise: str = "gaussian",
    seed: int | None = None,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
) -> Measurement:
    """Count the records and add the plan's noise: every call spends the plan's privacy budget once more.

    Args:
        plan: what to measure.
        data: the records: code array, data frame, path to CSV or Parquet, or ready counts.
        noise: "gaussian": continuous noise in floating point, for research.
        seed: of the noise, for research: the result is marked as not private.
        ledger: what the cost is charged to, before the first record is read; a failure after that keeps the charge.
        progress: called with the number of steps done and their total, which the plan alone decides: one for each table
            that is counted, one for each that gets noise.

    Returns:
        The noisy answers.  They hold neither the number of records nor where these came from.

    Raises:
        BudgetError: ``noise`` or ``seed`` is not what it can be, or the ledger has not enough left.
        FileFormatError, OSError: the ledger's file is damaged, or cannot be locked or written.
        WorkloadError: the tables are too large to hold.
        DataError: the records do not fit the schema; no noise has been drawn.

    Guarantees: with real numbers for floating-point ones, zCDP at the plan's rho, for neighbors as the plan says.
    Source: spec eq. (7); paper Algorithm 1.
    """
    record = _noise_record(noise, seed)
    groups = groups_of_plan(plan)
    require_cells(groups)
    family = parents(plan.closure)
    if ledger is not None:
        charge_plan(ledger, plan, Fraction(plan.pcost))
    counted, total = int(family.is_maximal.sum()), len(plan.closure)
    outcome = _counts(plan, data, groups, family, progress=_shifted(progress, 0, counted + total))
    del data  # the traceback of what is raised here must not lead to the records
    if isinstance(outcome, DataError):
        raise outcome

    generator = release_generator() if record.seed is None else generator_of_entropy(record.seed)
    values = residual_values(
        gaussian_mechanism(generator),
        outcome,
        groups,
        plan.noise_variance.array,
        progress=_shifted(progress, counted, counted + total),
    )
    return Measurement(plan, ResidualAnswers(groups, frozen(values)), record)


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


def _counts(
    plan: Plan, data: object, groups: ShapeGroups, family: Parents, *, progress: Progress | None
) -> list[IntArray] | DataError:
    """The counts of all sets, or what is wrong with the records: not raised, and without history."""
    try:
        return count_tables(open_source(data, plan.domain), plan.closure, groups, family, progress=progress)
    except DataError as error:
        return DataError(str(error), column=error.column)


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Report the steps of one part of the work among all."""
    return None if progress is None else lambda done, _: progress(before + done, total)


def _noise_record(noise: str, seed: int | None) -> NoiseRecord:
    if noise != "gaussian":
        raise BudgetError(f'noise must be "gaussian", got {noise!r}')
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
        raise BudgetError(f"seed must be a whole number, at least 0, or None for a release; got {seed!r}")
    return NoiseRecord("gaussian", None if seed is None else int(seed))
