"""RAP's speed and memory: one JSON line for each case, with its target.

    python -m benchmarks.rap [CASE ...] [--loans SCHEMA] [--json FILE]

Cases: tables, thresholds, naive (A-1, A-1b and the evaluation by one einsum for each table), tiles and untiled (A2),
gathered, gathered-fit, adaptive-few, adaptive-many, loans-256 and loans-1024 (F6), evaluation (F18), loans-fours (F19),
adaptive (A-2), step (A-2b), loans (A-3), whole (A-4), synthesized (A-5), error (A-6).  Those of Loans need --loans and
are on stand-in records.  Each case runs in a process of its own, so that peak memory is its own.  Seconds are CPU
seconds of one thread where OMP_NUM_THREADS=1; walls besides.
"""

import argparse
import json
import os
import platform
import resource
import string
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import residualplanner as rp
from benchmarks.rap_cases import adult_case, errors, evaluation, loans_like, rap_answers, released
from residualplanner.fits.mixtures.mixture import OneHot
from residualplanner.fits.optimizers import Adam
from residualplanner.fits.rap.projection import ListedCells, listed_cells
from residualplanner.fits.rap.relaxed_records import RELAXATIONS, RelaxedRecords
from residualplanner.fits.rap.tiles import thresholds_of, tiles_of
from residualplanner.more.queries.thresholds import threshold_map, threshold_probability

RECORDS = 1000
#: Of which half is for counts: those of 64 tables are 46,202,888 bytes, and those of 256 are 112,794,408.
_COUNTS = 96 * 2**20
#: A case gives what it found besides its time.
Found = dict[str, Any]


def relaxed(case_sizes: tuple[int, ...]) -> RelaxedRecords:
    blocks, kind = OneHot(case_sizes), RELAXATIONS["softmax"]
    return RelaxedRecords(blocks, kind.values(kind.start(blocks, RECORDS, np.random.default_rng(0)), blocks))


def tables(orders_of_r: tuple[int, ...]) -> Found:
    """All 364 three-way tables of Adult, 20.9 million queries for each r."""
    domain = adult_case().domain
    records, answered = relaxed(domain.sizes), 0
    for table in thresholds_of(rp.marginals(domain, order=3)):
        marginal = records.fractions(table)
        answered += sum((marginal if r == 3 else threshold_map(marginal, r)).size for r in orders_of_r)
    return {"queries": answered}


def naive() -> Found:
    """The same by one einsum of all operands for each table, of the first 40 tables."""
    domain = adult_case().domain
    records, answered = relaxed(domain.sizes), 0
    for table in thresholds_of(rp.marginals(domain, order=3))[:40]:
        columns = [records.values[records.blocks.rows(position)] for position in table.positions]
        letters = string.ascii_lowercase[: len(columns)]
        answered += np.einsum(",".join(f"{each}z" for each in letters) + f"->{letters}", *columns).size
    return {"queries": answered}


def gathered(*, is_fitted: bool) -> Found:
    """20,000 queries of relaxed records, all gathered at once, as an evaluation query by query does; no tables."""
    domain = adult_case().domain
    records = relaxed(domain.sizes)
    table = max(thresholds_of(rp.marginals(domain, order=3)), key=lambda each: each.cells)
    [block] = listed_cells([(table, np.arange(20_000), np.zeros(20_000), 1.0, 1.0)], records.blocks)
    if is_fitted:
        block.add_slopes(records.values, np.zeros_like(records.values))
    else:
        threshold_probability([records.values[rows] for rows in block.rows.T], block.at_least).mean(axis=1)
    return {"queries": len(block.rows)}


def adaptive(
    *,
    rounds: int = 16,
    choices: int | None = 4,
    stops: bool = False,
    unit: str = "cell",
    tables: int = 64,
    memory: int = 2**30,
) -> Found:
    """RAP on three-way marginals of Adult at epsilon 0.1, 300 steps a round."""
    case = adult_case()
    settings = rp.fits.rap.ProjectionSettings(relaxed_records=RECORDS, stops_at_noise=stops)
    plan = rp.fits.rap.RapPlan(
        case.workload(3, tables, 0),
        budget=case.budget(0.1),
        neighbors="replace",
        rounds=rounds,
        choices=choices,
        unit=unit,
        projection=settings,
    )
    return judged(case, plan, memory=memory)


def judged(case: Any, plan: rp.fits.rap.RapPlan, *, memory: int = 2**30) -> Found:
    start = time.process_time()
    result = rp.fits.rap.rap(plan, case.codes, memory=memory, seed=0)
    spent = time.process_time() - start
    found = errors(case, plan.thresholds, rap_answers(result))
    steps = sum(each.steps for each in result.rounds)
    return {"rap_cpu_seconds": round(spent, 2), "steps": steps, "queries": found.cells, "largest_error": found.largest}


def whole() -> Found:
    """Non-adaptive RAP: all cells of 64 three-way marginals are measured and fitted, 50 steps."""
    case = adult_case()
    plan = rp.fits.rap.RapPlan(
        case.workload(3, 64, 0),
        budget=case.budget(0.1),
        neighbors="replace",
        rounds=1,
        choices=None,
        projection=rp.fits.rap.ProjectionSettings(steps=50, stops_at_noise=False),
    )
    return judged(case, plan)


def step() -> Found:
    """One step of the optimizer at 256 cells of three attributes, 1000 relaxed records; the mean of 200."""
    generator = np.random.default_rng(0)
    blocks, kind = OneHot((30,) * 10), RELAXATIONS["softmax"]
    rows = np.stack([generator.permutation(10)[:3] * 30 + generator.integers(0, 30, 3) for _ in range(256)])
    cells = ListedCells(3, rows, generator.random(256), np.ones(256), np.ones(256))
    parameters = kind.start(blocks, RECORDS, generator)
    adam, values, settings = Adam(parameters, 1e-8), kind.values(parameters, blocks), rp.fits.rap.ProjectionSettings()
    start = time.process_time()
    for number in range(200):
        slopes = np.zeros_like(values)
        cells.add_slopes(values, slopes)
        adam.add(kind.slopes(values, slopes, blocks))
        parameters = kind.kept(parameters - adam.step(settings.rate_at(number)), blocks)
        values = kind.values(parameters, blocks)
    return {"milliseconds": round((time.process_time() - start) * 5, 2)}


def loans(schema: str) -> Found:
    """RAP on 1-of-3 thresholds of the stand-in records, 35 million queries, 16 rounds of 4 cells, 300 steps."""
    case = loans_like(Path(schema))
    generator = np.random.default_rng(0)
    sets, chosen, cells = case.sets(3), [], 0
    for number in generator.permutation(len(sets)).tolist():
        size = case.domain.cells(sets[number])
        if cells + size <= 35_000_000 and len(chosen) < 64:
            chosen.append(sets[number])
            cells += size
    plan = rp.fits.rap.RapPlan(
        case.workload_of(chosen, 1),
        budget=case.budget(0.1),
        neighbors="replace",
        projection=rp.fits.rap.ProjectionSettings(stops_at_noise=False),
    )
    return {"data": case.name, "tables": len(chosen), **judged(case, plan)}


def fours_of_loans(schema: str) -> Found:
    """The same on 64 1-of-4 thresholds of those small enough that about as many queries come together."""
    case = loans_like(Path(schema))
    plan = rp.fits.rap.RapPlan(
        case.workload(4, 64, 0, at_least=1, max_cells=1_900_000),
        budget=case.budget(0.1),
        neighbors="replace",
        projection=rp.fits.rap.ProjectionSettings(stops_at_noise=False),
    )
    return {"data": case.name, "tables": len(plan.thresholds), **judged(case, plan)}


def many_loans(schema: str, tables: int, rounds: int) -> Found:
    """RAP on so many three-way marginals of the stand-in records, with 256 MiB for counts; rounds of 4 cells."""
    case = loans_like(Path(schema))
    plan = rp.fits.rap.RapPlan(
        case.workload(3, tables, 0), budget=case.budget(0.1), neighbors="replace", rounds=rounds, choices=4
    )
    start = time.process_time()
    result = rp.fits.rap.rap(plan, case.codes, memory=2**29, seed=0)
    spent = time.process_time() - start
    return {
        "data": case.name,
        "tables": tables,
        "rounds": len(result.rounds),
        "rap_cpu_seconds": round(spent, 2),
        "queries": sum(table.cells for table in plan.thresholds),
    }


def tiled(memory: int) -> Found:
    """RAP on one four-way table of Adult, the largest with at most 20 million cells: 2 rounds of 4 cells."""
    case = adult_case()
    names = max(case.sets(4, max_cells=20_000_000), key=case.domain.cells)
    plan = rp.fits.rap.RapPlan(
        case.workload_of([names], 4), budget=case.budget(0.1), neighbors="replace", rounds=2, choices=4
    )
    result = rp.fits.rap.rap(plan, case.codes, memory=memory, seed=0)
    tiles = tiles_of(plan.thresholds, relaxed_records=RECORDS, room=memory // 2)
    chosen = [tuple(each) for one in result.rounds for each in one.chosen]
    return {"memory_mib": memory // 2**20, "queries": plan.thresholds[0].cells, "tiles": len(tiles), "chosen": chosen}


def synthesized() -> Found:
    """A plan of 64 three-way marginals of Adult at epsilon 0.1, measured, and a mixture fitted to the release."""
    case = adult_case()
    workload = case.workload(3, 64, 0)
    start = time.process_time()
    release = released(case, workload, case.budget(0.1), neighbors="add-remove", seed=0)
    measured_at = time.process_time()
    people = rp.synthesize(release)
    fitted_at = time.process_time()
    names, tables_asked = case.domain.names, thresholds_of(workload)

    def of(table: Any) -> list[str]:
        return [names[position] for position in table.positions]

    raw = errors(case, tables_asked, lambda table: np.asarray(release[tuple(of(table))].estimate))
    fitted = errors(case, tables_asked, lambda table: np.asarray(people.expected(of(table))))
    return {
        "release_cpu_seconds": round(measured_at - start, 2),
        "fit_cpu_seconds": round(fitted_at - measured_at, 2),
        "raw": [raw.largest, raw.rmse],
        "fitted": [fitted.largest, fitted.rmse],
    }


def error() -> Found:
    """The present error of relaxed records on 256 three-way tables of Adult."""
    case, tables_asked = adult_case(), thresholds_of(adult_case().workload(3, 256, 0))
    records = relaxed(case.domain.sizes)
    found = errors(case, tables_asked, lambda table: records.fractions(table) * case.records)
    return {"queries": found.cells}


CASES: dict[str, tuple[str, str, Callable[..., Found]]] = {
    "tables": ("A-1", "4 s, 0.3 GiB extra", lambda: tables((3,))),
    "thresholds": ("A-1b", "twice A-1", lambda: tables((1, 2, 3))),
    "naive": ("A-1", "for comparison: 40 of 364 tables", naive),
    "gathered": ("F6", "for comparison: 20,000 queries gathered at once", lambda: gathered(is_fitted=False)),
    "gathered-fit": ("F6", "for comparison: the same with the slope of a fit", lambda: gathered(is_fitted=True)),
    "adaptive": ("A-2", "60 s, 2 GiB", adaptive),
    "adaptive-stopping": ("A-2", "the default, which stops at the noise", lambda: adaptive(stops=True)),
    "adaptive-tables": (
        "A-2",
        "for comparison: 4 rounds of 4 tables",
        lambda: adaptive(rounds=4, unit="table", stops=True),
    ),
    "adaptive-few": (
        "F6",
        "for comparison: 64 tables, 48 MiB for counts",
        lambda: adaptive(stops=True, memory=_COUNTS),
    ),
    "adaptive-many": (
        "F6",
        "256 tables in as much memory as 64",
        lambda: adaptive(stops=True, tables=256, memory=_COUNTS),
    ),
    "tiles": ("A2", "64 MiB besides the relaxed records and their fit", lambda: tiled(2**26)),
    "untiled": ("A2", "for comparison: the same table whole", lambda: tiled(2**32)),
    "loans-256": ("F6", "for comparison: 256 tables, 4 rounds", lambda schema: many_loans(schema, 256, 4)),
    "loans-1024": ("F6", "1,024 tables in as much memory, 1 round", lambda schema: many_loans(schema, 1024, 1)),
    "step": ("A-2b", "12 ms", step),
    "loans": ("A-3", "1240 s, 6 GiB", loans),
    "loans-fours": ("F19", "64 1-of-4 thresholds, 1240 s on a GPU", fours_of_loans),
    "whole": ("A-4", "600 s, 2 GiB", whole),
    "synthesized": ("A-5", "60 s; the largest error at most raw, the root mean square error a tenth", synthesized),
    "error": ("A-6", "10 s", error),
    "evaluation": ("F18", "60% of the time of the definition", evaluation),
}


def measured(name: str, schema: str | None) -> Found:
    """Run one case here, and say how long it took and how much memory the process had."""
    identifier, target, function = CASES[name]
    adult_case()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, wall = time.process_time(), time.perf_counter()
    found = function(schema) if name.startswith("loans") else function()
    return {
        "id": identifier,
        "case": name,
        "cpu_seconds": round(time.process_time() - start, 2),
        "wall_seconds": round(time.perf_counter() - wall, 2),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "before_mib": before // 1024,
        "target": target,
        **found,
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "versions": {"residualplanner": rp.__version__, "numpy": np.__version__, "python": platform.python_version()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="RAP's speed and memory.")
    parser.add_argument(
        "cases", nargs="*", choices=[[], *CASES], help="some of them; all but those of loans without a schema"
    )
    parser.add_argument("--loans", help="the schema of Loans, a JSON object of sizes")
    parser.add_argument("--json", type=Path, help="also add the lines to this file, a list")
    parser.add_argument("--here", action="store_true", help="run one case in this process")
    arguments = parser.parse_args()
    chosen = arguments.cases or [name for name in CASES if arguments.loans or not name.startswith("loans")]
    if arguments.here:
        print(json.dumps(measured(chosen[0], arguments.loans)))
        return 0
    lines = []
    for name in chosen:
        command = [sys.executable, "-m", "benchmarks.rap", name, "--here"]
        command += ["--loans", arguments.loans] if arguments.loans else []
        lines.append(json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout))
        print(json.dumps(lines[-1]), flush=True)
    if arguments.json:
        kept = json.loads(arguments.json.read_text()) if arguments.json.exists() else []
        kept = [each for each in kept if each["case"] not in chosen]
        arguments.json.write_text(json.dumps(kept + lines, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
