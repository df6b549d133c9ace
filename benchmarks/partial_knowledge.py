"""Queries that are known in part: RAP is fitted to historical thresholds, and asked others of the same distribution.

    python -m benchmarks.partial_knowledge [--seeds N] [--first N] [--families NAME ...] [--histories N ...]
                                           [--drifts X ...] [--loans SCHEMA] [--json FILE]

The published experiments X9 (1-of-3 thresholds of Adult at epsilon 0.1: how the future error depends on the number of
historical thresholds, the feature distribution and its drift) and X10 (how losses and errors move during the fit, on
stand-in records of the schema of Loans), at reduced repetitions.  The future error is the mean over future thresholds
of the largest error in each, as a fraction of all records; it is computed from the truth, so it is not private.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import residualplanner as rp
from benchmarks.rap_cases import Case, adult_case, all_zero, errors, loans_like, rap_answers
from residualplanner.fits.rap.tiles import ThresholdTable, thresholds_of

FAMILIES = {
    "uniform": lambda domain, seed: rp.questions.FeatureDistribution.uniform(domain),  # noqa: ARG005
    "zipf": lambda domain, seed: rp.questions.FeatureDistribution.zipf(domain, seed=seed),
    "geometric": lambda domain, seed: rp.questions.FeatureDistribution.geometric(domain, seed=seed),
}
HISTORIES = (1, 4, 16, 64)
SETTINGS = ((4, 4), (16, 4), (4, 16))
DRIFTS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.5, 1.0)
FUTURE = 40
EPSILON = 0.1
STEPS = (1, 3, 10, 30, 100, 300)


def future_tables(case: Case, sets: Sequence[tuple[str, ...]]) -> list[ThresholdTable]:
    """The 1-of-3 thresholds that are asked later, which may come several times."""
    tables = {names: thresholds_of(case.workload_of([names], 1))[0] for names in dict.fromkeys(sets)}
    return [tables[names] for names in sets]


@cache
def true_maximum(case: Case, table: ThresholdTable) -> float:
    return float(case.truth(table).max()) / case.records


def plan_of(
    case: Case, sets: Sequence[tuple[str, ...]], rounds: int, choices: int, *, steps: int = 300
) -> rp.fits.rap.RapPlan:
    return rp.fits.rap.RapPlan(
        case.workload_of(sets, 1),
        budget=case.budget(EPSILON),
        neighbors="replace",
        rounds=rounds,
        choices=choices,
        projection=rp.fits.rap.ProjectionSettings(steps=steps),
    )


def histories(
    case: Case, seed: int, families: Sequence[str], sizes: Sequence[int], drifts: Sequence[float]
) -> Iterator[dict[str, Any]]:
    """X9: one line for each family, size of the history, setting and drift."""
    for family in families:
        now = FAMILIES[family](case.domain, seed)
        later = {
            drift: future_tables(
                case, rp.questions.sample_sets(now.drifted(drift, seed=seed), 3, FUTURE, replace=True, seed=1000 + seed)
            )
            for drift in drifts
        }
        for size in sizes:
            for rounds, choices in SETTINGS:
                plan = plan_of(case, rp.questions.sample_sets(now, 3, size, seed=seed), rounds, choices)
                result = rp.fits.rap.rap(plan, case.codes, seed=seed)
                present = errors(case, plan.thresholds, rap_answers(result))
                for drift, tables in later.items():
                    future = errors(case, tables, rap_answers(result))
                    yield {
                        "experiment": "X9",
                        "data": case.name,
                        "family": family,
                        "history": size,
                        "rounds": rounds,
                        "choices": choices,
                        "drift": drift,
                        "seed": seed,
                        "present": present.largest,
                        "future": future.mean_largest,
                        "all_zero": float(np.mean([true_maximum(case, table) for table in tables])),
                    }


def during_the_fit(case: Case, seed: int) -> Iterator[dict[str, Any]]:
    """X10: the loss, the present and the future error after fewer and more steps in each round."""
    for family in ("uniform", "geometric"):
        now = FAMILIES[family](case.domain, seed)
        history = rp.questions.sample_sets(now, 3, 4, max_cells=10**6, seed=seed)
        later = rp.questions.sample_sets(now, 3, FUTURE // 2, replace=True, max_cells=10**6, seed=1000 + seed)
        for steps in STEPS:
            plan = plan_of(case, history, 4, 4, steps=steps)
            result = rp.fits.rap.rap(plan, case.codes, seed=seed)
            yield {
                "experiment": "X10",
                "data": case.name,
                "family": family,
                "steps": steps,
                "seed": seed,
                "loss": result.rounds[-1].losses[-1],
                "present": errors(case, plan.thresholds, rap_answers(result)).largest,
                "future": errors(case, future_tables(case, later), rap_answers(result)).mean_largest,
                "all_zero": errors(case, future_tables(case, later), all_zero).mean_largest,
            }


def main() -> int:
    parser = argparse.ArgumentParser(description="Queries that are known in part.")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--loans", type=Path, help="the schema of Loans, a JSON object of sizes, for X10")
    parser.add_argument("--json", type=Path, help="also add the lines to this file, a list")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES), help="of X9")
    parser.add_argument("--histories", nargs="+", type=int, default=list(HISTORIES), help="sizes, of X9")
    parser.add_argument("--drifts", nargs="+", type=float, default=list(DRIFTS), help="of X9")
    arguments = parser.parse_args()
    lines = json.loads(arguments.json.read_text()) if arguments.json and arguments.json.exists() else []
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        sources = [histories(adult_case(), seed, arguments.families, arguments.histories, arguments.drifts)]
        if arguments.loans:
            sources.append(during_the_fit(loans_like(arguments.loans), seed))
        for source in sources:
            for line in source:
                lines.append(line)
                print(json.dumps(line), flush=True)
                if arguments.json:
                    arguments.json.write_text(json.dumps(lines, indent=0) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
