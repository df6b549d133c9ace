"""A program that runs in a process of its own, with what it and all processes that it starts take.

The program prints "ready" when it has started, then a line of JSON, and then waits for a line.
"""

import json
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.processes import anonymous_bytes, memory_of, name_of, processor_seconds, tree_of, words_of

MIB = 2**20
#: The main class of a Java machine that works for Spark.
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class Spent(NamedTuple):
    """What a program said and took, in seconds of processors and in MiB.

    Attributes:
        said: the line of JSON.
        start: processor seconds until it was ready.
        work: processor seconds after that.
        before: memory of all its processes when it was ready.
        peak: the most memory of all its processes.
        driver: the most memory of its first process that is no file's.
        java: the same of the Java machine that it has started; 0 without one.
        start_by_kind: what ``start`` is the sum of, by `kind_of` its processes.
        work_by_kind: the same of ``work``.
    """

    said: dict[str, Any]
    start: float
    work: float
    before: float
    peak: float
    driver: float
    java: float
    start_by_kind: dict[str, float]
    work_by_kind: dict[str, float]


def run_watched(command: Sequence[str]) -> Spent:
    """Run a program; its processes are looked at ten times a second."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as child:  # type: ignore[call-overload]
        errors: list[str] = []
        listening = threading.Thread(target=lambda: errors.extend(child.stderr), daemon=True)
        listening.start()
        while "ready" not in (text := child.stdout.readline()):
            if not text:
                raise SystemExit(f"{' '.join(command)} failed:\n{''.join(errors)}")
        found: list[str] = []
        waiting = threading.Thread(target=lambda: found.append(child.stdout.readline()))
        waiting.start()
        tree = _Tree(child.pid)
        tree.look()
        start, before = tree.by_kind(), tree.peak
        while waiting.is_alive():
            waiting.join(0.1)
            tree.look()
        work = {kind: seconds - start.get(kind, 0) for kind, seconds in tree.by_kind().items()}
        with suppress(BrokenPipeError):  # it has failed, and says why below
            child.stdin.write("done\n")
            child.stdin.close()
        listening.join()
    if not found[0]:
        raise SystemExit(f"{' '.join(command)} failed:\n{''.join(errors)}")
    said, seconds = json.loads(found[0]), (sum(start.values()), sum(work.values()))
    return Spent(said, *seconds, before, tree.peak, tree.driver, tree.java, start, work)


class _Tree:
    """A process with all that it has started, and the most that they were seen to take."""

    def __init__(self, root: int) -> None:
        self._root, self._spent = root, dict[int, float]()
        self._kinds = dict[int, str]()
        self.peak = self.driver = self.java = 0.0

    def look(self) -> None:
        tree = tree_of(self._root)
        self.peak = max(self.peak, sum(map(memory_of, tree)))
        self.driver = max(self.driver, anonymous_bytes(self._root) / MIB)
        machine = next((process for process in tree if name_of(process) == "java"), None)
        self.java = max(self.java, anonymous_bytes(machine) / MIB) if machine else self.java
        self._spent |= {process: processor_seconds(process) for process in tree}
        self._kinds |= {process: kind_of(process) for process in tree if process != self._root}

    def by_kind(self) -> dict[str, float]:
        """The processor seconds of the process that asks, and of each kind of those that it has started."""
        found: dict[str, float] = {}
        for process, seconds in self._spent.items():
            kind = self._kinds.get(process, "driver")
            found[kind] = found.get(kind, 0) + seconds
        return found


def kind_of(process: int) -> str:
    """What a process that an engine has started is for: Spark's own Java, a worker's Java, or Python."""
    if name_of(process) != "java":
        return "Python workers"
    return "workers' Java" if _EXECUTOR in words_of(process) else "driver's Java"


def add_rows(path: Path, rows: list[dict[str, Any]], keys: Sequence[str]) -> None:
    """Write results to a file, in the place of those that have the same ``keys``."""
    old = json.loads(path.read_text()) if path.exists() else []
    new = [[row[key] for key in keys] for row in rows]
    kept = [row for row in old if [row[key] for key in keys] not in new]
    path.write_text(json.dumps([*kept, *rows], indent=1) + "\n")
