"""Tables made again from noise around published ones.

The noise is continuous and from a generator with a seed; it is not the noise of a release.
Source: eqs. (6), (48) and (50).
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from residualplanner.fits.nonnegative.ascent import Ascent
from residualplanner.fits.nonnegative.components import answers_of, measured_components, noise_like
from residualplanner.fits.nonnegative.many_cells import facets_of_many, nearly
from residualplanner.fits.nonnegative.newton import MOST_CELLS, ROUNDING, DualPoint, candidate, interior
from residualplanner.fits.nonnegative.potentials import first_multipliers
from residualplanner.fits.nonnegative.problem import DualProblem, Statement
from residualplanner.fits.nonnegative.table_map import reference_map
from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.ground.errors import SolverError
from residualplanner.release.numbers import UNBIASED_NUMBERS, Estimates, Simulation
from residualplanner.release.release import Release

#: How near the tables of a simulation are to the nearest ones: the gap, and the most negative cell in standard errors.
_GAP, _BELOW = 1e-4, 1e-3
#: By what the most negative cell may be larger where there are very many cells.
_COARSER = 50
#: Steps of the solver at a time, and at most.
_EVERY, _STEPS = 20, 20_000
#: After so many steps tables of few cells are found by an interior point method.
_PATIENCE = 2_000


def unbiased_simulation(measurement: NoisyAnswers) -> Simulation:
    """Unbiased tables with other noise."""
    layout = reference_map(measurement.plan).own
    center, variances = measured_components(layout, measurement), measurement.plan.noise_variances

    def draw(generator: np.random.Generator) -> Estimates:
        noisy = answers_of(layout, center + noise_like(layout, variances, generator))
        return Release(measurement.with_residuals(noisy)).estimates

    return Simulation(UNBIASED_NUMBERS.of(measurement), draw)


def nonnegative_draws(
    statement: Statement, measurement: NoisyAnswers, adjusted: NoisyAnswers
) -> Callable[[np.random.Generator], tuple[Release, float]]:
    """For each draw of the noise around ``adjusted``: non-negative tables, and how far zeros are off by rounding."""
    plan, problem = measurement.plan, statement.problem(measurement)
    layout = problem.reference.own
    center, variances = measured_components(layout, adjusted), statement.noise_variances(plan, layout)
    below = _BELOW * float(np.sqrt(plan.average_variances.min()))

    def draw(generator: np.random.Generator) -> tuple[Release, float]:
        start = center + noise_like(layout, variances, generator)
        if statement.fixes_total:
            start[0] = max(start[0], 0.0)
        total = max(float(start[0]), 1.0 if problem.freedom[0] > 0 else 0.0)
        found = _nearest(replace(problem, start=start, total=total), below)
        least = 3 * max(ROUNDING * problem.total, found.violation)
        return Release(adjusted.with_residuals(answers_of(layout, found.components))), least

    return draw


def _nearest(problem: DualProblem, below: float) -> DualPoint:
    """Components whose tables are nearly the nearest ones, and have no cell below 0 by more than ``below``."""
    if problem.total == 0 and not problem.freedom[0]:
        problem = replace(problem, start=np.zeros_like(problem.start))  # no records: every table is 0
    facets = facets_of_many(problem)
    if facets is not None:
        return nearly(problem, facets, gap=_GAP, below=_COARSER * below, steps=_STEPS)
    ascent = Ascent(problem, first_multipliers(problem, below))
    for steps in range(0, _STEPS, _EVERY):
        is_inside = steps == _PATIENCE and problem.tables.size <= MOST_CELLS
        found = interior(problem) if is_inside else candidate(problem, ascent.multipliers)
        if found.gap <= _GAP and found.violation <= below:
            return found
        ascent.advance(_EVERY)
    raise SolverError(f"no tables were found for a simulation in {_STEPS:,} steps", status="step limit")
