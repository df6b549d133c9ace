"""What `resource_estimate` predicts beside what planning, measuring and writing use.

    python -m benchmarks.resource_estimates [--json FILE] [--only NAME ..]

Each step of each workload runs in a process of its own, after a small workload has warmed it up.  Seconds are the
processor's, memory is what the step adds to the peak.  Exits with 1 if an estimate of seconds is off by more than a
factor of 3, or one of memory or disk by more than 2; steps below half a second, 40 MiB or 1 MiB of disk are shown only.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import residualplanner as rp
from residualplanner.gate.measurement.resource_estimate import ResourceEstimate
from residualplanner.method.losses import LossLike
from residualplanner.method.queries.kind import Kind

ADULT = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
RECORDS = 50_000
PHASES = ("planning", "measuring", "writing")
#: From how much on an estimate has to hold: seconds, bytes of memory, bytes on disk.
LEAST = {"seconds": 0.5, "memory": 40 * 2**20, "disk": 2**20}
FACTORS = {"seconds": 3.0, "memory": 2.0, "disk": 2.0}


def domain_of(sizes: tuple[int, ...]) -> rp.Domain:
    return rp.Domain({f"a{number}": size for number, size in enumerate(sizes)})


def workload_of(name: str) -> tuple[rp.Workload, LossLike]:
    """A workload and the loss it is planned for."""
    mixed: dict[str, Kind] = {"a0": rp.Range(), "a2": rp.Prefix()}
    cases: dict[str, tuple[rp.Workload, LossLike]] = {
        "tiny": (rp.marginals(domain_of((3, 2)), up_to=2), "sum"),
        "adult pairs": (rp.marginals(domain_of(ADULT), up_to=2), "sum"),
        "adult triples": (rp.marginals(domain_of(ADULT), up_to=3), "sum"),
        "adult triples, max": (rp.marginals(domain_of(ADULT), up_to=3), "max"),
        "100 attributes, pairs": (rp.marginals(domain_of((10,) * 100), up_to=2), "sum"),
        "40 mixed attributes, triples": (rp.marginals(domain_of(tuple(range(2, 12)) * 4), up_to=3), "sum"),
        "100 mixed attributes, triples": (rp.marginals(domain_of(tuple(range(2, 7)) * 20), up_to=3), "sum"),
        "one table of 10 million": (rp.marginals(domain_of((100, 100, 1000)), order=3), "sum"),
        "ranges and prefixes": (rp.marginals(domain_of((120, 9, 100, 16, 7)), up_to=2, kinds=mixed), "sum"),
        "ranges and prefixes, max": (rp.marginals(domain_of((120, 9, 100, 16, 7)), up_to=2, kinds=mixed), "max"),
        "180 attributes, triples": (rp.marginals(domain_of(tuple(range(2, 12)) * 18), up_to=3), "sum"),
    }
    return cases[name]


#: The workloads, and which steps of each are run.
CASES = {
    "adult pairs": PHASES,
    "adult triples": PHASES,
    "adult triples, max": ("planning",),
    "100 attributes, pairs": PHASES,
    "40 mixed attributes, triples": PHASES,
    "100 mixed attributes, triples": ("planning", "measuring"),
    "one table of 10 million": PHASES,
    "ranges and prefixes": PHASES,
    "ranges and prefixes, max": ("planning",),
    "180 attributes, triples": ("planning",),
}


def records_of(name: str) -> np.ndarray:
    """Random records of a workload's schema, as codes."""
    domain = workload_of(name)[0].domain
    return np.random.default_rng(1).integers(0, domain.sizes, (RECORDS, len(domain)))


def take_step(name: str, phase: str, folder: Path, records: np.ndarray | None = None) -> None:
    """One step, from the files of those before it to its own."""
    if phase == "planning":
        workload, loss = workload_of(name)
        plan = rp.select(workload, budget=rp.zcdp("0.5"), loss=loss, bases="optimal")  # the search is left out
        plan.errors()
        plan.save(folder / "plan")
    elif phase == "measuring":
        plan = rp.load_plan(folder / "plan")
        records = records_of(name) if records is None else records
        rp.measure(plan, records).save(folder / "measurement")
    else:
        rp.reconstruct(rp.load_measurement(folder / "measurement")).save(folder / "tables")


def run_step(name: str, phase: str, folder: Path) -> dict[str, float]:
    """What the step takes in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.resource_estimates", "--step", name, phase, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measured_step(name: str, phase: str, folder: Path) -> dict[str, float]:
    """Seconds of the processor, by the clock, and bytes of memory of one step."""
    with tempfile.TemporaryDirectory() as warm:
        for step in PHASES[: PHASES.index(phase) + 1]:
            take_step("tiny", step, Path(warm))
    records = records_of(name) if phase == "measuring" else None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, seconds = time.perf_counter(), time.process_time()
    take_step(name, phase, folder, records)
    seconds, wall = time.process_time() - seconds, time.perf_counter() - wall
    return {
        "seconds": seconds,
        "wall": wall,
        "memory": 1024.0 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before),
    }


def rows_of(name: str) -> list[dict[str, object]]:
    """Estimates beside measurements, one row for each step and unit."""
    workload, loss = workload_of(name)
    estimate = rp.questions.resource_estimate(workload, loss=loss, records=RECORDS)
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for phase in CASES[name]:
            found = run_step(name, phase, Path(folder))
            for unit in ("seconds", "memory"):
                rows.append(row(name, f"{phase} {unit}", unit, stated(estimate, phase, unit), found[unit]))
            if phase == "writing":
                size = sum(file.stat().st_size for file in Path(folder, "tables").rglob("*") if file.is_file())
                rows.append(row(name, "disk", "disk", estimate.disk_bytes, size))
    return rows


def stated(estimate: ResourceEstimate, phase: str, unit: str) -> float:
    return float(getattr(estimate, f"{phase}_{'seconds' if unit == 'seconds' else 'bytes'}"))


def row(name: str, what: str, unit: str, estimate: float, measured: float) -> dict[str, object]:
    factor = max(estimate, 1e-9) / max(measured, 1e-9)
    counts = max(estimate, measured) >= LEAST[unit]
    is_off = counts and not 1 / FACTORS[unit] <= factor <= FACTORS[unit]
    return {"workload": name, "what": what, "estimate": estimate, "measured": measured, "is_off": is_off}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="*", default=list(CASES))
    parser.add_argument("--step", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        name, phase, folder = arguments.step
        print(json.dumps(measured_step(name, phase, Path(folder))))
        return 0
    rows = []
    for name in arguments.only:
        for found in rows_of(name):
            rows.append(found)
            scale, unit = (1, "s") if "seconds" in str(found["what"]) else (2**20, "MiB")
            numbers = [float(str(found[side])) / scale for side in ("estimate", "measured")]
            mark = "  OFF" if found["is_off"] else ""
            print(f"{name:<30} {found['what']:<18} {numbers[0]:>9.2f} {numbers[1]:>9.2f} {unit}{mark}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"cores": os.cpu_count(), "rows": rows}, indent=1) + "\n")
    return int(any(found["is_off"] for found in rows))


if __name__ == "__main__":
    sys.exit(main())
