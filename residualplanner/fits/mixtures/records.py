"""Records drawn from a mixture: independent ones, or ones that are spread evenly.

Source: eq. (76); docs/mathematics.md section 13.
"""

from collections.abc import Callable, Iterator

import numpy as np

from residualplanner.fits.mixtures.mixture import Mixture
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import FloatArray, IntArray

#: Makes points in the unit cube, (p, d) at a time, without end, from the number of attributes and p.
PointMaker = Callable[[int, int, np.random.Generator], Iterator[FloatArray]]
#: About how many records are drawn together.
_BATCH = 1 << 18
#: The most points of a sequence that are made together, a power of two.
_POINTS = 1 << 14
#: The largest number below 1 that is drawn.
BELOW_ONE = 1 - 2.0**-40
#: How many records of a value are looked at for each that is to lose it.
_CANDIDATES = 16


def unreported(done: int, total: int) -> None:
    """The report of work that nobody watches."""
    del done, total


def within(report: Progress, first: int, last: int) -> Progress:
    """The report of a part of some work, which is that from one percent of it to another."""
    return lambda done, total: report(first + (last - first) * done // max(total, 1), 100)


def independent_records(
    mixture: Mixture, records: int, generator: np.random.Generator, *, report: Progress = unreported
) -> IntArray:
    """Records drawn independently of one another, (n, d)."""
    classes = np.sort(generator.choice(mixture.classes, records, p=mixture.weights))
    found = np.empty((records, len(mixture.blocks.sizes)), dtype=np.int64)
    for attribute in range(found.shape[1]):
        found[:, attribute] = _values(mixture, attribute, classes, generator.random(records))
        report(attribute + 1, found.shape[1])
    return generator.permutation(found)


def even_records(
    mixture: Mixture, records: int, generator: np.random.Generator, *, report: Progress = unreported
) -> IntArray:
    """Records spread evenly over the mixture, (n, d): every one has its distribution, but they are not independent.

    Every class gets its expected number, and in it every value of an attribute its expected number, both to less than
    one record.  Combinations of values follow the points of a Sobol sequence.  Source: eq. (76).
    """
    codes, _ = even_records_by_class(mixture, records, generator, report=report)
    return generator.permutation(codes)


def even_records_by_class(
    mixture: Mixture,
    records: int,
    generator: np.random.Generator,
    *,
    points: PointMaker | None = None,
    report: Progress = unreported,
) -> tuple[IntArray, IntArray]:
    """Records as `even_records` makes them, class by class: codes (n, d), and the class of each (n,), ascending.

    Combinations of values follow ``points``, those of a Sobol sequence unless given.  Source: eq. (76).
    """
    made = points or sobol_points
    classes = _even_classes(mixture.weights, records, generator)
    found = np.empty((records, len(mixture.blocks.sizes)), dtype=np.int64)
    starts = np.searchsorted(classes, np.arange(mixture.classes + 1))
    own_points = made(found.shape[1], min(_POINTS, 1 << max(records - 1, 0).bit_length()), generator)
    turns = _first_points(made(found.shape[1], 1 << (mixture.classes - 1).bit_length(), generator), mixture.classes)
    for first, last in _batches(starts):
        own = classes[first:last]
        uniforms = _first_points(own_points, last - first)
        for attribute in range(found.shape[1]):
            strata = _restratified(own, uniforms[:, attribute], starts, turns[:, attribute])
            found[first:last, attribute] = _values(mixture, attribute, own, strata)
        report(last, records)
    return found, classes


def _even_classes(weights: FloatArray, records: int, generator: np.random.Generator) -> IntArray:
    """Each class as often as expected, to one record, (n,), ascending."""
    ends = np.cumsum(weights) * records
    ends[-1] = records
    counts = np.diff(np.floor(ends + generator.random()).astype(np.int64), prepend=0)
    counts[-1] += records - counts.sum()
    return np.repeat(np.arange(len(weights)), np.maximum(counts, 0))[:records]


def _batches(starts: IntArray) -> Iterator[tuple[int, int]]:
    """Runs of records of whole classes, with about `_BATCH` records each."""
    first = 0
    for end in starts[1:].tolist():
        if end - first >= _BATCH:
            yield first, end
            first = end
    if first < starts[-1]:
        yield first, int(starts[-1])


def independent_points(attributes: int, count: int, generator: np.random.Generator) -> Iterator[FloatArray]:
    """Independent uniform points, (p, d), so many at a time."""
    while True:
        yield generator.random((count, attributes))


def sobol_points(attributes: int, count: int, generator: np.random.Generator) -> Iterator[FloatArray]:
    """Scrambled Sobol points, (p, d), a power of two at a time."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(attributes, scramble=True, rng=generator)
    while True:
        yield sequence.random(count)


def _first_points(points: Iterator[FloatArray], count: int) -> FloatArray:
    parts: list[FloatArray] = []
    while sum(map(len, parts)) < count:
        parts.append(next(points))
    return np.concatenate(parts)[:count]


def _restratified(classes: IntArray, uniforms: FloatArray, starts: IntArray, turns: FloatArray) -> FloatArray:
    """Numbers in the same order within each class, as far from one another as can be, rotated by that of their class.

    The rotations are random, so that each number by itself is uniform and independent of those of other attributes;
    and they are points of a sequence, too, so that classes of one or two records are spread evenly together.
    """
    order = np.argsort(classes + np.minimum(uniforms, BELOW_ONE))
    sizes = np.diff(starts)[classes]
    ranks = np.empty(len(classes), dtype=np.int64)
    ranks[order] = np.arange(len(classes)) - (starts[classes] - starts[classes[0]])
    found: FloatArray = (ranks / sizes + turns[classes]) % 1.0
    return found


def _values(mixture: Mixture, attribute: int, classes: IntArray, uniforms: FloatArray) -> IntArray:
    """The values of an attribute at which its distribution in each record's class reaches a number in (0, 1)."""
    size = mixture.blocks.sizes[attribute]
    first, last = (int(classes[0]), int(classes[-1]) + 1) if len(classes) else (0, 1)
    sums = np.cumsum(mixture.of_attribute(attribute)[:, first:last], axis=0)
    sums /= sums[-1]
    sums[sums > BELOW_ONE] = 1.0
    keys = (sums + np.arange(last - first)).T.ravel()
    own = classes - first
    indices = np.searchsorted(keys, own + np.minimum(uniforms, BELOW_ONE), side="right")
    return np.asarray(indices - own * size, dtype=np.int64)


def correct_margins(
    mixture: Mixture,
    codes: IntArray,
    classes: IntArray,
    generator: np.random.Generator,
    *,
    report: Progress = unreported,
) -> None:
    """Change as few codes (n, d) as it takes, in place: each value is as often there as expected, to one record.

    In the records of many classes the errors of rounding add up.  A record of a value that there is too often gets one
    that there is too seldom, preferably in a class that has the latter often and the former seldom.  No class gets a
    value that it does not have; so where none that has the one has the other, too, the value stays.  Source:
    docs/mathematics.md section 13.
    """
    for attribute in range(codes.shape[1]):
        probabilities = mixture.of_attribute(attribute)
        ends = np.cumsum(probabilities @ mixture.weights) * len(codes)
        ends[-1] = len(codes)
        wanted = np.diff(np.floor(ends + generator.random()).astype(np.int64), prepend=0)
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
