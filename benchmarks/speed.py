"""Speed and memory, as ratios measured in one run.

    python -m benchmarks.speed [--json FILE] [--peer PATH] [--only NAME]

Every case runs in a process of its own, so that its peak memory is its own, on one core.  Its seconds are compared
with a yardstick measured in the same process: what the machine needs for work that cannot be avoided, such as copying
the result or drawing as many normal variates.  With ``--peer`` (a checkout of a reference implementation, its folder
that holds ``class_resplan.py``), the same small job is run with it and with ours.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

ONE_CORE = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
HEADER = f"{'case':<34}{'seconds':>9}{'target':>8}{'GiB':>7}{'yardstick s':>13}{'ratio':>8}  yardstick"


def run_case(name: str, peer: str | None) -> dict[str, object]:
    """Run one case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.speed", "--case", name, *(["--peer", peer] if peer else [])]
    done = subprocess.run(command, env={**os.environ, **ONE_CORE}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed:\n{done.stderr}")
    result: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return result


def in_this_process(name: str, peer: str | None) -> None:
    """Run one case here and print it as a line of JSON."""
    from benchmarks.speed_cases import CASES, PEER_CASES

    result = PEER_CASES[name](Path(peer)) if peer and name in PEER_CASES else CASES[name]()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"case": name, **result._asdict(), "peak_gib": round(peak, 3)}))


def line(result: dict[str, object]) -> str:
    target = "" if result["target"] is None else f"{result['target']:g}"
    ratio = float(result["seconds"]) / float(result["yardstick"])  # type: ignore[arg-type]
    return (
        f"{result['case']:<34}{result['seconds']:>9.3f}{target:>8}{result['peak_gib']:>7.2f}"
        f"{result['yardstick']:>13.4f}{ratio:>8.2f}  {result['what']}"
    )


def main() -> None:
    from benchmarks.speed_cases import CASES, PEER_CASES

    parser = argparse.ArgumentParser(description="Speed and memory, as ratios measured in one run.")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--peer", help="folder of a reference implementation's checkout that holds class_resplan.py")
    parser.add_argument("--only", choices=[*CASES, *PEER_CASES], help="run one case")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        in_this_process(arguments.case, arguments.peer)
        return
    names = [arguments.only] if arguments.only else [*CASES, *(PEER_CASES if arguments.peer else ())]
    print(HEADER)
    results = []
    for name in names:
        results.append(run_case(name, arguments.peer))
        print(line(results[-1]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
