"""A program that runs in a process of its own, with what it and all processes that it starts take.

The program prints "ready" when it has started, then a line of JSON, and then waits for a line.
"""

import json
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.processes import anonymous_bytes, memory_of, name_of, processor_seconds, tree_of

MIB = 2**20


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
    """

    said: dict[str, Any]
    start: float
    work: float
    before: float
    peak: float
    driver: float
    java: float


def run_watched(command: Sequence[str]) -> Spent:
    """Run a program; its processes are looked at ten times a second."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as child:  # type: ignore[call-overload]
        errors: list[str] = []
        threading.Thread(target=lambda: errors.extend(child.stderr), daemon=True).start()
        while "ready" not in (text := child.stdout.readline()):
            if not text:
                raise SystemExit(f"{' '.join(command)} failed:\n{''.join(errors)}")
        found: list[str] = []
        waiting = threading.Thread(target=lambda: found.append(child.stdout.readline()))
        waiting.start()
        tree = tree_of(child.pid)
        spent = {process: processor_seconds(process) for process in tree}
        start = sum(spent.values())
        before = peak = sum(map(memory_of, tree))
        driver = java = 0.0
        while waiting.is_alive():
            waiting.join(0.1)
            tree = tree_of(child.pid)
            peak = max(peak, sum(map(memory_of, tree)))
            driver = max(driver, anonymous_bytes(child.pid) / MIB)
            machine = next((process for process in tree if name_of(process) == "java"), None)
            java = max(java, anonymous_bytes(machine) / MIB) if machine else java
            spent |= {process: processor_seconds(process) for process in tree}
        child.communicate("done\n")
    if not found[0]:
        raise SystemExit(f"{' '.join(command)} failed:\n{''.join(errors)}")
    return Spent(json.loads(found[0]), start, sum(spent.values()) - start, before, peak, driver, java)


def add_rows(path: Path, rows: list[dict[str, Any]], keys: Sequence[str]) -> None:
    """Write results to a file, in the place of those that have the same ``keys``."""
    old = json.loads(path.read_text()) if path.exists() else []
    new = [[row[key] for key in keys] for row in rows]
    kept = [row for row in old if [row[key] for key in keys] not in new]
    path.write_text(json.dumps([*kept, *rows], indent=1) + "\n")
