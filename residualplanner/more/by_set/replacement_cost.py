"""The privacy cost in a search for bases where records are replaced, one basis for each attribute, and its slopes.

Source: eq. (37).

The cost is a maximum over pairs of records, of which some are known at a time: all where they are few, or those that
were found to cost most.  For a pair the cost of a set is ``P(a) + P(b) - 2 P(k)``, with P the product over the
attributes of the set, a and b the squared lengths of the columns of each record, and k their product.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.workload.closure import Closure
from residualplanner.more.by_set.cost import CostSlopes, Maxima, largest
from residualplanner.more.by_set.group_basis import GroupBasis, Member
from residualplanner.more.by_set.problem import PAIRS, BySetProblem
from residualplanner.more.by_set.table_costs import Rows, TableChoice

#: How many climbs there are to find pairs that cost much, and how often each changes every attribute.
_CLIMBS, _SWEEPS = 24, 4
#: A pair is new if it costs more than those that are known by this part.
_ABOVE = 1e-7
_SIGNS = np.array([1.0, 1.0, -2.0])


@dataclass(frozen=True, eq=False)
class ReplacementCost:
    """The largest cost of some pairs of records."""

    problem: BySetProblem
    #: (c, 2, d): the group of values that each record has of each attribute; of attributes without an own basis 0 or 1.
    pairs: IntArray
    are_all: bool  # whether no other pair costs more
    message_lengths: ClassVar[dict[int, list[int]]] = {}  # there are no messages

    @classmethod
    def of(cls, problem: BySetProblem) -> "ReplacementCost":
        """All pairs if they are few, otherwise none but one that differs in every attribute."""
        closure, sizes = problem.workload.closure, np.ones(len(problem.workload.domain), dtype=np.int64)
        occurring = np.unique(closure.attribute_of_factor)
        sizes[occurring] = 2
        for i, axis in problem.axes.items():
            sizes[i] = axis.values
        apart = np.stack([np.zeros_like(sizes), sizes - 1])[None]
        if float(np.prod(sizes.astype(np.float64))) ** 2 > 2 * PAIRS:
            return cls(problem, apart, are_all=False)
        records = np.array(list(itertools.product(*map(range, sizes.tolist()))))
        first, second = np.triu_indices(len(records), 1)
        return cls(problem, np.stack([records[first], records[second]], axis=1), are_all=True)

    def value_and_slopes(self, member: Member, maxima: Maxima) -> tuple[float, CostSlopes]:
        """The cost, or a smooth function near it, and its slopes."""
        factors = self._factors(self._tables(member.bases), self.pairs)
        precision = self._precision(member)
        by_set = self._of_sets(factors)
        costs = by_set @ precision
        logs = maxima.axes.get(0)
        if logs is not None and len(logs) < len(costs):  # new pairs count as much as all do in the mean
            logs = np.pad(logs, (0, len(costs) - len(logs)), constant_values=-math.log(len(costs)))
        value, weights = largest(costs, maxima.sharpness, logs)
        noise = self.problem.noise_of_set
        by_precision = np.bincount(noise, (weights @ by_set) * precision).astype(np.float64)
        by_products = [np.zeros((basis.axis.values,) * 2) for basis in member.bases]
        by_factors = self._slopes(factors, precision) * (weights[:, None] * _SIGNS)[:, :, None]
        for i, group in self._groups.items():
            first, second = self.pairs[:, 0, i], self.pairs[:, 1, i]
            by_first, by_second, by_both = by_factors[:, :, i].T
            np.add.at(by_products[group], (first, first), by_first)
            np.add.at(by_products[group], (second, second), by_second)
            np.add.at(by_products[group], (first, second), by_both / 2)
            np.add.at(by_products[group], (second, first), by_both / 2)
        return value, CostSlopes(by_precision, by_products, {}, {}, {0: weights})

    def with_worst(self, member: Member) -> "ReplacementCost":
        """The same with pairs that cost a member more than all that are known."""
        if self.are_all:
            return self
        tables, precision = self._tables(member.bases), self._precision(member)
        known, found = self._costs(tables, self.pairs, precision), self._climbed(tables, precision)
        costs = self._costs(tables, found, precision)
        order = np.argsort(-costs)[: PAIRS - len(self.pairs)]
        new = found[order[costs[order] > known.max() * (1 + _ABOVE)]]
        return replace(self, pairs=np.concatenate([self.pairs, np.unique(new, axis=0)]))

    def best_noise(self, member: Member, rows: Rows) -> TableChoice:
        """The member's own noise."""
        cost = float(self._costs(self._tables(member.bases), self.pairs, self._precision(member)).max())
        return TableChoice(member.precision / cost, {}, rows(member.precision)[0] * cost, 0.0)

    def _climbed(self, tables: dict[int, FloatArray], precision: FloatArray) -> IntArray:
        """Pairs (k, 2, d) that cost much, from some others by changing one attribute after another."""
        chance, order = np.random.default_rng(0), np.argsort(-self._costs(tables, self.pairs, precision))
        found = np.repeat(self.pairs[order[:1]], _CLIMBS, axis=0)
        for i, table in tables.items():
            found[1:, :, i] = chance.integers(0, len(table), (_CLIMBS - 1, 2))
        for i in [*tables] * _SWEEPS:
            table = tables[i]
            by_first, by_second, by_both = self._slopes(self._factors(tables, found), precision)[:, :, i].T
            lengths = np.diagonal(table)
            gains = by_first[:, None, None] * lengths[:, None] + by_second[:, None, None] * lengths
            gains -= 2 * by_both[:, None, None] * table
            best = gains.reshape(_CLIMBS, -1).argmax(axis=1)
            found[:, 0, i], found[:, 1, i] = np.unravel_index(best, table.shape)
        return found

    def _costs(self, tables: dict[int, FloatArray], pairs: IntArray, precision: FloatArray) -> FloatArray:
        """What some pairs (c, 2, d) cost, (c,)."""
        return np.asarray(self._of_sets(self._factors(tables, pairs)) @ precision)

    def _of_sets(self, factors: FloatArray) -> FloatArray:
        """What each set costs at unit precision, for the factors (c, 3, d+1) of some pairs, (c, m)."""
        return np.asarray(_SIGNS @ factors[:, :, self._closure.padded_members].prod(axis=3))

    def _precision(self, member: Member) -> FloatArray:
        """The precision of each set, (m,)."""
        noise = self.problem.noise_of_set
        of_sets: FloatArray = (member.precision / np.bincount(noise))[noise] / self.problem.factor
        return of_sets

    def _tables(self, bases: Sequence[GroupBasis]) -> dict[int, FloatArray]:
        """The products of the columns of each attribute that occurs in a set; of two values without an own basis."""
        sizes, own = self.problem.workload.domain.sizes, [basis.S.T @ basis.S for basis in bases]
        return {i: own[self._groups[i]] if i in self._groups else np.eye(2) - 1 / sizes[i] for i in self._occurring}

    def _factors(self, tables: dict[int, FloatArray], pairs: IntArray) -> FloatArray:
        """For some pairs (c, 2, d): a, b and k of each attribute, and behind them 1, (c, 3, d+1)."""
        factors = np.ones((len(pairs), 3, pairs.shape[2] + 1))
        for i, table in tables.items():
            first, second = pairs[:, 0, i], pairs[:, 1, i]
            factors[:, :, i] = np.stack([table[first, first], table[second, second], table[first, second]], axis=1)
        return factors

    def _slopes(self, factors: FloatArray, precision: FloatArray) -> FloatArray:
        """The slopes of the sums of products by the factors of each attribute, (c, 3, d+1)."""
        slopes, members = np.zeros_like(factors), self._closure.padded_members
        for column in range(members.shape[1]):
            others = factors[:, :, np.delete(members, column, axis=1)].prod(axis=3)
            slopes += (others * precision) @ (members[:, column, None] == np.arange(factors.shape[2]))
        return slopes

    @property
    def _closure(self) -> Closure:
        return self.problem.workload.closure

    @cached_property
    def _occurring(self) -> list[int]:
        """The attributes that occur in a set."""
        occurring: list[int] = np.unique(self._closure.attribute_of_factor).tolist()
        return occurring

    @cached_property
    def _groups(self) -> dict[int, int]:
        """The group of each attribute that has an own basis."""
        attributes, groups = self._closure.attribute_of_factor.tolist(), self.problem.group.tolist()
        return {i: group for i, group in zip(attributes, groups, strict=True) if group >= 0}
