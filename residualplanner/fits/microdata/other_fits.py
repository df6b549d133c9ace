"""Fits that are not least squares of all answers at once: group by group, and by the largest error.

Source: eqs. (86), (87), (90) and (91); Abowd et al., section 4 and Algorithm 1.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from residualplanner.fits.microdata.dual import MatrixDual, Term
from residualplanner.fits.microdata.fit import REMEDY, Fit, fit_of, require_counts, solved
from residualplanner.fits.microdata.groups import NoisyGroups
from residualplanner.fits.microdata.newton import CellFit, is_small
from residualplanner.fits.microdata.sums import MarginalSums
from residualplanner.fits.microdata.within import (
    Bounds,
    Inside,
    centered_start,
    inside,
    least_bound,
    least_squares_within,
    objective_of,
)
from residualplanner.fits.optimizers import Array
from residualplanner.ground.checks import require_positive, require_type
from residualplanner.ground.errors import WorkloadError, memory_for

#: Products of slacks and multipliers at the start: of the least largest error for each bound, and of least squares.
_LEVEL = 0.1
#: A general solver finds what has a larger gap than this.
_ROUGH = 1e-7
#: How many cells of all draws are worked on at a time.
_AT_ONCE = 200_000


@memory_for("to fit a table of this size; leave out attributes")
def sequential_fit(noisy: NoisyGroups) -> Fit:
    """Non-negative cells, group by group: the best for its answers among those that keep the sums of all groups before.

    The sums of the first group have the error of its noise, or less; what comes later pays for it.

    Args:
        noisy: answers of all groups, the most important ones first.

    Returns:
        The fit; its objective, and gap, are those of the last group.

    Raises:
        ArgumentError: ``noisy`` is something else.
        SolverError: a gap is above 1e-6, or sums are off.

    Guarantees: post-processing of noisy answers; it costs no budget.
    Cost: for nested marginals two tenths of a millisecond for each draw of 216 cells.
    Source: eqs. (90) and (91); Abowd et al., Algorithm 1.

    Example:
        >>> from residualplanner import Domain
        >>> from residualplanner.fits.microdata import GroupAnswers, Laplace, Marginal
        >>> total = GroupAnswers(Marginal(), 9.0, Laplace(4.0))
        >>> cells = GroupAnswers(Marginal(["a", "b"]), [[3.0, 2.0, 1.0], [-1.0, -2.0, -1.0]], Laplace(4.0))
        >>> sequential_fit(NoisyGroups(Domain({"a": 2, "b": 3}), [total, cells])).estimate.round(9)
        array([[4., 3., 2.], [0., 0., 0.]])
    """
    require_type("sequential_fit", "noisy", noisy, NoisyGroups, REMEDY)
    axes = [sums.marginal_axes for sums in noisy.groups]
    marginals = [each for each in axes if each is not None]
    is_by_tables = len(marginals) == len(axes) and _is_decomposable(marginals)
    stages = _by_tables(noisy, marginals) if is_by_tables else _by_cells(noisy)
    violation = np.max([stage.violation for stage in stages], axis=0)
    gap = np.max([stage.gap for stage in stages], axis=0)
    last = stages[-1]
    return fit_of(noisy, last.cells, last.objective, gap=gap, violation=violation)


def _is_decomposable(axes: Sequence[tuple[int, ...]]) -> bool:
    """Whether each marginal shares with those before it what one of them has, or has all that they have.

    Then any tables that agree on what they share are the marginals of some non-negative cells.
    """
    seen: set[int] = set()
    for number, own in enumerate(axes):
        shared = seen & set(own)
        if shared != seen and not any(shared <= set(other) for other in axes[:number]):
            return False
        seen |= set(own)
    return True


#: A marginal that is kept: its axes, and its cells (b, k).
_Kept = tuple[tuple[int, ...], Array]


def _by_tables(noisy: NoisyGroups, axes: Sequence[tuple[int, ...]]) -> list[CellFit]:
    """Every stage as a problem about the cells of one marginal.  Source: eq. (91)."""
    sizes = noisy.domain.sizes
    stages: list[CellFit] = []
    kept: list[_Kept] = []
    for own, values, variance in zip(axes, noisy.values, noisy.variances, strict=True):
        all_cells = MarginalSums(_sizes_of(own, sizes), tuple(range(len(own))))
        cells = Term(all_cells, values, np.full((1, 1), variance))
        stages.append(_stage(own, kept, sizes, cells))
        kept.append((own, stages[-1].cells))
    if not noisy.groups[-1].is_all_cells:
        whole = _stage(tuple(range(len(sizes))), kept, sizes, None)
        stages.append(replace(whole, objective=stages[-1].objective, gap=stages[-1].gap))
    return stages


def _stage(axes: tuple[int, ...], kept: Sequence[_Kept], sizes: tuple[int, ...], cells: Term | None) -> CellFit:
    """The cells of a marginal that agree with the tables that are kept, near to answers if there are any."""
    shape = _sizes_of(axes, sizes)
    shared = {tuple(axis for axis in axes if axis in table[0]): table for table in kept}
    largest = [own for own in shared if not any(set(own) < set(other) for other in shared)]
    terms = [_exact(own, shared[own], axes, sizes) for own in largest]
    if cells is None:
        return solved(shape, terms, None)
    return solved(shape, [*terms, cells], len(terms))


def _exact(own: tuple[int, ...], table: _Kept, axes: tuple[int, ...], sizes: tuple[int, ...]) -> Term:
    """That the marginal of some axes is that of a table that is kept."""
    kept, cells = table
    known = MarginalSums(_sizes_of(kept, sizes), tuple(map(kept.index, own)))
    target = known.answer(cells.reshape(len(cells), *known.shape))
    sums = MarginalSums(_sizes_of(axes, sizes), tuple(map(axes.index, own)))
    return Term(sums, target, np.zeros((1, sums.count)))


def _by_cells(noisy: NoisyGroups) -> list[CellFit]:
    """Every stage as a problem about all cells.  Source: eq. (90)."""
    sizes = noisy.domain.sizes
    stages: list[CellFit] = []
    for number, term in enumerate(noisy.terms()):
        before = [  # these sums stay what they are
            Term(sums, sums.answer(stages[-1].cells.reshape(-1, *sums.shape)), np.zeros((1, sums.count)))
            for sums in noisy.groups[:number]
        ]
        index = number if term.sums.is_all_cells else None
        stages.append(solved(sizes, [*before, term], index))
    return stages


def _sizes_of(axes: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sizes[axis] for axis in axes)


@memory_for("to fit a table of this size; leave out attributes")
def max_fit(noisy: NoisyGroups, *, slack: float = 0.01) -> Fit:
    """Non-negative cells whose largest error of an answer, in standard errors, is the least; of these least squares.

    Args:
        noisy: answers of all groups.
        slack: how much the largest error may be above the least possible one, in standard errors, > 0; 0.01 is the
            published one.

    Returns:
        The fit; its gap covers both steps.

    Raises:
        ArgumentError: ``noisy`` is something else.
        WorkloadError: a group is of residuals, whose answers have no one standard error; or there are too many sums for
            matrices.
        BudgetError: ``slack`` is not positive and finite.
        SolverError: the gap is above 1e-6.

    Guarantees: post-processing of noisy answers; it costs no budget.
    Cost: three milliseconds for each draw of 216 cells.
    Source: eqs. (86) and (87); Abowd et al., section 4.

    Example:
        >>> from residualplanner import Domain
        >>> from residualplanner.fits.microdata import Gaussian, GroupAnswers, Marginal
        >>> cells = GroupAnswers(Marginal(["a"]), [3.0, -1.0], Gaussian(1.0))
        >>> total = GroupAnswers(Marginal(), 3.0, Gaussian(1.0))
        >>> max_fit(NoisyGroups(Domain({"a": 2}), [total, cells]), slack=1e-6).estimate.round(3) + 0.0
        array([3., 0.])
    """
    require_type("max_fit", "noisy", noisy, NoisyGroups, REMEDY)
    require_positive("slack", slack)
    require_counts("max_fit", noisy)
    unit = min(noisy.variances) ** 0.5
    near = solved(noisy.domain.sizes, noisy.terms(), noisy.cell_group).cells
    bounds = _bounds(noisy, near, unit)
    start = _start(bounds)
    draws, cells = bounds.answers.shape[0], noisy.domain.cells(noisy.domain.names)
    count = max(1, -(-draws * cells // _AT_ONCE))
    parts = [
        _fitted(bounds.take(rows), start.take(rows), slack)
        for rows in np.array_split(np.arange(draws), min(count, draws))
    ]
    found, objective, gap = (np.concatenate(each) for each in zip(*parts, strict=True))
    return fit_of(noisy, near + found * unit, objective, gap=gap)


def _fitted(bounds: Bounds, start: Inside, slack: float) -> tuple[Array, Array, Array]:
    least, gap_of_bound = inside(bounds, start)
    _again(bounds, least, gap_of_bound, least_bound)
    off = np.abs(bounds.answered(least.cells) - bounds.answers) / bounds.std_err
    bound = off.max(axis=1) + slack
    lifted = least.cells + slack / 3 / least.cells.shape[1]
    squares = replace(bounds, weight=bounds.std_err**-2.0, minimizes_bound=False)
    found, gap = inside(squares, centered_start(squares, lifted, bound, level=_LEVEL))
    _again(squares, found, gap, least_squares_within)
    objective = objective_of(squares, found)
    return found.cells, objective, np.maximum(gap / (1 + objective), gap_of_bound / (1 + bound))


def _again(
    bounds: Bounds, found: Inside, gap: Array, general: Callable[[Bounds, Inside], tuple[Inside, Array]]
) -> None:
    """Solve the draws that rounding stopped by a general solver, in place."""
    for row in np.flatnonzero(~(gap <= _ROUGH * (1 + objective_of(bounds, found)))).tolist():
        rows = np.array([row])
        point, own = general(bounds.take(rows), found.take(rows))
        if own[0] < gap[row]:
            found.put(rows, point)
            gap[row] = own[0]


def _bounds(noisy: NoisyGroups, near: Array, unit: float) -> Bounds:
    """How far the answers of all groups are from those of cells, in units of so many counts; single cells come last.

    The largest error is minimized.
    """
    own = noisy.cell_group
    order = [number for number in range(len(noisy.groups)) if number != own]
    terms = noisy.terms()
    others, center = [terms[number] for number in order], np.zeros_like(near)
    if not is_small(others, center.shape[1]):
        raise WorkloadError("max_fit holds all sums beside the largest group as a matrix, and there are too many here")
    order = order if own is None else [*order, own]
    std_err = np.hstack([np.sqrt(terms[number].spread) / unit for number in order])
    table = near.reshape(-1, *noisy.domain.sizes)
    answers = np.hstack([(noisy.values[number] - noisy.groups[number].answer(table)) / unit for number in order])
    sums = MatrixDual(noisy.domain.sizes, others, center=center, weight=np.ones((1, 1)))
    return Bounds(sums, own is not None, -near / unit, answers, std_err, np.zeros_like(std_err), True)


def _start(bounds: Bounds) -> Inside:
    """Cells somewhat above least squares, and a bound above their largest error."""
    cells = np.full_like(bounds.floor, 1 / math.sqrt(bounds.floor.shape[1]))
    off = np.abs(bounds.answered(cells) - bounds.answers) / bounds.std_err
    bound = 1.1 * off.max(axis=1) + 0.1
    level = float(np.mean(bound)) / bounds.answers.shape[1]
    return centered_start(bounds, cells, bound, level=level)
