"""What measuring costs where bases vary by set: a bound for the sets with varying attributes, in exact arithmetic.

Where a record is replaced, the most of all pairs of records, one by one.  All pairs are one table.  It has an axis for
each attribute, of the pairs of values that it can have in the two records; where an attribute has one basis, of those
that no others surpass.
Source: eqs. (41) and (129).
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.strategy.strategy import Strategy

_MANTISSA = 53
#: How fast the weight of a cell falls with its distance from the largest term of (41), relative to the set's cost.
_SHARPNESS = 1000.0
#: How often weights are tilted towards wanted costs, how steeply, and how often and closely sums are made equal then.
_ROUNDS, _STEEPEST, _SWEEPS, _AGREED = 50, 10.0, 20, 1e-4
_HALF_ULP = 2.0**-_MANTISSA
_NORMAL = 2.0**-1022
#: The most pairs of records times sets whose costs are computed; they take some tenths of a second.
_LIMIT = 2**25
_ULP = 2.0**-52


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
    return int(max((products - less).tolist()))


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


def varying_cost_parts(strategy: Strategy, parts: FloatArray, wanted: FloatArray) -> FloatArray:
    """What each set contributes to the right side of (41), (m,), as near to the ``wanted`` contributions as can be.

    The maxima of (41) are of what a set costs less the messages it sends, and of what a single attribute costs with
    those it receives.  If the messages are the best ones, there are weights on the cells that attain the maxima whose
    sums over an attribute's value agree in all sets: the messages cancel, and the mean costs add up to the bound.
    Several such weights may exist.  In turn, each set's weights are tilted towards its wanted mean cost, and the sums
    of all sets made equal to their geometric mean (iterative Bregman projections, Benamou et al. 2015).

    The parts (m,) are what each set costs without its varying attributes.  Source: eq. (41).
    """
    costs, weights, uses = _near_maxima(strategy, parts)
    sets, least = list(costs), math.inf
    for _ in range(_ROUNDS):
        for number, weight in weights.items():
            weights[number] = _tilted(weight, costs[number], float(wanted[number]))
        for _ in range(_SWEEPS):
            if max([_agreed(weights, costs, factors) for factors in uses.values()], default=0.0) < _AGREED:
                break
        parts = parts.copy()
        parts[sets] = [float((weights[number] * cost).sum()) for number, cost in costs.items()]
        least, before = float(np.abs(parts - wanted)[sets].max()), least
        if least > 0.9 * before:
            break
    return parts


#: Factors of an attribute: numbers of sets, and which axis of each is its.
_Factors = list[tuple[int, int]]


def _near_maxima(
    strategy: Strategy, parts: FloatArray
) -> tuple[dict[int, FloatArray], dict[int, FloatArray], dict[int, _Factors]]:
    """By set the costs of its cells, and weights that are largest where its term is; the factors by attribute."""
    columns = [np.array(basis.column_squares, dtype=np.float64) for basis in strategy.bases]
    attributes = strategy.closure.attribute_of_factor[strategy.varies].tolist()
    received = defaultdict[int, FloatArray](lambda: np.zeros(1))
    costs: dict[int, FloatArray] = {}
    weights: dict[int, FloatArray] = {}
    uses = defaultdict[int, _Factors](list)
    for number in reversed(np.flatnonzero(np.diff(strategy.varying_starts)).tolist()):
        # Single attributes come after all sets that send them messages.
        cost, rest = parts[number] * np.ones(()), np.zeros(())
        for axis, factor in enumerate(range(*strategy.varying_starts[number : number + 2].tolist())):
            messages, attribute = strategy.messages_at(factor), attributes[factor]
            cost = np.multiply.outer(cost, columns[int(strategy.of_factor[factor])])
            rest = np.subtract.outer(rest, messages) if len(messages) else received[attribute]
            received[attribute] = received[attribute] + (messages if len(messages) else 0.0)
            uses[attribute].append((number, axis))
        slack = cost + rest - (cost + rest).max()
        costs[number] = cost
        weights[number] = _normed(np.exp(np.maximum(_SHARPNESS / cost.max() * slack, -60.0)))  # none is 0
    return costs, weights, uses


def _normed(weights: FloatArray) -> FloatArray:
    return np.asarray(weights / weights.sum())


def _tilted(weights: FloatArray, costs: FloatArray, wanted: float) -> FloatArray:
    """Weights times the exponential of a multiple of the costs, so that their mean comes near to a wanted one."""
    scaled = costs / costs.max()
    mean = float((weights * scaled).sum())
    variance = float((weights * (scaled - mean) ** 2).sum())
    slope = np.clip((wanted / costs.max() - mean) / max(variance, 1e-12), -_STEEPEST, _STEEPEST)
    return _normed(weights * np.exp(slope * (scaled - mean)))


def _agreed(weights: dict[int, FloatArray], costs: dict[int, FloatArray], factors: _Factors) -> float:
    """Make the sums over an attribute's values equal in all sets; by how much they differed."""
    others = [tuple(i for i in range(weights[number].ndim) if i != axis) for number, axis in factors]
    sums = [np.maximum(weights[number].sum(axis=o), 1e-300) for (number, _), o in zip(factors, others, strict=True)]
    mean = _normed(np.exp(np.average(np.log(sums), axis=0, weights=[costs[number].max() for number, _ in factors])))
    for (number, _), other, own in zip(factors, others, sums, strict=True):
        weights[number] = _normed(weights[number] * np.expand_dims(mean / own, other))
    return max(float(np.abs(mean - own).sum()) for own in sums)


def require_few_pairs(counts: Iterable[int], sets: int) -> None:
    """Raise WorkloadError if so many pairs of values of each attribute are too many pairs of records for the sets."""
    pairs = math.prod(counts)
    if pairs * sets > _LIMIT:
        raise WorkloadError(
            f"where records are replaced, bases may vary by set for up to {_LIMIT:,} pairs of records times sets of "
            f'attributes, not for {pairs:,} times {sets:,}; use bases="optimal"'
        )


def largest_of_pairs(strategy: Strategy, noise_variance: FloatArray) -> float:
    """The most that replacing one record by any other costs with this noise (m,), rounded up.

    Raises WorkloadError: there are too many pairs of records.
    Guarantees: no pair costs more, exactly, and one costs hardly less.
    Cost: a pass over all pairs of records for each set.
    Source: eq. (129).
    """
    closure, numbers = strategy.closure, iter(strategy.factor_bases.tolist())
    tables = {i: _pairs(strategy, i) for i in np.unique(closure.attribute_of_factor).tolist()}
    shape = [len(next(iter(of_bases.values()))) for of_bases in tables.values()]
    require_few_pairs(shape, len(closure))
    costs, size = np.zeros(shape), 0.0
    for members, precision in zip(closure, np.nextafter(1 / noise_variance, np.inf).tolist(), strict=True):
        if members:  # the total is public
            factors = [tables[i][next(numbers)].T for i in members]
            first, second, both = (reduce(np.multiply.outer, each) for each in zip(*factors, strict=True))
            others = [axis for axis, i in enumerate(tables) if i not in members]
            costs += np.expand_dims(precision * (first + second - 2 * both), others)
            size += precision * float(first.max())
    if not math.isfinite(size):
        return math.inf
    # Each product is rounded as often as its columns have entries and it has factors, each cost as often as there are
    # sets; all that is added for two records is at most four times `size`.
    roundings = len(closure) + 8 + len(closure.blocks) * (max(basis.answers for basis in strategy.bases) + 6)
    return float(costs.max()) + 4 * roundings * _ULP * size + len(closure) * math.ulp(0.0)


def _pairs(strategy: Strategy, attribute: int) -> dict[int, FloatArray]:
    """For pairs of values, in each basis of an attribute: squared lengths of both columns and their product, (s, 3)."""
    numbers = strategy.numbers_of(attribute)
    if not strategy.varying[attribute]:
        basis = strategy.bases[numbers[0]]
        extreme = np.vstack([np.full((1, 3), float(basis.pcost)), basis.extreme_pairs])
        return {numbers[0]: np.unique(np.vstack([extreme, extreme[:, [1, 0, 2]]]), axis=0)}
    matrices = [strategy.bases[number].multipliers[0] for number in numbers]  # which all varying attributes have
    distinct = np.unique(np.vstack(matrices), axis=1, return_index=True)[1]
    found = {}
    for number, matrix in zip(numbers, matrices, strict=True):
        columns = matrix[:, distinct].astype(np.float64)
        products = columns.T @ columns
        lengths = np.broadcast_to(np.diagonal(products), products.shape)
        found[number] = np.stack([lengths.T, lengths, products], axis=-1).reshape(-1, 3)
    return found
