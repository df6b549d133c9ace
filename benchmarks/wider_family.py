"""How much a basis of its own for each set of attributes would gain, where one basis per attribute is not enough.

    python -m benchmarks.wider_family [--json FILE] [--only NAME]

The library gives an attribute one basis.  Here it may have another one in each group of sets of attributes
(``own_bases``).  For the workloads of ``dense_optimum`` on which the library is more than 0.5% above the best of all
mechanisms, and some on which groups can be made in different ways, prints root mean square errors at privacy cost 1,
relative to the best of all mechanisms: the library's, and the best found for three ways to group the sets that contain
an attribute:

    kinds    by the kinds that are asked of the attribute in queries that contain the set,
    orders   by these kinds and the number of attributes in the set,
    sets     each set by itself.

The privacy cost is the bound (T4), and ``slack`` how far it is above the cost.  The best is found by a local search
(``own_bases_search``).  Before a figure is printed, explicit matrices of the whole domain confirm that the cost is not
above that bound, and that the variances of each query are those of (T3).  Exits with 1 if they do not, or if one of the
six is more than 0.5% above the best with groups by kinds and orders.
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

import residualplanner as rp
from benchmarks import dense_optimum
from benchmarks.dense_optimum import IDENTITY, LIMIT, OTHERWISE, PREFIX, RANGE, workload
from benchmarks.own_bases import Mechanism, cost_and_slopes, loss_and_slopes
from benchmarks.own_bases_search import GROUPS, Family, best_found, loss_of

#: How far the smaller side may be from the explicit matrices, relative.
TOLERANCE = 1e-8


def explicit(family: Family, mechanism: Mechanism) -> tuple[float, list[float]]:
    """Privacy cost and weighted sum of variances of each query, by least squares over the whole domain.

    Raises:
        ArithmeticError: a query is not a combination of what is measured.
    """
    sizes = family.asked.domain.sizes
    rows = [
        math.sqrt(precision)
        * reduce(np.kron, [mechanism.bases[A, i].S if i in A else np.ones((1, n)) for i, n in enumerate(sizes)])
        for A, precision in mechanism.precision.items()
    ]
    measured = np.vstack(rows)
    inverse, sums = np.linalg.pinv(measured), []
    for query in family.queries:
        grams = [query.grams.get(i, np.ones((n, n))) for i, n in enumerate(sizes)]
        gram = query.weight * reduce(np.kron, grams)
        if not np.allclose(gram @ inverse @ measured, gram, rtol=0, atol=TOLERANCE * np.abs(gram).max()):
            raise ArithmeticError(f"the query of attributes {query.members} does not follow from what is measured")
        sums.append(float(np.vdot(inverse, gram @ inverse)))
    return float((measured**2).sum(axis=0).max()), sums


def require_confirmed(family: Family, mechanism: Mechanism) -> float:
    """The privacy cost; ArithmeticError unless explicit matrices confirm its bound and the variances."""
    cost, sums = explicit(family, mechanism)
    bound, _ = cost_and_slopes(mechanism)
    if not cost <= bound * (1 + TOLERANCE):
        raise ArithmeticError(f"the privacy cost is {cost}, above its bound {bound}")
    for query, found in zip(family.queries, sums, strict=True):
        computed, _ = loss_and_slopes([query], mechanism.bases, mechanism.precision)
        if not math.isclose(computed, found, rel_tol=TOLERANCE):
            raise ArithmeticError(f"variances of the query of attributes {query.members} are {found}, not {computed}")
    return cost


class Result(NamedTuple):
    """Root mean square errors at privacy cost 1.

    Attributes:
        workload: its name.
        required: whether the family must come within ``LIMIT`` of the best.
        optimum: of the best of all mechanisms.
        library: of the library's plan.
        bases: how many bases, for each way to make groups.
        errors: the least error found, likewise.
        slack: how far the bound of the cost is above the cost, relative, at most.
        seconds: for all of them.
    """

    workload: str
    required: bool
    optimum: float
    library: float
    bases: dict[str, int]
    errors: dict[str, float]
    slack: float
    seconds: float

    @property
    def missed(self) -> bool:
        return self.required and self.errors["orders"] > LIMIT * self.optimum


def cases() -> Iterator[tuple[str, bool, rp.Workload]]:
    """Workloads by name, and whether they are among the six of ``dense_optimum``."""
    for name, asked in dense_optimum.cases():
        if any(words in name for words in OTHERWISE):
            yield name, True, asked
    singles = [{i: PREFIX} for i in range(3)]
    pairs = [(0, 1), (0, 2), (1, 2)]
    for kind, weight in ((IDENTITY, 1.0), (PREFIX, 1 / 50)):
        together = [{i: kind, j: kind} for i, j in pairs]
        text = f"prefix 8, 7, 6, and all pairs as {kind.name}" + (
            f" of weight 1/{1 / weight:.0f}" if weight < 1 else ""
        )
        yield text, False, workload((8, 7, 6), singles + together, [1.0] * 3 + [weight] * 3)
    yield (
        "prefix 7, 6, 5, and the three together as identity",
        False,
        workload((7, 6, 5), [*singles, {0: IDENTITY, 1: IDENTITY, 2: IDENTITY}]),
    )
    yield (
        "range pairs of 6, 6, 5, and the three together as identity",
        False,
        workload((6, 6, 5), [*({i: RANGE, j: RANGE} for i, j in pairs), {0: IDENTITY, 1: IDENTITY, 2: IDENTITY}]),
    )


def result(name: str, asked: rp.Workload, *, required: bool) -> Result:
    """Compute one line of the table; ArithmeticError if explicit matrices do not confirm it."""
    start, bases, losses, slack = time.perf_counter(), {}, {}, 0.0
    found: dict[frozenset[Any], Mechanism] = {}
    for groups in GROUPS:
        family = Family(asked, groups)
        partition = frozenset(map(frozenset, family.members.values()))
        if partition not in found:
            found[partition] = best_found(family)
            cost = require_confirmed(family, found[partition])
            slack = max(slack, 1 / cost - 1)
        bases[groups], losses[groups] = len(partition), loss_of(family, found[partition])
    cells = float(asked.cells.sum())
    optimum, _ = dense_optimum.least_loss(dense_optimum.gram_matrix(asked))
    library = rp.select(asked, budget=rp.pcost(1)).loss_value
    errors = {groups: math.sqrt(loss / cells) for groups, loss in losses.items()}
    seconds = time.perf_counter() - start
    return Result(name, required, math.sqrt(optimum / cells), math.sqrt(library / cells), bases, errors, slack, seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description="A basis for each set of attributes beside one for each attribute.")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--only", default="", help="only the workloads whose name holds this")
    arguments = parser.parse_args()
    results = []
    heads = "".join(f"{groups:>9}{'bases':>6}" for groups in GROUPS)
    print(f"{'workload':<60}{'dense':>9}{'library':>9}{heads}{'slack':>9}{'seconds':>9}")
    for name, required, asked in cases():
        if arguments.only not in name:
            continue
        try:
            found = result(name, asked, required=required)
        except ArithmeticError as error:
            print(f"{name}: {error}")
            return 1
        results.append(found)
        ratios = "".join(f"{found.errors[key] / found.optimum:>9.4f}{found.bases[key]:>6}" for key in GROUPS)
        print(
            f"{name:<60}{found.optimum:>9.4f}{found.library / found.optimum:>9.4f}{ratios}{found.slack:>9.0e}"
            f"{found.seconds:>9.1f}{'  MISSED' if found.missed else ''}",
            flush=True,
        )
    if arguments.json:
        arguments.json.write_text(json.dumps([found._asdict() for found in results], indent=1) + "\n")
    return 1 if any(found.missed for found in results) else 0


if __name__ == "__main__":
    sys.exit(main())
