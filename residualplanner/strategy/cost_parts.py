"""What each set contributes to the privacy cost, or where attributes vary to its bound (41).

Reads: a strategy, noise variances.  Gives: an array, one entry per set.
Source: spec eqs. (8), (28) and (41).
"""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, frozen
from residualplanner.strategy.strategy import Strategy

#: Cells whose term of (41) is this close to the largest, relative to what the set costs, count as attaining it.
TIE = 1e-8


def cost_parts(strategy: Strategy, noise_variance: FloatArray) -> FloatArray:
    """The cost of each set, (m,); with varying attributes the mean at the cells that attain its maximum in (41).

    The maxima of (41) are of what a set costs less the messages it sends, and of what a single attribute costs with
    those it receives.  If the messages are the best ones, there are weights on the cells that attain the maxima for
    which the messages cancel, and the costs add up to the bound.  The equal weights taken here need not be those.

    Args:
        strategy: the bases and the messages.
        noise_variance (m,): sigma squared of every set.

    Source: spec eqs. (8), (28) and (41).

    Example:
        >>> from residualplanner.bases import integer_basis
        >>> from residualplanner.strategy.strategy import varying_strategy
        >>> from residualplanner.workload import AttributeSets, downward_closure
        >>> closure = downward_closure(AttributeSets.of([(0, 1)], attribute_count=2))
        >>> bases = (integer_basis([[1, -2]], "given"), integer_basis([[1, 0]], "given"))
        >>> strategy = varying_strategy(closure, [2, 2], bases, [0, 0, 1, 1], np.array([1.0, -1.0, 1.0, -1.0]))
        >>> cost_parts(strategy, np.array([1.0, 1.0, 1.0, 0.5])).tolist()  # all terms are largest at the second values
        [1.0, 4.0, 4.0, 0.0]
    """
    pcost = np.array([float(basis.pcost) for basis in strategy.bases])[strategy.of_attribute]
    parts = strategy.closure.products(np.where(strategy.varying, 1.0, pcost)) / noise_variance
    if strategy.varying.any():
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
            parts[number] = _mean_at_largest(costs, costs + rest)
    return frozen(parts)


def _mean_at_largest(costs: NDArray[np.float64], term: NDArray[np.float64]) -> float:
    """The mean of ``costs`` where ``term``, of the same shape, is largest."""
    return float(costs[term >= term.max() - TIE * costs.max()].mean())
