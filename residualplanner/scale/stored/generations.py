"""The driver issues a generation, has workers draw the missing tasks in it, and closes it before it issues the next.

An attempt of an old generation may still be at work somewhere, although its engine has reported it as ended.  So a
generation is closed for each missing task before another is issued: its claim is made, so that nobody draws any more,
and then its answers, so that nobody who has drawn can publish.  At most one generation can have answers to a task.

A snapshot of a store, and the store itself, can both be resumed.  Each generation has random bytes of its own in the
store, and its hash in the ledger before anything is drawn in it; the hash of all answers is there before they can be
read.  So whoever holds an older copy lacks a stage that the ledger has, and draws nothing.
"""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from residualplanner.gate.discrete_gaussian import ByteSource
from residualplanner.gate.ledger import Ledger
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import NoiseError, StoreError
from residualplanner.ground.json import json_text
from residualplanner.scale.engines.cluster import Cluster
from residualplanner.scale.stored import release as stored
from residualplanner.scale.stored.tasks import Tasks, tasks_of_release

#: How often a run has tasks drawn before it gives up; another run can go on.
ROUNDS = 3
#: The stage of the ledger that has the hash of all answers.
_ANSWERS = "answers"


@dataclass(frozen=True, slots=True)
class Drawing:
    """Draws tasks in one generation, which the driver has issued; it is sent to the workers, and holds no record."""

    release: stored.StoredRelease
    generation: int
    source: ByteSource

    def __call__(self, task: int, counted: list[IntArray]) -> bytes:
        """Draw a task, unless that was done or begun before, and return the bytes of its receipt.

        Whatever goes wrong is reported as an `Outcome`, never raised: engines log the errors of their workers.
        """
        try:
            receipt = self._attempt(task, counted)
        except NoiseError:
            receipt = stored.Receipt(task, stored.Outcome.NOISE)
        except Exception:  # noqa: BLE001 - counts are in sight
            receipt = stored.Receipt(task, stored.Outcome.FAILED)
        return receipt.to_bytes()

    def _attempt(self, task: int, counted: list[IntArray]) -> stored.Receipt:
        """Claim, draw, publish; from the claim on, nothing depends on a value until the answers are published."""
        release = self.release
        tasks = tasks_of_release(release)  # before the claim, so that it is not wasted if the plan cannot be read
        found = stored.find_answers(release, task)
        if found.outcome is stored.Outcome.ANSWERED or not self._claim(task):
            return found
        answers = tasks.answers(task, counted, self.source)
        witness = os.urandom(32).hex()
        content, receipt = stored.answer_bytes(release, task, self.generation, witness, answers)
        del answers
        if release.store.create_if_absent(stored.object_name(stored.ANSWERS, task, self.generation), content):
            return receipt
        # The generation was closed meanwhile, or the store cannot tell that these are ours: what it holds counts.
        return stored.find_answers(release, task)

    def _claim(self, task: int) -> bool:
        """Whether nobody has claimed the task in this generation or a later one, and nobody else can from now on."""
        store = self.release.store
        claims = map(stored.generation_of, stored.numbered_names(store, stored.of_task(stored.CLAIMS, task)))
        if any(generation >= self.generation for generation in claims):
            return False
        name = stored.object_name(stored.CLAIMS, task, self.generation)
        return store.create_if_absent(name, os.urandom(16).hex().encode("ascii"))


def _found(release: stored.StoredRelease, task: int) -> bytes:
    """The receipt of the answers that are in the store; workers are asked for it, as answers may be large."""
    return stored.find_answers(release, task).to_bytes()


@dataclass(eq=False, slots=True)
class Driver:
    """One run of the driver of a release."""

    release: stored.StoredRelease
    tasks: Tasks
    cluster: Cluster
    source: ByteSource
    ledger: Ledger | None  # without one, nothing tells a store from its copy
    _receipts: dict[int, stored.Receipt] = field(init=False, default_factory=dict)
    _issued: int | None = field(init=False, default=None)

    def receipts(self) -> list[stored.Receipt]:
        """Have all tasks drawn that have no answers yet; the receipts of all.

        StoreError where some could not be drawn, or another run is at work; NoiseError, DataError and BudgetError where
        a check of noise, records or ledger fails, as where the store is a copy of another one.
        """
        store = self.release.store
        self._find(sorted({stored.task_of(name) for name in stored.numbered_names(store, stored.ANSWERS)}))
        for _ in range(ROUNDS):
            if not self._missing:
                break
            drawing = Drawing(self.release, self._issue(), self.source)
            outcomes = self._keep(self.cluster.draw([self.tasks.counting(task) for task in self._missing], drawing))
            if stored.Outcome.NOISE in outcomes:
                raise NoiseError("a worker's random bytes or arithmetic failed a check; nothing may be released")
            self._find(self._missing)  # an attempt may have published, and died before its receipt was sent
        if self._missing:
            raise StoreError(
                f"some tasks could not be drawn in {ROUNDS} attempts; see that {store} has room, and that all workers "
                "can read and write it"
            )
        receipts = [self._receipts[task] for task in range(len(self.tasks))]
        answers = json_text([[receipt.generation, receipt.sha256] for receipt in receipts])
        # before they can be read
        self._record(_ANSWERS, self._known() | {_ANSWERS: hashlib.sha256(answers).hexdigest()})
        return receipts

    @property
    def _missing(self) -> list[int]:
        return [task for task in range(len(self.tasks)) if task not in self._receipts]

    def _find(self, tasks: list[int]) -> None:
        self._keep(self.cluster.map(partial(_found, self.release), tasks))

    def _keep(self, receipts: Iterable[bytes]) -> set[stored.Outcome]:
        """Keep the receipts that stand for answers; how all attempts ended."""
        found = list(map(stored.receipt_of_bytes, receipts))
        self._receipts |= {receipt.task: receipt for receipt in found if receipt.outcome is stored.Outcome.ANSWERED}
        return {receipt.outcome for receipt in found}

    def _issue(self) -> int:
        """Close all generations for the missing tasks, and issue the next one."""
        store, missing = self.release.store, self._missing
        issued = sorted(map(stored.generation_of, stored.numbered_names(store, stored.GENERATIONS)))
        latest = issued[-1] if issued else -1
        if self._issued not in (None, latest):
            raise self._other_run()
        if self.ledger is not None:
            self.ledger.require_stages(self.release.identifier, known=self._known())
        close(self.release, missing, issued)
        self._find(missing if issued else [])
        name = f"{stored.GENERATIONS}{latest + 1:06d}"
        if not store.create_if_absent(name, os.urandom(32).hex().encode("ascii")):
            raise self._other_run()
        # who gives a release up says so first, and then closes the generations that it finds
        if self.release.is_complete:
            raise StoreError(f"the release in {store} was given up, or completed by another run")
        self._issued = latest + 1
        self._record(_stage(name), self._known())  # before anything is drawn in it
        return latest + 1

    def _record(self, stage: str, known: dict[str, str]) -> None:
        """Record a stage, of those that the store holds; BudgetError where the ledger has one that it does not."""
        if self.ledger is None:
            return
        try:
            self.ledger.record_stage(self.release.identifier, stage, known[stage], known=known)
        except OSError as error:
            raise StoreError(f"the ledger could not be written: {error.strerror or error}") from None

    def _known(self) -> dict[str, str]:
        store = self.release.store
        names = stored.numbered_names(store, stored.GENERATIONS)
        return {_stage(name): hashlib.sha256(store.read(name)).hexdigest() for name in names}

    def _other_run(self) -> StoreError:
        store = self.release.store
        return StoreError(f"another run draws the same release, in {store}; let it end, or end it, and resume then")


def _stage(name: str) -> str:
    return f"generation {stored.generation_of(name)}"


def close(release: stored.StoredRelease, tasks: Iterable[int], generations: Iterable[int]) -> None:
    """Make it impossible to draw or publish these tasks in these generations; where the store fails, of some."""
    store = release.store
    there = {*stored.numbered_names(store, stored.CLAIMS), *stored.numbered_names(store, stored.ANSWERS)}
    for generation in generations:
        for task in tasks:
            for folder in (stored.CLAIMS, stored.ANSWERS):  # in this order
                name = stored.object_name(folder, task, generation)
                if name not in there:
                    store.create_if_absent(name, stored.CLOSED)
