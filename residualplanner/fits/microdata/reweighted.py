"""Reweighted fits: answers that may well be noise alone count less, and their sum counts by itself.

Source: eqs. (84) and (85); Abowd et al., Algorithm 2.
"""

import math

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.microdata.fit import REMEDY, Fit, fit_of, require_counts, solved
from residualplanner.fits.microdata.groups import NoisyGroups
from residualplanner.fits.microdata.laws import NoiseLaw
from residualplanner.fits.microdata.solvers.dual import Term
from residualplanner.fits.microdata.solvers.sums import MaskedSum, Sums
from residualplanner.ground.checks import require_type
from residualplanner.ground.errors import BudgetError, memory_for

Array = NDArray[np.float64]


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
    together = MaskedSum(sums.shape, sums, mask)
    return single, Term(together, (mask * values).sum(axis=1, keepdims=True), 2 * law.variance * count)


def low_answers(values: Array, law: NoiseLaw, confidence: float) -> NDArray[np.bool_]:
    """Which answers (b, k) the noise of zeros could explain.  Source: eq. (84).

    Example:
        >>> from residualplanner.fits.microdata import Laplace
        >>> low_answers(np.array([[-5.0, 3, 10, 40, 200]]), Laplace(8.0), 0.99).tolist()
        [[True, True, True, True, False]]
    """
    ordered = np.sort(values, axis=1)
    ranks = np.arange(1, values.shape[1] + 1)
    is_high = ranks * law.log_cdf(ordered) >= math.log(confidence)
    first = np.where(is_high.any(axis=1), is_high.argmax(axis=1), values.shape[1])
    edges = np.take_along_axis(ordered, np.maximum(first - 1, 0)[:, None], axis=1)
    found: NDArray[np.bool_] = (values <= edges) & (first > 0)[:, None]
    return found
