"""The axes of one table, and what weights on its cells are on the values and residuals of an axis.

Source: eqs. (12) and (26); paper Theorems 4.4 and 7.2.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.method.bases.basis import Basis
from residualplanner.method.queries.kind import Kind
from residualplanner.method.queries.rows import Rows

#: How many entries of a basic matrix are formed at a time.
_FORMED = 2**22


@dataclass(frozen=True, eq=False)
class Axis:
    """One attribute of a table, with a basis: where it varies, that of one of the table's subsets.

    Attributes:
        basis: its residual basis.
        kind: the kind of query.
    """

    basis: Basis
    kind: Kind

    @property
    def rows(self) -> int:
        """How many answers the attribute has in the table."""
        return self.kind.rows(self.basis.size)

    @cached_property
    def origin(self) -> FloatArray:
        """``W u``, (q,)."""
        return self.kind.apply(self.basis.u, 0)

    @property
    def augmented(self) -> FloatArray:
        """1 for the constant parts of rows, then u, (1 + n,): the others lose no digits to them."""
        return np.concatenate([[1.0], self.basis.u])

    @cached_property
    def present(self) -> FloatArray:
        """The squared length of every row of ``W G``, (q,)."""
        return self.basis.row_variance_factors(self.kind)[0]

    @cached_property
    def mean_present(self) -> float:
        """Their mean."""
        return self.basis.mean_variance_factors(self.kind)[0]

    def form(self) -> FloatArray:
        """``W G G^T W^T``, (q, q)."""
        return self.basis.cell_covariances(self.kind)[1]

    def augmented_weights(self, weights: NDArray[np.float64], number: int) -> NDArray[np.float64]:
        """Weights on answers along the axis of this ``number`` as weights on the total and the values, (.., 1 + n, ..).

        The constant parts of rows depend on the total alone; taken off first, they cost the others no digits.
        Differences of constants of like size are exact in floating point, so nothing is lost either where weights of
        such rows cancel.
        """
        rows, constant = self.kind.centered(self.basis.size)
        largest = constant[np.abs(constant).argmax()]
        is_close = (constant * largest > 0) & (np.abs(constant) >= np.abs(largest) / 2)
        parts = np.stack([constant - largest * is_close, np.where(is_close, largest, 0.0)])
        total = (np.moveaxis(weights, number, -1)[..., None, :] * parts).sum(axis=-1)
        values = _weights_by_value(rows, self.basis.size, weights, number)
        return np.concatenate([np.expand_dims(total.sum(axis=-1), number), values], axis=number)


def _weights_by_value(rows: Rows, size: int, weights: NDArray[np.float64], number: int) -> NDArray[np.float64]:
    """Weights on values that amount to weights (.., q, ..) on answers: a matrix's transpose along one axis."""
    if rows.is_identity:
        return weights
    each_value = np.eye(size)
    last = np.moveaxis(weights, number, -1)
    step = max(1, _FORMED // rows.rows(size))
    columns = [last @ rows.apply(each_value[:, first : first + step], 0) for first in range(0, size, step)]
    return np.moveaxis(np.concatenate(columns, axis=-1), -1, number)
