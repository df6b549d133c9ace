"""How far off the worst cell of a table is, in the mean: a bound from the cells' variances alone.

Source: Z. Sidak, Rectangular Confidence Regions for the Means of Multivariate Normal Distributions, Journal of the
American Statistical Association 62 (1967), 626-633.

For errors X_i that are jointly Gaussian with means 0, however they are correlated,
``P(max |X_i| <= t) >= prod_i P(|X_i| <= t)``.  Integrated over t, ``E max |X_i| <= int_0^oo 1 - prod_i erf(t / (sigma_i
sqrt 2)) dt``: what independent errors with these standard deviations have.
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.polynomial import Chebyshev

from residualplanner.ground.checks import FloatArray, IntArray

#: How many standard deviations of one table are distinguished: more are grouped, and the largest of a group counts.
DEVIATIONS = 2048
#: How many all tables of a workload may have together, and the fewest that one gets.
ALL_DEVIATIONS, FEWEST = 2**16, 8
#: Up to so many different numbers of cells, each is integrated for; a polynomial is of this degree.
_NUMBERS, _DEGREE = 64, 48
#: Outside of the interval that is integrated over, the integrand is this close to 1 and to 0.
_LOW, _HIGH = 1e-18, 1e-20
#: No deviation counts as less than this fraction of its table's largest.
_LEAST = 2.0**-30
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_CHUNK = 2**20


def independent_mean_max(cells: FloatArray) -> FloatArray:
    """``E max |Z_i|`` of so many independent standard normal variables, for each entry of ``cells`` (m,), at least 1.

    Many different numbers are read off a polynomial in the root of log N + 1/2, which goes through 49 of them; it is
    within 1e-9 of them all, relative.  The first few different numbers cost some 300 values of the error function each.
    """
    distinct, index = np.unique(cells, return_inverse=True)
    if len(distinct) <= _NUMBERS:
        values = _alone(distinct)
    else:
        ends = [float(_abscissa(distinct[0])), float(_abscissa(distinct[-1]))]
        through = Chebyshev.interpolate(lambda x: _alone(np.exp(x**2 - 0.5)), _DEGREE, domain=ends)
        values = through(_abscissa(distinct))
    return values[index]


def mean_max_bound(std_err: FloatArray, cells: FloatArray) -> float:
    """The bound for one table, from standard deviations (v,), positive, ascending, and how many cells have each."""
    return float(_integrals(*_in_groups(std_err[None], cells[None], DEVIATIONS))[0])


def mean_max_bounds(cells: FloatArray, differing: Iterable[tuple[IntArray, FloatArray]]) -> FloatArray:
    """The bound for every query, (q,), from how many cells it has (q,), and in runs the variances of these.

    For each run the numbers of queries (m,), and the variances that differ (m, h), each of equally many cells.
    """
    bounds, most = np.empty(len(cells)), min(DEVIATIONS, max(FEWEST, ALL_DEVIATIONS // len(cells)))
    for numbers, variance in differing:
        each = np.broadcast_to((cells[numbers] / variance.shape[1])[:, None], variance.shape)
        bounds[numbers] = _integrals(*_in_groups(np.sort(np.sqrt(variance), axis=1), each, most))
    return bounds


def _in_groups(std_err: FloatArray, cells: FloatArray, most: int) -> tuple[FloatArray, FloatArray]:
    """At most so many deviations in each row (m, v), ascending: each group's largest, for the cells of all of it.

    None is 0, as that of a row of zeros is.
    """
    std_err, count = np.maximum(std_err, std_err[:, -1:] * _LEAST), std_err.shape[1]
    if count <= most:
        return std_err, cells
    ends = np.linspace(0, count, most + 1).astype(np.int64)
    grouped: FloatArray = np.add.reduceat(cells, ends[:-1], axis=1)
    return std_err[:, ends[1:] - 1], grouped


def _alone(cells: FloatArray) -> FloatArray:
    return _integrals(np.ones((len(cells), 1)), cells[:, None])


def _abscissa(cells: FloatArray) -> FloatArray:
    """Along it the mean of the maximum is nearly a straight line."""
    return np.sqrt(np.log(cells) + 0.5)


def _integrals(std_err: FloatArray, cells: FloatArray) -> FloatArray:
    """``int_0^oo 1 - prod_j erf(t / (sigma_j sqrt 2))^(N_j) dt`` for each row of (m, v) deviations and cells, (m,)."""
    step = max(1, _CHUNK // (len(_NODES) * std_err.shape[1]))
    starts = range(0, len(std_err), step)
    parts = [_few_integrals(std_err[first : first + step], cells[first : first + step]) for first in starts]
    return np.concatenate(parts)


def _few_integrals(std_err: FloatArray, cells: FloatArray) -> FloatArray:
    """The same of a few rows.

    Below ``low`` even as many cells of the least deviation would leave no product, above ``high`` even as many of the
    largest make it 1.  Between them it falls from 1 to 0 in steps, each over a fixed part of its own t, so that equal
    ratios of t get equally many nodes.
    """
    from scipy.special import erfc, erfcinv  # takes a tenth of the time to import the package

    total, widths = cells.sum(axis=1), math.sqrt(2) * std_err
    low = widths.min(axis=1) * erfcinv(-np.expm1(math.log(_LOW) / total))
    high = widths.max(axis=1) * erfcinv(_HIGH / total)
    found: FloatArray = low.copy()
    start, end = low, np.minimum(np.maximum(low, std_err.min(axis=1)), high)
    while (start < high).any():
        half = (end - start) / 2
        t = start[:, None] + half[:, None] * (1 + _NODES)
        logs = np.log1p(-erfc(t[:, None, :] / widths[:, :, None]))
        found += half * (-np.expm1(np.einsum("mv,mvn->mn", cells, logs)) @ _WEIGHTS)
        start, end = end, np.minimum(1.5 * end, high)
    return found
