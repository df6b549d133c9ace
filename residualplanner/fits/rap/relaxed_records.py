"""Relaxed records: what a run of RAP gives, which answers every query and has seen none but noisy answers.

And how each attribute's block of numbers is kept in its domain while they are fitted.
Source: eqs. (58) and (67); docs/adaptive-projection.md eqs. (f) and (g).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.mixture import Mixture, OneHot, balanced_split, khatri_rao, mixture_of, product_sums
from residualplanner.fits.rap.tiles import ThresholdTable, Tile, tiles_of
from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.workload.query import WrittenQuery

#: A row for each value of each attribute, a column for each relaxed record; single precision.
Relaxed = NDArray[np.float32]
#: Steps of Newton's method for the threshold of docs/adaptive-projection.md eq. (f); it ends where nothing changes.
_NEWTON_STEPS = 100


@dataclass(frozen=True)
class Relaxation:
    """How parameters become values, and stay in their domain: the values themselves, projected after each step."""

    name: str  # the word for it in a plan
    kept: Callable[[Relaxed, OneHot], Relaxed]  # the nearest parameters (rows, records) in their domain
    learning_rate: float = 0.001  # the size of the first step of the optimizer
    merges: bool = False  # whether values of an attribute that no measured cell mentions may be fitted together
    sums_to_one: bool = True  # whether the values of each attribute add up to 1

    def start(self, blocks: OneHot, records: int, generator: np.random.Generator) -> Relaxed:
        """Parameters (rows, records) to begin with."""
        return self.kept(generator.random((blocks.count, records), dtype=np.float32), blocks)

    def values(self, parameters: Relaxed, blocks: OneHot) -> Relaxed:
        """The values (rows, records) that the parameters stand for."""
        del blocks
        return parameters

    def slopes(self, values: Relaxed, slopes: Relaxed, blocks: OneHot) -> Relaxed:
        """The gradient by the parameters (rows, records), from that by the values, which may be overwritten."""
        del values, blocks
        return slopes


class Softmax(Relaxation):
    """Every block is the softmax of free parameters, all of which are in their domain."""

    def start(self, blocks: OneHot, records: int, generator: np.random.Generator) -> Relaxed:
        """Standard normal logits."""
        return generator.standard_normal((blocks.count, records), dtype=np.float32)

    def values(self, parameters: Relaxed, blocks: OneHot) -> Relaxed:
        """The softmax of every block."""
        return blocks.softmax(parameters).astype(np.float32, copy=False)

    def slopes(self, values: Relaxed, slopes: Relaxed, blocks: OneHot) -> Relaxed:
        """``p (g - sum p g)``, where p are the values and g the slopes."""
        return blocks.slope_of_logits(values, slopes).astype(np.float32, copy=False)


def equal_weights(values: Relaxed) -> Relaxed:
    """The weight of every relaxed record, (records,): one over their number."""
    records = values.shape[1]
    return np.full(records, 1 / records, dtype=np.float32)


def sparsemax(points: Relaxed, blocks: OneHot) -> Relaxed:
    """Project every block of every column (rows, records) on the simplex, by Newton's method and without sorting.

    The nearest points are ``max(0, z - tau)`` with sum 1 in each block.  Source: docs/adaptive-projection.md eq. (f).
    """
    shifted = points - blocks.repeated(np.maximum.reduceat(points, blocks.offsets[:-1], axis=0))
    sizes = np.array(blocks.sizes, dtype=np.float32)[:, None]
    threshold = np.maximum((blocks.sums(shifted) - 1) / sizes, np.float32(-1))
    for _ in range(_NEWTON_STEPS):
        is_above = shifted > blocks.repeated(threshold)
        counts = blocks.sums(is_above.astype(np.float32))
        risen = np.maximum((blocks.sums(np.where(is_above, shifted, np.float32(0))) - 1) / counts, threshold)
        if np.array_equal(risen, threshold):
            break
        threshold = risen
    return np.asarray(np.maximum(shifted - blocks.repeated(threshold), 0), dtype=np.float32)


#: "sparsemax", as published, has the nearest points of the simplices, many of whose entries are 0; by "clip" each
#: number lies between 0 and 1 on its own, and blocks need not sum to 1, so that there are no records to sample.
RELAXATIONS: dict[str, Relaxation] = {
    each.name: each
    for each in (
        Softmax("softmax", lambda parameters, _: parameters, learning_rate=0.1, merges=True),
        Relaxation("sparsemax", sparsemax),
        Relaxation("clip", lambda parameters, _: np.clip(parameters, 0, 1), sums_to_one=False),
    )
}


def threshold_means(columns: Sequence[Relaxed], at_least: int) -> Relaxed:
    """The mean over relaxed records of the polynomial of eq. (58), for all cells (t_1, .., t_k).

    Source: docs/adaptive-projection.md eq. (g): j matches in one half of the attributes, at least r - j in the other.
    """
    shape = tuple(len(column) for column in columns)
    split = balanced_split(shape)
    one, other = _exactly(columns[:split], columns[0]), _exactly(columns[split:], columns[0])
    tails = np.cumsum(other[::-1], axis=0)[::-1]
    tails[0] = 1
    found = sum(
        each @ tails[max(0, at_least - matches)].T
        for matches, each in enumerate(one)
        if at_least - matches < len(tails)
    )
    return np.asarray(found / columns[0].shape[1]).reshape(shape)


def _exactly(columns: Sequence[Relaxed], like: Relaxed) -> list[Relaxed]:
    """For j = 0 .. k the probability that exactly j of the attributes match, of all cells (cells, n')."""
    states: list[Relaxed] = [np.ones_like(like[:1])]
    for column in columns:
        missed = [khatri_rao(state, 1 - column) for state in states]
        matched = [khatri_rao(state, column) for state in states]
        inner = [np.add(one, other) for one, other in zip(missed[1:], matched[:-1], strict=True)]
        states = [missed[0], *inner, matched[-1]]
    return states


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
        """The table of a threshold, as fractions of all records.

        Where the values of each attribute add up to 1, it is a linear map of the marginal; elsewhere, as under the
        relaxation "clip", it is the polynomial of eq. (58) that is fitted.

        Example:
            >>> records = RelaxedRecords(OneHot((2, 2)), np.full((4, 8), 0.5, dtype=np.float32))
            >>> records.fractions(ThresholdTable((0, 1), (2, 2), 1)).tolist()
            [[0.75, 0.75], [0.75, 0.75]]
        """
        found = np.empty(threshold.cells)
        for tile in tiles_of([threshold], relaxed_records=self.values.shape[1]):
            found[tile.numbers.start : tile.numbers.stop] = self.of_tile(tile)
        return found.reshape(threshold.shape)

    def answers(self, query: WrittenQuery, domain: Domain) -> FloatArray:
        """The table of any query, as fractions of all records: of each kind its rows of the values of every record.

        Raises:
            WorkloadError: the records are no distribution, as under the relaxation "clip", and the query has a
                threshold beside other kinds.

        Source: eqs. (58) and (67); docs/adaptive-projection.md eq. (g).
        """
        parts = [np.empty((0, self.values.shape[1]), dtype=self.values.dtype)]
        for position, kind in zip(*query, strict=True):
            values = self.values[self.blocks.rows(position)]
            parts.append(values if kind.is_identity else kind.apply(values.astype(np.float64), 0))
        shape = query.shape(domain)
        rows, axes = RelaxedRecords(OneHot(shape), np.concatenate(parts)), tuple(range(len(shape)))
        at_least = max((kind.at_least for kind in query.kinds), default=0)
        if at_least and not self._are_distributions:
            if any(kind.at_least != at_least for kind in query.kinds):
                raise WorkloadError(
                    'relaxed records of the relaxation "clip" answer a threshold only by itself, without attributes '
                    'of other kinds; ask for the table of all their values, or fit with "softmax"'
                )
            return rows.fractions(ThresholdTable(axes, shape, at_least))
        return query.put_together(domain, rows.fractions(ThresholdTable(axes, shape, len(axes))))

    def of_tile(self, tile: Tile) -> FloatArray:
        """The answers (cells,) of `fractions` in a tile.

        Source: eqs. (58) and (67), or docs/adaptive-projection.md eq. (g), for some values and the sum of the others.
        """
        at_least, order = tile.threshold.at_least, len(tile.values)
        if at_least < order and not self._are_distributions:
            found = threshold_means(self._columns(tile), at_least)
        elif at_least < order:
            found = tile.answers(product_sums(self._columns(tile, merges=True), equal_weights(self.values)))
        else:
            found = product_sums(self._columns(tile), equal_weights(self.values))
        return found.astype(np.float64).ravel()

    def integers(self, total: int) -> Callable[[Tile], IntArray]:
        """Gives the answers (cells,) in a tile as integer counts of so many records: scores are exact on this grid."""

        def counts(tile: Tile) -> IntArray:
            found = self.of_tile(tile)
            np.clip(found, 0, 1, out=found)
            found *= total
            return np.rint(found, out=found).astype(np.int64)

        return counts

    def _columns(self, tile: Tile, *, merges: bool = False) -> list[Relaxed]:
        """Of each attribute the values (t_i, n') that a tile is made of; merged, the sum of the others comes last."""
        columns = []
        for position, kept in zip(tile.threshold.positions, tile.values, strict=True):
            block = self.values[self.blocks.rows(position)]
            column = block[kept.start : kept.stop]
            if merges and len(column) < len(block):
                others = block[: kept.start].sum(axis=0) + block[kept.stop :].sum(axis=0)
                column = np.concatenate([column, others[None]])
            columns.append(column)
        return columns

    @property
    def mixture(self) -> Mixture:
        """The distribution of one record, drawn from any relaxed record: what integer records are sampled from.

        Raises:
            WorkloadError: the values of an attribute do not add up to 1, as under the relaxation "clip".
        """
        if not self._are_distributions:
            raise WorkloadError('relaxed records of the relaxation "clip" are no distribution; fit with "softmax"')
        return mixture_of(self.blocks, equal_weights(self.values), self.values)

    @property
    def _are_distributions(self) -> bool:
        """Whether the values of every attribute add up to 1 in every relaxed record."""
        return bool(np.allclose(self.blocks.sums(self.values), 1, atol=1e-3))
