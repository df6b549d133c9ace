"""The findings that were published about RAP beside ours: one row each, with whether it holds.

    python -m benchmarks.rap_findings [--grid FILE] [--partial FILE] [--speed FILE] [--json FILE]

Reads what `benchmarks.rap_grid`, `benchmarks.partial_knowledge` and `benchmarks.rap` wrote; by default the results in
benchmarks/results.  Sources: Aydore and others 2021 ("RAP"); Avent and Korolova ("AK").  Repetitions are fewer than
published, and the records of Loans are not public, so that its rows are not run.  A finding holds if its ordering does
for the means over seeds; rises of the future error by up to a fifth count as none.  Rows that do not hold are explained
on docs/adaptive-projection.md.
"""

import argparse
import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from residualplanner.more.queries.thresholds import threshold_probability

RESULTS = Path(__file__).parent / "results"
#: What the three benchmarks wrote, as it is kept.
FILES = RESULTS / "rap_grid.jsonl", RESULTS / "partial_knowledge.json", RESULTS / "rap.json"
#: Best errors of FEM on Adult, filtered workloads of 64 tables: by order and epsilon.
FEM = {(3, 0.25): 0.103, (3, 0.2): 0.115, (3, 0.15): 0.125, (3, 0.1): 0.166}
FEM |= {(5, 1.0): 0.094, (5, 0.5): 0.101, (5, 0.25): 0.116, (5, 0.15): 0.145, (5, 0.1): 0.150}
#: AK's regression of RAP's best error on Adult: 1 and indicators of the epsilons 0.1 and 1, each also times ln of the
#: tables, and all of these times an indicator that is 1 where all tables may occur, and not the filtered ones alone.
#: (AK say the opposite of the indicator; `benchmarks.rap_explanations` has what shows it.)
REGRESSION = np.array([0.0320, -0.0066, -0.0248, 0.0650, -0.0528, -0.0600])
REGRESSION = np.append(REGRESSION, [0.0280, -0.0309, -0.0277, -0.0036, 0.0052, 0.0040])
#: Its lines of all tables: epsilon to (intercept, slope in ln of the tables).
_ALL = REGRESSION[:6] + REGRESSION[6:]
LINE = {
    0.01: (_ALL[0], _ALL[3]),
    0.1: (_ALL[0] + _ALL[1], _ALL[3] + _ALL[4]),
    1.0: (_ALL[0] + _ALL[2], _ALL[3] + _ALL[5]),
}
#: What a setting of RAP is told apart by.
SETTING = ("rounds", "choices")
Point = dict[str, Any]
Columns = NDArray[np.float64]


class Finding(NamedTuple):
    """One row.

    Attributes:
        number: of the finding.
        published: what was found.
        ours: what this library finds.
        holds: whether that agrees; None where it was not run.
    """

    number: str
    published: str
    ours: str
    holds: bool | None


class Results(NamedTuple):
    """What the benchmarks wrote."""

    grid: list[Point]
    partial: list[Point]
    speed: list[Point]

    def best(self, **wanted: Any) -> float:
        """The smallest mean over seeds of the largest error, over settings of RAP."""
        return min(self.by_setting(**wanted).values(), default=math.nan)

    def by_setting(self, **wanted: Any) -> dict[tuple[int, int | None], float]:
        """The mean over seeds of the largest error of each setting (T, K)."""
        found = defaultdict(list)
        for point in complete(chosen(self.grid, method="rap", **wanted), *SETTING):
            found[point["rounds"], point["choices"]].append(point["largest"])
        return {setting: float(np.mean(errors)) for setting, errors in found.items()}

    def seeds(self, *keys: str, **wanted: Any) -> str:
        """How many seeds have been run of all settings that these keys tell apart, in words."""
        count = len(self.seeds_of(*keys, **wanted))
        return f"{count} seed" + "s" * (count != 1)

    def seeds_of(self, *keys: str, **wanted: Any) -> set[int]:
        """The seeds that all settings were run with."""
        return {point["seed"] for point in complete(chosen(self.grid, **wanted), *keys)}

    def of_seeds(self, *several: set[int]) -> "Results":
        """The points of the seeds in all of these sets, so that methods are compared on the same workloads."""
        common = set.intersection(*several)
        return self._replace(grid=[point for point in self.grid if point["seed"] in common])

    def baseline(self, method: str, sensitivity: str = "joint", **wanted: Any) -> float:
        """The mean over seeds of the largest error of another method."""
        points = chosen(self.grid, method=method, sensitivity=sensitivity, **wanted)
        return float(np.mean([point["largest"] for point in points]))

    def future(self, **wanted: Any) -> dict[int, float]:
        """The smallest mean future error over settings, by the size of the history."""
        found: dict[int, dict[tuple[int, int], list[float]]] = defaultdict(lambda: defaultdict(list))
        for point in chosen(self.partial, experiment="X9", **wanted):
            found[point["history"]][point["rounds"], point["choices"]].append(point["future"])
        return {size: min(float(np.mean(errors)) for errors in each.values()) for size, each in sorted(found.items())}


def chosen(points: Iterable[Point], **wanted: Any) -> list[Point]:
    return [point for point in points if all(point[name] == value for name, value in wanted.items())]


def complete(points: Sequence[Point], *keys: str) -> list[Point]:
    """The points of the seeds that every setting was run with: means over other seeds cannot be compared."""
    settings = defaultdict(set)
    for point in points:
        settings[point["seed"]].add(tuple(point[key] for key in keys))
    every = set().union(*settings.values())
    return [point for point in points if settings[point["seed"]] == every]


def listed(numbers: Iterable[float]) -> str:
    return ", ".join(f"{number:.3f}" for number in numbers)


def f1(r: Results) -> Finding:
    ours = {key: r.best(experiment="fem", order=key[0], epsilon=key[1]) for key in FEM}
    return Finding(
        "F1",
        f"RAP is well below FEM: {listed(FEM.values())}",
        f"best of three settings: {listed(ours.values())}",
        all(ours[key] < FEM[key] for key in FEM),
    )


def f2(r: Results) -> Finding:
    ours, gaussian = r.best(experiment="small"), r.baseline("gaussian", experiment="small")
    return Finding(
        "F2",
        "other matrix mechanisms beat RAP on 15 small tables",
        f"RAP {ours:.3f}, joint Gaussian {gaussian:.3f}",
        gaussian < ours,
    )


def f3(r: Results) -> Finding:
    errors = {
        copies: float(np.mean([p["largest"] for p in chosen(r.grid, experiment="rounding", oversample=copies)]))
        for copies in (None, 1, 2, 5, 10)
    }
    return Finding(
        "F3",
        "after rounding, 5 copies of each relaxed record suffice",
        f"relaxed, 1, 2, 5, 10 copies: {listed(errors.values())}",
        abs(errors[5] - errors[None]) <= 0.02,
    )


def f4(r: Results) -> Finding:
    errors, seconds = {}, {}
    run = complete(chosen(r.grid, experiment="relaxed"), "relaxed")
    for size in (100, 300, 1000, 3000):
        points = chosen(run, relaxed=size)
        errors[size] = float(np.mean([p["largest"] for p in points]))
        seconds[size] = float(np.mean([p["cpu_seconds"] / max(1, p["steps"]) for p in points]))
    return Finding(
        "F4",
        "1000 relaxed records have nearly the least error; time for each step grows with their number",
        f"100, 300, 1000, 3000: {listed(errors.values())}; {r.seeds('relaxed', experiment='relaxed')}",
        errors[1000] <= 1.2 * errors[3000] and seconds[3000] > seconds[100],
    )


def f5(r: Results) -> Finding:
    [point] = chosen(r.speed, case="tables")
    return Finding(
        "F5",
        "about 20 million queries are no bottleneck",
        f"{point['queries']:,} queries of relaxed records in {point['cpu_seconds']} CPU s",
        point["cpu_seconds"] < 4,
    )


def f6(r: Results) -> Finding:
    by_case = {point["case"]: point for point in r.speed}

    def held(case: str) -> float:
        """How many queries for each MiB besides what the process had."""
        return float(by_case[case]["queries"] / (by_case[case]["peak_mib"] - by_case[case]["before_mib"]))

    answers, run = held("tables") / held("gathered"), held("whole") / held("gathered-fit")
    few, many = by_case["loans-256"], by_case.get("loans-1024")
    adaptive, is_light = f"{few['queries']:,} cells in {few['peak_mib']:,} MiB; 1,024 tables: not run", None
    if many is not None:
        seconds = (many["rap_cpu_seconds"] / many["rounds"]) / (few["rap_cpu_seconds"] / few["rounds"])
        adaptive = (
            f"{few['queries']:,} and {many['queries']:,} cells in {few['peak_mib']:,} and {many['peak_mib']:,} MiB, "
            f"{seconds:.1f} times as long for each round ({few['rounds']} rounds and {many['rounds']})"
        )
        is_light = many["peak_mib"] <= 1.1 * few["peak_mib"]
    return Finding(
        "F6",
        "in the same memory non-adaptive workloads can be 500 times as large, adaptive ones of Loans 4 times (256 to "
        "1,024 tables)",
        f"beside gathering all queries, {answers:,.0f} times as many answers of relaxed records, and in a whole "
        f"non-adaptive run, which keeps its noisy answers, {run:,.0f} times as many as in one step of a fit; adaptive, "
        f"stand-in records: {adaptive}",
        is_light and answers >= 500,
    )


def f7(r: Results) -> Finding:
    tables, of_baseline = (1, 4, 16), ("tables", "epsilon", "method", "sensitivity")
    r = r.of_seeds(
        r.seeds_of("tables", "epsilon", experiment="nonadaptive"), r.seeds_of(*of_baseline, experiment="baselines")
    )
    ours = {size: r.best(experiment="nonadaptive", tables=size, epsilon=0.1) for size in tables}
    per_cell = r.baseline("gaussian", "per-cell", experiment="baselines", tables=16, epsilon=0.1)
    zero = r.baseline("zero", experiment="baselines", tables=16, epsilon=0.1)
    return Finding(
        "F7",
        "non-adaptive RAP beats the Gaussian mechanism, but is near answering 0 beyond the smallest workloads",
        f"1, 4, 16 tables: {listed(ours.values())}; Gaussian at 16: {per_cell:.3f}; 0 at 16: {zero:.3f}",
        ours[16] < per_cell and abs(ours[16] - zero) <= 0.1 * zero,
    )


def f8(r: Results) -> Finding:
    r = r.of_seeds(
        r.seeds_of(*SETTING, "tables", "epsilon", experiment="sizes", filtered=False),
        r.seeds_of("tables", "epsilon", "method", "sensitivity", experiment="baselines"),
    )
    rows = [
        (size, epsilon, r.best(experiment="sizes", tables=size, epsilon=epsilon, filtered=False))
        for size in (1, 4, 16, 64)
        for epsilon in LINE
    ]
    zero = {size: r.baseline("zero", experiment="baselines", tables=size, epsilon=0.1) for size, *_ in rows}
    lost = [f"{size} tables at {epsilon}" for size, epsilon, error in rows if not error < zero[size]]
    return Finding(
        "F8",
        "adaptive RAP is far better than answering 0 and the Gaussian mechanism charged cell by cell",
        f"best errors at epsilon 0.1: {listed(error for _, epsilon, error in rows if epsilon == 0.1)}"
        + f"; answering 0: {listed(zero.values())}"
        + (f"; not better: {lost}" if lost else ""),
        not lost,
    )


def f9(r: Results) -> Finding:
    winners = {
        (size, epsilon): min(found.items(), key=lambda each: each[1])[0]
        for size in (4, 16, 64)
        for epsilon in LINE
        if (found := r.by_setting(experiment="sizes", tables=size, epsilon=epsilon, filtered=False))
    }
    return Finding(
        "F9",
        "no single (T, K) is best everywhere; T is usually small",
        f"{len(set(winners.values()))} different winners; T: {sorted(t for t, _ in winners.values())}; "
        + r.seeds(*SETTING, "tables", "epsilon", experiment="sizes", filtered=False),
        len(set(winners.values())) > 1 and sum(t <= 4 for t, _ in winners.values()) * 2 > len(winners),
    )


def _spreads(found: dict[tuple[int, Any], float]) -> tuple[float, float]:
    """The mean spread of errors with the same T K, and the spread of the means, as ratios of logarithms."""
    bands = defaultdict(list)
    for (rounds, choices), error in found.items():
        bands[rounds * choices].append(math.log(error))
    within = [np.std(band) for band in bands.values() if len(band) > 1]
    return float(np.mean(within)), float(np.std([np.mean(band) for band in bands.values()]))


def f10(r: Results) -> Finding:
    rows = [
        _spreads(r.by_setting(experiment="sizes", tables=size, epsilon=epsilon, filtered=False))
        for size, epsilon in ((16, 0.1), (64, 0.1), (16, 1.0), (64, 1.0))
    ]
    within, across = np.mean(rows, axis=0)
    return Finding(
        "F10",
        "the error depends on T K: the spread at equal T K is below the spread across",
        f"standard deviation of ln error at equal T K {within:.2f}, across {across:.2f}",
        bool(within < across),
    )


def f11(r: Results) -> Finding:
    best = {}
    for epsilon in sorted(LINE):
        found = r.by_setting(experiment="sizes", tables=64, epsilon=epsilon, filtered=False)
        rounds, choices = min(found, key=lambda setting: found[setting])
        best[epsilon] = rounds * (choices or 0)
    return Finding(
        "F11",
        "the best T K grows with epsilon",
        f"64 tables, epsilon to T K: {best}; "
        + r.seeds(*SETTING, "epsilon", experiment="sizes", tables=64, filtered=False),
        list(best.values()) == sorted(best.values()) and best[1.0] > best[0.01],
    )


def f12(r: Results) -> Finding:
    rows = []
    for epsilon, (intercept, slope) in LINE.items():
        for size in (4, 16, 64):
            ours = r.best(experiment="sizes", tables=size, epsilon=epsilon, filtered=False)
            rows.append((epsilon, size, ours, intercept + slope * math.log(size)))
    ratios = [ours / line for *_, ours, line in rows]
    repeated = defaultdict(list)
    for run in best_runs(r):
        if run["tables"] > 1 and not run["filtered"]:
            repeated[run["epsilon"], run["tables"]].append(run["largest"])
    means = [
        float(np.mean(errors)) / (LINE[epsilon][0] + LINE[epsilon][1] * math.log(size))
        for (epsilon, size), errors in sorted(repeated.items())
    ]
    return Finding(
        "F12",
        "best error by epsilon and tables (4, 16, 64): " + listed(line for *_, line in rows),
        listed(ours for *_, ours, _ in rows)
        + f"; ratios {min(ratios):.2f} to {max(ratios):.2f}; of 4 settings, six workloads of 4 and 16 tables: "
        + ", ".join(f"{ratio:.2f}" for ratio in means),
        max(abs(math.log(ratio)) for ratio in ratios) < math.log(1.3),
    )


def best_runs(r: Results) -> list[Point]:
    """The best setting of each workload, epsilon and seed, among few settings."""
    best: dict[tuple[Any, ...], Point] = {}
    for point in chosen(r.grid, experiment="filter"):
        key = point["tables"], point["epsilon"], point["filtered"], point["seed"]
        if key not in best or point["largest"] < best[key]["largest"]:
            best[key] = point
    return list(best.values())


def f13(r: Results) -> Finding:
    runs = best_runs(r)
    errors = np.array([run["largest"] for run in runs])
    by_tables, by_cells = (float(filter_test(*design(runs, size), errors)) for size in ("tables", "cells"))
    return Finding(
        "F13",
        "the filter matters by the number of tables (likelihood ratio of 126 runs: p = 0.026), and of queries (below "
        "0.0001)",
        f"{len(runs)} runs of 1, 4 and 16 tables: p = {by_tables:.3f} and {by_cells:.3f}",
        by_tables < 0.05 and by_cells < 0.05,
    )


def design(runs: Sequence[Point], size: str) -> tuple[Columns, Columns]:
    """The columns of the published regression, without and with those of the filter; see `REGRESSION`."""
    plain = np.array([[1, run["epsilon"] == 0.1, run["epsilon"] == 1] for run in runs], dtype=np.float64)
    plain = np.hstack([plain, plain * np.log([[run[size]] for run in runs])])
    return plain, np.hstack([plain, plain * [[not run["filtered"]] for run in runs]])


def filter_test(plain: Columns, full: Columns, errors: Columns) -> Columns:
    """The p-values of the likelihood-ratio test that errors (runs, ..) do not depend on the columns that are added."""
    left = [np.square(errors - x @ np.linalg.lstsq(x, errors)[0]).sum(axis=0) for x in (plain, full)]
    return np.asarray(chi2.sf(len(errors) * np.log(left[0] / left[1]), full.shape[1] - plain.shape[1]))


def f14(r: Results) -> Finding:
    """Compared at equal numbers of queries by a line in their logarithm, through all of each kind."""
    lines = {}
    of_setting = {"experiment": "sizes", "method": "rap", "epsilon": 0.1}
    r = r.of_seeds(*(r.seeds_of(*SETTING, "tables", filtered=filtered, **of_setting) for filtered in (False, True)))
    for filtered in (False, True):
        best: dict[tuple[int, float, int], Point] = {}
        for point in chosen(r.grid, filtered=filtered, **of_setting):
            key = point["tables"], point["epsilon"], point["seed"]
            if key not in best or point["largest"] < best[key]["largest"]:
                best[key] = point
        x, y = np.array([(math.log(p["cells"]), p["largest"]) for p in best.values()]).T
        lines[filtered] = np.polyval(np.polyfit(x, y, 1), math.log(10**5))
    return Finding(
        "F14",
        "at equally many queries filtered workloads have a larger error",
        f"lines at 100,000 queries, epsilon 0.1: filtered {lines[True]:.3f}, all {lines[False]:.3f}",
        bool(lines[True] > lines[False]),
    )


def f15(r: Results) -> Finding:
    ours = {k: r.best(experiment="thresholds", at_least=k, relaxed=1000) for k in (4, 3, 2, 1)}
    cells = {k: r.baseline("gaussian", "per-cell", experiment="thresholds", at_least=k) for k in ours}
    return Finding(
        "F15",
        "r-of-4: RAP beats the Gaussian mechanism charged cell by cell; the least error is at r = 4",
        f"r = 4, 3, 2, 1: {listed(ours.values())}; Gaussian {listed(cells.values())}",
        all(ours[k] < cells[k] for k in ours) and min(ours, key=lambda k: ours[k]) == 4,
    )


def f16(r: Results) -> Finding:
    best = {}
    for k in (4, 3, 2, 1):
        found = r.by_setting(experiment="thresholds", at_least=k, relaxed=1000)
        best[k] = min(found, key=lambda setting: found[setting])
    return Finding(
        "F16",
        "r < 4 wants many rounds of few cells each",
        f"best (T, K) for r = 4, 3, 2, 1: {list(best.values())}; "
        + r.seeds(*SETTING, "at_least", experiment="thresholds", relaxed=1000, method="rap"),
        all(best[k][0] >= 16 and (best[k][1] or 0) <= 16 for k in (3, 2, 1)),
    )


def f17(r: Results) -> Finding:
    setting = {"experiment": "thresholds", "rounds": 16, "choices": 4, "method": "rap"}
    run = complete(chosen(r.grid, **setting), "at_least", "relaxed")
    seconds = {k: float(np.mean([p["cpu_seconds"] for p in chosen(run, at_least=k, relaxed=1000)])) for k in (4, 1)}
    errors = {size: float(np.mean([p["largest"] for p in chosen(run, relaxed=size)])) for size in (500, 1000, 2000)}
    return Finding(
        "F17",
        "more relaxed records lower the error mildly; r = 1 takes up to 20 times as long as r = 4",
        f"500, 1000, 2000: {listed(errors.values())}; r = 1 takes {seconds[1] / seconds[4]:.1f} times as long; "
        + r.seeds("at_least", "relaxed", **setting),
        errors[2000] < errors[500] and seconds[1] <= 20 * seconds[4],
    )


def f18(_: Results) -> Finding:
    seconds = threshold_seconds()
    return Finding(
        "F18",
        "inclusion-exclusion saves up to 40% of the definition's time at k = 4",
        "definition, inclusion-exclusion, recursion (ms): " + ", ".join(f"{1000 * each:.2f}" for each in seconds),
        seconds[1] < seconds[0] and seconds[2] < seconds[1],
    )


def threshold_seconds() -> tuple[float, float, float]:
    """Seconds for 2-of-4 thresholds of 250 cells, 1000 records: by definition, inclusion-exclusion, and recursion."""
    columns = list(np.random.default_rng(0).random((4, 250, 1000)).astype(np.float32))
    found = [by_definition(columns), by_inclusion_exclusion(columns), threshold_probability(columns, 2)]
    assert np.allclose(found[0], found[1], atol=1e-4)
    assert np.allclose(found[0], found[2], atol=1e-4)
    return (
        timed(lambda: by_definition(columns)),
        timed(lambda: by_inclusion_exclusion(columns)),
        timed(lambda: threshold_probability(columns, 2)),
    )


def timed(function: Callable[[], Any]) -> float:
    start = time.process_time()
    for _ in range(10):
        function()
    return (time.process_time() - start) / 10


def by_definition(columns: list[Any]) -> Any:
    """The sum over the sets of at least r = 2 matches."""
    total: Any = 0.0
    for count in range(2, len(columns) + 1):
        for members in combinations(range(len(columns)), count):
            term: Any = 1.0
            for axis, p in enumerate(columns):
                term = term * (p if axis in members else 1 - p)
            total = total + term
    return total


def by_inclusion_exclusion(columns: list[Any]) -> Any:
    """The same by products of matches alone, for r = 2."""
    total: Any = 0.0
    for count in range(2, len(columns) + 1):
        factor = (-1) ** (count - 2) * math.comb(count - 1, count - 2)
        for members in combinations(range(len(columns)), count):
            term = columns[members[0]]
            for axis in members[1:]:
                term = term * columns[axis]
            total = total + factor * term
    return total


def f19(r: Results) -> Finding:
    points = chosen(r.speed, case="loans")
    ours = (
        f"stand-in records, {points[0]['queries']:,} queries: {points[0]['cpu_seconds']} CPU s" if points else "not run"
    )
    return Finding(
        "F19",
        "64 thresholds of Loans, 35 million queries, 1,240 s on a GPU",
        ours,
        points[0]["cpu_seconds"] < 1240 if points else None,
    )


def f20(r: Results) -> Finding:
    rows = {family: r.future(family=family, drift=0.0) for family in ("uniform", "zipf", "geometric")}
    zero = float(np.mean([p["all_zero"] for p in chosen(r.partial, experiment="X9", drift=0.0)]))
    falls = all(
        found[64] < found[1] and all(after <= 1.2 * before for before, after in pairwise(found.values()))
        for found in rows.values()
    )
    return Finding(
        "F20",
        "the future error is below answering 0, and falls with the number of historical thresholds",
        "; ".join(
            f"{family} ({', '.join(map(str, found))}): {listed(found.values())}" for family, found in rows.items()
        )
        + f"; answering 0: {zero:.3f}",
        falls and all(error < zero for found in rows.values() for error in found.values()),
    )


def f21(r: Results) -> Finding:
    ratios = []
    groups = defaultdict(list)
    for point in chosen(r.partial, experiment="X9", drift=0.0):
        groups[point["family"], point["history"], point["seed"]].append(point)
    for points in groups.values():
        by_present = min(points, key=lambda point: point["present"])["future"]
        ratios.append(by_present / min(point["future"] for point in points))
    return Finding(
        "F21",
        "choosing (T, K) by the present error loses almost nothing of the future error",
        f"the future error is {np.mean(ratios):.2f} times the best one, at worst {max(ratios):.2f}",
        bool(np.mean(ratios) <= 1.1),
    )


def f22(r: Results) -> Finding:
    points = complete(chosen(r.partial, experiment="X9", drift=0.0, history=4), *SETTING, "family")
    r = r._replace(partial=points)
    ours = {family: r.future(family=family, drift=0.0)[4] for family in ("uniform", "zipf", "geometric")}
    return Finding(
        "F22",
        "with 4 historical thresholds uniform interests are worst and geometric ones best",
        f"uniform, zipf, geometric: {listed(ours.values())}; {len({point['seed'] for point in points})} seeds",
        ours["uniform"] == max(ours.values()) and ours["geometric"] == min(ours.values()),
    )


def f23(r: Results) -> Finding:
    paths, holds = [], True
    for family in ("uniform", "geometric"):
        found = defaultdict(list)
        for point in chosen(r.partial, experiment="X10", family=family):
            found[point["steps"]].append(point["future"])
        path = [float(np.mean(found[steps])) for steps in sorted(found)]
        paths.append(f"{family}: {listed(path)}")
        holds = holds and bool(path) and path[-1] <= 1.05 * min(path)
    return Finding(
        "F23", "the future error falls throughout the fit (no overfitting), less under uniform", "; ".join(paths), holds
    )


def f24(r: Results) -> Finding:
    drifts = sorted({point["drift"] for point in chosen(r.partial, experiment="X9")})
    of_all = complete(chosen(r.partial, experiment="X9", family="geometric", history=4), *SETTING, "drift")
    r = r._replace(partial=of_all)
    errors = [r.future(family="geometric", drift=drift)[4] for drift in drifts]
    first = [error for drift, error in zip(drifts, errors, strict=True) if drift <= 0.2]
    return Finding(
        "F24",
        "drift raises the future error noticeably only from about 0.4 (Adult, 4 historical thresholds)",
        f"drift {drifts}: {listed(errors)}",
        max(first) <= 1.15 * errors[0] < max(errors),
    )


FINDINGS = (
    f1,
    f2,
    f3,
    f4,
    f5,
    f6,
    f7,
    f8,
    f9,
    f10,
    f11,
    f12,
    f13,
    f14,
    f15,
    f16,
    f17,
    f18,
    f19,
    f20,
    f21,
    f22,
    f23,
    f24,
)


def results_of(grid: Path, partial: Path, speed: Path) -> Results:
    """What the files of the three benchmarks hold."""
    lines = grid.read_text().splitlines()
    return Results(list(map(json.loads, lines)), json.loads(partial.read_text()), json.loads(speed.read_text()))


def findings(results: Results) -> Iterator[Finding]:
    yield from (judge(results) for judge in FINDINGS)


def page_row(row: Finding) -> str:
    """The row of the manual's page."""
    verdict = {True: "holds", False: "does not hold", None: "not run"}[row.holds]
    return f"| {row.number} | {row.published} | {row.ours} | {verdict} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="The findings that were published about RAP beside ours.")
    for name, default in zip(("--grid", "--partial", "--speed"), FILES, strict=True):
        parser.add_argument(name, type=Path, default=default)
    parser.add_argument("--page", action="store_true", help="print the rows as they stand on the page")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    arguments = parser.parse_args()
    results = results_of(arguments.grid, arguments.partial, arguments.speed)
    rows = list(findings(results))
    if arguments.page:
        print("\n".join(map(page_row, rows)))
    for row in [] if arguments.page else rows:
        verdict = {True: "holds", False: "DOES NOT HOLD", None: "not run"}[row.holds]
        print(f"{row.number:<4} {verdict:<14} published: {row.published}\n{'':<19} ours: {row.ours}")
    if arguments.json:
        arguments.json.write_text(json.dumps([row._asdict() for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
