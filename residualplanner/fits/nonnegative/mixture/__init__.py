"""Mixtures of products fitted to the noisy answers of a release.

Reads: a measurement, facts.  Gives: FittedMixture.
Everything here is post-processing: it sees no record and costs no privacy budget.
"""

from residualplanner.fits.nonnegative.mixture.answers import MeasuredTables, measured_tables
from residualplanner.fits.nonnegative.mixture.fitted import FittedMixture, fit_mixture
from residualplanner.fits.nonnegative.mixture.quality import FitQuality, fit_quality, quality_of_records

__all__ = [
    "FitQuality",
    "FittedMixture",
    "MeasuredTables",
    "fit_mixture",
    "fit_quality",
    "measured_tables",
    "quality_of_records",
]
