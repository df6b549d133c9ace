"""Non-negative tables beside the baselines: how near the truth they are, whether they agree, and how long they take.

    python -m benchmarks.nonnegative [--salary FILE] [--puma FOLDER] [--seeds N] [--three-way] [--json FILE] [--only P]

Adult ships with the package.  FILE is salary.csv, FOLDER holds histograms of race by origin, ``ST_*.csv``.  For each
data set and budget, means over seeds of the noise: the total variation between a table and the truth (the mean over
tables), the root mean square error of all cells and of the cells of one-way tables, the error of the total, by how much
tables disagree on what they share, and CPU seconds.  Baselines are unbiased estimates ("none"), these clipped at 0,
clipped and rescaled, each table projected on the simplex, and, where the whole domain fits in memory, non-negative
least squares on the data vector.  The default weights, with a factor of 30 for each attribute, are compared with others
of their family, with 100 and 300.  Adult is measured at least 10 times at epsilon = 1; every measurement of every data
set has noise of its own.
"""

import argparse
import csv
import json
import math
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import residualplanner as rp
from benchmarks.naive_ascent import seconds_to_gap
from benchmarks.trees_cases import counties
from residualplanner.datasets import adult
from residualplanner.fits.nonnegative import ascent
from residualplanner.fits.nonnegative.newton import DualPoint, candidate
from residualplanner.fits.nonnegative.problem import WEIGHTS, DualProblem

BUDGETS = (0.3, 1.0, 3.0)
DELTA = 1e-9
#: The most cells of a domain whose data vector is fitted.
DENSE_CELLS = 10_000
#: Other factors than the default's 30 by which a residual moves more freely for each attribute, and their weights.
FACTORS = {f"variance times {factor} an attribute": (True, float(factor)) for factor in (100, 300)}
#: What can be measured by itself: the comparison, times, and times of all three-way tables of Adult.
PARTS = ["data", "times", "three-way"]
#: How often a data set is measured at least, by its name and epsilon.
SEEDS = {("Adult", 1.0): 10}
Array = NDArray[np.float64]


# What is compared.


def clipped(table: Array) -> Array:
    return np.maximum(table, 0)


def rescaled(table: Array) -> Array:
    """Clipped, and scaled to the table's own total."""
    positive = np.maximum(table, 0)
    return positive * max(table.sum(), 0) / positive.sum() if positive.sum() > 0 else positive


def on_simplex(table: Array) -> Array:
    """The nearest table without negative cells that has the same total."""
    values, total = np.sort(table.ravel())[::-1], max(float(table.sum()), 0.0)
    if total == 0:
        return np.zeros_like(table)
    over = (np.cumsum(values) - total) / np.arange(1, values.size + 1)
    return np.maximum(table - over[np.flatnonzero(values > over)[-1]], 0)


BY_TABLE: dict[str, Callable[[Array], Array]] = {
    "none": lambda table: table,
    "clip": clipped,
    "clip and rescale": rescaled,
    "simplex": on_simplex,
}


def whole_fit(release: rp.Release) -> dict[Any, Array]:
    """Non-negative least squares on the data vector, with the mechanism's own weights, and its tables."""
    from scipy.optimize import nnls

    plan, sizes = release.plan, release.plan.domain.sizes
    rows, values = [], []
    for members, variance in zip(plan.closure, plan.noise_variances.tolist(), strict=True):
        # the component of a set: its table, centered along its own axes; all components are orthogonal
        factors = [np.eye(n) - 1 / n if i in members else np.ones((1, n)) for i, n in enumerate(sizes)]
        row = np.ones((1, 1))
        for factor in factors:
            row = np.kron(row, factor)
        table = release[[plan.domain.names[i] for i in members]].estimate
        for axis in range(table.ndim):
            table = table - table.mean(axis=axis, keepdims=True)
        rows.append(row / math.sqrt(variance))
        values.append(table.ravel() / math.sqrt(variance))
    x = nnls(np.vstack(rows), np.concatenate(values), maxiter=100_000)[0].reshape(sizes)
    positions = {query: plan.domain.positions_as_written(query) for query in plan.workload}
    return {
        query: x.sum(axis=tuple(i for i in range(len(sizes)) if i not in members))
        for query, members in positions.items()
    }


# How good it is.


def measures(release: rp.Release, tables: dict[Any, Array], truth: dict[Any, Array]) -> dict[str, float]:
    """All figures of one set of tables."""
    n = float(next(iter(truth.values())).sum())
    off = [tables[query] - truth[query] for query in truth]
    margins: dict[str, list[Array]] = {}
    for query, table in tables.items():
        for axis, name in enumerate(query):
            others = tuple(other for other in range(table.ndim) if other != axis)
            margins.setdefault(name, []).append(table.sum(axis=others))
    exact = {name: truth[query].sum(axis=tuple(i for i in range(len(query)) if query[i] != name))
             for query in truth for name in query}  # fmt: skip
    one_way = np.concatenate([(each - exact[name]) ** 2 for name, found in margins.items() for each in found])
    totals = np.array([table.sum() for table in tables.values()])
    return {
        "total variation": float(np.mean([np.abs(each).sum() for each in off])) / (2 * n),
        "rmse": math.sqrt(sum(float((each**2).sum()) for each in off) / sum(each.size for each in off)),
        "one-way rmse": math.sqrt(float(one_way.mean())),
        "error of the total": float(np.abs(totals - n).max()),
        "standard errors": float(np.abs(totals - n).max() / np.sqrt(release.plan.variance(()))),
        "disagreement": max(float(np.ptp(np.stack(found), axis=0).max()) for found in margins.values()),
        "least cell": min(float(table.min()) for table in tables.values()),
    }


def compared(release: rp.Release, truth: dict[Any, Array]) -> Iterator[tuple[str, dict[str, float]]]:
    """The figures of every method."""
    unbiased = {query: release[query].estimate for query in truth}
    for name, change in BY_TABLE.items():
        started = time.process_time()
        tables = {query: change(table) for query, table in unbiased.items()}
        yield name, measures(release, tables, truth) | {"cpu s": time.process_time() - started}
    if math.prod(release.plan.domain.sizes) <= DENSE_CELLS:
        started = time.process_time()
        tables = whole_fit(release)
        yield "dense NNLS", measures(release, tables, truth) | {"cpu s": time.process_time() - started}
    WEIGHTS.update(FACTORS)
    for weights in ("protect-margins", *FACTORS, "order", "variance"):
        started = time.process_time()
        made = rp.nonnegative(release, weights=weights, total="free" if weights == "variance" else "estimate")
        spent = time.process_time() - started
        tables = {query: made[query].estimate for query in truth}
        yield f"nonnegative, {weights}", measures(release, tables, truth) | {"cpu s": spent, "gap": made.numbers.gap}
    started = time.process_time()
    whole = rp.rounded(rp.nonnegative(release))
    tables = {query: whole[query].estimate for query in truth}
    yield "nonnegative, rounded", measures(release, tables, truth) | {"cpu s": time.process_time() - started}


# The data.


def counted(domain: rp.Domain, codes: NDArray[np.int64], queries: Sequence[Any]) -> dict[Any, Array]:
    """The true tables."""
    found = {}
    for query in queries:
        members = domain.positions_as_written(query)
        table = np.zeros([domain.sizes[i] for i in members])
        np.add.at(table, tuple(codes[:, i] for i in members), 1)
        found[query] = table
    return found


def adult_codes() -> tuple[rp.Domain, NDArray[np.int64]]:
    import pandas as pd

    domain, path = adult()
    frame = pd.read_parquet(path)
    columns = [
        frame[each.name].map({label: code for code, label in enumerate(each.value_labels)}).to_numpy()
        for each in domain.attributes
    ]
    return domain, np.stack(columns, axis=1).astype(np.int64)


def salary_codes(path: Path) -> tuple[rp.Domain, NDArray[np.int64]]:
    """The salaries, with the sizes that stand beside them."""
    sizes = json.loads(path.with_name(f"{path.stem}-domain.json").read_text())
    with open(path, encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return rp.Domain({name: sizes[name] for name in names}), np.array(rows, dtype=np.int64)


def puma_codes(path: Path) -> tuple[rp.Domain, NDArray[np.int64]]:
    """One histogram of race by origin as records."""
    with open(path, encoding="utf-8", newline="") as file:
        counts = np.array([row[1:] for row in list(csv.reader(file))[1:]], dtype=np.int64)
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    return rp.Domain({"race": counts.shape[0], "origin": counts.shape[1]}), np.stack(
        np.unravel_index(cells, counts.shape), axis=1
    )


def releases(domain: rp.Domain, codes: NDArray[np.int64], epsilon: float, seeds: Iterable[int]) -> Iterator[rp.Release]:
    """Releases of all pairs of attributes, all of equal importance, one for each seed."""
    loss = rp.losses.SumOfVariances(weights="equal")
    plan = rp.select(rp.marginals(domain, order=2), budget=rp.approx_dp(epsilon, DELTA), loss=loss)
    for seed in seeds:
        yield rp.reconstruct(rp.measure(plan, codes, noise="gaussian", seed=seed))


def averaged(
    data: list[tuple[rp.Domain, NDArray[np.int64]]], epsilon: float, seeds: int
) -> dict[str, dict[str, float]]:
    """The figures of every method, averaged over data sets and seeds; no two releases share a seed."""
    found: dict[str, list[dict[str, float]]] = {}
    for number, (domain, codes) in enumerate(data):
        truth = counted(domain, codes, list(rp.marginals(domain, order=2)))
        for release in releases(domain, codes, epsilon, range(number * seeds, (number + 1) * seeds)):
            for name, figures in compared(release, truth):
                found.setdefault(name, []).append(figures)
    return {name: summary(rows) for name, rows in found.items()}


def summary(rows: list[dict[str, float]]) -> dict[str, float]:
    """Means of all figures, and the standard error of the mean total variation."""
    means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    variation = [row["total variation"] for row in rows]
    return means | {"its standard error": float(np.std(variation, ddof=1)) / math.sqrt(len(rows))}


# The targets of time.


def adult_pairs(naive_seconds: float) -> dict[str, float]:
    """All pairs of Adult, and how long dual ascent with a constant step, table by table, takes to the same gap."""
    domain, codes = adult_codes()
    (release,) = releases(domain, codes, 1.0, [0])
    spent = []
    for _ in range(3):
        started = time.process_time()
        made = rp.nonnegative(release)
        spent.append(time.process_time() - started)
    naive = seconds_to_gap(release, max(made.numbers.gap, 1e-6), limit=naive_seconds)
    return {"cpu s": min(spent), "gap": made.numbers.gap, "steps": made.numbers.steps} | naive


def ten_attributes() -> dict[str, float]:
    """All tables of up to three of ten attributes of ten values."""
    domain = rp.Domain({f"a{i}": 10 for i in range(10)})
    codes = np.minimum(np.random.default_rng(0).geometric(0.35, (20_000, 10)) - 1, 9)
    plan = rp.select(rp.marginals(domain, up_to=3), budget=rp.zcdp("0.5"))
    return timed(rp.reconstruct(rp.measure(plan, codes, noise="gaussian", seed=0)))


def counties_by_age_and_sex() -> dict[str, float]:
    """All counties of the United States within their states, by 18 ages and 2 sexes: a hierarchy of 3,143 values."""
    labels, levels = counties(3143)
    query = {"place": rp.Hierarchy(levels), "age": rp.Identity(), "sex": rp.Identity()}
    workload = rp.Workload(rp.Domain({"place": labels, "age": 18, "sex": 2}), [query])
    codes = np.random.default_rng(1).integers(0, (len(labels), 18, 2), (500_000, 3))
    plan = rp.select(workload, budget=rp.zcdp("0.5"))
    return timed(rp.reconstruct(rp.measure(plan, codes, noise="gaussian", seed=0)))


def adult_triples() -> dict[str, dict[str, float]]:
    """All tables of three attributes of Adult, 21 million cells, non-negative with a proved gap of 1e-4.

    On the way there, when the rule of the target is met: no cell is below 0 by more than 1e-4 of the total, and the
    multipliers times the cells are at most 1e-4 of the distance.
    """
    domain, codes = adult_codes()
    plan = rp.select(rp.marginals(domain, order=3), budget=rp.approx_dp(1.0, DELTA))
    release = rp.reconstruct(rp.measure(plan, codes, noise="gaussian", seed=0))
    started, looks = time.process_time(), list[dict[str, float]]()

    def looked_at(problem: DualProblem, multipliers: Array) -> DualPoint:
        found = candidate(problem, multipliers)
        spent, below = time.process_time() - started, found.violation / problem.total
        looks.append({"cpu s": spent, "below 0, of the total": below, "bound off by": found.gap})
        show("looked at", {"": looks[-1]})
        return found

    ascent.candidate = looked_at
    try:
        proved = timed(release, gap=1e-4, max_steps=1000)
    finally:
        ascent.candidate = candidate
    nearly = next(each for each in looks if max(each["below 0, of the total"], each["bound off by"]) <= 1e-4)
    return {"Adult, 3-way, nearly": nearly, "Adult, 3-way": proved}


def timed(release: rp.Release, **options: Any) -> dict[str, float]:
    started = time.process_time()
    made = rp.nonnegative(release, **options)
    spent = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"cpu s": spent, "gap": made.numbers.gap, "steps": made.numbers.steps, "peak GiB of the process": peak}


def main() -> int:
    parser = argparse.ArgumentParser(description="Non-negative tables beside the baselines.")
    parser.add_argument("--salary", type=Path, help="salary.csv, with salary-domain.json beside it")
    parser.add_argument("--puma", type=Path, help="a folder of histograms ST_*.csv")
    parser.add_argument("--seeds", type=int, default=4, help="measurements of each data set at each budget")
    parser.add_argument("--naive-seconds", type=float, default=120.0, help="when the naive ascent is stopped")
    parser.add_argument("--three-way", action="store_true", help="also all three-way tables of Adult (minutes, 3 GiB)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="what to measure")
    arguments = parser.parse_args()
    found: dict[str, Any] = {"delta": DELTA, "data": {}, "times": {}}
    if arguments.json and arguments.json.exists() and arguments.only != PARTS:
        found = json.loads(arguments.json.read_text(encoding="utf-8"))
    if "data" in arguments.only:
        compare_all(arguments, found)
    if "times" in arguments.only:
        found["times"]["ten attributes, up to 3-way"] = ten_attributes()
        found["times"]["3,143 counties by age and sex"] = counties_by_age_and_sex()
        found["times"]["Adult, pairs"] = adult_pairs(arguments.naive_seconds)
    if arguments.three_way and "three-way" in arguments.only:
        found["times"] |= adult_triples()
    show("times", found["times"])
    write(found, arguments.json)
    return 0


def compare_all(arguments: argparse.Namespace, found: dict[str, Any]) -> None:
    """Measure every data set at every budget."""
    data = {"Adult": [adult_codes()]}
    if arguments.salary:
        data["salary"] = [salary_codes(arguments.salary)]
    if arguments.puma:
        data["PUMA"] = [puma_codes(path) for path in sorted(arguments.puma.glob("ST_*.csv"))]
    for name, sets in data.items():
        for epsilon in BUDGETS:
            seeds = max(arguments.seeds, SEEDS.get((name, epsilon), 0))
            rows = averaged(sets, epsilon, seeds)
            found["data"].setdefault(name, {})[str(epsilon)] = {"seeds": seeds} | rows
            show(f"{name}, epsilon = {epsilon}, {seeds} measurements", rows)
            write(found, arguments.json)


def write(found: dict[str, Any], path: Path | None) -> None:
    """Write what was found so far."""
    if path:
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def show(title: str, rows: dict[str, dict[str, float]]) -> None:
    print(f"\n{title}")
    for name, figures in rows.items():
        print(f"  {name:30}", "  ".join(f"{key} {value:.4g}" for key, value in figures.items()), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
