"""The subtraction basis: the differences between the first value and each other one.

Reads: a number of values.  Gives: SubtractionBasis, all of whose numbers have closed forms.
Source: spec eqs. (5), (8), (12), (13) and (35); paper Theorems 4.3 and 4.4.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, frozen
from residualplanner.bases.basis import Basis, positive_factors
from residualplanner.kron import AxisMap, keeping, rebuilding, subtracting
from residualplanner.queries import Identity, Kind


@dataclass(frozen=True, eq=False)
class SubtractionBasis:
    """The subtraction basis of n values, measured by ``n I - 1 1^T`` with noise that becomes ``Sub Sub^T``.

    Attributes:
        size: n.

    Source: spec eqs. (5) and (35); the members are those of `Basis`.
    """

    size: int

    family = "subtraction"
    gap = 0.0
    matrix = None
    is_symmetric = True
    multipliers = ()
    largest_entry = 1
    takes_differences = True

    @cached_property
    def u(self) -> FloatArray:
        """``1/n`` for every value, (n,)."""
        return frozen(np.full(self.size, 1 / self.size))

    @cached_property
    def pcost(self) -> Fraction:
        """``(n-1)/n``."""
        return Fraction(self.size - 1, self.size)

    @property
    def column_squares(self) -> list[Fraction]:
        """P alone."""
        return [self.pcost]

    @property
    def worst_replacement(self) -> float:
        """``1/(n-1)``: all columns have the same products."""
        return 1 / (self.size - 1) if self.size > 1 else 0.0

    @property
    def key(self) -> tuple[int, bytes]:
        """The size, and no matrix."""
        return self.size, b""

    @property
    def answers(self) -> int:
        """``n-1``."""
        return self.size - 1

    @property
    def noise_values(self) -> int:
        """N."""
        return self.size

    @property
    def divisor(self) -> int:
        """N."""
        return self.size

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

    def spans(self, kind: Kind) -> bool:
        """Always."""
        del kind
        return True

    def spans_rows(self, rows: NDArray[Any]) -> bool:
        """Always."""
        del rows
        return True

    def has_equal_variances(self, kind: Kind) -> bool:
        """Whether single values are counted."""
        return isinstance(kind, Identity)

    def mean_variance_factors(self, kind: Kind) -> tuple[float, float]:
        """``(n-1)/n`` and ``1/n**2`` for single values; of other kinds from their Gram matrix.

        Example:
            >>> SubtractionBasis(4).mean_variance_factors(Identity())
            (0.75, 0.0625)
        """
        n = self.size
        if self.has_equal_variances(kind):
            return (n - 1) / n, 1 / (n * n)
        form, u, rows = kind.augmented_gram(n), np.concatenate([[1.0], self.u]), kind.rows(n)
        centered = form[1:, 1:] - form[1:, 1:].mean(axis=1, keepdims=True)
        present, absent = np.trace(centered - centered.mean(axis=0)), u @ form @ u
        return float(positive_factors(present, absent, self.pcost)) / rows, float(absent) / rows

    def row_variance_factors(self, kind: Kind) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``w_r^T (I - 1 1^T / n) w_r`` and the squared mean of every row w_r.

        Example:
            >>> SubtractionBasis(4).row_variance_factors(Identity())
            (array([0.75]), array([0.0625]))
        """
        if self.has_equal_variances(kind):
            present, absent = self.mean_variance_factors(kind)
            return np.array([present]), np.array([absent])
        rows, constant = kind.centered(self.size)
        squares: FloatArray = (constant + rows.apply(self.u, 0)) ** 2
        return positive_factors(rows.row_forms(self._form), squares, self.pcost), squares

    def cell_covariances(self, kind: Kind) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``W 1 1^T W^T / n**2`` and ``W (I - 1 1^T / n) W^T``.

        Example:
            >>> absent, present = SubtractionBasis(2).cell_covariances(Identity())
            >>> absent.tolist(), present.tolist()
            ([[0.25, 0.25], [0.25, 0.25]], [[0.5, -0.5], [-0.5, 0.5]])
        """
        rows, constant = kind.centered(self.size)
        means, present = constant + rows.apply(self.u, 0), rows.apply(rows.apply(self._form, 0), 1)
        return np.outer(means, means), (present + present.T) / 2

    def present_parts(self, values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """Deviations from the mean."""
        deviations: NDArray[np.float64] = values - values.mean(axis=axis, keepdims=True)
        return deviations

    @property
    def _form(self) -> NDArray[np.float64]:
        """``I - 1 1^T / n``."""
        return np.eye(self.size) - 1 / self.size


@lru_cache(maxsize=4096)
def subtraction_basis(size: int) -> Basis:
    """The subtraction basis of an attribute of ``size`` values.

    Example:
        >>> subtraction_basis(4).pcost
        Fraction(3, 4)
    """
    return SubtractionBasis(size)
