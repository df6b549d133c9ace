"""The objective of one attribute's basis, for given weights of its kinds: what is minimized in each round.

Source: eq. (31).
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.method.bases.matrix import inverse_parts
from residualplanner.more.searches.basis_problem import Directions, ResidualBasis
from residualplanner.more.searches.contrasts import Contrasts
from residualplanner.more.searches.optimal import optimal_residuals


class Tangent(NamedTuple):
    """The objective of one attribute: ``p tr(V_t G G^T) + u^T V_s u + 2 linear^T u + constant``.

    Attributes:
        present (g, g): V_t.
        absent (g, g): V_s.
        linear (g,), constant: from the constant parts of rows.
        contrasts: V_t on the differences among the values of each group, where values are merged that queries tell
            apart.
    """

    present: NDArray[np.float64]
    absent: NDArray[np.float64]
    linear: FloatArray
    constant: float
    contrasts: Contrasts | None = None

    @classmethod
    def of(
        cls, present: NDArray[np.float64], absent: NDArray[np.float64], contrasts: Contrasts | None = None
    ) -> "Tangent":
        """From augmented forms (1 + g, 1 + g), the first index of which stands for the constant parts of rows."""
        return cls(present[1:, 1:], absent[1:, 1:], absent[0, 1:], float(absent[0, 0]), contrasts)

    def best_orthogonal(self, even: FloatArray, directions: Directions, **how: Any) -> ResidualBasis:
        """The best basis orthogonal to the total for the present part, with u ``even`` (g,)."""
        return optimal_residuals(self.present, u=even, directions=directions, contrasts=self.contrasts, **how)

    def restricted(self, averaging: NDArray[np.float64]) -> "Tangent":
        """The same for merged values, each a mean over its group with the weights ``averaging`` (groups, g)."""
        present, absent = (averaging @ form @ averaging.T for form in (self.present, self.absent))
        return Tangent(present, absent, averaging @ self.linear, self.constant)

    def best(self, directions: Directions, **how: Any) -> ResidualBasis:
        """The best basis, see `optimal_residuals`."""
        present, absent, linear, constant, contrasts = self
        return optimal_residuals(
            present, absent, linear=linear, constant=constant, directions=directions, contrasts=contrasts, **how
        )

    def loss(self, S: NDArray[np.float64]) -> float:
        """Its value for a residual matrix (g-1, g).  Source: eq. (31)."""
        u, form = inverse_forms(S)
        return float((S * S).sum(axis=0).max() * (self.present * form).sum()) + self.at(u)

    def at(self, u: FloatArray) -> float:
        """The part that depends on u (g,) only."""
        return float(u @ self.absent @ u + 2 * self.linear @ u) + self.constant


@lru_cache(maxsize=1)
def forms_of_found(found: ResidualBasis) -> tuple[FloatArray, FloatArray]:
    """`inverse_forms` of the matrix of a basis that was found: once, however many kinds of query ask for it in turn."""
    return inverse_forms(found.S)


def inverse_forms(S: NDArray[np.float64]) -> tuple[FloatArray, FloatArray]:
    """The vector u (g,) and ``G G^T`` (g, g) of a residual matrix (g-1, g)."""
    u, G = inverse_parts(S)
    return u, G @ G.T
