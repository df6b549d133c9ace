"""The residual basis of one attribute: what every basis tells, and numbers for those that measure the same.

Reads: bases.  Gives: Basis, the protocol of `SubtractionBasis` and `MatrixBasis`; codes.

With T the row of ones above the residual matrix S, and ``[u | G]`` its pseudo-inverse, every query whose rows are
combinations of T's is ``W (u 1^T + G S)``.
Source: spec section 5, eqs. (12) and (24) to (28).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, IntArray
from residualplanner.kron import AxisMap
from residualplanner.queries import Kind

#: The least variance factor where the attribute is present, relative to that where it is absent, at equal cost.
_LEAST = 2.0**-100


class Basis(Protocol):
    """The residual basis of one attribute of n values, m of whose residuals are measured.

    Attributes:
        family: how the basis was found: "subtraction", "orthogonal", "optimal", "near_optimal" (neighboring values were
            merged, and only a few steps taken in full), "optimal_by_set" (for some of the sets that the attribute is
            in), "given".
        gap: with the noise and the other attributes' bases as they are, no basis of this attribute (of its family, if
            that is "orthogonal") with the same cost factor lowers the part of the loss that depends on it by more than
            this fraction; infinite where nothing is proved.

    Source: spec eqs. (24) and (28).
    """

    @property
    def size(self) -> int:
        """The number of values, n."""
        ...

    @property
    def family(self) -> str:
        """How the basis was found."""
        ...

    @property
    def gap(self) -> float:
        """How far from the best it is at most."""
        ...

    @property
    def matrix(self) -> IntArray | None:
        """B (m, n), int64; None for the subtraction basis."""
        ...

    @property
    def u(self) -> FloatArray:
        """How the total is spread over the values where all residuals are 0, (n,)."""
        ...

    @property
    def pcost(self) -> Fraction:
        """The exact cost factor p: ``max_j ||B e_j||**2``, or ``(n-1)/n``.  Source: spec eq. (28)."""
        ...

    @property
    def column_squares(self) -> list[Fraction]:
        """``||B e_j||**2`` of every value, exactly; one entry, p, for a symmetric basis.  Source: spec eq. (28)."""
        ...

    @property
    def worst_replacement(self) -> float:
        """How negative the product of two columns can be, relative to p: ``max(0, -min_{j,k} B_j^T B_k / p)``.

        With noise variance s for a set A, replacing one record costs at most ``2 / s * prod p_i * (1 + max_i)`` of
        this, the maximum being over the attributes of A.

        Source: spec eq. (37), generalized.
        """
        ...

    @property
    def is_symmetric(self) -> bool:
        """Whether a permutation of the values changes neither cost nor variances: no basis by set can be better."""
        ...

    @property
    def key(self) -> tuple[int, bytes]:
        """Equal for bases that measure the same, and for no others."""
        ...

    @property
    def answers(self) -> int:
        """The number of residual answers, m."""
        ...

    @property
    def multipliers(self) -> tuple[IntArray, ...]:
        """The integer matrices that counts are multiplied by before the noise is added: B, or none."""
        ...

    @property
    def largest_entry(self) -> int:
        """The largest entry of these in size, or 1."""
        ...

    @property
    def takes_differences(self) -> bool:
        """Whether the answers are differences of noisy values.  Source: spec eq. (35)."""
        ...

    @property
    def noise_values(self) -> int:
        """How many numbers get noise: n or m."""
        ...

    @property
    def divisor(self) -> int:
        """What the answers are to be multiplied by to be integers: n for the subtraction basis, else 1."""
        ...

    @property
    def before_noise(self) -> AxisMap:
        """The map from counts to the numbers that get independent noise of equal variance."""
        ...

    @property
    def after_noise(self) -> AxisMap:
        """The map from these to the residual answers."""
        ...

    @property
    def reconstruction(self) -> AxisMap:
        """The map ``[u | G]`` from the total and the residual answers to the values.  Source: spec eq. (25)."""
        ...

    def spans(self, kind: Kind) -> bool:
        """Whether queries of a kind can be answered: always where m = n-1."""
        ...

    def spans_rows(self, rows: NDArray[Any]) -> bool:
        """The same for the rows (q, n) of a query, without constant parts: these can always be answered."""
        ...

    def has_equal_variances(self, kind: Kind) -> bool:
        """Whether all answers of a kind have the same variance factors by symmetry."""
        ...

    def mean_variance_factors(self, kind: Kind) -> tuple[float, float]:
        """The variance factors of an average answer: where the attribute is present, and where it is absent.

        ``||W G||**2 / q`` and ``||W u||**2 / q`` for q answers.

        Source: spec eqs. (11) and (27).
        """
        ...

    def row_variance_factors(self, kind: Kind) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The variance factors of each answer: where the attribute is present, and where it is absent, (q,) each.

        ``||w_r G||**2`` and ``(w_r u)**2`` for the rows w_r of the basic matrix; (1,) where all are equal by symmetry.

        Source: spec eqs. (23) and (26).
        """
        ...

    def cell_covariances(self, kind: Kind) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The covariance factors of the answers, (q, q) each: where the attribute is absent, where it is present.

        Source: spec eqs. (12) and (26); paper Theorems 4.4 and 7.2.
        """
        ...

    def present_parts(self, values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """Weights on values along one axis as weights on the noise where the attribute is present.

        ``G^T`` times the weights; for the subtraction basis, with noise of covariance ``Sub Sub^T``, their deviations
        from the mean.  Source: spec eqs. (12) and (26).
        """
        ...


def positive_factors(present: FloatArray, absent: FloatArray, pcost: Fraction) -> FloatArray:
    """``present`` (q,), where a factor of 0 is replaced by next to nothing, relative to the ``absent`` one (q,).

    So every noise variance that a query depends on has an optimum, and no variance changes.
    """
    raised: FloatArray = np.maximum(present, _LEAST * absent / float(pcost or 1))
    return raised


def basis_codes(bases: Sequence[Basis]) -> NDArray[np.int64]:
    """A number for each basis (d,), equal exactly where bases measure the same.

    Example:
        >>> from residualplanner.bases import subtraction_basis
        >>> basis_codes([subtraction_basis(3), subtraction_basis(2), subtraction_basis(3)]).tolist()
        [0, 1, 0]
    """
    numbers: dict[tuple[int, bytes], int] = {}
    return np.array([numbers.setdefault(basis.key, len(numbers)) for basis in bases], dtype=np.int64)
