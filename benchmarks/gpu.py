"""All figures of a GPU in one run: whether its tables are NumPy's, and how fast they are made; with the kernel's hash.

    python -m benchmarks.gpu [--cells 27] [--repeat 20] [--seconds 540] [--json benchmarks/results/gpu.json]

On a machine with a CUDA device and CuPy.  Each part runs in a process of its own, which a failure, or its time, ends
without those that follow; what is found is written to the file as it comes, and what failed is named there.

- ``agreement``: how far the tables of whole releases are from NumPy's at most, in the largest standard error of each:
  answers in integers, in wide integers and in floats, all kinds of query, bases by set; by the kernel, with answers
  that are kept on the device or sent with each batch, and by products of matrices.
- ``copy``: one array copied to another on the device, 2**CELLS numbers.
- ``fused`` and ``portable``: tables by the fused kernel, and by products of matrices, of about as many cells, from
  integers that lie on the device.  Tables of each shape are compared with NumPy's first.  Which answers a table needs
  lies there too for the kernel; for ``fused_rows_sent`` and ``portable`` it is sent with each batch, 64 bytes a table.
- ``bus``: the device's memory copied to memory of the host that the system keeps in place.
- ``to_host``: tables by the fused kernel, copied there batch by batch while the next batch is made.
- ``peak``: the device memory that making these batches takes beside the answers, relative to two batches.

Speeds are in G cells a second: see `benchmarks.gpu_speed`.  Exits with 1 if a part failed or a criterion is not met,
which is recorded too, and with 2 without CuPy or a device: then nothing is written.
"""

import argparse
import hashlib
import importlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import residualplanner as rp
from benchmarks.gpu_cases import (
    TOLERANCE,
    Estimates,
    cases,
    estimates_of,
    noisy_answers,
    plan_by_hand,
    worst_difference,
)
from benchmarks.gpu_speed import Bench
from residualplanner.method.kron.axis_maps import tables_of_residuals
from residualplanner.release.devices import Device, cuda_device
from residualplanner.scale.cuda.fused import kernel_source

RESULTS = Path(__file__).parent / "results" / "gpu.json"
#: Criteria: which figure is at least how many times which other one.
AT_LEAST = {("fused", "copy"): 0.5, ("portable", "copy"): 0.1, ("to_host", "bus"): 0.7}
#: What batches on their way to the host may take of the device's memory, relative to two of them.
_MOST = 1.1
#: Seconds that a part may take.
_PART_SECONDS = 150
#: Bytes of answers that are kept on the device where the others are to be sent.
_FEW = 256

#: The name of a figure, and what measures it.  A name of two words joined by a slash stands in a table of its own.
Step = tuple[str, Callable[[], Any]]
#: What runs a part, of cells, repetitions and seconds, and says what was found.
Run = Callable[[str, int, int, float], Iterator[dict[str, Any]]]


def kernel_sha256() -> str:
    """The SHA-256 of the kernel's source, by which figures that were measured with it are known."""
    return hashlib.sha256(kernel_source().encode()).hexdigest()


def _about(cupy: Any) -> Iterator[Step]:
    """The device, its driver, CuPy and the kernel that figures are of."""
    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    yield "kernel_sha256", kernel_sha256
    yield "device", properties["name"].decode
    yield "compute_capability", lambda: cupy.cuda.Device().compute_capability
    yield "driver", cupy.cuda.runtime.driverGetVersion
    yield "cupy", lambda: cupy.__version__


def agreement(measurements: Mapping[str, rp.Measurement], devices: Mapping[str, Device]) -> Iterator[Step]:
    """How far releases of some measurements are from NumPy's, on each device."""
    for case, measurement in measurements.items():
        expected = [*estimates_of(rp.reconstruct(measurement))]
        for name, device in devices.items():
            yield f"agreement/{case}, {name}", partial(_difference, measurement, device, expected)


def _difference(measurement: rp.Measurement, device: Device, expected: list[Estimates]) -> float:
    return worst_difference(expected, estimates_of(rp.reconstruct(measurement, device=device)))


def _measurements() -> dict[str, rp.Measurement]:
    """All cases, and so many tables that a batch on the device holds thousands."""
    workload = rp.marginals(rp.Domain({f"q{number}": 10 for number in range(30)}), up_to=3)
    plan = plan_by_hand(workload, rp.strategies.subtraction_strategy(workload))
    return {**cases(), f"{len(workload):,} tables, discrete": noisy_answers(plan, "discrete")}


def _cuda_devices() -> dict[str, Device]:
    """The kernel with answers kept on the device, and sent to it; and the portable way."""
    return {
        "kernel": cuda_device(),
        "kernel, answers sent": cuda_device(_FEW),
        "portable": replace(cuda_device(), tables=tables_of_residuals),
    }


def _copies(bench: Bench) -> Iterator[Step]:
    yield "copy", bench.copy
    yield "bus", bench.bus


def _fused(bench: Bench) -> Iterator[Step]:
    yield "fused", lambda: bench.tables(bench.problems[0], bench.fused)
    yield "fused_rows_sent", lambda: bench.tables(bench.problems[0], bench.fused, sends_rows=True)


def _portable(bench: Bench) -> Iterator[Step]:
    yield "portable", lambda: bench.tables(bench.problems[0], tables_of_residuals, sends_rows=True)


def _to_host(bench: Bench) -> Iterator[Step]:
    yield "to_host,peak", lambda: bench.to_host(bench.problems[0])


def _shapes(bench: Bench) -> Iterator[Step]:
    for problem in bench.problems[1:]:
        yield f"fused_by_shape/{problem.name}", lambda problem=problem: bench.tables(problem, bench.fused)


#: The parts in the order in which they run: what tells most about the device comes first.
PARTS: dict[str, Callable[[Bench], Iterator[Step]]] = {
    "about": lambda bench: _about(bench.cupy),
    "copies": _copies,
    "fused": _fused,
    "agreement": lambda _: agreement(_measurements(), _cuda_devices()),
    "to_host": _to_host,
    "portable": _portable,
    "shapes": _shapes,
}


@dataclass
class Record:
    """What has been found, in a file from the first figure on.

    Attributes:
        path: of the file.
        found: figures by name.
        failures: what was said by what failed, by the name of a figure or a part.
    """

    path: Path
    found: dict[str, Any] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def take(self, line: dict[str, Any]) -> None:
        """Take what `run_part` said of a step."""
        if "failed" in line:
            self.failures[line["name"]] = line["failed"]
        elif "," in (name := line["name"]) and "/" not in name:
            self.found |= dict(zip(name.split(","), line["found"], strict=True))
        else:
            table, _, row = name.partition("/")
            place = self.found.setdefault(table, {}) if row else self.found
            place[row or table] = line["found"]
        self.write()

    @property
    def criteria(self) -> dict[str, bool | None]:
        """Whether each criterion is met; None where it has no figure."""
        found = self.found
        met: dict[str, bool | None] = {
            f"{one} >= {least} {other}": found[one] >= least * found[other] if {one, other} <= set(found) else None
            for (one, other), least in AT_LEAST.items()
        }
        met[f"peak <= {_MOST}"] = found["peak"] <= _MOST if "peak" in found else None
        far = found.get("agreement", {}).values()
        is_whole = bool(far) and not any(name.startswith("agreement") for name in self.failures)
        met[f"agreement <= {TOLERANCE}"] = max(far) <= TOLERANCE if is_whole else None
        return met

    @property
    def text(self) -> str:
        """All of it as JSON."""
        failures = {"failures": self.failures} if self.failures else {}
        return json.dumps({**self.found, "criteria": self.criteria, **failures}, indent=1) + "\n"

    def write(self) -> None:
        """Write the file anew, unless it is not known yet what the figures are of."""
        if "cupy" in self.found:
            self.path.write_text(self.text)


def device_or_reason() -> tuple[Any, str]:
    """CuPy where it has a device, or why not."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        return None, "CuPy is not installed: pip install residualplanner[gpu]"
    try:
        cupy.cuda.Device().compute_capability  # noqa: B018 - asks the driver
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return None, f"CuPy finds no CUDA device ({error}): check that nvidia-smi lists one"
    return cupy, ""


def run_part(part: str, cells: int, repeat: int, **what: Any) -> Iterator[dict[str, Any]]:
    """Take the steps of a part, and say of each what was found, or how it failed; other arguments are of `Bench`."""
    cupy, reason = device_or_reason()
    if reason:
        yield {"name": part, "failed": reason}
        return
    try:
        for name, measure in PARTS[part](Bench(cupy, 2**cells, repeat, **what)):
            try:
                yield {"name": name, "found": measure()}
            except Exception as error:  # noqa: BLE001 - whatever it is, the next step is to be taken
                yield {"name": name, "failed": f"{type(error).__name__}: {error}"}
            cupy.get_default_memory_pool().free_all_blocks()
    except Exception as error:  # noqa: BLE001 - as above, for the next part
        yield {"name": part, "failed": f"{type(error).__name__}: {error}"}


def in_a_process(
    part: str, cells: int, repeat: int, seconds: float, *, python: str = sys.executable
) -> Iterator[dict[str, Any]]:
    """`run_part` in a process that is ended after so many seconds; how it ended, if not well, comes last."""
    sizes = [f"--cells={cells}", f"--repeat={repeat}"]
    command = [python, "-m", "benchmarks.gpu", "--part", part, *sizes]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                yield json.loads(line)
        status = process.wait()
        is_late = not timer.is_alive()
        timer.cancel()
    if status:
        how = f"it took more than {seconds:.3g} seconds" if is_late else f"its process ended with status {status}"
        yield {"name": part, "failed": how}


def measure(record: Record, cells: int, repeat: int, seconds: float, *, run: Run = in_a_process) -> str:
    """Run all parts within so many seconds; the reason why nothing could be measured, or nothing."""
    end = time.monotonic() + seconds
    for part in PARTS:
        left = end - time.monotonic()
        if left <= 0:
            record.take({"name": part, "failed": f"the {seconds:g} seconds were over"})
            continue
        print(f"{part} ...", file=sys.stderr, flush=True)
        for line in run(part, cells, repeat, min(left, _PART_SECONDS)):
            record.take(line)
        if part == "about" and record.failures:
            return "; ".join(record.failures.values())
    return ""


def main(arguments: list[str] | None = None, *, run: Run = in_a_process) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cells", type=int, default=27, help="binary logarithm of the number of cells of an array")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=540, help="for all parts together")
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.part:
        for line in run_part(options.part, options.cells, options.repeat):
            print(json.dumps(line), flush=True)
        return 0
    record = Record(options.json)
    if reason := measure(record, options.cells, options.repeat, options.seconds, run=run):
        print(f"nothing was measured: {reason}", file=sys.stderr)
        return 2
    print(record.text, end="")
    return 0 if all(record.criteria.values()) and not record.failures else 1


if __name__ == "__main__":
    sys.exit(main())
