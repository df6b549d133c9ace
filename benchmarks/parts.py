"""What measuring block by block and writing a release in parts take, beside a file for each table.

    python -m benchmarks.parts [--attributes 100] [--order 3] [--size 10] [--records 10000] [--memory 2]
                               [--folder DIR] [--per-table] [--only 0.01] [--kills 100 [--kills-alone]]
                               [--json FILE]

All tables of up to so many attributes (``--order``) of ``--size`` values each.  Each step runs in a process of its
own; seconds are the processor's, of its children too, memory is the most of it that is no file's, and tables are read
in a fresh process.  ``--per-table`` also writes a file for each table, as `Release.save` with another format does.
``--only`` writes that fraction of the parts in place of all.  ``--kills`` kills a run that writes so many times, at
times drawn at random, and compares the files with those of a run that was not killed; ``--kills-alone`` times nothing
else.  SQL is timed where DuckDB is installed.  Each criterion that the project has for such a release is printed beside
its limit, and stands in the file of ``--json`` with the rows; rows that were not measured now, and criteria that are of
such rows alone, stay as they are in the file.  Exits with 1 if a table read
back is not bit for bit that of the release, if a killed run wrote a finished part again, or if its files are not the
same; not if a limit is missed: that depends on the machine.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import residualplanner as rp
from benchmarks.criteria import Criterion
from benchmarks.parts_criteria import PER_TABLE, criteria_of_parts
from benchmarks.watched import Watched

LOOKUPS = 200


def workload_of(options: argparse.Namespace) -> rp.Workload:
    domain = rp.Domain({f"a{number}": options.size for number in range(options.attributes)})
    return rp.marginals(domain, up_to=options.order)


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    with Watched() as selecting:
        plan = rp.select(workload_of(options), budget=rp.zcdp(0.5))
    records = np.random.default_rng(1).integers(0, options.size, (options.records, options.attributes))
    with Watched() as watched:
        measurement = rp.measure(plan, records, memory=int(options.memory * 2**30), scratch=folder)
        measurement.save(folder / "some.measurement")
    about = {"cells": float(plan.workload.cells.sum()), "tables": len(plan.workload)}
    return watched.row | about | {"select_cpu": selecting.cpu, "select_memory": selecting.memory}


def save(folder: Path, name: str, fraction: float, workers: int = 1) -> dict[str, Any]:
    with Watched() as watched:
        release = rp.reconstruct(rp.load_measurement(folder / "some.measurement", mapped=True))
        only = None if fraction == 1 else _some_parts(release, fraction)
        release.save(folder / name, "parts", workers=workers, only=only)
    files = [path for path in (folder / name).rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    saved = rp.load_tables(folder / name)
    cells = float(release.plan.workload.cells[saved.query_numbers].sum())
    return watched.row | {"files": len(files), "bytes": size, "bytes_per_cell": size / cells, "tables": len(saved)}


def _some_parts(release: rp.Release, fraction: float) -> list[int]:
    """A fraction of the parts, drawn at random."""
    every = len(release.layout)
    return sorted(random.Random(4).sample(range(every), max(1, round(fraction * every))))


def save_a_file_a_table(folder: Path, name: str) -> dict[str, Any]:
    """`Release.save` in another format, of all tables."""
    with Watched() as watched:
        release = rp.reconstruct(rp.load_measurement(folder / "some.measurement", mapped=True))
        release.save(folder / name, "parquet")
    return watched.row | {"tables": len(release)}


def read(folder: Path) -> dict[str, Any]:
    start = time.monotonic()
    saved = rp.load_tables(folder / "parts")
    opened = time.monotonic() - start
    release = rp.reconstruct(rp.load_measurement(folder / "some.measurement", mapped=True))
    numbers = np.random.default_rng(2).choice(saved.query_numbers, LOOKUPS)
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
    numbers = rp.load_tables(folder / "parts").query_numbers
    start = time.monotonic()
    rows = duckdb.sql(
        f"SELECT * FROM '{folder}/parts/parts/*.parquet' WHERE table_id = {numbers[len(numbers) // 2]}"
    ).fetchall()
    return {"rows": len(rows), "clock": time.monotonic() - start}


def kill(folder: Path, times: int) -> dict[str, Any]:
    """Kill a run that writes, and let it go on, so many times; its parts and files in the end."""
    generator, again = random.Random(3), 0
    seen: dict[str, int] = {}
    whole = _run(folder, "save", "whole")
    release = rp.reconstruct(rp.load_measurement(folder / "some.measurement", mapped=True))
    wait = (
        json.loads(whole)["clock"] / 3
    )  # so that most kills come when some parts are finished, on a busy machine, too
    kills = kills_between_parts = 0
    while not (folder / "killed").exists():
        process = _writing(release, folder / "killed")
        if kills < times:
            time.sleep(generator.uniform(0, wait))
            os.kill(process, signal.SIGKILL)
        was_killed = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL
        kills += was_killed
        times_of_parts = {path.name: path.stat().st_mtime_ns for path in folder.glob(".killed*/parts/part-*.parquet")}
        again += sum(seen.get(name, when) != when for name, when in times_of_parts.items())
        kills_between_parts += was_killed and bool(times_of_parts)
        seen |= times_of_parts
        if kills < times and (folder / "killed").exists():  # so that there is still something to kill
            shutil.rmtree(folder / "killed")
            seen = {}
    same = _hashes(folder / "whole") == _hashes(folder / "killed")
    if again or not same:
        raise SystemExit(f"{again} finished parts were written again; the files are {'' if same else 'not '}the same")
    return {
        "kills": kills,
        "kills_with_some_parts_finished": kills_between_parts,
        "parts_written_again": again,
        "files_are_the_same": same,
    }


def _writing(release: rp.Release, folder: Path) -> int:
    """The number of a process that writes the release; it is forked, so that it has neither to import nor to load."""
    process = os.fork()
    if process == 0:
        release.save(folder, "parts")
        os._exit(0)
    return process


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
    parser.add_argument("--order", type=int, default=3, help="tables of up to so many attributes")
    parser.add_argument("--size", type=int, default=10, help="how many values each attribute has")
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--memory", type=float, default=2.0, help="GiB of counts and noise held at once")
    parser.add_argument("--folder", type=Path, help="where to write; by default a folder for temporary files")
    parser.add_argument("--per-table", action="store_true")
    parser.add_argument("--only", type=float, default=1.0, help="the fraction of the parts that is written")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--kills-alone", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("name", nargs="?", default="parts", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.step:
        print(json.dumps(_step(options)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        rows = _rows(Path(name), options)
    compared = criteria_of_parts(rows, options.attributes, options.order, options.only)
    print(*compared, sep="\n")
    if options.json:
        known = json.loads(options.json.read_text()) if options.json.exists() else {}
        size = f"{options.attributes} attributes of {options.size} values, up to {options.order}"
        known[size] = joined(known.get(size, {"criteria": [], "rows": {}}), compared, rows)
        options.json.write_text(json.dumps(known, indent=1) + "\n")


def joined(known: dict[str, Any], compared: list[Criterion], rows: dict[str, Any]) -> dict[str, Any]:
    """What a file holds of a size, with what was found now, and how busy the machine was, in its place.

    A criterion stays only if all rows that it was found from do: none is of two runs.
    """
    load = {"load": os.getloadavg()[0], "cores": os.cpu_count()}
    kept = [row for row in known["criteria"] if rows.keys().isdisjoint(row["rows"])]
    return {
        "criteria": [*kept, *(one.row for one in compared)],
        "rows": known["rows"] | {name: row | load for name, row in rows.items()},
    }


def _step(options: argparse.Namespace) -> dict[str, Any]:
    steps: dict[str, Callable[[], dict[str, Any]]] = {
        "measure": lambda: measure(options.folder, options),
        "save": lambda: save(options.folder, options.name, options.only),
        "save by two": lambda: save(options.folder, options.name, options.only, workers=2),
        PER_TABLE: lambda: save_a_file_a_table(options.folder, options.name),
        "kill": lambda: kill(options.folder, options.kills),
        "read": lambda: read(options.folder),
        "sql": lambda: ask_sql(options.folder),
    }
    return steps[options.step]()


def _rows(folder: Path, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    sized = [f"--{name}={getattr(options, name)}" for name in ("attributes", "order", "size", "records", "memory")]
    only = f"--only={options.only}"
    steps = [("measure", sized)]
    if not options.kills_alone:
        steps += [("save", ["parts", only]), ("read", []), ("sql", [])]
    if options.only == 1 and not options.kills_alone:
        steps.insert(2, ("save by two", ["two"]))
    if options.per_table:
        steps.append((PER_TABLE, ["tables"]))
    rows: dict[str, dict[str, Any]] = {}
    for step, arguments in steps:
        rows[step] = json.loads(_run(folder, step, *arguments))
        print(step, _words(rows[step]), flush=True)
    if options.kills:
        rows["kills"] = json.loads(_run(folder, "kill", f"--kills={options.kills}"))
        print("kills", _words(rows["kills"]), flush=True)
    return rows


def _words(row: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in row.items()
    )


if __name__ == "__main__":
    main()
