"""The arguments and options of the commands, and groups of options that several commands share.

An option is called as its parameter is, where it is given no other name.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Exit, Option, echo

from residualplanner.ground.version import __version__
from residualplanner.ground.words import MOST_FILES, ChargeTime, FormatName, Notion, ProfileName, RoundingName

LossName = Literal["sum", "max", "sqrt", "equal"]


def _print_version(value: bool) -> None:
    if value:
        echo(f"residualplanner {__version__}")
        raise Exit


def _of(metavar: str, help: str, **more: Any) -> Any:
    return Option(metavar=metavar, help=help, **more)


def _out(metavar: str, help: str) -> Any:
    return Option("-o", "--output", metavar=metavar, help=help)


def _flag(name: str, help: str) -> Any:
    return Option(name, help=help)


Version = Annotated[bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version.")]

# what is read
Spec = Annotated[Path, Argument(help="A spec, as init writes it.", metavar="SPEC")]
_DATA = "The records (.csv, .csv.gz, .parquet, .sav, .dta, or a folder of Parquet files)."
Data = Annotated[Path, Argument(help=_DATA, metavar="DATA")]
_SOURCES = "A domain (.json), a spec (.toml), a data dictionary (.csv), or records (.csv, .parquet, .sav, .dta)."
Source = Annotated[Path, Argument(help=_SOURCES, metavar="SOURCE")]
PlanFile = Annotated[Path, Argument(help="A plan, as the command plan writes it.", metavar="PLAN")]
_MEASUREMENTS = (
    "A measurement, as measure writes it, or the folder of a release, which holds its own; or several of the same "
    "records, which are averaged."
)
MeasurementFiles = Annotated[list[Path], Argument(help=_MEASUREMENTS, metavar="FILE|DIR")]
_SYNTHESIS = (
    "A spec and the records (.csv, .csv.gz, .parquet, or a folder of Parquet files); or the folder of the stages of an "
    "earlier run; or measurements, or folders of releases, of the same records, which are averaged."
)
SynthesisFiles = Annotated[list[Path], Argument(help=_SYNTHESIS, metavar="SPEC DATA|FILE|DIR")]
Plans = Annotated[list[Path], Argument(help="Two or more plans over one domain.", metavar="PLAN")]
_REPORTED = "A plan, or the folder of a release, as release writes it."
Reported = Annotated[Path, Argument(help=_REPORTED, metavar="DIR_OR_PLAN")]
_VERIFIED = "Files of tables, as index.csv names them, such as tables/age.csv; all of them by default."
VerifiedTables = Annotated[list[str] | None, Argument(help=_VERIFIED, metavar="TABLE")]
ReleaseFolder = Annotated[Path, Argument(help="The folder of a release, as release writes it.", metavar="DIR")]
ExistingLedger = Annotated[Path, Argument(help="A ledger.", metavar="LEDGER")]

# what is written
Folder = Annotated[Path, _out("DIR", "The folder to make.")]
NewSpec = Annotated[Path | None, _out("SPEC", "The spec to write; SOURCE's name with .toml if not given.")]
NewPlan = Annotated[Path | None, _out("PLAN", "The plan to write; SPEC's name with .plan if not given.")]
NewCheck = Annotated[Path | None, _out("FILE", "A text file for what is found; confidential.")]
NewMeasurement = Annotated[Path, _out("FILE", "The measurement to write.")]
NewRecords = Annotated[Path, _out("FILE", "The records to write, .csv or .parquet.")]
NewCsv = Annotated[Path | None, _out("CSV", "A CSV file to write, of all tables.")]
NewPage = Annotated[Path, _out("HTML", "The page to write.")]
ForcePlan = Annotated[bool, _flag("--force", "Replace an existing plan and error table; never another file.")]
ForceReport = Annotated[bool, _flag("--force", "Replace an existing report and its figures; never other files.")]
DryRun = Annotated[bool, _flag("--dry-run", "Check, and say what would be read, spent and written; do nothing.")]

# sdmx
Agency = Annotated[str, _of("AGENCY", "The SDMX identifier of who maintains the definitions.")]
StructureVersion = Annotated[
    str, _of("VERSION", "Of the definitions; two releases under one agency need different ones.")
]

# demo, init
Order = Annotated[int, Option(help="Tables of up to this many columns.", min=1, max=4)]
MaxCells = Annotated[int, Option(help="Leave out tables with more cells; 1000000 leaves out none.", min=100)]
IsDictionary = Annotated[bool, _flag("--dictionary", "SOURCE describes columns and holds no records: read all of it.")]
_HEADER = "SOURCE is a CSV file of records whose first line holds names, not a record."
HasHeader = Annotated[bool, _flag("--header", _HEADER)]

# start
_VALUES = "A column's values: age=85, 'sex=F, M', 'city=a, \"b, c\"', 'age=0 < 18 < 65'; 'age=' leaves age out."
_MISSING = "Under which label records without an entry are counted, as 'edu=Not stated'; 'edu=drop' leaves them out."
_LEDGER_BUDGET = "What all releases from these records may cost together; by default that of one release."
_INTEGERS = "Integers without a negative one that add up, or unbiased estimates."

# plan, release
_BUDGET = "In place of the spec's budget: zcdp=0.5, pcost=1 or epsilon=1,delta=1e-9."
BudgetText = Annotated[str | None, _of("BUDGET", _BUDGET)]
AtMost = Annotated[float | None, _of("LOSS", "In place of a budget: the largest loss allowed, in counts squared.")]
_LOSS = "In place of the spec's loss: the sum or the max of cell variances, or a sum over tables."

# measure, release
_NEWLINES = "In CSV, a newline between quotes belongs to the value; else it ends a record."
NewlinesInValues = Annotated[bool, _flag("--newlines-in-values", _NEWLINES)]
LedgerFile = Annotated[Path | None, _of("LEDGER", "The ledger to charge; for release, in place of the spec's.")]
Again = Annotated[bool, _flag("--again", "Measure and charge a plan once more that the ledger holds already.")]
_CHARGE = (
    "When to charge the ledger: once the records are counted, before noise is drawn; or first, for services whose "
    "callers may not see the records."
)
Charge = Annotated[ChargeTime, Option(help=_CHARGE)]
_MEMORY = (
    "Hold no more than this of counts and noise at once, such as 4GB or 512MiB: the records are read once for each "
    "block of tables."
)
_PERSON = "Whose each record is: no more records of each person are counted than the plan protects."
Person = Annotated[str | None, _of("COLUMN", _PERSON)]
_ORDER = "With --person: by which each person's first records are counted, not random ones."
PersonOrder = Annotated[str | None, _of("COLUMN", _ORDER)]
_KEY = "With --person: 64 hexadecimal digits for the same random choice in every run."
PersonKey = Annotated[str | None, _of("DIGITS", _KEY)]

# reconstruct, release
_FORMAT = (
    "The type of the tables' files; xlsx: an Excel workbook for each; workbook: one for all; parts: Parquet of many "
    f"tables each. By default the spec's, or parquet, and parts for more than {MOST_FILES:,} tables."
)
Format = Annotated[FormatName | None, Option(help=_FORMAT)]
_PROFILE = (
    "The columns beside the labels: 95% margins and intervals; 90% margins, as E and M (acs); standard deviations, for "
    "generalized least squares (gls)."
)
Level = Annotated[float, Option(help="The confidence level of margins of error, such as 0.95.")]
_LEVEL = "The confidence level of margins of error, such as 0.90; by default that of the spec or profile."
OwnLevel = Annotated[float | None, Option(help=_LEVEL)]
Workers = Annotated[int, _of("NUMBER", "With the format parts: how many processes write.", min=1)]
_NONNEGATIVE = "Tables without a negative cell that agree with one another, or unbiased."
_ROUND = "Round to multiples of this that add up; 1: to integers."
_UNBIASED = "Unbiased estimates beside other numbers, in a column of their own."
_ERRORS = "Write the errors of non-negative or rounded numbers, from so many simulations, such as 50."
_OUTPUT = "A spec whose [output] says what is known anyway, what maps show, and whatever is not given here."
OutputSpec = Annotated[Path | None, _of("SPEC", _OUTPUT)]

# synthesize, report
_COUNT = "How many; their known or estimated number if not given."
_METHOD = "How they are made of the model: near its tables of pairs; spread evenly; independent of one another."
PageCells = Annotated[int, _of("NUMBER", "The most cells of tables in the page, all together; 0 for none.", min=0)]

# ledger
_CREATE = "Begin a ledger for the data set of this name."
DataSetName = Annotated[str | None, Option("--create", help=_CREATE, metavar="NAME")]
LedgerBudget = Annotated[str | None, _of("BUDGET", "With --create: zcdp=1, pcost=1 or epsilon=1,delta=1e-9.")]
_REASON = "With --create, in place of --budget: the reason for having none."
NoBudgetReason = Annotated[str | None, _of("REASON", _REASON)]
LedgerNeighbors = Annotated[Notion, Option(help="With --create: the definition of neighbors for all costs.")]
RecordsPerPerson = Annotated[int, Option(help="With --create: the most records of one person.", min=1)]
TornCost = Annotated[str | None, Option("--settle", help="The pcost to count for a torn last line.", metavar="COST")]


@dataclass(frozen=True, slots=True)
class MeasuringOptions:
    """How records are read and measured, and what is charged for it."""

    ledger: LedgerFile = None
    again: Again = False
    charge: Charge = "counted"
    newlines_in_values: NewlinesInValues = False
    memory: Annotated[str | None, _of("BYTES", _MEMORY)] = None
    scratch: Annotated[Path | None, _of("DIR", "With --memory: the folder for answers until they are written.")] = None


@dataclass(frozen=True, slots=True)
class RecordsOptions:
    """How many synthetic records are made, and how."""

    records: Annotated[int | None, _of("NUMBER", _COUNT, min=0, max=10**9)] = None
    method: Annotated[RoundingName, Option(help=_METHOD)] = "controlled"
    seed: Annotated[int, Option(min=0, help="Of the model and the records; the noise does not depend on it.")] = 0


@dataclass(frozen=True, slots=True)
class StagingOptions:
    """How confidential records are read for synthetic ones, and what is spent."""

    budget: BudgetText = None
    ledger: LedgerFile = None
    charge: Charge = "counted"
    newlines_in_values: NewlinesInValues = False


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What is planned otherwise than the spec says."""

    budget: BudgetText = None
    at_most: AtMost = None
    loss: Annotated[LossName | None, Option(help=_LOSS)] = None


@dataclass(frozen=True, slots=True)
class GuideOptions:
    """What is chosen at a first use; what is not given is asked for."""

    values: Annotated[list[str] | None, _of("NAME=VALUES", _VALUES)] = None
    missing: Annotated[list[str] | None, _of("NAME=LABEL", _MISSING)] = None
    up_to: Annotated[int | None, _of("NUMBER", "All tables that cross up to so many columns.", min=1)] = None
    records_per_person: Annotated[int | None, _of("NUMBER", "The most records of one person.", min=1)] = None
    budget: Annotated[str | None, _of("BUDGET", "zcdp=0.5, pcost=1 or epsilon=1,delta=1e-9.")] = None
    ledger_budget: Annotated[str | None, _of("BUDGET", _LEDGER_BUDGET)] = None
    nonnegative: Annotated[bool | None, _flag("--nonnegative/--no-nonnegative", _INTEGERS)] = None
    format: Format = None


@dataclass(frozen=True, slots=True)
class TableOptions:
    """What tables look like, and what their numbers are, in place of what a spec says of its output."""

    format: Format = None
    profile: Annotated[ProfileName | None, Option(help=_PROFILE)] = None
    level: OwnLevel = None
    nonnegative: Annotated[bool | None, _flag("--nonnegative/--no-nonnegative", _NONNEGATIVE)] = None
    round_to: Annotated[int | None, _of("NUMBER", _ROUND, min=1, max=10**9)] = None
    with_unbiased: Annotated[bool | None, _flag("--with-unbiased/--without-unbiased", _UNBIASED)] = None
    published_errors: Annotated[int | None, _of("NUMBER", _ERRORS, min=10)] = None


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are groups are replaced, in its signature, by the options of the group."""
    signature = inspect.signature(command)
    groups: dict[str, Any] = {
        name: each.annotation for name, each in signature.parameters.items() if is_dataclass(each.annotation)
    }

    @wraps(command)
    def called(**typed: Any) -> None:
        for name, group in groups.items():
            typed[name] = group(**{each.name: typed.pop(each.name) for each in fields(group) if each.name in typed})
        command(**typed)

    only = inspect.Parameter.KEYWORD_ONLY
    parameters: list[inspect.Parameter] = []
    for name, each in signature.parameters.items():
        if name not in groups:
            parameters.append(each.replace(kind=only))
            continue
        options = fields(groups[name])
        parameters += [inspect.Parameter(o.name, only, default=o.default, annotation=o.type) for o in options]
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return called
