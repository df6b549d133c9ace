"""Values of an attribute that can be exchanged, and the rows of its queries over groups of them.

Source: eqs. (112) and (113).

Two values can be exchanged if every row treats them in the same way, apart from rows of a single value, of which both
have the same: in a hierarchy, leaves of one parent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.queries.kind import Kind


@dataclass(frozen=True, eq=False, slots=True)
class MergedRows:
    """The rows of one kind where values that can be exchanged are merged in groups.

    Attributes:
        constant (q,): the constant parts of the rows.
        means (q, g): their other parts, averaged over the values of each group.
        alone (q,): for a row of a single value the group of that value, else -1.
        square (q,): the square of its entry, or 0.
        orbit (q,): equal numbers for rows that exchanges take to one another, ascending.
        width (g,): how many values each group has.
    """

    constant: FloatArray
    means: sparse.csr_array
    alone: IntArray
    square: FloatArray
    orbit: IntArray
    width: FloatArray

    @property
    def count(self) -> int:
        """How many rows there are: q."""
        return len(self.alone)

    @property
    def augmented(self) -> sparse.csr_array:
        """The constant parts beside the others, (q, 1 + g)."""
        return sparse.csr_array(sparse.hstack([sparse.csr_array(self.constant[:, None]), self.means]))

    def gram(self, weights: FloatArray) -> NDArray[np.float64]:
        """The augmented Gram matrix of the rows times the roots of weights (q,), (1 + g, 1 + g)."""
        rows = self.augmented
        return np.asarray((rows.T @ (sparse.diags_array(weights) @ rows)).toarray())

    def contrasts(self, weights: FloatArray) -> FloatArray:
        """The eigenvalue of that Gram matrix on the differences among the values of each group, (g,).

        Source: eq. (113).
        """
        single = self.alone >= 0
        summed = np.bincount(self.alone[single], (weights * self.square)[single], minlength=len(self.width))
        return summed / self.width

    def factors(self, u: FloatArray, form: NDArray[np.float64], scales: FloatArray) -> FloatArray:
        """The variance factors s and t of every row, (2, q).

        Args:
            u (g,): of the basis of the groups.
            form (g, g): its ``G G^T``.
            scales (g,): of the contrasts, see `ResidualBasis`.
        """
        absent = (self.constant + self.means @ u) ** 2
        present = np.asarray(self.means.multiply(self.means @ form).sum(axis=1))
        inside = np.divide(1 - 1 / self.width, scales, where=scales > 0, out=np.zeros(len(scales)))
        present += np.where(self.alone >= 0, self.square * inside[self.alone], 0.0)
        return np.stack([absent, np.maximum(present, 0.0)])


def exchangeable_groups(kinds: Sequence[Kind], size: int) -> IntArray:
    """The group of each value, (n,), numbered in the order of their first values; two at least.

    Source: eq. (113).

    Example:
        >>> from residualplanner import Hierarchy
        >>> exchangeable_groups([Hierarchy([2])], 5).tolist()
        [0, 0, 1, 1, 2]
    """
    same = zip(*(kind.exchangeable_values(size).tolist() for kind in kinds), strict=True)
    number: dict[tuple[int, ...], int] = {}
    group = np.array([number.setdefault(key, len(number)) for key in same], dtype=np.int64)
    return group if len(number) > 1 else (np.arange(size) >= size // 2).astype(np.int64)


def merged_rows(kind: Kind, group: IntArray) -> MergedRows:
    """The rows of a kind over groups (n,) of values that can be exchanged."""
    size = len(group)
    width = np.bincount(group).astype(np.float64)
    fractions = 1 / width[group]
    spread = sparse.csr_array((fractions, group, np.arange(size + 1)), shape=(size, len(width)))
    centered, constant = kind.centered(size)
    rows = centered.sparse_rows(size)
    single = np.diff(rows.indptr) == 1
    columns, entries = (array[rows.indptr[:-1][single]] for array in (rows.indices, rows.data))
    alone, square = np.full(rows.shape[0], -1, dtype=np.int64), np.zeros(rows.shape[0])
    alone[single], square[single] = group[columns], entries**2
    entry = np.zeros(rows.shape[0])
    entry[single] = entries
    own = np.where(single, -1, np.arange(rows.shape[0]))
    orbit = np.unique(np.column_stack([own, alone, entry]), axis=0, return_inverse=True)[1].ravel()
    means = sparse.csr_array(rows @ spread)
    return MergedRows(np.broadcast_to(constant, len(alone)).astype(np.float64), means, alone, square, orbit, width)
