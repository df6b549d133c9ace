from .fits import microdata as microdata
from .fits.adjusted.numbers import rounded
from .fits.mixtures.fitting import Descent, Ensemble
from .fits.nonnegative.measured_tables import FitQuality
from .fits.nonnegative.nonnegative import nonnegative
from .fits.nonnegative.published_errors_simulation import published_errors
from .fits.rap import ProjectionSettings, RapPlan, RapResult, rap
from .fits.synthesis import SyntheticRecords, synthesis_plan, synthesize
from .gate.checking import RecordsCheck, check
from .gate.ledger import Balance, Ledger
from .gate.measurement.measure import measure
from .gate.measurement.measurement import Measurement, load_measurement
from .gate.measurement.resource_estimate import resource_estimate
from .gate.sources.csv_files import CsvFile
from .gate.sources.limited_records import LimitedRecords
from .ground.errors import (
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
from .method import losses as losses
from .method import privacy as privacy
from .method.bases.basis import Basis
from .method.domain.about import About
from .method.domain.attribute import Attribute
from .method.domain.bins import Bins
from .method.domain.domain import Domain
from .method.losses import ConvexLoss, MaxVariance, SumOfVariances, Targets, svd_bound
from .method.plan.files import load_plan
from .method.plan.plan import Plan
from .method.plan.select import select
from .method.privacy import Budget, approx_dp, gdp, pcost, zcdp
from .method.queries.custom import Custom
from .method.queries.identity import Identity, Matching
from .method.queries.runs import Prefix, Range
from .method.strategy.strategy import Strategy, constant_strategy, subtraction_strategy, varying_strategy
from .method.workload.families import marginals
from .method.workload.workload import Workload
from .more.amounts.amounts import Sum
from .more.amounts.numeric import Numeric
from .more.amounts.statistics import Mean, Quantiles
from .more.amounts.weight import Weight
from .more.classifications.hierarchy import Hierarchy
from .more.queries.among import Among
from .more.queries.selection import Selection
from .more.queries.thresholds import Threshold
from .more.searches.basis_options import orthogonal_residuals
from .publish.loading import load_tables
from .publish.maps import Boundaries, choropleth
from .publish.report import write_report
from .release.means import MeanTable, mean_std_err, means
from .release.publication import Publication
from .release.published_errors import PublishedErrors
from .release.quality import Quality
from .release.quantiles import QuantileTable, quantiles
from .release.reconstruct import reconstruct
from .release.release import Release
from .release.table import Table
from .scale.stored import (
    EngineCheck,
    abort_measuring,
    check_engine,
    load_stored_measurement,
    measure_in_store,
    resume_measuring,
)
from .scale.workers import DaskWorkers, SparkWorkers
from .shell.questions import FeatureDistribution, compare, cost_of_more, sample_sets, sweep, with_history
from .shell.session import Session

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
    "EngineCheck",
    "Ensemble",
    "FeatureDistribution",
    "FileFormatError",
    "FitQuality",
    "Hierarchy",
    "Identity",
    "Ledger",
    "LimitedRecords",
    "Matching",
    "MaxVariance",
    "Mean",
    "MeanTable",
    "Measurement",
    "MissingExtraError",
    "NoLedgerWarning",
    "Numeric",
    "Plan",
    "Prefix",
    "ProjectionSettings",
    "Publication",
    "PublishedErrors",
    "Quality",
    "QuantileTable",
    "Quantiles",
    "Range",
    "RapPlan",
    "RapResult",
    "RecordsCheck",
    "Release",
    "ResidualPlannerError",
    "ResourceError",
    "Selection",
    "Session",
    "SolverError",
    "SparkWorkers",
    "StoreError",
    "Strategy",
    "Sum",
    "SumOfVariances",
    "SyntheticRecords",
    "Table",
    "Targets",
    "Threshold",
    "UnexpectedError",
    "UnforcedError",
    "Weight",
    "Workload",
    "WorkloadError",
    "abort_measuring",
    "approx_dp",
    "check",
    "check_engine",
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
    "mean_std_err",
    "means",
    "measure",
    "measure_in_store",
    "nonnegative",
    "orthogonal_residuals",
    "pcost",
    "published_errors",
    "quantiles",
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
    "with_history",
    "write_report",
    "zcdp",
]
