"""The least largest error of answers, and least squares within bounds on every error, with what is proved of both.

One draw of the noise at a time, by Clarabel's interior-point method.  Answers are in standard errors.  Cells x are
measured from a fit, so that they and the answers are small however large the counts are.
Source: eqs. (86) and (87); Abowd et al., section 4.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from residualplanner.fits.microdata.fit import REMEDY, Fit, fit_of, require_counts, solved
from residualplanner.fits.microdata.groups import NoisyGroups
from residualplanner.fits.optimizers import Array
from residualplanner.ground.checks import require_positive, require_type
from residualplanner.ground.errors import WorkloadError, memory_for

#: The most entries of the matrix of all sums beside single cells.
_ENTRIES = 20_000_000
#: To what accuracy Clarabel solves; from which gap on multipliers are balanced; how far beyond its bounds an error is.
_ACCURATE, _ROUGH, _OUTSIDE = 1e-11, 1e-8, 1e-7


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
    Cost: some eight milliseconds for each draw of 216 cells.
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
    cells = noisy.domain.cells(noisy.domain.names)
    if sum(sums.count for sums in noisy.groups if not sums.is_all_cells) * cells > _ENTRIES:
        raise WorkloadError("max_fit holds all sums beside single cells as a matrix, and there are too many here")
    unit, std_err = min(noisy.variances) ** 0.5, np.sqrt(noisy.variances)
    one = [sparse.eye_array(cells) if each.is_all_cells else sparse.csc_array(each.matrix()) for each in noisy.groups]
    rows = sparse.vstack([each * (unit / scale) for each, scale in zip(one, std_err, strict=True)], format="csc")
    raises = np.repeat(std_err / unit, [sums.count for sums in noisy.groups])
    programs = _programs(rows)
    near = solved(noisy.domain.sizes, noisy.terms(), noisy.cell_group).cells
    table = near.reshape(-1, *noisy.domain.sizes)
    answered = zip(noisy.groups, noisy.values, std_err, strict=True)
    values = np.hstack([(own - sums.answer(table)) / scale for sums, own, scale in answered])
    answers = (_Answers(rows, own, -cells_near / unit, raises) for own, cells_near in zip(values, near, strict=True))
    found = [_fitted(programs, each, slack) for each in answers]
    cells_of, objectives, gaps = (np.array(each) for each in zip(*found, strict=True))
    return fit_of(noisy, np.maximum(near + cells_of * unit, 0), objectives, gap=gaps)


class _Answers(NamedTuple):
    rows: sparse.csc_array  # (m, n): A, over the standard errors
    values: Array  # (m,): a
    floor: Array  # (n,): f, of the cells, at most 0
    raises: Array  # (m,): multipliers of answers that together push every cell by 1 or more


class _ErrorProgram:
    """A quadratic program with the right sides of one draw after the other, of which the first ones are equalities."""

    def __init__(self, squares: Array, linear: Array, sides: list[list[Any]], equalities: int) -> None:
        self._objective = sparse.csc_matrix(sparse.diags_array(squares)), linear
        self._sides, self._equalities = sparse.csc_matrix(sparse.block_array(sides)), equalities
        self._solver: Any = None

    def solved(self, right: Array) -> tuple[Array, Array]:
        """The best numbers, and the multipliers of all sides, those of equalities as if they were at least 0."""
        import clarabel  # takes a tenth of the time to import the package

        if self._solver is None:
            cones = [clarabel.ZeroConeT(self._equalities), clarabel.NonnegativeConeT(len(right) - self._equalities)]
            settings = clarabel.DefaultSettings()
            settings.verbose = settings.presolve_enable = False  # what presolving leaves out could not be updated
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _ACCURATE
            self._solver = clarabel.DefaultSolver(*self._objective, self._sides, right, cones, settings)
        else:
            self._solver.update(b=right)  # a third of the time is what the draws have in common
        found = self._solver.solve()
        return np.array(found.x), np.maximum(np.array(found.z), 0)


def _programs(rows: sparse.csc_array) -> tuple[_ErrorProgram, _ErrorProgram]:
    """The least t with A x - t <= a, -A x - t <= -a and x >= f; the least e^2 with A x - e = a, e, -e <= b, x >= f."""
    answers, cells = rows.shape
    one, ones, floor = sparse.eye_array(answers), sparse.csc_array(np.ones((answers, 1))), -sparse.eye_array(cells)
    largest: list[list[Any]] = [[rows, -ones], [-rows, -ones], [floor, None]]
    within: list[list[Any]] = [[rows, -one], [None, one], [None, -one], [floor, None]]
    squares = np.repeat([0.0, 1.0], [cells, answers])
    return (
        _ErrorProgram(np.zeros(cells + 1), np.repeat([0.0, 1.0], [cells, 1]), largest, 0),
        _ErrorProgram(squares, np.zeros(cells + answers), within, answers),
    )


def _fitted(
    programs: tuple[_ErrorProgram, _ErrorProgram], answers: _Answers, slack: float
) -> tuple[Array, float, float]:
    """The cells (n,) with the least squares of those whose errors are nearly the least; half the squares; the gap.

    The gap is of both steps, and infinite where errors are not within their bound.
    """
    rows, values, floor, _ = answers
    count = len(values)
    found, forces = programs[0].solved(np.concatenate([values, -values, -floor]))
    cells = np.maximum(found[:-1], floor)
    least = float(np.abs(rows @ cells - values).max())
    bound, gap_of_bound = least + slack, _gap(answers, cells, least, forces, is_of_bound=True)
    found, forces = programs[1].solved(np.concatenate([values, np.full(2 * count, bound), -floor]))
    cells = np.maximum(found[:-count], floor)
    off = rows @ cells - values
    objective, gap = float(off @ off) / 2, np.inf
    if np.abs(off).max() <= bound + _OUTSIDE:
        gap = _gap(answers, cells, bound, forces[count:], is_of_bound=False)
    return cells, objective, max(gap / (1 + objective), gap_of_bound / (1 + bound))


def _gap(answers: _Answers, cells: Array, bound: float, multipliers: Array, *, is_of_bound: bool) -> float:
    """By how much what these cells have is above the least, at most.  Source: eq. (87)."""
    rows, values, floor, raises = answers
    above, below, of_cells = np.split(multipliers, [len(values), 2 * len(values)])
    off = rows @ cells - values
    slope = np.zeros_like(off) if is_of_bound else off

    def proved(above: Array, below: Array) -> float:
        lacking = max(0.0, -float((rows.T @ (slope + above - below)).min()))
        raised = above + lacking * raises
        forces = np.maximum(rows.T @ (slope + raised - below), 0)
        gap = float(raised @ (bound - off) + below @ (bound + off) + forces @ (cells - floor))
        return gap + abs(1 - float((raised + below).sum())) * bound if is_of_bound else gap

    first = proved(above, below)
    if first <= _ROUGH * (1 + bound):
        return first
    # What is left on a cell counts as often as the cell may fall, which is millions of times for large counts: of
    # cells that are above their floor the forces are made 0, up to rounding.
    forces = rows.T @ (slope + above - below)
    is_free = (cells - floor > of_cells) | (forces < 0)
    change = np.linalg.lstsq(rows.toarray()[:, is_free].T, -forces[is_free])[0]
    return min(first, proved(above + np.maximum(change, 0), below + np.maximum(-change, 0)))
