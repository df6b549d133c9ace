"""Least squares without the constraint that cells are non-negative, in closed form.

Reads: noisy answers.  Gives: Fit; variances that are known before any answer.
Source: eqs. (80) and (89).
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.microdata.fit import Fit, fit_of
from residualplanner.fits.microdata.noisy_groups import NoisyGroups
from residualplanner.fits.microdata.nonnegative import REMEDY
from residualplanner.ground.checks import require_type
from residualplanner.ground.errors import WorkloadError, memory_for
from residualplanner.method.workload.attribute_sets import subsets_of

#: Up to so many cells the fit of any sums is found from singular values.
_FEW_CELLS = 3_000

Array = NDArray[np.float64]


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
        >>> from residualplanner.fits.microdata.noisy_groups import GroupAnswers
        >>> from residualplanner.fits.microdata.laws import Laplace
        >>> from residualplanner.fits.microdata.groups import Marginal
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
        >>> from residualplanner.fits.microdata.noisy_groups import GroupAnswers
        >>> from residualplanner.fits.microdata.laws import Laplace
        >>> from residualplanner.fits.microdata.groups import Marginal
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
    """The precision of every component, an axis of length 2 for each attribute: absent, present; None if there is none.

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
