"""Tables of products of several arrays, summed over their columns, by one matrix product; and their slopes.

Reads: arrays (n_i, c).  Gives: tables (n_1, .., n_k).
Source: eq. (67).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def khatri_rao(left: Floats, right: Floats) -> Floats:
    """The products of all rows of two arrays (n, c) and (m, c), column by column, (n m, c).

    Example:
        >>> khatri_rao(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0]])).tolist()
        [[5.0, 12.0], [15.0, 24.0]]
    """
    return (left[:, None] * right[None]).reshape(-1, left.shape[1])


def product_sums(factors: Sequence[Floats], weights: Floats) -> Floats:
    """``sum_c weights_c prod_i factors_i[r_i, c]`` for all rows, (n_1, .., n_k).

    Args:
        factors: arrays (n_i, c), in the order of the axes; none gives the sum of the weights.
        weights (c,): of the columns.

    Example:
        >>> product_sums([np.ones((2, 3)), np.eye(3)], np.array([1.0, 2.0, 3.0])).tolist()
        [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    """
    shape = [len(factor) for factor in factors]
    split = balanced_split(shape)
    left = _all_products(factors[:split], weights) * weights
    found: Floats = (left @ _all_products(factors[split:], weights).T).reshape(shape)
    return found


def slopes_of_product_sums(slope: Floats, factors: Sequence[Floats], weights: Floats) -> tuple[list[Floats], Floats]:
    """The slopes of a function of `product_sums` in every factor and in the weights.

    Args:
        slope (n_1, .., n_k): the function's slope in the table.
        factors: as of `product_sums`, at least one.
        weights (c,): as of `product_sums`.

    Returns:
        Arrays (n_i, c), and (c,).
    """
    split = balanced_split([len(factor) for factor in factors])
    left, right = _all_products(factors[:split], weights), _all_products(factors[split:], weights)
    matrix = slope.reshape(len(left), len(right))
    of_left = matrix @ right  # the weights are put in at the end
    of_weights = np.einsum("rc,rc->c", left, of_left)
    of_right = matrix.T @ left
    found = [*slopes_of_factors(of_left, factors[:split]), *slopes_of_factors(of_right, factors[split:])]
    return [each * weights for each in found], of_weights


def balanced_split(shape: Sequence[int]) -> int:
    """Where to part the axes so that the larger side is as small as it can be."""
    return min(range(len(shape) + 1), key=lambda k: max(math.prod(shape[:k]), math.prod(shape[k:])))


def _all_products(factors: Sequence[Floats], weights: Floats) -> Floats:
    found: Floats = np.ones((1, len(weights)), dtype=weights.dtype)
    for factor in factors:
        found = khatri_rao(found, factor) if len(found) > 1 else found * factor
    return found


def slopes_of_factors(slope: Floats, factors: Sequence[Floats]) -> list[Floats]:
    """The slope in each factor of `khatri_rao` of several, from the slope in the product, (n_1 .. n_k, c)."""
    whole = slope.reshape(*(len(factor) for factor in factors), slope.shape[1])
    found = []
    for axis, own in enumerate(factors):
        rest = whole
        for other in reversed(range(len(factors))):
            if other != axis:
                shape = [1] * rest.ndim
                shape[other], shape[-1] = rest.shape[other], rest.shape[-1]
                rest = (rest * factors[other].reshape(shape)).sum(axis=other, keepdims=True)
        found.append(rest.reshape(own.shape))
    return found
