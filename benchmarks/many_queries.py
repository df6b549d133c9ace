"""What the error table of 1.33 million queries takes, as a frame and as a file, and a report on their plan.

    python -m benchmarks.many_queries [--attributes 200] [--json FILE]

All tables of up to three attributes of 2 to 11 values.  Each step runs in a process of its own, which plans first;
seconds are the processor's, and memory is the most that is no file's while the step runs, the plan with it.  Each
criterion that the project has is printed beside its limit; exits with 1 if one is missed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import residualplanner as rp
from benchmarks.criteria import Criterion
from benchmarks.watched import Watched

STEPS: dict[str, Callable[[rp.Plan, Path], object]] = {
    "error table": lambda plan, _: plan.errors(),
    "errors as Parquet": lambda plan, folder: plan.save_errors(folder / "errors.parquet"),
    "report": lambda plan, folder: rp.publish.write_report(plan, folder / "plan.html"),
}


def plan_of(attributes: int) -> rp.Plan:
    domain = rp.Domain({f"a{number}": 2 + number % 10 for number in range(attributes)})
    return rp.select(rp.marginals(domain, up_to=3), budget=rp.zcdp(0.5))


def measured(step: str, attributes: int) -> dict[str, Any]:
    """What one step takes, in this process."""
    plan = plan_of(attributes)
    with tempfile.TemporaryDirectory() as folder, Watched() as watched:
        STEPS[step](plan, Path(folder))
    return watched.row | {"queries": len(plan.workload)}


def criteria_of(rows: dict[str, dict[str, Any]]) -> list[Criterion]:
    """What the project wants of 1.33 million queries."""
    seconds = rows["error table"]["cpu"] + rows["report"]["cpu"]
    memory = max(rows["error table"]["memory"], rows["report"]["memory"]) / 2**30
    return [
        Criterion("11", "report and error table, CPU seconds", seconds, "<=", 40, ("error table", "report")),
        Criterion("11", "the larger of them, GiB of memory", memory, "<=", 0.7, ("error table", "report")),
        Criterion("11", "errors as Parquet, CPU seconds", rows["errors as Parquet"]["cpu"], "<=", 5, tuple(rows)),
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attributes", type=int, default=200)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.step:
        print(json.dumps(measured(options.step, options.attributes)))
        return 0
    rows: dict[str, dict[str, Any]] = {}
    for step in STEPS:
        command = [sys.executable, "-m", "benchmarks.many_queries", "--step", step]
        command += ["--attributes", str(options.attributes)]
        rows[step] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        print(f"{step}: {rows[step]['cpu']:.1f} CPU s, {rows[step]['memory'] / 2**20:,.0f} MiB", flush=True)
    found = criteria_of(rows)
    print(*found, sep="\n")
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "criteria": [one.row for one in found]}, indent=1) + "\n")
    return int(not all(one.is_met for one in found))


if __name__ == "__main__":
    sys.exit(main())
