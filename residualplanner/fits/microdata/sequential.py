"""Fits group by group, each of which keeps the sums of all groups before.

Source: eqs. (90) and (91); Abowd et al., Algorithm 1.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from residualplanner.fits.microdata.dual import CellFit, Term
from residualplanner.fits.microdata.fit import REMEDY, Fit, fit_of, solved
from residualplanner.fits.microdata.groups import NoisyGroups
from residualplanner.fits.microdata.sums import MarginalSums
from residualplanner.fits.optimizers import Array
from residualplanner.ground.checks import require_type
from residualplanner.ground.errors import memory_for


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


def _stage(own: tuple[int, ...], kept: Sequence[_Kept], sizes: tuple[int, ...], cells: Term | None) -> CellFit:
    """The cells of a marginal that agree with the tables that are kept, near to answers if there are any."""
    shape, terms = _sizes_of(own, sizes), []
    shared = {tuple(axis for axis in own if axis in table[0]): table for table in kept}
    for axes, (known, table) in shared.items():
        if any(set(axes) < set(other) for other in shared):
            continue  # what agrees with a larger table agrees with this one
        before = MarginalSums(_sizes_of(known, sizes), tuple(map(known.index, axes)))
        sums = MarginalSums(shape, tuple(map(own.index, axes)))
        target = before.answer(table.reshape(len(table), *before.shape))
        terms.append(Term(sums, target, np.zeros((1, sums.count))))
    if cells is None:
        return solved(shape, terms, None)
    return solved(shape, [*terms, cells], len(terms))


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
