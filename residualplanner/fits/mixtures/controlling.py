"""Records of a mixture whose tables are brought nearer to the mixture's by exchanging values.

Source: docs/mathematics.md section 13; controlled selection, Goodman and Kish (1950).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures import mixture as mixtures
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import IntArray, untold

Floats = NDArray[np.float32]
#: How often all attributes are gone through: the fewest and the most times, and how many records are seen in between.
_FEWEST, _MOST, _RECORDS = 4, 32, 400_000
#: The fraction of the exchanges that would each lower the loss that is made at first; how it grows and shrinks.
_FRACTION, _MORE, _LESS = 0.3, 1.3, 0.7
#: How often the fraction is halved where all exchanges together do not lower the loss.
_HALVINGS = 4
#: Added to expected counts, where a difference is weighted by one over their root.
_HALF = 0.5
#: The most cells of all tables of an attribute with others; values of larger attributes stay where they are.
_MOST_CELLS = 1 << 22
#: How many numbers are looked up together.
_BATCH = 1 << 20


def controlled_records(
    mixture: mixtures.Mixture, records: int, generator: np.random.Generator, *, report: Progress = untold
) -> IntArray:
    """Records spread evenly over the mixture, (n, d), whose tables of pairs are then brought nearer to the mixture's.

    Within a class they are a Latin hypercube sample: after the exchanges, points of a sequence would be no nearer, and
    they take a second to import.  First as few values as it takes are changed, so that every value is there as often as
    expected, to less than one record.  Then two records of one class exchange their values of an attribute where that
    brings the tables of this attribute with all others nearer, which does not change how often a value is in a class.
    """
    # Tables with all others are not too large; with a single attribute there are none.
    most, sizes = _MOST_CELLS // mixture.blocks.count, mixture.blocks.sizes
    attributes = [attribute for attribute, size in enumerate(sizes) if 1 < size <= most and len(sizes) > 1]
    rounds = min(max(_RECORDS // records, _FEWEST), _MOST) if records > 1 else 0
    begun = 2 * len(sizes)  # what is drawn and corrected before, counted by attributes, too
    total = begun + rounds * len(attributes)
    codes, classes = mixtures.even_records_by_class(
        mixture,
        records,
        generator,
        points=mixtures.independent_points,
        report=lambda done, of: report(done * len(sizes) // of, total),
    )
    mixtures.correct_margins(mixture, codes, classes, generator, report=lambda done, of: report(of + done, total))
    rows = codes + mixture.blocks.offsets[:-1]
    fractions = np.full(codes.shape[1], _FRACTION)
    for turn in range(rounds):
        pairs = _pairs_within(classes, generator)
        for number, attribute in enumerate(attributes, start=begun + turn * len(attributes)):
            report(number, total)
            _exchange(_tables_of(mixture, attribute, records), rows, pairs, fractions, generator)
    report(total, total)
    return generator.permutation(rows - mixture.blocks.offsets[:-1])


def _pairs_within(classes: IntArray, generator: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Disjoint random pairs of records of one class, as two arrays (p,) of their positions."""
    order = np.argsort(classes + np.minimum(generator.random(len(classes)), mixtures.BELOW_ONE))
    one, other = order[: len(order) - 1 : 2], order[1::2]
    is_within = classes[one] == classes[other]
    return one[is_within], other[is_within]


@dataclass(frozen=True, eq=False, slots=True)
class _PairTables:
    """The tables of one attribute with all others, one beside the other."""

    attribute: int  # by position
    first: int  # the row of its first value
    expected: Floats  # (n, d'): counts by the mixture
    weights: Floats  # (n, d'): of squared differences; 0 where it would stand beside itself

    def away(self, rows: IntArray) -> Floats:
        """The counts of records less the expected ones, (n, d')."""
        counts, step = np.zeros(self.expected.size, dtype=np.int64), max(_BATCH // rows.shape[1], 1)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            cells = self._starts(part) + part
            counts += np.bincount(cells.ravel(), minlength=len(counts))
        return counts.reshape(self.expected.shape).astype(np.float32) - self.expected

    def _starts(self, rows: IntArray) -> IntArray:
        """Where the row of each record's value of the attribute starts among all cells, (p, 1)."""
        return (rows[:, [self.attribute]] - self.first) * self.expected.shape[1]

    def moved(self, rows: IntArray, one: IntArray, other: IntArray) -> Floats:
        """What exchanges of values of records (p,) and (p,) add to the counts, (n, d'); not beside itself."""
        these, those = rows[one], rows[other]
        mine, yours = self._starts(these), self._starts(those)
        come = np.concatenate([(yours + these).ravel(), (mine + those).ravel()])
        gone = np.concatenate([(mine + these).ravel(), (yours + those).ravel()])
        counts = np.bincount(come, minlength=self.expected.size) - np.bincount(gone, minlength=self.expected.size)
        return counts.astype(np.float32).reshape(self.expected.shape)

    def loss(self, away: Floats) -> float:
        """The weighted sum of squared differences."""
        return float(np.vdot(self.weights * away, away))

    def changes(self, away: Floats, rows: IntArray, one: IntArray, other: IntArray) -> Floats:
        """How much each exchange by itself, of record ``one`` (p,) with ``other`` (p,), would change the loss, (p,)."""
        # A count that is a too high adds w a**2: one more record adds w (1 + 2 a) to it, and one less w (1 - 2 a).
        pull = 2 * self.weights * away
        come = (self.weights + pull).ravel()
        gone = np.subtract(self.weights, pull, out=pull).ravel()
        found, step = np.empty(len(one), dtype=np.float32), max(_BATCH // rows.shape[1], 1)
        for start in range(0, len(one), step):
            part = slice(start, start + step)
            these, those = rows[one[part]], rows[other[part]]
            mine, yours = self._starts(these), self._starts(those)
            change = gone.take(mine + these)
            change += come.take(yours + these)
            change += gone.take(yours + those)
            change += come.take(mine + those)
            change *= these != those  # where both have the same value of the other attribute, nothing changes
            change.sum(axis=1, out=found[part])
        return found


def _tables_of(mixture: mixtures.Mixture, attribute: int, records: int) -> _PairTables:
    own = mixture.blocks.rows(attribute)
    masses = (mixture.of_attribute(attribute) * (mixture.weights * records)).astype(np.float32)
    expected = masses @ mixture.probabilities.T.astype(np.float32)
    weights = 1 / np.sqrt(expected + np.float32(_HALF))
    weights[:, own] = 0
    return _PairTables(attribute, own.start, expected, weights)


def _exchange(
    tables: _PairTables,
    rows: IntArray,
    pairs: tuple[IntArray, IntArray],
    fractions: NDArray[np.float64],
    generator: np.random.Generator,
) -> None:
    """Exchange values of an attribute between some pairs of records, if that lowers the loss.

    Exchanges that lower the loss one by one may raise it together.  So a fraction of them is made, chosen at random,
    which grows where the loss falls about as far as they promised, and shrinks where it does not.
    """
    attribute = tables.attribute
    away = tables.away(rows)
    before = tables.loss(away)
    differ = rows[pairs[0], attribute] != rows[pairs[1], attribute]
    one, other = pairs[0][differ], pairs[1][differ]
    changes = tables.changes(away, rows, one, other)
    better = np.flatnonzero(changes < 0)
    for _ in range(_HALVINGS if better.size else 0):
        chosen = better[generator.random(better.size) < fractions[attribute]]
        after = tables.loss(away + tables.moved(rows, one[chosen], other[chosen]))
        if after <= before:
            promised = float(changes[chosen].sum())
            fractions[attribute] = min(fractions[attribute] * (_MORE if after - before < promised / 2 else _LESS), 1.0)
            one, other = one[chosen], other[chosen]
            rows[one, attribute], rows[other, attribute] = rows[other, attribute], rows[one, attribute]
            return
        fractions[attribute] /= 2
