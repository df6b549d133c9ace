"""What the commands do, one function for each file they write.

Reads: checked specs, plans, measurements; in `measure_records` alone, records.  Gives: files, whole or not at all.
"""

from pathlib import Path

from residualplanner._atomic import write_atomically
from residualplanner.cli.messages.output import Output
from residualplanner.cli.messages.sizes import require_writable, say_search
from residualplanner.cli.messages.summary import say_errors, say_plan, say_workload, write_errors
from residualplanner.cli.spec.file import OutputTable, SpecFile
from residualplanner.cli.spec.objects import domain_of_spec, plan_of_spec, workload_of_spec
from residualplanner.ledger import Ledger
from residualplanner.measurement import CsvFile, Measurement, measure
from residualplanner.plan import Plan
from residualplanner.reconstruction import Release, require_exportable
from residualplanner.workload import Workload


def make_plan(spec: SpecFile, output: Output, *, is_written: bool = False) -> Plan:
    """The plan of a spec, which is described; tables that are to be written next are refused if that is impossible."""
    domain = domain_of_spec(spec)
    workload = workload_of_spec(spec, domain)
    if is_written:
        require_tables(workload, spec.output)
    say_workload(workload, output)
    if spec.bases == "optimal_by_set":
        say_search(workload, output)
    with output.progress("choosing the noise"):
        plan = plan_of_spec(spec, workload)
    say_plan(plan, output)
    return plan


def require_tables(workload: Workload, wanted: OutputTable) -> None:
    """Refuse tables that could not be written, before anything is spent on them.

    Raises:
        WorkloadError: a table is too large for a file, or an attribute has the name of a column of estimates.
        MissingExtraError: the format is "xlsx", and XlsxWriter is not installed.
    """
    require_writable(workload)
    require_exportable(workload, wanted.format, wanted.profile)


def errors_path(plan_path: Path) -> Path:
    """The path of the error table of a plan: beside it.

    Example:
        >>> errors_path(Path("census.plan")).name
        'census.plan.errors.csv'
    """
    return plan_path.with_name(f"{plan_path.name}.errors.csv")


def write_plan(plan: Plan, path: Path, *, level: float, output: Output) -> None:
    """Write a plan, and its error table beside it: both or neither."""
    with output.progress("computing the error table"):
        errors = plan.errors(level=level)
    say_errors(errors, output)
    with output.progress("writing the plan"), write_atomically(errors_path(path)) as file:
        write_errors(errors, file)
        plan.save(path)


def measure_records(
    plan: Plan, data: Path, *, output: Output, ledger: Ledger | None = None, newlines_in_values: bool = False
) -> Measurement:
    """Charge the ledger, if there is one, count the records and add the plan's noise, which is exact."""
    records = CsvFile(data, newlines_in_values=True) if newlines_in_values else data
    with output.progress("measuring", is_private=True) as progress:
        return measure(plan, records, ledger=ledger, progress=progress)


def save_tables(release: Release, folder: Path, wanted: OutputTable, output: Output) -> None:
    """Write the tables of a release, its error table and its manifest to a new folder."""
    require_writable(release.plan.workload)
    with output.progress("writing the tables") as progress:
        release.save(folder, wanted.format, profile=wanted.profile, level=wanted.level, progress=progress)
