"""How fast the records of each engine are counted, and in how much memory, as ratios to NumPy measured in one run.

    python -m benchmarks.engines [--rows 2000000] [--repeat 2] [--json FILE] [--only NAME] [--peer]

Records are drawn: 15 attributes of 10 values, five of strings, five of integers, five of numbers in bins; all 105
two-way tables are counted.  Every engine runs in a process of its own, whose memory, with that of all processes it has
started, is sampled ten times a second; so is their processor time, which says more than elapsed time on a shared
machine.  What is counted must be what NumPy counts.  With ``--peer`` Spark also does what the library does not: a
``group_by`` for each table, all in one job, of the ten columns that hold no numbers.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.engines_cases import CASES, PEERS, write_records
from benchmarks.watched_processes import run_watched

HEADER = f"{'records in':<34}{'seconds':>9}{'CPU s':>8}{'counts/CPU s':>14}{'NumPy = 1':>11}{'MiB':>8}{'more':>8}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and memory of counting, as ratios to NumPy in the same run.")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=2, help="how many times each engine counts")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--only", action="append", choices=[*CASES, *PEERS], help="run NumPy and this one")
    parser.add_argument("--peer", action="store_true", help="also a group_by for each table")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        in_this_process(arguments.case, arguments.folder, arguments.repeat)
        return
    wanted = arguments.only or [*CASES, *(PEERS if arguments.peer else ())]
    names = ["NumPy codes", *(name for name in wanted if name != "NumPy codes")]
    results: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        write_records(Path(folder), arguments.rows)
        print(f"{arguments.rows:,} records\n{HEADER}")
        for name in names:
            results.append(run_case(name, Path(folder), arguments.rows, arguments.repeat))
            print(line(results[-1], results[0]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


def in_this_process(name: str, folder: Path, repeat: int) -> None:
    """Count; print a line before the first time, and the least time with what was counted."""
    with {**CASES, **PEERS}[name](folder) as job:
        print("ready", flush=True)
        times = []
        for _ in range(repeat):
            start = time.perf_counter()
            outcome = job()
            times.append(time.perf_counter() - start)
        print(json.dumps({"case": name, "seconds": min(times), **outcome._asdict()}), flush=True)
        sys.stdin.readline()  # the one who watches has seen what was spent


def run_case(name: str, folder: Path, rows: int, repeat: int) -> dict[str, object]:
    """Run one case in a process of its own, and watch it."""
    command = [sys.executable, "-m", "benchmarks.engines", "--case", name, "--folder", str(folder)]
    spent = run_watched([*command, "--repeat", str(repeat)])
    return {
        **{"records": rows, "processor_seconds": round(spent.work / repeat, 3), "peak_mib": round(spent.peak)},
        **{"more_mib": round(spent.peak - spent.before), **spent.said},
    }


def line(result: dict[str, object], numpy: dict[str, object]) -> str:
    """A line of the table; raises where the counts are not NumPy's."""
    if result["digest"] not in (None, numpy["digest"]):
        raise SystemExit(f"{result['case']} counts other records than NumPy")
    speed, best = (
        float(one["records"]) * float(one["tables"]) / float(one["processor_seconds"])  # type: ignore[arg-type]
        for one in (result, numpy)
    )
    return (
        f"{result['case']:<34}{result['seconds']:>9.2f}{result['processor_seconds']:>8.2f}{speed / 1e6:>13.0f}M"
        f"{speed / best:>11.2f}{result['peak_mib']:>8}{result['more_mib']:>8}"
    )


if __name__ == "__main__":
    main()
