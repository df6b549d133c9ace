"""What AK's regressions say, and what was tried on errors that are not the published ones: docs/rap-as-published.md.

    python -m benchmarks.rap_explanations

Reads what `benchmarks.rap_grid`, `benchmarks.rap_accounting` and `benchmarks.rap_rebuilt` wrote, and the regression
tables that Avent and Korolova print ("AK").  Each line that it prints stands on the page.
"""

import math
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from benchmarks.rap_cases import adult_case
from benchmarks.rap_findings import (
    LINE,
    REGRESSION,
    SIZES,
    Columns,
    best_runs,
    design,
    line,
    ratio_of_likelihoods,
)
from benchmarks.rap_grid import ALL_RECORDS
from benchmarks.rap_rebuilt import by_seed, mean_of, results
from benchmarks.rap_results import FILES, SETTING, Point, Results, best_of, chosen, mean, ratio, results_of

#: How many sets of runs are simulated, and how many sets of random workloads are drawn.
SIMULATED, DRAWN = 2_000, 200
#: All tables of three attributes, by whether the filter was applied.
ALL_TABLES = {True: 278, False: 364}


class Regression(NamedTuple):
    """What AK print of a regression: coefficients of `REGRESSION`, with AK's order of the columns.

    Attributes:
        runs: how many.
        log_likelihood: the largest.
        coefficients: all of them.
        t_values: of the intercept and the slope where the indicator is 0, and of what is added where it is 1.
    """

    runs: int
    log_likelihood: float
    coefficients: NDArray[np.float64]
    t_values: tuple[float, float, float, float]

    @property
    def squares(self) -> float:
        """The sum of the squares of what the line leaves."""
        return self.runs * math.exp(-2 * self.log_likelihood / self.runs - 1 - math.log(2 * math.pi))

    @property
    def deviation(self) -> float:
        """Of the errors from the line, estimated without bias of their variance."""
        return math.sqrt(self.squares / (self.runs - len(self.coefficients)))

    def mean_logarithms(self) -> tuple[float, float]:
        """The mean logarithm of the runs at epsilon 0.01 whose indicator is 0, and of those where it is 1.

        The standard errors of a line are s sqrt(m2) / (sqrt(n) d) of its intercept and s / (sqrt(n) d) of its slope,
        where d is the standard deviation of the logarithms, and m2 the mean of their squares: d**2 plus the mean's.
        """
        zero = [abs(self.coefficients[i] / t) for i, t in zip((0, 3), self.t_values[:2], strict=True)]
        added = [abs(self.coefficients[i] / t) for i, t in zip((6, 9), self.t_values[2:], strict=True)]
        one = [math.sqrt(both**2 - first**2) for both, first in zip(added, zero, strict=True)]
        return self._mean(*zero), self._mean(*one)

    def _mean(self, of_intercept: float, of_slope: float) -> float:
        spread = self.deviation / (math.sqrt(self.runs / 6) * of_slope)
        return math.sqrt((of_intercept / of_slope) ** 2 - spread**2)

    def ratio(self, runs: list[Point], size: str) -> float:
        """Twice the log of the ratio of likelihoods with and without the filter, of runs like these.

        Without its columns the least squares rise by b' Z' Z b, where b are the coefficients of these, and Z is what
        the other columns leave of them.
        """
        plain, full = design(runs, size)
        own = full[:, plain.shape[1] :]
        own = own - plain @ np.linalg.lstsq(plain, own)[0]
        rise = float(np.square(own @ self.coefficients[plain.shape[1] :]).sum())
        return self.runs * math.log1p(rise / self.squares)


def _array(*values: float) -> NDArray[np.float64]:
    return np.array(values)


BY_TABLES = Regression(126, 295.45, REGRESSION, (3.415, 24.536, 2.120, -0.952))
LOANS = Regression(
    144,
    228.17,
    _array(0.0372, -0.0113, -0.0282, 0.0966, -0.0767, -0.0882, 0.0215, -0.0273, -0.0275, -0.0039, 0.0039, 0.0051),
    (1.982, 21.626, 0.812, -0.619),
)
BY_QUERIES = Regression(
    126,
    227.07,
    _array(-0.3210, 0.2882, 0.3014, 0.0472, -0.0390, -0.0436, 0.1198, -0.1237, -0.1189, -0.0127, 0.0123, 0.0124),
    (-7.438, 12.856, 2.110, -2.742),
)
LOANS_BY_QUERIES = Regression(
    144,
    180.50,
    _array(-0.6398, 0.5254, 0.5873, 0.0779, -0.0618, -0.0709, 0.1453, -0.1293, -0.1474, -0.0240, 0.0195, 0.0227),
    (-9.171, 14.839, 1.509, -3.647),
)


def published_runs(sizes: tuple[int, ...], *, all_tables: dict[bool, int] | None) -> list[Point]:
    """Runs like AK's: four of each number of tables, and one of all tables where so many do not exist."""
    return [
        {"tables": size, "epsilon": epsilon, "filtered": filtered}
        for epsilon in LINE
        for filtered in (False, True)
        for size in [*(size for size in sizes for _ in range(4)), *([all_tables[filtered]] if all_tables else [])]
    ]


ADULT_RUNS = published_runs(SIZES, all_tables=ALL_TABLES)
LOANS_RUNS = published_runs((*SIZES, 1024), all_tables=None)


def regressions() -> Iterator[str]:
    """How many runs there were, which logarithms, what the indicator says, and the degrees of freedom."""
    tables, _ = BY_TABLES.mean_logarithms()
    ours = [np.log([run["tables"] for run in ADULT_RUNS if run["filtered"] == kind]).mean() for kind in (True, False)]
    yield (
        f"{len(ADULT_RUNS)} runs of Adult are 6 (three epsilons, filtered or not) times 5 numbers of tables with 4 "
        f"workloads and all tables once, {len(LOANS_RUNS)} of Loans 6 times 6 numbers with 4; by the printed standard "
        f"errors the mean logarithm of the tables where the indicator is 0 is {tables:.2f}, with natural logarithms of "
        f"these filtered runs {ours[0]:.3f}, of the others {ours[1]:.3f}"
    )
    reversed_runs = [run | {"filtered": not run["filtered"]} for run in ADULT_RUNS]
    conditions = [float(np.linalg.cond(design(runs, "tables")[1])) for runs in (ADULT_RUNS, reversed_runs, LOANS_RUNS)]
    yield (
        f"the condition number of these runs' columns is {conditions[0]:.2f} if the indicator is 1 where all tables "
        f"may "
        f"occur and {conditions[1]:.2f} if it is 1 where they are filtered (printed: 64.4), of Loans "
        f"{conditions[2]:.2f} (printed: 75.6)"
    )
    zero, one = BY_QUERIES.mean_logarithms()
    filtered, every = (mean_log_queries(is_filtered=is_filtered) for is_filtered in (True, False))
    yield (
        f"the mean logarithm of the queries is {zero:.2f} where the indicator is 0 and {one:.2f} where it is 1, in "
        f"such "
        f"workloads drawn at random {filtered:.2f} if they are filtered and {every:.2f} if not"
    )
    for name, found in (
        ("the number of tables of Adult (printed: 0.026)", BY_TABLES.ratio(ADULT_RUNS, "tables")),
        ("the number of tables of Loans (printed: 0.623)", LOANS.ratio(LOANS_RUNS, "tables")),
        (
            "the number of queries of Adult (printed: below 0.0001), in the median of workloads drawn at random",
            float(np.median([BY_QUERIES.ratio(runs, "cells") for runs in drawn_runs()])),
        ),
    ):
        yield (
            f"from the printed coefficients, {name}: p = {chi2.sf(found, 2):.4f} with two degrees of freedom, "
            f"{chi2.sf(found, 6):.3f} with six"
        )


def drawn_runs() -> Iterator[list[Point]]:
    """Runs like AK's of Adult with the queries of workloads drawn at random."""
    case, generator = adult_case(), np.random.default_rng(0)
    cells = {
        kind: np.array([case.domain.cells(names) for names in case.sets(3, ALL_RECORDS if kind else None)])
        for kind in (True, False)
    }
    for _ in range(DRAWN):
        yield [
            run | {"cells": int(generator.choice(cells[run["filtered"]], run["tables"], replace=False).sum())}
            for run in ADULT_RUNS
        ]


def mean_log_queries(*, is_filtered: bool) -> float:
    """The mean natural logarithm of the queries of runs like AK's."""
    logs = [math.log(run["cells"]) for runs in drawn_runs() for run in runs if run["filtered"] == is_filtered]
    return float(np.mean(logs))


def errors(r: Results) -> Iterator[str]:
    """Single tables, whether a larger grid would help, and whether another fit would."""
    for epsilon in LINE:
        ours = mean(best_of(r.charged("per-cell", 1, epsilon)))
        yield f"a single table at epsilon {epsilon:g}: {ours:.3f}, AK's line {line(epsilon, 1):.3f}"
    yield from grids(r)
    yield from fits(r)
    rebuilt, raw = (
        mean_of(results(), epsilon=0.01, rounds=1, choices=4, index="right", clips=clips) for clips in (True, False)
    )
    yield (
        f"RAP rebuilt from the paper and its code, epsilon 0.01, 16 tables, one round of 4 cells: {rebuilt} with noisy "
        f"answers clipped to [0, 1], as in the code, and {raw} without; the line {line(0.01, 16):.3f}"
    )


def grids(r: Results) -> Iterator[str]:
    """The least error by T K."""
    for epsilon in sorted(LINE):
        by_product: dict[int, float] = {}
        for (rounds, choices), error in r.by_setting(
            experiment="sizes", tables=64, epsilon=epsilon, filtered=False, sensitivity="joint"
        ).items():
            product = rounds * (choices or 0)
            by_product[product] = min(error, by_product.get(product, math.inf))
        yield f"epsilon {epsilon:g}, 64 tables, T K to the least error: " + ", ".join(
            f"{product}: {by_product[product]:.3f}" for product in sorted(by_product)
        )


def fits(r: Results) -> Iterator[str]:
    """What other fits do to the best settings of 16 tables."""
    points = chosen(r.grid, experiment="optimizer")
    for epsilon, rounds, choices in sorted({(p["epsilon"], *(p[key] for key in SETTING)) for p in points}):
        wanted = {"epsilon": epsilon, "rounds": rounds, "choices": choices, "sensitivity": "joint"}
        base = chosen(r.grid, experiment="sizes", tables=16, filtered=False, **wanted)
        found = {"stopping at the noise": base}
        for p in chosen(points, **wanted):
            found.setdefault(f"{p['most_steps']} steps of {p['relaxation']}", []).append(p)
        yield f"epsilon {epsilon:g}, 16 tables, {rounds} rounds of {choices}: " + ", ".join(
            f"{np.mean([p['largest'] for p in each]):.3f} ({len(each)} seeds) {name}"
            for name, each in found.items()
            if len(each) >= len(base)
        )


def rebuilt_beside_ours(r: Results) -> Iterator[str]:
    """RAP rebuilt and ours at epsilon 0.1, on the workloads that both have, each cell charged for itself."""
    for rounds, choices in ((1, 16), (4, 4)):
        rebuilt = by_seed(results(), epsilon=0.1, rounds=rounds, choices=choices, index="right")
        grid = r.charged("per-cell", 16, 0.1)[rounds, choices]
        seeds = sorted(rebuilt.keys() & grid.keys())
        errors_of = [mean({seed: runs[seed] for seed in seeds}) for runs in (rebuilt, grid)]
        yield (
            f"epsilon 0.1, 16 tables, T and K of {rounds} and {choices}, the same {len(seeds)} workloads: rebuilt "
            f"{errors_of[0]:.3f}, ours {errors_of[1]:.3f}, the line {line(0.1, 16):.3f}"
        )


def indices() -> Iterator[str]:
    """What it does to measure neighbors of the chosen cells, and whether one round is then as good."""
    one, right, shifted = (
        by_seed(results(), epsilon=0.1, rounds=rounds, choices=choices, index=index)
        for rounds, choices, index in ((1, 16, "right"), (4, 4, "right"), (4, 4, "shifted"))
    )
    yield (
        f"with the neighbors the error of 4 rounds of 4 cells is {ratio(shifted, right)} times that with the chosen "
        f"cells; one round of 16 cells has {ratio(one, right)} times the error of 4 rounds with the chosen cells, and "
        f"{ratio(one, shifted)} times that with their neighbors"
    )


def power_of_tests(r: Results) -> Iterator[str]:
    """How often runs like ours, and like AK's, find an effect of the size that AK's coefficients have."""
    runs = best_runs(r)
    ours, theirs = (power(each) for each in (runs, ADULT_RUNS))
    residual = deviation_of(runs)
    yield (
        f"with six degrees of freedom an effect of this size at AK's spread of errors ({BY_TABLES.deviation:.3f}) is "
        f"found (p < 0.05) in {ours:.0%} of simulated sets of {len(runs)} runs like ours, and in {theirs:.0%} of sets "
        f"like AK's; our errors spread by {residual:.3f}, at which it is found in {power(runs, residual):.0%}"
    )


def power(runs: list[Point], spread: float = BY_TABLES.deviation) -> float:
    """The fraction of simulated sets of runs in which the effect of the filter is significant."""
    plain, full = design(runs, "tables")
    generator = np.random.default_rng(0)
    simulated: Columns = full @ REGRESSION + spread * generator.standard_normal((SIMULATED, len(runs)))
    return float(np.mean(chi2.sf(ratio_of_likelihoods(plain, full, simulated.T), 6) < 0.05))


def deviation_of(runs: list[Point]) -> float:
    """Of our errors from their own line."""
    _, full = design(runs, "tables")
    largest: Columns = np.array([run["largest"] for run in runs])
    left = largest - full @ np.linalg.lstsq(full, largest)[0]
    return math.sqrt(float(left @ left) / (len(runs) - full.shape[1]))


def explanations(r: Results) -> Iterator[str]:
    """Every line."""
    yield from regressions()
    yield from errors(r)
    yield from rebuilt_beside_ours(r)
    yield from indices()
    yield from power_of_tests(r)


def main() -> int:
    print("\n".join(explanations(results_of(*FILES))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
