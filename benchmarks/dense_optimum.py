"""The library's residual bases beside the best of all matrix mechanisms, on domains small enough for dense matrices.

    python -m benchmarks.dense_optimum [--json FILE] [--only NAME]

A mechanism of privacy cost 1 is a matrix K (N, N), positive semidefinite with no diagonal entry above 1; with it the
sum of variances of a workload of Gram matrix V is tr(V K^-1).  The least such sum is a convex problem.  For weights
l >= 0 of the N cells its dual bound is tr(sqrt(L^1/2 V L^1/2))^2 / sum(l), with L = diag(l), and

    K = L^-1/2 (L^1/2 V L^1/2)^1/2 L^-1/2,

scaled to a largest diagonal entry of 1, is a mechanism.  Weights are raised where K's diagonal is large until both are
within 1e-5 of one another; even weights give the singular value bound.

Prints root mean square errors at privacy cost 1, and exits with 1 if one of the library's is more than 0.5% above
the best.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

import residualplanner as rp
from residualplanner.bases import Basis
from residualplanner.plan.basis_choice import choose_bases

Matrix = NDArray[np.float64]

#: How close the dense optimum is proved to be, how many steps it may take, and how far above it a plan may be.
GAP = 1e-5
STEPS = 3_000
LIMIT = 1.005

PREFIX, RANGE, IDENTITY = rp.Prefix(), rp.Range(), rp.Identity()
TREE_8 = rp.Hierarchy([{"left": ["a", "b"], "right": ["c"]}, {"a": [0, 1, 2], "b": [3, 4], "c": [5, 6, 7]}])
HALVES_6 = rp.Hierarchy([{"low": [0, 1, 2], "high": [3, 4, 5]}])
NO_LEAVES_9 = rp.Hierarchy([{"one": [0, 1, 2, 3], "two": [4, 5], "three": [6, 7, 8]}], total=True, leaves=False)
MOMENTS_7 = rp.Custom([[1] * 7, list(range(7)), [i * i for i in range(7)]])
SPREAD_5 = rp.Custom([[1, 1, 1, 1, 1], [1, -1, 0, 0, 0], [0, 0, 3, -1, 0], [0, 2, 0, 0, 1], [0, 0, 0, 0, 1]])


class Result(NamedTuple):
    """Root mean square errors at privacy cost 1 of one workload."""

    workload: str
    cells: int
    optimum: float
    gap: float
    optimal: float
    orthogonal: float
    svd_bound: float
    seconds: float

    @property
    def ratio(self) -> float:
        return self.optimal / self.optimum


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


def gram_matrix(asked: rp.Workload) -> Matrix:
    """V of the whole workload, (N, N)."""
    names, sizes = asked.domain.names, asked.domain.sizes
    total = np.zeros((math.prod(sizes),) * 2)
    for query, weight in zip(asked, asked.weights.tolist(), strict=True):
        kinds = query if isinstance(query, dict) else dict.fromkeys(query, IDENTITY)
        grams = (
            kinds[name].gram(n) if name in kinds else np.ones((n, n)) for name, n in zip(names, sizes, strict=True)
        )
        total += weight * reduce(np.kron, grams)
    return total


def least_loss(V: Matrix) -> tuple[float, float]:
    """The least tr(V K^-1) over all K found, and how far above the least possible it may be, relative.

    Multipliers of even cells are pushed to 0 fastest where a power above 1 serves; a step that lowers the bound is
    followed by smaller powers.
    """
    weights, best, bound, exponent = np.full(len(V), 1 / len(V)), np.inf, 0.0, 1.8
    for _ in range(STEPS):
        root = np.sqrt(weights)
        values, vectors = linalg.eigh(V * root[:, None] * root, driver="evd", overwrite_a=True, check_finite=False)
        values = np.where(values > values[-1] * len(V) * 1e-16, values, 0.0)
        trace = float(np.sqrt(values).sum())
        diagonal = ((vectors * values**0.25) ** 2).sum(axis=1) / weights
        exponent *= 1.0 if trace * trace > bound else 0.8
        bound = max(bound, trace * trace)
        best = min(best, trace * float(diagonal.max()))
        if best - bound <= GAP * bound:
            break
        weights = np.maximum(weights * (diagonal / trace) ** max(exponent, 0.2), 1e-14)
        weights /= weights.sum()
    return best, best / bound - 1


def loss_of_bases(asked: rp.Workload, bases: tuple[Basis, ...]) -> float:
    """The least sum of weighted cell variances at privacy cost 1 with these bases.

    Source: spec eqs. (14) and (27).
    """
    names, sizes = asked.domain.names, asked.domain.sizes
    taken: dict[tuple[int, ...], float] = {}
    for query, weight in zip(asked, asked.weights.tolist(), strict=True):
        kinds = query if isinstance(query, dict) else dict.fromkeys(query, IDENTITY)
        pairs = [(i, *factors_of(bases[i], kinds[name], sizes[i])) for i, name in enumerate(names) if name in kinds]
        for chosen in range(1 << len(pairs)):
            inside = [chosen >> number & 1 for number in range(len(pairs))]
            part = tuple(i for (i, _, _), there in zip(pairs, inside, strict=True) if there)
            factor = math.prod(pair[1 + there] for pair, there in zip(pairs, inside, strict=True))
            taken[part] = taken.get(part, 0.0) + weight * factor
    return sum(math.sqrt(v * math.prod(float(bases[i].pcost) for i in part)) for part, v in taken.items()) ** 2


def factors_of(basis: Basis, kind: Any, size: int) -> tuple[float, float]:
    """What a query takes of the noise where the attribute is absent and present: s and t of spec eq. (27)."""
    V, u = kind.gram(size), basis.absent_vector()
    return float(u @ V @ u), float((V * basis.present_form()).sum())


def result(name: str, asked: rp.Workload) -> Result:
    """Compute one line of the table."""
    start = time.perf_counter()
    loss, gap = least_loss(gram_matrix(asked))
    cells = float(asked.cells.sum())
    importance = asked.weights * asked.cells
    losses = [loss_of_bases(asked, choose_bases(asked, importance, option)) for option in ("optimal", "orthogonal")]
    optimum, optimal, orthogonal, bound = (math.sqrt(x / cells) for x in (loss, *losses, rp.svd_bound(asked)))
    seconds = time.perf_counter() - start
    return Result(name, math.prod(asked.domain.sizes), optimum, gap, optimal, orthogonal, bound, seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description="Residual bases beside the best of all matrix mechanisms.")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--only", help="only the workloads whose name holds this")
    arguments = parser.parse_args()
    results = []
    print(
        f"{'workload':<58}{'N':>5}{'dense':>10}{'gap':>9}{'optimal':>10}{'ratio':>9}{'orthogonal':>12}{'bound':>10}"
        f"{'seconds':>9}"
    )
    for name, asked in cases():
        if arguments.only and arguments.only not in name:
            continue
        found = result(name, asked)
        results.append(found)
        print(
            f"{name:<58}{found.cells:>5}{found.optimum:>10.4f}{found.gap:>9.1e}{found.optimal:>10.4f}"
            f"{found.ratio:>9.5f}{found.orthogonal / found.optimum:>12.4f}{found.svd_bound / found.optimum:>10.4f}"
            f"{found.seconds:>9.1f}{'  ABOVE' if found.ratio > LIMIT else ''}",
            flush=True,
        )
    above = [found for found in results if found.ratio > LIMIT]
    print(f"{len(results) - len(above)} of {len(results)} within {LIMIT - 1:.1%} of the best of all mechanisms")
    if arguments.json:
        arguments.json.write_text(
            json.dumps([{**found._asdict(), "ratio": found.ratio} for found in results], indent=1) + "\n"
        )
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
