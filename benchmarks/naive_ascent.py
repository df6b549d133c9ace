"""Dual ascent for non-negative tables as one would write it first: table by table, matrices, one constant step.

It shares nothing with the library's solver but the problem, and serves as a baseline of time.
"""

import itertools
import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import residualplanner as rp

Array = NDArray[np.float64]


class NaiveAscent:
    """The problem of a release of marginals with subtraction bases, weights 30 to the order, and the total fixed."""

    def __init__(self, release: rp.Release) -> None:
        plan = release.plan
        self.sizes, sets = plan.domain.sizes, list(plan.closure)
        self.largest = [each for each in sets if not any(set(each) < set(other) for other in sets)]
        noise = dict(zip(sets, plan.noise_variances.tolist(), strict=True))
        self.freedom = {each: noise[each] * 30.0 ** len(each) if each else 0.0 for each in sets}
        self.centered = {n: np.eye(n) - 1 / n for n in set(self.sizes)}
        self.start = {each: self.component(release[[plan.domain.names[i] for i in each]].estimate) for each in sets}
        self.multipliers = {each: np.zeros([self.sizes[i] for i in each]) for each in self.largest}
        shares = dict.fromkeys(sets, 0.0)
        for table in self.largest:
            for part in subsets(table):
                shares[part] += 1 / math.prod(self.sizes[i] for i in table if i not in part)
        self.step = 1 / max(self.freedom[each] * shares[each] for each in sets)

    def component(self, table: Array) -> Array:
        """A table centered along every axis."""
        for axis, n in enumerate(table.shape):
            table = np.moveaxis(np.tensordot(self.centered[n], table, axes=(1, axis)), 0, axis)
        return table

    def components(self) -> dict[tuple[int, ...], Array]:
        pulled = {each: np.zeros_like(start) for each, start in self.start.items()}
        for table, multipliers in self.multipliers.items():
            for part in subsets(table):
                axes = tuple(axis for axis, i in enumerate(table) if i not in part)
                pulled[part] = pulled[part] + self.component(multipliers.mean(axis=axes))
        return {each: self.start[each] + self.freedom[each] * pulled[each] for each in self.start}

    def cells(self, components: dict[tuple[int, ...], Array], table: tuple[int, ...]) -> Array:
        found = np.zeros([self.sizes[i] for i in table])
        for part in subsets(table):
            away = [axis for axis, i in enumerate(table) if i not in part]
            found = found + np.expand_dims(components[part], away) / math.prod(found.shape[axis] for axis in away)
        return found

    def advance(self) -> float:
        """One step; the gap before it, as the library computes it."""
        components = self.components()
        cells = {table: self.cells(components, table) for table in self.largest}
        gap = self.gap(components, cells)
        for table in self.largest:
            self.multipliers[table] = np.maximum(self.multipliers[table] - self.step * cells[table], 0)
        return gap

    def gap(self, components: dict[tuple[int, ...], Array], cells: dict[tuple[int, ...], Array]) -> float:
        total = float(self.start[()])
        part = max(
            float(np.max(np.where(table < 0, -table / (total / table.size - table), 0))) for table in cells.values()
        )
        bound = self.distance(components) - sum(
            float((self.multipliers[table] * cells[table]).sum()) for table in self.largest
        )
        even = {each: value if not each else np.zeros_like(value) for each, value in self.start.items()}
        mixed = {each: value + part * (even[each] - value) for each, value in components.items()}
        return max(self.distance(mixed) - bound, 0.0) / (1 + max(bound, 0.0))

    def distance(self, components: dict[tuple[int, ...], Array]) -> float:
        return sum(
            float(((components[each] - self.start[each]) ** 2).sum()) / (2 * freedom)
            for each, freedom in self.freedom.items()
            if freedom
        )


def subsets(table: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [part for order in range(len(table) + 1) for part in itertools.combinations(table, order)]


def seconds_to_gap(release: rp.Release, gap: float, *, limit: float) -> dict[str, Any]:
    """CPU seconds and steps until the gap is reached, or until the limit, and the gap then."""
    naive, started, steps, reached = NaiveAscent(release), time.process_time(), 0, math.inf
    while reached > gap and time.process_time() - started < limit:
        reached = naive.advance()
        steps += 1
    return {"naive cpu s": time.process_time() - started, "naive steps": steps, "naive gap": reached}
