"""Plan, measure and reconstruct differentially private tables.

The flow: Domain, Workload, ``select`` a Plan without data, ``measure`` records, ``reconstruct`` a Release.
"""

from residualplanner._version import __version__
from residualplanner.bases import Basis, orthogonal_residuals
from residualplanner.domain import About, Attribute, Bins, Domain
from residualplanner.errors import (
    ArgumentError,
    BudgetError,
    DataError,
    DomainError,
    FileFormatError,
    MissingExtraError,
    ResidualPlannerError,
    ResourceError,
    SolverError,
    UnexpectedError,
    UnforcedError,
    WorkloadError,
)
from residualplanner.ledger import Ledger
from residualplanner.losses import ConvexLoss, MaxVariance, SumOfVariances, Targets, svd_bound
from residualplanner.measurement import CsvFile, Measurement, load_measurement, measure
from residualplanner.plan import Plan, compare, cost_of_more, load_plan, resource_estimate, select, sweep
from residualplanner.privacy import Budget, approx_dp, gdp, pcost, zcdp
from residualplanner.queries import Custom, Hierarchy, Identity, Prefix, Range
from residualplanner.reconstruction import Release, Table, load_tables, reconstruct
from residualplanner.strategy import Strategy, constant_strategy, subtraction_strategy, varying_strategy
from residualplanner.workload import Workload, marginals

__all__ = [
    "About",
    "ArgumentError",
    "Attribute",
    "Basis",
    "Bins",
    "Budget",
    "BudgetError",
    "ConvexLoss",
    "CsvFile",
    "Custom",
    "DataError",
    "Domain",
    "DomainError",
    "FileFormatError",
    "Hierarchy",
    "Identity",
    "Ledger",
    "MaxVariance",
    "Measurement",
    "MissingExtraError",
    "Plan",
    "Prefix",
    "Range",
    "Release",
    "ResidualPlannerError",
    "ResourceError",
    "SolverError",
    "Strategy",
    "SumOfVariances",
    "Table",
    "Targets",
    "UnexpectedError",
    "UnforcedError",
    "Workload",
    "WorkloadError",
    "__version__",
    "approx_dp",
    "compare",
    "constant_strategy",
    "cost_of_more",
    "gdp",
    "load_measurement",
    "load_plan",
    "load_tables",
    "marginals",
    "measure",
    "orthogonal_residuals",
    "pcost",
    "reconstruct",
    "resource_estimate",
    "select",
    "subtraction_strategy",
    "svd_bound",
    "sweep",
    "varying_strategy",
    "zcdp",
]
