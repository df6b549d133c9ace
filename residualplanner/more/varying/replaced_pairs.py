"""What replacing a record costs where bases vary by set: the most of all pairs of records, one by one.

Source: eq. (129).

All pairs of records are one table.  It has an axis for each attribute, of the pairs of values that it can have in the
two records; where an attribute has one basis, of those that no others surpass.
"""

import math
from collections.abc import Iterable
from functools import reduce

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.strategy.strategy import Strategy

#: The most pairs of records times sets whose costs are computed; they take some tenths of a second.
_LIMIT = 2**25
_ULP = 2.0**-52


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
