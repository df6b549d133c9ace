"""A release while it is measured: the names of its objects, and what its store says of it from before the charge."""

import os
import re
from dataclasses import asdict, dataclass
from typing import Any

from residualplanner.ground.checks import is_sha256
from residualplanner.ground.errors import FileFormatError, StoreError
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

_FORMAT = {"format": "residualplanner/release", "version": 1}
_IDENTIFIER = re.compile(r"[0-9a-f]{32}")
_OPEN_LIMIT = 10_000


def claim_name(task: int, generation: int) -> str:
    """The name of the claim of a task in a generation: somebody draws it, or nobody will."""
    return f"{of_task(CLAIMS, task)}{generation:06d}"


def answer_name(task: int, generation: int) -> str:
    """The name of the answers to a task in a generation, or of the object that says that there will be none."""
    return f"{of_task(ANSWERS, task)}{generation:06d}"


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
class Terms:
    """What is decided when a release is opened, and never changes."""

    identifier: str  # random; the ledger's entries name it
    plan_sha256: str
    task_cells: int  # how many cells the tables of a task may have together
    source: str  # the mark of the source of random bytes
    has_ledger: bool
    is_strict: bool  # whether a task that is drawn again is charged again
    again: bool  # whether the plan may be charged though the ledger held it already


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A release in its store, which holds nothing else; it is sent to the workers, and holds no record."""

    store: ObjectStore
    terms: Terms

    @property
    def purpose(self) -> str:
        """The start of the label of the release's entry in the ledger."""
        return f"release {self.terms.identifier}: "

    def plan(self) -> Plan:
        """The plan, which the store holds; FileFormatError unless it is that with which the release was opened."""
        try:
            plan = plan_of_bytes(self.store.read(_plan_name(self.terms.plan_sha256)))
        except FileNotFoundError:
            raise FileFormatError("the store does not hold the plan of its release; it was removed") from None
        if plan_hash(plan) != self.terms.plan_sha256:
            raise FileFormatError("the plan in the store is not the one that the release was opened with")
        return plan


def open_release(
    store: ObjectStore, plan: Plan, *, task_cells: int, source: str, has_ledger: bool, is_strict: bool, again: bool
) -> StoredRelease:
    """Open a release in a store, which then holds its plan and its terms; StoreError where it holds one already."""
    terms = Terms(os.urandom(16).hex(), plan_hash(plan), task_cells, source, has_ledger, is_strict, again)
    store.create_if_absent(_plan_name(terms.plan_sha256), plan_bytes(plan))
    release = StoredRelease(store, terms)
    release.plan()  # one that was there before may be damaged
    if not store.create_if_absent(RELEASE, json_text({**_FORMAT, **asdict(terms)})):
        raise _in_use(store)
    return release


def require_unused(store: ObjectStore) -> None:
    """Raise StoreError if the store holds a release."""
    if RELEASE in store.names(RELEASE):
        raise _in_use(store)


def opened_release(store: ObjectStore) -> StoredRelease:
    """The release that a store holds; FileFormatError where there is none, or it is damaged."""
    try:
        content = store.read(RELEASE)
    except FileNotFoundError:
        raise FileFormatError(f"{store} holds no release; measure_in_store begins one") from None
    stated = parse_json(content[:_OPEN_LIMIT].decode("utf-8", "replace"))
    if not isinstance(stated, dict) or {name: stated.get(name) for name in _FORMAT} != _FORMAT:
        raise FileFormatError(f"{store}: {RELEASE} is not of this version, or damaged")
    return StoredRelease(store, _terms({name: value for name, value in stated.items() if name not in _FORMAT}))


def _terms(stated: dict[str, Any]) -> Terms:
    types = Terms.__annotations__
    if set(stated) != set(types) or any(type(stated[name]) is not kind for name, kind in types.items()):
        raise FileFormatError(f"{RELEASE} has missing or unknown fields, or one of another type")
    terms = Terms(**stated)
    is_sound = _IDENTIFIER.fullmatch(terms.identifier) and is_sha256(terms.plan_sha256)
    if not is_sound or not 1 <= terms.task_cells <= 2**31 or len(terms.source) > 200:
        raise FileFormatError(f"{RELEASE} has a field that this library never writes")
    return terms


def _plan_name(sha256: str) -> str:
    return f"plans/{sha256}.plan"


def _in_use(store: ObjectStore) -> StoreError:
    return StoreError(
        f"{store} holds a release already; name another folder or prefix, or complete it with resume_measuring"
    )
