"""Means beside non-negative tables: how far they are from the truth, and whether their intervals cover.

    python -m benchmarks.adjusted_means [--draws 200] [--json FILE]

A made-up payroll of 8,000 people in 60 places of very different sizes and 5 jobs, pay from 0 to 150,000; mean pay by
place, by job, and by place and job: at three budgets where pay has a single bin, and, in a twentieth of the draws, at
one of them where it has 3 bins, for medians by job.  For groups of each size it prints the root mean square error of
means from non-negative tables and from unbiased ones (a group of which either count is not above 0 has no mean, and is
left out of both), how often the intervals cover, and how many published means are outside their intervals.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import residualplanner as rp
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.release.profiles import profile_named
from residualplanner.release.statistic_forms import statistic_form

PLACES, JOBS, PEOPLE, HIGH = 60, 5, 8000, 150_000
#: Budgets, numbers of bins of pay, and which part of the draws is made.
CASES = (("0.02", 1, 1), ("0.1", 1, 1), ("0.5", 1, 1), ("0.1", 3, 20))
GROUPS = (("place",), ("job",), ("place", "job"))
#: The sizes of groups, in true records: from, and up to.
SIZES = ((1, 5), (5, 20), (20, 100), (100, PEOPLE))


def people() -> pd.DataFrame:
    """The payroll, the same in every run."""
    chance = np.random.default_rng(5)
    place = np.minimum(chance.geometric(0.08, PEOPLE) - 1, PLACES - 1)
    job = chance.choice(JOBS, PEOPLE, p=[0.3, 0.2, 0.05, 0.2, 0.25])
    typical = np.array([41, 46, 88, 67, 58])[job] * 1000
    pay = np.clip(typical * chance.lognormal(0, 0.25, PEOPLE) // 100 * 100, 0, HIGH).astype(int)
    return pd.DataFrame({"place": place, "job": job, "pay": pay})


def plan_of(budget: str, bins: int) -> rp.Plan:
    """Mean pay by place, by job and by both, and where there are bins medians by job."""
    domain = rp.Domain({"place": PLACES, "job": JOBS, "pay": rp.Numeric(0, HIGH, unit=100, bins=bins)})
    queries: list[dict[str, Any]] = [{**{name: rp.Identity() for name in group}, "pay": rp.Mean()} for group in GROUPS]
    if bins > 1:
        queries.append({"job": rp.Identity(), "pay": rp.Quantiles(0.5)})
    return rp.select(rp.Workload(domain, queries), budget=rp.zcdp(budget))


def truth_of(records: pd.DataFrame, group: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """How many records each group has, and their mean pay; NaN of none."""
    shape = [{"place": PLACES, "job": JOBS}[name] for name in group]
    code = np.ravel_multi_index([records[name] for name in group], shape)
    counts = np.bincount(code, minlength=int(np.prod(shape)))
    with np.errstate(invalid="ignore"):
        return counts, np.bincount(code, weights=records["pay"], minlength=len(counts)) / counts


def rows_of(plan: rp.Plan, records: pd.DataFrame, draws: int) -> pd.DataFrame:
    """For every draw and group with records: what is published, the interval, and the truth."""
    found = []
    for seed in range(draws):
        release = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=seed))
        tables = rp.nonnegative(release)
        for group in GROUPS:
            query = {**{name: rp.Identity() for name in group}, "pay": rp.Mean()}
            made, variance = tables[query], release[query].variance
            form = statistic_form(plan.domain, profile_named("default"), WrittenQuery(made.positions, made.kinds))
            assert form is not None
            unbiased, adjusted = (
                form.numbers(answers, variance, 0.95) for answers in (release[query].estimate, made.estimate)
            )
            counts, means = truth_of(records, group)
            columns = {column.name: np.ravel(unbiased[column.field]) for column in form.columns}
            columns |= {"made": np.ravel(adjusted["estimate"]), "size": counts, "truth": means}
            found.append(pd.DataFrame(columns)[counts > 0])
    return pd.concat(found)


def summary(rows: pd.DataFrame) -> dict[str, Any]:
    """Errors and coverage of some groups over all draws."""
    both = rows.dropna(subset=["mean", "made"])
    error = {name: float(np.sqrt(((both[name] - both["truth"]) ** 2).mean())) for name in ("mean", "made")}
    outside = (both["made"] < both["low"] - 1e-6) | (both["made"] > both["high"] + 1e-6)
    return {
        "groups": len(rows),
        "rmse_unbiased": error["mean"],
        "rmse_nonnegative": error["made"],
        "coverage": float(((rows["low"] <= rows["truth"]) & (rows["truth"] <= rows["high"])).mean()),
        "outside_their_interval": float(outside.mean()),
        "too_noisy": float(rows["too_noisy"].mean()),
    }


def main() -> None:
    """Print a line for each budget and size of groups."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    records, results = people(), []
    for budget, bins, part in CASES:
        draws = options.draws // part
        rows = rows_of(plan_of(budget, bins), records, draws)
        for low, high in SIZES:
            some = rows[(rows["size"] >= low) & (rows["size"] < high)]
            results.append({"rho": budget, "bins": bins, "from": low, "below": high, "draws": draws} | summary(some))
            print(" ".join(f"{name}={value:.4g}" if name != "rho" else value for name, value in results[-1].items()))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
