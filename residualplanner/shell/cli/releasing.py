"""What the commands on the way from records to tables do, and to synthetic records.

They consist of steps: each checks, says what it would do, and does it; ``--dry-run`` leaves out the last.  Whatever can
be refused is refused by a check, before records are opened and before anything is spent.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from residualplanner.fits.nonnegative.facts import read_facts
from residualplanner.fits.nonnegative.nonnegative import Adjustments, nonnegative_bytes
from residualplanner.fits.nonnegative.published_errors_simulation import published_errors
from residualplanner.fits.stages.measuring import load_stages, measure_in_stages
from residualplanner.fits.stages.staged_plan import StagedPlan
from residualplanner.fits.synthesis.records import SyntheticRecords, count_to_make, in_one_stage, synthesize
from residualplanner.fits.synthesis.saving import sidecar_path
from residualplanner.fits.synthesis.staged_release import StagedRelease
from residualplanner.gate.measurement.measurement import load_measurement
from residualplanner.gate.measurement.resource_estimate import resource_estimate
from residualplanner.ground.errors import BudgetError, FileFormatError
from residualplanner.ground.words import MOST_FILES, bytes_text, count_text, decimal_text_up
from residualplanner.method.plan.files import load_plan
from residualplanner.method.plan.plan import Plan
from residualplanner.publish.files.file_names import PARTS_FORMAT
from residualplanner.publish.saving import load_tables
from residualplanner.release.reconstruct import reconstruct
from residualplanner.release.release import Release
from residualplanner.shell.cli import measuring as gates
from residualplanner.shell.cli import steps as rehearsal
from residualplanner.shell.cli.budgets import budget_of_text
from residualplanner.shell.cli.ledgers import WantedLedger, say_charge, wanted_ledger
from residualplanner.shell.cli.options import MeasuringOptions, StagingOptions
from residualplanner.shell.cli.output import Output, naming, telling_outputs
from residualplanner.shell.cli.paths import require_apart
from residualplanner.shell.cli.planning import make_plan, require_tables
from residualplanner.shell.cli.records import RecordsFile
from residualplanner.shell.cli.spec.file import SpecFile
from residualplanner.shell.cli.spec.objects import domain_of_spec
from residualplanner.shell.cli.spec.wanted import WantedOutput, output_of
from residualplanner.shell.cli.words import say_measured, say_records, say_release, say_workload


@dataclass(frozen=True, slots=True)
class WriteTables:
    """The step that reconstructs and adjusts tables, and writes their folder."""

    plan: Plan
    release: Callable[[], Release]  # makes the unbiased tables, once they are measured
    path: Path
    wanted: WantedOutput
    adjustments: Adjustments
    output: Output
    measured: Path | None = None  # the measurement beside the folder, removed once the folder holds it
    workers: int = 1  # how many processes write

    def check(self) -> None:
        """Refuse tables that cannot be written, facts that cannot be true together, and a disk without room."""
        workload, table = self.plan.workload, self.wanted.table
        require_tables(workload, table)
        file_format = table.file_format(workload)
        if file_format == PARTS_FORMAT and table.format is None:
            words = f"parts, of many tables each, since there are more than {MOST_FILES:,}"
            self.output.fact("Format", f"{words}; --format parquet writes a file for each", format=file_format)
        with self.wanted.naming():
            for comparison in self.wanted.comparisons:
                comparison.require_fit(self.plan)
            self.adjustments.require_fit(self.plan, is_here=True)
            if self.adjustments:
                with self.output.progress("checking what is known anyway") as progress:
                    self.adjustments.require_possible(self.plan, progress)
        size = rehearsal.measurement_bytes(self.plan)
        rehearsal.require_room_for_tables(self.path, workload, file_format, measurement=self.measured, size=size)

    def say(self) -> tuple[float, float, int]:
        """Say how large the folder would be."""
        workload, estimate = self.plan.workload, resource_estimate(self.plan.workload)
        file_format = self.wanted.table.file_format(workload)
        sizes = {"parquet": estimate.disk_bytes, PARTS_FORMAT: 8.25 * estimate.cells}
        as_text = 4 * estimate.disk_bytes  # CSV and workbooks are at least so much larger than Parquet
        size = int(sizes.get(file_format, as_text)) + rehearsal.measurement_bytes(self.plan)
        tables = f"{count_text(len(workload), 'table')} as {file_format}"
        text = f"{tables}, some {bytes_text(size)} with the measurement and their metadata"
        rehearsal.say_writing(self.path, text, self.output, size=size)
        memory = max(estimate.writing_bytes, nonnegative_bytes(self.plan) if self.adjustments.is_nonnegative else 0)
        return estimate.writing_seconds, memory, size

    def do(self) -> None:
        """Write the folder; what has been measured is there, too."""
        tables = self.release()
        with self.wanted.naming():
            if self.adjustments:
                with self.output.progress("adjusting the tables") as progress:
                    tables = self.adjustments.of(tables, progress)
            save_tables(tables, self.path, self.wanted, self.output, workers=self.workers)
        file_format, spec = self.wanted.table.file_format(self.plan.workload), self.wanted.spec
        options = () if spec is None or not self.wanted.table.maps else ("--spec", str(spec.path))
        count = len(self.wanted.comparisons)
        say_release(tables, self.path, self.output, file_format=file_format, comparisons=count, options=options)
        if self.measured is not None:
            self.measured.unlink()


def save_tables(tables: Release, folder: Path, wanted: WantedOutput, output: Output, *, workers: int = 1) -> None:
    """Write the tables of a release, its error table, comparisons and manifest to a new folder."""
    rehearsal.require_writable(tables.plan.workload)
    form = wanted.table
    how: dict[str, Any] = {"profile": form.profile, "level": form.level, "quality": form.chosen_quality}
    how |= {"publication": form.publication.publication, "workers": workers}
    how["comparisons"] = {each.name: each.of(tables, form.chosen_level) for each in wanted.comparisons}
    if not tables.product.is_unbiased:
        how["with_unbiased"] = form.with_unbiased
        if form.published_errors is not None:
            with output.progress("simulating the errors of the published numbers") as progress:
                how["errors"] = published_errors(tables, simulations=form.published_errors, progress=progress)
    with output.progress("writing the tables") as progress:
        tables.save(folder, form.file_format(tables.plan.workload), progress=progress, **how)


def _carry_out(steps: Sequence[gates.Measure | WriteTables], output: Output, *, dry_run: bool) -> None:
    for step in reversed(steps):  # what a spec says of its tables is refused before the file of records is looked at
        step.check()
    if dry_run:
        efforts, is_counting = [step.say() for step in steps], isinstance(steps[0], gates.Measure)
        rehearsal.say_rehearsed(efforts, steps[-1].path, output, is_counting=is_counting)
        return
    for step in steps:
        step.do()


def run_measure(
    plan_path: Path, records: RecordsFile, path: Path, measuring: MeasuringOptions, output: Output, *, dry_run: bool
) -> None:
    """Write the measurement of the records."""
    memory, folder = gates.memory_of(measuring), path.with_suffix(".tables")
    require_apart(path, *filter(None, [measuring.ledger]))
    plan = load_plan(plan_path)
    ledger = None if measuring.ledger is None else WantedLedger(measuring.ledger)
    with gates.telling_measurement(path, folder, ledger, is_release=False):
        say_workload(plan.workload, output, memory=memory)
        _carry_out([gates.Measure(plan, records, path, ledger, measuring, output)], output, dry_run=dry_run)
        if not dry_run:
            output.wrote(path, ": the noisy answers, and nothing else of the records.")
            output.next((gates.reconstructing(path, folder), "at no further cost, as often as you like"))


def run_reconstruct(
    paths: Sequence[Path], folder: Path, wanted: WantedOutput, output: Output, *, workers: int, dry_run: bool
) -> None:
    """Write the tables of a measurement, or of several; where they may be in parts the answers stay on disk."""
    with telling_outputs(folder):
        release = release_of_paths(paths, mapped=wanted.table.format in (PARTS_FORMAT, None))
        plan = release.plan
        with wanted.naming():
            adjustments = wanted.adjustments(plan.domain)
        say_workload(plan.workload, output)
        say_measured(release.noise, output)
        if dry_run:
            rehearsal.say_reading(paths, output)
        step = WriteTables(plan, lambda: release, folder, wanted, adjustments, output, workers=workers)
        _carry_out([step], output, dry_run=dry_run)


def release_of_paths(paths: Sequence[Path], *, mapped: bool = False) -> Release:
    """The release of a measurement, or of several averaged; the folder of a release stands for its own."""
    return reconstruct([load_tables(at) if at.is_dir() else load_measurement(at, mapped=mapped) for at in paths])


def run_release(
    spec: SpecFile, data: Path, folder: Path, measuring: MeasuringOptions, output: Output, *, dry_run: bool
) -> None:
    """Plan, measure and reconstruct; the measurement is beside the folder until that is complete, and then in it."""
    measured, memory = folder.with_name(f"{folder.name}.measurement"), gates.memory_of(measuring)
    wanted = WantedOutput(spec.output, spec)
    if measured.exists() or measured.is_symlink():
        raise FileExistsError(
            f"{measured} exists already: an earlier run measured and paid for it, but wrote no tables.\n"
            f"Write them, at no further cost, with  {gates.reconstructing(measured, folder, wanted.options)}\n"
            "or move that file elsewhere to measure again, at the full cost"
        )
    with naming(spec.path):
        ledger = wanted_ledger(measuring.ledger, spec)
    require_apart(folder, measured, *([] if ledger is None else [ledger.path]))
    records = RecordsFile(data, measuring.newlines_in_values, spec.people)
    with gates.telling_measurement(measured, folder, ledger, is_release=True, options=wanted.options):
        if ledger is not None:
            ledger.rehearsed()  # a ledger that cannot be charged is found before the search for the best noise
        with naming(spec.path):
            adjustments = wanted.adjustments(domain_of_spec(spec))
            plan = make_plan(spec, output, is_written=True, memory=memory)
        until = f", until {folder} holds them"
        answers = gates.Measure(plan, records, measured, ledger, measuring, output, until=until)
        tables = WriteTables(plan, lambda: reconstruct(answers.done), folder, wanted, adjustments, output, measured)
        _carry_out([answers, tables], output, dry_run=dry_run)


def run_synthesize(
    paths: Sequence[Path], file: Path, wanted: WantedOutput, output: Output, *, dry_run: bool, **made: Any
) -> None:
    """Write records made from a measurement, from several, or from the tables of a folder."""
    beside = sidecar_path(file)
    with telling_outputs(beside, file):
        release = release_of_paths(paths)
        say_workload(release.plan.workload, output)
        say_measured(release.noise, output)
        output.fact("Guarantee", release.noise.guarantee)
        if dry_run:
            rehearsal.say_reading(paths, output)
        with wanted.naming():
            facts = wanted.adjustments(release.plan.domain)
            known = read_facts(release.plan, facts.known, facts.impossible)
            count_to_make(in_one_stage(release), known, made["records"], made["method"])
            if dry_run:
                text = f"{file}, and {beside}, which says what the records are"
                output.fact("Would write", text, event="would-write", path=file)
                rehearsal.say_rehearsed([], file, output)
                return
            people = _made(release, facts, output, **made)
        with output.progress("writing the records"):
            people.save(file)
        _say_made(people, file, output)


def run_stages(
    spec: SpecFile, data: Path, file: Path, typed: StagingOptions, output: Output, *, dry_run: bool, **made: Any
) -> None:
    """Measure in stages, and write synthetic records; a run that was stopped goes on from its folder."""
    folder, beside, wanted = file.with_name(f"{file.name}.stages"), sidecar_path(file), output_of(spec.path)
    with naming(spec.path):
        plan, ledger = _plan(spec, typed), wanted_ledger(typed.ledger, spec)
        facts = wanted.adjustments(plan.domain)
        read_facts(plan.everything, facts.known, facts.impossible)
    require_apart(folder, file, beside, *([] if ledger is None else [ledger.path]))
    records = RecordsFile(data, typed.newlines_in_values, spec.people)
    records.require_readable(plan.everything)
    if ledger is not None:
        ledger.rehearsed()  # one that cannot be charged is found before the records are read
    cost = f"at most pcost {decimal_text_up(plan.cost)} for all stages together; nothing for those that {folder} has"
    if dry_run:
        output.fact("Would spend", cost, event="would-spend", pcost=plan.cost, left=None)
        output.fact("Would write", f"{file}, {beside}, and the stages to {folder}", event="would-write", path=file)
        return
    records.say_people(plan.everything, output)
    begun = [ledger.path] if ledger is not None and ledger.is_to_be_begun else []
    with telling_outputs(beside, file, *begun), _telling_stages(folder):
        found = None if ledger is None else ledger.opened(output)
        before = 0 if found is None else len(found.entries)
        how: dict[str, Any] = {"ledger": found, "folder": folder, "charge": typed.charge}
        staged = gates.measured(measure_in_stages, plan, records.records, output, **how)
        if found is None or len(found.entries) > before:
            say_charge(found, output)
        _write(staged, folder, file, wanted, output, **made)


def run_kept_stages(
    folder: Path, file: Path, wanted: WantedOutput, output: Output, *, dry_run: bool, **made: Any
) -> None:
    """Write synthetic records from the stages of an earlier run, at no further cost."""
    with telling_outputs(sidecar_path(file), file):
        staged = load_stages(folder)
        if dry_run:
            output.fact("Would write", f"{file}, and {sidecar_path(file)}", event="would-write", path=file)
            return
        _write(staged, folder, file, wanted, output, **made)


def _write(staged: StagedRelease, folder: Path, file: Path, wanted: WantedOutput, output: Output, **made: Any) -> None:
    output.fact("Guarantee", staged.noise.guarantee)
    with wanted.naming():
        people = _made(staged, wanted.adjustments(staged.domain), output, **made)
    people.save(file)
    _say_made(people, file, output, f", and {folder} has all stages")


def _made(source: Release | StagedRelease, facts: Adjustments, output: Output, **made: Any) -> SyntheticRecords:
    with output.progress("making the records") as progress:
        return synthesize(source, known=facts.known, impossible=facts.impossible, **made, progress=progress)


def _say_made(people: SyntheticRecords, file: Path, output: Output, more: str = "") -> None:
    say_records(people, output)
    beside = sidecar_path(file)
    text = f": {count_text(len(people), 'synthetic record')}; {beside} says what they are{more}."
    output.wrote(file, text, also=[beside])


@contextmanager
def _telling_stages(folder: Path) -> Iterator[None]:
    """Add to an error where what has been measured is kept."""
    try:
        yield
    except BaseException as error:
        if any(folder.glob("stage-*")) and not isinstance(error, FileFormatError):
            error.add_note(f"What was measured is kept in {folder}: the same command goes on from there.")
        raise


def _plan(spec: SpecFile, typed: StagingOptions) -> StagedPlan:
    budget = spec.budget if typed.budget is None else budget_of_text(typed.budget)
    if budget is None:
        raise BudgetError("synthetic records need a budget; write --budget zcdp=0.5, or budget in the spec")
    terms: dict[str, Any] = {"neighbors": spec.neighbors, "records_per_person": spec.most_records}
    return StagedPlan(domain_of_spec(spec), budget=budget, **terms)
