"""A release in a store: the names of its objects, its terms from before the charge, and the answers of its tasks."""

import hashlib
import io
import os
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from residualplanner.gate.ledger import Ledger, LedgerEntry
from residualplanner.gate.measurement.answers import Residuals
from residualplanner.ground.archive import archive_pieces, parse_archive
from residualplanner.ground.array_hashes import Array
from residualplanner.ground.checks import has_shape, is_sha256
from residualplanner.ground.errors import FileFormatError, StoreError
from residualplanner.ground.format_version import FORMAT_VERSION, require_version
from residualplanner.ground.json import json_text, parse_json
from residualplanner.ground.stores import ObjectStore
from residualplanner.method.plan.files import plan_bytes, plan_hash, plan_of_bytes
from residualplanner.method.plan.plan import Plan

#: The object that opens a release, and the one that ends it: it lists the answers, or says that there are none.
RELEASE, MANIFEST = "release.json", "manifest.json"
#: The answers of a task and the claim of who draws it, or the objects that keep others from making these, are called
#: ``answers/TASK.GENERATION`` and ``claims/TASK.GENERATION``; what issues a generation ``generations/GENERATION``.
ANSWERS, CLAIMS, GENERATIONS = "answers/", "claims/", "generations/"
_NUMBERED = re.compile(rf"(({ANSWERS}|{CLAIMS})[0-9]{{6}}\.|{GENERATIONS})[0-9]{{6}}", re.ASCII)

_FORMAT = {"format": "residualplanner/release", "version": FORMAT_VERSION}
_IDENTIFIER = re.compile(r"[0-9a-f]{32}")
_OPEN_LIMIT = 10_000
_KIND = "answers"
#: The content of a claim, or of answers, that only keeps others from being made.
CLOSED = b"closed"


def object_name(folder: str, task: int, generation: int) -> str:
    """The name of the claim of a task in a generation, or of the answers to it; it may say that there will be none."""
    return f"{of_task(folder, task)}{generation:06d}"


def of_task(folder: str, task: int) -> str:
    """The start of the names of all claims of a task, or of all answers to it."""
    return f"{folder}{task:06d}."


def numbered_names(store: ObjectStore, prefix: str) -> list[str]:
    """The names of claims, answers or generations that start with ``prefix``, ascending.

    Files that others leave in a folder, such as ``answers/.nfs0001`` and ``claims/.DS_Store``, are none of these.
    """
    return [name for name in store.names(prefix) if _NUMBERED.fullmatch(name)]


def generation_of(name: str) -> int:
    """The generation in the name of a claim, of answers, or of a generation."""
    return int(name[-6:])


def task_of(name: str) -> int:
    """The task in the name of a claim, or of answers."""
    return int(name[-13:-7])


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A release in its store, which holds nothing else; it is sent to the workers, and holds no record.

    All but the store is decided when the release is opened, and never changes.
    """

    store: ObjectStore
    identifier: str  # random; the ledger's entries name it
    plan_sha256: str
    task_cells: int  # how many cells the tables of a task may have together
    source: str  # the mark of the source of random bytes
    has_ledger: bool
    again: bool  # whether the plan may be charged though the ledger held it already

    @property
    def purpose(self) -> str:
        """The start of the label of the release's entry in the ledger."""
        return f"release {self.identifier}: "

    def entry(self, ledger: Ledger, *, least: Fraction = Fraction(0)) -> LedgerEntry | None:
        """The first entry of a ledger for this release that has at least this cost, if there is one."""
        own = (entry for entry in ledger.entries if entry.label.startswith(self.purpose))
        return next((entry for entry in own if entry.cost >= least), None)

    @property
    def is_complete(self) -> bool:
        """Whether it has ended: all answers are there, or it was given up."""
        return MANIFEST in self.store.names(MANIFEST)

    def plan(self) -> Plan:
        """The plan, which the store holds; FileFormatError unless it is that with which the release was opened."""
        try:
            plan = plan_of_bytes(self.store.read(_plan_name(self.plan_sha256)))
        except FileNotFoundError:
            raise FileFormatError("the store does not hold the plan of its release; it was removed") from None
        if plan_hash(plan) != self.plan_sha256:
            raise FileFormatError("the plan in the store is not the one that the release was opened with")
        return plan


#: What `RELEASE` states.
_TERMS: dict[str, Any] = {
    "identifier": lambda word: isinstance(word, str) and _IDENTIFIER.fullmatch(word) is not None,
    "plan_sha256": is_sha256,
    "task_cells": lambda cells: type(cells) is int and 1 <= cells <= 2**31,
    "source": lambda mark: isinstance(mark, str) and len(mark) <= 200,
    "has_ledger": bool,
    "again": bool,
}


def open_release(
    store: ObjectStore, plan: Plan, *, task_cells: int, source: str, has_ledger: bool, again: bool
) -> StoredRelease:
    """Open a release in a store, which then holds its plan and its terms; StoreError where it holds one already."""
    release = StoredRelease(store, os.urandom(16).hex(), plan_hash(plan), task_cells, source, has_ledger, again)
    store.create_if_absent(_plan_name(release.plan_sha256), plan_bytes(plan))
    release.plan()  # one that was there before may be damaged
    if not store.create_if_absent(RELEASE, json_text(_FORMAT | {name: getattr(release, name) for name in _TERMS})):
        raise in_use(store)
    return release


def opened_release(store: ObjectStore) -> StoredRelease:
    """The release that a store holds; FileFormatError where there is none, or it is damaged."""
    try:
        content = store.read(RELEASE)
    except FileNotFoundError:
        raise FileFormatError(f"{store} holds no release; measure_in_store begins one") from None
    stated = parse_json(content[:_OPEN_LIMIT].decode("utf-8", "replace"))
    if not isinstance(stated, dict) or stated.get("format") != _FORMAT["format"]:
        raise FileFormatError(f"{store}: {RELEASE} is not that of a release, or damaged")
    require_version(stated.get("version"), None, kind="store", where=f"{store}: {RELEASE}: ")
    terms = {name: value for name, value in stated.items() if name not in _FORMAT}
    if not has_shape(terms, _TERMS):
        raise FileFormatError(f"{RELEASE} has missing or unknown fields, or one that this library never writes")
    return StoredRelease(store, **terms)


def _plan_name(sha256: str) -> str:
    return f"plans/{sha256}.plan"


def in_use(store: ObjectStore) -> StoreError:
    """The refusal of a store that holds a release."""
    message = f"{store} holds a release already; name another folder or prefix, or complete it with resume_measuring"
    return StoreError(message)


class Outcome(StrEnum):
    """How an attempt to draw a task ended."""

    ANSWERED = "answered"
    NONE = "none"  # nobody has published answers yet; another attempt may be at it
    NOISE = "noise"  # random bytes or arithmetic failed a check
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the driver learns of a task; the last three fields are those of its answers, if there are any."""

    task: int
    outcome: Outcome
    generation: int = -1
    sha256: str = ""
    #: 32 random bytes, drawn after the noise, as hexadecimal digits; equal ones show that machines, or the states of
    #: their generators, were cloned.
    witness: str = ""

    def to_bytes(self) -> bytes:
        """As JSON."""
        return json_text(asdict(self))


def receipt_of_bytes(content: bytes) -> Receipt:
    """Undo `Receipt.to_bytes`."""
    stated = parse_json(content.decode("utf-8"))
    return Receipt(**{**stated, "outcome": Outcome(stated["outcome"])})


def answer_bytes(
    release: StoredRelease, task: int, generation: int, witness: str, answers: Residuals
) -> tuple[bytes, Receipt]:
    """The object that holds the answers of a task, and its receipt."""
    header = {**_header(release, task, generation), "witness": witness}
    file = io.BytesIO()
    archive_pieces(kind=_KIND, header=header, arrays=answers.to_arrays())(file)
    content = file.getvalue()
    return content, Receipt(task, Outcome.ANSWERED, generation, hashlib.sha256(content).hexdigest(), witness)


def read_answers(
    release: StoredRelease, task: int, generation: int, content: bytes
) -> tuple[Receipt, dict[str, Array]]:
    """Undo `answer_bytes`; FileFormatError where it is damaged, or of another release, task or generation."""
    where = f"the answers of task {task} in {release.store}"
    try:
        header, arrays = parse_archive(content, kind=_KIND)
    except FileFormatError as error:
        raise FileFormatError(f"{where} are damaged: {error}") from None
    witness = header.pop("witness", None)
    if header != _header(release, task, generation) or not is_sha256(witness):
        raise FileFormatError(f"{where} belong to another release or task")
    digest = hashlib.sha256(content).hexdigest()
    return Receipt(task, Outcome.ANSWERED, generation, digest, witness), arrays


def find_answers(release: StoredRelease, task: int) -> Receipt:
    """The receipt of a task's answers in the store; its outcome is "none" where there are none."""
    for name in numbered_names(release.store, of_task(ANSWERS, task)):
        content = release.store.read(name)
        if content != CLOSED:
            return read_answers(release, task, generation_of(name), content)[0]
    return Receipt(task, Outcome.NONE)


def _header(release: StoredRelease, task: int, generation: int) -> dict[str, Any]:
    about = {"release": release.identifier, "plan_sha256": release.plan_sha256, "source": release.source}
    return about | {"task": task, "generation": generation}
