"""How often the intervals of statistics cover the truth, in groups of 1 to 10,000 records, over many releases.

    python -m benchmarks.statistic_coverage [--runs 2000] [--simulated 200] [--seed 0] [--json FILE]

Nine groups, in each of which a third of the records, and at least one, say yes, with amounts from 0 to 100.  Each run
measures all of it anew at rho = 0.02 (seeded Gaussian noise), and a second release for changes.  Of each statistic and
group the part of the runs in which the interval of level 0.95 has the truth; of statistics of which all intervals hold
at once, and of ranks, the part in which all do.

Correlations, and a regression's coefficients, whose intervals are by 200 simulations each, are of fewer runs.  The
correlation is that within groups of 3 and more; groups are explained together by a regression on them and on hours.

Prints a line for each statistic.  Exits with 1 if one covers in less than 93% of the runs, or, where it is exact, in
more than 97% in groups of 100 records or more.  In smaller ones Fieller's set of ratios may be all that are not between
two numbers; the interval is then without ends, and covers more often.  So do those of standard deviations that are no
larger than their noise, as they cannot be negative, for which the 97% begin at 1,000 records; those of medians, which
are made of whole bins, and those of all rows at once and ranks, by Bonferroni's inequality.  Of what has intervals by
simulation the least is 91%, as runs are few.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import residualplanner as rp

SIZES = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)
YES = np.array([max(1, size // 3) for size in SIZES])
HIGH, BINS = 100, list(range(10, 100, 10))
LEAST, MOST = 0.93, 0.97
#: Of so few runs a part of 95% may be as small by chance.
LEAST_SIMULATED = 0.91
#: What is exact, and from how many records on an interval covers no more often than it says.
EXACT = dict.fromkeys(
    (
        "proportion",
        "ratio",
        "ratio of overlapping tables",
        "difference",
        "change",
        "mean",
        "estimate divided",
    ),
    100,
) | {"standard deviation": 1000}
STATISTICS = rp.statistics
#: By the name of a statistic the ends of its intervals, low and high, and the truth.
Found = tuple[str, Any, Any, Any]


def people() -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The group, answer and amount of each record; amounts are greater in larger groups."""
    chance = np.random.default_rng(7)
    group = np.repeat(np.arange(len(SIZES)), SIZES)
    answer = np.concatenate([np.arange(size) < yes for size, yes in zip(SIZES, YES, strict=True)]).astype(int)
    return group, answer, np.clip(20 + 5 * group + chance.integers(-15, 16, len(group)), 0, HIGH)


def plan() -> rp.Plan:
    """Counts by group and answer, means and medians by group."""
    squared = {"group": rp.Identity(), "points": rp.statistics.StandardDeviation()}
    attributes: dict[str, Any] = {"group": len(SIZES), "answer": 2, "pay": rp.Numeric(0, HIGH, bins=BINS)}
    attributes["points"] = rp.Numeric(0, HIGH, squares=True)  # the same as pay
    workload = rp.Workload(
        rp.Domain(attributes),
        [
            ("group", "answer"),
            {"group": rp.Identity(), "answer": rp.Proportions()},
            {"group": rp.Identity(), "pay": rp.Mean()},
            {"group": rp.Identity(), "pay": rp.Quantiles(0.5)},
            squared,
        ],
    )
    return rp.select(workload, budget=rp.zcdp("0.02"))


def truths() -> dict[str, NDArray[np.float64]]:
    """The true statistics of each group."""
    group, _, pay = people()
    each = [np.sort(pay[group == number]) for number in range(len(SIZES))]
    # the quantile of eq. (120): the least amount that half of the records are at or below
    medians = np.array([amounts[-(-len(amounts) // 2) - 1] for amounts in each], dtype=float)
    deviations = np.array([amounts.std() for amounts in each])
    return {"standard deviation": deviations, "mean": np.array([amounts.mean() for amounts in each]), "median": medians}


def intervals(release: rp.Release, other: rp.Release, truth: Mapping[str, NDArray[np.float64]]) -> Iterator[Found]:
    """The intervals of all statistics of a release; ``other`` is of the same records, measured apart."""
    sizes, cells = np.array(SIZES, dtype=float), release["group", "answer"]
    yes, no = (release[rp.Among(("group",), where={"answer": label})] for label in (1, 0))
    proportions = STATISTICS.proportions(release, "answer", by=["group"])
    yield "proportion", proportions.low[:, 1], proportions.high[:, 1], YES / sizes
    for name, found, true in (
        ("ratio", STATISTICS.ratio(yes, release["group",]), YES / sizes),
        ("ratio of overlapping tables", STATISTICS.ratio(yes, release[()]), YES / sizes.sum()),
        ("difference", STATISTICS.difference(yes, no), 2 * YES - sizes),
        ("change", STATISTICS.change(release["group",], other["group",]), np.zeros(len(SIZES))),
    ):
        yield name, found.low, found.high, true
    at_once = STATISTICS.difference(cells, release["group",], simultaneous=True)
    yield "all differences at once", at_once.low[None], at_once.high[None], -np.stack([YES, sizes - YES], 1)[None]
    means, medians = (
        STATISTICS.means(release, "pay", by=["group"]),
        STATISTICS.quantiles(release, "pay", 0.5, ["group"]),
    )
    yield "mean", means.low, means.high, truth["mean"]
    deviations = STATISTICS.standard_deviations(release, "points", ["group"])
    yield "standard deviation", deviations.low, deviations.high, truth["standard deviation"]
    yield "median", medians.low[:, 0], medians.high[:, 0], truth["median"]
    ends = np.array(
        [(cells.at(group=g, answer=1) / release["group",].at(group=g)).interval() for g in range(len(SIZES))]
    )
    yield "estimate divided", ends[:, 0], ends[:, 1], YES / sizes
    ranks, order = STATISTICS.ranks(release["group",]), len(SIZES) - np.arange(len(SIZES))
    yield "all ranks at once", ranks.first[None], ranks.last[None], order[None]


def hours_and_points() -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The group, hours and points of each record: points rise with hours, by half of a point each."""
    chance, (group, _, points) = np.random.default_rng(8), people()
    hours = chance.integers(0, 41, len(group))
    return group, hours, np.clip(points + hours // 2 - 10, 0, HIGH)


def simulated_coverage(runs: int, seed: int) -> dict[str, list[float]]:
    """The same of correlations by group, and of the coefficients of a regression."""
    points = rp.Numeric(0, HIGH, squares=True)
    domain = rp.Domain({"group": len(SIZES), "hours": rp.Numeric(0, 40, squares=True), "points": points})
    queries = [*STATISTICS.moments(domain, ["points", "hours"], by=["group"])]
    queries += STATISTICS.moments(domain, ["points", "hours", "group"])
    made = rp.select(rp.Workload(domain, queries), budget=rp.zcdp("0.02"))
    columns = np.stack(hours_and_points(), axis=1)
    group, hours, result = columns.T
    truth = [np.corrcoef(hours[group == each], result[group == each])[0, 1] for each in range(1, len(SIZES))]
    design = np.column_stack([np.ones(len(group)), hours, *(group == each for each in range(1, len(SIZES)))])
    true = np.linalg.lstsq(design.astype(float), result, rcond=None)[0]
    found: dict[str, Any] = {"correlation": 0, "coefficients": 0}
    for run in range(runs):
        release = rp.reconstruct(rp.measure(made, columns, noise="gaussian", seed=seed + run))
        of_groups = STATISTICS.correlation(release, "hours", "points", ["group"])
        found["correlation"] += (of_groups.low[1:] <= truth) & (truth <= of_groups.high[1:])
        slopes = STATISTICS.regression(release, "points", ["hours", "group"])
        found["coefficients"] += (slopes.low <= true) & (true <= slopes.high)
    return {name: (hits / runs).tolist() for name, hits in found.items()}


def _columns() -> NDArray[np.int64]:
    group, answer, pay = people()
    return np.stack([group, answer, pay, pay], axis=1)


def coverage(runs: int, seed: int) -> dict[str, list[float]]:
    """Of each statistic the part of the runs in which it covers, by group."""
    made, records, truth, found = plan(), _columns(), truths(), dict[str, Any]()
    for run in range(runs):
        both = (rp.measure(made, records, noise="gaussian", seed=2 * (seed + run) + each) for each in range(2))
        for name, low, high, true in intervals(*map(rp.reconstruct, both), truth):
            covers = (low <= true + 1e-9) & (true - 1e-9 <= high)
            covers = covers.reshape(len(covers), -1).all(axis=1)
            found[name] = found.get(name, 0) + covers
    return {name: (hits / runs).tolist() for name, hits in found.items()}


def main() -> int:
    """Print the coverage of each statistic."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--simulated", type=int, default=200, help="runs of what has intervals by simulation")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    given = parser.parse_args()
    by_simulation = simulated_coverage(given.simulated, given.seed)
    found, wrong = coverage(given.runs, given.seed) | by_simulation, list[str]()
    for name, parts in found.items():
        least = LEAST_SIMULATED if name in by_simulation else LEAST
        most = [MOST if size >= EXACT.get(name, np.inf) else 1.0 for size in SIZES]
        if not all(least <= part <= limit for part, limit in zip(parts, most, strict=False)):
            wrong.append(name)
        print(f"{name:30}{'  '.join(f'{part:.1%}' for part in parts)}{'  WRONG' if name in wrong else ''}")
    if given.json is not None:
        given.json.write_text(
            json.dumps({"runs": given.runs, "simulated": given.simulated, "sizes": SIZES, "coverage": found}, indent=1)
            + "\n"
        )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
