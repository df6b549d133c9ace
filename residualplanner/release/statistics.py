"""Statistics of the tables of a release, with intervals of exact errors: means, quantiles, proportions, comparisons."""

from residualplanner.more.amounts.deviation import StandardDeviation
from residualplanner.release.comparisons import change, difference, ranks, ratio
from residualplanner.release.deviations import standard_deviations
from residualplanner.release.means import means, quantiles
from residualplanner.release.proportions import proportions
from residualplanner.release.simulations import simulated

__all__ = [
    "StandardDeviation",
    "change",
    "difference",
    "means",
    "proportions",
    "quantiles",
    "ranks",
    "ratio",
    "simulated",
    "standard_deviations",
]
