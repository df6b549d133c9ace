"""Mixtures of products: records whose attributes are independent of one another within each latent class.

Their tables are non-negative and agree with one another.  Source: eqs. (66), (67) and (71).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from residualplanner.fits.optimizers import Floats
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.words import count_text

#: Rounds over all tables, at most, and the largest error of a probability at which they end.
_ROUNDS, _EXACT = 500, 1e-13


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
