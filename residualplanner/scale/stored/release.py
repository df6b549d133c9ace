"""A release while it is measured: what its store says of it from before the charge on.

Reads: a plan and choices, or a store.  Gives: StoredRelease.
"""

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
from residualplanner.scale.stored.object_names import RELEASE, plan_name

_FORMAT = {"format": "residualplanner/release", "version": 1}
_IDENTIFIER = re.compile(r"[0-9a-f]{32}")
_OPEN_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Terms:
    """What is decided when a release is opened, and never changes.

    Attributes:
        identifier: of the release, random; the ledger's entries name it.
        plan_sha256: the hash of its plan.
        task_cells: how many cells the tables of a task may have together.
        source: the mark of the source of random bytes.
        has_ledger: whether a ledger is charged.
        is_strict: whether a task that is drawn again is charged again.
        again: whether the plan may be charged though the ledger held it already.
    """

    identifier: str
    plan_sha256: str
    task_cells: int
    source: str
    has_ledger: bool
    is_strict: bool
    again: bool


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A release in its store; it is sent to the workers, and holds no record.

    Attributes:
        store: holds the objects of this release alone.
        terms: what was decided.
    """

    store: ObjectStore
    terms: Terms

    @property
    def purpose(self) -> str:
        """The start of the label of the release's entry in the ledger."""
        return f"release {self.terms.identifier}: "

    def purpose_of_generation(self, generation: int) -> str:
        """The start of the label of the entry in the ledger for tasks that are drawn again."""
        return f"release {self.terms.identifier}, drawn again in generation {generation}: "

    def plan(self) -> Plan:
        """The plan, which the store holds.

        Raises:
            FileFormatError: it is not there, or not the plan that the release was opened with.
            StoreError: the store cannot be read.
        """
        try:
            plan = plan_of_bytes(self.store.read(plan_name(self.terms.plan_sha256)))
        except FileNotFoundError:
            raise FileFormatError("the store does not hold the plan of its release; it was removed") from None
        if plan_hash(plan) != self.terms.plan_sha256:
            raise FileFormatError("the plan in the store is not the one that the release was opened with")
        return plan


def open_release(
    store: ObjectStore, plan: Plan, *, task_cells: int, source: str, has_ledger: bool, is_strict: bool, again: bool
) -> StoredRelease:
    """Open a release in a store; from then on the store holds its plan and its terms.

    Raises:
        StoreError: the store holds a release already, or cannot be written.
    """
    terms = Terms(os.urandom(16).hex(), plan_hash(plan), task_cells, source, has_ledger, is_strict, again)
    store.create_if_absent(plan_name(terms.plan_sha256), plan_bytes(plan))
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
    """The release that a store holds.

    Raises:
        FileFormatError: there is none, or it is damaged.
        StoreError: the store cannot be read.
    """
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


def _in_use(store: ObjectStore) -> StoreError:
    return StoreError(
        f"{store} holds a release already; name another folder or prefix, or complete it with resume_measuring"
    )
