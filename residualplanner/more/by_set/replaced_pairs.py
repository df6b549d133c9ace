"""What replacing a record costs where bases vary by set: the largest cost of all pairs of records.

Source: eq. (37), with the bases of every set.

For two records the cost of a set is ``P(a) + P(b) - 2 P(k)``, with P the product over its attributes, a and b the
squared lengths of the columns of each record in the basis that the attribute has there, and k their product.  All pairs
are in one table, with an axis for each attribute: of its pairs of values, where no other can be as costly.
"""

import math
from collections.abc import Iterable
from functools import reduce

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.strategy.strategy import Strategy

#: The most pairs of records times sets that are looked at.
_LIMIT = 2**25
_ULP = 2.0**-52


def require_few_pairs(pairs: Iterable[int], sets: int) -> None:
    """Raise WorkloadError if the pairs of values of each attribute make too many pairs of records for so many sets."""
    count = math.prod(pairs)
    if count * sets > _LIMIT:
        raise WorkloadError(
            f'where records are replaced, bases vary by set for at most {_LIMIT:,} pairs of records times sets, got '
            f'{count:,} times {sets:,}; use bases="optimal"'
        )


def largest_of_pairs(strategy: Strategy, noise_variance: FloatArray) -> float:
    """The cost of replacing one record by any other with this noise (m,), rounded up.

    Raises WorkloadError: there are too many pairs of records.
    Guarantees: no pair costs more, exactly, and one costs hardly less.
    Cost: a pass over all pairs of records for each set.
    Source: eq. (37).
    """
    closure, start = strategy.closure, 0
    pairs = {i: _pairs(strategy, i) for i in np.unique(closure.attribute_of_factor).tolist()}
    axes = {i: axis for axis, i in enumerate(pairs)}
    require_few_pairs((len(next(iter(each.values()))) for each in pairs.values()), len(closure))
    costs, size = np.zeros([len(next(iter(each.values()))) for each in pairs.values()]), 0.0
    for members, precision in zip(closure, np.nextafter(1 / noise_variance, np.inf).tolist(), strict=True):
        end = start + len(members)
        factors = [pairs[i][number] for i, number in zip(members, strategy.factor_bases[start:end].tolist(), strict=True)]
        start = end
        if not members:  # the total is public
            continue
        first, second, both = (reduce(np.multiply.outer, [each[:, k] for each in factors]) for k in range(3))
        costs += np.expand_dims(
            precision * (first + second - 2 * both), [axis for i, axis in axes.items() if i not in members]
        )
        size += precision * float(first.max())
    if not math.isfinite(size):
        return math.inf
    # Each term has at most four parts that are rounded as often as factors have rows, and all sets are added.
    rounded = len(closure) + sum(basis.answers + 6 for basis in strategy.bases) + 8
    return float(costs.max()) + 4 * rounded * _ULP * size + len(closure) * math.ulp(0.0)


def _pairs(strategy: Strategy, attribute: int) -> dict[int, FloatArray]:
    """In each basis of an attribute: the squared lengths and the product of the columns of each pair of values, (s, 3)."""
    numbers = strategy.numbers_of(attribute)
    if not strategy.varying[attribute]:
        basis = strategy.bases[numbers[0]]
        p, extreme = float(basis.pcost), basis.extreme_pairs
        return {numbers[0]: np.vstack([[p, p, p], extreme, extreme[:, [1, 0, 2]]])}
    matrices = [strategy.bases[number].matrix for number in numbers]
    first = np.unique(np.vstack(matrices), axis=1, return_index=True)[1]
    found = {}
    for number, matrix in zip(numbers, matrices, strict=True):
        columns = matrix[:, first].astype(np.float64)
        products = columns.T @ columns
        lengths = np.diagonal(products)
        found[number] = np.column_stack([np.repeat(lengths, len(first)), np.tile(lengths, len(first)), products.ravel()])
    return found
