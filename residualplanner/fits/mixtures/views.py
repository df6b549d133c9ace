"""Linear functions of the probabilities of one attribute's values, which the tables of a loss are products of.

Reads: matrices.  Gives: View, of which `Values`, `Centered` and `Rows` are the sorts; Features, all in one array.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.blocks import Blocks
from residualplanner.ground.checks import FloatArray

Floats = NDArray[np.floating]


class View(ABC):
    """A linear function of an attribute's probabilities.

    Attributes:
        attribute: by position.
    """

    attribute: int

    @abstractmethod
    def rows(self, blocks: Blocks) -> int:
        """How many numbers it gives."""

    @abstractmethod
    def apply(self, probabilities: Floats, out: Floats) -> None:
        """Write the numbers (e, c) for probabilities (n, c) to ``out``."""

    @abstractmethod
    def pull(self, slope: Floats, out: Floats) -> None:
        """Add the slope in the probabilities (n, c) to ``out``, from that in the numbers, (e, c)."""

    @abstractmethod
    def squared_norms(self, blocks: Blocks) -> Floats:
        """The squared length of each column of its matrix, (n, 1)."""


@dataclass(frozen=True, slots=True)
class Values(View):
    """The probabilities themselves."""

    attribute: int

    def rows(self, blocks: Blocks) -> int:
        """As many as values."""
        return blocks.sizes[self.attribute]

    def apply(self, probabilities: Floats, out: Floats) -> None:
        """Copy them."""
        out[...] = probabilities

    def pull(self, slope: Floats, out: Floats) -> None:
        """Add the slope as it is."""
        out += slope

    def squared_norms(self, blocks: Blocks) -> Floats:
        """Ones."""
        return np.ones((blocks.sizes[self.attribute], 1))


@dataclass(frozen=True, slots=True)
class Centered(Values):
    """The probabilities less their mean, as subtraction bases measure them.

    As they add up to 1, the mean is a constant.
    """

    def apply(self, probabilities: Floats, out: Floats) -> None:
        """Subtract the mean."""
        np.subtract(probabilities, 1 / len(probabilities), out=out)

    def squared_norms(self, blocks: Blocks) -> Floats:
        """Those of the centering matrix."""
        size = blocks.sizes[self.attribute]
        return np.full((size, 1), 1 - 1 / size)


@dataclass(frozen=True, eq=False, slots=True)
class Rows(View):
    """The rows of a matrix (e, n), such as a basis."""

    attribute: int
    matrix: FloatArray

    def rows(self, blocks: Blocks) -> int:
        """As many as the matrix has."""
        del blocks
        return len(self.matrix)

    def apply(self, probabilities: Floats, out: Floats) -> None:
        """Multiply by the matrix."""
        out[...] = self.matrix.astype(probabilities.dtype, copy=False) @ probabilities

    def pull(self, slope: Floats, out: Floats) -> None:
        """Add the transposed matrix times the slope."""
        out += self.matrix.T.astype(slope.dtype, copy=False) @ slope

    def squared_norms(self, blocks: Blocks) -> Floats:
        """Those of the columns."""
        del blocks
        return np.asarray((self.matrix**2).sum(axis=0)[:, None])


@dataclass(frozen=True, eq=False, slots=True)
class Features:
    """The numbers of several views, one below the other, in one array (m, c).

    Attributes:
        blocks: of the probabilities.
        views: one or more; several may be of one attribute.
        layout: their rows, as blocks.
    """

    blocks: Blocks
    views: tuple[View, ...]
    layout: Blocks

    def apply(self, probabilities: Floats) -> Floats:
        """All numbers, (m, c)."""
        found = np.empty((self.layout.count, probabilities.shape[1]), dtype=probabilities.dtype)
        for number, view in enumerate(self.views):
            view.apply(probabilities[self.blocks.rows(view.attribute)], found[self.layout.rows(number)])
        return found

    def pull(self, slope: Floats) -> Floats:
        """The slope in the probabilities, (d', c), from that in the numbers, (m, c)."""
        found = np.zeros((self.blocks.count, slope.shape[1]), dtype=slope.dtype)
        for number, view in enumerate(self.views):
            view.pull(slope[self.layout.rows(number)], found[self.blocks.rows(view.attribute)])
        return found

    def variances_of_slopes(self, variances: Floats) -> Floats:
        """The variances of the slopes in the probabilities (d', c), where those in all numbers of a view are equal.

        Args:
            variances (v, c): of the slopes in the numbers of each view.
        """
        found = np.zeros((self.blocks.count, variances.shape[1]), dtype=variances.dtype)
        for view, variance in zip(self.views, variances, strict=True):
            found[self.blocks.rows(view.attribute)] += view.squared_norms(self.blocks).astype(found.dtype) * variance
        return found


def features_of(blocks: Blocks, views: Sequence[View]) -> Features:
    """The features of these views, in their order."""
    return Features(blocks, tuple(views), Blocks(tuple(view.rows(blocks) for view in views)))
