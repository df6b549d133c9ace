"""How long hierarchies of many values take: to plan, measure and publish; before and after they were nested.

    python -m benchmarks.trees [BEFORE] [--json FILE]

BEFORE is a folder with a checkout of the commit before, such as one of `git worktree add`; it runs the cases that it
can do in ten minutes.  Each case is a process of its own on one core; seconds are those of the processor.  "Distance"
is proved: no basis of the hierarchy lowers its part of the loss by more than this fraction.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.trees_cases import CASES

ROOT = Path(__file__).parent.parent
BEFORE = [("500 counties", "sum"), ("500 counties", "max"), ("1,500 counties", "sum"), ("1,500 counties", "max")]
LIMIT = 600


def measured(checkout: Path, case: str, loss: str) -> dict[str, Any] | None:
    """What a case took in a checkout, or None beyond the limit."""
    command = [sys.executable, str(ROOT / "benchmarks" / "trees_cases.py"), case, loss]
    environment = os.environ | {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    limits = (LIMIT, LIMIT)
    done = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limits),
    )
    if done.returncode == -signal.SIGKILL:
        return None
    done.check_returncode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Run all cases, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", nargs="?", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    runs = [("after", ROOT, case, loss) for case in CASES for loss in ("sum", "max")]
    if options.before:
        runs += [("before", options.before.resolve(), case, loss) for case, loss in BEFORE]
    rows = []
    for when, checkout, case, loss in runs:
        found = measured(checkout, case, loss)
        rows.append({"when": when, "case": case, "loss": loss, "found": found})
        if found is None:
            print(f"{when:<7}{case:<16}{loss:<5}more than {LIMIT} s", flush=True)
            continue
        seconds = ", ".join(f"{step} {value:.2f} s" for step, value in found["seconds"].items())
        gap = "" if found["basis_gap"] is None else f", distance {found['basis_gap']:.1e}"
        print(f"{when:<7}{case:<16}{loss:<5}{seconds}, {found['megabytes']} MB{gap}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
