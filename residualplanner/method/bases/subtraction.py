"""The subtraction basis: differences between the first value and each other one, with closed forms for all numbers.

Source: eqs. (5), (8), (12), (13) and (35); paper Theorems 4.3 and 4.4.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.method.bases.basis import Basis
from residualplanner.method.kron.axis_maps import AxisMap, keeping, rebuilding, subtracting
from residualplanner.method.queries.kind import Kind
from residualplanner.method.queries.rows import Rows


class SubtractionBasis(Basis):
    """Differences from the first value, measured by ``n I - 1 1^T`` with noise that becomes ``Sub Sub^T``: eq. (35)."""

    is_symmetric = True
    takes_differences = True

    @property
    def u(self) -> FloatArray:
        """``1/n`` for every value."""
        return np.full(self.size, 1 / self.size)

    @property
    def column_squares(self) -> list[Fraction]:
        """P alone."""
        return [self.pcost]

    @property
    def extreme_pairs(self) -> FloatArray:
        """``(n-1)/n``, twice, and ``-1/n``, of any two values."""
        p = float(self.pcost)
        return np.array([[p, p, -1 / self.size]] if self.size > 1 else np.empty((0, 3)))

    @property
    def random_pair(self) -> tuple[float, float]:
        """``(n-1)/n`` and 0."""
        return float(self.pcost), 0.0

    @property
    def before_noise(self) -> AxisMap:
        """Counts as they are."""
        return keeping(self.size)

    @property
    def after_noise(self) -> AxisMap:
        """Sub, in O(n)."""
        return subtracting(self.size)

    @property
    def reconstruction(self) -> AxisMap:
        """The inverse of a row of ones above Sub, in O(n)."""
        return rebuilding(self.size)

    def row_variance_factors(self, kind: Kind) -> tuple[FloatArray, FloatArray]:
        """``(n-1)/n`` and ``1/n**2``, once, for single values."""
        n = self.size
        # G Sub is I - 1 1^T / n, the projection on what has sum 0: its rows have squared length 1 - 1/n; u is 1/n.
        if not self.has_equal_variances(kind):
            return super().row_variance_factors(kind)
        return np.array([(n - 1) / n]), np.array([1 / (n * n)])

    def present_parts(self, values: FloatArray, axis: int) -> FloatArray:
        """Deviations from the mean."""
        return np.asarray(values - values.mean(axis=axis, keepdims=True))

    @property
    def _spread(self) -> FloatArray:
        return np.eye(self.size) - 1 / self.size

    @property
    def _form(self) -> FloatArray:
        return self._spread  # a projection

    def _products(self, rows: Rows) -> FloatArray:
        products = rows.apply(rows.apply(self._form, 0), 1)
        return (products + products.T) / 2  # symmetric but for rounding


@lru_cache(maxsize=4096)
def subtraction_basis(size: int) -> Basis:
    """The subtraction basis of an attribute of ``size`` values, whose cost factor is ``(n-1)/n``."""
    return SubtractionBasis(size, "subtraction", size - 1, Fraction(size - 1, size), 0.0, ())
