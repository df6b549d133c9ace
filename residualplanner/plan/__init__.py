"""The whole decision, made without data: what to measure, with how much noise, and how accurate every table will be.

Reads: a workload, a budget or a limit, a loss; files.  Gives: Plan, its error table, and answers to what other budgets,
losses and queries would cost.  Never sees a record.
Source: docs/mathematics.md sections 2 and 3; paper section 6.
"""

from residualplanner.plan.combined_plan import combined_plan, combined_precision, is_combined_from
from residualplanner.plan.error_table import ErrorTable
from residualplanner.plan.error_table_file import error_format, write_error_table
from residualplanner.plan.files import load_plan, plan_bytes, plan_from_archive, plan_hash, plan_of_bytes
from residualplanner.plan.noise_variances import NoiseVariances
from residualplanner.plan.plan import Plan, plan_to_archive
from residualplanner.plan.questions.comparison import Comparison, compare
from residualplanner.plan.questions.cost_of_more import CostOfMore, cost_of_more
from residualplanner.plan.questions.measuring_memory import BYTES_OF_NUMBER, measuring_bytes, working_bytes
from residualplanner.plan.questions.resource_estimate import (
    ResourceEstimate,
    bytes_text,
    resource_estimate,
    seconds_text,
)
from residualplanner.plan.questions.sweep import sweep
from residualplanner.plan.select import select

__all__ = [
    "BYTES_OF_NUMBER",
    "Comparison",
    "CostOfMore",
    "ErrorTable",
    "NoiseVariances",
    "Plan",
    "ResourceEstimate",
    "bytes_text",
    "combined_plan",
    "combined_precision",
    "compare",
    "cost_of_more",
    "error_format",
    "is_combined_from",
    "load_plan",
    "measuring_bytes",
    "plan_bytes",
    "plan_from_archive",
    "plan_hash",
    "plan_of_bytes",
    "plan_to_archive",
    "resource_estimate",
    "seconds_text",
    "select",
    "sweep",
    "working_bytes",
    "write_error_table",
]
