"""A basis of one attribute in a search for bases by set, in real numbers, and the slopes by its coordinates.

Source: eqs. (24), (40) and (41).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.method.bases.matrix import inverse_parts
from residualplanner.more.by_set.problem import OwnAxis
from residualplanner.more.searches.basis_problem import UNUSED_LENGTH


@dataclass(frozen=True, eq=False, slots=True)
class GroupBasis:
    """A basis ``S = core (Z' - b 1')`` of directions that queries depend on; ``u = 1/g + Z b``, ``G = Z core^-1``."""

    axis: OwnAxis
    offset: FloatArray  # (r,): b
    core: FloatArray  # (r, r): invertible
    form: FloatArray  # (r, r): Z' G G' Z
    lengths: FloatArray  # (g,): the squared lengths of the columns

    @classmethod
    def of(cls, axis: OwnAxis, offset: FloatArray, core: FloatArray) -> "GroupBasis":
        """The basis with these coordinates."""
        inverse = np.linalg.inv(core)
        S = core @ (axis.Z.T - offset[:, None])
        return cls(axis, offset, core, inverse @ inverse.T, (S * S).sum(axis=0))

    @classmethod
    def from_matrix(cls, axis: OwnAxis, matrix: NDArray[np.float64]) -> "GroupBasis":
        """The basis of a matrix (g-1, g), which may have rows of other directions.

        Raises LinAlgError: it is not a basis.
        """
        u, G = inverse_parts(matrix)
        G = axis.Z.T @ G
        form = G @ G.T
        core = np.linalg.inv(np.linalg.cholesky(form))
        return cls(axis, axis.Z.T @ u, core, form, (matrix * matrix).sum(axis=0))

    @property
    def u(self) -> FloatArray:
        """U in coordinates, (1+r,)."""
        return np.concatenate([[1.0], self.offset])

    def matrix(self) -> FloatArray:
        """A matrix (g-1, g) whose longest column has length 1, with short rows for the other directions."""
        rows = np.vstack([self.S / np.sqrt(self.lengths.max()), UNUSED_LENGTH * self.axis.unused])
        scaled: FloatArray = rows / np.sqrt((rows * rows).sum(axis=0).max())
        return scaled

    @property
    def S(self) -> FloatArray:
        """The basis, (r, g)."""
        return self.core @ (self.axis.Z.T - self.offset[:, None])

    def slopes(self, by_form: FloatArray, by_u: FloatArray, by_products: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Those by b and core, from the slopes by the form (r, r) and by u (1+r,), and by what depends on S alone.

        That is by the products ``S' S`` (g, g), or by its diagonal (g,); matrices are symmetric.
        """
        core, columns = self.core, self.axis.Z.T - self.offset[:, None]
        by_S = 2 * (self.S * by_products if by_products.ndim == 1 else self.S @ by_products)
        by_core = by_S @ columns.T - 2 * core @ (self.form @ by_form @ self.form)
        return by_u[1:] - core.T @ by_S.sum(axis=1), by_core


@dataclass(frozen=True, eq=False, slots=True)
class Member:
    """A plan of the family of a search, in real numbers."""

    bases: tuple[GroupBasis, ...]  # of each group
    precision: FloatArray  # (noises,): 1 / sigma squared times the factors of other attributes, summed over its sets
    messages: dict[int, list[FloatArray]]  # (g,) for each own attribute of each class of two or more
