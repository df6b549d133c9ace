"""All answers of relaxed records to one threshold, where the values of an attribute need not add up to 1.

Reads: values of relaxed records.  Gives: tables (t_1, .., t_k).
Source: docs/adaptive-projection.md eq. (g).
"""

from collections.abc import Sequence

import numpy as np

from residualplanner.fits.mixtures import balanced_split, khatri_rao
from residualplanner.fits.rap.relaxation import Relaxed


def threshold_means(columns: Sequence[Relaxed], at_least: int) -> Relaxed:
    """The mean over relaxed records of the polynomial of eq. (58), for all cells (t_1, .., t_k).

    Args:
        columns: of each attribute its values (t_i, n'), any real numbers; at least one attribute.
        at_least: r, from 1 to k.

    Cost: at most as many matrix products as the smaller half has attributes, and one.
    Source: docs/adaptive-projection.md eq. (g): j matches in one half of the attributes, at least r - j in the other.

    Example:
        >>> half = np.full((2, 1), 0.5)
        >>> threshold_means([half, half], 1).tolist()
        [[0.75, 0.75], [0.75, 0.75]]
    """
    shape = tuple(len(column) for column in columns)
    split = balanced_split(shape)
    one, other = _exactly(columns[:split], columns[0]), _exactly(columns[split:], columns[0])
    tails = np.cumsum(other[::-1], axis=0)[::-1]
    tails[0] = 1
    found = sum(
        each @ tails[max(0, at_least - matches)].T
        for matches, each in enumerate(one)
        if at_least - matches < len(tails)
    )
    return np.asarray(found / columns[0].shape[1]).reshape(shape)


def _exactly(columns: Sequence[Relaxed], like: Relaxed) -> list[Relaxed]:
    """For j = 0 .. k the probability that exactly j of the attributes match, of all cells (cells, n')."""
    states: list[Relaxed] = [np.ones_like(like[:1])]
    for column in columns:
        missed = [khatri_rao(state, 1 - column) for state in states]
        matched = [khatri_rao(state, column) for state in states]
        inner = [np.add(one, other) for one, other in zip(missed[1:], matched[:-1], strict=True)]
        states = [missed[0], *inner, matched[-1]]
    return states
