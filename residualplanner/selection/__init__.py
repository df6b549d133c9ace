"""Arrays in, noise variances out: closed form, minimax with a certificate, any convex loss."""

from residualplanner.selection.choice import NoiseChoice
from residualplanner.selection.convex import minimize_convex_loss
from residualplanner.selection.least_cost import minimize_privacy_cost
from residualplanner.selection.minimax import minimize_maximum_variance
from residualplanner.selection.table_bound import Table
from residualplanner.selection.table_costs import TableChoice, minimize_over_tables
from residualplanner.selection.weighted_sum import minimize_weighted_variance

__all__ = [
    "NoiseChoice",
    "Table",
    "TableChoice",
    "minimize_convex_loss",
    "minimize_maximum_variance",
    "minimize_over_tables",
    "minimize_privacy_cost",
    "minimize_weighted_variance",
]
