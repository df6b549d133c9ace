"""What one asks of plans before there is one that is kept: comparisons, sweeps, and which queries will be asked."""

from residualplanner.gate.measurement.resource_estimate import ResourceEstimate, resource_estimate
from residualplanner.release.means import mean_std_err
from residualplanner.shell.questions.comparison import Comparison, compare, sweep
from residualplanner.shell.questions.cost_of_more import CostOfMore, cost_of_more
from residualplanner.shell.questions.features import FeatureDistribution, sample_sets, with_history

__all__ = [
    "Comparison",
    "CostOfMore",
    "FeatureDistribution",
    "ResourceEstimate",
    "compare",
    "cost_of_more",
    "mean_std_err",
    "resource_estimate",
    "sample_sets",
    "sweep",
    "with_history",
]
