"""MaxFit: no answer is further off than it must be, and among such cells the least squares.

Source: eqs. (86) and (87); Abowd et al., section 4.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from residualplanner.fits.microdata.dual import CellProblem, MatrixDual
from residualplanner.fits.microdata.fit import REMEDY, Fit, fit_of, require_counts, solved
from residualplanner.fits.microdata.groups import NoisyGroups
from residualplanner.fits.microdata.newton import is_small
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
    cells = noisy.domain.cells(noisy.domain.names)
    draws = len(noisy.values[0])
    problem = CellProblem(
        noisy.domain.sizes, np.zeros((draws, cells)), np.ones((1, 1)), tuple(terms[number] for number in order)
    )
    if not is_small(problem):
        raise WorkloadError("max_fit holds all sums beside the largest group as a matrix, and there are too many here")
    order = order if own is None else [*order, own]
    std_err = np.hstack([np.sqrt(terms[number].spread) / unit for number in order])
    table = near.reshape(-1, *noisy.domain.sizes)
    answers = np.hstack([(noisy.values[number] - noisy.groups[number].answer(table)) / unit for number in order])
    return Bounds(MatrixDual(problem), own is not None, -near / unit, answers, std_err, np.zeros_like(std_err), True)


def _start(bounds: Bounds) -> Inside:
    """Cells somewhat above least squares, and a bound above their largest error."""
    cells = np.full_like(bounds.floor, 1 / math.sqrt(bounds.floor.shape[1]))
    off = np.abs(bounds.answered(cells) - bounds.answers) / bounds.std_err
    bound = 1.1 * off.max(axis=1) + 0.1
    level = float(np.mean(bound)) / bounds.answers.shape[1]
    return centered_start(bounds, cells, bound, level=level)
