"""Errors of non-negative tables as they are stated beside what they are, and how often intervals cover the truth.

    python -m benchmarks.published_errors [--salary FILE] [--puma FOLDER] [--epsilon E ..] [--json FILE]
    python -m benchmarks.published_errors --triples ATTRIBUTE .. [--json FILE]

Adult ships with the package.  FILE is salary.csv, FOLDER holds histograms of race by origin, ``ST_*.csv``.  All pairs
of attributes are measured again and again.  Actual errors and coverage are those over all measurements; errors are
stated from each of the first few by `rp.fits.published_errors`, which does not see the records.  Data sets of
few cells are measured ten times as often, with errors stated from four times as many of these and twice as many
simulations each.  Every measurement and every simulation of every data set has noise of its own.

Stated errors vary from release to release.  They are off by their root mean square over the releases beside the actual
error; "stated once" is each release for itself.  Exits with 1 if an interval covers the truth less often than it says,
by more than three standard errors, or if the error that is stated for the median table is off by more than a tenth.

With --triples all tables of three of some of Adult's attributes are measured instead, from end to end, each with the
noise that it has among all 364.  Their errors are stated once, from 10 simulations, and compared with those of a few
measurements; time and memory are those of this process.  The other figures in the file of --json stay.
"""

import argparse
import json
import resource
import time
from collections.abc import Iterator, Sequence
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import residualplanner as rp
from benchmarks.nonnegative import DELTA, adult_codes, counted, puma_codes, releases, salary_codes, show

LEVELS = (0.5, 0.9, 0.95, 0.99)
#: How far the stated error of the median table may be off.
TOLERANCE = 0.1
#: Domains of so few cells are measured so many times as often, and have errors stated and simulated more often.
FEW_CELLS, OFTEN, STATED_OFTEN, SIMULATED_OFTEN = 10_000, 10, 4, 2
#: How often tables of three attributes are measured.
TRIPLES = 3
#: How far apart the seeds of two data sets are.
APART = 10_000
Array = NDArray[np.float64]
Data = tuple[rp.Domain, NDArray[np.int64]]


def covered(made: rp.Release, truth: dict[Any, Array]) -> dict[str, float]:
    """Of all cells of one release the part whose interval has the truth, and other parts and ratios."""
    tables = {query: made[query] for query in truth}
    found = {}
    for level in LEVELS:
        ends = {query: table.interval(level) for query, table in tables.items()}
        found[f"coverage of {level:.0%}"] = share(
            [(low <= truth[q]) & (truth[q] <= high) for q, (low, high) in ends.items()]
        )
        if level == 0.95:
            lengths = sum(float((high - low).sum()) for low, high in ends.values())
            whole = sum(float(2 * made.unbiased[query].moe(level).sum()) for query in truth)
            found["length beside uncut"] = lengths / whole
            inside = [(low <= tables[q].estimate) & (tables[q].estimate <= high) for q, (low, high) in ends.items()]
            found["published outside 95%"] = 1 - share(inside)
            positive = [(truth[q] > 0, (low <= truth[q]) & (truth[q] <= high)) for q, (low, high) in ends.items()]
            found["coverage of 95%, counts above 0"] = share([hit[is_one] for is_one, hit in positive])
    return found


def share(parts: Sequence[NDArray[np.bool_]]) -> float:
    """The part of all entries that are true."""
    return sum(int(part.sum()) for part in parts) / sum(part.size for part in parts)


def actual_errors(off: Sequence[dict[Any, Array]]) -> tuple[Array, Array, Array]:
    """Root mean square errors, their relative standard errors, and biases, table by table, over measurements.

    Noise does not add to the bias.
    """
    count, rmse, spread, bias = len(off), [], [], []
    for query in off[0]:
        every = np.stack([each[query] for each in off])
        whole, own = every.sum(axis=0) ** 2, (every**2).sum(axis=0)
        squares = (every**2).reshape(count, -1).mean(axis=1)
        rmse.append(np.sqrt(squares.mean()))
        spread.append(squares.std(ddof=1) / np.sqrt(count) / squares.mean() / 2)
        bias.append(np.sqrt(max(float((whole - own).mean()) / (count * (count - 1)), 0.0)))
    return np.array(rmse), np.array(spread), np.array(bias)


def one(
    data: Data, first: int, epsilon: float, arguments: argparse.Namespace
) -> tuple[list[dict[str, float]], dict[str, Array]]:
    """How intervals of every release of a data set cover, and the errors of its tables as stated and as they are.

    ``first`` is the seed of the first measurement.
    """
    domain, codes = data
    truth = counted(domain, codes, list(rp.marginals(domain, order=2)))
    is_small = np.prod([float(size) for size in domain.sizes]) <= FEW_CELLS
    often, many, repeated = (OFTEN, STATED_OFTEN, SIMULATED_OFTEN) if is_small else (1, 1, 1)
    simulations = repeated * arguments.simulations
    rows, off, stated, spent = [], [], [], 0.0
    seeds = range(first, first + often * arguments.measurements)
    for seed, release in zip(seeds, releases(domain, codes, epsilon, seeds), strict=True):
        made = rp.nonnegative(release)
        rows.append(covered(made, truth))
        off.append({query: made[query].estimate - table for query, table in truth.items()})
        if len(stated) < many * arguments.stated:
            started = time.process_time()
            stated.append(rp.fits.published_errors(made, simulations=simulations, seed=APART**2 + seed))
            spent += time.process_time() - started
    rmse, spread, bias = actual_errors(off)
    return rows, {
        "rmse": rmse,
        "rmse error": spread,
        "bias": bias,
        "stated rmse": np.stack([each.rmse for each in stated]),
        "stated bias": np.stack([each.bias for each in stated]),
        "simulation error": np.stack([each.rmse_simulation_error for each in stated]),
        "unbiased": stated[0].to_frame()["std_err_unbiased"].to_numpy(),
        "seconds": np.array([spent / (len(stated) * simulations)]),
    }


def figures(every: list[Data], epsilon: float, arguments: argparse.Namespace) -> dict[str, float]:
    """The figures of some data sets together."""
    rows, tables = zip(
        *(one(data, APART * number, epsilon, arguments) for number, data in enumerate(every)), strict=True
    )
    spread = {key: np.array([[row[key] for row in own] for own in rows]).mean(axis=0) for key in rows[0][0]}
    found = {key: float(values.mean()) for key, values in spread.items()}
    found["standard error of coverage"] = float(
        spread["coverage of 95%"].std(ddof=1) / len(spread["coverage of 95%"]) ** 0.5
    )
    joined = {key: np.concatenate([table[key] for table in tables], axis=-1) for key in tables[0]}
    ratio = joined["stated rmse"] / joined["rmse"]
    found |= {f"stated/actual rmse, {name}": float(np.quantile(ratio, part)) for name, part in QUANTILES.items()}
    found["off by, median table"] = float(np.median(np.abs(np.sqrt((ratio**2).mean(axis=0)) - 1)))
    found["off by, median table, stated once"] = float(np.median(np.abs(ratio - 1)))
    found["error of actual rmse, median"] = float(np.median(joined["rmse error"]))
    found["stated/actual bias, median"] = float(np.median(joined["stated bias"] / np.maximum(joined["bias"], 1e-9)))
    found["simulation error, relative, median"] = float(np.median(joined["simulation error"] / joined["stated rmse"]))
    found["rmse, median table"] = float(np.median(joined["rmse"]))
    found["bias, median table"] = float(np.median(joined["bias"]))
    found["rmse of unbiased, median table"] = float(np.median(joined["unbiased"]))
    found["cpu s a simulation"] = float(joined["seconds"].mean())
    return found


def triples(names: Sequence[str], measurements: int) -> dict[str, Any]:
    """Stated beside actual errors of all tables of three of some of Adult's attributes, and what they take."""
    whole, every = adult_codes()
    positions = [whole.names.index(name) for name in names]
    domain, codes = (
        rp.Domain({name: whole.sizes[at] for name, at in zip(names, positions, strict=True)}),
        every[:, positions],
    )
    part = comb(len(names), 3) / comb(len(whole.names), 3)
    plan = rp.select(rp.marginals(domain, order=3), budget=rp.zcdp(float(rp.approx_dp(1.0, DELTA).rho) * part))
    truth = counted(domain, codes, list(plan.workload))
    found: dict[str, Any] = {"attributes": list(names), "cells": int(plan.workload.cells.sum())}
    off, rows = [], []
    for seed in range(measurements):
        started = time.process_time()
        made = rp.nonnegative(rp.reconstruct(rp.measure(plan, codes, noise="gaussian", seed=seed)), gap=0.01)
        found[f"cpu s of measurement {seed}"] = time.process_time() - started
        off.append({query: made[query].estimate - table for query, table in truth.items()})
        rows.append(covered(made, truth))
        if seed == 0:
            started = time.process_time()
            stated = rp.fits.published_errors(made, simulations=10)
            found["cpu s a simulation"] = (time.process_time() - started) / 10
    rmse, spread, _ = actual_errors(off)
    ratio = stated.rmse / rmse
    found |= {f"stated/actual rmse, {name}": float(np.quantile(ratio, at)) for name, at in QUANTILES.items()}
    found["off by, median table"] = float(np.median(np.abs(ratio - 1)))
    found["error of actual rmse, median"] = float(np.median(spread))
    found["rmse, median table"] = float(np.median(rmse))
    found["rmse of unbiased, median table"] = float(np.median(stated.to_frame()["std_err_unbiased"]))
    found["coverage of 95%"] = float(np.mean([row["coverage of 95%"] for row in rows]))
    found["peak GiB of the process"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return found


QUANTILES = {"10%": 0.1, "median": 0.5, "90%": 0.9}


def wrong(found: dict[str, float]) -> Iterator[str]:
    """What does not hold."""
    for level in LEVELS:
        if found[f"coverage of {level:.0%}"] < level - 3 * found["standard error of coverage"]:
            yield f"intervals of {level:.0%} cover too little"
    if not abs(found["stated/actual rmse, median"] - 1) <= TOLERANCE or not found["off by, median table"] <= TOLERANCE:
        yield "the error that is stated for the median table is off by more than a tenth"


def told_before(path: Path | None) -> dict[str, Any]:
    """The figures of a file, if it exists."""
    return json.loads(path.read_text(encoding="utf-8")) if path and path.exists() else {}


def tell_triples(found: dict[str, Any], path: Path | None) -> int:
    """Show these figures, and put them beside the others in a file."""
    for name, value in found.items():
        print(f"  {name:40} {value}")
    if path:
        path.write_text(json.dumps(told_before(path) | {"triples": found}, indent=1) + "\n", encoding="utf-8")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Stated and actual errors of non-negative tables.")
    parser.add_argument("--salary", type=Path, help="salary.csv, with salary-domain.json beside it")
    parser.add_argument("--puma", type=Path, help="a folder of histograms ST_*.csv")
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0], help="budgets, at delta = 1e-9")
    parser.add_argument("--measurements", type=int, default=12, help="how often each data set is measured")
    parser.add_argument("--stated", type=int, default=2, help="from how many of these errors are stated")
    parser.add_argument("--simulations", type=int, default=20, help="of `published_errors`")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--triples", nargs="+", help="attributes of Adult whose tables of three are measured instead")
    arguments = parser.parse_args()
    if arguments.triples:
        return tell_triples(triples(arguments.triples, TRIPLES), arguments.json)
    data = {}
    if arguments.puma:
        data["PUMA"] = [puma_codes(path) for path in sorted(arguments.puma.glob("ST_*.csv"))]
    data["Adult"] = [adult_codes()]
    if arguments.salary:
        data["salary"] = [salary_codes(arguments.salary)]
    names = ("measurements", "stated", "simulations")
    before = told_before(arguments.json)
    told: dict[str, Any] = before | {"delta": DELTA} | {name: getattr(arguments, name) for name in names} | {"data": {}}
    failures = []
    for epsilon in arguments.epsilon:
        for name, every in data.items():
            found = figures(every, epsilon, arguments)
            told["data"].setdefault(name, {})[str(epsilon)] = found
            show(f"{name}, epsilon = {epsilon}", {key: {"": value} for key, value in found.items()})
            failures += [f"{name}, epsilon = {epsilon}: {what}" for what in wrong(found)]
            if arguments.json:
                arguments.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
