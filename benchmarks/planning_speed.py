"""How long bases take to be found: of one attribute with many values, and by set of several attributes.

    python -m benchmarks.planning_speed [--before FOLDER] [--only NAME ...]

Prints processor seconds and how far plans are proved to be from the best of all mechanisms.  FOLDER is another checkout
of this library, such as one of `git worktree add`, in which the same workloads are planned in the same run.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

#: What a process does with one case: it must run in older checkouts, which know neither ``time`` nor the distance.
_ONE_CASE = """
import json, sys, time
import numpy as np
import residualplanner as rp

def one(kind, n):
    return rp.Workload(rp.Domain({"a": n}), [{"a": kind}])

def counties():
    state = np.sort(np.append(np.arange(50), np.random.default_rng(5).integers(0, 50, 3093)))
    groups = rp.Hierarchy([{f"s{s}": [f"c{c}" for c in np.flatnonzero(state == s)] for s in range(50)}])
    domain = rp.Domain({"county": [f"c{c}" for c in range(3143)], "age": 18, "sex": 2})
    return rp.Workload(domain, [{"county": groups}, {"county": groups, "age": rp.Identity()}, ("county", "sex")])

def ten():
    numbers, others = [85, 100, 99, 42, 16], [2, 5, 7, 9, 15]
    domain = rp.Domain({f"n{i}": n for i, n in enumerate(numbers)} | {f"c{i}": n for i, n in enumerate(others)})
    kinds = [rp.Prefix(), rp.Range(), rp.Prefix(), rp.Range(), rp.Prefix()]
    singles = [{f"n{i}": kind} for i, kind in enumerate(kinds)]
    return rp.Workload(domain, [*singles, *rp.marginals(domain, order=2)])

CASES = {
    "prefix sums of 1,000 values": lambda: one(rp.Prefix(), 1000),
    "ranges of 1,000 values": lambda: one(rp.Range(), 1000),
    "prefix sums of 3,000 values": lambda: one(rp.Prefix(), 3000),
    "ranges of 3,000 values": lambda: one(rp.Range(), 3000),
    "3,143 counties in 50 states": counties,
    "ten attributes, sums of five": ten,
    "marginals of up to 3 of 50": lambda: rp.marginals(rp.Domain({str(i): 10 for i in range(50)}), up_to=3),
}
if len(sys.argv) == 1:
    print(json.dumps(list(CASES)))
else:
    workload = CASES[sys.argv[1]]()
    start = time.process_time()
    plan = rp.select(workload, budget=rp.pcost(1))
    seconds = time.process_time() - start
    print(json.dumps([seconds, plan.rmse, getattr(plan, "suboptimality", None)]))
"""


def run(folder: Path, *case: str) -> list:
    """What a process in a checkout prints."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = os.environ | threads | {"PYTHONPATH": str(folder)}
    told = subprocess.run(
        [sys.executable, "-c", _ONE_CASE, *case],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(told.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--only", nargs="+")
    options = parser.parse_args()
    here = Path(__file__).parents[1]
    print(f"{'workload':<32}{'CPU seconds':>13}{'proved within':>15}{'before':>9}{'rmse by before':>16}")
    for name in options.only or run(here):
        seconds, rmse, distance = run(here, name)
        proved = f"{distance:.2%}" if math.isfinite(distance) else "not known"
        line = f"{name:<32}{seconds:>13.1f}{proved:>15}"
        if options.before:
            former, former_rmse, _ = run(options.before.resolve(), name)
            line += f"{former:>9.1f}{rmse / former_rmse:>16.4f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
