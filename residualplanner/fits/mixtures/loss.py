"""How far the tables of a mixture are from noisy answers, in units of the noise.  Source: eqs. (68) to (70)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from residualplanner.fits.mixtures.mixture import OneHot
from residualplanner.fits.mixtures.terms import Measured, PrefixTerm, prefix_terms
from residualplanner.fits.optimizers import Floats
from residualplanner.ground.checks import FloatArray

#: Rounding errors of single precision, relative to the number of records, that products of columns add up to.
_SINGLE = 2.0**-20


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """What is measured of an attribute's probabilities: the products of a matrix, such as a basis, with them.

    Or, without a matrix, these less their mean, a constant, as subtraction bases measure them.
    """

    attribute: int  # by position
    basis_rows: FloatArray | None = None  # (e, n): the matrix

    def rows(self, blocks: OneHot) -> int:
        """How many numbers it gives."""
        return blocks.sizes[self.attribute] if self.basis_rows is None else len(self.basis_rows)

    def apply(self, probabilities: Floats, out: Floats) -> None:
        """Write the numbers (e, c) for probabilities (n, c) to ``out``."""
        if self.basis_rows is None:
            np.subtract(probabilities, 1 / len(probabilities), out=out)
        else:
            out[...] = self.basis_rows.astype(probabilities.dtype, copy=False) @ probabilities

    def pull(self, slope: Floats, out: Floats) -> None:
        """Add the slope in the probabilities (n, c) to ``out``, from that in the numbers, (e, c)."""
        out += slope if self.basis_rows is None else self.basis_rows.T.astype(slope.dtype, copy=False) @ slope

    def squared_norms(self, blocks: OneHot) -> Floats:
        """The squared length of each column of its matrix, (n, 1)."""
        size = blocks.sizes[self.attribute]
        whole = np.full(size, 1 - 1 / size) if self.basis_rows is None else (self.basis_rows**2).sum(axis=0)
        return np.asarray(whole)[:, None]


@dataclass(frozen=True, eq=False, slots=True)
class Features:
    """The numbers of several views, one below the other, in one array (m, c)."""

    blocks: OneHot  # of the probabilities
    views: tuple[View, ...]  # one or more; several may be of one attribute
    layout: OneHot  # their rows, as blocks

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


def features_of(blocks: OneHot, views: Sequence[View]) -> Features:
    """The features of these views, in their order."""
    return Features(blocks, tuple(views), OneHot(tuple(view.rows(blocks) for view in views)))


@dataclass(frozen=True, eq=False, slots=True)
class MixtureLoss:
    """A sum of terms, each a squared distance in units of its noise."""

    features: Features  # what the terms are about
    terms: tuple[PrefixTerm, ...]  # of the sum
    records: float  # the number of records
    dtype: type[np.floating]  # single precision where its rounding is far below the noise, or else double

    @property
    def blocks(self) -> OneHot:
        """The attributes of the mixture."""
        return self.features.blocks

    @property
    def freedom(self) -> int:
        """The expected value at the truth: the degrees of freedom of all noise."""
        return sum(term.freedom for term in self.terms)

    @property
    def enough(self) -> float:
        """Two standard deviations below the expected loss of the truth: what is nearer fits the noise.

        Source: eq. (70).
        """
        return self.freedom - 2 * math.sqrt(2 * self.freedom)

    def evaluate(self, probabilities: Floats, weights: Floats) -> tuple[float, Floats, Floats]:
        """The loss, and its slopes in probabilities (d', c) and weights (c,) of the classes, which add up to 1."""
        point = self.features.apply(probabilities), weights * self.dtype(self.records)
        slope = np.zeros_like(point[0]), np.zeros_like(point[1])
        loss = sum(term.add(point, slope) for term in self.terms)
        return loss, self.features.pull(slope[0]), slope[1] * self.dtype(self.records)

    def slope_variances(self, probabilities: Floats, weights: Floats) -> Floats:
        """The variances of slopes in the probabilities that the noise of the answers causes, (d', c).

        Source: eq. (72).
        """
        point = self.features.apply(probabilities), weights * self.dtype(self.records)
        variances = np.zeros((len(self.features.views), len(weights)), dtype=self.dtype)
        for term in self.terms:
            term.add_variances(point, variances)  # the same in every number of a view
        found, blocks = np.zeros_like(probabilities, dtype=self.dtype), self.blocks
        for view, variance in zip(self.features.views, variances, strict=True):
            found[blocks.rows(view.attribute)] += view.squared_norms(blocks).astype(self.dtype) * variance
        return found


def loss_of(blocks: OneHot, views: Sequence[View], tables: Sequence[Measured], records: float) -> MixtureLoss:
    """The loss of a mixture beside measured tables of so many records; no table has two views of one attribute.

    A table of no view is left out, as the number of records is given.
    """
    features = features_of(blocks, views)
    about = [table for table in tables if table.views]
    noise = min((1 / math.sqrt(table.precision) for table in about), default=math.inf)
    dtype = np.float32 if records * _SINGLE < noise / 4 else np.float64
    terms = prefix_terms(features.layout, about, dtype)
    return MixtureLoss(features, tuple(terms), records, dtype)
