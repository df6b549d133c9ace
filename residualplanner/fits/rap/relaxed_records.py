"""Relaxed records: what a run of RAP gives, which answers every query and has seen none but noisy answers.

And how each attribute's block of numbers is kept in its domain while they are fitted.
Source: eqs. (58) and (67); docs/adaptive-projection.md eq. (f).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.mixture import (
    Mixture,
    OneHot,
    all_products,
    balanced_split,
    mixture_of,
    product_sums,
)
from residualplanner.fits.optimizers import Floats
from residualplanner.fits.rap.tiles import ThresholdTable, Tile
from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.workload.query import WrittenQuery

#: A row for each value of each attribute, a column for each relaxed record; single precision.
Relaxed = NDArray[np.float32]
#: Steps of Newton's method for the threshold of docs/adaptive-projection.md eq. (f); it ends where nothing changes.
_NEWTON_STEPS = 100
#: The size of the first step, and the standard deviation of the first logits, where cells are chosen.  Records that are
#: nearly of one value each are moved apart by a fit; of records that are all alike, Adam's steps, equal for all, would
#: raise every one for the sake of a small cell.  But where whole tables are measured, such records are too few values.
OF_CELLS, OF_TABLES = (0.03, 3.0), (0.1, 1.0)


@dataclass(frozen=True, slots=True)
class Relaxation:
    """How parameters (rows, records) become values: the softmax of every block, or themselves, kept in a domain.

    "sparsemax" is the published one: after each step parameters are the nearest points of the simplices.  "interval",
    of the first version of RAP, clips them to [-1, 1]: they are no probabilities.
    """

    is_softmax: bool
    learning_rate: float  # the size of the first step of the optimizer
    is_interval: bool = False

    def start(self, blocks: OneHot, count: int, random: np.random.Generator, spread: float = OF_CELLS[1]) -> Relaxed:
        """Parameters (rows, count) to begin with; logits have this standard deviation."""
        if self.is_softmax:
            return np.float32(spread) * random.standard_normal((blocks.count, count), dtype=np.float32)
        uniform = random.random((blocks.count, count), dtype=np.float32)
        return 2 * uniform - 1 if self.is_interval else sparsemax(uniform, blocks)

    def kept(self, parameters: Relaxed, blocks: OneHot) -> Relaxed:
        """The nearest parameters in their domain."""
        if self.is_interval:
            return np.clip(parameters, -1, 1)
        return parameters if self.is_softmax else sparsemax(parameters, blocks)

    def values(self, parameters: Relaxed, blocks: OneHot) -> Relaxed:
        """The values that the parameters stand for."""
        return blocks.softmax(parameters).astype(np.float32, copy=False) if self.is_softmax else parameters

    def slopes(self, values: Relaxed, slopes: Relaxed, blocks: OneHot) -> Relaxed:
        """The gradient by the parameters, from that by the values, which may be overwritten."""
        return blocks.slope_of_logits(values, slopes).astype(np.float32, copy=False) if self.is_softmax else slopes


RELAXATIONS = {
    "softmax": Relaxation(True, OF_CELLS[0]),
    "sparsemax": Relaxation(False, 0.001),
    "interval": Relaxation(False, 0.001, is_interval=True),
}


def equal_weights(values: Relaxed) -> Relaxed:
    """The weight of every relaxed record, (records,): one over their number."""
    return np.full(values.shape[1], 1 / values.shape[1], dtype=np.float32)


def sparsemax(points: Relaxed, blocks: OneHot) -> Relaxed:
    """The nearest points of the simplex in every block.  Source: docs/adaptive-projection.md eq. (f)."""
    found = np.empty_like(points)
    for attribute, size in enumerate(blocks.sizes):  # a block at a time stays in the processor's cache
        own, ones = points[blocks.rows(attribute)], np.ones(size, dtype=np.float32)
        top = own.max(axis=0)
        # (sum over S - 1) / |S| is at most tau for every S; Newton's method rises from there.
        threshold = np.where(top > 0, np.maximum(top - 1, 0), top - 1)
        for step in range(_NEWTON_STEPS):
            is_above = (own > threshold).astype(np.float32)
            risen = (ones @ (is_above * own) - 1) / np.maximum(ones @ is_above, 1)
            risen = np.maximum(risen, threshold) if step else risen
            if np.array_equal(risen, threshold):
                break
            threshold = risen
        np.maximum(own - threshold, 0, out=found[blocks.rows(attribute)])
    return found


@dataclass(frozen=True, slots=True, eq=False)
class RelaxedRecords:
    """Records that say of each value of each attribute how probable it is.

    Attributes:
        blocks: which rows belong to which attribute.
        values (d', n'): a row for each value of each attribute and a column for each record.
    """

    blocks: OneHot
    values: Relaxed

    def fractions(self, threshold: ThresholdTable) -> FloatArray:
        """The table of a threshold, as fractions of all records: a linear map of the marginal.

        Example:
            >>> records = RelaxedRecords(OneHot((2, 2)), np.full((4, 8), 0.5, dtype=np.float32))
            >>> records.fractions(ThresholdTable((0, 1), (2, 2), 1)).tolist()
            [[0.75, 0.75], [0.75, 0.75]]
        """
        found = self.of_tile(Tile(0, threshold, tuple(map(range, threshold.shape))))
        return found if threshold.own else found.reshape(threshold.shape)

    def answers(self, query: WrittenQuery, domain: Domain) -> FloatArray:
        """The table of any query, as fractions of all records: of each kind its rows of the values of every record.

        Source: eqs. (58) and (67).
        """
        is_plain = all(kind.is_identity for kind in query.kinds)
        values = self.values if is_plain else self.values.astype(np.float64)
        columns = [
            values[self.blocks.rows(position)]
            if kind.is_identity
            else kind.apply(values[self.blocks.rows(position)], 0)
            for position, kind in zip(*query, strict=True)
        ]
        found = product_sums(columns, equal_weights(self.values)).astype(np.float64)
        return query.put_together(domain, found)

    def of_tile(self, tile: Tile) -> FloatArray:
        """The answers (cells,) of `fractions` in a tile.

        Source: eqs. (58) and (67), for some values and, of thresholds, the sum of the others, which comes last.
        """
        columns, merges = [], tile.threshold.at_least < len(tile.values)
        for position, kept in zip(tile.threshold.positions, tile.values, strict=True):
            block = self.values[self.blocks.rows(position)]
            column = block[kept.start : kept.stop]
            if merges and len(column) < len(block):
                others = block[: kept.start].sum(axis=0) + block[kept.stop :].sum(axis=0)
                column = np.concatenate([column, others[None]])
            columns.append(column)
        if tile.threshold.own is not None:
            return tile.threshold.own.means(columns)
        return tile.answers(product_sums(columns, equal_weights(self.values))).astype(np.float64).ravel()

    def integers(self, total: int) -> Callable[[Tile], IntArray]:
        """Gives the answers (cells,) in a tile as integer counts of so many records: scores are exact on this grid."""

        def counts(tile: Tile) -> IntArray:
            found = self.of_tile(tile)
            np.clip(found, 0, 1, out=found)
            found *= total
            return np.rint(found, out=found).astype(np.int64)

        return counts

    @property
    def mixture(self) -> Mixture:
        """The distribution of one record, drawn from any relaxed record: what integer records are sampled from.

        WorkloadError where values are no probabilities, of the relaxation "interval".
        """
        if self.values.min() < 0 or not np.allclose(self.blocks.sums(self.values), 1, atol=1e-3):
            raise WorkloadError('values of relaxation="interval" are no probabilities, of which records are drawn')
        return mixture_of(self.blocks, equal_weights(self.values), self.values)


def slopes_of_product_sums(slope: Floats, factors: Sequence[Floats], weights: Floats) -> list[Floats]:
    """The slopes in every factor (n_i, c), at least one, from that in `product_sums`."""
    split = balanced_split([len(factor) for factor in factors])
    left, right = all_products(factors[:split], weights), all_products(factors[split:], weights)
    matrix = slope.reshape(len(left), len(right))
    parts = (matrix @ right, factors[:split]), (matrix.T @ left, factors[split:])
    return [each * weights for product, some in parts for each in _slopes_of_factors(product, some)]


def _slopes_of_factors(slope: Floats, factors: Sequence[Floats]) -> list[Floats]:
    """The slope in each factor of `all_products` of several, from the slope in the product, (n_1 .. n_k, c)."""
    whole = slope.reshape(*(len(factor) for factor in factors), slope.shape[1])
    found = []
    for axis, own in enumerate(factors):
        rest = whole
        for other in reversed(range(len(factors))):
            if other != axis:
                shape = [1] * rest.ndim
                shape[other], shape[-1] = rest.shape[other], rest.shape[-1]
                rest = (rest * factors[other].reshape(shape)).sum(axis=other, keepdims=True)
        found.append(rest.reshape(own.shape))
    return found
