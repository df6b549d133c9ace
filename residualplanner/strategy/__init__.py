"""What is measured, before any noise, and what follows from it: its cost, and how accurate every query is.

Reads: a closure and bases; noise variances.  Gives: Strategy; costs; Accuracy.
Source: eqs. (8), (11), (12), (23), (26) to (28), (37) and (38) to (41).
"""

from residualplanner.strategy.accuracy import Accuracy
from residualplanner.strategy.attributes import has_equal_cells, require_fitting, workload_numbers
from residualplanner.strategy.basis_groups import BasisGroups, basis_groups
from residualplanner.strategy.cells import AnswerFactors, answer_factors, largest_cells
from residualplanner.strategy.costs import cost_upper_bound, exact_cost, require_public_total
from residualplanner.strategy.max_abs_error import mean_max_bound
from residualplanner.strategy.neighbor_costs import UnitCosts, unit_costs, with_token_cost
from residualplanner.strategy.reference_bases import (
    ReferenceChange,
    reference_changes,
    reference_groups,
    sets_in_both,
)
from residualplanner.strategy.replacement_costs import ReplacementCosts, Worst
from residualplanner.strategy.strategy import Strategy, constant_strategy, subtraction_strategy, varying_strategy
from residualplanner.strategy.table_accuracy import TableAccuracy
from residualplanner.strategy.variances import CHUNK, noise_weights, variance_matrix, variance_pieces, variance_weights
from residualplanner.strategy.varying_groups import VaryingTables

__all__ = [
    "CHUNK",
    "Accuracy",
    "AnswerFactors",
    "BasisGroups",
    "ReferenceChange",
    "ReplacementCosts",
    "Strategy",
    "TableAccuracy",
    "UnitCosts",
    "VaryingTables",
    "Worst",
    "answer_factors",
    "basis_groups",
    "constant_strategy",
    "cost_upper_bound",
    "exact_cost",
    "has_equal_cells",
    "largest_cells",
    "mean_max_bound",
    "noise_weights",
    "reference_changes",
    "reference_groups",
    "require_fitting",
    "require_public_total",
    "sets_in_both",
    "subtraction_strategy",
    "unit_costs",
    "variance_matrix",
    "variance_pieces",
    "variance_weights",
    "varying_strategy",
    "with_token_cost",
    "workload_numbers",
]
