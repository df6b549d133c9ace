"""Weights of records with which known tables hold.

Reads: codes of records, their weights, known tables.  Gives: weights.
Source: eq. (75); iterative proportional fitting, Deming and Stephan (1940).
"""

from collections.abc import Sequence

import numpy as np

from residualplanner.fits.nonnegative.facts import Fact
from residualplanner.ground.checks import FloatArray, IntArray

#: Rounds over all tables, at most, and the largest error of a count, relative to all records, at which they end.
_ROUNDS, _EXACT = 200, 1e-12


def raked_weights(codes: IntArray, weights: FloatArray, known: Sequence[Fact]) -> FloatArray:
    """The weights nearest to given ones in relative entropy with which the records have known tables.

    A cell that no record is in stays empty.

    Args:
        codes (n, d): the records.
        weights (n,): to start from.
        known: tables of counts by value.

    Example:
        >>> from residualplanner.fits.nonnegative.facts import Fact
        >>> known = Fact("", "", (0,), np.array([2.0, 4.0]))
        >>> raked_weights(np.array([[0], [1], [1]]), np.ones(3), [known])
        array([2., 2., 2.])
    """
    cells = [cells_of(codes, fact) for fact in known]
    found = weights.copy()
    for _ in range(_ROUNDS):
        away = 0.0
        for fact, own in zip(known, cells, strict=True):
            wanted = fact.counts.ravel()
            now = np.bincount(own, found, len(wanted))
            away = max(away, float(np.abs(now - wanted)[now > 0].max(initial=0.0)))
            found *= np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)[own]
        if away <= _EXACT * max(float(weights.sum()), 1.0):
            break
    return found


def cells_of(codes: IntArray, fact: Fact) -> IntArray:
    """The number of the cell of a known table that each record is in, (n,)."""
    found = np.zeros(len(codes), dtype=np.int64)
    for attribute, size in zip(fact.attributes, fact.counts.shape, strict=True):
        found = found * size + codes[:, attribute]
    return found
