"""Generations: the driver issues one, has the missing tasks drawn in it, and closes it before it issues the next.

Reads: a release, its tasks, a cluster.  Gives: a receipt for every task.

An attempt of an old generation may still be at work somewhere, although its engine has reported it as ended.  So a
generation is closed for each missing task before another is issued: its claim is made, so that nobody draws any more,
and then its answers, so that nobody who has drawn can publish.  At most one generation can have answers to a task.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from residualplanner.gate.discrete_gaussian import ByteSource, NoiseError
from residualplanner.ground.errors import StoreError
from residualplanner.scale.engines.cluster import Cluster
from residualplanner.scale.stored.answer_objects import CLOSED, Outcome, Receipt, receipt_of_bytes
from residualplanner.scale.stored.drawing import AnswerSearch, Drawing
from residualplanner.scale.stored.manifest import has_ended
from residualplanner.scale.stored.object_names import (
    ANSWERS,
    CLAIMS,
    GENERATIONS,
    answer_name,
    claim_name,
    generation_name,
    generation_of,
    numbered_names,
    task_of,
)
from residualplanner.scale.stored.release import StoredRelease
from residualplanner.scale.stored.stages import Stages
from residualplanner.scale.stored.tasks import Tasks

#: How often a run has tasks drawn before it gives up; another run can go on.
ROUNDS = 3
#: Called before a generation is issued, with its number and the tasks that may have been drawn in the one before.
ChargeAgain = Callable[[int, list[int]], None]


@dataclass(eq=False, slots=True)
class Driver:
    """One run of the driver of a release.

    Attributes:
        release: what is measured.
        tasks: all of them.
        cluster: counts and draws.
        source: of random bytes.
        charge_again: charges tasks that are drawn again, where that is wanted.
        stages: tells copies of the store.
    """

    release: StoredRelease
    tasks: Tasks
    cluster: Cluster
    source: ByteSource
    charge_again: ChargeAgain
    stages: Stages
    _receipts: dict[int, Receipt] = field(init=False, default_factory=dict)
    _issued: int | None = field(init=False, default=None)

    def receipts(self) -> list[Receipt]:
        """Have all tasks drawn that have no answers yet; the receipts of all.

        Raises:
            StoreError: some could not be drawn, the store failed, or another run is at work in it.
            NoiseError: the random bytes or the arithmetic of a worker failed a check.
            DataError: the records do not fit the schema, or the engine failed.
            BudgetError: the ledger has too little left to charge tasks again, or the store is a copy of another one.
        """
        store = self.release.store
        self._find(sorted({task_of(name) for name in numbered_names(store, ANSWERS)}))
        for _ in range(ROUNDS):
            if not self._missing:
                break
            generation = self._issue()
            if self._missing:
                self._draw(generation)
        if self._missing:
            raise StoreError(
                f"some tasks could not be drawn in {ROUNDS} attempts; see that {store} has room, and that all workers "
                "can read and write it"
            )
        receipts = [self._receipts[task] for task in range(len(self.tasks))]
        self.stages.complete(receipts)
        return receipts

    @property
    def _missing(self) -> list[int]:
        return [task for task in range(len(self.tasks)) if task not in self._receipts]

    def _find(self, tasks: list[int]) -> None:
        """Keep the receipts of those tasks that have answers; workers read them, as they may be large."""
        self._keep(self.cluster.run(AnswerSearch(self.release), tasks))

    def _draw(self, generation: int) -> None:
        missing = self._missing
        counting = [self.tasks.counting(task) for task in missing]
        outcomes = self._keep(self.cluster.draw(counting, Drawing(self.release, generation, self.source)))
        if Outcome.NOISE in outcomes:
            raise NoiseError("a worker's random bytes or arithmetic failed a check; nothing may be released")
        self._find(self._missing)  # an attempt may have published, and died before its receipt was sent

    def _keep(self, receipts: Iterable[bytes]) -> set[Outcome]:
        """Keep the receipts that stand for answers; how all attempts ended."""
        found = list(map(receipt_of_bytes, receipts))
        self._receipts |= {receipt.task: receipt for receipt in found if receipt.outcome is Outcome.ANSWERED}
        return {receipt.outcome for receipt in found}

    def _issue(self) -> int:
        """Close all generations for the missing tasks, and issue the next one."""
        store, missing = self.release.store, self._missing
        issued = sorted(map(generation_of, numbered_names(store, GENERATIONS)))
        latest = issued[-1] if issued else -1
        if self._issued not in (None, latest):
            raise self._other_run()
        self.stages.require_own()
        close(self.release, missing, issued)
        self._find(missing if issued else [])
        if issued and self._missing:
            self.charge_again(latest + 1, claimed_by_workers(self.release, self._missing, latest))
        if not store.create_if_absent(generation_name(latest + 1), os.urandom(32).hex().encode("ascii")):
            raise self._other_run()
        if has_ended(store):  # who gives a release up says so first, and then closes the generations that it finds
            raise StoreError(f"the release in {store} was given up, or completed by another run")
        self._issued = latest + 1
        self.stages.issue(latest + 1)
        return latest + 1

    def _other_run(self) -> StoreError:
        return StoreError(
            f"another run draws the same release, in {self.release.store}; let it end, or end it, and resume then"
        )


def close(release: StoredRelease, tasks: Iterable[int], generations: Iterable[int]) -> None:
    """Make it impossible to draw or publish these tasks in these generations from now on.

    Raises:
        StoreError: the store failed; some may be closed.
    """
    store = release.store
    there = {*numbered_names(store, CLAIMS), *numbered_names(store, ANSWERS)}
    for generation in generations:
        for task in tasks:
            for name in (claim_name(task, generation), answer_name(task, generation)):  # in this order
                if name not in there:
                    store.create_if_absent(name, CLOSED)


def claimed_by_workers(release: StoredRelease, tasks: Iterable[int], generation: int) -> list[int]:
    """Those tasks that a worker claimed in a closed generation, and may have drawn."""
    return [task for task in tasks if release.store.read(claim_name(task, generation)) != CLOSED]
