"""The gate: the only function that sees records, and the noise that lets what it returns be seen.

Reads: a plan, confidential records.  Gives: Measurement.
"""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from residualplanner._checks import FloatArray, IntArray, frozen
from residualplanner.errors import BudgetError
from residualplanner.measurement.counting import count_tables
from residualplanner.measurement.gaussian import (
    Mechanism,
    gaussian_mechanism,
    generator_of_entropy,
    release_generator,
)
from residualplanner.measurement.measurement import (
    Measurement,
    NoiseRecord,
    ResidualAnswers,
    groups_of_plan,
    residual_count,
)
from residualplanner.plan import Plan
from residualplanner.sources import open_source
from residualplanner.workload import ShapeGroups

#: Called with how many of how many tables are done.  Tables are the plan's, so this tells nothing about the records.
Progress = Callable[[int, int], None]

#: How many cells are worked on at a time, so that they stay in the processor's cache.
BATCH_CELLS = 2**16


def measure(
    plan: Plan,
    data: object,
    *,
    noise: str = "gaussian",
    seed: int | None = None,
    progress: Progress | None = None,
) -> Measurement:
    """Count the records and add the plan's noise: every call spends the plan's privacy budget once more.

    Args:
        plan: what to measure.
        data: the records: code array, data frame, path to CSV or Parquet, or ready counts.
        noise: "gaussian": continuous noise in floating point, for research.
        seed: of the noise, for research: the result is marked as not private.
        progress: called with the number of tables done and their total.

    Returns:
        The noisy answers.  They hold neither the number of records nor where these came from.

    Raises:
        BudgetError: ``noise`` or ``seed`` is not what it can be.
        WorkloadError: the tables are too large to hold.
        DataError: the records do not fit the schema; no noise has been drawn.

    Guarantees: with real numbers for floating-point ones, zCDP at the plan's rho, for neighbors as the plan says.
    Source: spec eq. (7); paper Algorithm 1.
    """
    record = _noise_record(noise, seed)
    groups = groups_of_plan(plan)
    tables = count_tables(open_source(data, plan.domain), plan.closure, groups)

    generator = release_generator() if record.seed is None else generator_of_entropy(record.seed)
    mechanism = gaussian_mechanism(generator)
    values = residual_values(mechanism, tables, groups, plan.noise_variance.array, progress=progress)
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
        tables: the counts of each group; the list is emptied on the way, since they are large.
        groups: the sets by the shape of their tables.
        noise_variance (m,): of every set, in counts squared.
        progress: called with the number of tables done and their total.
    """
    values = np.empty(residual_count(groups))
    done, start = 0, 0
    for shape, members in zip(groups.shapes, groups.members, strict=True):
        counts = tables.pop(0)
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


def _noise_record(noise: str, seed: int | None) -> NoiseRecord:
    if noise != "gaussian":
        raise BudgetError(f'noise must be "gaussian", got {noise!r}')
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
        raise BudgetError(f"seed must be a whole number, at least 0, or None for a release; got {seed!r}")
    return NoiseRecord("gaussian", None if seed is None else int(seed))
