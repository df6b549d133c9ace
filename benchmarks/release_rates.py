"""How many cells a second are computed, and how many are written to disk, on one core.

    python -m benchmarks.release_rates [--attributes 50] [--json FILE]

All tables of up to three attributes of ten values each, of answers that are noise alone.  The tables are computed by
NumPy, batch by batch, and dropped; then they are computed and encoded as Parquet in memory; then they are saved in
parts.  The seconds are the processor's; those of encoding, and of everything that saving takes, are differences.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import residualplanner as rp
from benchmarks.gpu_cases import noisy_answers
from residualplanner.publish.parts.writing import PartWriter
from residualplanner.release.layout import layout_of

SIZE = 10


def rates(attributes: int) -> dict[str, float]:
    """Billions of cells a second of a release of so many attributes."""
    workload = rp.marginals(rp.Domain({f"a{number}": SIZE for number in range(attributes)}), up_to=3)
    release = rp.reconstruct(noisy_answers(rp.select(workload, budget=rp.pcost(1)), "gaussian"))
    cells = float(workload.cells.sum())
    computing = min(_seconds(lambda: sum(len(batch.queries) for batch in release.batches())) for _ in range(3))
    layout = layout_of(workload)
    writer = PartWriter(release.measurement, layout, {})
    encoding = _seconds(lambda: [len(writer.content(part)) for part in range(len(layout.parts) - 1)])
    with tempfile.TemporaryDirectory() as folder:
        saving = _seconds(lambda: release.save(Path(folder) / "tables", "parts"))
    return {
        "cells": cells,
        "computed": cells / computing / 1e9,
        "encoded": cells / (encoding - computing) / 1e9,
        "saved": cells / saving / 1e9,
    }


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attributes", type=int, default=50)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = rates(options.attributes)
    for name, value in found.items():
        print(f"{name}: {value:.3g}{'' if name == 'cells' else ' billion cells a second'}")
    if options.json:
        about = {"attributes": options.attributes, "load": os.getloadavg()[0], "cores": os.cpu_count()}
        options.json.write_text(json.dumps(about | found, indent=1) + "\n")


if __name__ == "__main__":
    main()
