"""Arguments and options that several commands share.

Gives: types for `app`'s commands.
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from residualplanner.cli.spec.typed_budget import LossName, complete_budget

Spec = Annotated[Path, typer.Argument(help="A spec, as init writes it.", metavar="SPEC")]
Data = Annotated[
    Path, typer.Argument(help="The records (.csv, .csv.gz, .parquet, or a folder of Parquet files).", metavar="DATA")
]
Folder = Annotated[Path, typer.Option("-o", "--output", help="The folder to make.", metavar="DIR")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check, and say what would be read, spent and written; do nothing.")
]
Json = Annotated[bool, typer.Option("--json", help="Print messages and errors as lines of JSON, for programs.")]
Format = Annotated[
    Literal["parquet", "csv", "xlsx"],
    typer.Option("--format", help="The type of the tables' files; xlsx are Excel workbooks."),
]
Profile = Annotated[
    Literal["default", "acs", "gls"],
    typer.Option(
        "--profile",
        help="The columns beside the labels: 95% margins and intervals; 90% margins, as E and M (acs); standard "
        "deviations, for generalized least squares (gls).",
    ),
]
SpecFormat = Annotated[
    Literal["parquet", "csv", "xlsx"] | None,
    typer.Option("--format", help="The type of the tables' files, in place of the spec's."),
]
SpecProfile = Annotated[
    Literal["default", "acs", "gls"] | None,
    typer.Option("--profile", help="The columns beside the labels, in place of the spec's profile."),
]
NewlinesInValues = Annotated[
    bool,
    typer.Option(
        "--newlines-in-values",
        help="In CSV, a newline between quotes belongs to the value; without this option every line is a record.",
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option("--ledger", help="The ledger to charge before the records are counted.", metavar="LEDGER"),
]
BudgetText = Annotated[
    str | None,
    typer.Option(
        "--budget",
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
    typer.Option(
        "--loss", help="In place of the spec's loss: the sum or the max of cell variances, or a sum over tables."
    ),
]
SpecLevel = Annotated[
    float | None, typer.Option("--level", help="In place of the spec's confidence level, such as 0.90.")
]
Level = Annotated[float, typer.Option("--level", help="The confidence level of margins of error, such as 0.95.")]
