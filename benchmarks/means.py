"""Count, sum and mean of salary by job and by year: one plan beside OpenDP's way, a budget for each query.

    python -m benchmarks.means SALARY_CSV [--opendp PYTHON] [--json FILE]

The file (135,727 records) has salaries as codes from 0 to 32, and neither jobs nor years: the employer (76) stands for
the job, the payroll system (3) for the year.  rho = 0.5, adding or removing a record, amounts clipped to 0 and 32.
``--opendp`` is the interpreter of an environment with the package opendp: its discrete Gaussian measurements are run
in it, one for the counts and one for the sums of each grouping, each with its scale for a share of the budget.  Shares
are even, or as good as possible for the sum of all variances with sums in units of 32.

Three plans of the same workload, `Mean` by job and by year: with the loss "sum", for which the best split is best; with
the loss "max", for which the even one is; and with `Targets`, each table's being the smaller error of OpenDP's two.
Prints root mean square errors over all groups, as they are predicted (those of means by eq. (118) at the truth)
and as they are drawn; those of means over groups of 30 records or more, since the mean of fewer is noise with either.
Prints which budget gives the smaller of OpenDP's errors with targets, and the least that any mechanism needs (33).
Exits with 1 unless every error, predicted and drawn, of the first plan is below that of the best split, of the second
below that of the even one, and of the third below both.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import residualplanner as rp

RHO, HIGH, LEAST, DRAWS = 0.5, 32, 30, 1000
#: One standard error is the margin of this level.
LEVEL = 0.6826894921370859
GROUPS = {"job": ("organization-name", 76), "year": ("system", 3)}
QUERIES = {name: {name: rp.Identity(), "salary": rp.Mean()} for name in GROUPS}
#: What each plan must be below.
BELOW = {"plan, sum": ["best split"], "plan, max": ["even"], "plan, targets": ["best split", "even"]}
#: By grouping and statistic an array, (groups,) or (draws, groups).
Statistics = dict[tuple[str, str], np.ndarray]
#: Reads a table and a scale for each query, writes noisy answers; runs where opendp is installed.
WORKER = """
import json, sys
import opendp.prelude as dp
dp.enable_features("contrib")
job = json.load(sys.stdin)
space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
found = []
for table in job["tables"]:
    noise = space >> dp.m.then_gaussian(table["scale"])
    assert noise.map(table["sensitivity"]) <= table["rho"] * (1 + 1e-6)
    found.append([noise(table["answers"]) for _ in range(job["draws"])])
json.dump(found, sys.stdout)
"""


def truth(people: pd.DataFrame) -> Statistics:
    """Counts and sums of each grouping, in this order."""
    found: Statistics = {}
    for name, (_, size) in GROUPS.items():
        found[name, "count"] = np.bincount(people[name], minlength=size)
        found[name, "sum"] = np.bincount(people[name], weights=people["salary"], minlength=size).astype(int)
    return found


def shares(*, is_even: bool) -> dict[tuple[str, str], float]:
    """The part of the budget of each of OpenDP's measurements."""
    wishes = {(name, word): size**0.5 for name, (_, size) in GROUPS.items() for word in ("count", "sum")}
    return {key: 1 / len(wishes) if is_even else wish / sum(wishes.values()) for key, wish in wishes.items()}


def scales(*, is_even: bool) -> dict[tuple[str, str], float]:
    """The standard error of each of OpenDP's measurements."""
    parts = shares(is_even=is_even)
    return {key: (HIGH if key[1] == "sum" else 1) / (2 * RHO * part) ** 0.5 for key, part in parts.items()}


def plans() -> dict[str, rp.Plan]:
    """The three plans."""
    domain = rp.Domain({**{name: size for name, (_, size) in GROUPS.items()}, "salary": rp.Numeric(0, HIGH)})
    workload = rp.Workload(domain, QUERIES.values())
    losses: dict[str, Any] = {"plan, sum": "sum", "plan, max": "max", "plan, targets": targets(1.0)}
    return {name: rp.select(workload, budget=rp.zcdp(RHO), loss=loss) for name, loss in losses.items()}


def targets(factor: float) -> rp.losses.Targets:
    """The smaller of OpenDP's two errors of each grouping; its counts and its sums have the same in units of 32."""
    both = [scales(is_even=True), scales(is_even=False)]
    margins = [(query, factor * min(scale[name, "count"] for scale in both)) for name, query in QUERIES.items()]
    return rp.losses.Targets(margins, level=LEVEL)


def drawn_of_plan(plan: rp.Plan, people: pd.DataFrame) -> Statistics:
    """Estimates of counts and sums from a plan, (draws, groups), by exact noise."""
    ledger = rp.Ledger.unlimited("a benchmark on public data")
    releases = (rp.reconstruct(rp.measure(plan, people, ledger=ledger, again=True)) for _ in range(DRAWS))
    found = [{name: rp.statistics.means(release, "salary", [name]) for name in GROUPS} for release in releases]
    return {
        (name, word): np.array([getattr(each[name], word) for each in found])
        for name in GROUPS
        for word in ("count", "sum")
    }


def drawn_of_opendp(python: str, people: pd.DataFrame, *, is_even: bool) -> Statistics:
    """The same from a measurement for each query."""
    answers, parts, scale = truth(people), shares(is_even=is_even), scales(is_even=is_even)
    tables = [
        {
            "answers": each.tolist(),
            "sensitivity": float(HIGH if key[1] == "sum" else 1),
            "rho": RHO * parts[key],
            "scale": scale[key],
        }
        for key, each in answers.items()
    ]
    given = json.dumps({"tables": tables, "draws": DRAWS})
    done = subprocess.run([python, "-c", WORKER], input=given, capture_output=True, text=True, check=True)
    return dict(zip(answers, map(np.array, json.loads(done.stdout)), strict=True))


def drawn_errors(people: pd.DataFrame, found: Statistics) -> dict[str, float]:
    """Root mean square errors of what was drawn, by grouping and statistic."""
    true, result = truth(people), {}
    for name in GROUPS:
        count, total = true[name, "count"], true[name, "sum"]
        is_large = count >= LEAST
        means = (found[name, "sum"] / np.maximum(found[name, "count"], 1))[:, is_large]
        differences = {
            "count": found[name, "count"] - count,
            "sum": found[name, "sum"] - total,
            "mean": means - (total[is_large] / count[is_large]),
        }
        result |= {f"{words} by {name}": float(np.sqrt((each**2).mean())) for words, each in differences.items()}
    return result


def predicted_errors(people: pd.DataFrame, variances: dict[str, np.ndarray]) -> dict[str, float]:
    """Root mean square errors from the variances of count, sum and 32 count less sum of each grouping, (3,) each."""
    true, result = truth(people), {}
    for name in GROUPS:
        of_count, of_sum, of_rest = variances[name]
        count, total = true[name, "count"], true[name, "sum"]
        is_large = count >= LEAST
        mean = total[is_large] / count[is_large]
        covariance = (of_sum + HIGH**2 * of_count - of_rest) / (2 * HIGH)
        of_mean = (of_sum - 2 * mean * covariance + mean**2 * of_count) / count[is_large] ** 2
        each = {"count": of_count, "sum": of_sum, "mean": float(of_mean.mean())}
        result |= {f"{words} by {name}": float(np.sqrt(variance)) for words, variance in each.items()}
    return result


def variances_of_plan(plan: rp.Plan) -> dict[str, np.ndarray]:
    """Of count, sum and 32 count less sum by grouping, (3,) each; all groups have the same."""
    return {name: plan.variance(query)[0] * np.array([1, HIGH**2, HIGH**2]) for name, query in QUERIES.items()}


def variances_of_opendp(*, is_even: bool) -> dict[str, np.ndarray]:
    """The same of independent counts and sums."""
    scale = scales(is_even=is_even)
    found = {}
    for name in GROUPS:
        of_count, of_sum = scale[name, "count"] ** 2, scale[name, "sum"] ** 2
        found[name] = np.array([of_count, of_sum, HIGH**2 * of_count + of_sum])
    return found


def misses(results: dict[str, dict[str, float]]) -> list[str]:
    """The errors that are not below those that they must be below."""
    return [
        f"{name} of {ours} is not below {other}"
        for ours, others in BELOW.items()
        for other in others
        for name in results[ours]
        if not results[ours][name] < results[other][name]
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Count, sum and mean of salary: one plan beside a budget a query.")
    parser.add_argument("records", type=Path, help="the salary data, as codes")
    parser.add_argument("--opendp", default=sys.executable, help="a Python interpreter that has opendp")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    arguments = parser.parse_args()
    table = pd.read_csv(arguments.records)
    people = pd.DataFrame({name: table[column] for name, (column, _) in GROUPS.items()})
    people["salary"] = table["annual-salary"].clip(0, HIGH)
    ways = {"even": True, "best split": False}
    chosen = plans()
    predicted = {name: predicted_errors(people, variances_of_plan(plan)) for name, plan in chosen.items()}
    predicted |= {name: predicted_errors(people, variances_of_opendp(is_even=way)) for name, way in ways.items()}
    peer = {name: drawn_of_opendp(arguments.opendp, people, is_even=way) for name, way in ways.items()}
    drawn = {name: drawn_errors(people, drawn_of_plan(plan, people)) for name, plan in chosen.items()}
    drawn |= {name: drawn_errors(people, found) for name, found in peer.items()}
    workload = chosen["plan, targets"].workload
    planned = rp.select(workload, loss=targets(1.0))
    least = {
        "plan": planned.pcost / 2,
        "bound": planned.pcost / 2 / (1 + planned.suboptimality) ** 2,
    }
    for words, results in (("predicted", predicted), ("drawn", drawn)):
        print(f"{words}\n{pd.DataFrame(results).round(4).to_string()}\n")
    print(f"rho for the smaller of OpenDP's errors: {least['plan']:.4f}; any mechanism: at least {least['bound']:.4f}")
    if arguments.json:
        stated = {"records": len(people), "rho": RHO, "draws": DRAWS, "least_group": LEAST, "rho_of_targets": least}
        arguments.json.write_text(json.dumps({**stated, "predicted": predicted, "drawn": drawn}, indent=1) + "\n")
    found = [*misses(predicted), *misses(drawn)]
    print("\n".join(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
