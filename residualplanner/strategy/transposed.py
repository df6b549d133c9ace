"""Variances and covariances of a table whose query was written in another order than the domain's.

Reads: those of the table in domain order.  Gives: the same with their axes in the order written.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.strategy.table_accuracy import TableAccuracy


@dataclass(frozen=True, slots=True)
class TransposedTable:
    """A table of another order of attributes; the domain's own order costs nothing.

    Attributes:
        table: in domain order.
        axes: which of its axes each axis of this one is.
    """

    table: TableAccuracy
    axes: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """As `TableAccuracy`."""
        return tuple(self.table.shape[axis] for axis in self.axes)

    def variances(self) -> NDArray[np.float64]:
        """As `TableAccuracy`."""
        return self.table.variances().transpose(self.axes)

    def differing_variances(self) -> NDArray[np.float64]:
        """As `TableAccuracy`."""
        return self.table.differing_variances().transpose(self.axes)

    def covariance(self) -> NDArray[np.float64]:
        """As `TableAccuracy`."""
        covariance = self.table.covariance()
        if self.axes == tuple(range(len(self.axes))):
            return covariance
        cells = np.arange(math.prod(self.shape)).reshape(self.table.shape).transpose(self.axes).ravel()
        return covariance[np.ix_(cells, cells)]

    def combination_variance(self, weights: NDArray[np.float64]) -> float:
        """As `TableAccuracy`."""
        return self.table.combination_variance(weights.transpose(np.argsort(self.axes)))
