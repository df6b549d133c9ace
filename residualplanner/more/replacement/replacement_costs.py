"""What replacing a record costs: the largest cost of all pairs of records, and which pairs cost that.

Source: eq. (37).
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.method.bases.basis import Basis, basis_codes
from residualplanner.method.strategy.costs import Worst
from residualplanner.method.workload.closure import Closure
from residualplanner.more.replacement.largest_replacement import ReplacementOptions, are_few, largest_replacement

#: Up to this many classes of attributes, or numbers of members in each, the costliest pair of records is searched for.
_CLASSES, _TABLE = 20, 2**20
#: Precisions this close to each other, relatively, are taken for equal in a search: for the larger one.
_EQUAL = 1e-12
#: How many ways a search by changes starts from, and how often it changes each attribute.
_CLIMBS, _SWEEPS = 4, 3
_ULP = 2.0**-52


@dataclass(frozen=True, eq=False)
class ReplacementCosts:
    """The `LargestCosts` of replacing one record by any other."""

    is_sum: ClassVar[Literal[False]] = False

    closure: Closure  # the sets that are measured
    bases: Sequence[Basis]  # (d,): of the attributes
    factor: float  # how much more the records of a person cost than one of them

    @cached_property
    def largest(self) -> FloatArray:
        """A bound for the cost of each set at unit noise, however two records differ, (m,).  Source: eq. (37).

        With K_i the products of all pairs of columns of attribute i, the cost of a set is ``prod K_i(r, r) + prod
        K_i(s, s) - 2 prod K_i(r, s)`` for records r and s.  Each factor is at most p_i in size, and a product below 0
        has a factor below 0.  For the subtraction basis some pair of records attains the bound.
        """
        opposite = np.zeros(len(self.bases))
        for i in self._occurring.tolist():
            opposite[i] = max(0.0, -self._pairs[i][:, 2].min() / self._longest[i])
        costs = [np.zeros(len(self.closure.blocks[0]))]
        for block in self.closure.blocks[1:]:
            costs.append(2 * self._longest[block].prod(axis=1) * (1 + opposite[block].max(axis=1)))
        return frozen(np.concatenate(costs))

    @property
    def summed(self) -> FloatArray:
        """The largest cost of every set as if all could be attained at once, (1, m)."""
        return (self.largest * self.factor)[None]

    @property
    def first(self) -> FloatArray:
        """The mean of all ways, in which everything but the total costs something, and the most different records."""
        mean, most = np.ones((3, len(self.bases))), np.ones((3, len(self.bases)))
        for i in self._occurring.tolist():
            pairs, (square, product) = self._pairs[i], self.bases[i].random_pair
            mean[:, i] = square, square, product
            most[:, i] = pairs[pairs[:, 2].argmin()]
        return np.array([mean, most])

    def rows(self, ways: FloatArray) -> FloatArray:
        """What every set costs at unit noise in some ways (c, 3, d) to differ, (c, m).  Source: eq. (37)."""
        rows = np.empty((len(ways), len(self.closure)))
        for row, (first, second, products) in zip(rows, ways, strict=True):
            lengths = self.closure.products(first) + self.closure.products(second)
            row[:] = lengths - 2 * self.closure.products(products)
        return np.maximum(rows, 0.0) * self.factor

    def worst(self, noise_variance: FloatArray) -> Worst:
        """The most that this noise costs.  Source: eq. (37).

        Exactly, where at most 20 classes of attributes occur, which have one basis each and whose attributes can be
        exchanged; for more, or where a search ends early, a bound.
        """
        precision: FloatArray = 1 / noise_variance
        precision[: int(self.closure.offsets[1])] = 0.0
        size = float(self.closure.products(self._longest) @ precision)
        count = len(self._occurring)
        # The terms of a way are at most those of columns of full length, which add up to `size`; each has as many
        # rounded factors as attributes, and takes part in so many operations.
        lost = 16 * (count + 4) * _ULP * size + 2.0 ** (min(count, _CLASSES) + 3) * math.ulp(0.0)
        bound = math.fsum(self.largest * precision) * (1 + 2 * (count + 4) * _ULP)
        if not (math.isfinite(size) and count):
            return Worst(math.inf if count else 0.0, self.first[:0])
        ways = []
        for classes, table, options in self._searches(precision):
            limit, found = largest_replacement(table, options)
            bound = min(bound, limit + lost)
            ways.append(np.ones((len(found), 3, len(self.bases))))
            ways[-1][:, :, np.argsort(classes, kind="stable")[np.count_nonzero(classes < 0) :]] = found
        found_ways = np.concatenate([*ways, self.first[:0]])
        return Worst(bound * self.factor, found_ways if len(found_ways) else self._climbed(precision))

    def one_record(self, noise_variance: FloatArray, counted: NDArray[np.bool_]) -> float:
        """The cost of all sets where one record changes, rounded up."""
        del counted
        return self.worst(noise_variance).cost / self.factor

    def _climbed(self, precision: FloatArray) -> FloatArray:
        """Ways (k, 3, d) that cost much, from some others by changing one attribute after another."""
        chance, least, found = np.random.default_rng(0), self.first[1], []
        same = np.broadcast_to(self._longest, least.shape)
        for start in range(_CLIMBS):
            way = np.where(chance.random(least.shape[1]) < 0.5, same, least) if start else least.copy()
            for i in [*self._states] * _SWEEPS:
                sets = np.flatnonzero((self.closure.padded_members == i).any(axis=1))
                members = self.closure.padded_members[sets]
                numbers = np.column_stack([way, np.ones(3)])
                numbers[:, i] = 1.0
                slopes = numbers[:, members].prod(axis=2) @ precision[sets] * [1, 1, -2]
                way[:, i] = self._states[i][(self._states[i] @ slopes).argmax()]
            found.append(way)
        return np.array(found)

    @cached_property
    def _pairs(self) -> dict[int, FloatArray]:
        """The pairs of columns of each attribute that occurs which may be of the costliest records, (t, 3)."""
        combined = {attribute for block in self.closure.blocks[2:] for attribute in np.unique(block).tolist()}
        every = {i: self.bases[i] for i in self._occurring.tolist()}
        # Those of attributes in no set with another one cost what they are apart.
        return {i: basis.extreme_pairs if i in combined else basis.farthest_pair for i, basis in every.items()}

    @cached_property
    def _states(self) -> dict[int, FloatArray]:
        """For each attribute that occurs all that may be of it in a way, (s, 3)."""
        states = {}
        for i in self._occurring.tolist():
            pairs = self._pairs[i]
            states[i] = np.vstack([np.full((1, 3), self._longest[i]), pairs, pairs[:, [1, 0, 2]]])
        return states

    @cached_property
    def _occurring(self) -> IntArray:
        """The attributes that occur in a set of the closure, ascending."""
        return np.unique(self.closure.attribute_of_factor)

    @cached_property
    def _longest(self) -> FloatArray:
        return np.array([float(basis.pcost) for basis in self.bases])

    def _searches(self, precision: FloatArray) -> Iterator[tuple[IntArray, FloatArray, list[ReplacementOptions]]]:
        """The class of each attribute, (d,), -1 for those that do not occur; and what `largest_replacement` takes.

        Attributes with one basis are of one class if their sets have equal precisions, or nearly so.  Where a class
        can differ in too many ways for all to be tried, each attribute on its own comes next.
        """
        attributes, codes = self._occurring, basis_codes(self.bases)
        labels = np.column_stack([codes, self._traits(precision)])[attributes]
        for numbers in (np.unique(labels, axis=0, return_inverse=True)[1].ravel(), np.arange(len(attributes))):
            classes = np.full(len(self.bases), -1)
            classes[attributes] = numbers
            counts = np.bincount(numbers)
            table = self._table(precision, classes) if len(counts) <= _CLASSES else None
            if table is not None:
                firsts = attributes[np.unique(numbers, return_index=True)[1]].tolist()
                pairs = [self._pairs[first] for first in firsts]
                every = zip(pairs, self._longest[firsts].tolist(), counts.tolist(), table.shape, strict=True)
                yield classes, table, list(itertools.starmap(ReplacementOptions.of, every))
                if all(map(are_few, pairs, counts.tolist())):
                    return

    def _traits(self, precision: FloatArray) -> FloatArray:
        """What each attribute has in common with others of its class: numbers of sets, and extremes, (d, k)."""
        traits = []
        for order, block in enumerate(self.closure.blocks[1:], start=1):
            own = np.repeat(precision[self.closure.offsets[order] : self.closure.offsets[order + 1]], order)
            least, most = np.full(len(self.bases), math.inf), np.zeros(len(self.bases))
            np.minimum.at(least, block.ravel(), own)
            np.maximum.at(most, block.ravel(), own)
            traits += [np.bincount(block.ravel(), minlength=len(self.bases)), least, most]
        return np.column_stack(traits)

    def _table(self, precision: FloatArray, classes: IntArray) -> FloatArray | None:
        """The precision of sets by how many attributes of each class they have; None if it is not the same for all."""
        counts = np.bincount(classes[classes >= 0])
        shape = np.minimum(counts, len(self.closure.blocks) - 1) + 1
        if math.prod(shape.tolist()) > _TABLE:
            return None
        strides = np.concatenate([np.cumprod(shape[:0:-1])[::-1], [1]]).astype(np.int64)
        at = np.concatenate([strides[classes[block]].sum(axis=1) for block in self.closure.blocks])
        most, least = np.zeros(math.prod(shape.tolist())), np.full(math.prod(shape.tolist()), math.inf)
        np.maximum.at(most, at, precision)
        np.minimum.at(least, at, precision)
        found, number = np.unique(at, return_counts=True)
        members = np.column_stack(np.unravel_index(found, shape))
        every = [math.prod(map(math.comb, counts.tolist(), row)) for row in members.tolist()]
        if number.tolist() != every or not (most[found] <= least[found] * (1 + _EQUAL)).all():
            return None
        return most.reshape(shape)
