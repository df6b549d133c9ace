"""A bound of the privacy cost of the sets that have varying attributes, in exact arithmetic.

Source: eq. (41).
"""

import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.strategy.strategy import Strategy

_MANTISSA = 53
#: Cells whose term of (41) is this close to the largest, relative to what the set costs, count as attaining it.
TIE = 1e-8
_HALF_ULP = 2.0**-_MANTISSA
_NORMAL = 2.0**-1022


def exact_varying_cost(strategy: Strategy, precision: FloatArray) -> Fraction:
    """The part of the right side of (41) that is about sets with varying attributes, exactly.

    Together with what all other sets cost it is no less than the cost of measuring every set with noise of this
    precision (m,), 1 / sigma squared, read as exact fractions.

    Cost: one pass over the tables of these sets in floating point, where equal entries count once and constant
        attributes not at all, and about 50 microseconds a set.
    Source: eq. (41).
    """
    varying = np.flatnonzero(np.diff(strategy.varying_starts)).tolist()
    if not varying:
        return Fraction(0)
    common = _common_denominator(strategy, precision)
    factor_of, total = strategy.of_factor.tolist(), 0
    columns = {number: [int(square) for square in strategy.bases[number].column_squares] for number in set(factor_of)}
    by_value: dict[int, list[int]] = {}
    for number in varying:
        members, own = strategy.closure[number], int(strategy.varying_starts[number])
        factor, axes = _integer(float(precision[number]), common), []
        for attribute in members:
            if not strategy.varying[attribute]:
                p = strategy.bases[int(strategy.of_attribute[attribute])].pcost
                factor = factor * p.numerator // p.denominator
                continue
            lengths = columns[factor_of[own]]
            if len(members) == 1:
                by_value[attribute] = [factor * length for length in lengths]
            else:
                messages, before = strategy.messages_at(own).tolist(), by_value[attribute]
                by_value[attribute] = [cost + _integer(phi, common) for cost, phi in zip(before, messages, strict=True)]
                axes.append(list(dict.fromkeys(zip(lengths, messages, strict=True))))
            own += 1
        total += 0 if len(members) == 1 else _largest_rest(factor, axes, common)
    return Fraction(total + sum(map(max, by_value.values())), common)


def _common_denominator(strategy: Strategy, precision: FloatArray) -> int:
    """A number times which all costs and messages are integers, so that nothing else need be a fraction."""
    messages = strategy.messages[strategy.messages != 0]
    exponents = np.frexp(np.concatenate([precision, messages]))[1] - _MANTISSA
    used = {basis.pcost.denominator for basis in strategy.bases}
    power: int = math.lcm(*used) ** len(strategy.closure.blocks)
    return power << max(0, -int(exponents.min()))


def _integer(number: float, common: int) -> int:
    """``number * common``, an integer."""
    numerator, denominator = number.as_integer_ratio()
    return numerator * (common // denominator)


def _largest_rest(factor: int, axes: list[list[tuple[int, float]]], common: int) -> int:
    """The maximum of ``factor`` times a product of lengths less a sum of messages, over all choices from each axis.

    Lengths are integers, messages are to be multiplied by ``common``, as the factor is and the result.  Floating point,
    with a bound on its roundings, finds the few choices that may be the largest, and integers decide.
    """
    products: NDArray[Any] = np.array([factor], dtype=object)
    less: NDArray[Any] = np.array([0], dtype=object)
    shape, chosen = tuple(map(len, axes)), _near_largest(factor, axes, common)
    for axis, index in zip(axes, np.unravel_index(chosen, shape) if axes else (), strict=True):
        lengths = np.array([length for length, _ in axis], dtype=object)
        messages = np.array([_integer(message, common) for _, message in axis], dtype=object)
        products, less = products * lengths[index], less + messages[index]
    largest: int = max((products - less).tolist())
    return largest


def _near_largest(factor: int, axes: list[list[tuple[int, float]]], common: int) -> IntArray:
    """The cells, in C order, among which the largest of `_largest_rest` is.

    With k axes, a product has ``k + 1`` rounded factors and k rounded multiplications, a sum of messages ``k - 1``
    rounded additions, the difference one more rounding: less than ``2 k + 3`` half units in the last place of the
    largest product and the largest sum together.  That holds as long as no product underflows, which integer lengths
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


def varying_cost_parts(strategy: Strategy, parts: FloatArray) -> FloatArray:
    """The mean cost of each set at the cells that attain its maximum in (41), (m,).

    The maxima of (41) are of what a set costs less the messages it sends, and of what a single attribute costs with
    those it receives.  If the messages are the best ones, there are weights on the cells that attain the maxima for
    which the messages cancel, and the costs add up to the bound.  The equal weights used here need not be those.

    The parts (m,) are what each set costs without its varying attributes.  Source: eq. (41).
    """
    parts = parts.copy()
    columns = [np.array(basis.column_squares, dtype=np.float64) for basis in strategy.bases]
    attributes = strategy.closure.attribute_of_factor[strategy.varies]
    received = defaultdict[int, FloatArray](lambda: np.zeros(1))
    orders = strategy.closure.orders
    for number in reversed(np.flatnonzero(np.diff(strategy.varying_starts)).tolist()):
        # Single attributes come after all sets that send them messages.
        costs, rest = parts[number] * np.ones(()), np.zeros(())
        for factor in range(*strategy.varying_starts[number : number + 2].tolist()):
            messages, attribute = strategy.messages_at(factor), int(attributes[factor])
            costs = np.multiply.outer(costs, columns[int(strategy.of_factor[factor])])
            rest = np.subtract.outer(rest, messages) if orders[number] > 1 else received[attribute]
            received[attribute] = received[attribute] + (messages if len(messages) else 0.0)
        term = costs + rest
        parts[number] = float(costs[term >= term.max() - TIE * costs.max()].mean())
    return parts
