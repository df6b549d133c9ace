"""Tables made again from noise around published ones.

Reads: releases of any sort.  Gives: Simulation.
The noise is continuous and from a generator with a seed; it is not the noise of a release.
Source: spec eqs. (6), (48) and (50).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Protocol

import numpy as np

from residualplanner._checks import FloatArray
from residualplanner.errors import ArgumentError, SolverError
from residualplanner.postprocessing.ascent import Ascent
from residualplanner.postprocessing.components import ComponentLayout, answers_of, measured_components, noise_like
from residualplanner.postprocessing.newton import ROUNDING, Candidate, candidate
from residualplanner.postprocessing.nonnegative import NonNegativeRelease
from residualplanner.postprocessing.potentials import first_multipliers
from residualplanner.postprocessing.problem import Problem
from residualplanner.postprocessing.reference import reference_map
from residualplanner.postprocessing.rounding import RoundedRelease
from residualplanner.reconstruction import Release, TableBatch, Tables

#: How near the tables of a simulation are to the nearest ones: the gap, and the most negative cell in standard errors.
_GAP, _BELOW = 1e-4, 1e-3
#: Steps of the solver at a time, and at most.
_EVERY, _STEPS = 20, 20_000


class Batched(Protocol):
    """Tables that come as arrays."""

    def batches(self) -> Iterator[TableBatch]:
        """The tables of all queries of the workload."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class Simulation:
    """Tables around which noise is drawn.

    Attributes:
        center: the tables that are taken for the truth.
        draw: gives the tables that one draw of the noise leads to.
    """

    center: Release | NonNegativeRelease
    draw: Callable[[np.random.Generator], Batched]


@singledispatch
def simulation_of(tables: Tables) -> Simulation:
    """The simulation of a release of any sort; ArgumentError for other tables, such as saved ones."""
    raise ArgumentError(
        f"no simulation is known for {type(tables).__name__}; give a release, or what was made from one"
    )


@simulation_of.register
def _(tables: Release) -> Simulation:
    layout = reference_map(tables.plan).own
    center, variances = measured_components(layout, tables.measurement), tables.plan.noise_variances

    def draw(generator: np.random.Generator) -> Release:
        return _release(tables, layout, center + noise_like(layout, variances, generator))

    return Simulation(tables, draw)


@simulation_of.register
def _(tables: NonNegativeRelease) -> Simulation:
    statement, made = tables._statement, tables._made
    problem = statement.problem(tables.unbiased.measurement)
    layout = problem.reference.own
    center, variances = measured_components(layout, made.measurement), statement.noise_variances(tables.plan, layout)
    below = _BELOW * float(np.sqrt(tables.plan.average_variances.min()))

    def draw(generator: np.random.Generator) -> NonNegativeRelease:
        start = center + noise_like(layout, variances, generator)
        found = _nearest(_moved(problem, start, fixes_total=statement.fixes_total), below)
        least = 3 * max(ROUNDING * problem.total, found.violation)
        return replace(tables, _made=_release(made, layout, found.components), _least=least)

    return Simulation(tables, draw)


@simulation_of.register
def _(tables: RoundedRelease) -> Simulation:
    inner = simulation_of(tables.source)
    return Simulation(inner.center, lambda generator: RoundedRelease(inner.draw(generator)))  # type: ignore[arg-type]


def _release(like: Release, layout: ComponentLayout, components: FloatArray) -> Release:
    """The release of some components."""
    return Release(like.measurement.with_residuals(answers_of(layout, components)))


def _moved(problem: Problem, start: FloatArray, *, fixes_total: bool) -> Problem:
    """The problem with other noisy components."""
    if fixes_total:
        start[0] = max(start[0], 0.0)
    least = 1.0 if problem.freedom[0] > 0 else 0.0
    return replace(problem, start=start, total=max(float(start[0]), least))


def _nearest(problem: Problem, below: float) -> Candidate:
    """Components whose tables are nearly the nearest ones, and have no cell below 0 by more than ``below``.

    Raises:
        SolverError: none were found.
    """
    if problem.total == 0 and not problem.freedom[0]:
        problem = replace(problem, start=np.zeros_like(problem.start))  # no records: every table is 0
    ascent = Ascent(problem, first_multipliers(problem, below))
    for _ in range(0, _STEPS, _EVERY):
        found = candidate(problem, ascent.multipliers)
        if found.gap <= _GAP and found.violation <= below:
            return found
        ascent.advance(_EVERY)
    raise SolverError(f"no tables were found for a simulation in {_STEPS:,} steps", status="step limit")
