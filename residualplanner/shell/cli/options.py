"""The arguments and options of the commands, and groups of options that several commands share.

An option is called as its parameter is, where it is given no other name.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from residualplanner.fits.synthesis import BinsName, RoundingName
from residualplanner.gate.spend import ChargeTime
from residualplanner.ground.version import __version__
from residualplanner.method.privacy import Notion
from residualplanner.publish.style import MOST_FILES
from residualplanner.release.profiles import FormatName, ProfileName
from residualplanner.shell.cli.spec.budgets import LossName, complete_budget

if TYPE_CHECKING:
    from residualplanner.shell.cli.measuring import Gate


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"residualplanner {__version__}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")]
Spec = Annotated[Path, typer.Argument(help="A spec, as init writes it.", metavar="SPEC")]
Data = Annotated[
    Path, typer.Argument(help="The records (.csv, .csv.gz, .parquet, or a folder of Parquet files).", metavar="DATA")
]
Folder = Annotated[Path, typer.Option("-o", "--output", help="The folder to make.", metavar="DIR")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check, and say what would be read, spent and written; do nothing.")
]
Format = Annotated[
    FormatName | None,
    typer.Option(
        help="The type of the tables' files; xlsx: an Excel workbook for each; workbook: one for all; parts: Parquet "
        f"of many tables each. By default parquet, and parts for more than {MOST_FILES:,} tables."
    ),
]
Workers = Annotated[int, typer.Option(min=1, help="With the format parts: how many processes write.", metavar="NUMBER")]
Profile = Annotated[
    ProfileName | None,
    typer.Option(
        help="The columns beside the labels: 95% margins and intervals; 90% margins, as E and M (acs); standard "
        "deviations, for generalized least squares (gls)."
    ),
]
SpecFormat = Annotated[FormatName | None, typer.Option(help="The type of the tables' files, in place of the spec's.")]
SpecProfile = Annotated[
    ProfileName | None, typer.Option(help="The columns beside the labels, in place of the spec's profile.")
]
IsNonNegative = Annotated[
    bool | None,
    typer.Option(
        "--nonnegative/--no-nonnegative",
        help="Tables without a negative cell that agree with one another, or unbiased.",
    ),
]
RoundTo = Annotated[
    int | None,
    typer.Option(
        min=1, max=10**9, help="Round to multiples of this number that add up; 1: to integers.", metavar="NUMBER"
    ),
]
WithUnbiased = Annotated[
    bool | None,
    typer.Option(
        "--with-unbiased/--without-unbiased",
        help="Beside non-negative or rounded numbers the unbiased estimates, in a column of their own.",
    ),
]
Simulations = Annotated[
    int | None,
    typer.Option(
        min=10,
        help="Write the errors of non-negative or rounded numbers, from so many simulations, such as 50.",
        metavar="NUMBER",
    ),
]
NewlinesInValues = Annotated[
    bool,
    typer.Option(
        "--newlines-in-values",
        help="In CSV, a newline between quotes belongs to the value; without this option every line is a record.",
    ),
]
Person = Annotated[
    str | None,
    typer.Option(
        help="The column that says whose each record is: no more records of each are counted than the plan protects.",
        metavar="COLUMN",
    ),
]
PersonOrder = Annotated[
    str | None,
    typer.Option(
        help="With --person: the column that orders each person's records, the first of which are counted; without "
        "it they are chosen at random.",
        metavar="COLUMN",
    ),
]
PersonKey = Annotated[
    str | None,
    typer.Option(
        help="With --person: 64 hexadecimal digits from which random choices follow: the same choice in every run.",
        metavar="DIGITS",
    ),
]
LedgerFile = Annotated[
    Path | None, typer.Option(help="The ledger to charge; for release, in place of the spec's.", metavar="LEDGER")
]
Again = Annotated[
    bool,
    typer.Option(
        "--again", help="Measure and charge a plan once more that the ledger holds already, for noise of its own."
    ),
]
Charge = Annotated[
    ChargeTime,
    typer.Option(
        help="When to charge the ledger: once the records are counted, before noise is drawn; or first, for services "
        "whose callers may not see the records."
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        help="Hold no more than this of counts and noise at once, such as 4GB or 512MiB: the records are read once for "
        "each block of tables.",
        metavar="BYTES",
    ),
]
Scratch = Annotated[
    Path | None,
    typer.Option(
        help="With --memory or --store: the folder for answers until they are written, not that for temporary files.",
        metavar="DIR",
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        help="Keep the answers in a new folder or s3://bucket/prefix, task by task: a run that was killed is gone on "
        "with by the same command, for the same charge.",
        metavar="STORE",
    ),
]
BudgetText = Annotated[
    str | None,
    typer.Option(
        help="In place of the spec's budget: zcdp=0.5, pcost=1 or epsilon=1,delta=1e-9.",
        metavar="BUDGET",
        autocompletion=complete_budget,
    ),
]
AtMost = Annotated[
    float | None,
    typer.Option(help="In place of a budget: the largest loss allowed, in counts squared.", metavar="LOSS"),
]
LossWord = Annotated[
    LossName | None,
    typer.Option(help="In place of the spec's loss: the sum or the max of cell variances, or a sum over tables."),
]
SpecLevel = Annotated[float | None, typer.Option(help="In place of the spec's confidence level, such as 0.90.")]
Level = Annotated[float, typer.Option(help="The confidence level of margins of error, such as 0.95.")]

# demo
Order = Annotated[int, typer.Option(help="Tables of up to this many columns.", min=1, max=4)]
MaxCells = Annotated[
    int, typer.Option(help="Leave out tables with more cells, to spare your disk; 1000000 leaves out none.", min=100)
]

# init
Source = Annotated[
    Path,
    typer.Argument(
        help="A schema (.json), a spec (.toml), a data dictionary (.csv), or records (.csv, .csv.gz, .parquet).",
        metavar="SOURCE",
    ),
]
NewSpec = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="The spec to write; SOURCE's name with .toml if not given.", metavar="SPEC"),
]
IsDictionary = Annotated[
    bool, typer.Option("--dictionary", help="SOURCE describes columns and holds no records: read all of it.")
]
HasHeader = Annotated[
    bool, typer.Option("--header", help="SOURCE is a CSV file of records whose first line holds names, not a record.")
]
TableName = Annotated[str | None, typer.Option(help="Which table of a schema that describes several.", metavar="NAME")]

# plan
NewPlan = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="The plan to write; SPEC's name with .plan if not given.", metavar="PLAN"),
]
ErrorsFile = Annotated[
    Path | None,
    typer.Option(
        "--errors-file",
        help="The error table to write, .csv or .parquet; PLAN.errors.csv if not given.",
        metavar="FILE",
    ),
]
ForcePlan = Annotated[
    bool, typer.Option("--force", help="Replace an existing plan and error table; never another file.")
]

# measure, reconstruct, release
PlanFile = Annotated[Path, typer.Argument(help="A plan, as the command plan writes it.", metavar="PLAN")]
NewCheck = Annotated[
    Path | None, typer.Option("-o", "--output", help="A text file for what is found; confidential.", metavar="FILE")
]
NewMeasurement = Annotated[Path, typer.Option("-o", "--output", help="The measurement to write.", metavar="FILE")]
MeasurementFiles = Annotated[
    list[Path],
    typer.Argument(
        help="A measurement, as measure writes it, or the folder of a release, which holds its own; or several of the "
        "same records, which are averaged.",
        metavar="FILE|DIR",
    ),
]
ProfileLevel = Annotated[
    float | None, typer.Option(help="The confidence level of margins of error; the profile's if not given.")
]
OutputSpec = Annotated[
    Path | None,
    typer.Option(
        help="A spec whose [output] says what tables look like: what is known anyway, quality, publication, and "
        "whatever is not given here.",
        metavar="SPEC",
    ),
]

# synthesize
NewRecords = Annotated[
    Path, typer.Option("-o", "--output", help="The records to write, .csv or .parquet.", metavar="FILE")
]
RecordCount = Annotated[
    int | None,
    typer.Option(min=0, max=10**9, help="How many; their known or estimated number if not given.", metavar="NUMBER"),
]
RecordsMethod = Annotated[
    RoundingName,
    typer.Option(
        help="How they are made of the model: near its tables of pairs; spread evenly; four times as many of weight "
        "1/4; independent of one another."
    ),
]
RecordsSeed = Annotated[int, typer.Option(min=0, help="Of the model and the records; the noise does not depend on it.")]
ShownBins = Annotated[BinsName, typer.Option(help="Bins as their labels, or as their middles.")]
FactsSpec = Annotated[
    Path | None,
    typer.Option(help="A spec whose [output] says what is known anyway: known and impossible.", metavar="SPEC"),
]

# compare, report
Plans = Annotated[list[Path], typer.Argument(help="Two or more plans over one domain.", metavar="PLAN")]
NewCsv = Annotated[
    Path | None, typer.Option("-o", "--output", help="A CSV file to write, of all tables.", metavar="CSV")
]
Reported = Annotated[
    Path,
    typer.Argument(
        help="A plan, the folder of a release, as release writes it, or a ledger.", metavar="DIR_OR_PLAN_OR_LEDGER"
    ),
]
PublicationSpec = Annotated[
    Path | None,
    typer.Option(
        help="A spec whose [output.publication] has title, author and the like, and [output.maps] boundaries.",
        metavar="SPEC",
    ),
]
PageCells = Annotated[
    int, typer.Option(min=0, help="The most cells of tables in the page, all together; 0 for none.", metavar="NUMBER")
]
NewPage = Annotated[Path, typer.Option("-o", "--output", help="The page to write.", metavar="HTML")]
ForceReport = Annotated[
    bool, typer.Option("--force", help="Replace an existing report and its figures; never other files.")
]

# ledger
ExistingLedger = Annotated[Path, typer.Argument(help="A ledger.", metavar="LEDGER")]
DataSetName = Annotated[
    str | None, typer.Option("--create", help="Begin a ledger for the data set of this name.", metavar="NAME")
]
LedgerBudget = Annotated[
    str | None, typer.Option(help="With --create: zcdp=1, pcost=1 or epsilon=1,delta=1e-9.", metavar="BUDGET")
]
NoBudgetReason = Annotated[
    str | None, typer.Option(help="With --create, in place of --budget: the reason for having none.", metavar="REASON")
]
LedgerNeighbors = Annotated[Notion, typer.Option(help="With --create: the definition of neighbors for all costs.")]
RecordsPerPerson = Annotated[int, typer.Option(help="With --create: the most records of one person.", min=1)]
TornCost = Annotated[
    str | None, typer.Option("--settle", help="The pcost to count for a torn last line.", metavar="COST")
]


@dataclass(frozen=True, slots=True)
class MeasuringOptions:
    """How records are read and measured, and what is charged for it."""

    ledger: LedgerFile = None
    again: Again = False
    charge: Charge = "counted"
    newlines_in_values: NewlinesInValues = False
    memory: Memory = None
    scratch: Scratch = None
    store: Store = None

    @property
    def gate(self) -> "Gate":
        """What they are measured by; the library is imported only here, so that help does not wait for it."""
        from residualplanner.shell.cli.measuring import gate_of_options

        return gate_of_options(self.memory, self.scratch, self.store, self.charge, again=self.again)


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What is planned otherwise than the spec says."""

    budget: BudgetText = None
    at_most: AtMost = None
    loss: LossWord = None


@dataclass(frozen=True, slots=True)
class NumberOptions:
    """What the numbers of tables are."""

    nonnegative: IsNonNegative = None
    round_to: RoundTo = None
    with_unbiased: WithUnbiased = None
    published_errors: Simulations = None


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters that are groups are replaced, in its signature, by the options of the group.

    Example:
        >>> def forget(name: str, *, changes: PlanOptions) -> None: ...
        >>> list(inspect.signature(with_groups(forget)).parameters)
        ['name', 'budget', 'at_most', 'loss']
    """
    signature = inspect.signature(command)
    groups: dict[str, Any] = {
        name: each.annotation for name, each in signature.parameters.items() if is_dataclass(each.annotation)
    }

    @wraps(command)
    def called(**typed: Any) -> None:
        for name, group in groups.items():
            typed[name] = group(**{each.name: typed.pop(each.name) for each in fields(group) if each.name in typed})
        command(**typed)

    parameters = [option for name, each in signature.parameters.items() for option in _options(each, groups.get(name))]
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return called


def _options(parameter: inspect.Parameter, group: Any) -> list[inspect.Parameter]:
    """The options of a group, all of them with defaults; the parameter itself where it is no group."""
    if group is None:
        return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
    return [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
        for each in fields(group)
    ]
