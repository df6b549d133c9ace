"""What kinds have in common whose basic matrix is given by its entries, not by a formula.

Reads: a sparse matrix.  Gives: the methods of Kind, and the check that the matrix can be asked of an attribute.
"""

import reprlib
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.domain import Attribute
from residualplanner.errors import WorkloadError

#: The most entries other than 0 that a matrix may have; JSON of as many fits into a plan's header.
ENTRY_LIMIT = 2**20
#: How far the nearest combination of the rows may be from the row of ones.
_TOLERANCE = 1e-8
_CHUNK = 2**22


class SparseKind(ABC):
    """A kind whose rows are held as a sparse matrix."""

    @abstractmethod
    def sparse_rows(self, size: int) -> sparse.csr_array:
        """The basic matrix W, (q, size)."""

    def rows(self, size: int) -> int:
        """How many answers there are: q."""
        return self.sparse_rows(size).shape[0]

    def matrix(self, size: int) -> NDArray[np.float64]:
        """The basic matrix W, dense, (q, size)."""
        dense: NDArray[np.float64] = self.sparse_rows(size).toarray()
        return dense

    def gram(self, size: int) -> NDArray[np.float64]:
        """``W^T W``, (size, size)."""
        W = self.sparse_rows(size)
        product: NDArray[np.float64] = (W.T @ W).toarray()
        return product

    def weighted_gram(self, weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
        """``W^T diag(weights) W`` for weights (q,), (size, size)."""
        W = self.sparse_rows(size)
        product: NDArray[np.float64] = (W.T @ (sparse.diags_array(weights) @ W)).toarray()
        return product

    def apply(self, array: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """W along one axis of an array: that axis goes from n to q entries."""
        values = np.moveaxis(array, axis, 0)
        product = self.sparse_rows(len(values)) @ values.reshape(len(values), -1)
        return np.moveaxis(product.reshape(-1, *values.shape[1:]), 0, axis)

    def row_forms(self, form: NDArray[np.float64]) -> NDArray[np.float64]:
        """``w_r^T form w_r`` for every row of W and a symmetric matrix (n, n), (q,)."""
        W = self.sparse_rows(len(form))
        forms = np.empty(W.shape[0])
        step = max(1, _CHUNK // len(form))
        for start in range(0, W.shape[0], step):
            part = W[start : start + step]
            forms[start : start + step] = part.multiply(part @ form).sum(axis=1)
        return forms


def require_more_than_total(W: sparse.csr_array, attribute: Attribute, words: str) -> None:
    """Raise WorkloadError where all rows (q, n) are multiples of the row of ones and there is more than one value."""
    if attribute.size > 1 and _constant_rows(W).all():
        raise WorkloadError(
            f"{words} asks nothing of {attribute.name!r} but the total; leave {attribute.name!r} out of the query instead"
        )


def require_total(W: sparse.csr_array, attribute: Attribute, words: str) -> None:
    """Raise WorkloadError unless the row of ones is a combination of the rows.

    Args:
        W (q, n): no row without an entry other than 0.
        attribute: of n values; the message names it and them.
        words: what the rows are, such as "the matrix".

    Cost: O(n^3) where no row is constant.
    """
    if _constant_rows(W).any():
        return
    in_no_row = np.flatnonzero(np.bincount(W.indices, minlength=W.shape[1]) == 0)
    if len(in_no_row):
        raise WorkloadError(
            f"no combination of the rows of {words} gives every value of {attribute.name!r} the weight 1: "
            f"{_values_text(attribute, in_no_row)} in no row; add rows that hold the rest, or a row of ones"
        )
    closest = _closest_to_ones(W)
    far = np.abs(closest - 1)
    if not far.max() <= _TOLERANCE:
        worst = np.argsort(-far, kind="stable")[:3]
        shown = ", ".join(f"{reprlib.repr(attribute.value_labels[code])} {closest[code]:.3g}" for code in worst)
        raise WorkloadError(
            f"no combination of the rows of {words} gives every value of {attribute.name!r} the weight 1: the closest "
            f"one gives {shown}; add a row of ones"
        )


def is_text(label: object) -> bool:
    """Whether a label is a text that files can hold: not empty, and valid Unicode."""
    return isinstance(label, str) and bool(label) and not any("\ud800" <= letter <= "\udfff" for letter in label)


def _constant_rows(W: sparse.csr_array) -> NDArray[np.bool_]:
    """Which rows (q,) are multiples of the row of ones."""
    full = np.flatnonzero(np.diff(W.indptr) == W.shape[1])
    is_constant = np.zeros(W.shape[0], dtype=np.bool_)
    entries = W[full].toarray()
    is_constant[full] = np.ptp(entries, axis=1) <= 1e-9 * np.abs(entries).max(axis=1, initial=0)
    return is_constant


def _closest_to_ones(W: sparse.csr_array) -> NDArray[np.float64]:
    """The combination of the rows that is closest to the row of ones, (n,)."""
    lengths = np.sqrt(W.multiply(W).sum(axis=1))
    unit = sparse.diags_array(1 / lengths) @ W
    values, vectors = np.linalg.eigh((unit.T @ unit).toarray())
    spanned = vectors[:, values > 1e-13 * values[-1]]
    closest: NDArray[np.float64] = spanned @ spanned.sum(axis=0)
    return closest


def _values_text(attribute: Attribute, codes: NDArray[np.int64]) -> str:
    """``the value 3 is``, or ``the values 3, 7 are``."""
    shown = ", ".join(reprlib.repr(attribute.value_labels[code]) for code in codes[:5])
    if len(codes) == 1:
        return f"the value {shown} is"
    return f"the values {shown} are" if len(codes) <= 5 else f"the values {shown} and {len(codes) - 5} more are"
