"""How fast the records of each engine are counted, and in how much memory, as ratios to NumPy measured in one run.

    python -m benchmarks.engines [--rows 2000000] [--json FILE] [--only NAME] [--peer]

Records are drawn: 15 attributes of 10 values, five of text, five of integers, five of numbers in bins; all 105 two-way
tables are counted.  Every engine runs in a process of its own, whose memory, with that of all processes it has started,
is looked at ten times a second.  What it counts must be what NumPy counts.  With ``--peer`` Spark also does what the
library does not: a ``group_by`` for each table, all in one job, of the ten columns that hold no numbers.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.engines_cases import CASES, PEERS, write_records

HEADER = f"{'records in':<34}{'seconds':>9}{'million/s':>11}{'counts/s':>11}{'NumPy = 1':>11}{'MiB':>8}{'more':>8}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and memory of counting, as ratios to NumPy in the same run.")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--only", action="append", choices=[*CASES, *PEERS], help="run NumPy and this one")
    parser.add_argument("--peer", action="store_true", help="also a group_by for each table")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        in_this_process(arguments.case, arguments.folder)
        return
    wanted = arguments.only or [*CASES, *(PEERS if arguments.peer else ())]
    names = ["NumPy codes", *(name for name in wanted if name != "NumPy codes")]
    results: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        write_records(Path(folder), arguments.rows)
        print(f"{arguments.rows:,} records\n{HEADER}")
        for name in names:
            results.append(run_case(name, Path(folder), arguments.rows))
            print(line(results[-1], results[0]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


def in_this_process(name: str, folder: Path) -> None:
    """Count twice; print a line before the first time, and the less of both times with what was counted."""
    with {**CASES, **PEERS}[name](folder) as job:
        print("ready", flush=True)
        times = []
        for _ in range(2):
            start = time.perf_counter()
            outcome = job()
            times.append(time.perf_counter() - start)
    print(json.dumps({"case": name, "seconds": min(times), "first": times[0], **outcome._asdict()}), flush=True)


def run_case(name: str, folder: Path, rows: int) -> dict[str, object]:
    """Run one case in a process of its own, and watch its memory."""
    command = [sys.executable, "-m", "benchmarks.engines", "--case", name, "--folder", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        said: list[str] = []
        reader = threading.Thread(target=lambda: said.extend(child.stderr or ()), daemon=True)
        reader.start()
        while "ready" not in (text := child.stdout.readline()):
            if not text:
                raise SystemExit(f"{name} failed:\n{''.join(said)}")
        before = memory_of_tree(child.pid)
        peak = before
        while child.poll() is None:
            peak = max(peak, memory_of_tree(child.pid))
            time.sleep(0.1)
        rest = [text for text in child.stdout if text.startswith("{")]
    if child.returncode or not rest:
        raise SystemExit(f"{name} failed:\n{''.join(said)}")
    result: dict[str, object] = json.loads(rest[-1])
    return {"records": rows, **result, "peak_mib": round(peak), "more_mib": round(peak - before)}


def memory_of_tree(root: int) -> float:
    """MiB of a process and all it has started, shared pages split among those that share them."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    tree = [root]
    for process in tree:
        tree += [child for child, parent in parents.items() if parent == process]
    return sum(map(memory_of, tree))


def memory_of(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(text.split()[1]) / 1024 for text in lines if text.startswith("Pss:")), 0.0)


def line(result: dict[str, object], numpy: dict[str, object]) -> str:
    """A line of the table; raises where the counts are not NumPy's."""
    if result["digest"] not in (None, numpy["digest"]):
        raise SystemExit(f"{result['case']} counts other records than NumPy")
    speed, best = (float(one["records"]) / float(one["seconds"]) for one in (result, numpy))  # type: ignore[arg-type]
    tables, of_numpy = (float(one["tables"]) for one in (result, numpy))  # type: ignore[arg-type]
    return (
        f"{result['case']:<34}{result['seconds']:>9.2f}{speed / 1e6:>11.2f}{speed * tables / 1e6:>10.0f}M"
        f"{speed * tables / best / of_numpy:>11.2f}{result['peak_mib']:>8}{result['more_mib']:>8}"
    )


if __name__ == "__main__":
    main()
