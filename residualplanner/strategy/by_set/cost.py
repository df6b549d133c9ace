"""A bound of the privacy cost, in exact arithmetic, where attributes have bases of their own by set.

Reads: bases by set, precisions.  Gives: fractions, and floats that are no less.
Source: spec eq. (T4).
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, IntArray
from residualplanner.privacy import Neighbors
from residualplanner.strategy.bases_by_set import BasesBySet

_MANTISSA = 53
_HALF_ULP = 2.0**-_MANTISSA
_NORMAL = 2.0**-1022


def exact_cost_by_set(by_set: BasesBySet, precision: FloatArray) -> Fraction:
    """The right side of (T4), exactly: the cost of measuring every set with noise of this precision is no more.

    Args:
        by_set: the bases and the messages.
        precision (m,): 1 / sigma squared of every set, read as exact fractions.

    Cost: one pass over the tables of the closure in floating point, where equal entries count once and attributes with
        the subtraction basis not at all, and about 50 microseconds a set.
    Source: spec eq. (T4).

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
    common = _common_denominator(by_set, precision)
    columns = [
        None if basis.matrix is None else [int(square) for square in basis.column_squares] for basis in by_set.bases
    ]
    starts, codes, total = by_set.closure.place_starts[:-1].tolist(), by_set.of_place.tolist(), 0
    by_value: dict[int, list[int]] = {}
    for members, start, w in zip(by_set.closure, starts, precision.tolist(), strict=True):
        factor, axes = _whole(w, common), []
        for place, attribute in enumerate(members, start):
            lengths, p = columns[codes[place]], by_set.bases[codes[place]].pcost
            if len(members) == 1:
                by_value[attribute] = [factor * p.numerator // p.denominator]
                if lengths is not None:
                    by_value[attribute] = [factor * length for length in lengths]
            elif lengths is None:
                factor = factor * p.numerator // p.denominator
            else:
                messages = by_set.messages_at(place).tolist()
                own = by_value[attribute]
                by_value[attribute] = [told + _whole(phi, common) for told, phi in zip(own, messages, strict=True)]
                axes.append(list(dict.fromkeys(zip(lengths, messages, strict=True))))
        total += 0 if len(members) == 1 else _largest_rest(factor, axes, common)
    return Fraction(total + sum(map(max, by_value.values())), common)


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


def _common_denominator(by_set: BasesBySet, precision: FloatArray) -> int:
    """A number that all costs and messages are whole when multiplied by, so that nothing else need be a fraction."""
    told = by_set.messages[by_set.messages != 0]
    exponents = np.frexp(np.concatenate([precision, told]))[1] - _MANTISSA
    used = {basis.pcost.denominator for basis in by_set.bases}
    power: int = math.lcm(*used) ** len(by_set.closure.blocks)
    return power << max(0, -int(exponents.min()))


def _whole(number: float, common: int) -> int:
    """``number * common``, which is whole."""
    numerator, denominator = number.as_integer_ratio()
    return numerator * (common // denominator)


def _largest_rest(factor: int, axes: list[list[tuple[int, float]]], common: int) -> int:
    """The maximum of ``factor`` times a product of lengths less a sum of messages, over all choices from each axis.

    Lengths are whole, messages are to be multiplied by ``common``, as the factor is and the result.  Floating point,
    with a bound on its roundings, finds the few choices that may be the largest, and whole numbers decide.
    """
    wholes: NDArray[Any] = np.array([factor], dtype=object)
    less: NDArray[Any] = np.array([0], dtype=object)
    shape, chosen = tuple(map(len, axes)), _near_largest(factor, axes, common)
    for axis, taken in zip(axes, np.unravel_index(chosen, shape) if axes else (), strict=True):
        lengths = np.array([length for length, _ in axis], dtype=object)
        messages = np.array([_whole(message, common) for _, message in axis], dtype=object)
        wholes, less = wholes * lengths[taken], less + messages[taken]
    largest: int = max((wholes - less).tolist())
    return largest


def _near_largest(factor: int, axes: list[list[tuple[int, float]]], common: int) -> IntArray:
    """The cells, in C order, among which the largest is.

    With k axes, a product has ``k + 1`` rounded factors and k rounded multiplications, a sum of messages ``k - 1``
    rounded additions, the difference one more rounding: less than ``2 k + 3`` half units in the last place of the
    largest product and the largest sum together.  That holds as long as no product underflows, which whole lengths
    cannot make smaller, or overflows; else all cells are named.
    """
    cells, less = np.array(_nearest(factor, common)), np.zeros(())
    with np.errstate(over="ignore", invalid="ignore"):
        for axis in axes:
            pairs = np.array(axis, dtype=np.float64)
            cells, less = np.multiply.outer(cells, pairs[:, 0]), np.add.outer(less, pairs[:, 1])
        size = float(cells.max()) + sum(max(abs(message) for _, message in axis) for axis in axes)
        lost = (2 * len(axes) + 8) * _HALF_ULP * size
        rest = np.ravel(cells - less)
    if not (_nearest(factor, common) >= _NORMAL and size < math.inf):
        return np.arange(rest.size)
    return np.flatnonzero(rest >= rest.max() - 2 * lost)


def _nearest(numerator: int, denominator: int) -> float:
    """The float nearest to a quotient, infinite where it is too large."""
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf
