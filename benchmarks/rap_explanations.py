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

#: How many sets of runs are simulated.
SIMULATED = 2_000


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
    """Which lines were printed, and whether a larger grid would help."""
    tables, _ = BY_TABLES.mean_logarithms()
    queries = BY_QUERIES.mean_logarithms()
    ours = {
        filtered: float(np.mean([math.log(p["cells"]) for p in one_for_each_workload(r, filtered=filtered)]))
        for filtered in (False, True)
    }
    yield (
        f"mean ln of the tables by the standard errors {tables:.2f} (natural logarithm of 1, 4, 16, 64, 256: 2.77); of "
        f"the queries {queries[0]:.2f} where the indicator is 0 and {queries[1]:.2f} where it is 1 (our workloads of "
        f"1 to 64 tables: filtered {ours[True]:.2f}, all {ours[False]:.2f})"
    )
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


def one_for_each_workload(r: Results, *, filtered: bool) -> list[dict[str, float]]:
    """One point of each workload of `sizes`."""
    found = {(p["tables"], p["seed"]): p for p in chosen(r.grid, experiment="sizes", filtered=filtered, epsilon=0.1)}
    return list(found.values())


def f13(r: Results) -> Iterator[str]:
    """How often runs like ours, and like the published ones, find an effect of the published size."""
    runs = best_runs(r)
    published = [
        {"tables": size, "epsilon": epsilon, "filtered": filtered}
        for size in (1, 4, 16, 64, 256)
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
