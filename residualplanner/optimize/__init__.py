"""The searches behind a plan: the best noise, the best bases, bases by set, and the singular value bound.

Reads: a workload, the importance of its queries, neighbors.  Gives: Basis for each attribute; NoiseChoice, Selection.
Source: eqs. (14) to (18), (29) to (33), (36), (37) and (39) to (42).
"""

from residualplanner.optimize.bases.basis_options import BY_SET, Bases, bases_for
from residualplanner.optimize.bound.svd_bound import sum_bound
from residualplanner.optimize.bound.svd_maximum import greatest_bound
from residualplanner.optimize.by_set.choice import choose_by_set
from residualplanner.optimize.by_set.problem import BySetProblem, by_set_problem
from residualplanner.optimize.noise.choice import NoiseChoice, Selection
from residualplanner.optimize.noise.convex import at_higher_cost, minimize_convex_loss
from residualplanner.optimize.noise.least_cost import costing_more, minimize_privacy_cost
from residualplanner.optimize.noise.minimax import minimize_maximum_variance
from residualplanner.optimize.noise.noise_problem import (
    NoiseProblem,
    convex_noise,
    least_largest_ratio,
    least_maximum,
    least_sum,
)
from residualplanner.optimize.noise.table_bound import CostTable
from residualplanner.optimize.noise.table_costs import TableChoice, minimize_over_tables
from residualplanner.optimize.noise.weighted_sum import minimize_weighted_variance

__all__ = [
    "BY_SET",
    "Bases",
    "BySetProblem",
    "CostTable",
    "NoiseChoice",
    "NoiseProblem",
    "Selection",
    "TableChoice",
    "at_higher_cost",
    "bases_for",
    "by_set_problem",
    "choose_by_set",
    "convex_noise",
    "costing_more",
    "greatest_bound",
    "least_largest_ratio",
    "least_maximum",
    "least_sum",
    "minimize_convex_loss",
    "minimize_maximum_variance",
    "minimize_over_tables",
    "minimize_privacy_cost",
    "minimize_weighted_variance",
    "sum_bound",
]
