"""A mixture of products: records whose attributes are independent of one another within each latent class.

Reads: weights and probabilities.  Gives: Mixture; its tables, which are non-negative and agree with one another.
Source: eqs. (66) and (67).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.fits.mixtures.blocks import Blocks
from residualplanner.fits.mixtures.khatri_rao import khatri_rao, product_sums
from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.completion import hides
from residualplanner.ground.words import count_text


@hides("classes", "of_attribute", "within")
@dataclass(frozen=True, eq=False, slots=True)
class Mixture:
    """A distribution of records: a latent class is drawn, and then every attribute by itself.

    Attributes:
        blocks: which rows belong to which attribute.
        weights (c,): the probability of each latent class; they add up to 1.
        probabilities (d', c): of the values of each attribute in each class; those of an attribute add up to 1.

    Source: eq. (66).

    Example:
        >>> mixture = Mixture(Blocks((2, 2)), np.array([0.5, 0.5]), np.array([[1.0, 0], [0, 1], [1, 0], [0, 1]]))
        >>> mixture.table((0, 1))
        array([[0.5, 0. ],
               [0. , 0.5]])
    """

    blocks: Blocks
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
        found: FloatArray = self.probabilities[self.blocks.rows(attribute)]
        return found

    def table(self, attributes: Sequence[int]) -> FloatArray:
        """The probability of each combination of values of some attributes, (n_1, .., n_k), in the order given.

        Args:
            attributes: different ones, by position in the domain.

        Cost: one matrix product, of as many multiplications as there are cells times classes.
        Source: eq. (67).
        """
        factors = [self.of_attribute(attribute) for attribute in attributes]
        return product_sums(factors, self.weights).astype(np.float64, copy=False)

    def answers(self, attributes: Sequence[int], cells: ArrayLike) -> FloatArray:
        """The probabilities of some cells of a table, (q,), without the others.

        Args:
            attributes: of the table.
            cells (q, k): the values of the attributes in each cell.
        """
        chosen = np.asarray(cells, dtype=np.int64).reshape(-1, len(attributes))
        products = np.tile(self.weights, (len(chosen), 1))
        for attribute, values in zip(attributes, chosen.T, strict=True):
            products *= self.of_attribute(attribute)[values]
        found: FloatArray = products.sum(axis=1)
        return found

    def within(self, attributes: Sequence[int]) -> FloatArray:
        """The probabilities of the combinations of some attributes' values in every class, (n_1 .. n_k, c)."""
        found: NDArray[np.floating] = np.ones((1, self.classes))
        for attribute in attributes:
            found = khatri_rao(found, self.of_attribute(attribute))
        return found.astype(np.float64, copy=False)


def mixture_of(blocks: Blocks, weights: NDArray[np.floating], probabilities: NDArray[np.floating]) -> Mixture:
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
