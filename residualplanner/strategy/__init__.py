"""What is measured, before any noise, and what follows from it: its cost, and how accurate every query is."""

from residualplanner.strategy.accuracy import Accuracy, OneBasisAccuracy, TableAccuracy
from residualplanner.strategy.attributes import (
    checked_bases,
    cost_numbers,
    has_alike_cells,
    require_all_spanned,
    workload_numbers,
)
from residualplanner.strategy.bases_by_set import BasesBySet
from residualplanner.strategy.by_set.accuracy import AccuracyBySet
from residualplanner.strategy.by_set.cost import cost_bound_by_set, exact_cost_by_set
from residualplanner.strategy.cells import AnswerShares, hull_answers, largest_cells
from residualplanner.strategy.costs import cost_upper_bound, require_public_total
from residualplanner.strategy.max_abs_error import mean_max_bound
from residualplanner.strategy.neighbor_costs import (
    CORNER_LIMIT,
    FOR_THE_BOUND,
    corner_costs,
    corner_rows,
    has_corners,
    occurring,
    safe_row,
    with_token_cost,
)
from residualplanner.strategy.noise_variances import NoiseVariances
from residualplanner.strategy.shape_groups import ShapeGroups, shape_groups, shape_groups_by_set
from residualplanner.strategy.transposed import TransposedTable
from residualplanner.strategy.variances import variance_matrix, variance_pieces, variance_weights

__all__ = [
    "CORNER_LIMIT",
    "FOR_THE_BOUND",
    "Accuracy",
    "AccuracyBySet",
    "AnswerShares",
    "BasesBySet",
    "NoiseVariances",
    "OneBasisAccuracy",
    "ShapeGroups",
    "TableAccuracy",
    "TransposedTable",
    "checked_bases",
    "corner_costs",
    "corner_rows",
    "cost_bound_by_set",
    "cost_numbers",
    "cost_upper_bound",
    "exact_cost_by_set",
    "has_alike_cells",
    "has_corners",
    "hull_answers",
    "largest_cells",
    "mean_max_bound",
    "occurring",
    "require_all_spanned",
    "require_public_total",
    "safe_row",
    "shape_groups",
    "shape_groups_by_set",
    "variance_matrix",
    "variance_pieces",
    "variance_weights",
    "with_token_cost",
    "workload_numbers",
]
