"""Processes that measure through one ledger: followed from one call to the system to the next, or at work at once.

    python tests/session_processes.py FOLDER ROUNDS EVERY

Forks a process for each step, so that the package is imported once, and prints a line of JSON for each: for ROUNDS
races of two sessions; and for each of the `SCENES` its folder and copies of it, made before a call to the system that
changes what is on the disk, if the folder is not as it was before the last one, and of these every one in EVERY.

A process that is killed before that call leaves just that, as its locks and its files without a name go with it.
Commands are really killed, in `tests/shell/cli/test_killed.py`.
"""

import json
import os
import random
import shutil
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import residualplanner as rp
from residualplanner.gate.discrete_gaussian import OperatingSystemBits
from residualplanner.gate.measurement.measure import require_measurable
from residualplanner.gate.sources.source import Source

WORKLOAD = rp.marginals(rp.Domain({"a": 2, "b": 3}), up_to=2)
PLAN = rp.select(WORKLOAD, budget=rp.pcost("1/3"))
RECORDS = np.array([[0, 0], [1, 2], [1, 1]])
BUDGET = rp.pcost(2)
#: Calls before which the folder is looked at: whatever changes what is on the disk, or locks it.
_CHANGES = {"open", "write", "fsync", "flock", "close", "mkdir", "rename", "replace", "link", "unlink", "rmdir"}


def release(folder: Path) -> None:
    """A session that measures, saves the measurement, and then its tables."""
    session = rp.Session(RECORDS, ledger=folder / "ledger")
    measurement = session.measure(PLAN)
    measurement.save(folder / "measurement")
    rp.reconstruct(measurement).save(folder / "tables", format="csv")


def store(folder: Path) -> None:
    """A session whose ledger is charged for what is measured into a store, task by task."""
    session = rp.Session(RECORDS, ledger=folder / "ledger")
    rp.scale.measure_in_store(PLAN, RECORDS, folder / "store", ledger=session.ledger)


SCENES: dict[str, Callable[[Path], None]] = {"release": release, "store": store}


def copied(base: Path, scene: str, every: int) -> None:
    """Run a scene, and copy its folder before calls to the system that find it changed."""
    SCENES[scene](_with_ledger(base / "before"))  # what is imported when it is needed is there before the fork
    folder, last, changes = _with_ledger(base / "whole"), None, 0

    def copy(_frame: FrameType, event: str, called: Any) -> None:
        nonlocal last, changes
        if event != "c_call" or called.__name__ not in _CHANGES:
            return
        found = [(path, path.is_dir() or path.read_bytes()) for path in sorted(folder.rglob("*"))]
        if found != last:
            last, changes = found, changes + 1
            if changes % every == 0:
                new = shutil.copytree(folder, base / str(changes))
                print(json.dumps({"scene": scene, "folder": str(new), "status": None}), flush=True)

    def work() -> None:
        note_steps(folder)
        sys.setprofile(copy)
        SCENES[scene](folder)
        sys.setprofile(None)

    status = os.waitpid(forked(work), 0)[1]
    print(json.dumps({"scene": scene, "folder": str(folder), "status": status}), flush=True)


def note_steps(folder: Path) -> None:
    """Copy the ledger, as it is then, when records are counted, and when noise is drawn."""
    for name, owner, method in (("counting", Source, "count"), ("drawing", OperatingSystemBits, "read")):
        setattr(owner, method, _noted(folder / name, folder / "ledger", getattr(owner, method)))


def _noted(copy: Path, ledger: Path, function: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*arguments: Any, **options: Any) -> Any:
        copy.write_bytes(ledger.read_bytes())
        return function(*arguments, **options)

    return noted


def forked(work: Callable[[], None]) -> int:
    """The number of a process that works and ends."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return child


def _with_ledger(folder: Path) -> Path:
    folder.mkdir(parents=True)
    rp.Ledger.create(folder / "ledger", budget=BUDGET, data_set="d")
    return folder


def race(path: Path, seed: int) -> None:
    """Two sessions, each in a process of its own, measure plans of random costs at once."""
    chance, start, done = random.Random(seed), os.pipe(), os.pipe()
    rp.Ledger.create(path, budget=BUDGET, data_set="d")
    costs = [[Fraction(chance.randint(1, 40), 60) for _ in range(4)] for _ in range(2)]
    children = [forked(partial(_spend, path, costs[number], number, start, done)) for number in range(2)]
    os.close(start[1])
    os.close(done[1])
    with os.fdopen(done[0]) as told:
        lines = [json.loads(line) for line in told]
    os.close(start[0])
    status = [os.waitpid(child, 0)[1] for child in children]
    print(json.dumps({"scene": "race", "ledger": str(path), "status": status, "told": lines}), flush=True)


def _spend(path: Path, costs: list[Fraction], number: int, start: tuple[int, int], done: tuple[int, int]) -> None:
    """Measure plans of these costs, and tell of each whether it was measured; begin when both are there."""
    plans = [rp.select(WORKLOAD, budget=rp.pcost(cost)) for cost in costs]
    session = rp.Session(RECORDS, ledger=path)
    os.close(start[1])
    os.read(start[0], 1)  # returns when the last who could write has closed
    for plan in plans:
        try:
            session.measure(plan, again=True)  # two may cost the same
            is_measured = True
        except rp.errors.BudgetError:
            is_measured = False
        told = {
            "who": number,
            "is_measured": is_measured,
            "cost": str(require_measurable(plan, ledger=None, again=False)),
        }
        os.write(done[1], json.dumps(told).encode() + b"\n")
        time.sleep(0.02)  # longer than a process waits for a core, so that both take turns


if __name__ == "__main__":
    home, (rounds, every) = Path(sys.argv[1]), map(int, sys.argv[2:])
    for seed in range(rounds):
        race(home / f"{seed}.ledger", seed)
    for scene in SCENES:
        copied(home / scene, scene, every)
