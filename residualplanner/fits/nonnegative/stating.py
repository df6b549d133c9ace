"""The problem that a measurement and the facts state.

Reads: a measurement, facts, weights.  Gives: Problem, and a point inside its constraints where one is known.
Source: eqs. (48), (49) and (52).
"""

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative.cells import components_of_counts
from residualplanner.fits.nonnegative.components import ComponentLayout, measured_components
from residualplanner.fits.nonnegative.facts import Fact, Facts, cell_counts
from residualplanner.fits.nonnegative.problem import Problem
from residualplanner.fits.nonnegative.reference import ReferenceMap, reference_map
from residualplanner.fits.nonnegative.table_map import TableMap, TableStack, dual_steps
from residualplanner.fits.nonnegative.weights import Weights
from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.ground.checks import FloatArray
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.attribute_sets import subsets_of

#: Rounds of the power method that measures how long steps may be where bases vary.
_ROUNDS = 60


@dataclass(frozen=True, eq=False, slots=True)
class Statement:
    """What was asked for beside a measurement.

    Attributes:
        facts: what is known anyway.
        weights: how freely residuals move.
        fixes_total: whether the number of records stays at its estimate, where it is not known.
    """

    facts: Facts
    weights: Weights
    fixes_total: bool

    def problem(self, measurement: NoisyAnswers) -> Problem:
        """The problem of the nearest non-negative tables."""
        plan = measurement.plan
        reference = reference_map(plan)
        tables = TableMap(plan, reference.reference)
        start = measured_components(reference.own, measurement)
        freedoms = self.weights.freedoms(plan.noise_variances, reference.own.squared_units, plan.closure.orders)
        if self.fixes_total:
            start[0], freedoms[0] = max(start[0], 0.0), 0.0
        for fact in self.facts.known:
            fix(plan, reference.own, fact, start, freedoms)
        spread = reference.own.spread(freedoms)
        steps = dual_steps(tables, freedoms)
        if not reference.is_identity:
            steps *= _shortening(reference, tables, spread, steps)
        lowest = np.zeros(tables.size if self.facts.are_about_tables else ())  # one number for all cells where it is 0
        for fact in self.facts.zeros:
            for stack in tables.stacks:
                mark_zeros(plan, stack, fact, lowest)
        scale = max(float(start[0]), 1.0 if freedoms[0] > 0 else 0.0)
        return Problem(reference, tables, start, spread, steps, lowest, scale)

    def noise_variances(self, plan: Plan, layout: ComponentLayout) -> FloatArray:
        """The noise variance of every set, (m,), in counts squared; 0 where the set is known."""
        variances, components = plan.noise_variances.copy(), np.empty(layout.count)
        for fact in self.facts.known:
            fix(plan, layout, fact, components, variances)
        return variances


def fix(plan: Plan, layout: ComponentLayout, fact: Fact, start: FloatArray, freedoms: FloatArray) -> None:
    """Give the components of all subsets of a known table their known values, and no freedom."""
    for members in subsets_of(fact.attributes):
        number = plan.closure.position_of(members)
        bases = layout.groups.bases[int(layout.groups.group[number])]
        layout.put(start, number, components_of_counts(bases).apply(fact.over(members)[None])[0])
        freedoms[number] = 0.0


def mark_zeros(plan: Plan, stack: TableStack, fact: Fact, lowest: FloatArray) -> None:
    """Let the multipliers of the cells of some tables that must be 0 by a fact have any sign."""
    must = cell_counts(plan, fact.attributes, fact.counts) == 0
    if not fact.attributes or not must.any():
        return
    has = stack.attributes[:, :, None] == np.array(fact.attributes, dtype=np.int32)
    where, has_all = has.argmax(axis=1), has.any(axis=1).all(axis=1)
    view = lowest[stack.cells].reshape(stack.shape)
    for places in np.unique(where[has_all], axis=0):
        rows = np.flatnonzero(has_all & (where == places).all(axis=1))
        shape = [1] * (len(stack.shape) - 1)
        for axis, place in enumerate(places.tolist()):
            shape[place] = must.shape[axis]
        view[rows] = np.where(must.reshape(shape), -np.inf, view[rows])


def center_of(problem: Problem) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The components of records spread evenly over all values, as many as are estimated, and their cells."""
    layout, found = problem.reference.own, np.empty_like(problem.start)
    for group, bases in enumerate(layout.groups.bases):
        rows = [components_of_counts([basis]).apply(np.full((1, basis.size), 1 / basis.size))[0] for basis in bases]
        layout.block(found, group)[...] = problem.total * reduce(np.multiply.outer, rows, np.ones(()))
    return found, problem.cells(found, np.empty(problem.tables.size))


def _shortening(reference: ReferenceMap, tables: TableMap, spread: FloatArray, steps: FloatArray) -> float:
    """By what to multiply steps so that none overshoots, by the power method, with a reserve of a twentieth."""
    roots = np.sqrt(steps)
    vector = np.random.default_rng(0).normal(size=tables.size)
    norm = 1.0
    for _ in range(_ROUNDS):
        vector /= max(float(np.linalg.norm(vector)), 1e-300)
        pulled = spread * reference.transposed(tables.transposed(roots * vector))
        vector = roots * tables.cells(reference.apply(pulled), np.empty(tables.size))
        norm = float(np.linalg.norm(vector))
    return 1 / (1.05 * norm) if norm > 0 else 1.0
