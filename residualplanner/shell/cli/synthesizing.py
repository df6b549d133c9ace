"""The step that makes records from noisy answers."""

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
from residualplanner.shell.cli.output import Output, telling_outputs
from residualplanner.shell.cli.releasing import release_of_paths
from residualplanner.shell.cli.spec.wanted import WantedOutput
from residualplanner.shell.cli.steps import Effort, carry_out, say_reading
from residualplanner.shell.cli.words import say_measured, say_workload

#: How many of the tables that fit worst are named.
_NAMED = 10


@dataclass(frozen=True, slots=True)
class MakeRecords:
    """The step that makes records, with what an [output] says is known anyway, and writes them."""

    release: Release
    path: Path
    wanted: WantedOutput
    output: Output
    records: int | None  # how many; None for their known or estimated number
    method: RoundingName
    seed: int  # of the model and the records
    bins: BinsName

    def check(self) -> None:
        """Refuse facts that do not fit, and a number of records that cannot be made."""
        with self.wanted.naming():
            facts = self.wanted.adjustments(self.release.plan.domain)
            stated = read_facts(self.release.plan, facts.known, facts.impossible)
            count_to_make(self.release, stated, self.records, self.method)

    def say(self) -> Effort:
        """Say which files would be written."""
        text = f"{self.path}, and {sidecar_path(self.path)}, which says what the records are"
        self.output.fact("Would write", text, event="would-write", path=self.path)
        return Effort()

    def do(self) -> None:
        """Fit the model, make the records, and say how near it is to what was measured."""
        with self.wanted.naming():
            facts = self.wanted.adjustments(self.release.plan.domain)
            with self.output.progress("making the records") as progress:
                people = synthesize(
                    self.release,
                    self.records,
                    known=facts.known,
                    impossible=facts.impossible,
                    method=self.method,
                    seed=self.seed,
                    progress=progress,
                )
        with self.output.progress("writing the records"):
            people.save(self.path, bins=self.bins)
        _say_records(people, self.output)
        _say_quality(people.quality, self.output)
        weights = f", together of weight {people.weights.sum():,.0f} (column {people.weight_column})"
        records = f"{count_text(len(people), 'synthetic record')}{weights if people.weight_column else ''}"
        beside = sidecar_path(self.path)
        self.output.wrote(self.path, f": {records}; {beside} says what they are.", also=[beside])


def run_synthesize(  # noqa: PLR0913
    paths: Sequence[Path],
    file: Path,
    wanted: WantedOutput,
    output: Output,
    *,
    records: int | None,
    method: RoundingName,
    seed: int,
    bins: BinsName,
    dry_run: bool,
) -> None:
    """Write records made from a measurement, from several, or from the tables of a folder."""
    with telling_outputs(sidecar_path(file), file):
        release = release_of_paths(paths)
        say_workload(release.plan.workload, output)
        say_measured(release.noise, output)
        output.fact("Guarantee", release.noise.guarantee)
        if dry_run:
            say_reading(paths, output)
        step = MakeRecords(release, file, wanted, output, records, method, seed, bins)
        carry_out([step], output, dry_run=dry_run)


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
