"""Exact noise beside continuous noise, in one run.

    python -m benchmarks.noise [--json FILE]

Measures all tables of at most three attributes of the Adult schema (21 million cells) from as many random records, with
both kinds of noise in turn, and times everything after counting.  Exits with 1 if exact noise takes more than three
times as long.  It also times the parts that cannot be avoided: the random bytes, and the noise alone.
"""

import argparse
import gc
import json
import math
import os
import sys
import time
from pathlib import Path

import numpy as np

import residualplanner as rp
from residualplanner.gate.discrete_gaussian import OperatingSystemBits, draw_flat
from residualplanner.gate.discrete_gaussian.envelope import Scales

SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
RECORDS = 48_842
TARGET = 3.0


def adult_plan() -> rp.Plan:
    domain = rp.Domain({f"a{number}": size for number, size in enumerate(SIZES)})
    return rp.select(rp.marginals(domain, up_to=3), budget=rp.zcdp("0.5"))


def after_counting(plan: rp.Plan, data: np.ndarray, noise: str) -> float:
    """Seconds from the last report of the counting to the end."""
    counted, maximal = 0.0, math.comb(len(SIZES), 3)

    def progress(done: int, total: int) -> None:
        nonlocal counted
        if done <= maximal < total:
            counted = time.perf_counter()

    gc.collect()
    rp.measure(plan, data, noise=noise, progress=progress)
    return time.perf_counter() - counted


def drawing(plan: rp.Plan) -> float:
    """Seconds to draw as much exact noise of as many scales, a quarter million numbers at a time, and nothing else."""
    cells = plan.closure.products(SIZES).astype(np.int64)
    ratios = [
        (int(n) ** 2 * d, c)
        for n, (c, d) in zip(cells, map(float.as_integer_ratio, 1 / plan.noise_variances), strict=True)
    ]
    parts = np.split(np.arange(len(cells)), np.flatnonzero(np.diff(np.cumsum(cells) // 2**18)) + 1)
    start = time.perf_counter()
    for part in parts:
        scales = Scales.of_ratios([ratios[i][0] for i in part], [ratios[i][1] for i in part])
        draw_flat(scales, cells[part], OperatingSystemBits())
    return time.perf_counter() - start


def random_bytes(count: int) -> float:
    """Seconds for as many bytes of the operating system."""
    start = time.perf_counter()
    for _ in range(count >> 20):
        os.urandom(1 << 20)
    return time.perf_counter() - start


def compare(repeat: int) -> dict[str, float]:
    """The least of some times of each, taken in turn."""
    plan = adult_plan()
    cells = int(plan.closure.products(SIZES).sum())
    data = np.random.default_rng(0).integers(0, SIZES, (RECORDS, len(SIZES)), dtype=np.uint8)
    continuous, exact, noise, raw = (
        min(times)
        for times in zip(
            *(
                (
                    after_counting(plan, data, "gaussian"),
                    after_counting(plan, data, "discrete"),
                    drawing(plan),
                    random_bytes(8 * cells),
                )
                for _ in range(repeat)
            ),
            strict=True,
        )
    )
    return {
        "cells": cells,
        "continuous seconds": continuous,
        "exact seconds": exact,
        "ratio": exact / continuous,
        "exact noise alone, seconds": noise,
        "random bytes alone, seconds": raw,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Exact noise beside continuous noise, in one run.")
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    parser.add_argument("--repeat", type=int, default=5, help="how often each is timed; the least counts")
    arguments = parser.parse_args()
    result = compare(arguments.repeat)
    for name, value in result.items():
        print(f"{name:<30}{value:>14,.3f}" if name != "cells" else f"{name:<30}{value:>14,}")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    if not result["ratio"] <= TARGET:
        sys.exit(f"exact noise takes more than {TARGET:g} times as long as continuous noise")


if __name__ == "__main__":
    main()
