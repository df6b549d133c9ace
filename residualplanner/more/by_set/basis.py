"""One basis of a group of factors: its factors in cost and loss, and the chain rule.

Source: eqs. (24), (40) and (41).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.method.bases.matrix import inverse_parts
from residualplanner.more.by_set.terms import OwnAxis

#: Directions that no query depends on still get basis vectors, so that all counts follow; they are this long.
_UNUSED_LENGTH = 1e-3


@dataclass(frozen=True, eq=False, slots=True)
class GroupBasis:
    """A basis ``S = core (Z' - b 1')`` of the directions that queries depend on, ``u = 1/g + Z b``, ``G = Z core^-1``.

    Attributes:
        axis: the attribute.
        offset (r,): b.
        core (r, r): invertible.
        form (r, r): ``Z' G G' Z``.
        lengths (g,): the squared lengths of the columns.
    """

    axis: OwnAxis
    offset: FloatArray
    core: FloatArray
    form: FloatArray
    lengths: FloatArray

    @classmethod
    def of(cls, axis: OwnAxis, offset: FloatArray, core: FloatArray) -> "GroupBasis":
        """The basis with these coordinates."""
        inverse = np.linalg.inv(core)
        S = core @ (axis.Z.T - offset[:, None])
        return cls(axis, offset, core, inverse @ inverse.T, (S * S).sum(axis=0))

    @classmethod
    def from_matrix(cls, axis: OwnAxis, matrix: NDArray[np.float64]) -> "GroupBasis":
        """The basis of a matrix (g-1, g), which may have rows of other directions.

        Raises:
            LinAlgError: it is not a basis.
        """
        u, G = inverse_parts(matrix)
        G = axis.Z.T @ G
        form = G @ G.T
        core = np.linalg.inv(np.linalg.cholesky(form))
        return cls(axis, axis.Z.T @ u, core, form, (matrix * matrix).sum(axis=0))

    def matrix(self) -> FloatArray:
        """A matrix (g-1, g) whose longest column has length 1, with short rows for the other directions."""
        S = self.core @ (self.axis.Z.T - self.offset[:, None])
        rows = np.vstack([S / np.sqrt(self.lengths.max()), _UNUSED_LENGTH * self.axis.unused])
        scaled: FloatArray = rows / np.sqrt((rows * rows).sum(axis=0).max())
        return scaled

    def slopes(
        self, by_present: FloatArray, by_absent: FloatArray, by_b: FloatArray, by_lengths: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """From the slopes by factors (kinds,), by b where it is in offsets: b, and by lengths (g,): by b and core."""
        core, grams, columns = self.core, self.axis.grams, self.axis.Z.T - self.offset[:, None]
        by_form = np.tensordot(by_present, grams[:, 1:, 1:], axes=1)
        by_u = 2 * np.tensordot(by_absent, grams, axes=1) @ np.concatenate([[1.0], self.offset])
        by_S = 2 * (core @ columns) * by_lengths
        by_core = by_S @ columns.T - 2 * core @ (self.form @ by_form @ self.form)
        return by_b + by_u[1:] - core.T @ by_S.sum(axis=1), by_core


@dataclass(frozen=True, eq=False, slots=True)
class GroupNumbers:
    """The factors of all bases in cost and loss.

    Attributes:
        offsets: b (r,) of each group.
        present (factors,): of each group and kind, ``||W G||**2`` per row.
        absent (factors,): ``||W u||**2`` per row.
        lengths: the squared column lengths (g,) of each group.
    """

    offsets: list[FloatArray]
    present: FloatArray
    absent: FloatArray
    lengths: list[FloatArray]

    @classmethod
    def of(cls, bases: Sequence[GroupBasis]) -> "GroupNumbers":
        """From the basis of each group."""
        present, absent = [], []
        for basis in bases:
            grams, u = basis.axis.grams, np.concatenate([[1.0], basis.offset])
            present.append(np.tensordot(grams[:, 1:, 1:], basis.form, axes=2))
            absent.append(grams @ u @ u)
        lengths = [basis.lengths for basis in bases]
        return cls([basis.offset for basis in bases], np.concatenate(present), np.concatenate(absent), lengths)
