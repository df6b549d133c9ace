"""What measuring block by block and writing a release in parts take, beside a file for each table.

    python -m benchmarks.parts [--attributes 100] [--records 10000] [--memory 2] [--folder DIR]
                               [--per-table] [--kills 100] [--json FILE]

All tables of up to three attributes of ten values each.  Each step runs in a process of its own; seconds are the
processor's, of its children too, memory is the most of it that is no file's, and tables are read in a fresh process.
``--per-table`` also writes a file for each table, for comparison in the same run.  ``--kills`` kills a run that writes
so many times, at times drawn at random, and compares the files with those of a run that was not killed.  SQL is timed
where DuckDB is installed.  Exits with 1 if a table read back is not bit for bit that of the release, if a killed run
wrote a finished part again, or if its files are not the same.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import residualplanner as rp

SIZE = 10
LOOKUPS = 200


def workload_of(attributes: int) -> rp.Workload:
    return rp.marginals(rp.Domain({f"a{number}": SIZE for number in range(attributes)}), up_to=3)


class Watched:
    """The seconds of a block on the processor and on the clock, and the most memory that is no file's, in bytes."""

    def __enter__(self) -> "Watched":
        self._peak, self._is_over = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        self._start = (_seconds(), time.monotonic())
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu, self.clock = _seconds() - self._start[0], time.monotonic() - self._start[1]
        self._is_over.set()
        self._thread.join()
        self.memory = self._peak

    def _watch(self) -> None:
        while not self._is_over.wait(0.02):
            self._peak = max(self._peak, *map(_anonymous, [os.getpid(), *_children()]))

    @property
    def row(self) -> dict[str, float]:
        return {"cpu": self.cpu, "clock": self.clock, "memory": self.memory}


def _seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _children() -> list[int]:
    found = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(number) for number in found.read_text().split()]


def _anonymous(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0)


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    plan = rp.select(workload_of(options.attributes), budget=rp.zcdp(0.5))
    records = np.random.default_rng(1).integers(0, SIZE, (options.records, options.attributes))
    with Watched() as watched:
        measurement = rp.measure(plan, records, memory=int(options.memory * 2**30), scratch=folder)
        measurement.save(folder / "some.measurement")
    return watched.row | {"cells": float(plan.workload.cells.sum()), "tables": len(plan.workload)}


def save(folder: Path, name: str, file_format: Any, workers: int = 1) -> dict[str, Any]:
    with Watched() as watched:
        release = rp.reconstruct(rp.load_measurement(folder / "some.measurement", mapped=True))
        release.save(folder / name, file_format, workers=workers)
    files = [path for path in (folder / name).rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    return watched.row | {"files": len(files), "bytes_per_cell": size / float(release.plan.workload.cells.sum())}


def read(folder: Path) -> dict[str, Any]:
    start = time.monotonic()
    saved = rp.load_tables(folder / "parts")
    opened = time.monotonic() - start
    release = rp.reconstruct(rp.load_measurement(folder / "some.measurement", mapped=True))
    numbers = np.random.default_rng(2).integers(0, len(saved), LOOKUPS)
    seconds = []
    for number in numbers.tolist():
        written = saved.plan.workload.query_at(number)
        query = tuple(saved.plan.domain.names[position] for position in written.positions)
        start = time.monotonic()
        table = saved[query]
        seconds.append(time.monotonic() - start)
        if not np.array_equal(table.estimate, release[query].estimate):
            raise SystemExit(f"{query} was read back with other numbers")
    return {"open": opened, "median": float(np.median(seconds)), "90th percentile": float(np.quantile(seconds, 0.9))}


def ask_sql(folder: Path) -> dict[str, Any]:
    try:
        import duckdb
    except ImportError:
        return {}
    start = time.monotonic()
    rows = duckdb.sql(
        f"SELECT * FROM '{folder}/parts/parts/*.parquet' WHERE table_id = {len(rp.load_tables(folder / 'parts')) // 2}"
    ).fetchall()
    return {"rows": len(rows), "clock": time.monotonic() - start}


def kill(folder: Path, times: int) -> dict[str, Any]:
    """Kill a run that writes, and let it go on, so many times; its parts and files in the end."""
    generator, kills, again, seen = random.Random(3), 0, 0, {}
    clock = json.loads(_run(folder, "save", "whole"))["clock"]
    while not (folder / "killed").exists():
        process = subprocess.Popen(_command(folder, "save", "killed"), stdout=subprocess.DEVNULL)
        if kills < times:
            try:
                process.wait(generator.uniform(0.2, 1.0) * min(clock, 4))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                kills += 1
        process.wait()
        for path in folder.glob(".killed*/parts/part-*.parquet"):
            when = path.stat().st_mtime_ns
            again += seen.get(path.name, when) != when
            seen[path.name] = when
        if kills < times and not (folder / "killed").exists() and seen and generator.random() < 0.2:
            newest = max(folder.glob(".killed*/parts/part-*.parquet"), key=lambda path: path.name)
            newest.unlink()  # so that there is still something to kill
            del seen[newest.name]
    same = _hashes(folder / "whole") == _hashes(folder / "killed")
    if again or not same:
        raise SystemExit(f"{again} finished parts were written again; the files are {'' if same else 'not '}the same")
    return {"kills": kills, "parts_written_again": again, "files_are_the_same": same}


def _hashes(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _command(folder: Path, step: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.parts", "--folder", str(folder), "--step", step, *arguments]


def _run(folder: Path, step: str, *arguments: str) -> str:
    return subprocess.run(_command(folder, step, *arguments), check=True, stdout=subprocess.PIPE, text=True).stdout


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attributes", type=int, default=100)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--memory", type=float, default=2.0, help="GiB of counts and noise held at once")
    parser.add_argument("--folder", type=Path, help="where to write; by default a folder for temporary files")
    parser.add_argument("--per-table", action="store_true")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("name", nargs="?", default="parts", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.step:
        print(json.dumps(_step(options)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        rows = _rows(Path(name), options)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def _step(options: argparse.Namespace) -> dict[str, Any]:
    steps: dict[str, Callable[[], dict[str, Any]]] = {
        "measure": lambda: measure(options.folder, options),
        "save": lambda: save(options.folder, options.name, "parts"),
        "save by two": lambda: save(options.folder, options.name, "parts", workers=2),
        "save a file a table": lambda: save(options.folder, options.name, "parquet"),
        "read": lambda: read(options.folder),
        "sql": lambda: ask_sql(options.folder),
    }
    return steps[options.step]()


def _rows(folder: Path, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    sized = [
        "--attributes",
        str(options.attributes),
        "--records",
        str(options.records),
        "--memory",
        str(options.memory),
    ]
    steps = [("measure", sized), ("save", ["parts"]), ("save by two", ["two"]), ("read", []), ("sql", [])]
    if options.per_table:
        steps.append(("save a file a table", ["tables"]))
    rows: dict[str, dict[str, Any]] = {}
    for step, arguments in steps:
        rows[step] = json.loads(_run(folder, step, *arguments))
        print(step, _words(rows[step]), flush=True)
    if options.kills:
        rows["kills"] = kill(folder, options.kills)
        print("kills", _words(rows["kills"]), flush=True)
    return rows


def _words(row: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items()
    )


if __name__ == "__main__":
    main()
