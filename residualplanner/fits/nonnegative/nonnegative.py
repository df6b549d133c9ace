"""Tables without a negative cell that agree with one another, from unbiased ones.

And such tables from noise around published ones, for their errors: it is continuous and from a generator with a seed,
not the noise of a release; and what a plan tells in advance: how much memory they take, and whether they can be found.
`Adjustments` are all that is done to unbiased tables before they are published, as one choice.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from residualplanner.fits.nonnegative import problem as dual
from residualplanner.fits.nonnegative.ascent import Ascent, PotentialAscent, Solution, facets_of_many, solve, solve_many
from residualplanner.fits.nonnegative.components import answers_of, cell_kinds, measured_components, noise_like
from residualplanner.fits.nonnegative.facts import Facts, Impossible, Known, StatedTable, StatedZeros, read_facts
from residualplanner.fits.nonnegative.newton import MOST_CELLS, DualPoint, candidate, interior
from residualplanner.fits.nonnegative.numbers import NonNegative, require_base, require_roundable, rounded
from residualplanner.fits.nonnegative.potentials import first_multipliers
from residualplanner.fits.nonnegative.table_map import largest_sets, reference_map
from residualplanner.gate.measurement.blocks import require_room
from residualplanner.gate.measurement.measurement import Measurement, NoisyAnswers
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import entry_named, require_positive, untold
from residualplanner.ground.errors import SolverError, WorkloadError, memory_for
from residualplanner.method.plan.plan import Plan
from residualplanner.release.numbers import Estimates
from residualplanner.release.reconstruct import release_of
from residualplanner.release.release import Release

#: The most steps of the solver, unless told otherwise.
_STEPS = 5000
#: A gap above this is that of tables that nobody should use.
_FAR = 1.0
#: How near the tables of a simulation are to the nearest ones: the gap, and the most negative cell in standard errors.
_DRAW_GAP, _BELOW = 1e-4, 1e-3
#: The gap of those of the interior point method, which lie a seventh of a standard error from the nearest ones at most.
_INSIDE_GAP = 1e-2
#: By what the most negative cell may be larger where there are very many cells.
_COARSER = 50
#: Steps of the solver at a time, also where there are very many cells, and at most.
_LOOKS, _LOOKS_OF_MANY, _DRAW_STEPS = 20, 50, 20_000
#: After so many steps tables of few cells are found by an interior point method.
_PATIENCE = 2_000
#: How many numbers of 8 bytes the solver holds for each cell of the largest tables: measured, and rounded up.
_NUMBERS = 24
#: How near to the nearest tables those are that show that facts can be true together: any tables do.
_ROUGH = 0.5


@memory_for("for non-negative tables of this size; leave tables out, or use a machine with more memory")
def nonnegative(
    release: Release,
    *,
    known: Known | None = None,
    impossible: Iterable[Impossible] = (),
    total: Literal["estimate", "free"] = "estimate",
    weights: dual.WeightsName = "protect-margins",
    gap: float = 1e-6,
    max_steps: int = _STEPS,
    progress: Progress | None = None,
) -> Release:
    """The tables nearest to those of a release that have no negative cell, agree with one another and with known facts.

    Near is meant in the mechanism's own noise: the residual of every set of attributes may move, the less the more
    accurate it is.  Tables of many attributes move first; the totals of sparse tables would drift otherwise.

    Args:
        release: unbiased tables; or the folder of a release, as `load_tables` opens it, whose measurement is used.
        known: counts that are public anyway, by query: ``{(): 38_045, "sex": [19_000, 19_045]}``; or pairs of
            names and their table.
        impossible: cells that cannot occur, each a mapping from attribute names to a label or several:
            ``[{"age": range(12), "marital": "married"}]``.
        total: whether the number of records stays at its estimate (or 0, if that is negative) or may move with the
            other numbers; it does neither where it is known.
        weights: "protect-margins": a residual moves by its noise variance times 30 for each attribute; "variance": by
            its noise variance alone; "order": by 4 for each attribute, times the variance that independent counts give
            it, whatever the noise, unless that has 30,000 times the standard error of the least.
        gap: the tables may be this fraction (of the squared distance, plus 1) from the nearest possible ones.
        max_steps: of the solver; if they do not suffice, the result says its true gap, which is at most 1.  Of fewer
            than 5,000 it may be larger.
        progress: called with the number of steps made, and the most steps: before anything is done, and now and then.

    Returns:
        The tables, by the same queries; `NonNegative` says what ``numbers`` of the release has: the gap, and how many
        steps there were.  The counts behind every table are non-negative: of single values, or of the
        smallest groups of values that the release tells apart; sums of these with positive weights then are, too.

    Raises:
        ArgumentError: ``release`` is neither.
        FileFormatError: the measurement in the folder is missing or was altered.
        DomainError: a fact has an attribute or label that is not in the domain.
        WorkloadError: a fact does not fit the release; facts contradict one another or leave no non-negative tables,
            and are named; there are no such weights.
        BudgetError: ``gap`` or ``max_steps`` is not positive.
        SolverError: 5,000 steps or more end with a gap above 1, as they may where noise is of very different sizes, as
            of amounts in several bins and of some thresholds, and there are more than 4,000 cells.
        ResourceError: the largest tables, which are made all at once, need more memory than there is.

    Guarantees: post-processing; it costs no budget.  Facts from other sources are not protected, which files say.
        The gap is proved by the dual problem.
    Cost: some dozens of passes over all cells with the default weights and subtraction bases; else a few hundred steps,
        each O(cells) for a pass along each axis.  Where that is slow, and there are at most 4,000 cells, two dozen
        factorizations of a matrix of them: a minute of one core and some 600 MB at most.  From two million cells on,
        minutes: some hundreds of steps in single precision; give ``gap``, ``max_steps`` and ``progress``.  Memory of up
        to 24 numbers a cell.
    Source: eqs. (48) to (56), (62) to (65) and (99).

    Example:
        >>> from residualplanner import Domain, Workload, measure, reconstruct, select, zcdp
        >>> plan = select(Workload(Domain({"a": 2, "b": 3}), [("a", "b")]), budget=zcdp(1))
        >>> release = reconstruct(measure(plan, np.zeros((20, 2), dtype=int)))
        >>> tables = nonnegative(release, known={(): 20})
        >>> bool((tables["a", "b"].estimate >= 0).all()), round(float(tables["a"].estimate.sum()), 6)
        (True, 20.0)
    """
    remedy = "write nonnegative(reconstruct(measurement))"
    release = release_of(release, "nonnegative", remedy)
    require_positive("gap", gap)
    require_positive("max_steps", max_steps)
    if total not in ("estimate", "free"):
        raise WorkloadError('total must be "estimate" or "free"; write known={(): number} for a known one')
    facts = read_facts(release.plan, known, impossible)
    require_memory_for_nonnegative(release.plan)
    told = progress or untold
    told(0, int(max_steps))
    of_weights, fixes_total = entry_named("weights", weights, dual.WEIGHTS), total == "estimate"
    problem = dual.problem_of(release.measurement, facts, of_weights, fixes_total=fixes_total)
    solution = _solution(problem, facts, gap=gap, steps=int(max_steps), progress=told)
    answers = answers_of(problem.reference.own, solution.components)
    least = 3 * max(problem.rounding, solution.violation)
    draws = partial(nonnegative_draws, facts, of_weights, fixes_total=fixes_total)
    return Release(release.measurement, NonNegative(solution.gap, solution.steps, facts, answers, least, draws))


def _solution(problem: dual.DualProblem, facts: Facts, *, gap: float, steps: int, progress: Progress) -> Solution:
    """The solution of a problem, or WorkloadError where the facts leave none."""
    if problem.total == 0:
        return Solution(np.zeros_like(problem.start), 0.0, 0.0, 0)  # no records: every table is 0
    facets = facets_of_many(problem)

    def report(done: int, _: float) -> None:
        progress(done, steps)

    if facets is not None:
        found = solve_many(problem, facets, gap=gap, steps=steps, report=report)
    else:
        center = None if facts.are_about_tables else dual.center_of(problem)
        found = solve(problem, center, gap=gap, steps=steps, report=report)
    if found.gap > _FAR and steps >= _STEPS:  # tables that are far, unless fewer steps than usual were asked for
        raise SolverError(
            f"the nearest non-negative tables were not found in {steps:,} steps: the gap is {found.gap:.1e}; "
            "publish the unbiased tables of the same measurement, without nonnegative; in another plan, fewer bins of "
            "amounts or smaller tables help",
            status="step limit",
        )
    if facets is None and found.violation > problem.rounding:
        raise WorkloadError(
            f"no non-negative tables that agree with all of these were found in {steps:,} steps: {facts.words}; they "
            "contradict one another, or need a larger max_steps"
        )
    return found


def nonnegative_draws(
    facts: Facts, weights: dual.FreedomWeights, measurement: NoisyAnswers, adjusted: NoisyAnswers, *, fixes_total: bool
) -> Callable[[np.random.Generator], tuple[Estimates, float]]:
    """For each draw of the noise around ``adjusted``: non-negative tables, and how far zeros are off by rounding."""
    plan, problem = measurement.plan, dual.problem_of(measurement, facts, weights, fixes_total=fixes_total)
    layout = problem.reference.own
    center, variances = measured_components(layout, adjusted), plan.noise_variances.copy()
    dual.fix_known(plan, layout, facts, np.empty(layout.count), variances)  # what is known has no noise
    tables = plan.average_variances[plan.workload.cells > 1]  # the total may be public, and its noise next to nothing
    below = _BELOW * math.sqrt(min(tables, default=plan.average_variances.min()))

    def draw(generator: np.random.Generator) -> tuple[Estimates, float]:
        start = center + noise_like(layout, variances, generator)
        if fixes_total:
            start[0] = max(start[0], 0.0)
        total = max(float(start[0]), 1.0 if problem.freedom[0] > 0 else 0.0)
        components, violation = np.zeros_like(start), 0.0
        if total > below:  # else there are no records, and every table is 0
            found = nearly_nearest(replace(problem, start=start, total=total), below)
            components, violation = found.components, found.violation
        least = 3 * max(problem.rounding, violation)
        return Release(adjusted.with_residuals(answers_of(layout, components))).estimates, least

    return draw


def nearly_nearest(problem: dual.DualProblem, below: float) -> DualPoint:
    """Components whose tables are nearly the nearest ones, and have no cell below 0 by more than ``below``."""
    facets = facets_of_many(problem)
    ascent: Ascent | PotentialAscent
    if facets is None:
        ascent, looks = Ascent(problem, first_multipliers(problem, below)), _LOOKS
    else:
        ascent, looks, below = PotentialAscent(problem, facets), _LOOKS_OF_MANY, _COARSER * below
    for steps in range(0, _DRAW_STEPS, looks):
        is_inside = steps == _PATIENCE and problem.tables.size <= MOST_CELLS
        found = interior(problem) if is_inside else candidate(problem, ascent.multipliers)
        if found.gap <= (_INSIDE_GAP if is_inside else _DRAW_GAP) and found.violation <= below:
            return found
        ascent.advance(looks)
    raise SolverError(f"no tables were found for a simulation in {_DRAW_STEPS:,} steps", status="step limit")


def nonnegative_bytes(plan: Plan) -> float:
    """About how many bytes `nonnegative` holds at once: all cells of the largest tables, several times."""
    return 8 * _NUMBERS * _cells(plan)


def require_solvable(plan: Plan) -> None:
    """Raise WorkloadError where the noise of some cells is so much larger than that of others that no solver copes.

    Up to `MOST_CELLS` there is one.  Source: docs/mathematics.md section 11.
    """
    if _cells(plan) <= MOST_CELLS:
        return
    # how many more cells than bins and labels there are
    more = [attribute.size - attribute.by_bin.size for attribute in plan.domain.attributes]
    parts = zip(plan.domain.sizes, more, cell_kinds(plan), strict=True)
    if any(own > 1 and kind.rows(size) > size - own for size, own, kind in parts):  # it tells apart the cells of a bin
        what = "sums or means of amounts in several bins, or with squares,"
        remedy = "smaller tables or amounts in one bin"
    elif (dual.unlimited(plan.noise_variances, reference_map(plan).own.squared_units) > 1).any():
        what = "queries that leave the noise of some sets of attributes without a limit, as thresholds may,"
        remedy = "smaller tables, or beside the thresholds the table of all their attributes"
    else:
        return
    raise WorkloadError(
        f"non-negative tables of {what} are found for up to {MOST_CELLS:,} cells, and these have "
        f"{int(_cells(plan)):,}; publish the unbiased tables, without nonnegative, or plan {remedy}"
    )


def _cells(plan: Plan) -> float:
    rows = [kind.rows(size) for kind, size in zip(cell_kinds(plan), plan.domain.sizes, strict=True)]
    return float(plan.closure.products(np.array(rows, dtype=np.float64))[largest_sets(plan.closure)].sum())


def require_memory_for_nonnegative(plan: Plan) -> None:
    """Raise ResourceError where non-negative tables of a plan need more memory than this process can get."""
    require_room(
        nonnegative_bytes(plan),
        "non-negative tables are made all at once, in {needed}",
        "publish the unbiased tables, which are made one by one, ask for fewer or smaller tables, with a lower up_to "
        "or with max_cells, or use a machine with more memory",
    )


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Adjustments:
    """What is done to unbiased tables before they are published."""

    is_nonnegative: bool = False  # whether they are made non-negative
    known: tuple[StatedTable, ...] = ()  # tables that are known anyway; only where they are made non-negative
    impossible: tuple[StatedZeros, ...] = ()  # cells that cannot occur, likewise
    base: int | None = None  # what they are rounded to multiples of; None where they are not rounded

    def __bool__(self) -> bool:
        return self.is_nonnegative or self.base is not None

    def require_fit(self, plan: Plan, *, is_here: bool = False) -> None:
        """Check all that can be told from a plan in no time; memory only where tables are made on this machine."""
        if self.is_nonnegative:
            require_solvable(plan)
            if is_here:
                require_memory_for_nonnegative(plan)
        if self.base is not None:
            require_base(self.base)
            require_roundable(plan)
        if self.known or self.impossible:
            if not self.is_nonnegative:
                raise WorkloadError("what is known anyway is for non-negative tables only")
            read_facts(plan, self.known, self.impossible)

    def require_possible(self, plan: Plan, progress: Progress | None = None) -> None:
        """Raise WorkloadError, naming facts, where no non-negative tables agree with all, whatever is measured."""
        if self.is_nonnegative and (self.impossible or len(self.known) > 1):
            # Which tables the facts allow does not depend on the answers: only how large they are where nothing else
            # says it.  So these are answers that nobody measured, of one record that is spread evenly over all values.
            layout = reference_map(plan).own
            components = np.zeros(layout.count)
            components[0] = 1.0
            nobody = Release(Measurement(plan, answers_of(layout, components), NoiseRecord(seed=0)))
            nonnegative(nobody, known=self.known, impossible=self.impossible, gap=_ROUGH, progress=progress)

    def of(self, release: Release, progress: Progress | None = None) -> Release:
        """The tables of a release after all that is to be done to them; errors as of `nonnegative` and `rounded`."""
        if self.is_nonnegative:
            release = nonnegative(release, known=self.known, impossible=self.impossible, progress=progress)
        return release if self.base is None else rounded(release, base=self.base)
