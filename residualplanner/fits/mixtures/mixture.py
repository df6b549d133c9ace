"""Mixtures of products: records whose attributes are independent of one another within each latent class.

Their tables are non-negative and agree with one another.  Records are drawn from them: independent ones, or ones that
are spread evenly.  Source: eqs. (66), (67), (71), (75) and (76); docs/mathematics.md section 13.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from residualplanner.fits.optimizers import Floats
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import FloatArray, IntArray, frozen, untold
from residualplanner.ground.words import count_text

#: Rounds over all tables, at most, and the largest error of a probability at which they end.
_ROUNDS, _EXACT = 500, 1e-13
#: Gives, for a number of attributes d, what makes p more points in the unit cube, (p, d), each time it is called.
PointMaker = Callable[[int, np.random.Generator], Callable[[int], FloatArray]]
#: About how many records are drawn together.
_BATCH = 1 << 18
#: The most points of a sequence that are made together, a power of two.
_POINTS = 1 << 14
#: The largest number below 1 that is drawn.
BELOW_ONE = 1 - 2.0**-40
#: How many records of a value are looked at for each that is to lose it.
_CANDIDATES = 16


@dataclass(frozen=True, eq=False, slots=True)
class OneHot:
    """The rows of an array (d', c) that belong to each attribute, d' being the sum of all sizes.

    Every row is contiguous: a query touches a few rows and all columns.
    """

    sizes: tuple[int, ...]  # the number of values of each attribute, 1 or more
    offsets: IntArray = field(init=False, repr=False)  # (d + 1,): where the rows of each attribute start, and the end

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen(np.cumsum([0, *self.sizes], dtype=np.int64)))

    @property
    def count(self) -> int:
        """How many rows there are, d'."""
        return int(self.offsets[-1])

    def rows(self, attribute: int) -> slice:
        """The rows of an attribute."""
        return slice(int(self.offsets[attribute]), int(self.offsets[attribute + 1]))

    def sums(self, values: Floats) -> Floats:
        """The sum over the values of each attribute, (d, c), of an array (d', c)."""
        return np.add.reduceat(values, self.offsets[:-1], axis=0)

    def repeated(self, numbers: Floats) -> Floats:
        """A row for each attribute (d, c) as one for each of its values, (d', c)."""
        return np.repeat(numbers, self.sizes, axis=0)

    def softmax(self, logits: Floats) -> Floats:
        """Probabilities (d', c) from logits; minus infinity has probability 0.  Source: eq. (66)."""
        largest = np.maximum.reduceat(logits, self.offsets[:-1], axis=0)
        found = np.exp(logits - self.repeated(largest))
        found /= self.repeated(self.sums(found))
        return found

    def slope_of_logits(self, probabilities: Floats, slope: Floats) -> Floats:
        """The slope in logits (d', c), from that in the probabilities, (d', c).  Source: eq. (71)."""
        found = probabilities * slope
        found -= probabilities * self.repeated(self.sums(found))
        return found


def product_sums(factors: Sequence[Floats], weights: Floats) -> Floats:
    """``sum_c weights_c prod_i factors_i[r_i, c]`` for all rows of factors (n_i, c), as (n_1, .., n_k)."""
    shape = [len(factor) for factor in factors]
    split = balanced_split(shape)
    left = all_products(factors[:split], weights) * weights
    return (left @ all_products(factors[split:], weights).T).reshape(shape)


def balanced_split(shape: Sequence[int]) -> int:
    """Where to part the axes so that the larger side is as small as it can be."""
    return min(range(len(shape) + 1), key=lambda k: max(math.prod(shape[:k]), math.prod(shape[k:])))


def all_products(factors: Sequence[Floats], weights: Floats) -> Floats:
    """The products of all rows of factors (n_i, c), column by column, (n_1 .. n_k, c); of none a row of ones."""
    found: Floats = np.ones((1, len(weights)), dtype=weights.dtype)
    for factor in factors:
        found = (found[:, None] * factor).reshape(-1, len(weights))
    return found


@dataclass(frozen=True, eq=False, slots=True)
class Mixture:
    """A distribution of records: a latent class is drawn, and then every attribute by itself.

    Attributes:
        blocks: which rows belong to which attribute.
        weights (c,): the probability of each latent class; they add up to 1.
        probabilities (d', c): of the values of each attribute in each class; those of an attribute add up to 1.

    Source: eq. (66).

    Example:
        >>> mixture = Mixture(OneHot((2, 2)), np.array([0.5, 0.5]), np.array([[1.0, 0], [0, 1], [1, 0], [0, 1]]))
        >>> mixture.table((0, 1))
        array([[0.5, 0. ],
               [0. , 0.5]])
    """

    blocks: OneHot
    weights: FloatArray
    probabilities: FloatArray

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.weights)

    def __repr__(self) -> str:
        products, attributes = count_text(self.classes, "product"), count_text(len(self.blocks.sizes), "attribute")
        return f"<Mixture of {products} over {attributes}>"

    def of_attribute(self, attribute: int) -> FloatArray:
        """The probabilities of an attribute's values, (n, c)."""
        return self.probabilities[self.blocks.rows(attribute)]

    def table(self, attributes: Sequence[int]) -> FloatArray:
        """The probability of each combination of values of some attributes, (n_1, .., n_k), in the order given.

        Args:
            attributes: different ones, by position in the domain.

        Cost: one matrix product, of as many multiplications as there are cells times classes.
        Source: eq. (67).
        """
        factors = [self.of_attribute(attribute) for attribute in attributes]
        return product_sums(factors, self.weights).astype(np.float64, copy=False)


def mixture_of(blocks: OneHot, weights: Floats, probabilities: Floats) -> Mixture:
    """A mixture in double precision, whose weights and probabilities add up to 1."""
    exact = probabilities.astype(np.float64)
    exact /= blocks.repeated(blocks.sums(exact))
    exact_weights = weights.astype(np.float64)
    return Mixture(blocks, frozen(exact_weights / exact_weights.sum()), frozen(exact))


def averaged(mixtures: Sequence[Mixture]) -> Mixture:
    """The mixture whose tables are the means of those of several over the same attributes."""
    weights = np.concatenate([each.weights for each in mixtures])
    probabilities = np.concatenate([each.probabilities for each in mixtures], axis=1)
    return mixture_of(mixtures[0].blocks, weights, probabilities)


def raked(mixture: Mixture, tables: Mapping[int, FloatArray]) -> Mixture:
    """The mixture nearest to another in relative entropy with given one-way tables of probabilities, by attribute.

    Multiplying all probabilities by a number for each value of an attribute leaves a mixture of products.
    """
    weights, probabilities = mixture.weights.copy(), mixture.probabilities.copy()
    for _ in range(_ROUNDS):
        away = 0.0
        for attribute, table in tables.items():
            part = probabilities[mixture.blocks.rows(attribute)]
            now = part @ weights
            away = max(away, float(np.abs(now - table).max()))
            part *= np.divide(table, now, out=np.zeros_like(table), where=now > 0)[:, None]
            masses = part.sum(axis=0)
            part[:, masses == 0] = 1 / len(part)  # a class that has none of the values that occur gets no weight
            part /= part.sum(axis=0)
            weights *= masses
            weights /= weights.sum()
        if away <= _EXACT:
            break
    return mixture_of(mixture.blocks, weights, probabilities)


def within(report: Progress, first: int, last: int) -> Progress:
    """The report of a part of some work, which is that from one percent of it to another."""
    return lambda done, total: report(first + (last - first) * done // max(total, 1), 100)


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
    return np.diff(np.floor(ends + generator.random()).astype(np.int64), prepend=0)


def _batches(starts: IntArray) -> Iterator[tuple[int, int]]:
    first = 0
    for end in starts[1:].tolist():
        if end - first >= _BATCH:
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
    order = np.argsort(classes + np.minimum(uniforms, BELOW_ONE))
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
    sums[sums > BELOW_ONE] = 1.0
    keys = (sums + np.arange(last - first)).T.ravel()
    own = classes - first
    indices = np.searchsorted(keys, own + np.minimum(uniforms, BELOW_ONE), side="right")
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
