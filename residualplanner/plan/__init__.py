"""The whole decision, made without data: what to measure, with how much noise, and how accurate every table will be."""

from residualplanner.plan.error_table import TOTAL
from residualplanner.plan.files import load_plan, plan_from_archive, plan_hash, plan_to_archive
from residualplanner.plan.losses import ConvexLoss, MaxVariance, SumOfVariances
from residualplanner.plan.noise_variances import NoiseVariances
from residualplanner.plan.plan import Plan
from residualplanner.plan.select import select
from residualplanner.plan.svd_bound import svd_bound
from residualplanner.plan.targets import Targets

__all__ = [
    "TOTAL",
    "ConvexLoss",
    "MaxVariance",
    "NoiseVariances",
    "Plan",
    "SumOfVariances",
    "Targets",
    "load_plan",
    "plan_from_archive",
    "plan_hash",
    "plan_to_archive",
    "select",
    "svd_bound",
]
