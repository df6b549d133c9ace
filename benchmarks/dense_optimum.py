"""The library's residual bases beside the best of all matrix mechanisms, on domains small enough for dense matrices.

    python -m benchmarks.dense_optimum [--json FILE] [--only NAME]
    python -m benchmarks.dense_optimum --replaced [--only NAME]

A mechanism of privacy cost 1 is a matrix K (N, N), positive semidefinite with no diagonal entry above 1; with it the
sum of variances of a workload of Gram matrix V is tr(V K^-1).  The least such sum is a convex problem.  For weights
l >= 0 of the N cells its dual bound is tr(sqrt(L^1/2 V L^1/2))^2 / sum(l), with L = diag(l), and

    K = L^-1/2 (L^1/2 V L^1/2)^1/2 L^-1/2,

scaled to a largest diagonal entry of 1, is a mechanism.  Weights are raised where K's diagonal is large until both are
within 1e-5 of one another; even weights give the singular value bound.

Prints root mean square errors at privacy cost 1 (the root of the weighted sum of variances over the number of cells),
relative to the best, of plans with one basis for each attribute ("optimal", and "orthogonal"), and with bases by set.
Exits with 1 if one with bases by set is more than 0.5% above the best, or one with optimal bases, except where
queries with different other attributes have different kinds, or very different weights, on an attribute.  There the
limit of one basis is that of its family, 11%; ``benchmarks.wider_family`` has more about these.

With --replaced it prints how much smaller the loss is, where records are replaced, with the best noise for the exact
cost than with the best noise for the sum of what each set can cost, with the same bases, and what part of the budget
the latter leaves unused.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

import residualplanner as rp
from benchmarks.rows import printed, save_rows
from residualplanner.method.strategy.variances import variance_weights, workload_numbers
from residualplanner.more.replacement.replacement_costs import ReplacementCosts

Matrix = NDArray[np.float64]

#: How close the dense optimum is proved to be, how many steps it may take, and how far above it a plan may be.
GAP = 1e-5
STEPS = 3_000
LIMIT = 1.005
#: Names of workloads where one basis for an attribute is not enough, and how far above the best such a plan may be.
OTHERWISE = (
    "the pair as identity",
    "four queries in two kinds",
    "ranges 15 of weight 100",
    "the pair of weight 1/100",
)
LIMIT_OTHERWISE = 1.11
BASES: tuple[Literal["optimal", "optimal_by_set", "orthogonal"], ...] = ("optimal", "optimal_by_set", "orthogonal")

PREFIX, RANGE, IDENTITY = rp.Prefix(), rp.Range(), rp.Identity()
TREE_8 = rp.Hierarchy([{"left": ["a", "b"], "right": ["c"]}, {"a": [0, 1, 2], "b": [3, 4], "c": [5, 6, 7]}])
HALVES_6 = rp.Hierarchy([{"low": [0, 1, 2], "high": [3, 4, 5]}])
NO_LEAVES_9 = rp.Hierarchy([{"one": [0, 1, 2, 3], "two": [4, 5], "three": [6, 7, 8]}], total=True, leaves=False)
MOMENTS_7 = rp.Custom([[1] * 7, list(range(7)), [i * i for i in range(7)]])
SPREAD_5 = rp.Custom([[1, 1, 1, 1, 1], [1, -1, 0, 0, 0], [0, 0, 3, -1, 0], [0, 2, 0, 0, 1], [0, 0, 0, 0, 1]])


class Result(NamedTuple):
    """Root mean square errors at privacy cost 1 of one workload.

    Attributes:
        workload: its name.
        cells: N, how many cells the domain has.
        optimum: of the best mechanism.
        gap: how far the loss of the best mechanism is proved to be from the least possible, relative.
        optimal, by_set, orthogonal: of the library's plans with these bases.
        bound: what the plan with optimal bases is proved to be above.
        seconds: for all of them.
    """

    workload: str
    cells: int
    optimum: float
    gap: float
    optimal: float
    by_set: float
    orthogonal: float
    bound: float
    seconds: float

    @property
    def ratio(self) -> float:
        return self.optimal / self.optimum

    @property
    def ratio_by_set(self) -> float:
        return self.by_set / self.optimum

    @property
    def missed(self) -> bool:
        limit = LIMIT_OTHERWISE if any(words in self.workload for words in OTHERWISE) else LIMIT
        return self.ratio > limit or self.ratio_by_set > LIMIT

    @property
    def verdict(self) -> str:
        return "  MISSED" if self.missed else "  above" if self.ratio > LIMIT else ""


def workload(sizes: tuple[int, ...], queries: list[dict[int, Any]], weights: list[float] | None = None) -> rp.Workload:
    """A workload over attributes a0, a1, ..; queries name them by number."""
    domain = rp.Domain({f"a{number}": size for number, size in enumerate(sizes)})
    named = [{f"a{number}": kind for number, kind in query.items()} for query in queries]
    return rp.Workload(domain, named, weights=weights)


def family(sizes: tuple[int, ...], kinds: tuple[Any, ...], **arguments: int) -> rp.Workload:
    """All queries of some orders, each attribute in its kind."""
    domain = rp.Domain({f"a{number}": size for number, size in enumerate(sizes)})
    return rp.marginals(domain, kinds=dict(zip(domain.names, kinds, strict=True)), **arguments)


def cases() -> Iterator[tuple[str, rp.Workload]]:
    """The workloads, by name."""
    for kind, size in ((PREFIX, 64), (PREFIX, 300), (RANGE, 40), (RANGE, 150), (TREE_8, 8), (NO_LEAVES_9, 9)):
        yield f"{kind.name} {size}", family((size,), (kind,), order=1)
    yield "custom moments 7", family((7,), (MOMENTS_7,), order=1)
    yield "prefix 50, with the total of weight 500", workload((50,), [{}, {0: PREFIX}], [500, 1])
    yield "prefix and identity 40", workload((40,), [{0: PREFIX}, {0: IDENTITY}])
    yield "range and identity of weight 30, 24", workload((24,), [{0: RANGE}, {0: IDENTITY}], [1, 30])
    for order in (1, 2):
        yield f"prefix 20 x 12, order {order}", family((20, 12), (PREFIX, PREFIX), order=order)
        yield f"range 14 x prefix 30, order {order}", family((14, 30), (RANGE, PREFIX), order=order)
        yield f"prefix 30 x identity 11, order {order}", family((30, 11), (PREFIX, IDENTITY), order=order)
        yield f"hierarchy 8 x custom 7, order {order}", family((8, 7), (TREE_8, MOMENTS_7), order=order)
        yield f"custom 5 x range 12, order {order}", family((5, 12), (SPREAD_5, RANGE), order=order)
    yield "prefix 30 x prefix 20, up to order 2", family((30, 20), (PREFIX, PREFIX), up_to=2)
    yield "hierarchy 9 x prefix 16, up to order 2", family((9, 16), (NO_LEAVES_9, PREFIX), up_to=2)
    yield (
        "prefix 16 x range 10, both kinds of the first",
        workload((16, 10), [{0: PREFIX}, {0: IDENTITY, 1: RANGE}, {1: RANGE}]),
    )
    yield (
        "prefix 25 x identity 8, weights 1, 1, 1/8",
        workload((25, 8), [{0: PREFIX}, {1: IDENTITY}, {0: PREFIX, 1: IDENTITY}], [1, 1, 1 / 8]),
    )
    yield (
        "identity and prefix 18, each with prefix 9",
        workload((18, 9), [{0: IDENTITY, 1: PREFIX}, {0: PREFIX, 1: PREFIX}, {1: IDENTITY}]),
    )
    yield (
        "ranges 15 of weight 100 beside prefix 15 x identity 6",
        workload((15, 6), [{0: RANGE}, {0: PREFIX, 1: IDENTITY}], [100, 1]),
    )
    for kind, sizes in ((PREFIX, (12, 8)), (PREFIX, (30, 20)), (RANGE, (12, 8))):
        yield (
            f"{kind.name} {sizes[0]}, {sizes[1]}, and the pair as identity",
            workload(sizes, [{0: kind}, {1: kind}, {0: IDENTITY, 1: IDENTITY}]),
        )
    yield (
        "prefix 20 x 12, up to order 2, the pair of weight 1/100",
        workload((20, 12), [{0: PREFIX}, {1: PREFIX}, {0: PREFIX, 1: PREFIX}], [1, 1, 1 / 100]),
    )
    for rows, size in ((2, 7), (5, 30)):
        yield (
            f"custom {rows} rows of {size} x identity 4, up to order 2",
            family((size, 4), (sketch(rows, size), IDENTITY), up_to=2),
        )
    for order in (1, 2, 3):
        yield f"prefix 8 x 8 x 8, order {order}", family((8, 8, 8), (PREFIX,) * 3, order=order)
        yield f"prefix 12 x 7 x 4, order {order}", family((12, 7, 4), (PREFIX,) * 3, order=order)
        yield (
            f"range 9 x prefix 8 x identity 5, order {order}",
            family((9, 8, 5), (RANGE, PREFIX, IDENTITY), order=order),
        )
        yield (
            f"hierarchy 8 x range 6 x custom 5, order {order}",
            family((8, 6, 5), (TREE_8, RANGE, SPREAD_5), order=order),
        )
    yield "prefix 10 x 10 x 10, up to order 2", family((10, 10, 10), (PREFIX,) * 3, up_to=2)
    yield "hierarchy 6 x prefix 9 x identity 4, up to order 3", family((6, 9, 4), (HALVES_6, PREFIX, IDENTITY), up_to=3)
    yield (
        "range 6 x 6 x 6, a pair of weight 20",
        workload((6, 6, 6), [{0: RANGE, 1: RANGE}, {1: RANGE, 2: RANGE}, {0: RANGE, 2: RANGE}], [20, 1, 1]),
    )
    yield (
        "four queries in two kinds, 10 x 6 x 5",
        workload(
            (10, 6, 5),
            [{0: PREFIX}, {0: IDENTITY, 1: IDENTITY}, {0: RANGE, 2: PREFIX}, {1: PREFIX, 2: IDENTITY}],
            [5, 1, 1, 2],
        ),
    )


def sketch(rows: int, size: int) -> rp.Custom:
    """The total and some random combinations of values."""
    return rp.Custom(np.vstack([np.ones(size), np.random.default_rng(size).normal(size=(rows - 1, size))]))


def gram_matrix(queries: rp.Workload) -> Matrix:
    """V of the whole workload, (N, N)."""
    sizes = queries.domain.sizes
    total = np.zeros((math.prod(sizes),) * 2)
    for number, weight in enumerate((queries.weights / queries.scales**2).tolist()):
        kinds = dict(zip(*queries.query_at(number), strict=True))
        grams = (kinds[i].gram(n) if i in kinds else np.ones((n, n)) for i, n in enumerate(sizes))
        total += weight * reduce(np.kron, grams)
    return total


def least_loss(V: Matrix) -> tuple[float, float]:
    """The least tr(V K^-1) over all K found, and how far above the least possible it may be, relative.

    Weights that fall do so with a growing power; a step that lowers the bound is taken again with smaller powers.
    """
    weights = np.full(len(V), 1 / len(V))
    bound, best, diagonal = dual(V, weights)
    power, boost = 2.0, 1.0
    for _ in range(STEPS):
        if best <= bound * (1 + GAP):
            break
        moved = np.maximum(weights * diagonal ** np.where(diagonal < 1, power * boost, power), 1e-14)
        moved /= moved.sum()
        value, loss, ratio = dual(V, moved)
        best = min(best, loss)
        if value > bound * (1 - 1e-12):
            weights, bound, diagonal, boost = moved, max(value, bound), ratio, min(boost * 1.1, 1e3)
        elif boost > 1:
            boost = max(1.0, boost / 2)
        else:
            power = max(0.5, power * 0.8)
    return best, best / bound - 1


def dual(V: Matrix, weights: Matrix) -> tuple[float, float, Matrix]:
    """The bound of weights of sum 1, the loss of their K, and K's diagonal over its weighted mean."""
    root = np.sqrt(weights)
    values, vectors = linalg.eigh(V * root[:, None] * root, driver="evd", overwrite_a=True, check_finite=False)
    values = np.where(values > values[-1] * len(V) * 1e-16, values, 0.0)
    trace = float(np.sqrt(values).sum())
    diagonal = ((vectors * values**0.25) ** 2).sum(axis=1) / weights
    return trace * trace, trace * float(diagonal.max()), diagonal / trace


def result(name: str, queries: rp.Workload) -> Result:
    """Compute one line of the table."""
    start = time.perf_counter()
    loss, gap = least_loss(gram_matrix(queries))
    cells = float(queries.cells.sum())
    plans = [rp.select(queries, budget=rp.pcost(1), bases=bases) for bases in BASES]
    optimum, optimal, by_set, orthogonal = (math.sqrt(x / cells) for x in (loss, *(each.loss_value for each in plans)))
    bound = optimal / (1 + plans[0].suboptimality)
    seconds = time.perf_counter() - start
    return Result(name, math.prod(queries.domain.sizes), optimum, gap, optimal, by_set, orthogonal, bound, seconds)


def replaced(queries: rp.Workload) -> tuple[float, float, float]:
    """How much smaller the loss is for the exact cost, what is left of the budget without it, and the plan's gap."""
    plan = rp.select(queries, budget=rp.pcost(1), neighbors="replace")
    bases = plan.strategy.of_attributes
    costs = ReplacementCosts(plan.closure, bases, 1.0)
    importance = queries.cells * queries.weights / queries.scales**2
    weights = variance_weights(queries, workload_numbers(queries, bases), importance)
    paid = costs.largest > 0
    summed = float(np.sqrt(weights * costs.largest).sum()) ** 2
    noise = np.full(len(paid), 1e-9)
    noise[paid] = (np.sqrt(costs.largest[paid] / weights[paid])) * math.sqrt(summed)
    return 1 - plan.loss_value / summed, 1 - costs.worst(noise).cost, plan.gap


def print_replaced(cases_of: dict[str, rp.Workload]) -> int:
    """Print the lines of ``--replaced``, and their median and largest."""
    print(f"{'workload':<58}{'loss is smaller':>16}{'unused':>9}{'gap':>9}")
    found = []
    for name, queries in cases_of.items():
        found.append(replaced(queries))
        print(f"{name:<58}{found[-1][0]:>16.1%}{found[-1][1]:>9.1%}{found[-1][2]:>9.1e}", flush=True)
    for words, number in (("median", np.median(found, axis=0)), ("largest", np.max(found, axis=0))):
        print(f"{words:<58}{number[0]:>16.1%}{number[1]:>9.1%}{number[2]:>9.1e}")
    return int(max(gap for _, _, gap in found) > 1e-5)


def line(found: Result) -> str:
    return (
        f"{found.workload:<58}{found.cells:>5}{found.optimum:>10.4f}{found.gap:>9.1e}{found.ratio:>10.5f}"
        f"{found.ratio_by_set:>9.5f}{found.orthogonal / found.optimum:>12.4f}"
        f"{found.bound / found.optimum:>10.4f}{found.seconds:>9.1f}{found.verdict}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Residual bases beside the best of all matrix mechanisms.")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--replaced", action="store_true", help="what exact costs gain where records are replaced")
    parser.add_argument("--only", help="only the workloads whose name holds this")
    arguments = parser.parse_args()
    chosen = ((name, queries) for name, queries in cases() if not arguments.only or arguments.only in name)
    if arguments.replaced:
        return print_replaced(dict(chosen))
    print(
        f"{'workload':<58}{'N':>5}{'dense':>10}{'gap':>9}{'optimal':>10}{'by set':>9}{'orthogonal':>12}{'bound':>10}"
        f"{'seconds':>9}"
    )
    results = printed((result(name, queries) for name, queries in chosen), line)
    one = sum(found.ratio <= LIMIT for found in results)
    by_set = sum(found.ratio_by_set <= LIMIT for found in results)
    print(f"of {len(results)}, {one} and by set {by_set} are within {LIMIT - 1:.1%} of the best of all mechanisms")
    save_rows(arguments.json, ({**found._asdict(), "ratio": found.ratio} for found in results))
    return 1 if any(found.missed for found in results) else 0


if __name__ == "__main__":
    sys.exit(main())
