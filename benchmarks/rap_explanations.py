"""Why findings about RAP do not hold here: the figures behind each explanation on docs/adaptive-projection.md.

    python -m benchmarks.rap_explanations

Reads what `benchmarks.rap_grid` and `benchmarks.partial_knowledge` wrote, and the regression tables that Avent and
Korolova print ("AK").  Each line that it prints stands on the page.
"""

import math
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.rap_cases import adult_case
from benchmarks.rap_findings import (
    FILES,
    LINE,
    REGRESSION,
    SETTING,
    Results,
    best_runs,
    chosen,
    complete,
    design,
    filter_test,
    results_of,
)
from benchmarks.rap_grid import ALL_RECORDS

#: How many sets of runs are simulated, and how many random workloads of each size are drawn.
SIMULATED, WORKLOADS = 2_000, 400
#: The published numbers of tables.
SIZES = (1, 4, 16, 64, 256)


class Regression(NamedTuple):
    """What AK print of a regression of Adult's errors.

    Attributes:
        runs, coefficients: of how many of each.
        log_likelihood: the largest.
        at_zero: coefficient and t-value of the intercept and of the slope where the indicator of the filter is 0.
        difference: the same of what is added where it is 1.
    """

    runs: int
    coefficients: int
    log_likelihood: float
    at_zero: tuple[tuple[float, float], tuple[float, float]]
    difference: tuple[tuple[float, float], tuple[float, float]]

    @property
    def deviation(self) -> float:
        """Of the errors from the line, estimated without bias of their variance."""
        mean_square = math.exp(-2 * self.log_likelihood / self.runs - 1 - math.log(2 * math.pi))
        return math.sqrt(mean_square * self.runs / (self.runs - self.coefficients))

    def mean_logarithms(self) -> tuple[float, float]:
        """The mean logarithm of the runs at epsilon 0.01 whose indicator is 0, and of those where it is 1.

        The standard errors of a line are s sqrt(m2) / (sqrt(n) d) of its intercept and s / (sqrt(n) d) of its slope,
        where d is the standard deviation of the logarithms, and m2 the mean of their squares: d**2 plus the mean's.
        """
        zero = [coefficient / t for coefficient, t in self.at_zero]
        one = [math.sqrt((b / t) ** 2 - first**2) for (b, t), first in zip(self.difference, zero, strict=True)]
        return self._mean(*map(abs, zero)), self._mean(*one)

    def _mean(self, of_intercept: float, of_slope: float) -> float:
        spread = self.deviation / (math.sqrt(self.runs / 6) * of_slope)
        return math.sqrt((of_intercept / of_slope) ** 2 - spread**2)


BY_TABLES = Regression(126, 12, 295.45, ((0.0320, 3.415), (0.0650, 24.536)), ((0.0280, 2.120), (-0.0036, -0.952)))
BY_QUERIES = Regression(126, 12, 227.07, ((-0.3210, -7.438), (0.0472, 12.856)), ((0.1198, 2.110), (-0.0127, -2.742)))


def f12(r: Results) -> Iterator[str]:
    """Which lines were printed, whether a larger grid would help, and whether another fit would."""
    tables, _ = BY_TABLES.mean_logarithms()
    zero, one = BY_QUERIES.mean_logarithms()
    filtered, every = (mean_log_queries(is_filtered=is_filtered) for is_filtered in (True, False))
    yield (
        f"by the printed standard errors the mean logarithm is {tables:.2f} of the tables (natural, of 1, 4, 16, 64, "
        f"256: {np.log(SIZES).mean():.2f}), and of the queries {zero:.2f} where the indicator is 0 and {one:.2f} where "
        f"it is 1 (random workloads of so many tables: filtered {filtered:.2f}, all {every:.2f})"
    )
    yield from grids(r)
    yield from fits(r)


def grids(r: Results) -> Iterator[str]:
    """The least error by T K."""
    for epsilon in sorted(LINE):
        by_product: dict[int, float] = {}
        for (rounds, choices), error in r.by_setting(
            experiment="sizes", tables=64, epsilon=epsilon, filtered=False
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
        wanted = {"epsilon": epsilon, "rounds": rounds, "choices": choices}
        base = chosen(r.grid, experiment="sizes", tables=16, filtered=False, **wanted)
        found = {"stopping at the noise": base}
        for p in chosen(points, **wanted):
            found.setdefault(f"{p['most_steps']} steps of {p['relaxation']}", []).append(p)
        yield f"epsilon {epsilon:g}, 16 tables, {rounds} rounds of {choices}: " + ", ".join(
            f"{np.mean([p['largest'] for p in each]):.3f} ({len(each)} seeds) {name}"
            for name, each in found.items()
            if len(each) >= len(base)
        )


def mean_log_queries(*, is_filtered: bool) -> float:
    """The mean natural logarithm of the queries of random workloads of three-way tables, equally many of each size."""
    case, generator = adult_case(), np.random.default_rng(0)
    cells = [case.domain.cells(names) for names in case.sets(3, ALL_RECORDS if is_filtered else None)]
    logs = [math.log(generator.choice(cells, size, replace=False).sum()) for size in SIZES for _ in range(WORKLOADS)]
    return float(np.mean(logs))


def f13(r: Results) -> Iterator[str]:
    """How often runs like ours, and like the published ones, find an effect of the published size."""
    runs = best_runs(r)
    published = [
        {"tables": size, "epsilon": epsilon, "filtered": filtered}
        for size in SIZES
        for epsilon in LINE
        for filtered in (False, True)
        for _ in range(4)
    ]
    ours, theirs = (power(each) for each in (runs, published))
    residual = deviation_of(runs)
    yield (
        f"the published effect at the published spread of errors ({BY_TABLES.deviation:.3f}) is found (p < 0.05) in "
        f"{ours:.0%} of simulated sets of {len(runs)} runs like ours, and in {theirs:.0%} of sets like the published; "
        f"our errors spread by {residual:.3f}, at which it is found in {power(runs, residual):.0%}"
    )


def power(runs: list[dict[str, float]], spread: float = BY_TABLES.deviation) -> float:
    """The fraction of simulated sets of runs in which the effect of the filter is significant."""
    plain, full = design(runs, "tables")
    mean, generator = full @ REGRESSION, np.random.default_rng(0)
    errors = mean + spread * generator.standard_normal((SIMULATED, len(runs)))
    return float(np.mean(filter_test(plain, full, errors.T) < 0.05))


def deviation_of(runs: list[dict[str, float]]) -> float:
    """Of our errors from their own line."""
    _, full = design(runs, "tables")
    errors: NDArray[np.float64] = np.array([run["largest"] for run in runs])
    left = errors - full @ np.linalg.lstsq(full, errors)[0]
    return math.sqrt(float(left @ left) / (len(runs) - full.shape[1]))


def f22(r: Results) -> Iterator[str]:
    """Differences between interests, on the same seeds."""
    points = complete(chosen(r.partial, experiment="X9", drift=0.0, history=4), "family", *SETTING)
    errors: dict[tuple[int, int], dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for p in points:
        errors[p["rounds"], p["choices"]][p["family"]][p["seed"]] = p["future"]
    for (rounds, choices), of_family in sorted(errors.items()):
        seeds, parts = sorted(of_family["uniform"]), []
        for one, other in (("uniform", "geometric"), ("zipf", "geometric")):
            differences = [of_family[one][seed] - of_family[other][seed] for seed in seeds]
            error = float(np.std(differences, ddof=1)) / math.sqrt(len(seeds))
            parts.append(f"{one} less {other} {np.mean(differences):+.3f} ± {error:.3f}")
        yield f"{rounds} rounds of {choices} cells, {len(seeds)} seeds: {', '.join(parts)}"


def explanations(r: Results) -> Iterator[str]:
    """Every line."""
    for judge in (f12, f13, f22):
        yield from (f"{judge.__name__.upper()}: {line}" for line in judge(r))


def main() -> int:
    print("\n".join(explanations(results_of(*FILES))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
