"""What a whole release takes at Spark's workers, beside one process in the same run.

    python -m benchmarks.engines_release [--attributes 100] [--records 10000] [--engine NAME] [--json FILE]

All tables of up to three attributes of ten values are measured, the measurement is saved, and its tables are written
in parts.  At Spark's workers they are counted, get their noise, which goes to a store, and are written; in one process
`measure` and `Release.save` do that.  Each way runs in a process of its own, and seconds are those of all processes
that it has started; "start" is until Spark has started its workers, whose Python has imported this library, and has
opened the records.  How much of them Java and Python take is in the file of ``--json``.  Memory is the most that is no
file's: "driver" of the process that asks, "Java" of the Java machine that it has started, which with "local" is the one
that works, too.
Exits with 1 if there are other parts than one process writes.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import residualplanner as rp
from benchmarks.engines_scale import connect_session, domain_of, spark_session, write_records
from benchmarks.processes import processor_seconds, tree_of
from benchmarks.watched_processes import add_rows, run_watched

ENGINES: dict[str, Any] = {
    "one process": None,
    "Spark, local": lambda: spark_session("local[2]"),
    "Spark, local-cluster": lambda: spark_session("local-cluster[2,1,1024]"),
    "Spark Connect": connect_session,
}
STEPS = ("measure", "save", "write")
HEADER = (
    f"{'release by':<22}{'start':>8}{'measure':>9}{'save':>7}{'write':>8}{'all':>8}{'driver':>9}{'Java':>7}{'MiB':>8}"
)


def plan_of(attributes: int) -> rp.Plan:
    return rp.select(rp.marginals(domain_of(attributes), up_to=3), budget=rp.zcdp(0.5))


class Steps:
    """Processor seconds of all processes, step by step; of those that have ended, what was last seen of them."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.clock: dict[str, float] = {}
        self._seen: dict[int, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        before, start = self._spent(), time.perf_counter()
        yield
        self.seconds[name], self.clock[name] = self._spent() - before, time.perf_counter() - start

    def _spent(self) -> float:
        self._seen |= {process: processor_seconds(process) for process in tree_of(os.getpid())}
        return sum(self._seen.values())


def released(folder: Path, measure: Callable[[], rp.Measurement], workers: Any) -> Steps:
    """Measure, save and write."""
    steps = Steps()
    with steps.step("measure"):
        measurement = measure()
    with steps.step("save"):
        measurement.save(folder / "some.measurement")
        del measurement
    with steps.step("write"):
        release = rp.reconstruct(rp.load_measurement(folder / "some.measurement", mapped=True))
        release.save(folder / "release", "parts", workers=workers)
    return steps


def in_this_process(engine: str, records: Path, folder: Path, attributes: int) -> None:
    import numpy as np

    plan = plan_of(attributes)
    if ENGINES[engine] is None:
        print("ready", flush=True)
        codes = np.load(records / "codes.npy")
        steps = released(folder, lambda: rp.measure(plan, codes, memory=2**31, scratch=folder), 1)
        _tell(steps)
        return
    with ENGINES[engine]() as session:
        workers = rp.scale.SparkWorkers(session)
        workers.require_ready()
        frame = session.read.parquet(str(records / "people.parquet"))
        print("ready", flush=True)
        measure = lambda: rp.scale.measure_in_store(plan, frame, str(folder / "store"), scratch=folder)  # noqa: E731
        _tell(released(folder, measure, workers))


def _tell(steps: Steps) -> None:
    print(json.dumps({"cpu": steps.seconds, "clock": steps.clock}), flush=True)
    sys.stdin.readline()  # the one who watches has seen what was spent


def run_engine(engine: str, records: Path, attributes: int) -> tuple[dict[str, Any], set[str]]:
    """What a release takes, and the names of its parts."""
    with tempfile.TemporaryDirectory(dir=records) as folder:
        command = [sys.executable, "-m", "benchmarks.engines_release", "--case", engine, "--records-in", str(records)]
        spent = run_watched([*command, "--folder", folder, "--attributes", str(attributes)])
        parts = {path.name for path in (Path(folder) / "release" / "parts").iterdir()}
    memory = {"driver_mib": spent.driver, "java_mib": spent.java, "peak_mib": spent.peak}
    memory |= {"start_by_kind": spent.start_by_kind, "work_by_kind": spent.work_by_kind}
    return {
        "engine": engine,
        "attributes": attributes,
        "start": spent.start,
        "work": spent.work,
        **spent.said,
        **memory,
    }, parts


def line(row: dict[str, Any]) -> str:
    steps = "".join(f"{row['cpu'][step]:>{width}.1f}" for step, width in zip(STEPS, (9, 7, 8), strict=True))
    memory = f"{row['driver_mib']:>9.0f}{row['java_mib']:>7.0f}{row['peak_mib']:>8.0f}"
    return f"{row['engine']:<22}{row['start']:>8.1f}{steps}{row['work']:>8.1f}{memory}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attributes", type=int, default=100)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--engine", action="append", choices=[*ENGINES], help="one process and this one")
    parser.add_argument("--folder", type=Path, help="where to write; by default a folder for temporary files")
    parser.add_argument("--json", type=Path, help="add the results to this file")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--records-in", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        in_this_process(options.case, options.records_in, options.folder, options.attributes)
        return
    names = ["one process", *(name for name in options.engine or ENGINES if name != "one process")]
    print(f"{options.attributes} attributes, {options.records:,} records\n{HEADER}", flush=True)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=options.folder) as records:
        write_records(Path(records), options.records, options.attributes)
        expected: set[str] = set()
        for name in names:
            row, parts = run_engine(name, Path(records), options.attributes)
            print(line(row), flush=True)
            rows.append(row)
            expected = expected or parts
            if parts != expected:
                raise SystemExit(f"{name} wrote other parts than {names[0]}")
            if options.json:
                add_rows(options.json, rows, ("engine", "attributes"))


if __name__ == "__main__":
    main()
