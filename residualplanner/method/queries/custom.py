"""A basic matrix that the user gives."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.queries.kind import KindByContent, require_size
from residualplanner.method.queries.rows import ENTRY_LIMIT, closest_to_ones, is_text, require_more_than_total

#: Every entry is at most this in size, and the largest of every row at least its inverse: so far do squares reach.
LARGEST_ENTRY = 1e15
#: The largest distance from 1 of the weight of a value in the total that the rows give.
_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Custom(KindByContent):
    """One answer for each row of a matrix: the values' counts, each times its entry, summed.

    Some combination of the rows must be the row of ones, because the total is always measured.  That is checked when
    the matrix is used for an attribute.

    Args:
        matrix (q, n): for an attribute of n values; an array or a SciPy sparse matrix, which is copied.
        labels: a different string for each row; "row 1" and so on when omitted.

    Attributes:
        weights (q, n): the matrix, sparse and read-only.
        row_labels: one string for each row.

    Raises:
        WorkloadError: it is not a matrix of finite numbers, has too many or too large entries, a row is zero or nearly
            so, or the labels do not fit.

    Example:
        >>> Custom([[1, 1, 1, 1], [0, 1, 2, 3]], labels=["children", "sum of ages"])
        Custom(2 rows of 4 values)
    """

    name = "custom"

    weights: "scipy.sparse.csr_array"
    row_labels: tuple[str, ...]

    def __init__(self, matrix: ArrayLike | Any, labels: Iterable[str] | None = None) -> None:
        weights = _checked_matrix(matrix)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "row_labels", _checked_labels(labels, weights.shape[0]))

    def sparse_rows(self, size: int) -> "scipy.sparse.csr_array":
        """The matrix, (q, size); WorkloadError where it has another number of columns."""
        if size != self.weights.shape[1]:
            raise WorkloadError(f"the matrix has {self.weights.shape[1]} columns, but the attribute has {size} values")
        return self.weights

    def to_json(self) -> dict[str, Any]:
        """Its size, the columns and entries of each row, and the labels."""
        W = self.weights
        numbers = [int(entry) if entry.is_integer() else entry for entry in W.data.tolist()]
        columns, bounds = W.indices.tolist(), W.indptr.tolist()
        rows = [[columns[i:j], numbers[i:j]] for i, j in pairwise(bounds)]
        return {"kind": self.name, "size": W.shape[1], "rows": rows, "labels": list(self.row_labels)}

    def require_fit(self, attribute: Attribute) -> None:
        """Raise WorkloadError unless the matrix has a column for each value and its rows give the total, and more."""
        require_size(attribute)
        if attribute.size != self.weights.shape[1]:
            problem = f"the matrix for {attribute.name!r} must have a column for each of its {attribute.size} values"
            raise WorkloadError(f"{problem}, it has {self.weights.shape[1]}")
        require_more_than_total(self.weights, attribute, "the matrix")
        worst = int(np.abs(self._closest_to_ones - 1).argmax())
        closest = float(self._closest_to_ones[worst])
        if not abs(closest - 1) <= _TOLERANCE:
            problem = f"no combination of the rows of the matrix gives every value of {attribute.name!r} the weight 1"
            found = f"the closest one gives {attribute.value_labels[worst]!r} the weight {closest:.3g}"
            raise WorkloadError(f"{problem}: {found}; add rows that hold the rest, or a row of ones")

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """The labels of the rows, (q,)."""
        del attribute
        return self.row_labels

    def __repr__(self) -> str:
        rows, size = self.weights.shape
        return f"Custom({rows} {'row' if rows == 1 else 'rows'} of {size} {'value' if size == 1 else 'values'})"

    @cached_property
    def _content(self) -> tuple[object, ...]:
        W = self.weights
        return W.shape, W.indptr.tobytes(), W.indices.tobytes(), W.data.tobytes(), self.row_labels

    @cached_property
    def _closest_to_ones(self) -> FloatArray:
        return closest_to_ones(self.weights)


def _checked_matrix(matrix: ArrayLike | Any) -> "scipy.sparse.csr_array":
    try:
        given: Any = matrix if scipy.sparse.issparse(matrix) else np.asarray(matrix)
    except ValueError:
        raise WorkloadError("a custom query needs a matrix; its rows are of different lengths") from None
    if given.dtype.kind not in "biuf" or given.ndim != 2 or not min(given.shape):
        problem = "a custom query needs a matrix of numbers, a row for each answer and a column for each value"
        raise WorkloadError(f"{problem}, got {given.dtype} of shape {given.shape}")
    W = scipy.sparse.csr_array(given, dtype=np.float64, copy=True)
    W.sum_duplicates()
    W.eliminate_zeros()
    if not np.isfinite(W.data).all():
        raise WorkloadError("the matrix of a custom query must be finite in every entry")
    if W.nnz > ENTRY_LIMIT:
        raise WorkloadError(f"a custom query has {W.nnz:,} entries other than 0, the limit is {ENTRY_LIMIT:,}")
    empty = np.flatnonzero(np.diff(W.indptr) == 0)
    if len(empty):
        raise WorkloadError(f"row {empty[0] + 1} of the matrix of a custom query is all zeros; leave it out")
    largest = np.maximum.reduceat(np.abs(W.data), W.indptr[:-1])
    outside = np.flatnonzero((largest > LARGEST_ENTRY) | (largest < 1 / LARGEST_ENTRY))
    if len(outside):
        row, entry = outside[0] + 1, float(largest[outside[0]])
        problem = f"row {row} of the matrix of a custom query has {entry} for its largest entry"
        raise WorkloadError(f"{problem}; it must be between {1 / LARGEST_ENTRY:g} and {LARGEST_ENTRY:g}: scale the row")
    indexes = (frozen(W.indices.astype(np.int32)), frozen(W.indptr.astype(np.int32)))
    return scipy.sparse.csr_array((frozen(W.data), *indexes), shape=W.shape)


def _checked_labels(labels: Iterable[str] | None, count: int) -> tuple[str, ...]:
    if labels is None:
        return tuple(f"row {number + 1}" for number in range(count))
    given = () if isinstance(labels, str) or not isinstance(labels, Iterable) else tuple(labels)
    if not all(is_text(label) for label in given) or len(given) != count:
        raise WorkloadError(f"labels of a custom query must be a list of {count} strings, one for each row")
    if len(set(given)) < count:
        raise WorkloadError("labels of a custom query must differ from one another")
    return tuple(map(str, given))
