"""The axes of one table, and what weights on its cells are on the values and residuals of an axis.

Reads: a basis, a kind of query.  Gives: arrays.
Source: spec eqs. (12) and (26); paper Theorems 4.4 and 7.2.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.bases import Basis
from residualplanner.errors import WorkloadError
from residualplanner.queries import Identity, Kind, Rows

#: How many entries a covariance, or an array of cells that differ, may have.
_ENTRY_LIMIT = 2**28
#: NumPy makes no array of as many cells, not even one whose cells share their memory.
_CELL_LIMIT = 2**60
#: How many entries of a basic matrix are formed at a time.
_FORMED = 2**22


@dataclass(frozen=True, eq=False)
class Axis:
    """One attribute of a table.

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


def augmented_weights(axis: Axis, weights: NDArray[np.float64], number: int) -> NDArray[np.float64]:
    """Weights on answers along one axis as weights on the total and on the values, (.., 1 + n, ..).

    The constant parts of rows depend on the total alone; taken off first, they cost the others no digits.  Differences
    of constants of like size are exact in floating point, so nothing is lost either where weights of such rows cancel.
    """
    rows, constant = axis.kind.centered(axis.basis.size)
    largest = constant[np.abs(constant).argmax()]
    is_close = (constant * largest > 0) & (np.abs(constant) >= np.abs(largest) / 2)
    parts = np.stack([constant - largest * is_close, np.where(is_close, largest, 0.0)])
    total = (np.moveaxis(weights, number, -1)[..., None, :] * parts).sum(axis=-1)
    values = weights_by_value(rows, axis.basis.size, weights, number)
    return np.concatenate([np.expand_dims(total.sum(axis=-1), number), values], axis=number)


def weights_by_value(kind: Rows, size: int, weights: NDArray[np.float64], number: int) -> NDArray[np.float64]:
    """Weights on values that amount to weights on answers: the basic matrix's transpose along one axis.

    Args:
        kind: of the attribute of that axis.
        size: how many values it has.
        weights (.., q, ..): on answers.
        number: of the axis.
    """
    if isinstance(kind, Identity):
        return weights
    each_value = np.eye(size)
    last = np.moveaxis(weights, number, -1)
    step = max(1, _FORMED // kind.rows(size))
    columns = [last @ kind.apply(each_value[:, first : first + step], 0) for first in range(0, size, step)]
    return np.moveaxis(np.concatenate(columns, axis=-1), -1, number)


def in_full(variances: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The variances (h_1, .., h_k) of cells that differ as those of all cells (q_1, .., q_k), read-only."""
    if math.prod(shape) >= _CELL_LIMIT:
        raise _too_large(shape)
    return np.broadcast_to(variances, shape)


def require_few_cells(shape: tuple[int, ...], differing: tuple[int, ...]) -> None:
    """Raise WorkloadError where too many cells of a table differ."""
    if math.prod(differing) > _ENTRY_LIMIT:
        raise _too_large(shape)


def require_small_covariance(cells: int) -> None:
    """Raise WorkloadError where the covariance of so many cells is too large."""
    if cells**2 > _ENTRY_LIMIT:
        raise WorkloadError(
            f"too large: the covariance of {cells:,} cells; ask for the variance of a combination instead"
        )


def _too_large(shape: tuple[int, ...]) -> WorkloadError:
    cells = math.prod(shape)
    return WorkloadError(f"too large: a table of {cells:,} cells; errors() has its std_err and max_std_err")
