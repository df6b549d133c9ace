"""What each set contributes to the bound (T4) of the privacy cost, where attributes have bases by set.

Reads: bases by set, noise variances.  Gives: an array, one entry per set.
Source: spec eq. (T4).
"""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, frozen
from residualplanner.strategy.bases_by_set import BasesBySet

#: Cells whose term of (T4) is this close to the largest, relative to what the set costs, count as attaining it.
TIE = 1e-8


def cost_parts(by_set: BasesBySet, noise_variance: FloatArray) -> FloatArray:
    """The cost of each set at the cells that attain its maximum in (T4), (m,); with several, their mean.

    The maxima of (T4) are of what a set costs less the messages it sends, and of what a single attribute costs with
    those it receives.  If the messages are the best ones, there are weights on the cells that attain the maxima for
    which the messages cancel, and the costs add up to the bound.  The equal weights taken here need not be those.

    Args:
        by_set: the bases and the messages.
        noise_variance (m,): sigma squared of every set.

    Source: spec eq. (T4).

    Example:
        >>> from residualplanner.bases import integer_basis
        >>> from residualplanner.workload import AttributeSets, downward_closure
        >>> closure = downward_closure(AttributeSets.of([(0, 1)], attribute_count=2))
        >>> bases = (integer_basis([[1, -2]], "given"), integer_basis([[1, 0]], "given"))
        >>> by_set = BasesBySet(closure, bases, np.array([0, 0, 1, 1]), np.array([1.0, -1.0, 1.0, -1.0]))
        >>> cost_parts(by_set, np.array([1.0, 1.0, 1.0, 0.5])).tolist()  # all terms are largest at the second values
        [1.0, 4.0, 4.0, 0.0]
    """
    columns = [np.array(basis.column_squares, dtype=np.float64) for basis in by_set.bases]
    parts, precision = np.empty(len(noise_variance)), 1 / noise_variance
    received = defaultdict[int, FloatArray](lambda: np.zeros(1))
    for number in reversed(range(len(parts))):  # single attributes after all sets that send them messages
        places = range(*by_set.closure.place_starts[number : number + 2].tolist())
        costs, rest = precision[number] * np.ones(()), np.zeros(())
        for place in places:
            messages, attribute = by_set.messages_at(place), int(by_set.closure.attribute_of_place[place])
            sent = messages if len(messages) else np.zeros(1)
            costs = np.multiply.outer(costs, columns[int(by_set.of_place[place])])
            rest = np.subtract.outer(rest, sent) if len(places) > 1 else received[attribute]
            received[attribute] = received[attribute] + sent
        parts[number] = _mean_at_largest(costs, costs + rest)
    return frozen(parts)


def _mean_at_largest(costs: NDArray[np.float64], term: NDArray[np.float64]) -> float:
    """The mean of ``costs`` where ``term``, of the same shape, is largest."""
    return float(costs[term >= term.max() - TIE * costs.max()].mean())
