"""Plan, measure and reconstruct differentially private tables.

The flow: Domain, Workload, ``select`` a Plan without data, ``measure`` records, ``reconstruct`` a Release.
"""

from residualplanner import microdata as microdata
from residualplanner._version import __version__
from residualplanner.bases import Basis, orthogonal_residuals
from residualplanner.domain import About, Attribute, Bins, Domain
from residualplanner.errors import (
    ArgumentError,
    BudgetError,
    DataError,
    DeviceError,
    DomainError,
    FileFormatError,
    MissingExtraError,
    ResidualPlannerError,
    ResourceError,
    SolverError,
    StoreError,
    UnexpectedError,
    UnforcedError,
    WorkloadError,
)
from residualplanner.forecast import FeatureDistribution, sample_sets
from residualplanner.ledger import Ledger
from residualplanner.losses import ConvexLoss, MaxVariance, SumOfVariances, Targets, svd_bound
from residualplanner.measurement import (
    CsvFile,
    Measurement,
    abort_measuring,
    load_measurement,
    load_stored_measurement,
    measure,
    measure_in_store,
    resume_measuring,
)
from residualplanner.mixtures import Descent, Ensemble
from residualplanner.pictures import Boundaries
from residualplanner.plan import Plan, compare, cost_of_more, load_plan, resource_estimate, select, sweep
from residualplanner.postprocessing import (
    FitQuality,
    NonNegativeRelease,
    PublishedErrors,
    RoundedRelease,
    nonnegative,
    published_errors,
    rounded,
)
from residualplanner.privacy import Budget, approx_dp, gdp, pcost, zcdp
from residualplanner.queries import Custom, Hierarchy, Identity, Matching, Prefix, Range
from residualplanner.reconstruction import Publication, Quality, Release, Table, choropleth, load_tables, reconstruct
from residualplanner.relaxed_projection import ProjectionSettings, RapPlan, RapResult, rap
from residualplanner.reporting import write_report
from residualplanner.strategy import Strategy, constant_strategy, subtraction_strategy, varying_strategy
from residualplanner.synthesis import SyntheticRecords, synthesis_plan, synthesize
from residualplanner.workers import DaskWorkers, SparkWorkers
from residualplanner.workload import Threshold, Workload, marginals

__all__ = [
    "About",
    "ArgumentError",
    "Attribute",
    "Basis",
    "Bins",
    "Boundaries",
    "Budget",
    "BudgetError",
    "ConvexLoss",
    "CsvFile",
    "Custom",
    "DaskWorkers",
    "DataError",
    "Descent",
    "DeviceError",
    "Domain",
    "DomainError",
    "Ensemble",
    "FeatureDistribution",
    "FileFormatError",
    "FitQuality",
    "Hierarchy",
    "Identity",
    "Ledger",
    "Matching",
    "MaxVariance",
    "Measurement",
    "MissingExtraError",
    "NonNegativeRelease",
    "Plan",
    "Prefix",
    "ProjectionSettings",
    "Publication",
    "PublishedErrors",
    "Quality",
    "Range",
    "RapPlan",
    "RapResult",
    "Release",
    "ResidualPlannerError",
    "ResourceError",
    "RoundedRelease",
    "SolverError",
    "SparkWorkers",
    "StoreError",
    "Strategy",
    "SumOfVariances",
    "SyntheticRecords",
    "Table",
    "Targets",
    "Threshold",
    "UnexpectedError",
    "UnforcedError",
    "Workload",
    "WorkloadError",
    "__version__",
    "abort_measuring",
    "approx_dp",
    "choropleth",
    "compare",
    "constant_strategy",
    "cost_of_more",
    "gdp",
    "load_measurement",
    "load_plan",
    "load_stored_measurement",
    "load_tables",
    "marginals",
    "measure",
    "measure_in_store",
    "nonnegative",
    "orthogonal_residuals",
    "pcost",
    "published_errors",
    "rap",
    "reconstruct",
    "resource_estimate",
    "resume_measuring",
    "rounded",
    "sample_sets",
    "select",
    "subtraction_strategy",
    "svd_bound",
    "sweep",
    "synthesis_plan",
    "synthesize",
    "varying_strategy",
    "write_report",
    "zcdp",
]


def __dir__() -> list[str]:
    return __all__
