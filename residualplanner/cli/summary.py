"""A plan in words: what it answers, what it costs, what that means, how accurate it is.

Reads: Plan, Budget.  Gives: lines and tables for people, and the error table as a file.
"""

import math
from pathlib import Path
from typing import IO, TYPE_CHECKING

from residualplanner.cli.output import Output, number_text
from residualplanner.measurement import Measurement
from residualplanner.plan import Plan
from residualplanner.privacy import Budget, Neighbors
from residualplanner.reconstruction import Release
from residualplanner.workload import Workload

if TYPE_CHECKING:
    import pandas as pd

#: The delta that epsilon is told for, where the budget does not name one.
DELTA = "1e-6"
#: From how many sets of attributes, or cells, a plan says what it will take before it takes it.
LARGE_SETS, LARGE_CELLS = 300_000, 100_000_000
_GIB = 2**30


def say_workload(workload: Workload, output: Output) -> None:
    """Say what is asked, and what it will take where that is much."""
    cells, sets = float(workload.cells.sum()), len(workload.closure)
    output.say(f"Asked       {_count(len(workload), 'table')} with {number_text(cells)} cells in all")
    if sets > LARGE_SETS:
        output.say(f"Size        {sets:,} sets of attributes; {_planning_text(sets)}")
    if cells > LARGE_CELLS:
        output.say(f"Size        {_measuring_text(cells)}")


def say_plan(plan: Plan, output: Output) -> None:
    """Say what a plan costs, what that promises, and how accurate its tables will be."""
    output.say(f"Budget      {privacy_text(plan.budget, plan.neighbors)}")
    output.say(f"            {promise_text(plan.budget, plan.neighbors)}")
    output.say(f"Cost        pcost {number_text(plan.pcost)} of {number_text(plan.budget.pcost)}, spent when measured")
    output.say(
        f"Accuracy    typical error (rmse) {number_text(plan.rmse)} counts, "
        f"worst table {number_text(math.sqrt(plan.max_variance))} counts"
    )
    output.say(f"Minimized   {plan.loss}: {number_text(plan.loss_value)} counts squared; {_gap_text(plan.gap)}")


def say_spending(measurement: Measurement, output: Output) -> None:
    """Say what has been spent, and what the noise is worth."""
    plan = measurement.plan
    output.say(f"Spent       {privacy_text(plan.budget, plan.neighbors)}; measuring again spends it again")
    output.say(f"Guarantee   {measurement.noise.guarantee}")


def say_release(release: Release, folder: Path, output: Output) -> None:
    """Say what has been written to a folder of tables."""
    output.say(f"Wrote {folder}: {_count(len(release), 'table')}; index.csv says which file is which,")
    output.say("            errors.csv how accurate each is, manifest.json how they were made and at what cost")


def say_errors(errors: "pd.DataFrame", output: Output, *, rows: int = 10) -> None:
    """Print the first rows of an error table."""
    head = errors.head(rows)
    level = f"{head['conf_level'].iloc[0]:.0%}"
    shown = f"first {len(head)} of {len(errors):,} tables" if len(errors) > len(head) else "all tables"
    output.say(f"\nAccuracy of a cell, known before any data are read ({shown}):")
    columns = (head[name].tolist() for name in ("query", "cells", "std_err", "moe"))
    values = [
        (query, number_text(cells), number_text(std_err), f"± {number_text(moe)}")
        for query, cells, std_err, moe in zip(*columns, strict=True)
    ]
    output.table(["table", "cells", "standard error", f"margin of error ({level})"], values)


def privacy_text(budget: Budget, neighbors: Neighbors) -> str:
    """The budget as stated, in the other notions of privacy, rounded up, and what it is about.

    Example:
        >>> from residualplanner.privacy import zcdp
        >>> privacy_text(zcdp("0.5"), Neighbors())
        '0.5-zCDP: rho 0.5, mu 1, epsilon 5.222 at delta 1e-6, under adding or removing one record'
    """
    rho, mu, delta = rounded_up(budget.rho), rounded_up(budget.mu), _delta(budget)
    numbers = f"rho {rho}, mu {mu}, epsilon {_epsilon(budget)} at delta {delta}"
    return f"{budget.statement}: {numbers}, under {neighbors.words}"


def promise_text(budget: Budget, neighbors: Neighbors) -> str:
    """What the budget promises, in a sentence.

    Example:
        >>> from residualplanner.privacy import approx_dp
        >>> promise_text(approx_dp("1", "1e-9"), Neighbors("replace", 3))
        'replacing up to 3 records changes the probability of any set of outcomes by at most a factor e^1, plus 1e-9'
    """
    most = f"a factor e^{_epsilon(budget)}, plus {_delta(budget)}"
    return f"{neighbors.words} changes the probability of any set of outcomes by at most {most}"


def rounded_up(number: float) -> str:
    """A number with four digits that count, never below it.

    Example:
        >>> rounded_up(5.2217), rounded_up(0.9999999999999996), rounded_up(0.05)
        ('5.222', '1', '0.05')
    """
    digits = 3 - math.floor(math.log10(number)) if number > 0 else 0
    step = 10.0**-digits
    text = f"{number:.4g}"
    return text if float(text) >= number else f"{(math.floor(number / step) + 1) * step:.4g}"


def write_errors(errors: "pd.DataFrame", file: IO[bytes]) -> None:
    """Write an error table as CSV."""
    import pyarrow as pa
    import pyarrow.csv

    table = pa.Table.from_pandas(errors, preserve_index=False)
    kinds = table.schema.get_field_index("kinds")
    pyarrow.csv.write_csv(table.set_column(kinds, "kinds", table["kinds"].cast(pa.string())), file)


def _delta(budget: Budget) -> str:
    return budget.given[1] if budget.notion == "approx_dp" else DELTA


def _epsilon(budget: Budget) -> str:
    return rounded_up(budget.epsilon(_delta(budget)))


def _gap_text(gap: float) -> str:
    """What has been proved about the distance to the best noise.

    Example:
        >>> _gap_text(0.0), _gap_text(2.5e-7), _gap_text(math.inf)
        ('no noise of this cost does better', 'proved to be within 2.5e-07 (relative) of the best', 'no bound is known')
    """
    if gap == 0:
        return "no noise of this cost does better"
    if not math.isfinite(gap):
        return "no bound is known"
    return f"proved to be within {gap:.1e} (relative) of the best"


def _planning_text(sets: int) -> str:
    return f"planning takes some {_seconds(sets * 5e-6)} and {_bytes(sets * 400)} of memory"


def _measuring_text(cells: float) -> str:
    return (
        f"measuring takes some {_bytes(cells * 24)} of memory, all tables as Parquet some {_bytes(cells * 24)} of disk"
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _bytes(size: float) -> str:
    return f"{number_text(round(size / _GIB, 1))} GiB" if size > 0.1 * _GIB else f"{size / 2**20:.0f} MiB"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}" + ("" if number == 1 else "s")
