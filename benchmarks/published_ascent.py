"""The published dual ascent for non-negative tables, GReM-LNN, on all pairs of Adult's attributes, under a time limit.

    python -m benchmarks.published_ascent [--code FOLDER] [--python PROGRAM] [--seconds N] [--json FILE]

FOLDER holds the code of Mullins et al., *Efficient and private marginal reconstruction with local non-negativity*
(https://github.com/bcmullins/efficient-marginal-reconstruction), with its data; it is run as it is.  PROGRAM is an
interpreter that has what it needs (torch, linear_operator, pandas, scipy, tqdm), this one if not given.  It measures
with its own mechanism at rho-zCDP of epsilon = 1, delta = 1e-9, and prints in every round its objective and the
multipliers times the cells, which are 0 at the solution; the second over 1 plus the first is the gap that it reached.
Beside it is `nonnegative` with its weights, those of "order": to the end, and asked for the same gap, which it proves.
Without --code the figures of the published code in FILE stay, and `nonnegative` is run again.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import residualplanner as rp
from benchmarks.nonnegative import DELTA, adult_codes, releases

DRIVER = """
import itertools, resource, sys
import torch
from rem.algebra import MarginalWorkload, VStack
from rem.mechanism import residualPlanner
from rem.reconstruction import gremLNN
from rem.utils import importData

torch.manual_seed(0)
data = importData("adult")
pairs = list(itertools.combinations(data.domain.attrs, 2))
mechanism = residualPlanner(data, pairs, float(sys.argv[1]))
targets = VStack([MarginalWorkload(pair, data.domain) for pair in pairs])
solver = gremLNN(targets, mechanism.residuals, mechanism.z, mechanism.z_sigmas)
print("begun", flush=True)
solver.solve()
print("ended", flush=True)
"""


def published(code: Path, program: str, seconds: float) -> dict[str, Any]:
    """How many rounds the published code takes in so many CPU seconds, its own sort of gap, and what is below 0."""
    rho = rp.approx_dp(1.0, DELTA).rho
    environment = os.environ | {"PYTHONPATH": str(code / "src"), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    command = [program, "-c", DRIVER, str(rho)]
    process = subprocess.Popen(command, cwd=code, env=environment, stdout=subprocess.PIPE, text=True)
    began, rounds, spent = None, [], 0.0
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("ended"):
            break
        if line.startswith("begun"):
            began = cpu_seconds(process.pid)
        parts = line.split()
        if began is not None and len(parts) == 2 and not line.startswith("["):
            spent = cpu_seconds(process.pid) - began
            rounds.append([float(part) for part in parts])
        if spent > seconds:
            break
    process.kill()
    process.wait()
    objective, product = rounds[-1]
    return {"cpu s": spent, "rounds": len(rounds), "gap": abs(product) / (1 + abs(objective))}


def cpu_seconds(process: int) -> float:
    """The CPU seconds that a process has taken so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ours(gap: float) -> dict[str, Any]:
    """The same of `nonnegative`, with the same weights: the least CPU seconds of three runs."""
    (release,) = releases(*adult_codes(), 1.0, [0])
    spent = []
    for _ in range(3):
        started = time.process_time()
        made = rp.nonnegative(release, weights="order", gap=gap)
        spent.append(time.process_time() - started)
    return {"cpu s": min(spent), "gap": made.numbers.gap, "steps": made.numbers.steps}


def main() -> int:
    parser = argparse.ArgumentParser(description="The published dual ascent beside `nonnegative`.")
    parser.add_argument("--code", type=Path, help="the folder of the published code")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has what this code needs")
    parser.add_argument("--seconds", type=float, default=600.0, help="CPU seconds after which it is stopped")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    if arguments.code:
        theirs = published(arguments.code, arguments.python, arguments.seconds)
    elif arguments.json and arguments.json.exists():
        theirs = json.loads(arguments.json.read_text(encoding="utf-8"))["published code"]
    else:
        parser.error("name the published code with --code, or a file that has its figures with --json")
    found = {
        "nonnegative": ours(1e-6),
        "nonnegative, to the same gap": ours(theirs["gap"]),
        "published code": theirs,
    }
    for name, figures in found.items():
        print(f"{name:30}", "  ".join(f"{key} {value:.4g}" for key, value in figures.items()))
    print(f"{theirs['cpu s'] / found['nonnegative, to the same gap']['cpu s']:.0f} times faster to the same gap")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
