"""Microdata fitted to noisy answers: least squares, in closed form or of cells none of which is negative.

Reweighted, answers that may well be noise alone count less, and their sum counts by itself.  A sequential fit goes
group by group, and keeps the sums of all groups before.
Source: eqs. (80) to (85) and (89) to (91); Abowd et al., Algorithms 1 and 2.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.microdata.bounds import NoiseLaw
from residualplanner.fits.microdata.dual import CellFit, solve, solve_without_cells
from residualplanner.fits.microdata.groups import NoisyGroups, Sums, Term
from residualplanner.fits.optimizers import Array
from residualplanner.ground.checks import FloatArray, IntArray, frozen, require_type
from residualplanner.ground.errors import BudgetError, SolverError, WorkloadError, memory_for
from residualplanner.method.domain.domain import Domain
from residualplanner.method.workload.attribute_sets import subsets_of
from residualplanner.method.workload.query import QueryLike, written_query

#: The largest gap of a fit, and by how much exact sums may be off, relative to the largest answer.
_GAP, _OFF = 1e-6, 1e-6
#: What to write where an argument is not noisy answers.
REMEDY = (
    "write NoisyGroups(domain, [GroupAnswers(Marginal(()), total, Laplace(2)), ...]), or groups_of_release(release)"
)


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
    """The best cells for some terms, of which that of number ``cell_group``, if there is one, is about single cells."""
    if cell_group is None:
        return solve_without_cells(shape, terms)
    own, others = terms[cell_group], [term for number, term in enumerate(terms) if number != cell_group]
    return solve(shape, others, center=own.target, weight=1 / own.spread)


@memory_for("to fit a table of this size; leave out attributes")
def least_squares(noisy: NoisyGroups) -> Fit:
    """The cells with the least sum of squared errors of the answers, each divided by its variance; some are negative.

    They are unbiased where the groups determine them, and of the best cells those nearest to 0 where they do not: the
    closed form takes components one by one.

    Args:
        noisy: answers of all groups.

    Raises:
        ArgumentError: ``noisy`` is something else.

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
    parts = list(zip(noisy.groups, noisy.values, noisy.variances, strict=True))
    pulled = np.zeros((len(noisy.values[0]), *noisy.domain.sizes))
    for sums, values, variance in parts:
        pulled += sums.spread(values / variance)
    # The normal equations are diagonal in components: each is divided by its precision.  Eq. (80).
    precisions = np.zeros((2,) * len(noisy.domain))  # of components without, and with, each attribute
    for present in np.ndindex(precisions.shape):
        precisions[present] = _precision(noisy, np.flatnonzero(present).tolist())
    cells = _scaled(pulled, np.divide(1, precisions, out=np.zeros_like(precisions), where=precisions > 0), 1)
    objective = np.zeros(len(cells))
    for sums, values, variance in parts:
        objective += ((sums.answer(cells) - values) ** 2).sum(axis=1) / variance / 2
    return fit_of(noisy, cells, objective, gap=np.zeros(len(cells)))


def least_squares_variance(noisy: NoisyGroups, names: Iterable[str] = ()) -> float:
    """The variance of each cell of a marginal of `least_squares`, in counts squared; it depends on no answer.

    Args:
        noisy: groups of marginals, whose answers do not matter.
        names: of the marginal's attributes.

    Raises:
        DomainError: an attribute is not in the domain.
        WorkloadError: the groups do not determine the marginal.

    Source: eq. (89).

    Example:
        >>> from residualplanner import Domain
        >>> from residualplanner.fits.microdata import GroupAnswers, Laplace, Marginal
        >>> cells = GroupAnswers(Marginal(["a"]), np.zeros(100), Laplace(4.0))
        >>> total = GroupAnswers(Marginal(), 0.0, Laplace(4.0))
        >>> round(least_squares_variance(NoisyGroups(Domain({"a": 100}), [total, cells])), 3)
        31.683
    """
    sizes, axes = noisy.domain.sizes, noisy.domain.positions(names)
    together = math.prod(n for axis, n in enumerate(sizes) if axis not in axes)
    found = 0.0
    for subset in subsets_of(axes):
        precision = _precision(noisy, subset)
        degrees = math.prod(sizes[axis] - 1 for axis in subset)
        if degrees and precision == 0:
            raise WorkloadError("the groups do not determine this marginal")
        found += degrees / precision if degrees else 0.0
    return found * together**2 / math.prod(sizes)


def _precision(noisy: NoisyGroups, subset: Sequence[int]) -> float:
    """The precision of the component of some axes.  Source: eq. (80)."""
    parts = zip(noisy.groups, noisy.variances, strict=True)
    return sum(sums.precision(subset) / variance for sums, variance in parts)


def _scaled(cells: Array, factors: Array, axis: int) -> Array:
    """The cells with each component, along this axis and those after it, times its factor."""
    if axis == cells.ndim:
        return cells * factors
    means = cells.mean(axis=axis, keepdims=True)
    return _scaled(means, factors[0], axis + 1) + _scaled(cells - means, factors[1], axis + 1)


@memory_for("to fit a table of this size; leave out attributes")
def reweighted_fit(noisy: NoisyGroups, *, confidence: float = 0.99) -> Fit:
    """Non-negative least squares in which low answers count less, and the sum of a group's low answers counts, too.

    Low are the answers of a group that the noise of so many zeros could explain.  The error of the total is then about
    that of least squares, and most cells that are 0 are nearly 0.

    Args:
        noisy: answers of all groups, each of disjoint sums.
        confidence: the probability with which the noise of zeros is below the least answer that is not low, between 0
            and 1; 0.99 is the published one.

    Raises:
        ArgumentError: ``noisy`` is something else.
        WorkloadError: a group has sums that overlap, such as residuals.
        BudgetError: ``confidence`` is not between 0 and 1.
        SolverError: the gap is above 1e-6.

    Guarantees: post-processing of noisy answers; it costs no budget.
    Source: eqs. (84) and (85); Abowd et al., Algorithm 2.

    Example:
        >>> from residualplanner import Domain
        >>> from residualplanner.fits.microdata import GroupAnswers, Laplace, Marginal
        >>> cells = GroupAnswers(Marginal(["a"]), [-5, 3, 10, 40, 200], Laplace(8.0))
        >>> reweighted_fit(NoisyGroups(Domain({"a": 5}), [cells])).estimate.round(2)
        array([  0.  ,   1.36,   8.36,  38.36, 200.  ])
    """
    require_type("reweighted_fit", "noisy", noisy, NoisyGroups, REMEDY)
    if not 0 < confidence < 1:
        raise BudgetError(f"confidence must be between 0 and 1, got {confidence!r}")
    require_counts("reweighted_fit", noisy)
    parts = [
        _reweighted(sums, values, each.law, confidence)
        for sums, values, each in zip(noisy.groups, noisy.values, noisy.answers, strict=True)
    ]
    terms = [single for single, _ in parts] + [together for _, together in parts]
    found = solved(noisy.domain.sizes, terms, noisy.cell_group)
    return fit_of(noisy, found.cells, found.objective, gap=found.gap)


def _reweighted(sums: Sums, values: Array, law: NoiseLaw, confidence: float) -> tuple[Term, Term]:
    """The terms of a group with answers (b, k): single, and the sum of low ones.  Source: eqs. (84) and (85)."""
    low = low_answers(values, law, confidence)
    count = np.maximum(low.sum(axis=1, keepdims=True), 1)
    penalty = np.maximum(law.median_of_largest(count), 1) ** 2
    single = Term(sums, values, law.variance * np.where(low, 2 * penalty, 1))
    mask = low.astype(np.float64)
    return single, Term(replace(sums, mask=mask), (mask * values).sum(axis=1, keepdims=True), 2 * law.variance * count)


def low_answers(values: Array, law: NoiseLaw, confidence: float) -> NDArray[np.bool_]:
    """Which answers (b, k) the noise of zeros could explain.  Source: eq. (84)."""
    ordered = np.sort(values, axis=1)
    ranks = np.arange(1, values.shape[1] + 1)
    is_high = ranks * law.log_cdf(ordered) >= math.log(confidence)
    first = np.where(is_high.any(axis=1), is_high.argmax(axis=1), values.shape[1])
    edges = np.take_along_axis(ordered, np.maximum(first - 1, 0)[:, None], axis=1)
    return np.asarray((values <= edges) & (first > 0)[:, None])


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
    axes = [sums.axes for sums in noisy.groups]
    is_by_tables = all(sums.covers for sums in noisy.groups) and _is_decomposable(axes)
    stages = _by_tables(noisy, axes) if is_by_tables else _by_cells(noisy)
    violation = np.max([stage.violation for stage in stages], axis=0)
    gap = np.max([stage.gap for stage in stages], axis=0)
    return fit_of(noisy, stages[-1].cells, stages[-1].objective, gap=gap, violation=violation)


def _is_decomposable(axes: Sequence[tuple[int, ...]]) -> bool:
    """Whether each marginal shares with those before it what one of them has, or has all that they have."""
    # Then any tables that agree on what they share are the marginals of some non-negative cells.
    seen: set[int] = set()
    for number, own in enumerate(axes):
        shared = seen & set(own)
        if shared != seen and not any(shared <= set(other) for other in axes[:number]):
            return False
        seen |= set(own)
    return True


def _by_tables(noisy: NoisyGroups, axes: Sequence[tuple[int, ...]]) -> list[CellFit]:
    """Every stage as a problem about the cells of one marginal.  Source: eq. (91)."""
    sizes, stages, kept = np.array(noisy.domain.sizes), list[CellFit](), list[tuple[tuple[int, ...], Array]]()
    for own, values, variance in zip(axes, noisy.values, noisy.variances, strict=True):
        shape = tuple(sizes[list(own)].tolist())
        near = Term(Sums(shape, tuple(range(len(own)))), values, np.full((1, 1), variance))
        terms = [*_agreeing(own, kept, sizes), near]
        stages.append(solved(shape, terms, len(terms) - 1))
        kept.append((own, stages[-1].cells))
    if not noisy.groups[-1].is_all_cells:
        whole = solved(noisy.domain.sizes, _agreeing(tuple(range(len(sizes))), kept, sizes), None)
        stages.append(whole._replace(objective=stages[-1].objective, gap=stages[-1].gap))
    return stages


def _agreeing(own: tuple[int, ...], kept: Sequence[tuple[tuple[int, ...], Array]], sizes: IntArray) -> list[Term]:
    """What a marginal has in common with those that are kept, whose cells (b, k) are given."""
    shape, terms = tuple(sizes[list(own)].tolist()), []
    shared = {tuple(axis for axis in own if axis in table[0]): table for table in kept}
    for axes, (known, table) in shared.items():
        if any(set(axes) < set(other) for other in shared):
            continue  # what agrees with a larger table agrees with this one
        before = Sums(tuple(sizes[list(known)].tolist()), tuple(map(known.index, axes)))
        sums = Sums(shape, tuple(map(own.index, axes)))
        terms.append(Term(sums, before.answer(table.reshape(len(table), *before.shape)), np.zeros((1, sums.count))))
    return terms


def _by_cells(noisy: NoisyGroups) -> list[CellFit]:
    """Every stage as a problem about all cells.  Source: eq. (90)."""
    sizes, stages = noisy.domain.sizes, list[CellFit]()
    for number, term in enumerate(noisy.terms()):
        before = [  # these sums stay what they are
            Term(sums, sums.answer(stages[-1].cells.reshape(-1, *sizes)), np.zeros((1, sums.count)))
            for sums in noisy.groups[:number]
        ]
        stages.append(solved(sizes, [*before, term], number if term.sums.is_all_cells else None))
    return stages
