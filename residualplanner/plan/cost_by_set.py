"""A bound of the privacy cost, in exact arithmetic, where attributes have bases of their own by set.

Reads: bases by set, precisions.  Gives: fractions, and floats that are no less.
Source: docs/mathematics.md, eq. (T4).
"""

import math
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray
from residualplanner.privacy import Neighbors
from residualplanner.workload import BasesBySet

_MANTISSA = 53


def exact_cost_by_set(by_set: BasesBySet, precision: FloatArray) -> Fraction:
    """The right side of (T4), exactly: the cost of measuring every set with noise of this precision is no more.

    Args:
        by_set: the bases and the messages.
        precision (m,): 1 / sigma squared of every set, read as exact fractions.

    Cost: one pass over the tables of the closure in whole numbers of any size, where equal entries count once and
        attributes with the subtraction basis not at all.
    Source: docs/mathematics.md, eq. (T4).

    Example:
        >>> from residualplanner.bases import integer_basis
        >>> from residualplanner.workload import AttributeSets, downward_closure
        >>> closure = downward_closure(AttributeSets.of([(0, 1)], attribute_count=2))
        >>> bases = (integer_basis([[1, -2]], "given"), integer_basis([[1, 0]], "given"))
        >>> without = BasesBySet(closure, bases, np.array([0, 0, 1, 1]), np.zeros(4))
        >>> exact_cost_by_set(without, np.array([1.0, 1.0, 1.0, 2.0]))  # 1 + 4 + 4 + 2
        Fraction(11, 1)
        >>> told = BasesBySet(closure, bases, np.array([0, 0, 1, 1]), np.array([1.0, -1.0, 1.0, -1.0]))
        >>> exact_cost_by_set(told, np.array([1.0, 1.0, 1.0, 2.0]))  # what a record of the second values costs is 9
        Fraction(9, 1)
    """
    total = Fraction(0)
    by_value: dict[int, list[Fraction]] = {}
    for number, members in enumerate(by_set.closure):
        start, w = int(by_set.place_starts[number]), Fraction(float(precision[number]))
        places = range(start, start + len(members))
        chosen = [by_set.bases[int(by_set.of_place[place])] for place in places]
        if len(members) == 1:
            matrix, p = chosen[0].matrix, chosen[0].pcost
            by_value[members[0]] = [w * p] if matrix is None else [w * length for length in _column_squares(matrix)]
            continue
        factor = math.prod((basis.pcost for basis in chosen if basis.matrix is None), start=w)
        axes = []
        for basis, attribute, place in zip(chosen, members, places, strict=True):
            if basis.matrix is None:
                continue
            lengths, messages = _column_squares(basis.matrix), by_set.messages_at(place).tolist()
            axes.append(list(dict.fromkeys(zip(lengths, messages, strict=True))))
            own = by_value[attribute]
            by_value[attribute] = [told + Fraction(phi) for told, phi in zip(own, messages, strict=True)]
        total += _largest_rest(factor, axes)
    return total + sum(map(max, by_value.values()), Fraction(0))


def cost_bound_by_set(by_set: BasesBySet, noise_variance: FloatArray, neighbors: Neighbors) -> float:
    """The right side of (T4), rounded up.

    Args:
        by_set: the bases and the messages.
        noise_variance (m,): sigma squared of every set, > 0.
        neighbors: of the notion "add-remove".
    """
    with np.errstate(over="ignore", under="ignore"):
        precision = np.nextafter(1 / noise_variance, np.inf)  # no less than the exact quotient
    if not np.isfinite(precision).all():
        return math.inf
    try:
        exact = exact_cost_by_set(by_set, precision) * neighbors.cost_factor
        return math.nextafter(float(exact), math.inf)
    except OverflowError:
        return math.inf


def _largest_rest(factor: Fraction, axes: list[list[tuple[int, float]]]) -> Fraction:
    """The maximum of ``factor`` times a product of lengths less a sum of messages, over all choices from each axis."""
    shift = max((-_exponent(message) for axis in axes for _, message in axis if message), default=0)
    shift = max(shift, 0)
    common = factor.denominator << shift
    cells: NDArray[Any] = np.array(factor.numerator << shift, dtype=object)
    less: NDArray[Any] = np.array(0, dtype=object)
    for axis in axes:
        lengths = np.array([length for length, _ in axis], dtype=object)
        wholes = np.array([int(Fraction(message) * common) for _, message in axis], dtype=object)
        cells, less = np.multiply.outer(cells, lengths), np.add.outer(less, wholes)
    return Fraction(max(np.ravel(cells - less).tolist()), common)


def _exponent(number: float) -> int:
    """The exponent e of a float that is a whole number times ``2**e``."""
    return math.frexp(number)[1] - _MANTISSA


def _column_squares(matrix: NDArray[np.int64]) -> list[int]:
    """The squared lengths of the columns, exactly."""
    if len(matrix) * float(np.abs(matrix).max()) ** 2 < 2**62:
        return [int(square) for square in (matrix * matrix).sum(axis=0).tolist()]
    return [int(square) for square in reduce(np.add, matrix.astype(object) ** 2)]
