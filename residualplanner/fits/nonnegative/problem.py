"""The problem of the nearest tables that are non-negative and keep to known facts, its dual, and tables inside it.

Inside are those of records that are spread evenly, and those of records that cover what tables are short of: added to
the tables, none of their cells is negative.
Source: eqs. (48) to (52) and (55); docs/mathematics.md section 11, covering.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative import table_map as table_maps
from residualplanner.fits.nonnegative.components import ComponentLayout, components_of_counts, measured_components
from residualplanner.fits.nonnegative.facts import Fact, Facts, cell_counts
from residualplanner.gate.measurement.measurement import NoisyAnswers
from residualplanner.ground.checks import FloatArray
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.attribute_sets import subsets_of

#: The names of weights.
WeightsName = Literal["protect-margins", "variance", "order"]
#: Cells this close to 0 are 0, relative to the total: what is left of rounding.  And by what part of itself a number
#: may change in some operations: a few units in its last place.
_ROUNDING, _LAST_PLACE = 1e-11, 8 * float(np.finfo(np.float64).eps)
#: Noise is without a limit where its variance, in that of independent counts, is so many times the least of a plan's.
_UNLIMITED = 1e9
#: From how many tables, at most, a record's next value is chosen; the weight of values that cover nothing.
_LOOKS, _LEAST = 4, 1e-12
Integers = NDArray[np.int32]
#: The values (r, d) of records, and by how many counts each counts, (r,).
Records = tuple[Integers, FloatArray]
#: Rounds of the power method that measures how long steps may be where bases vary.
_ROUNDS = 60
#: Whether noise variances count, and how much more freely the residual of a set may move than that of a set with one
#: attribute less.
FreedomWeights = tuple[bool, float]
#: By name: large tables move first and small ones hardly; all by their noise alone; all by their order alone.
WEIGHTS: dict[str, FreedomWeights] = {"protect-margins": (True, 30.0), "variance": (True, 1.0), "order": (False, 4.0)}


def freedoms_of(
    weights: FreedomWeights, noise_variances: FloatArray, units: FloatArray, orders: NDArray[np.int64]
) -> FloatArray:
    """v_A of every set, (m,), from noise variances (m,) and those of independent counts.  Source: eq. (52)."""
    has_variance, factor = weights
    # A residual whose noise is without a limit, as some of thresholds have, moves by its noise in either case: it is no
    # number to keep to, and all others would be bent to it.
    own = noise_variances if has_variance else units * unlimited(noise_variances, units)
    return own * factor**orders


def unlimited(noise_variances: FloatArray, units: FloatArray) -> FloatArray:
    """How much more noise each set (m,) has than the one with least where it is without a limit; else 1."""
    excess = noise_variances / units
    excess /= excess.min()
    return np.where(excess > _UNLIMITED, excess, 1.0)


@dataclass(frozen=True, eq=False)
class DualProblem:
    """Minimize ``sum (w - start)**2 / freedom / 2`` over components w whose tables have no negative cell."""

    reference: table_maps.ReferenceMap  # to the components that tables follow from
    tables: table_maps.TableMap  # from these to cells, M
    start: FloatArray  # (c,): the noisy components; those that are known have their known value
    freedom: FloatArray  # (c,): v of each component; 0 where it is known
    steps: FloatArray  # (y,): step sizes of the dual ascent
    lowest: FloatArray  # (y,): the least multipliers: 0, minus infinity where a cell must be 0; or a 0 for all
    total: float  # about how many records there are, the scale of counts: at least 0, and 1 where it is free

    @cached_property
    def rounding(self) -> float:
        """How far from 0 rounding may move a cell, in counts: where bases are nearly singular large numbers cancel."""
        changes = np.random.default_rng(0).choice([-_LAST_PLACE, _LAST_PLACE], size=self.start.shape) * self.start
        moved = self.cells(changes, np.empty(self.tables.size))
        return max(_ROUNDING * max(self.total, 1.0), float(moved.max()), -float(moved.min()))

    def components(self, multipliers: FloatArray) -> FloatArray:
        """The best components for given multipliers (y,): ``start + freedom * M^T multipliers``.  Source: eq. (50)."""
        pulled = self._pulled(multipliers)
        pulled += self.start
        return pulled

    def cells(self, components: FloatArray, out: FloatArray) -> FloatArray:
        """The cells of all largest tables, written to ``out`` (y,)."""
        return self.tables.cells(self.reference.apply(components), out)

    def curvature(self, multipliers: FloatArray, out: FloatArray) -> FloatArray:
        """``M V M^T`` times multipliers (y,), written to ``out`` (y,)."""
        return self.cells(self._pulled(multipliers), out)

    def _pulled(self, multipliers: FloatArray) -> FloatArray:
        pulled = self.reference.transposed(self.tables.transposed(multipliers))
        pulled *= self.freedom
        return pulled

    def distance(self, components: FloatArray) -> float:
        """The objective: half the squared distance from the noisy components, in units of their freedoms."""
        moved = components - self.start
        moved *= moved
        np.divide(moved, self.freedom, out=moved, where=self.freedom > 0)
        return float(moved.sum()) / 2


def problem_of(measurement: NoisyAnswers, facts: Facts, weights: FreedomWeights, *, fixes_total: bool) -> DualProblem:
    """The problem of the nearest tables that keep to facts; ``fixes_total`` is about an estimated number of records."""
    plan = measurement.plan
    reference = table_maps.reference_map(plan)
    tables = table_maps.TableMap(plan, reference.reference)
    start = measured_components(reference.own, measurement)
    freedoms = freedoms_of(weights, plan.noise_variances, reference.own.squared_units, plan.closure.orders)
    if fixes_total:
        start[0], freedoms[0] = max(start[0], 0.0), 0.0
    fix_known(plan, reference.own, facts, start, freedoms)
    spread = reference.own.spread(freedoms)
    steps = table_maps.dual_steps(tables, freedoms)
    if not reference.is_identity:
        steps *= _shortening(reference, tables, spread, steps)
    lowest = np.zeros(tables.size if facts.are_about_tables else ())  # one number for all cells where it is 0
    for fact in facts.zeros:
        for stack in tables.stacks:
            mark_zeros(plan, stack, fact, lowest)
    scale = max(float(start[0]), 1.0 if freedoms[0] > 0 else 0.0)
    return DualProblem(reference, tables, start, spread, steps, lowest, scale)


def fix_known(plan: Plan, layout: ComponentLayout, facts: Facts, start: FloatArray, freedoms: FloatArray) -> None:
    """Give components (c,) of all subsets of known tables their known values, and no freedom or noise (m,)."""
    for fact in facts.known:
        for members in subsets_of(fact.attributes):
            number = plan.closure.position_of(members)
            group = int(layout.groups.group[number])
            components = components_of_counts(layout.groups.bases[group]).apply(fact.over(members)[None])[0]
            layout.block(start, group)[layout.groups.row[number]] = components
            freedoms[number] = 0.0


def mark_zeros(plan: Plan, stack: table_maps.TableStack, fact: Fact, lowest: FloatArray) -> None:
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


def center_of(problem: DualProblem) -> tuple[FloatArray, FloatArray]:
    """The components of records spread evenly over all values, as many as are estimated, and their cells."""
    layout, found = problem.reference.own, np.empty_like(problem.start)
    for group, bases in enumerate(layout.groups.bases):
        rows = [components_of_counts([basis]).apply(np.full((1, basis.size), 1 / basis.size))[0] for basis in bases]
        layout.block(found, group)[...] = problem.total * reduce(np.multiply.outer, rows, np.ones(()))
    return found, problem.cells(found, np.empty(problem.tables.size))


def largest_shortage(problem: DualProblem, cells: FloatArray) -> float:
    """What is missing in the table that is short of most, in counts: the sum of its cells below 0."""
    return max(float(np.minimum(stack.per_table(cells), 0).sum(axis=1).min()) * -1 for stack in problem.tables.stacks)


def covering(problem: DualProblem, cells: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The components of records, and their cells, which are positive, and large where ``cells`` (y,) are below 0.

    As much as is missing in the worst table is spread evenly over all values, so that small shortages are covered;
    records cover the others.
    """
    even = max(largest_shortage(problem, cells), 1e-9 * problem.total)
    shortages = np.negative(cells)
    for stack in problem.tables.stacks:
        view = stack.per_table(shortages)
        view -= even / view.shape[1]
    np.maximum(shortages, 0, out=shortages)
    values, weights = records_for(problem, shortages)
    found = np.empty_like(cells)
    for stack in problem.tables.stacks:
        for table, attributes in zip(stack.per_table(found), stack.attributes, strict=True):
            flat = np.ravel_multi_index(tuple(values[:, attributes].T), stack.shape[1:])
            table[...] = np.bincount(flat, weights, len(table)) + even / len(table)
    found *= problem.total / (even + float(weights.sum()))
    # Of subtraction bases, each component follows from every table that has it: the transposed map adds these up.
    tables = problem.tables
    return tables.transposed(found) / tables.layout.spread(table_maps.squared_norms(tables)), found


def records_for(problem: DualProblem, shortages: FloatArray) -> Records:
    """Records whose tables are nowhere below the shortages (y,), which are overwritten.

    Table by table, those that are short of most first: each cell that is short gives a record, whose other values are
    drawn, one by one, in proportion to what other tables are short of.
    """
    tables = {
        tuple(members): table
        for stack in problem.tables.stacks
        for members, table in zip(stack.attributes.tolist(), shortages[stack.cells].reshape(stack.shape), strict=True)
    }
    sizes, chance = problem.tables.plan.domain.sizes, np.random.default_rng(0)
    found: list[Records] = [(np.empty((0, len(sizes)), dtype=np.int32), np.empty(0))]
    for attributes in sorted(tables, key=lambda each: -float(tables[each].sum())):
        short = np.nonzero(tables[attributes])
        weights = tables.pop(attributes)[short]  # and then nothing is missing there
        if not len(weights):
            continue
        values = np.zeros((len(weights), len(sizes)), dtype=np.int32)
        values[:, attributes] = np.stack(short, axis=1)
        _complete(values, weights, list(attributes), tables, sizes, chance)
        for members, table in tables.items():  # which are short of less, down to 0
            flat, left = np.ravel_multi_index(tuple(values[:, members].T), table.shape), table.reshape(-1)
            np.subtract.at(left, flat, weights)
            left[flat] = np.maximum(left[flat], 0)
        found.append((values, weights))
    return np.concatenate([values for values, _ in found]), np.concatenate([weights for _, weights in found])


def _complete(
    values: Integers,
    weights: FloatArray,
    known: list[int],
    tables: dict[tuple[int, ...], FloatArray],
    sizes: Sequence[int],
    chance: np.random.Generator,
) -> None:
    """Draw the values that records (r, d) lack, one attribute after another."""
    for attribute in chance.permutation([each for each in range(values.shape[1]) if each not in known]).tolist():
        known.append(attribute)
        looks = [each for each in _within(known, tables) if attribute in each]
        if not looks:  # no table that is still short of any has it together with the others: any value does
            values[:, attribute] = chance.integers(sizes[attribute], size=len(values))
            continue
        if len(looks) > _LOOKS:
            looks = [looks[number] for number in chance.choice(len(looks), _LOOKS, replace=False)]
        scores = np.zeros((1, sizes[attribute]))
        for look in looks:  # what its table is short of, for each value beside the others of each record, (r, n)
            others = tuple(values[:, each] for each in look if each != attribute)
            table = np.moveaxis(tables[look], look.index(attribute), -1)
            scores = scores + np.minimum(table[others] if others else table[None], weights[:, None])
        below = np.cumsum(scores + _LEAST, axis=1)
        values[:, attribute] = (below < chance.random((len(values), 1)) * below[:, -1:]).sum(axis=1)


def _within(known: list[int], tables: dict[tuple[int, ...], FloatArray]) -> Iterator[tuple[int, ...]]:
    for order in sorted({len(each) for each in tables}):
        for others in combinations(known[:-1], order - 1):
            members = tuple(sorted((*others, known[-1])))
            if members in tables:
                yield members


def _shortening(
    reference: table_maps.ReferenceMap, tables: table_maps.TableMap, spread: FloatArray, steps: FloatArray
) -> float:
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
