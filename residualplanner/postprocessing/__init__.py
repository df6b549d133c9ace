"""Tables that can be published as they are: non-negative, rounded, in agreement with what is known anyway.

Reads: releases, facts.  Gives: releases of other numbers, with their mark.
Everything here is post-processing: it sees no record and costs no privacy budget.
"""

from residualplanner.postprocessing.nonnegative import NonNegativeRelease, nonnegative
from residualplanner.postprocessing.published_errors import PublishedErrors, require_errors_of
from residualplanner.postprocessing.published_errors_simulation import published_errors
from residualplanner.postprocessing.rounding import RoundedRelease, require_base, require_roundable, rounded
from residualplanner.postprocessing.weights import Weights, WeightsName

__all__ = [
    "NonNegativeRelease",
    "PublishedErrors",
    "RoundedRelease",
    "Weights",
    "WeightsName",
    "nonnegative",
    "published_errors",
    "require_base",
    "require_errors_of",
    "require_roundable",
    "rounded",
]
