"""The measurement in a store: the answers that its manifest lists, collected in a file.

Reads: a store, which others may have altered; all of it is data, and checked.  Gives: Measurement.
"""

from dataclasses import dataclass

import numpy as np

from residualplanner.gate.ledger import Ledger, LedgerEntry
from residualplanner.gate.measurement.answers import IntegerResiduals
from residualplanner.gate.measurement.blocks import AnswersOnDisk
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.measurement.noisy_answers import wide_from_words
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.errors import FileFormatError, memory_for
from residualplanner.ground.stores import open_store
from residualplanner.scale.stored.answer_objects import read_answers
from residualplanner.scale.stored.manifest import Manifest, has_ended, read_manifest
from residualplanner.scale.stored.object_names import GENERATIONS, RELEASE, answer_name, numbered_names
from residualplanner.scale.stored.release import opened_release
from residualplanner.scale.stored.tasks import Tasks, tasks_of_release

_ARRAYS = {"integers", "wide_groups", "wide_integers"}


@memory_for("to read this measurement; use a machine with more memory")
def load_stored_measurement(store: object, *, scratch: PathLike | None = None) -> Measurement:
    """Read a measurement that `measure_in_store` made, and check it.

    The answers of one task after another are put into a file without a name, which is mapped into memory and vanishes
    with the measurement; `Measurement.save` makes a file of it that others can map.

    Args:
        store: the folder, or ``s3://bucket/prefix``.
        scratch: the folder of that file; by default the one for temporary files.

    Raises:
        ArgumentError: ``store`` is not a store.
        FileFormatError: it holds no complete release, or something in it was altered.
        BudgetError: the noise of its plan costs more than its budget, or another amount than the manifest states.
        ResourceError: there is too little room for the answers.
        StoreError: it cannot be read, or the release was given up.

    Guarantees: only answers that the manifest lists are read, and only if their hashes are those that it lists; the
        exact cost is computed anew from the plan.
    """
    release = opened_release(open_store(store))
    tasks = tasks_of_release(release)
    manifest = read_manifest(release, tasks.noise.plan, len(tasks))
    return collected(manifest, tasks, collector_of(tasks, scratch))


@dataclass(frozen=True, slots=True)
class StoreState:
    """How far the release in a store is.

    Attributes:
        plan_sha256: the hash of its plan.
        has_ledger: whether a ledger is charged for it.
        again: whether the ledger may have held the plan already.
        is_drawn: whether the drawing of noise has begun.
        is_complete: whether it has ended: all answers are there, or it was given up.
        purpose: how the label of its entry in the ledger starts.
    """

    plan_sha256: str
    has_ledger: bool
    again: bool
    is_drawn: bool
    is_complete: bool
    purpose: str

    def entry(self, ledger: Ledger | None) -> LedgerEntry | None:
        """The first entry of a ledger for this release, if it has one."""
        entries = () if ledger is None else ledger.entries
        return next((entry for entry in entries if entry.label.startswith(self.purpose)), None)


def state_of_store(store: object) -> StoreState | None:
    """How far the release in a store is; None where there is none.  Nothing is written.

    Raises:
        ArgumentError: ``store`` is not a store.
        FileFormatError: what it holds is damaged, or of another version.
        StoreError: it cannot be read.
    """
    objects = open_store(store)
    if RELEASE not in objects.names(RELEASE):
        return None
    release = opened_release(objects)
    terms = release.terms
    is_drawn = bool(numbered_names(objects, GENERATIONS))
    return StoreState(terms.plan_sha256, terms.has_ledger, terms.again, is_drawn, has_ended(objects), release.purpose)


def collector_of(tasks: Tasks, scratch: PathLike | None) -> AnswersOnDisk:
    """A file with room for the answers of all tasks; ResourceError where there is too little."""
    return AnswersOnDisk(tasks.noise.groups, np.int64, tasks.noise.join, scratch)


def collected(manifest: Manifest, tasks: Tasks, collector: AnswersOnDisk) -> Measurement:
    """The measurement whose answers a manifest lists.

    Raises:
        FileFormatError: they are not there, or were altered.
        StoreError: the store cannot be read.
    """
    for task in range(len(tasks)):
        collector.put(tasks.division.block(task), _answers(manifest, tasks, task))
    return Measurement(tasks.noise.plan, collector.answers(), manifest.noise)


def _answers(manifest: Manifest, tasks: Tasks, task: int) -> IntegerResiduals:
    """The answers of one task, checked."""
    release, generation = manifest.release, manifest.generations[task]
    try:
        content = release.store.read(answer_name(task, generation))
    except FileNotFoundError:
        raise FileFormatError(f"the answers of task {task} were removed from {release.store}") from None
    receipt, arrays = read_answers(release, task, generation, content)
    if receipt.sha256 != manifest.hashes[task] or set(arrays) != _ARRAYS:
        raise FileFormatError(f"the answers of task {task} in {release.store} are not those of the manifest")
    block = tasks.division.block(task)
    divisors = tuple(tasks.noise.divisors[number] for number in block.numbers)
    wide = wide_from_words(block.groups, arrays["wide_groups"], arrays["wide_integers"])
    return IntegerResiduals(block.groups, divisors, arrays["integers"], wide)
