"""What one count with discrete Gaussian noise really loses, to 50 digits, for tests of what is claimed of it."""

from fractions import Fraction
from functools import cache

import mpmath

_REACH = 24  # standard deviations: what lies beyond weighs less than 1e-120


@cache
def exact_delta(cost, epsilon, step=1):
    """The exact delta at ``epsilon`` of a count with discrete Gaussian noise of privacy cost ``cost``.

    The noise is that of whole multiples of ``1 / step``, so a record moves the answer by ``step`` of them, and
    ``cost = step**2 / variance``.  With P the law of the noise, delta is the sum over i of
    max(0, P(i) - e^epsilon P(i - step)).
    """
    with mpmath.workdps(50):
        cost, factor = _number(cost), mpmath.exp(_number(epsilon))
        law = _law(cost, step)
        terms = (weight - factor * law.get(i - step, 0) for i, weight in law.items())
        return mpmath.fsum(term for term in terms if term > 0) / mpmath.fsum(law.values())


def exact_divergence(cost, alpha, step=1):
    """The exact Renyi divergence of order ``alpha`` between the answers on neighbors, as in `exact_delta`."""
    with mpmath.workdps(50):
        law = _law(_number(cost), step)
        both = [(weight, law[i - step]) for i, weight in law.items() if i - step in law]
        total = mpmath.fsum(first**alpha * second ** (1 - alpha) for first, second in both)
        return mpmath.log(total / mpmath.fsum(law.values())) / (alpha - 1)


@cache
def _law(cost, step):
    rate, reach = cost / (2 * step**2), int(_REACH * step / mpmath.sqrt(cost)) + 40 + step
    return {i: mpmath.exp(-rate * i * i) for i in range(-reach, reach + 1)}


def _number(value):
    exact = Fraction(value)
    return mpmath.mpf(exact.numerator) / exact.denominator
