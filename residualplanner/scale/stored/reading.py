"""The manifest of a release, which says which answers count, or that none ever will; and the measurement of these.

What is in a store may have been altered by others; all of it is data, and checked.
"""

from collections.abc import Callable
from typing import Any

from residualplanner.gate.measurement.answers import Residuals
from residualplanner.gate.measurement.blocks import AnswersOnDisk
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.measurement.noise_record import NoiseRecord, noise_from_json, noise_to_json
from residualplanner.gate.measurement.noisy_answers import wide_from_words
from residualplanner.ground.atomic import PathLike
from residualplanner.ground.checks import has_shape, is_sha256, pair_of
from residualplanner.ground.errors import FileFormatError, NoiseError, StoreError, memory_for
from residualplanner.ground.format_version import FORMAT_VERSION, require_version
from residualplanner.ground.json import json_text, parse_json
from residualplanner.ground.stores import ObjectStore, open_store
from residualplanner.method.plan.plan import Plan
from residualplanner.scale.stored import release as stored
from residualplanner.scale.stored.tasks import Tasks, tasks_of_release

#: What the manifest states of a task: the generation of its answers, and their hash.
_ANSWER = pair_of(lambda generation: type(generation) is int and generation >= 0, is_sha256)
_ARRAYS = {"integers", "wide_groups", "wide_integers"}
_FORMAT = {"format": "residualplanner/stored-measurement", "version": FORMAT_VERSION}
#: What stands in the store as the manifest of a release that was given up.
_ABORTED = {**_FORMAT, "is_aborted": True}


def write_manifest(
    release: stored.StoredRelease, plan: Plan, noise: NoiseRecord, receipts: list[stored.Receipt]
) -> None:
    """Write the manifest, unless there is one; NoiseError where random bytes are the same."""
    if len({receipt.witness for receipt in receipts}) < len(receipts):
        raise NoiseError(
            "two tasks have the same random bytes, as if machines had been cloned; nothing may be released: give the "
            "release up with abort_measuring"
        )
    answers = [[receipt.generation, receipt.sha256] for receipt in receipts]
    fields = {**_identity(release), "noise": noise_to_json(noise, plan), "answers": answers}
    release.store.create_if_absent(stored.MANIFEST, json_text(fields))


def end_without_answers(release: stored.StoredRelease) -> None:
    """Give a release up, so that it never gets a manifest; StoreError where it has one."""
    store = release.store
    if not store.create_if_absent(stored.MANIFEST, json_text(_ABORTED)) and _stated(store) != _ABORTED:
        raise StoreError(f"{store} holds a complete release; read it, or remove the folder")


def _read_manifest(release: stored.StoredRelease, plan: Plan, tasks: int) -> tuple[NoiseRecord, list[tuple[int, str]]]:
    """How the noise was drawn, and of each task the generation of its answers and their SHA-256, as the manifest says.

    Every word of it is compared with the plan and the number of its tasks; StoreError where the release was given up.
    """
    stated = _stated(release.store)
    if stated == _ABORTED:
        raise StoreError(
            f"the release in {release.store} was given up; its charge stays, and it has no answers.  Name another store"
        )
    if isinstance(stated, dict) and stated.get("format") == _FORMAT["format"]:
        require_version(stated.get("version"), None, kind="store", where=f"{stored.MANIFEST}: ")
    expected = _identity(release)
    if not isinstance(stated, dict) or stated != expected | {name: stated.get(name) for name in ("noise", "answers")}:
        raise FileFormatError(f"{stored.MANIFEST} is of another release, or has missing or unknown fields")
    noise = noise_from_json(stated["noise"], plan)
    if noise.kind != "discrete" or noise.bits != release.source:
        raise FileFormatError(f"{stored.MANIFEST} states other noise than the release was opened with")
    answers = stated["answers"]
    if not has_shape(answers, [_ANSWER]) or len(answers) != tasks:
        raise FileFormatError(f"{stored.MANIFEST} does not list the answers of each task")
    return noise, [(generation, digest) for generation, digest in answers]


def _identity(release: stored.StoredRelease) -> dict[str, Any]:
    return {**_FORMAT, "release": release.identifier, "plan_sha256": release.plan_sha256}


def _stated(store: ObjectStore) -> Any:
    try:
        return parse_json(store.read(stored.MANIFEST).decode("utf-8", "replace"))
    except FileNotFoundError:
        raise FileFormatError(f"the release in {store} is not complete; complete it with resume_measuring") from None


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
    release = stored.opened_release(open_store(store))
    tasks = tasks_of_release(release)
    return measurement_of(release, tasks, lambda: AnswersOnDisk(tasks.noise.groups, tasks.noise.divisors, scratch))


def measurement_of(release: stored.StoredRelease, tasks: Tasks, collecting: Callable[[], AnswersOnDisk]) -> Measurement:
    """The measurement whose answers the manifest lists; errors as of `load_stored_measurement`."""
    noise, answers = _read_manifest(release, tasks.noise.plan, len(tasks))
    collector = collecting()
    for task, (generation, digest) in enumerate(answers):
        collector.put(tasks.division.block(task), _answers(release, tasks, task, generation, digest))
    return Measurement(tasks.noise.plan, collector.answers(), noise)


def _answers(release: stored.StoredRelease, tasks: Tasks, task: int, generation: int, digest: str) -> Residuals:
    try:
        content = release.store.read(stored.object_name(stored.ANSWERS, task, generation))
    except FileNotFoundError:
        raise FileFormatError(f"the answers of task {task} were removed from {release.store}") from None
    receipt, arrays = stored.read_answers(release, task, generation, content)
    if receipt.sha256 != digest or set(arrays) != _ARRAYS:
        raise FileFormatError(f"the answers of task {task} in {release.store} are not those of the manifest")
    block = tasks.division.block(task)
    divisors = tuple(tasks.noise.divisors[number] for number in block.numbers)
    wide = wide_from_words(block.groups, arrays["wide_groups"], arrays["wide_integers"])
    return Residuals(block.groups, arrays["integers"], divisors, wide)
