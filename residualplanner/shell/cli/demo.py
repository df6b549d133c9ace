"""The whole flow on the Adult data, explained step by step to somebody who sees it for the first time."""

import itertools
import shutil
from pathlib import Path

from residualplanner.datasets import adult
from residualplanner.gate.measurement.measure import measure
from residualplanner.ground.atomic import write_folder_atomically
from residualplanner.ground.words import number_text
from residualplanner.release.reconstruct import reconstruct
from residualplanner.release.table import Table
from residualplanner.shell.cli.measuring import measured
from residualplanner.shell.cli.output import Output
from residualplanner.shell.cli.planning import make_plan
from residualplanner.shell.cli.releasing import save_tables
from residualplanner.shell.cli.spec.file import read_spec
from residualplanner.shell.cli.spec.starting import spec_text
from residualplanner.shell.cli.spec.wanted import WantedOutput
from residualplanner.shell.cli.words import say_errors, say_spending

LEVEL = 0.95

_INTRODUCTION = """\
Adult: 48,842 people of a United States census survey, 14 columns.  The records are public; here they stand for
confidential ones, of which no exact table may be published.\
"""
_TRUTH = """\
One of them, with 95% margins of error.  The last column is there only because these records are public: with
confidential ones nobody but their custodian may see it.\
"""
_FILES = """\
  adult.toml               the spec: which columns, which tables, what budget; a comment for each choice
  adult.plan               the plan for it
  adult.parquet            the records, to try the commands on
  release/errors.csv       how accurate each table is
  release/index.csv        which file holds which table
  release/tables/          the tables: estimate, standard error, margin of error, confidence interval
  release/metadata.json    what their columns mean
  release/manifest.json    how they were made, and at what cost
  release/release.plan     the plan again, against which the manifest is checked
  release/release.measurement  the noisy answers, from which reconstruct makes other tables\
"""
_NEXT = """\
  Look at the tables and their errors on one page:
    residualplanner report {folder}/release -o demo-report.html
  Change the budget in {folder}/adult.toml, and see what that does to the errors:
    residualplanner plan {folder}/adult.toml -o other.plan
  Make the tables of such a spec:
    residualplanner release {folder}/adult.toml {folder}/adult.parquet -o other-release
  Publish tables of your own records:
    residualplanner init YOUR.csv --header\
"""


def run_demo(folder: Path, *, order: int, max_cells: int, output: Output) -> None:
    """Plan, measure and reconstruct tables of up to ``order`` attributes and ``max_cells`` cells; write ``folder``."""
    domain, data = adult()
    output.say(_INTRODUCTION)
    with write_folder_atomically(folder) as partial:
        spec_path = partial / "adult.toml"
        spec_path.write_text(spec_text(domain, up_to=order, max_cells=max_cells), encoding="utf-8")
        shutil.copyfile(data, partial / "adult.parquet")
        spec = read_spec(spec_path)

        output.say("\n1. Plan: the best noise, and how accurate every table will be.  No record is read.")
        tables = f"all tables of up to {order} of the 14 columns, but those of more than {max_cells:,} cells"
        output.say(f"The workload: {tables}.")
        plan = make_plan(spec, output)
        plan.save(partial / "adult.plan")
        say_errors(plan.errors(LEVEL), output)

        output.say("\n2. Measure: count the records, and add the noise.  The only step that sees them.")
        measurement = measured(measure, plan, data, output)
        say_spending(measurement, output)

        output.say("\n3. Reconstruct: tables that are unbiased, agree with one another, and know their errors.")
        release = reconstruct(measurement)
        _say_table(release["sex", "income>50K"] if order > 1 else release["sex"], data, output)
        save_tables(release, partial / "release", WantedOutput(spec.output, spec), output)
    output.say(f"\nWhat is in {folder}:")
    output.say(_FILES)
    output.say("\nWhat to try next:")
    output.say(_NEXT.format(folder=folder))


def _say_table(table: Table, data: Path, output: Output) -> None:
    import pandas as pd

    true_counts = pd.read_parquet(data, columns=list(table.names)).value_counts().to_dict()
    estimates, margins = table.estimate.ravel().tolist(), table.moe(LEVEL).ravel().tolist()
    rows = [
        (*map(str, labels), f"{estimate:,.1f}", f"± {number_text(moe)}", f"{true_counts.get(labels, 0):,}")
        for labels, estimate, moe in zip(itertools.product(*table.labels), estimates, margins, strict=True)
    ]
    output.say(_TRUTH)
    columns = [*table.names, "published estimate", "margin of error", "true count"]
    output.table(columns, rows, texts=len(table.names))
