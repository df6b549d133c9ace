"""Records of a mixture: independent ones, ones that are spread evenly, and these with values exchanged.

Exchanges bring their tables nearer to the mixture's.
Source: eqs. (75) and (76); docs/mathematics.md section 13; controlled selection, Goodman and Kish (1950).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.mixture import Mixture
from residualplanner.gate.measurement.blocks import require_room
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import FloatArray, IntArray, entry_named, untold

_Floats = NDArray[np.float32]
#: Gives, for a number of attributes d, what makes p more points in the unit cube, (p, d), each time it is called.
PointMaker = Callable[[int, np.random.Generator], Callable[[int], FloatArray]]
#: About how many records are drawn together.
_TOGETHER = 1 << 18
#: The most points of a sequence that are made together, a power of two.
_POINTS = 1 << 14
#: The largest number below 1 that is drawn.
_BELOW_ONE = 1 - 2.0**-40
#: How many records of a value are looked at for each that is to lose it.
_CANDIDATES = 16
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


def independent_records(
    mixture: Mixture, records: int, generator: np.random.Generator, *, report: Progress = untold
) -> IntArray:
    """Records drawn independently of one another, (n, d)."""
    classes = np.sort(generator.choice(mixture.classes, records, p=mixture.weights))
    found = np.empty((records, len(mixture.blocks.sizes)), dtype=np.int64)
    for attribute in range(found.shape[1]):
        found[:, attribute] = _values(mixture, attribute, classes, generator.random(records))
        report(attribute + 1, found.shape[1])
    return generator.permutation(found)


def even_records(
    mixture: Mixture, records: int, generator: np.random.Generator, *, report: Progress = untold
) -> IntArray:
    """Records spread evenly over the mixture, (n, d): every one has its distribution, but they are not independent.

    Every class has its expected number, and so has in it every value, to less than one record.  Source: eq. (76).
    """
    codes, _ = even_records_by_class(mixture, records, generator, points=sobol_points, report=report)
    return generator.permutation(codes)


def even_records_by_class(
    mixture: Mixture, records: int, generator: np.random.Generator, *, points: PointMaker, report: Progress = untold
) -> tuple[IntArray, IntArray]:
    """Records as `even_records` makes them, class by class: codes (n, d), and the class of each (n,), ascending.

    Combinations follow ``points``.  Source: eq. (76).
    """
    counts = _even_counts(mixture.weights, records, generator)
    counts[-1] += records - counts.sum()
    classes = np.repeat(np.arange(mixture.classes), np.maximum(counts, 0))[:records]
    found = np.empty((records, len(mixture.blocks.sizes)), dtype=np.int64)
    starts = np.searchsorted(classes, np.arange(mixture.classes + 1))
    turns = points(found.shape[1], generator)(1 << (mixture.classes - 1).bit_length())
    more_points, step = points(found.shape[1], generator), min(_POINTS, 1 << max(records - 1, 0).bit_length())
    for first, last in _batches(starts):
        own = classes[first:last]
        uniforms = np.concatenate([more_points(step) for _ in range(0, last - first, step)])[: last - first]
        for attribute in range(found.shape[1]):
            strata = _restratified(own, uniforms[:, attribute], starts, turns[:, attribute])
            found[first:last, attribute] = _values(mixture, attribute, own, strata)
        report(last, records)
    return found, classes


def _even_counts(probabilities: FloatArray, records: int, generator: np.random.Generator) -> IntArray:
    """How many records have each value, (n,): as many as expected, to one record, and about so many together."""
    ends = np.cumsum(probabilities) * records
    ends[-1] = records
    return np.asarray(np.diff(np.floor(ends + generator.random()), prepend=0), dtype=np.int64)


def _batches(starts: IntArray) -> Iterator[tuple[int, int]]:
    first = 0
    for end in starts[1:].tolist():
        if end - first >= _TOGETHER:
            yield first, end
            first = end
    if first < starts[-1]:
        yield first, int(starts[-1])


def independent_points(attributes: int, generator: np.random.Generator) -> Callable[[int], FloatArray]:
    """Makes independent uniform points."""
    return lambda count: generator.random((count, attributes))


def sobol_points(attributes: int, generator: np.random.Generator) -> Callable[[int], FloatArray]:
    """Makes scrambled Sobol points, a power of two at a time."""
    from scipy.stats import qmc

    return qmc.Sobol(attributes, scramble=True, rng=generator).random


def _restratified(classes: IntArray, uniforms: FloatArray, starts: IntArray, turns: FloatArray) -> FloatArray:
    """Numbers in the same order within each class, as far from one another as can be, rotated by that of their class.

    The rotations are random, so that each number by itself is uniform and independent of those of other attributes;
    and they are points of a sequence, too, so that classes of one or two records are spread evenly together.
    """
    order = np.argsort(classes + np.minimum(uniforms, _BELOW_ONE))
    sizes = np.diff(starts)[classes]
    ranks = np.empty(len(classes), dtype=np.int64)
    ranks[order] = np.arange(len(classes)) - (starts[classes] - starts[classes[0]])
    return (ranks / sizes + turns[classes]) % 1.0


def _values(mixture: Mixture, attribute: int, classes: IntArray, uniforms: FloatArray) -> IntArray:
    """The values of an attribute at which its distribution in each record's class reaches a number in (0, 1)."""
    size = mixture.blocks.sizes[attribute]
    first, last = (int(classes[0]), int(classes[-1]) + 1) if len(classes) else (0, 1)
    sums = np.cumsum(mixture.of_attribute(attribute)[:, first:last], axis=0)
    sums /= sums[-1]
    sums[sums > _BELOW_ONE] = 1.0
    keys = (sums + np.arange(last - first)).T.ravel()
    own = classes - first
    indices = np.searchsorted(keys, own + np.minimum(uniforms, _BELOW_ONE), side="right")
    return np.asarray(indices - own * size, dtype=np.int64)


def correct_margins(
    mixture: Mixture, codes: IntArray, classes: IntArray, generator: np.random.Generator, *, report: Progress = untold
) -> None:
    """Change as few codes (n, d) as it takes, in place: each value is as often there as expected, to one record.

    In the records of many classes the errors of rounding add up.  A record of a value that there is too often gets one
    that there is too seldom, preferably in a class that has the latter often and the former seldom.  No class gets a
    value that it does not have.  Source: docs/mathematics.md section 13.
    """
    for attribute in range(codes.shape[1]):
        probabilities = mixture.of_attribute(attribute)
        wanted = _even_counts(probabilities @ mixture.weights, len(codes), generator)
        over = np.bincount(codes[:, attribute], minlength=len(wanted)) - np.minimum(wanted, len(codes))
        _correct(codes[:, attribute], classes, probabilities, over, generator)
        report(attribute + 1, codes.shape[1])


def _correct(
    column: IntArray, classes: IntArray, probabilities: FloatArray, over: IntArray, generator: np.random.Generator
) -> None:
    """Give values that are there too seldom, ``over`` (v,) below 0, to records with values that are there too often."""
    if not over.any():
        return
    candidates = np.concatenate(  # random records of such values, many more than are to lose it
        [
            generator.permutation(np.flatnonzero(column == value))[: _CANDIDATES * (int(over[value]) + 4)]
            for value in np.flatnonzero(over > 0).tolist()
        ]
    )
    own = probabilities[column[candidates], classes[candidates]]
    for value in generator.permutation(np.repeat(np.arange(len(over)), np.maximum(-over, 0))).tolist():
        may = over[column[candidates]] > 0
        sums = np.cumsum(np.where(may, probabilities[value, classes[candidates]] / own, 0.0))
        if sums[-1] > 0:
            chosen = candidates[np.searchsorted(sums, generator.random() * sums[-1], side="right")]
            over[column[chosen]] -= 1
            over[value] += 1
            column[chosen] = value


def controlled_records(
    mixture: Mixture, records: int, generator: np.random.Generator, *, report: Progress = untold
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
    codes, classes = even_records_by_class(
        mixture,
        records,
        generator,
        points=independent_points,
        report=lambda done, of: report(done * len(sizes) // of, total),
    )
    correct_margins(mixture, codes, classes, generator, report=lambda done, of: report(of + done, total))
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
    order = np.argsort(classes + np.minimum(generator.random(len(classes)), _BELOW_ONE))
    one, other = order[: len(order) - 1 : 2], order[1::2]
    is_within = classes[one] == classes[other]
    return one[is_within], other[is_within]


@dataclass(frozen=True, eq=False, slots=True)
class _PairTables:
    """The tables of one attribute with all others, one beside the other."""

    attribute: int  # by position
    first: int  # the row of its first value
    expected: _Floats  # (n, d'): counts by the mixture
    weights: _Floats  # (n, d'): of squared differences; 0 where it would stand beside itself

    def away(self, rows: IntArray) -> _Floats:
        """The counts of records less the expected ones, (n, d')."""
        counts, step = np.zeros(self.expected.size, dtype=np.int64), max(_BATCH // rows.shape[1], 1)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            cells = self._starts(part) + part
            counts += np.bincount(cells.ravel(), minlength=len(counts))
        return counts.reshape(self.expected.shape).astype(np.float32) - self.expected

    def _starts(self, rows: IntArray) -> IntArray:
        """Where the row of each record's value of the attribute starts among all cells, (p, 1)."""
        return np.asarray((rows[:, [self.attribute]] - self.first) * self.expected.shape[1])

    def moved(self, rows: IntArray, one: IntArray, other: IntArray) -> _Floats:
        """What exchanges of values of records (p,) and (p,) add to the counts, (n, d'); not beside itself."""
        these, those = rows[one], rows[other]
        mine, yours = self._starts(these), self._starts(those)
        come = np.concatenate([(yours + these).ravel(), (mine + those).ravel()])
        gone = np.concatenate([(mine + these).ravel(), (yours + those).ravel()])
        counts = np.bincount(come, minlength=self.expected.size) - np.bincount(gone, minlength=self.expected.size)
        return counts.astype(np.float32).reshape(self.expected.shape)

    def loss(self, away: _Floats) -> float:
        """The weighted sum of squared differences."""
        return float(np.vdot(self.weights * away, away))

    def changes(self, away: _Floats, rows: IntArray, one: IntArray, other: IntArray) -> _Floats:
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


def _tables_of(mixture: Mixture, attribute: int, records: int) -> _PairTables:
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


@dataclass(frozen=True, slots=True)
class Rounding:
    """A way to make records of a mixture: their expected tables are the mixture's, unless they are controlled."""

    codes: Callable[..., IntArray]  # gives so many records (n, d) of a mixture, and reports how much is done
    entry_bytes: int  # about how many bytes each entry takes while so many records are made, or a little less

    def require_room(self, records: int, attributes: int) -> None:
        """Raise ResourceError where there is too little memory to make so many records of so many attributes."""
        require_room(
            float(records) * (attributes + 1) * self.entry_bytes,
            f"{records:,} synthetic records take {{needed}} while they are made",
            "ask for fewer, or use a machine with more memory",
        )


_ROUNDINGS: dict[str, Rounding] = {
    "controlled": Rounding(controlled_records, 30),
    "sobol": Rounding(even_records, 18),
    "independent": Rounding(independent_records, 15),
}


def rounding_named(name: object) -> Rounding:
    """The method of this name, or WorkloadError."""
    return entry_named("method", name, _ROUNDINGS)
