from . import fits as fits
from . import linked as linked
from . import publish as publish
from . import scale as scale
from . import testing as testing
from .fits.nonnegative.nonnegative import nonnegative
from .fits.nonnegative.numbers import rounded
from .fits.synthesis.records import synthesize
from .gate.checking import check
from .gate.ledger import Ledger
from .gate.measurement.measure import measure
from .gate.measurement.measurement import Measurement, load_measurement
from .gate.sources.csv_files import CsvFile
from .gate.sources.limited_records import LimitedRecords
from .ground import errors as errors
from .method import losses as losses
from .method import privacy as privacy
from .method.domain.attribute import About, Attribute
from .method.domain.bins import Bins
from .method.domain.domain import Domain
from .method.plan.files import load_plan
from .method.plan.plan import Plan
from .method.plan.select import select
from .method.privacy import approx_dp, pcost, zcdp
from .method.queries.custom import Custom
from .method.queries.identity import Identity, Matching
from .method.queries.runs import Prefix, Range
from .method.workload.families import marginals
from .method.workload.workload import Workload
from .more import strategies as strategies
from .more.amounts.amounts import Sum
from .more.amounts.numeric import Numeric
from .more.amounts.statistics import Mean, Quantiles
from .more.amounts.weight import Weight
from .more.classifications.hierarchy import Hierarchy
from .more.queries.among import Among
from .more.queries.proportions import Proportions
from .more.queries.selection import Selection
from .more.queries.thresholds import Threshold
from .publish.saving import load_tables
from .release import statistics as statistics
from .release.reconstruct import reconstruct
from .release.release import Release
from .shell import questions as questions
from .shell.session import Session

__all__ = [
    "About",
    "Among",
    "Attribute",
    "Bins",
    "CsvFile",
    "Custom",
    "Domain",
    "Hierarchy",
    "Identity",
    "Ledger",
    "LimitedRecords",
    "Matching",
    "Mean",
    "Measurement",
    "Numeric",
    "Plan",
    "Prefix",
    "Proportions",
    "Quantiles",
    "Range",
    "Release",
    "Selection",
    "Session",
    "Sum",
    "Threshold",
    "Weight",
    "Workload",
    "approx_dp",
    "check",
    "errors",
    "fits",
    "linked",
    "load_measurement",
    "load_plan",
    "load_tables",
    "losses",
    "marginals",
    "measure",
    "nonnegative",
    "pcost",
    "privacy",
    "publish",
    "questions",
    "reconstruct",
    "rounded",
    "scale",
    "select",
    "statistics",
    "strategies",
    "synthesize",
    "testing",
    "zcdp",
]
