"""Synthetic records from confidential ones: measured in stages, which a folder beside the records keeps."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from residualplanner.fits.nonnegative.facts import read_facts
from residualplanner.fits.stages.measuring import load_stages, measure_in_stages
from residualplanner.fits.stages.staged_plan import StagedPlan
from residualplanner.fits.synthesis.saving import sidecar_path
from residualplanner.fits.synthesis.staged_release import StagedRelease
from residualplanner.fits.synthesis.synthesize import synthesize
from residualplanner.ground.errors import BudgetError, FileFormatError, NoLedgerWarning
from residualplanner.ground.words import count_text, decimal_text_up
from residualplanner.shell.cli.ledgers import say_charge, wanted_ledger
from residualplanner.shell.cli.options import StagingOptions, budget_of_text
from residualplanner.shell.cli.output import Output, naming, telling_outputs
from residualplanner.shell.cli.paths import require_apart
from residualplanner.shell.cli.records import RecordsFile
from residualplanner.shell.cli.spec.file import SpecFile
from residualplanner.shell.cli.spec.objects import domain_of_spec
from residualplanner.shell.cli.spec.wanted import WantedOutput, output_of
from residualplanner.shell.cli.words import say_records


def run_stages(
    spec: SpecFile,
    data: Path,
    file: Path,
    typed: StagingOptions,
    output: Output,
    made: dict[str, Any],
    *,
    dry_run: bool,
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
    with telling_outputs(beside, file), _telling_stages(folder):
        found = None if ledger is None else ledger.opened(output)
        before = 0 if found is None else len(found.entries)
        with output.progress("measuring", is_private=True) as progress, warnings.catch_warnings():
            warnings.simplefilter("ignore", NoLedgerWarning)  # the command says so itself
            staged = measure_in_stages(
                plan, records.records, ledger=found, folder=folder, charge=typed.charge, progress=progress
            )
        if found is None or len(found.entries) > before:
            say_charge(found, output)
        _write(staged, folder, file, wanted, made, output)


def run_kept_stages(
    folder: Path, file: Path, wanted: WantedOutput, output: Output, made: dict[str, Any], *, dry_run: bool
) -> None:
    """Write synthetic records from the stages of an earlier run, at no further cost."""
    with telling_outputs(sidecar_path(file), file):
        staged = load_stages(folder)
        if dry_run:
            output.fact("Would write", f"{file}, and {sidecar_path(file)}", event="would-write", path=file)
            return
        _write(staged, folder, file, wanted, made, output)


def _write(
    staged: StagedRelease, folder: Path, file: Path, wanted: WantedOutput, made: dict[str, Any], output: Output
) -> None:
    output.fact("Guarantee", staged.noise.guarantee)
    with wanted.naming(), output.progress("making the records") as progress:
        facts = wanted.adjustments(staged.domain)
        people = synthesize(staged, known=facts.known, impossible=facts.impossible, **made, progress=progress)
    people.save(file)
    say_records(people, output)
    beside = sidecar_path(file)
    text = f"{count_text(len(people), 'synthetic record')}; {beside} says what they are, and {folder} has all stages"
    output.wrote(file, f": {text}.", also=[beside])


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
