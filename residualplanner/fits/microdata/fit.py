"""Microdata fitted to noisy answers: least squares, in closed form or of cells none of which is negative.

Source: eqs. (80) to (83) and (89).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.microdata.groups import NoisyGroups, problem_of
from residualplanner.fits.microdata.solvers.dual import Term
from residualplanner.fits.microdata.solvers.newton import CellFit, solve, solve_without_cells
from residualplanner.ground.checks import FloatArray, frozen, require_type
from residualplanner.ground.errors import SolverError, WorkloadError, memory_for
from residualplanner.method.domain.domain import Domain
from residualplanner.method.workload.attribute_sets import subsets_of
from residualplanner.method.workload.query import QueryLike, written_query

#: The largest gap of a fit, and by how much exact sums may be off, relative to the largest answer.
_GAP, _OFF = 1e-6, 1e-6
Array = NDArray[np.float64]
#: What to write where an argument is not noisy answers.
REMEDY = (
    "write NoisyGroups(domain, [GroupAnswers(Marginal(()), total, Laplace(2)), ...]), or groups_of_release(release)"
)
#: Up to so many cells the fit of any sums is found from singular values.
_FEW_CELLS = 3_000


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Fit:
    """The weights of the records that a fit gives to every cell of a domain, for each draw of the noise.

    Attributes:
        domain: of the data set.
        estimate (..., n_1, .., n_d): the cells, in counts.
        objective (...): half the sum of squared errors of the answers, each divided by its variance.
        gap (...): the objective is proved to be at most this fraction (of itself plus 1) above the least one.
        violation (...): by how much sums are off that the fit keeps equal to others, at most, in counts.
    """

    domain: Domain
    estimate: FloatArray
    objective: FloatArray
    gap: FloatArray
    violation: FloatArray

    def __repr__(self) -> str:
        draws = "" if not self.gap.shape else f" in {self.gap.size:,} draws of the noise"
        return f"<Fit of {self.domain.cells(self.domain.names):,} cells{draws}: gap {self.gap.max(initial=0.0):.1e}>"

    def table(self, query: QueryLike = ()) -> Array:
        """The answers to a query, (..., q_1, .., q_k), with its axes as it is written; the total unless given.

        Args:
            query: as in a workload: names, a mapping from name to kind of query, a `Threshold`, or one `Among` others.

        Raises:
            DomainError: an attribute is not in the domain, or occurs twice.
            WorkloadError: a kind of query does not fit its attribute.
        """
        draws, written = self.gap.ndim, written_query(self.domain, query)
        others = tuple(draws + axis for axis in range(len(self.domain)) if axis not in written.positions)
        found = self.estimate.sum(axis=others).transpose([*range(draws), *(draws + axis for axis in written.axes)])
        for axis, kind in enumerate(written.kinds):
            found = kind.apply(found, draws + axis)
        return written.put_together(self.domain, found, first_axis=draws)


def fit_of(noisy: NoisyGroups, cells: Array, objective: Array, *, gap: Array, violation: Array | None = None) -> Fit:
    """A fit in the shape of the answers, from cells (b, n), objectives, gaps and violations (b,) of every draw.

    SolverError where the gap, or the violation, is too large for a draw.
    """
    off = np.zeros(len(cells)) if violation is None else violation
    scale = 1 + max(float(np.abs(values).max(initial=0.0)) for values in noisy.values)
    if not ((gap <= _GAP).all() and (off <= _OFF * scale).all()):
        raise SolverError(
            "a fit was not found to the accuracy that is promised: answers are too large beside their noise, or "
            "contradict one another by far more than it; choose another fit, or state more noise",
            status="inexact",
        )
    draws, domain = noisy.draws, noisy.domain
    parts = (objective, gap, off)
    return Fit(
        domain, frozen(cells.reshape(*draws, *domain.sizes)), *(frozen(np.array(each).reshape(draws)) for each in parts)
    )


@memory_for("to fit a table of this size; leave out attributes")
def nonnegative_least_squares(noisy: NoisyGroups) -> Fit:
    """The non-negative cells with the least sum of squared errors of the answers, each divided by its variance.

    Args:
        noisy: answers of all groups, in one draw of the noise or in many.

    Returns:
        The fit.  Answers to all queries are unique; cells are if they were measured themselves.

    Raises:
        ArgumentError: ``noisy`` is something else.
        SolverError: the gap is above 1e-6.

    Guarantees: post-processing of noisy answers; it costs no budget.
    Cost: for few sums a tenth of a millisecond for each draw of 216 cells; for a million cells some seconds.
    Source: eqs. (81) to (83); Abowd et al., section 4.

    Example:
        >>> from residualplanner import Domain
        >>> from residualplanner.fits.microdata import Gaussian, GroupAnswers, Marginal
        >>> cells = GroupAnswers(Marginal(["a"]), [3.0, -1.0], Gaussian(1.0))
        >>> total = GroupAnswers(Marginal(), 3.0, Gaussian(1.0))
        >>> nonnegative_least_squares(NoisyGroups(Domain({"a": 2}), [total, cells])).estimate
        array([3., 0.])
    """
    require_type("nonnegative_least_squares", "noisy", noisy, NoisyGroups, REMEDY)
    found = solved(noisy.domain.sizes, noisy.terms(), noisy.cell_group)
    return fit_of(noisy, found.cells, found.objective, gap=found.gap)


def require_counts(call: str, noisy: NoisyGroups) -> None:
    """Raise WorkloadError, naming the function called, unless every answer is a count with noise of its own."""
    if not all(sums.is_disjoint for sums in noisy.groups):
        raise WorkloadError(
            f"{call} judges each answer as a count beside its own noise; a release measures residuals, which are "
            "differences of counts: use nonnegative_least_squares or sequential_fit, or answers of Marginal groups"
        )


def solved(shape: tuple[int, ...], terms: Sequence[Term], cell_group: int | None) -> CellFit:
    """The best cells for some terms, one of which may be about single cells."""
    problem = problem_of(shape, terms, cell_group)
    return solve_without_cells(shape, terms) if problem is None else solve(problem)


@memory_for("to fit a table of this size; leave out attributes")
def least_squares(noisy: NoisyGroups) -> Fit:
    """The cells with the least sum of squared errors of the answers, each divided by its variance; some are negative.

    They are unbiased where the groups determine them, and of the best cells those nearest to 0 where they do not.  For
    groups of marginals, or residuals, the closed form takes components one by one.

    Args:
        noisy: answers of all groups.

    Raises:
        ArgumentError: ``noisy`` is something else.
        WorkloadError: groups are sums of any cells, and there are more than 3,000 cells.

    Cost: O(cells) for each group and draw of the noise.
    Source: eq. (80).

    Example:
        >>> from residualplanner import Domain
        >>> from residualplanner.fits.microdata import GroupAnswers, Laplace, Marginal
        >>> cells = GroupAnswers(Marginal(["a"]), [3.0, -1.0], Laplace(1.0))
        >>> total = GroupAnswers(Marginal(), 5.0, Laplace(1.0))
        >>> least_squares(NoisyGroups(Domain({"a": 2}), [total, cells])).estimate
        array([4., 0.])
    """
    require_type("least_squares", "noisy", noisy, NoisyGroups, REMEDY)
    precisions = _precisions(noisy)
    cells = _by_singular_values(noisy) if precisions is None else _by_components(noisy, precisions)
    table = cells.reshape(-1, *noisy.domain.sizes)
    objective = np.zeros(len(table))
    for sums, values, variance in zip(noisy.groups, noisy.values, noisy.variances, strict=True):
        objective += ((sums.answer(table) - values) ** 2).sum(axis=1) / variance / 2
    return fit_of(noisy, cells, objective, gap=np.zeros(len(table)))


def least_squares_variance(noisy: NoisyGroups, names: Iterable[str] = ()) -> float:
    """The variance of each cell of a marginal of `least_squares`, in counts squared; it depends on no answer.

    Args:
        noisy: groups of marginals, whose answers do not matter.
        names: of the marginal's attributes.

    Raises:
        DomainError: an attribute is not in the domain.
        WorkloadError: groups are sums of any cells, or do not determine the marginal.

    Source: eq. (89).

    Example:
        >>> from residualplanner import Domain
        >>> from residualplanner.fits.microdata import GroupAnswers, Laplace, Marginal
        >>> cells = GroupAnswers(Marginal(["a"]), np.zeros(100), Laplace(4.0))
        >>> total = GroupAnswers(Marginal(), 0.0, Laplace(4.0))
        >>> round(least_squares_variance(NoisyGroups(Domain({"a": 100}), [total, cells])), 3)
        31.683
    """
    precisions, sizes = _precisions(noisy), noisy.domain.sizes
    axes = noisy.domain.positions(names)
    if precisions is None:
        raise WorkloadError("least_squares_variance needs groups of marginals or residuals")
    together = math.prod(n for axis, n in enumerate(sizes) if axis not in axes)
    found = 0.0
    for subset in subsets_of(axes):
        precision = float(precisions[_index(subset, len(sizes))])
        degrees = math.prod(sizes[axis] - 1 for axis in subset)
        if degrees and precision == 0:
            raise WorkloadError("the groups do not determine this marginal")
        found += degrees / precision if degrees else 0.0
    return found * together**2 / math.prod(sizes)


def _index(subset: Iterable[int], count: int) -> tuple[int, ...]:
    return tuple(int(axis in set(subset)) for axis in range(count))


def _precisions(noisy: NoisyGroups) -> Array | None:
    """The precision of every component, an axis of length 2 for each attribute (absent, present), or None.

    Source: eq. (80).
    """
    count = len(noisy.domain)
    found = np.zeros((2,) * count)
    for subset in subsets_of(range(count)):
        for sums, variance in zip(noisy.groups, noisy.variances, strict=True):
            precision = sums.precision(subset)
            if precision is None:
                return None
            found[_index(subset, count)] += precision / variance
    return found


def _by_components(noisy: NoisyGroups, precisions: Array) -> Array:
    """The cells (b, n), each component divided by its precision.  Source: eq. (80)."""
    draws, sizes = len(noisy.values[0]), noisy.domain.sizes
    pulled = np.zeros((draws, *sizes))
    for sums, values, variance in zip(noisy.groups, noisy.values, noisy.variances, strict=True):
        pulled += sums.spread(values / variance)
    inverse = np.divide(1, precisions, out=np.zeros_like(precisions), where=precisions > 0)
    return _scaled(pulled, inverse, 1).reshape(draws, -1)


def _scaled(cells: Array, factors: Array, axis: int) -> Array:
    """The cells with each component, along this axis and those after it, times its factor."""
    if axis == cells.ndim:
        return cells * factors
    means = cells.mean(axis=axis, keepdims=True)
    return _scaled(means, factors[0], axis + 1) + _scaled(cells - means, factors[1], axis + 1)


def _by_singular_values(noisy: NoisyGroups) -> Array:
    cells = noisy.domain.cells(noisy.domain.names)
    if cells > _FEW_CELLS:
        raise WorkloadError(f"least_squares of any sums needs at most {_FEW_CELLS:,} cells, got {cells:,}")
    roots = np.sqrt(noisy.variances)
    rows = np.vstack([sums.matrix() / root for sums, root in zip(noisy.groups, roots, strict=True)])
    values = np.hstack([each / root for each, root in zip(noisy.values, roots, strict=True)])
    found: Array = np.linalg.lstsq(rows, values.T, rcond=None)[0].T
    return found
