"""The distance from the best of all mechanisms that plans state, beside the true one, for random workloads.

    python -m benchmarks.stated_distance [--count 60] [--seed 0] [--cells 30] [--json FILE] [--lines FILE]

Each workload has two to four attributes, two kinds of query at most on each, two to six queries and often weights.  It
is planned by default for the sum of variances and for the largest, with records added or removed and replaced; and for
targets.  The least loss of all unbiased linear mechanisms with Gaussian noise is from explicit matrices: for weights l
of the rows, and p of the cells (or pairs of cells, where records are replaced) let V and L be the weighted sums of w w'
over rows w and of d d' over unit vectors (or differences of two) d.  Then K = L^-1/2 (L^1/2 V L^1/2)^1/2 L^-1/2 is a
mechanism, and the square of the trace of its middle part a bound; weights move towards large variances and costs until
they meet within 0.05%.

Workloads are of four classes in turn: an attribute has one kind in all queries; or several, but one in all queries of
the same attributes; some kinds are rows of its own (`Custom`); or queries of the same attributes differ in kinds.  For
sums there is a most that the true distance may be in the first three, and otherwise in the second.

With ``--lines`` what each workload gave is added to a file, and a run that was stopped goes on from there.

Prints the worst and the mean true and stated distance of root mean square errors, or largest errors, and which workload
is the worst.  Exits with 1 if a distance is stated that is below the true one, or a true one is above the most.
"""

import argparse
import itertools
import json
import math
import sys
from collections import defaultdict
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

import residualplanner as rp

Matrix = NDArray[np.float64]
GAP, STEPS = 1e-3, 600
#: The classes of workloads, and the most that the true distance may be in them.
ONE_KIND, MIXED, CUSTOM = "one kind an attribute", "several kinds an attribute", "with rows of its own"
SAME_ATTRIBUTES = "several kinds on the same attributes"
CLASSES = (ONE_KIND, MIXED, CUSTOM, SAME_ATTRIBUTES)
MOST_OF_SUMS = {ONE_KIND: 0.005, MIXED: 0.007, CUSTOM: 0.02}
#: Of largest variances and targets, and where records are replaced.
MOST_OF_OTHERS = {MIXED: 0.02}


def kind_and_matrix(chance: np.random.Generator, size: int) -> tuple[Any, Matrix]:
    """A random kind of query, and its rows."""
    groups = [list(part) for part in np.array_split(np.arange(size), max(1, size // 2))]
    rows = np.vstack([np.ones(size), chance.integers(-1, 3, (int(chance.integers(1, 4)), size))])
    rows = rows[rows.any(axis=1)]
    sums = np.array([[float(value in group) for value in range(size)] for group in groups])
    runs = [[float(a <= value <= b) for value in range(size)] for a in range(size) for b in range(a, size)]
    named = {f"g{number}": [int(value) for value in group] for number, group in enumerate(groups)}
    one = rp.Identity(), np.eye(size)
    choices = [
        one,
        (rp.Prefix(), np.tril(np.ones((size, size)))),
        (rp.Range(), np.array(runs)),
        (rp.Hierarchy([named]), np.vstack([np.ones(size), sums, np.eye(size)])) if size > 3 else one,
        (rp.Custom(rows), rows),
    ]
    return choices[int(chance.choice(len(choices), p=[0.35, 0.2, 0.15, 0.15, 0.15]))]


def class_of(workload: rp.Workload) -> str:
    """The class of a workload."""
    if len({tuple(query) for query in workload}) < len(workload):
        return SAME_ATTRIBUTES
    if any(isinstance(kind, rp.Custom) for kind in workload.kinds):
        return CUSTOM
    return MIXED if (workload.uses.sum(axis=1) > 1).any() else ONE_KIND


def random_workload(chance: np.random.Generator, cells: int, kinds_of: str) -> tuple[rp.Workload, list[Matrix]]:
    """A workload of a class, and the rows of each of its queries."""
    while True:
        sizes = [int(size) for size in chance.integers(2, 13, int(chance.integers(2, 5)))]
        if not 4 <= math.prod(sizes) <= cells:
            continue
        kinds = [[kind_and_matrix(chance, size) for _ in range(int(chance.integers(1, 3)))] for size in sizes]
        queries: dict[str, tuple[dict[str, Any], Matrix]] = {}
        for _ in range(int(chance.integers(2, 7))):
            members = chance.permutation(len(sizes))[: int(chance.integers(1, min(3, len(sizes)) + 1))]
            chosen = {int(i): kinds[i][int(chance.integers(len(kinds[i])))] for i in sorted(members)}
            factors = [chosen[i][1] if i in chosen else np.ones((1, size)) for i, size in enumerate(sizes)]
            query = {f"a{i}": kind for i, (kind, _) in chosen.items()}
            queries[repr(query)] = query, reduce(lambda left, right: np.asarray(np.kron(left, right)), factors)
        weights = np.exp(chance.normal(size=len(queries))) if chance.random() < 0.3 else np.ones(len(queries))
        domain = rp.Domain({f"a{i}": size for i, size in enumerate(sizes)})
        try:
            workload = rp.Workload(domain, [query for query, _ in queries.values()], weights=weights)
        except rp.errors.WorkloadError:  # rows that are all 0
            continue
        if class_of(workload) == kinds_of and len(workload) == len(queries) > 1:  # in an order of its own
            alone = [next(iter(rp.Workload(domain, [query]))) for query, _ in queries.values()]
            return workload, [list(queries.values())[alone.index(query)][1] for query in workload]


def root(matrix: Matrix) -> tuple[Matrix, Matrix]:
    """The root of a matrix, and its inverse on the space where that is not 0."""
    try:
        values, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:  # the usual algorithm does not always converge; this one does, and takes longer
        values, vectors = scipy.linalg.eigh(matrix, driver="ev")
    roots = np.sqrt(np.maximum(values, 0.0))
    inverse = np.where(values > values[-1] * 1e-13, 1 / np.maximum(roots, 1e-300), 0.0)
    return (vectors * roots) @ vectors.T, (vectors * inverse) @ vectors.T


def least_loss(rows: Matrix, *, of_maximum: bool, replaced: bool) -> tuple[float, float]:
    """What the least sum of squares of errors of some rows, or the least largest one, lies between, at cost 1."""
    size = rows.shape[1]
    space = np.linalg.qr(np.eye(size) - 1 / size)[0][:, : size - 1] if replaced else np.eye(size)
    inside = rows @ space
    row_weights = np.full(len(rows), 1 / len(rows)) if of_maximum else np.ones(len(rows))
    weights = (1 - np.eye(size)) / (size * size - size) if replaced else np.full(size, 1 / size)
    lowest, highest, power = 0.0, math.inf, 1.8
    kept = row_weights, weights
    for _ in range(STEPS):
        L = 2 * (np.diag(weights.sum(axis=1)) - weights) if replaced else np.diag(weights)
        half, back = root(space.T @ L @ space)
        between, inverse = root(half @ (inside.T * row_weights @ inside) @ half)
        trace = float(np.trace(between))
        K = space @ back @ between @ back @ space.T
        costs = np.diag(K)[:, None] + np.diag(K) - 2 * K if replaced else np.diag(K)
        factor = inside @ half
        variances = np.maximum(((factor @ inverse) * factor).sum(axis=1), 0.0)
        reached = float(costs.max()) * (float(variances.max()) if of_maximum else trace)
        highest = min(highest, reached)
        if trace * trace >= lowest:
            lowest, kept, moves = trace * trace, (row_weights, weights), (variances / trace, costs / trace)
        else:
            power = max(power * 0.7, 0.3)
        if highest <= lowest * (1 + GAP):
            break
        row_weights, weights = kept
        weights = weights * np.maximum(moves[1], 1e-9) ** power + 1e-13
        weights = weights * (1 - np.eye(size)) if replaced else weights
        weights = weights / weights.sum()
        if of_maximum:
            row_weights = np.maximum(row_weights * np.maximum(moves[0], 1e-9) ** power, 1e-13)
            row_weights = row_weights / row_weights.sum()
    return lowest, highest


class Found(NamedTuple):
    """The distances of one plan: true, stated, and of the mechanism found by explicit matrices."""

    workload: int
    true: float
    stated: float
    dense: float

    @property
    def is_below(self) -> bool:
        """Whether less is stated than is true."""
        return self.stated < self.true - 1e-6


def distances(number: int, workload: rp.Workload, parts: list[Matrix], targets: Any) -> dict[tuple[str, str], Found]:
    """Those of the default plans of a workload with these rows, by loss and neighbors."""
    found, notions = {}, ("add-remove", "replace")
    losses: dict[str, Any] = {"sum": "sum", "max": "max", "targets": targets}
    for name, neighbors in itertools.product(losses, notions):
        plan = rp.select(workload, budget=rp.pcost(1), loss=losses[name], neighbors=neighbors)  # type: ignore[arg-type]
        importance = plan.loss.importance(workload) / (workload.cells if name == "sum" else 1)
        rows = np.vstack([math.sqrt(each) * part for each, part in zip(importance, parts, strict=True)])
        least, most = least_loss(rows, of_maximum=name != "sum", replaced=neighbors == "replace")
        value = plan.loss_value**2 if name == "targets" else plan.loss_value
        true, dense = math.sqrt(value / most) - 1, math.sqrt(most / least) - 1
        found[name, neighbors] = Found(number, true, plan.suboptimality, dense)
        if found[name, neighbors].is_below:
            print(f"workload {number}, {name}, {neighbors}: {true:.6f}, stated {plan.suboptimality:.6f}")
    return found


class Row(NamedTuple):
    """All plans of one loss, neighbors and class."""

    loss: str
    neighbors: str
    kinds: str
    plans: int
    true: float
    true_mean: float
    stated: float
    stated_mean: float
    dense: float
    worst: int  # the number of the workload
    most: float | None  # that the true distance may be

    @classmethod
    def of(cls, loss: str, neighbors: str, kinds: str, found: list[Found]) -> "Row":
        """The row of some plans."""
        _, true, stated, dense = np.max(found, axis=0).tolist()
        _, true_mean, stated_mean, _ = np.mean(found, axis=0).tolist()
        worst = max(found, key=lambda each: each.true).workload
        most = (MOST_OF_SUMS if (loss, neighbors) == ("sum", "add-remove") else MOST_OF_OTHERS).get(kinds)
        return cls(loss, neighbors, kinds, len(found), true, true_mean, stated, stated_mean, dense, worst, most)

    @property
    def is_missed(self) -> bool:
        """Whether a true distance is above the most that it may be."""
        return self.most is not None and self.true > self.most

    def __str__(self) -> str:
        name, most = f"{self.loss}, {self.neighbors}, {self.kinds}", "" if self.most is None else f"{self.most:.1%}"
        return (
            f"{name:<60}{self.plans:>6}{self.true:>13.2%}{self.true_mean:>9.2%}{self.stated:>15.2%}"
            f"{self.stated_mean:>9.2%}{self.dense:>14.2%}{self.worst:>7}{most:>8}{'  MISSED' if self.is_missed else ''}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description="Stated and true distances from the best of all mechanisms.")
    parser.add_argument("--count", type=int, default=60, help="how many workloads")
    parser.add_argument("--seed", type=int, default=0, help="of the random workloads")
    parser.add_argument("--cells", type=int, default=30, help="the most cells of a domain")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--lines", type=Path, help="a line of each workload, of this seed and so many cells")
    arguments = parser.parse_args()
    kept = arguments.lines.read_text().splitlines() if arguments.lines and arguments.lines.exists() else []
    chance = np.random.default_rng(arguments.seed)
    found: dict[tuple[str, str, str], list[Found]] = defaultdict(list)
    for number in range(arguments.count):
        workload, parts = random_workload(chance, arguments.cells, CLASSES[number % len(CLASSES)])
        targets = rp.losses.Targets(list(zip(workload, chance.uniform(1, 3, len(workload)).tolist(), strict=True)))
        if number < len(kept):
            measured = {tuple(key): Found(*each) for key, each in json.loads(kept[number])}
        else:
            measured = distances(number, workload, parts, targets)
            if arguments.lines:
                with arguments.lines.open("a") as file:
                    file.write(json.dumps([*measured.items()]) + "\n")
        for key, each in measured.items():
            found[*key, class_of(workload)].append(each)
    rows = [Row.of(*key, each) for key, each in sorted(found.items())]
    print(
        f"{'':<60}{'plans':>6}{'true: worst':>13}{'mean':>9}{'stated: worst':>15}{'mean':>9}{'dense: worst':>14}",
        end="",
    )
    print(f"{'worst':>7}{'most':>8}", *rows, sep="\n")
    below = sum(each.is_below for some in found.values() for each in some)
    print(f"{below} of {sum(map(len, found.values()))} stated distances are below the true one")
    if arguments.json:
        told = {"seed": arguments.seed, "workloads": arguments.count, "cells": arguments.cells, "below": below}
        told["rows"] = [row._asdict() for row in rows]
        arguments.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return int(below > 0 or any(row.is_missed for row in rows))


if __name__ == "__main__":
    sys.exit(main())
