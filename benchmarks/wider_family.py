"""How much bases by set gain where one basis for an attribute is not enough, confirmed by explicit matrices.

    python -m benchmarks.wider_family [--json FILE] [--only NAME]

For the workloads of ``dense_optimum`` on which one basis for an attribute is more than 0.5% above the best of all
mechanisms, and some others, prints root mean square errors at privacy cost 1: of the best of all mechanisms, and
relative to it those of plans with ``bases="optimal"`` and ``bases="optimal_by_set"``, and how many bases there are.
The privacy cost is the bound (41), and ``slack`` how far it is above the cost.  The seconds are those of `select`.

Before a figure is printed, explicit matrices of the whole domain confirm that the cost is not above that bound, and
that the variances of each query are what the plan says.  Exits with 1 if they do not, or if a plan with bases by set is
more than 0.5% above the best.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import residualplanner as rp
from benchmarks import dense_optimum
from benchmarks.dense_optimum import IDENTITY, LIMIT, OTHERWISE, PREFIX, RANGE, gram_matrix, workload
from benchmarks.rows import printed, save_rows

#: How far plans may be from the explicit matrices, relative.
TOLERANCE = 1e-8


def explicit(plan: rp.Plan) -> tuple[float, list[float]]:
    """Privacy cost and average cell variance of each query, by least squares over the whole domain.

    Raises:
        ArithmeticError: a query is not a combination of what is measured.
    """
    sizes, by_set = plan.domain.sizes, plan.strategy
    if not by_set.varying.any():
        raise ArithmeticError("the plan has one basis for each attribute")
    rows = []
    for members, variance in zip(plan.closure, plan.noise_variances.tolist(), strict=True):
        factors = [whitened(by_set.basis(members, i)) if i in members else np.ones((1, n)) for i, n in enumerate(sizes)]
        rows.append(reduce(np.kron, factors) / math.sqrt(variance))
    measured = np.vstack(rows)
    inverse, variances = np.linalg.pinv(measured), []
    for number, cells in enumerate(plan.workload.cells.tolist()):
        queries = plan.workload.take([number])
        gram = gram_matrix(queries) / float(queries.weights[0])
        if not np.allclose(gram @ inverse @ measured, gram, rtol=0, atol=TOLERANCE * np.abs(gram).max()):
            raise ArithmeticError(f"{next(iter(queries))!r} does not follow from what is measured")
        variances.append(float(np.vdot(inverse, gram @ inverse)) / cells)
    return float((measured**2).sum(axis=0).max()), variances


def whitened(basis: rp.strategies.Basis) -> NDArray[np.float64]:
    """What is measured of an attribute, turned so that the noise is independent."""
    if basis.matrix is not None:
        return np.asarray(basis.matrix, dtype=np.float64)
    return np.linalg.qr(np.eye(basis.size)[:, 1:] - 1 / basis.size)[0].T


def require_confirmed(plan: rp.Plan) -> float:
    """The privacy cost; ArithmeticError unless explicit matrices confirm its bound and the variances."""
    cost, variances = explicit(plan)
    if not cost <= plan.pcost * (1 + TOLERANCE):
        raise ArithmeticError(f"the privacy cost is {cost}, above its bound {plan.pcost}")
    if not np.allclose(plan.average_variances, variances, rtol=TOLERANCE, atol=0):
        raise ArithmeticError(f"variances are {variances}, not {plan.average_variances.tolist()}")
    loss = float(plan.workload.weights * plan.workload.cells @ variances)
    if not math.isclose(plan.loss_value, loss, rel_tol=TOLERANCE):
        raise ArithmeticError(f"the loss is {loss}, not {plan.loss_value}")
    return cost


class Result(NamedTuple):
    """Root mean square errors at privacy cost 1.

    Attributes:
        workload: its name.
        optimum: of the best of all mechanisms.
        library: of the plan with one basis for each attribute.
        by_set: of the plan with bases by set.
        bases: how many bases it has.
        slack: how far the bound of the cost is above the cost, relative.
        seconds: for that plan.
    """

    workload: str
    optimum: float
    library: float
    by_set: float
    bases: int
    slack: float
    seconds: float

    @property
    def missed(self) -> bool:
        return self.by_set > LIMIT * self.optimum


def cases() -> Iterator[tuple[str, rp.Workload]]:
    """Workloads by name, first the six of ``dense_optimum``."""
    for name, queries in dense_optimum.cases():
        if any(words in name for words in OTHERWISE):
            yield name, queries
    sizes, pairs = (8, 7, 6), ((0, 1), (0, 2), (1, 2))
    single: list[dict[int, Any]] = [{i: PREFIX} for i in range(3)]
    yield (
        "prefix 8, 7, 6, and all pairs as identity",
        workload(sizes, [*single, *({i: IDENTITY, j: IDENTITY} for i, j in pairs)]),
    )
    yield (
        "prefix 8, 7, 6, and all pairs as prefix of weight 1/50",
        workload(sizes, [*single, *({i: PREFIX, j: PREFIX} for i, j in pairs)], [1, 1, 1, 1 / 50, 1 / 50, 1 / 50]),
    )
    yield (
        "prefix 7, 6, 5, and the three together as identity",
        workload((7, 6, 5), [*single, {0: IDENTITY, 1: IDENTITY, 2: IDENTITY}]),
    )
    yield (
        "range pairs of 6, 6, 5, and the three together as identity",
        workload((6, 6, 5), [*({i: RANGE, j: RANGE} for i, j in pairs), {0: IDENTITY, 1: IDENTITY, 2: IDENTITY}]),
    )


def result(name: str, queries: rp.Workload) -> Result:
    """Compute one line of the table; ArithmeticError if explicit matrices do not confirm it."""
    cells = float(queries.cells.sum())
    least, _ = dense_optimum.least_loss(gram_matrix(queries))
    library = rp.select(queries, budget=rp.pcost(1), bases="optimal").loss_value
    start = time.perf_counter()
    plan = rp.select(queries, budget=rp.pcost(1), bases="optimal_by_set")
    seconds = time.perf_counter() - start
    try:
        slack = plan.pcost / require_confirmed(plan) - 1
    except ArithmeticError as error:
        raise ArithmeticError(f"{name}: {error}") from None
    optimum, one, by_set = (math.sqrt(loss / cells) for loss in (least, library, plan.loss_value))
    assert plan.strategy.varying.any()
    return Result(name, optimum, one, by_set, len(plan.strategy.bases), slack, seconds)


def line(found: Result) -> str:
    return (
        f"{found.workload:<60}{found.optimum:>9.4f}{found.library / found.optimum:>9.4f}"
        f"{found.by_set / found.optimum:>9.4f}{found.bases:>6}{found.slack:>9.0e}{found.seconds:>9.1f}"
        f"{'  MISSED' if found.missed else ''}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Bases by set beside one basis for each attribute.")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--only", default="", help="only the workloads whose name holds this")
    arguments = parser.parse_args()
    print(f"{'workload':<60}{'dense':>9}{'optimal':>9}{'by set':>9}{'bases':>6}{'slack':>9}{'seconds':>9}")
    chosen = ((name, queries) for name, queries in cases() if arguments.only in name)
    try:
        results = printed((result(name, queries) for name, queries in chosen), line)
    except ArithmeticError as error:
        print(error)
        return 1
    save_rows(arguments.json, (found._asdict() for found in results))
    return 1 if any(found.missed for found in results) else 0


if __name__ == "__main__":
    sys.exit(main())
