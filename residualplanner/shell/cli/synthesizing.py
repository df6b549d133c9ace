"""What the command that makes records does, in order; and its dry run.

Reads: checked arguments, measurements, folders of tables.  Gives: a file of records, messages about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from residualplanner.fits.nonnegative.facts import read_facts
from residualplanner.fits.nonnegative.measured_tables import FitQuality
from residualplanner.fits.synthesis import (
    BinsName,
    RoundingName,
    SyntheticRecords,
    count_to_make,
    sidecar_path,
    synthesize,
)
from residualplanner.ground.words import JOIN, count_text, number_text
from residualplanner.release.release import Release
from residualplanner.shell.cli.messages.failures import telling_outputs
from residualplanner.shell.cli.messages.output import Output
from residualplanner.shell.cli.messages.summary import say_measured, say_workload
from residualplanner.shell.cli.runs import release_of_paths
from residualplanner.shell.cli.spec.adjustments import WantedOutput

#: How many of the tables that fit worst are named.
_NAMED = 10


@dataclass(frozen=True, slots=True)
class WantedRecords:
    """The records that are wanted.

    Attributes:
        facts: the [output] that says what is known anyway.
        records: how many; None for their known or estimated number.
        method: how they are made of the model.
        seed: of the model and the records.
        bins: how bins are shown.
    """

    facts: WantedOutput
    records: int | None = None
    method: RoundingName = "controlled"
    seed: int = 0
    bins: BinsName = "labels"


def run_synthesize(paths: Sequence[Path], file: Path, wanted: WantedRecords, output: Output) -> None:
    """Write records made from a measurement, from several, or from the tables of a folder."""
    with telling_outputs(sidecar_path(file), file):
        release = release_of_paths(paths)
        _say_release(release, output)
        with wanted.facts.naming():
            facts = wanted.facts.adjustments(release.plan.domain)
            with output.progress("making the records") as progress:
                people = synthesize(
                    release,
                    wanted.records,
                    known=facts.known,
                    impossible=facts.impossible,
                    method=wanted.method,
                    seed=wanted.seed,
                    progress=progress,
                )
        with output.progress("writing the records"):
            people.save(file, bins=wanted.bins)
        _say_records(people, output)
        _say_quality(people.quality, output)
        weights = f", together of weight {people.weights.sum():,.0f} (column {people.weight_column})"
        records = f"{count_text(len(people), 'synthetic record')}{weights if people.weight_column else ''}"
        words = f": {records}; {sidecar_path(file)} says what they are."
        output.wrote(file, words, also=[sidecar_path(file)])


def rehearse_synthesize(paths: Sequence[Path], file: Path, wanted: WantedRecords, output: Output) -> None:
    """Say what `run_synthesize` would do."""
    release = release_of_paths(paths)
    with wanted.facts.naming():
        facts = wanted.facts.adjustments(release.plan.domain)
        stated = read_facts(release.plan, facts.known, facts.impossible)
        count_to_make(release, stated, wanted.records, wanted.method)
    _say_release(release, output)
    for path in paths:
        output.fact("Would read", f"{path}: noisy answers, no records", event="would-read", path=path)
    output.fact("Would spend", "nothing: this is post-processing", event="would-spend", pcost=0)
    text = f"{file}, and {sidecar_path(file)}, which says what the records are"
    output.fact("Would write", text, event="would-write", path=file)
    output.say(
        "No record was read, and nothing was spent or written.  All that can be checked without that is in order.",
        event="dry-run",
    )
    output.say("Next: the same command without --dry-run", event="next")


def _say_release(release: Release, output: Output) -> None:
    say_workload(release.plan.workload, output)
    say_measured(release.noise, output)
    output.fact("Guarantee", release.noise.guarantee)


def _say_records(people: SyntheticRecords, output: Output) -> None:
    """Say what the records are: none of a person, made with which facts, and what nothing was measured about."""
    lines = [
        "synthetic: none is that of a person; what they say beyond the tables is a model's assumption; standard errors "
        "computed from them are too small"
    ]
    if people.facts:
        lines.append(f"public facts from other sources, not protected by this release: {'; '.join(people.facts)}")
    output.fact("Records", *lines, records=len(people), method=people.method, seed=people.seed)
    if people.unmeasured:
        names = ", ".join(people.unmeasured)
        words = f"{names}: all values are equally frequent, and independent of the others, as nothing was measured"
        output.fact("Uniform", words, attributes=list(people.unmeasured))


def _say_quality(quality: FitQuality, output: Output) -> None:
    """Say how far the model's tables are from what was measured, and name those that noise does not explain."""
    freedom, distance = int(quality.freedoms.sum()), float(quality.distances.sum())
    worse = quality.worse
    ratio = number_text(distance / freedom) if freedom else "0"
    text = f"the model's tables are {ratio} times as far from what was measured as noise explains, in squares"
    also = f"{len(worse):,} of {len(quality.names):,} sets of attributes fit worse than noise explains"
    output.fact("Fit", text, also, distance=distance, freedom=freedom, worse=len(worse))
    ratio_of = dict(zip(quality.names, (quality.distances / np.maximum(quality.freedoms, 1)).tolist(), strict=True))
    if worse:
        output.table(
            ["fits worst", "times the noise"],
            [(JOIN.join(names), number_text(ratio_of[names])) for names in worse[:_NAMED]],
            event="fit-of-table",
            facts=[{"query": list(names), "ratio": ratio_of[names]} for names in worse[:_NAMED]],
        )
