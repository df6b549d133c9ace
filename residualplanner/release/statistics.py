"""Statistics of the tables of a release, with intervals of exact errors: means, quantiles and proportions."""

from residualplanner.release.means import means, quantiles
from residualplanner.release.proportions import proportions

__all__ = ["means", "proportions", "quantiles"]
