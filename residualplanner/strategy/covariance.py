"""Variances and covariances within one table: of all cells, of all pairs of cells, of one combination.

Reads: the noise of all subsets of a query's attributes, the attributes' bases and kinds of query.  Gives: arrays.
Source: spec eqs. (12) and (26); paper Theorems 4.4 and 7.2.

The noise comes as an array with an axis for each attribute: index 1 where the attribute is present, 0 where it is
absent.  An attribute of one value has only index 0, since it is never measured.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.bases import Basis, cell_covariances, cell_shares
from residualplanner.errors import WorkloadError
from residualplanner.queries import Identity, Kind

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
        kind: what is asked of it.
    """

    basis: Basis
    kind: Kind

    @property
    def rows(self) -> int:
        """How many answers the attribute has in the table."""
        return self.kind.rows(self.basis.size)


def cell_variances(axes: Sequence[Axis], noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """The variance of every cell, (q_1, .., q_k).

    Args:
        axes: the attributes of the table.
        noise (2, .., 2): sigma squared of every subset.

    Raises:
        WorkloadError: the array is too large.

    Source: spec eq. (26).

    Example:
        >>> from residualplanner.bases import subtraction_basis
        >>> cell_variances([Axis(subtraction_basis(2), Identity())], np.array([4.0, 1.0])).tolist()
        [1.5, 1.5]
    """
    shape = tuple(axis.rows for axis in axes)
    return in_full(differing_variances(axes, noise), shape)


def differing_variances(axes: Sequence[Axis], noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """As `cell_variances`, but an axis along which all cells are alike has one entry, (h_1, .., h_k)."""
    shares = [cell_shares(axis.basis, axis.kind) for axis in axes]
    require_few_cells(tuple(axis.rows for axis in axes), tuple(len(present) for present, _ in shares))
    for present, absent in shares:
        # The first axis left is the attribute's; its cells become the last one.
        noise = np.tensordot(noise, np.stack([absent, present])[: len(noise)], axes=(0, 0))
    return noise


def dense_covariance(axes: Sequence[Axis], noise: NDArray[np.float64]) -> NDArray[np.float64]:
    """The covariance of all cells of a table in C order, (cells, cells).

    Args:
        axes: the attributes of the table.
        noise (2, .., 2): sigma squared of every subset.

    Raises:
        WorkloadError: the matrix would have more than 2**28 entries.

    Source: spec eq. (26).

    Example:
        >>> from residualplanner.bases import subtraction_basis
        >>> dense_covariance([Axis(subtraction_basis(2), Identity())], np.array([4.0, 1.0])).tolist()
        [[1.5, 0.5], [0.5, 1.5]]
    """
    cells = math.prod(axis.rows for axis in axes)
    require_small_covariance(cells)
    if not axes:
        return noise.reshape(1, 1).copy()
    first, *others = axes
    factors = cell_covariances(first.basis, first.kind)
    total = np.zeros((cells, cells))
    for factor, part in zip(factors, noise, strict=False):
        total += np.kron(factor, dense_covariance(others, part))
    return total


def quadratic_form(axes: Sequence[Axis], weights: NDArray[np.float64], noise: NDArray[np.float64]) -> float:
    """The variance of the sum of the cells of a table times ``weights`` (q_1, .., q_k).

    The weights are taken through the transposes of each basic matrix and of the parts u and G of each basis.  What is
    then at the place of a residual answer is what the sum takes of its noise.

    Args:
        axes: the attributes of the table.
        weights (q_1, .., q_k): one per cell.
        noise (2, .., 2): sigma squared of every subset.

    Source: spec eq. (26).

    Example:
        >>> from residualplanner.bases import subtraction_basis
        >>> quadratic_form([Axis(subtraction_basis(2), Identity())], np.array([1.0, 1.0]), np.array([4.0, 1.0]))
        4.0
    """
    parts, spread = weights, noise
    for number, axis in enumerate(axes):
        rows, constant = axis.kind.centered(axis.basis.size)
        values = weights_by_value(rows, axis.basis.size, parts, number)
        total = np.moveaxis(np.moveaxis(parts, number, -1) * constant, -1, number).sum(axis=number, keepdims=True)
        parts = _absent_parts(axis.basis, values, number) + total
        if noise.shape[number] > 1:
            present = present_parts(axis.basis, values, number)
            parts = np.concatenate([parts, present], axis=number)
            spread = np.repeat(spread, [1, present.shape[number]], axis=number)
    return float((spread * parts**2).sum())


def weights_by_value(kind: Kind, size: int, weights: NDArray[np.float64], number: int) -> NDArray[np.float64]:
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


def present_parts(basis: Basis, values: NDArray[np.float64], number: int) -> NDArray[np.float64]:
    """What weights on values take of the noise where the attribute of one axis is present, along that axis.

    With the subtraction basis, noise of covariance ``Sub Sub^T`` is taken as deviations from the mean.
    """
    if basis.G is None:
        deviations: NDArray[np.float64] = values - values.mean(axis=number, keepdims=True)
        return deviations
    found: NDArray[np.float64] = np.moveaxis(np.moveaxis(values, number, -1) @ basis.G, -1, number)
    return found


def _absent_parts(basis: Basis, values: NDArray[np.float64], number: int) -> NDArray[np.float64]:
    """The same where it is absent: one entry."""
    if basis.u is None:
        mean: NDArray[np.float64] = values.mean(axis=number, keepdims=True)
        return mean
    found: NDArray[np.float64] = np.expand_dims(np.moveaxis(values, number, -1) @ basis.u, number)
    return found


def _too_large(shape: tuple[int, ...]) -> WorkloadError:
    cells = math.prod(shape)
    return WorkloadError(f"too large: a table of {cells:,} cells; errors() has its std_err and max_std_err")
