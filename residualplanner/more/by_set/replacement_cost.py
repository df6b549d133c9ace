"""The privacy cost in a search for bases where records are replaced, and its slopes.

Source: eq. (129).

The cost is a maximum over pairs of records, of which some are known at a time: all where they are few, or those that
were found to cost most.  For a pair the cost of a set is ``P(a) + P(b) - 2 P(k)``, with P the product over the
attributes of the set, a and b the squared lengths of the columns of each record, and k their product.  Such factors
have a column for each basis of each attribute.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import sparse

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.noise.minimax_noise import least_maximum_variance
from residualplanner.method.noise.noise_problem import limited_noise
from residualplanner.method.strategy.costs import with_token_cost
from residualplanner.more.by_set.cost import CostSlopes, GroupBasis, Maxima, Member, largest
from residualplanner.more.by_set.problem import PAIRS, BySetProblem
from residualplanner.more.by_set.table_costs import Rows, TableChoice

#: How many climbs there are to find pairs that cost much, and how often each changes every attribute.
_CLIMBS, _SWEEPS = 24, 4
#: A pair is new if it costs more than those that are known by this part.
_ABOVE = 1e-7
#: How many rounds there are for the best noise, how many pairs are added in each, and how near to its bound it ends.
_ROUNDS, _ADDED, _ENOUGH = 30, 16, 2e-7
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
        if float(np.prod(sizes.astype(np.float64))) ** 2 > 2 * PAIRS:
            apart = np.stack([np.zeros_like(sizes), sizes - 1])[None]
            others = np.random.default_rng(0).integers(0, sizes, (PAIRS // 2, 2, len(sizes)))
            return cls(problem, np.concatenate([apart, others]), are_all=False)
        records = np.array(list(itertools.product(*map(range, sizes.tolist()))))
        first, second = np.triu_indices(len(records), 1)
        return cls(problem, np.stack([records[first], records[second]], axis=1), are_all=True)

    def value_and_slopes(self, member: Member, maxima: Maxima) -> tuple[float, CostSlopes]:
        """The cost, or a smooth function near it, and its slopes."""
        factors = self._factors(self._tables(member.bases), self.pairs)
        precision = self._precision(member)
        by_set = self._of_sets(factors)
        costs = by_set @ precision
        value, weights = largest(costs, maxima.sharpness, maxima.axes)
        noise = self.problem.noise_of_set
        by_precision = np.bincount(noise, (weights @ by_set) * precision).astype(np.float64)
        by_products = [np.zeros((basis.axis.values,) * 2) for basis in member.bases]
        by_factors = self._slopes(factors, precision) * (weights[:, None] * _SIGNS)[:, :, None]
        for column, (i, group) in enumerate(self._columns):
            if group < 0:
                continue
            first, second = self.pairs[:, 0, i], self.pairs[:, 1, i]
            by_first, by_second, by_both = by_factors[:, :, column].T
            np.add.at(by_products[group], (first, first), by_first)
            np.add.at(by_products[group], (second, second), by_second)
            np.add.at(by_products[group], (first, second), by_both / 2)
            np.add.at(by_products[group], (second, first), by_both / 2)
        return value, CostSlopes(by_precision, by_products, np.empty(0), np.empty(0), weights)

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

    def best_noise(self, member: Member, rows: Rows, *, enough: float = _ENOUGH) -> TableChoice:
        """The best precisions for a member's bases and the rows of a loss, which are added as they are exceeded.

        So are pairs of records; where not all are known, some are climbed to for each of the precisions on the way.
        """
        cost, costs = self, self._by_noise(member, self.pairs)
        precision, known, sums = member.precision, costs.mean(axis=0)[None], np.empty((0, len(member.precision)))
        best, bound = TableChoice(precision, {}, math.inf, 0.0), 0.0
        for _ in range(_ROUNDS):
            cost = cost.with_worst(replace(member, precision=precision))
            costs = np.concatenate([costs, self._by_noise(member, cost.pairs[len(costs) :])])
            paid, (value, more) = costs @ precision, rows(precision)
            if value * paid.max() < best.loss:
                best = TableChoice(precision / paid.max(), {}, value * float(paid.max()), 0.0)
            if best.loss <= bound * (1 + enough):
                break
            known = np.unique(np.concatenate([known, costs[np.argsort(-paid)[:_ADDED]]]), axis=0)
            sums = np.unique(np.concatenate([sums, more]), axis=0)
            tokens = with_token_cost(known)
            choice = least_maximum_variance(known, tokens, sparse.csr_array(sums), gap=_ENOUGH / 4)
            precision = 1 / limited_noise(choice.noise_variance, known.max(axis=0))
            bound = max(bound, choice.bound)
        return replace(best, bound=min(bound, best.loss))

    def _by_noise(self, member: Member, pairs: IntArray) -> FloatArray:
        """What some pairs (c, 2, d) cost for each noise of precision 1, (c, n)."""
        by_set, noise = self._of_sets(self._factors(self._tables(member.bases), pairs)), self.problem.noise_of_set
        unit = self._precision(replace(member, precision=np.ones(len(member.precision))))
        return np.asarray(by_set @ (unit[:, None] * (noise[:, None] == np.arange(len(member.precision)))))

    def _climbed(self, tables: list[FloatArray], precision: FloatArray) -> IntArray:
        """Pairs (k, 2, d) that cost much, from some others by changing one attribute after another."""
        chance, order = np.random.default_rng(len(self.pairs)), np.argsort(-self._costs(tables, self.pairs, precision))
        found = np.repeat(self.pairs[order[:1]], _CLIMBS, axis=0)
        own = {i: [at for at, (j, _) in enumerate(self._columns) if j == i] for i, _ in self._columns}
        for i, (first, *_) in own.items():
            found[1:, :, i] = chance.integers(0, len(tables[first]), (_CLIMBS - 1, 2))
        for i in [*own] * _SWEEPS:
            slopes, gains = self._slopes(self._factors(tables, found), precision), np.zeros(())
            for column in own[i]:
                table, lengths = tables[column], np.diagonal(tables[column])
                by_first, by_second, by_both = slopes[:, :, column].T[:, :, None, None]
                gains = gains + by_first * lengths[:, None] + by_second * lengths - 2 * by_both * table
            best = gains.reshape(_CLIMBS, -1).argmax(axis=1)
            found[:, 0, i], found[:, 1, i] = np.unravel_index(best, table.shape)
        return found

    def _costs(self, tables: list[FloatArray], pairs: IntArray, precision: FloatArray) -> FloatArray:
        """What some pairs (c, 2, d) cost, (c,)."""
        return np.asarray(self._of_sets(self._factors(tables, pairs)) @ precision)

    def _of_sets(self, factors: FloatArray) -> FloatArray:
        """What each set costs at unit precision, for the factors (c, 3, columns+1) of some pairs, (c, m)."""
        return np.asarray(_SIGNS @ factors[:, :, self._columns_of_sets].prod(axis=3))

    def _precision(self, member: Member) -> FloatArray:
        """The precision of each set, (m,)."""
        noise = self.problem.noise_of_set
        return (member.precision / np.bincount(noise))[noise] / self.problem.factor

    def _tables(self, bases: Sequence[GroupBasis]) -> list[FloatArray]:
        """The products of the columns of each basis of each attribute; of two values without an own basis."""
        sizes, own = self.problem.workload.domain.sizes, [basis.S.T @ basis.S for basis in bases]
        return [np.eye(2) - 1 / sizes[i] if group < 0 else own[group] for i, group in self._columns]

    def _factors(self, tables: list[FloatArray], pairs: IntArray) -> FloatArray:
        """For some pairs (c, 2, d): a, b and k of each column, and behind them 1, (c, 3, columns+1)."""
        factors = np.ones((len(pairs), 3, len(tables) + 1))
        for column, (table, (i, _)) in enumerate(zip(tables, self._columns, strict=True)):
            first, second = pairs[:, 0, i], pairs[:, 1, i]
            factors[:, :, column] = np.stack([table[first, first], table[second, second], table[first, second]], axis=1)
        return factors

    def _slopes(self, factors: FloatArray, precision: FloatArray) -> FloatArray:
        """The slopes of the sums of products by the factors, (c, 3, columns+1)."""
        slopes, members = np.zeros_like(factors), self._columns_of_sets
        for column in range(members.shape[1]):
            others = factors[:, :, np.delete(members, column, axis=1)].prod(axis=3)
            slopes += (others * precision) @ (members[:, column, None] == np.arange(factors.shape[2]))
        return slopes

    @cached_property
    def _columns(self) -> list[tuple[int, int]]:
        """The attribute and the group of each basis, ascending; the group is -1 where the attribute has no own one."""
        return sorted(set(self._factor_columns))

    @cached_property
    def _columns_of_sets(self) -> IntArray:
        """The columns of the factors of each set, and behind them that of ones, (m, k)."""
        of_sets = self.problem.workload.closure.padded_members.astype(np.int64)
        numbers = {column: number for number, column in enumerate(self._columns)}
        is_factor = np.arange(of_sets.shape[1]) < self.problem.workload.closure.orders[:, None]
        of_sets[is_factor] = [numbers[column] for column in self._factor_columns]
        of_sets[~is_factor] = len(numbers)
        return of_sets

    @property
    def _factor_columns(self) -> list[tuple[int, int]]:
        attributes = self.problem.workload.closure.attribute_of_factor.tolist()
        return list(zip(attributes, self.problem.group.tolist(), strict=True))
