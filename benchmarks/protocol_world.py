"""A small world in which drivers and workers die, are doubled, and come back: measuring into a store, step by step.

Everything is drawn from a seed.  An attempt that stalls is reported as dead by its engine and goes on later, while a
driver works in another generation or after the manifest.  One thread runs at a time, so that a seed gives one history.
"""

import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

import residualplanner as rp
from residualplanner.gate.discrete_gaussian import OperatingSystemBits
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.sources.opening import open_source
from residualplanner.gate.spend import Bill
from residualplanner.ground.stores import ObjectStore
from residualplanner.scale.engines.partitions import CountingTask
from residualplanner.scale.stored import measuring
from residualplanner.scale.stored.release import (
    ANSWERS,
    CLAIMS,
    CLOSED,
    GENERATIONS,
    MANIFEST,
    RELEASE,
    Outcome,
    Receipt,
    generation_of,
    task_of,
)
from residualplanner.scale.stored.tasks import tasks_of_release

DOMAIN = rp.Domain({"a": 3, "b": 2, "c": 4, "d": 2})
PLAN = rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.zcdp("1"))
RECORDS = np.random.default_rng(5).integers(0, DOMAIN.sizes, (200, len(DOMAIN)))
#: Four tasks.
TASK_CELLS = 16
#: Drivers before faults cease, so that every history ends.
DRIVERS = 12


class Died(BaseException):
    """A process is gone."""


class MemoryStore:
    """A store in memory; what it makes is conditional and lasts."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}

    def create_if_absent(self, name: str, content: bytes) -> bool:
        if name in self._objects:
            return False
        self._objects[name] = content
        return True

    def read(self, name: str) -> bytes:
        if name not in self._objects:
            raise FileNotFoundError(name)
        return self._objects[name]

    def names(self, prefix: str) -> list[str]:
        return sorted(name for name in self._objects if name.startswith(prefix))

    def remove(self, name: str) -> None:
        self._objects.pop(name, None)

    def remove_unfinished(self) -> None: ...

    def free_bytes(self) -> int | None:
        return None


@dataclass(frozen=True)
class Fault:
    """What goes wrong at a step: the process dies, it stalls, or it is told of an error, before or after the step."""

    kind: str
    is_after: bool


@dataclass(eq=False)
class Actor:
    """A process: a driver, or an attempt to draw a task in a generation."""

    world: "World"
    task: int = -1
    generation: int = -1
    faults: dict[int, Fault] = field(default_factory=dict)
    stalls_before: str = ""
    attempt: "Attempt | None" = None
    has_claim: bool = False
    _steps: int = 0
    _is_dead: bool = False

    @property
    def kind(self) -> str:
        return "driver" if self.task < 0 else "worker"

    def step(self, word: str, do: Callable[[], Any]) -> Any:
        if self._is_dead:
            raise Died
        if self.kind == "driver":
            self.world.tick()
        fault = self.faults.get(self._steps)
        self._steps += 1
        if word == self.stalls_before:
            fault, self.stalls_before = Fault("stall", False), ""
        if fault is None:
            return do()
        if not fault.is_after:
            self._suffer(fault, word)
        result = do()
        if fault.is_after:
            self._suffer(fault, word)
        return result

    def _suffer(self, fault: Fault, word: str) -> None:
        self.world.injected[f"{fault.kind} of a {self.kind} {'after' if fault.is_after else 'before'}: {word}"] += 1
        if fault.kind == "stall" and self.attempt is not None:
            self.attempt.pause()
        elif fault.kind == "error":
            raise rp.errors.StoreError("the answer of the store was lost")
        else:
            self._is_dead = True
            raise Died


@dataclass(frozen=True, eq=False)
class ActorStore:
    """The world's store as one process sees it."""

    actor: Actor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ActorStore) and other.actor.world is self.actor.world

    def __hash__(self) -> int:
        return hash(id(self.actor.world))

    def create_if_absent(self, name: str, content: bytes) -> bool:
        return bool(
            self.actor.step(f"create {_kind(name)}", lambda: self.actor.world.create(self.actor, name, content))
        )

    def read(self, name: str) -> bytes:
        return bytes(self.actor.step(f"read {_kind(name)}", lambda: self._inner.read(name)))

    def names(self, prefix: str) -> list[str]:
        return list(self.actor.step(f"list {_kind(prefix)}", lambda: self._inner.names(prefix)))

    def remove(self, name: str) -> None:
        self.actor.step(f"remove {_kind(name)}", lambda: self._inner.remove(name))

    def remove_unfinished(self) -> None:
        self.actor.step("remove unfinished", self._inner.remove_unfinished)

    def free_bytes(self) -> int | None:
        return self._inner.free_bytes()

    @property
    def _inner(self) -> ObjectStore:
        return self.actor.world.store


def _kind(name: str) -> str:
    return name.partition("/")[0]


@dataclass(frozen=True, eq=False)
class WatchedBits:
    """The operating system's bits, and a note of who drew; drawing is a step at which the drawer may die, too."""

    actor: Actor
    is_secure = False  # so that no other thread draws
    mark = OperatingSystemBits.mark

    def read(self, count: int) -> bytes:
        return bytes(self.actor.step("draw", lambda: self.actor.world.draw(self.actor, count)))


class Attempt(threading.Thread):
    """One call of the drawing function by a worker, which can stall and go on."""

    def __init__(self, actor: Actor, call: Callable[[], bytes]) -> None:
        super().__init__(daemon=True)
        self._call, self._go, self._stopped = call, threading.Event(), threading.Event()
        self.receipt: bytes | None = None
        actor.attempt = self

    def run(self) -> None:
        try:
            self._go.wait()
            self.receipt = self._call()
        except Died:
            pass
        finally:
            self.is_over = True
            self._stopped.set()

    is_over = False

    def pause(self) -> None:
        self._go.clear()
        self._stopped.set()
        self._go.wait()

    def advance(self) -> None:
        """Let it run until it ends or stalls."""
        if not self.is_alive() and not self.is_over:
            self.start()
        self._stopped.clear()
        self._go.set()
        self._stopped.wait()


@dataclass(frozen=True)
class Scene:
    """A history that is not left to chance: each first attempt of the first generation stalls, and goes on at the end.

    Attributes:
        step: before which it stalls.
        attempts: how many there are of each task in a generation.
    """

    step: str
    attempts: int = 1


@dataclass(eq=False)
class World:
    """One history.

    Attributes:
        store: the real one.
        random: decides everything.
        scene: what happens, if it is not left to chance.
        ledger: charged.
        injected: how often which fault happened.
        published: the actors that made answers of a task, in order.
        wrongs: what must not happen, and did.
    """

    store: ObjectStore
    random: random.Random
    scene: Scene | None = None
    ledger: rp.Ledger = field(default_factory=lambda: rp.Ledger(rp.pcost(1000)))
    injected: Counter[str] = field(default_factory=Counter)
    published: dict[int, list[Actor]] = field(default_factory=dict)
    drawn: list[Actor] = field(default_factory=list)
    wrongs: list[str] = field(default_factory=list)
    _stalled: list[Attempt] = field(default_factory=list)
    _is_calm: bool = False

    def history(self) -> "World":
        """Drivers begin, die and go on, until the release is complete or given up; then what is left of them."""
        outcome = None
        gives_up = self.scene is None and self.random.random() < 0.1
        for number in range(100):
            self._is_calm = number >= DRIVERS or self.scene is not None
            if gives_up and number == 4 and self.store.names(RELEASE) and not self.store.names(MANIFEST):
                self._give_up()
                return self
            outcome = self._drive()
            if isinstance(outcome, Measurement):
                break
            if self.store.names(MANIFEST) == [] and self._can_be_read():
                self.wrongs.append("answers can be read before the manifest")
        if not isinstance(outcome, Measurement):
            self.wrongs.append(f"the release was never completed: {outcome!r}")
            return self
        self._wake_all()
        self._check(outcome)
        return self

    def tick(self) -> None:
        """While a driver works, a stalled attempt may go on."""
        if self._stalled and not self._is_calm and self.random.random() < 0.2:
            self._wake(self._stalled.pop(self.random.randrange(len(self._stalled))))

    def create(self, actor: Actor, name: str, content: bytes) -> bool:
        is_made = self.store.create_if_absent(name, content)
        if is_made and actor.kind == "worker" and name.startswith(CLAIMS):
            actor.has_claim = True
            if max(map(generation_of, self.store.names(GENERATIONS))) > actor.generation:
                self.wrongs.append("a task was claimed in a generation that is over")
        if is_made and name.startswith(ANSWERS) and content != CLOSED:
            self.published.setdefault(task_of(name), []).append(actor)
            if (task_of(name), generation_of(name)) != (actor.task, actor.generation):
                self.wrongs.append("answers were published for another task or generation")
            if not self.ledger.spent >= self._cost:
                self.wrongs.append("answers were published before the charge")
        return is_made

    def draw(self, actor: Actor, count: int) -> bytes:
        if actor not in self.drawn:
            self.drawn.append(actor)
            if not actor.has_claim:
                self.wrongs.append("noise was drawn after a lost claim")
            if not self.ledger.spent >= self._cost:
                self.wrongs.append("noise was drawn before the charge")
        return os.urandom(count)

    def attempts(self, task: CountingTask, tables: list[Any], draw: Any) -> list[Attempt]:
        """Have workers draw, one after another; afterwards each attempt is over, or stalls."""
        if self.scene is None:
            return [self._attempt(task, tables, draw) for _ in range(self.random.choice((1, 1, 2, 3, 4)))]
        steps = [self.scene.step if draw.generation == 0 else "", *[""] * (self.scene.attempts - 1)]
        return [self._attempt(task, tables, draw, step) for step in steps]

    def _attempt(self, task: CountingTask, tables: list[Any], draw: Any, stalls_before: str = "") -> Attempt:
        faults = self._faults(12, 0.5, ("death", "stall", "stall", "error"))
        actor = Actor(self, task.number, draw.generation, faults, stalls_before)
        own = replace(draw, release=replace(draw.release, store=ActorStore(actor)), source=WatchedBits(actor))
        attempt = Attempt(actor, lambda: own(task.number, [table.copy() for table in tables]))
        self._wake(attempt)
        return attempt

    def _drive(self) -> Measurement | BaseException:
        driver = Actor(self, faults=self._faults(40, 0.8, ("death", "death", "error")))
        options = measuring.Options(self.ledger, task_cells=TASK_CELLS)
        with _drivers_of(self, driver):
            try:
                if self.store.names(RELEASE):
                    return measuring.resumed(ActorStore(driver), RECORDS, options)
                return measuring.begun(PLAN, RECORDS, ActorStore(driver), options)
            except (Died, rp.errors.ResidualPlannerError) as error:
                return error

    def _faults(self, steps: int, chance: float, kinds: Sequence[str]) -> dict[int, Fault]:
        if self._is_calm or self.random.random() > chance:
            return {}
        some = self.random.sample(range(steps), self.random.choice((1, 1, 2)))
        return {step: Fault(self.random.choice(kinds), self.random.random() < 0.5) for step in some}

    def _wake(self, attempt: Attempt) -> None:
        attempt.advance()
        if not attempt.is_over:
            self._stalled.append(attempt)

    def _wake_all(self) -> None:
        while self._stalled:
            self._wake(self._stalled.pop())

    def _can_be_read(self) -> bool:
        try:
            rp.scale.load_stored_measurement(self.store)
        except (rp.errors.FileFormatError, rp.errors.StoreError):
            return False
        return True

    def _give_up(self) -> None:
        rp.scale.abort_measuring(self.store)
        self._wake_all()
        if any(self.store.read(name) != CLOSED for name in self.store.names(ANSWERS)) or self._can_be_read():
            self.wrongs.append("a release that was given up has answers")

    @property
    def _cost(self) -> Fraction:
        return measuring.exact_noise(PLAN).cost

    def _check(self, measurement: Measurement) -> None:
        """What must hold at the end, when nobody is at work any more."""
        if any(len(actors) != 1 for actors in self.published.values()):
            self.wrongs.append("a task has two answers")
        attempts = Counter((actor.task, actor.generation) for actor in self.drawn)
        if any(count > 1 for count in attempts.values()):
            self.wrongs.append("a task was drawn twice in one generation")
        again = rp.scale.load_stored_measurement(self.store)
        if not np.array_equal(again.residuals.values, measurement.residuals.values):
            self.wrongs.append("the answers changed after the manifest")
        tasks = tasks_of_release(measuring.stored.opened_release(self.store))
        if sorted(self.published) != list(range(len(tasks))):
            self.wrongs.append("a task has no answers")
        if self.ledger.spent != self._cost:
            self.wrongs.append("the ledger was charged wrongly")


@dataclass(frozen=True, eq=False)
class UnreliableCluster:
    """Workers that attempt each task up to four times, whether or not an attempt succeeded."""

    world: World
    driver: Actor

    def check(self, tasks: Sequence[CountingTask]) -> None:
        del tasks
        self.driver.step("check the records", lambda: None)

    def draw(self, tasks: Sequence[CountingTask], draw: Any) -> list[bytes]:
        source, receipts = open_source(RECORDS, DOMAIN), []
        for task in tasks:
            tables = source.count(list(task.groups))
            attempts = self.world.attempts(task, tables, draw)
            done = [attempt.receipt for attempt in attempts if attempt.receipt is not None]
            receipts.append(done[-1] if done else Receipt(task.number, Outcome.FAILED).to_bytes())
            self.driver.step("wait for workers", lambda: None)
        if any(Outcome.FAILED.encode() in receipt for receipt in receipts) and self.world.random.random() < 0.3:
            raise rp.errors.DataError("the engine failed")
        return receipts

    def map(self, function: Callable[[int], bytes], numbers: Sequence[int], /) -> Iterator[bytes]:
        return map(function, numbers)


@contextmanager
def _drivers_of(world: World, driver: Actor) -> Iterator[None]:
    """A driver has the world's workers, and may die while it charges the ledger."""
    charge = Bill.charge

    def charged(*arguments: Any) -> Any:
        return driver.step("charge the ledger", lambda: charge(*arguments))

    with (
        mock.patch.object(measuring, "open_cluster", return_value=UnreliableCluster(world, driver)),
        mock.patch.object(Bill, "charge", charged),
    ):
        yield
