"""Tables that can be published as they are: non-negative, rounded, in agreement with what is known anyway.

Reads: releases, facts.  Gives: releases of other numbers, with their mark.
Everything here is post-processing: it sees no record and costs no privacy budget.
"""

from residualplanner.postprocessing.adjusted.adjustments import Adjustments
from residualplanner.postprocessing.adjusted.memory import nonnegative_bytes, require_memory_for_nonnegative
from residualplanner.postprocessing.adjusted.release import AdjustedRelease
from residualplanner.postprocessing.facts import Fact, Facts
from residualplanner.postprocessing.mixture import (
    FitQuality,
    FittedMixture,
    fit_mixture,
    fit_quality,
    quality_of_records,
)
from residualplanner.postprocessing.nonnegative import NonNegativeRelease, nonnegative
from residualplanner.postprocessing.published_errors import PublishedErrors, require_errors_of
from residualplanner.postprocessing.published_errors_simulation import published_errors
from residualplanner.postprocessing.rounding import RoundedRelease, require_base, require_roundable, rounded
from residualplanner.postprocessing.stated_facts import Impossible, Known, StatedTable, StatedZeros, read_facts
from residualplanner.postprocessing.weights import Weights, WeightsName

__all__ = [
    "AdjustedRelease",
    "Adjustments",
    "Fact",
    "Facts",
    "FitQuality",
    "FittedMixture",
    "Impossible",
    "Known",
    "NonNegativeRelease",
    "PublishedErrors",
    "RoundedRelease",
    "StatedTable",
    "StatedZeros",
    "Weights",
    "WeightsName",
    "fit_mixture",
    "fit_quality",
    "nonnegative",
    "nonnegative_bytes",
    "published_errors",
    "quality_of_records",
    "read_facts",
    "require_base",
    "require_errors_of",
    "require_memory_for_nonnegative",
    "require_roundable",
    "rounded",
]
