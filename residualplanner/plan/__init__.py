"""The whole decision, made without data: what to measure, with how much noise, and how accurate every table will be."""

from residualplanner.plan.by_set.cost import exact_cost_by_set
from residualplanner.plan.comparison import Comparison, compare
from residualplanner.plan.cost_estimate import CostEstimate, bytes_text, cost_estimate, seconds_text
from residualplanner.plan.error_table import TOTAL
from residualplanner.plan.files import load_plan, plan_bytes, plan_from_archive, plan_hash, plan_to_archive
from residualplanner.plan.losses import ConvexLoss, MaxVariance, SumOfVariances
from residualplanner.plan.noise_variances import NoiseVariances
from residualplanner.plan.one_more import CostOfMore, cost_of_more
from residualplanner.plan.plan import Plan
from residualplanner.plan.select import select
from residualplanner.plan.svd_bound import svd_bound
from residualplanner.plan.sweep import sweep
from residualplanner.plan.targets import Targets

__all__ = [
    "TOTAL",
    "Comparison",
    "ConvexLoss",
    "CostEstimate",
    "CostOfMore",
    "MaxVariance",
    "NoiseVariances",
    "Plan",
    "SumOfVariances",
    "Targets",
    "bytes_text",
    "compare",
    "cost_estimate",
    "cost_of_more",
    "exact_cost_by_set",
    "load_plan",
    "plan_bytes",
    "plan_from_archive",
    "plan_hash",
    "plan_to_archive",
    "seconds_text",
    "select",
    "svd_bound",
    "sweep",
]
