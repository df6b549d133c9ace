"""Mixtures whose tables of single attributes are given ones.

Reads: a mixture, tables.  Gives: a mixture.
Source: eq. (75); iterative proportional fitting, Deming and Stephan (1940).
"""

from collections.abc import Mapping

import numpy as np

from residualplanner.fits.mixtures.mixture import Mixture, mixture_of
from residualplanner.ground.checks import FloatArray

#: Rounds over all tables, at most, and the largest error of a probability at which they end.
_ROUNDS, _EXACT = 500, 1e-13


def raked(mixture: Mixture, tables: Mapping[int, FloatArray]) -> Mixture:
    """The mixture that is nearest to another in relative entropy and has given one-way tables.

    Multiplying all probabilities by a number for each value of an attribute leaves a mixture of products.

    Args:
        mixture: from which to start.
        tables: probabilities of the values of some attributes, by position.

    Example:
        >>> from residualplanner.fits.mixtures.blocks import Blocks
        >>> even = mixture_of(Blocks((2, 2)), np.ones(2), np.array([[0.9, 0.5], [0.1, 0.5], [0.5, 0.1], [0.5, 0.9]]))
        >>> raked(even, {0: np.array([0.25, 0.75])}).table((0,)).round(12).tolist()
        [0.25, 0.75]
    """
    weights, probabilities = mixture.weights.copy(), mixture.probabilities.copy()
    for _ in range(_ROUNDS):
        away = 0.0
        for attribute, table in tables.items():
            part = probabilities[mixture.blocks.rows(attribute)]
            now = part @ weights
            away = max(away, float(np.abs(now - table).max()))
            part *= np.divide(table, now, out=np.zeros_like(table), where=now > 0)[:, None]
            masses = part.sum(axis=0)
            part[:, masses == 0] = 1 / len(part)  # a class that has none of the values that occur gets no weight
            part /= part.sum(axis=0)
            weights *= masses
            weights /= weights.sum()
        if away <= _EXACT:
            break
    return mixture_of(mixture.blocks, weights, probabilities)
