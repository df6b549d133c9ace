"""The manifest of a release: which answers count, or that none ever will.

Reads: receipts, or a store.  Gives: Manifest.
"""

from dataclasses import dataclass
from typing import Any

from residualplanner.gate.discrete_gaussian import NoiseError
from residualplanner.gate.measurement.noise_record import NoiseRecord, noise_from_json, noise_to_json
from residualplanner.ground.checks import is_sha256
from residualplanner.ground.errors import FileFormatError, StoreError
from residualplanner.ground.json import json_text, parse_json
from residualplanner.ground.stores import ObjectStore
from residualplanner.method.plan.plan import Plan
from residualplanner.scale.stored.answer_objects import Receipt
from residualplanner.scale.stored.object_names import MANIFEST
from residualplanner.scale.stored.release import StoredRelease

_FORMAT = {"format": "residualplanner/stored-measurement", "version": 1}
#: What stands in the store as the manifest of a release that was given up.
_ABORTED = {**_FORMAT, "is_aborted": True}


@dataclass(frozen=True, eq=False, slots=True)
class Manifest:
    """Which answers make up a release.

    Attributes:
        release: what was measured.
        noise: how it was drawn, and what it cost.
        generations: in which each task was drawn.
        hashes: the SHA-256 of the answers of each task.
    """

    release: StoredRelease
    noise: NoiseRecord
    generations: tuple[int, ...]
    hashes: tuple[str, ...]


def write_manifest(release: StoredRelease, plan: Plan, noise: NoiseRecord, receipts: list[Receipt]) -> Manifest:
    """Write the manifest, unless there is one, and read what there is.

    Raises:
        NoiseError: two tasks have the same random bytes.
        StoreError: the store failed, or the release was given up.
        FileFormatError: another manifest was there, and is damaged.
    """
    if len({receipt.witness for receipt in receipts}) < len(receipts):
        raise NoiseError(
            "two tasks have the same random bytes, as if machines had been cloned; nothing may be released: give the "
            "release up with abort_measuring"
        )
    terms = release.terms
    fields = {
        **_FORMAT,
        "release": terms.identifier,
        "plan_sha256": terms.plan_sha256,
        "noise": noise_to_json(noise, plan),
        "answers": [[receipt.generation, receipt.sha256] for receipt in receipts],
    }
    release.store.create_if_absent(MANIFEST, json_text(fields))
    return read_manifest(release, plan, len(receipts))


def has_ended(store: ObjectStore) -> bool:
    """Whether a release is complete, or was given up."""
    return MANIFEST in store.names(MANIFEST)


def end_without_answers(release: StoredRelease) -> None:
    """Give a release up: it never gets a manifest.

    Raises:
        StoreError: it has one, or the store failed.
    """
    store = release.store
    if not store.create_if_absent(MANIFEST, json_text(_ABORTED)) and _stated(store) != _ABORTED:
        raise StoreError(f"{store} holds a complete release; read it, or remove the folder")


def read_manifest(release: StoredRelease, plan: Plan, tasks: int) -> Manifest:
    """The manifest in a store, whose every word is compared with the plan.

    Args:
        release: what was measured.
        plan: its plan.
        tasks: how many tasks it has.

    Raises:
        FileFormatError: it is not there, damaged, or of another release.
        BudgetError: it states another cost than the plan's noise has.
        StoreError: the release was given up, or the store cannot be read.
    """
    stated, terms = _stated(release.store), release.terms
    if stated == _ABORTED:
        raise StoreError(
            f"the release in {release.store} was given up; its charge stays, and it has no answers.  Name another store"
        )
    expected: dict[str, Any] = {**_FORMAT, "release": terms.identifier, "plan_sha256": terms.plan_sha256}
    if not isinstance(stated, dict) or set(stated) != {*expected, "noise", "answers"}:
        raise FileFormatError(f"{MANIFEST} has missing or unknown fields")
    if {name: stated[name] for name in expected} != expected:
        raise FileFormatError(f"{MANIFEST} is of another release or version")
    noise = noise_from_json(stated["noise"], plan)
    if noise.kind != "discrete" or noise.bits != terms.source:
        raise FileFormatError(f"{MANIFEST} states other noise than the release was opened with")
    answers = stated["answers"]
    if not isinstance(answers, list) or len(answers) != tasks or not all(map(_is_answer, answers)):
        raise FileFormatError(f"{MANIFEST} does not list the answers of each task")
    return Manifest(release, noise, tuple(one for one, _ in answers), tuple(digest for _, digest in answers))


def _stated(store: ObjectStore) -> Any:
    try:
        return parse_json(store.read(MANIFEST).decode("utf-8", "replace"))
    except FileNotFoundError:
        raise FileFormatError(f"the release in {store} is not complete; complete it with resume_measuring") from None


def _is_answer(stated: object) -> bool:
    """Whether it is a generation and a hash."""
    if not isinstance(stated, list) or len(stated) != 2:
        return False
    generation, digest = stated
    return type(generation) is int and generation >= 0 and is_sha256(digest)
