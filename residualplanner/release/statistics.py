"""Statistics of the tables of a release, with intervals of exact errors: means, quantiles, proportions, comparisons."""

from residualplanner.more.amounts.moments import Moments, StandardDeviation
from residualplanner.release.comparisons import change, difference, ranks, ratio
from residualplanner.release.deviations import standard_deviations
from residualplanner.release.means import means, quantiles
from residualplanner.release.proportions import proportions
from residualplanner.release.regressions import correlation, moments, regression
from residualplanner.release.simulations import simulated

__all__ = [
    "Moments",
    "StandardDeviation",
    "change",
    "correlation",
    "difference",
    "means",
    "moments",
    "proportions",
    "quantiles",
    "ranks",
    "ratio",
    "regression",
    "simulated",
    "standard_deviations",
]
