"""A mixture whose tables fit worse than noise explains, fitted further with more weight on these.

Reads: measured tables, a mixture.  Gives: a mixture.
Source: eq. (78).
"""

from dataclasses import replace

import numpy as np

from residualplanner.fits.mixtures import Descent, Mixture, fit, loss_of, start_at
from residualplanner.fits.nonnegative.mixture.answers import MeasuredTables
from residualplanner.fits.nonnegative.mixture.quality import FitQuality, fit_quality
from residualplanner.ground.checks import FloatArray

#: How often tables are looked at, and what is done in between.
_ROUNDS, _DESCENT = 2, Descent(steps=40, rate=0.07)
#: The most that a table's weight becomes.
_MOST = 100.0


def polished(measured: MeasuredTables, mixture: Mixture) -> Mixture:
    """A mixture near another, with fewer tables that fit worse than noise explains; itself where there are none.

    Few cells count little in a sum over all: the table of sex alone, or of two attributes that depend on each other
    strongly, is given up for the noise of large tables.  Such a table gets more weight.

    Args:
        measured: what the mixture is fitted to.
        mixture: the fit so far.

    Source: eq. (78).
    """
    weights = np.ones(len(measured.tables))
    for _ in range(_ROUNDS):
        quality = fit_quality(measured, measured.components_of(mixture))
        if not quality.is_worse.any():
            break
        weights = _heavier(weights, quality)
        pairs = zip(measured.tables, weights.tolist(), strict=True)
        tables = [replace(table, precision=table.precision * weight) for table, weight in pairs]
        loss = loss_of(measured.blocks, measured.views, tables, measured.records)
        mixture = fit(loss, start_at(mixture), _DESCENT, enough=0.0).mixture
    return mixture


def _heavier(weights: FloatArray, quality: FitQuality) -> FloatArray:
    """The weights of tables, those that fit worse than noise explains times their distance by freedom."""
    ratios = quality.distances / np.maximum(quality.freedoms, 1)
    found: FloatArray = np.minimum(np.where(quality.is_worse, weights * np.maximum(ratios, 1.0), weights), _MOST)
    return found
