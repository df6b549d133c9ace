"""The part of a loss that is about listed cells, each of a table of its own.

Reads: cells, what was measured in them.  Gives: CellTerm.
Source: spec eq. (68), for single cells; rap-and-microdata (A3) for queries that ask for all values.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner._checks import FloatArray, IntArray
from residualplanner.mixtures.terms import Point

Floats = NDArray[np.floating]


@dataclass(frozen=True, eq=False, slots=True)
class CellTerm:
    """Cells of tables of features: ``sum_q precision_q (product of features - measured_q)**2``.

    All cells have one number of factors.

    Attributes:
        rows (q, k): of the features whose product each cell is.
        views (q, k): the numbers of their views.
        values (q,): what was measured, in counts.
        precisions (q,): one over the variances of the noise, in counts squared.
    """

    rows: IntArray
    views: IntArray
    values: FloatArray
    precisions: FloatArray

    @property
    def freedom(self) -> int:
        """As many as there are cells."""
        return len(self.values)

    def add(self, point: Point, slope: Point) -> float:
        """The loss at a point; its slope is added to ``slope``."""
        factors = [point.features[rows] for rows in self.rows.T]
        away = np.multiply.reduce(factors) @ point.weights - self.values.astype(point.weights.dtype)
        pull = (2 * self.precisions).astype(away.dtype) * away
        for position, rows in enumerate(self.rows.T):
            others = _product(factors, position) * pull[:, None]
            slope.features[...] += _adding(rows, len(slope.features), others.dtype) @ (others * point.weights)
        slope.weights[...] += pull @ np.multiply.reduce(factors)
        return float(pull @ away) / 2

    def add_variances(self, point: Point, variances: Floats) -> None:
        """Add the mean, over the features of each view, of the variances of their slopes."""
        factors = [point.features[rows] ** 2 for rows in self.rows.T]
        scale = (4 * self.precisions).astype(point.weights.dtype)[:, None] * point.weights**2
        for position, views in enumerate(self.views.T):
            others = _product(factors, position) * scale
            found = _adding(views, len(variances), others.dtype) @ others
            counts = np.maximum(np.bincount(self.views.ravel(), minlength=len(variances)), 1)
            variances += found / counts[:, None]


def _product(factors: list[Floats], without: int) -> Floats:
    """The product of all factors but one."""
    found: Floats = np.ones_like(factors[0])
    for position, factor in enumerate(factors):
        if position != without:
            found = found * factor
    return found


def _adding(rows: IntArray, count: int, dtype: np.dtype[np.floating]) -> sparse.csr_array:
    """The matrix that adds entry q of an array to its row ``rows[q]``."""
    ones = np.ones(len(rows), dtype=dtype)
    return sparse.csr_array((ones, (rows, np.arange(len(rows)))), shape=(count, len(rows)))
