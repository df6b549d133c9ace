from . import losses as losses
from . import microdata as microdata
from . import privacy as privacy
from .bases import Basis, orthogonal_residuals
from .domain import About, Attribute, Bins, Domain
from .errors import (
    ArgumentError,
    BudgetError,
    DataError,
    DeviceError,
    DomainError,
    FileFormatError,
    MissingExtraError,
    NoLedgerWarning,
    ResidualPlannerError,
    ResourceError,
    SolverError,
    StoreError,
    UnexpectedError,
    UnforcedError,
    WorkloadError,
)
from .forecast import FeatureDistribution, sample_sets
from .ledger import Balance, Ledger
from .losses import ConvexLoss, MaxVariance, SumOfVariances, Targets, svd_bound
from .measurement import (
    CsvFile,
    Measurement,
    abort_measuring,
    load_measurement,
    load_stored_measurement,
    measure,
    measure_in_store,
    resume_measuring,
)
from .mixtures import Descent, Ensemble
from .pictures import Boundaries
from .plan import Plan, compare, cost_of_more, load_plan, resource_estimate, select, sweep
from .postprocessing import (
    FitQuality,
    NonNegativeRelease,
    PublishedErrors,
    RoundedRelease,
    nonnegative,
    published_errors,
    rounded,
)
from .privacy import Budget, approx_dp, gdp, pcost, zcdp
from .queries import Custom, Hierarchy, Identity, Matching, Prefix, Range, Selection
from .reconstruction import Publication, Quality, Release, Table, choropleth, load_tables, reconstruct
from .relaxed_projection import ProjectionSettings, RapPlan, RapResult, rap
from .reporting import write_report
from .session import Session
from .strategy import Strategy, constant_strategy, subtraction_strategy, varying_strategy
from .synthesis import SyntheticRecords, synthesis_plan, synthesize
from .workers import DaskWorkers, SparkWorkers
from .workload import Among, Threshold, Workload, marginals

__all__ = [
    "About",
    "Among",
    "ArgumentError",
    "Attribute",
    "Balance",
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
    "NoLedgerWarning",
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
    "Selection",
    "Session",
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
