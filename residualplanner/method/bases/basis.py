"""The residual basis of one attribute: what is measured of it, and what cost and variances follow from that.

With T the row of ones above the residual matrix S, and ``[u | G]`` its pseudo-inverse, every query whose rows are
combinations of T's is ``W (u 1^T + G S)``.  Source: eqs. (12) and (23) to (28).
"""

import math
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.words import count_text
from residualplanner.method.kron.axis_maps import AxisMap, keeping, matrix_map
from residualplanner.method.kron.exact_products import dense_integers
from residualplanner.method.kron.integers import IntegerMap
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind
from residualplanner.method.queries.rows import Rows
from residualplanner.method.queries.runs import Prefix, Range

#: The least variance factor where the attribute is present, relative to that where it is absent, at equal cost, and the
#: other way round: so every noise variance that a query depends on has an optimum, and no variance changes.  The second
#: is that of the total where queries are about some of the records only; noise above it would cost digits.
_LEAST, _LEAST_ABSENT = 2.0**-100, 2.0**-60
#: A basis that is not proved to be within this fraction of the best counts as one whose search was stopped.
CERTIFIED = 1e-4
#: Up to this many entries a basic matrix is formed to see whether a basis spans it.
_FORMED = 2**24
#: Up to this many entries ``W G`` is formed: sums of squares lose no digits.
_PRODUCTS = 2**22
#: Kinds with more rows than this for each value are averaged by their Gram matrix.
_FEW = 1.5
#: Kinds whose rows span everything, which fewer than n-1 answers and the total do not.
_FULL_RANK = (Identity(), Prefix(), Range())


@dataclass(frozen=True, eq=False, repr=False)
class Basis(ABC):
    """The residual basis of one attribute of n values: of `integer_basis`, `subtraction_basis` or `nested_basis`.

    Attributes:
        size: n.
        family: how the basis was found: "subtraction", "orthogonal", "optimal", "near_optimal" (neighboring values were
            merged, with only a few steps in full), "optimal_by_set" (for some of the sets that the attribute is
            in), "given".
        answers: m, how many residual answers there are.
        pcost: p, the exact cost factor: ``max_j ||B e_j||**2``, or ``(n-1)/n``.
        gap: with the noise and the other attributes' bases as they are, no basis of this attribute (of its family, if
            that is "orthogonal") with the same cost factor lowers the part of the loss that depends on it by more than
            this fraction; infinite where nothing is proved.
        denominator: of the fractions of records that are counted; more than 1 for amounts only.
        multipliers: the integer matrices that counts are multiplied by before there is noise: B, or none.
        value_weights: the weights (n,), of sum 1, of the values in the proof of the gap, if there is one.
        is_symmetric: whether a permutation of the values changes neither cost nor variances; then no basis by set is
            better.
        takes_differences: whether noise is added to all n values, and the answers are differences of noisy values.

    Source: eqs. (24) and (28).
    """

    size: int
    family: str
    answers: int
    pcost: Fraction
    gap: float
    multipliers: tuple[IntArray, ...]
    denominator: int = field(default=1, kw_only=True)
    value_weights: FloatArray | None = field(default=None, kw_only=True)

    is_symmetric: ClassVar[bool] = False
    takes_differences: ClassVar[bool] = False

    def __repr__(self) -> str:
        answers = count_text(self.answers, "answer")
        return f"<{self.family} basis of {self.size:,} values: {answers}, pcost {self.pcost}>"

    @property
    @abstractmethod
    def u(self) -> FloatArray:
        """How the total is spread over the values where all residuals are 0, (n,)."""

    @property
    def G(self) -> FloatArray:
        """How much each residual adds to each value, (n, m)."""
        return self.reconstruction.matrix[:, 1:]

    @property
    def matrix(self) -> IntArray | None:
        """B (m, n), int64; None for the subtraction basis."""
        return self.multipliers[0] if self.multipliers else None

    @property
    def largest_entry(self) -> int:
        """The largest entry of B in size, or 1."""
        return max((int(np.abs(matrix).max()) for matrix in self.multipliers), default=1)

    @property
    def noise_values(self) -> int:
        """How many numbers get noise: n or m."""
        return self.size if self.takes_differences else self.answers

    @property
    def divisor(self) -> int:
        """What exact answers are multiplied by to be integers.  Source: eqs. (35) and (104)."""
        return self.denominator * (self.size if self.takes_differences else 1)

    @property
    def stored(self) -> IntArray | None:
        """The array that files hold, int64, from which the basis is made again; None for the subtraction basis."""
        return self.matrix

    @property
    def integer_maps(self) -> tuple[IntegerMap, ...]:
        """What counts are multiplied by before there is noise: B, or nothing."""
        return tuple(map(dense_integers, self.multipliers))

    @property
    def value_groups(self) -> IntArray:
        """The group of each value, (n,), numbered by first values: no answer tells apart the values of one group."""
        if self.answers == self.size - 1:
            return np.arange(self.size)
        return first_numbers(np.unique(np.vstack(self.multipliers), axis=1, return_inverse=True)[1].ravel())

    @property
    def key(self) -> tuple[int, bytes]:
        """Equal for bases that measure the same, and for no others."""
        stored = self.stored
        return self.size, b"" if stored is None else stored.tobytes()

    @property
    @abstractmethod
    def column_squares(self) -> list[Fraction]:
        """``||B e_j||**2`` of every value, exactly; one entry, p, for a symmetric basis.  Source: eq. (28)."""

    @property
    @abstractmethod
    def extreme_pairs(self) -> FloatArray:
        """Pairs of columns of B: the squared length of the longer one, of the other, and their product, (t, 3).

        For every two values there is a pair of no smaller lengths and no larger product.  Source: eq. (37).
        """

    @property
    def farthest_pair(self) -> FloatArray:
        """Of all these the one whose columns are the farthest apart, (1, 3)."""
        return farthest(self.extreme_pairs)

    @property
    def random_pair(self) -> tuple[float, float]:
        """The means of ``||B e_j||**2`` and of ``b^T b'`` over values that are drawn uniformly and independently."""
        mean = self.before_noise.matrix.mean(axis=1)
        return float(np.mean([float(square) for square in self.column_squares])), float(mean @ mean)

    @property
    @abstractmethod
    def before_noise(self) -> AxisMap:
        """The map from counts to the numbers that get independent noise of equal variance."""

    @property
    def after_noise(self) -> AxisMap:
        """The map from these to the residual answers: they are the answers, unless differences are taken."""
        return keeping(self.answers)

    @property
    @abstractmethod
    def reconstruction(self) -> AxisMap:
        """The map ``[u | G]`` from the total and the residual answers to the values.  Source: eq. (25)."""

    @property
    def reconstruction_transposed(self) -> AxisMap:
        """The transpose of `reconstruction`: weights on values as weights on the total and the residual answers."""
        return matrix_map(np.ascontiguousarray(self.reconstruction.matrix.T))

    def spans(self, kind: Kind) -> bool:
        """Whether the rows of a kind are combinations of B's and a row of ones: always where m = n-1.

        Of joint kinds, whether a permutation of the values changes neither cost nor variances, as (59) asks for.  Large
        basic matrices are judged by their Gram matrix, which has the same row space.
        """
        if kind.at_least:
            return self.is_symmetric
        if self.answers == self.size - 1:
            return True
        if kind in _FULL_RANK:
            return False
        rows = kind.centered(self.size).rows
        is_small = rows.rows(self.size) * self.size <= _FORMED
        return self.spans_rows(rows.matrix(self.size) if is_small else rows.gram(self.size))

    def spans_rows(self, rows: NDArray[Any]) -> bool:
        """The same for the rows (q, n) of a query: whether they are, but for rounding, what their answers rebuild."""
        if self.answers == self.size - 1:
            return True
        # What the basis answers is W (u 1^T + G B): rows of other queries come back changed.
        wanted = np.asarray(rows, dtype=np.float64)
        rebuilt = np.outer(wanted @ self.u, np.ones(self.size)) + (wanted @ self.G) @ self.multipliers[0]
        return bool((np.abs(rebuilt - wanted) <= 1e-8 * np.abs(wanted).max(axis=1, keepdims=True)).all())

    def has_equal_variances(self, kind: Kind) -> bool:
        """Whether all answers of a kind have the same variance factors by symmetry."""
        return self.is_symmetric and kind.is_identity

    def present_parts(self, values: FloatArray, axis: int) -> FloatArray:
        """Weights on values along one axis as weights on the noise where the attribute is present.

        ``G^T`` times the weights; for the subtraction basis, with noise of covariance ``Sub Sub^T``, their deviations
        from the mean.  Source: eqs. (12) and (26).
        """
        return np.asarray(np.moveaxis(np.moveaxis(values, axis, -1) @ self._spread, -1, axis))

    def mean_variance_factors(self, kind: Kind) -> tuple[float, float]:
        """The variance factors of an average answer: where the attribute is present, and where it is absent.

        ``||W G||**2 / q`` and ``||W u||**2 / q`` for q answers: from the factors of the rows where these are few, else
        from their Gram matrix.  Source: eqs. (11) and (27).
        """
        rows = kind.rows(self.size)
        # A range over n values has n(n+1)/2 rows: the Gram matrix, a closed form of n x n, replaces all of them.
        if self.has_equal_variances(kind) or (rows <= _FEW * self.size and rows * self.answers <= _PRODUCTS):
            present, absent = (float(factors.mean()) for factors in self.row_variance_factors(kind))
            return present, absent
        form, u = kind.augmented_gram(self.size), np.concatenate([[1.0], self.u])
        absent = float(u @ form @ u)  # the border of the form is for the constant parts of rows, on which only u acts
        # The trace of G^T (W^T W) G is the sum of the squared lengths of the rows of W G.
        present = float((self.present_parts(form[1:, 1:], 1) * self._spread).sum())
        return max(present, self._least * absent) / rows, max(absent, self._least_absent * present) / rows

    def row_variance_factors(self, kind: Kind) -> tuple[FloatArray, FloatArray]:
        """The variance factors of each answer: where the attribute is present, and where it is absent, (q,) each.

        ``||w_r G||**2`` and ``(w_r u)**2`` for the rows w_r of the basic matrix; (1,) where all are equal by symmetry.
        Source: eqs. (23) and (26).
        """
        rows, constant = kind.centered(self.size)
        absent: FloatArray = (constant + rows.apply(self.u, 0)) ** 2
        if self.is_symmetric or rows.rows(self.size) * self.answers > _PRODUCTS:
            present = rows.row_forms(self._form)
        else:
            present = (rows.apply(self._spread, 0) ** 2).sum(axis=1)
        return np.maximum(present, self._least * absent), np.maximum(absent, self._least_absent * present)

    def cell_covariances(self, kind: Kind) -> tuple[FloatArray, FloatArray]:
        """The covariance factors of the answers, (q, q) each: where the attribute is absent, where it is present.

        Source: eqs. (12) and (26); paper Theorems 4.4 and 7.2.
        """
        # W = c 1^T + D, and 1^T u = 1: W u = c + D u, while 1^T G = 0, so that W G = D G loses no digits to c.
        rows, constant = kind.centered(self.size)
        absent = constant + rows.apply(self.u, 0)
        return np.outer(absent, absent), self._products(rows)

    @property
    def _least(self) -> float:
        return _LEAST / float(self.pcost or 1)

    @property
    def _least_absent(self) -> float:
        return _LEAST_ABSENT * float(self.pcost or 1)

    @property
    def _spread(self) -> FloatArray:
        """What independent noise adds to each value where the attribute is present, (n, r): ``G``, or ``G Sub``."""
        return self.G

    @property
    def _form(self) -> FloatArray:
        """``G G^T``, or the same of ``G Sub``, (n, n)."""
        return self._spread @ self._spread.T

    def _products(self, rows: Rows) -> FloatArray:
        """``W G G^T W^T`` for the rows W of a query, (q, q)."""
        parts = rows.apply(self._spread, 0)
        return parts @ parts.T


def farthest(pairs: FloatArray) -> FloatArray:
    """Of pairs of columns (m, 3), as `Basis.extreme_pairs` has them, that of the largest distance, (1, 3)."""
    return pairs[[int((pairs @ [1.0, 1.0, -2.0]).argmax())]]


def first_numbers(group: IntArray) -> IntArray:
    """Groups (n,), numbered in the order of their first members: 5, 0, 5 become 0, 1, 0."""
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number.ravel()])


def basis_codes(bases: Sequence[Basis]) -> IntArray:
    """A number for each basis (d,), equal exactly where bases measure the same with equal denominators."""
    numbers: dict[tuple[object, int], int] = {}
    keys = [(basis.key, basis.denominator) for basis in bases]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def stopped_words(names: Sequence[str], bases: Sequence[Basis]) -> str:
    """The remark in a plan on bases that were searched for and are not proved to be near the best."""
    searched = [pair for pair in zip(names, bases, strict=True) if pair[1].family != "orthogonal"]
    far = [(name, basis.gap) for name, basis in searched if CERTIFIED < basis.gap < math.inf]
    if not far:
        return ""
    shown = reprlib.repr(far[0][0]) + (f" and of {len(far) - 1} more" if len(far) > 1 else "")
    return f"; the search for the basis of {shown} stopped within {max(gap for _, gap in far):.1e} of the best"
