"""The basic matrix of a kind of query, as a sparse matrix; and whether its rows give the total."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray, is_unicode
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.kron.arrays import SameArray, namespace, sparse_product

#: The most entries other than 0 that a matrix may have; JSON of as many fits into a plan's header.
ENTRY_LIMIT = 2**20
#: Rows whose entries differ by no more than this, relative, are multiples of the row of ones, but for rounding.
_EVEN = 1e-13
#: Eigenvalues of the rows' Gram matrix, all of length 1, below this fraction of the largest count as 0.
_ZERO = 1e-13
#: As many multiplications take seconds; steps of a search, and SciPy's number for one that was stopped.
_QUICK, _SEARCH, _AT_LIMIT = 2.0**34, 2_000, 7
_CHUNK = 2**22


class Rows(ABC):
    """A matrix W (q, n) over the values of one attribute, which no method but ``matrix`` forms densely."""

    is_identity: ClassVar[bool] = False  # whether its rows are the values themselves, one after another

    @abstractmethod
    def sparse_rows(self, size: int) -> "scipy.sparse.csr_array":
        """W without its entries 0, (q, n)."""

    def rows(self, size: int) -> int:
        """How many answers an attribute of ``size`` values gets: q."""
        return self.sparse_rows(size).shape[0]

    def matrix(self, size: int) -> FloatArray:
        """W, dense, (q, n)."""
        return np.asarray(self.sparse_rows(size).toarray())

    def gram(self, size: int) -> FloatArray:
        """``W^T W``, (n, n)."""
        return _gram(self.sparse_rows(size))

    def weighted_gram(self, weights: FloatArray, size: int) -> FloatArray:
        """``W^T diag(weights) W`` for weights (q,), (n, n)."""
        return _gram(self.sparse_rows(size), weights)

    def augmented_gram(self, size: int, weights: FloatArray | None = None) -> FloatArray:
        """``[c | D]^T diag(weights) [c | D]`` for the parts of `centered` and weights (q,) or 1, (1 + n, 1 + n)."""
        rows, constant = _without_constants(self.sparse_rows(size))
        return _gram(scipy.sparse.hstack([scipy.sparse.csr_array(constant[:, None]), rows], format="csr"), weights)

    def centered(self, size: int) -> "Centered":
        """``W = c 1^T + D``: c the mean of the least and largest entry of rows without an entry 0, and the rest."""
        rows, constant = _without_constants(self.sparse_rows(size))
        return Centered(_Deviations(rows), constant)

    def equal_columns(self, size: int) -> IntArray:
        """The first value that has the same column of W as each, (n,)."""
        return _firsts(_columns(self.sparse_rows(size)))

    def exchangeable_values(self, size: int) -> IntArray:
        """Numbers (n,), equal only where values can be exchanged: some order of the rows is unchanged: eq. (113).

        Such have the same entries in rows of several values, and equal rows of their own.
        """
        rows = self.sparse_rows(size)
        single = np.diff(rows.indptr) == 1
        own = rows[single].tocsc()
        ends = zip(own.indptr[:-1].tolist(), own.indptr[1:].tolist(), strict=True)
        entries = (tuple(sorted(own.data[start:end].tolist())) for start, end in ends)
        return _firsts(zip(_columns(rows[~single]), entries, strict=True))

    def apply(self, array: SameArray, axis: int) -> SameArray:
        """W along one axis of an array of any library: that axis goes from n to q entries, where the array is."""
        xp = namespace(array)
        values = xp.moveaxis(array, axis, 0)
        size, *others = values.shape
        product = sparse_product(self.sparse_rows(size), xp.reshape(values, (size, math.prod(others))))
        answers: SameArray = xp.moveaxis(xp.reshape(product, (product.shape[0], *others)), 0, axis)
        return answers

    def row_forms(self, form: FloatArray) -> FloatArray:
        """``w_r^T form w_r`` for every row of W and a symmetric matrix (n, n), (q,)."""
        W = self.sparse_rows(len(form))
        forms = np.empty(W.shape[0])
        step = max(1, _CHUNK // len(form))
        for start in range(0, W.shape[0], step):
            part = W[start : start + step]
            forms[start : start + step] = part.multiply(part @ form).sum(axis=1)
        return forms


class Centered(NamedTuple):
    """A basic matrix as ``W = c 1^T + D``.

    Residuals other than the total do not depend on c.  Rows such as the days 20,240,101 to 20,240,105 would lose all
    digits in which their entries differ in products with W.
    """

    rows: Rows  # D (q, n)
    constant: FloatArray  # c (q,), or one 0 that stands for all


@dataclass(frozen=True, eq=False, slots=True)
class _Deviations(Rows):
    """The rows (q, n) of a kind without their constant parts: they need not give the total."""

    held: "scipy.sparse.csr_array"

    def sparse_rows(self, size: int) -> "scipy.sparse.csr_array":
        del size
        return self.held


def _firsts(keys: Iterable[object]) -> IntArray:
    """For each key the position of the first one that is equal."""
    first: dict[object, int] = {}
    return np.array([first.setdefault(key, value) for value, key in enumerate(keys)], dtype=np.int64)


def _columns(rows: "scipy.sparse.csr_array") -> list[tuple[bytes, bytes]]:
    columns = rows.tocsc()
    columns.sort_indices()
    ends = zip(columns.indptr[:-1].tolist(), columns.indptr[1:].tolist(), strict=True)
    return [(columns.indices[start:end].tobytes(), columns.data[start:end].tobytes()) for start, end in ends]


def require_more_than_total(W: "scipy.sparse.csr_array", attribute: Attribute, words: str) -> None:
    """Raise WorkloadError where all rows (q, n) are multiples of the row of ones and there is more than one value."""
    if attribute.size > 1 and _constant_rows(W).all():
        raise WorkloadError(f"{words} gives nothing but the total of {attribute.name!r}; leave it out of the query")


def closest_to_ones(W: "scipy.sparse.csr_array") -> FloatArray:
    """The combination of the rows W (q, n), none of them all 0, that is closest to the row of ones, (n,).

    With a constant row it is ones; WorkloadError where it would take minutes.
    """
    rows, columns = W.shape
    if _constant_rows(W).any():
        return np.ones(columns)
    if columns * min(rows, columns) ** 2 * (4 if rows < columns else 1) <= _QUICK:
        return _projected_ones(W)
    from scipy.sparse.linalg import lsqr  # takes a thirtieth of the time to import the package

    combination, stopped, *_ = lsqr(W.T, np.ones(columns), atol=1e-14, btol=1e-14, iter_lim=_SEARCH)
    if stopped == _AT_LIMIT:
        raise WorkloadError("too large to check whether its rows give every value the weight 1; add a row of ones")
    return np.asarray(W.T @ combination)


def is_text(label: object) -> bool:
    """Whether a label is a string that files can hold: not empty, and valid Unicode."""
    return isinstance(label, str) and bool(label) and is_unicode(label)


def _gram(W: "scipy.sparse.csr_array", weights: FloatArray | None = None) -> FloatArray:
    weighted = W if weights is None else scipy.sparse.diags_array(weights) @ W
    return np.asarray((W.T @ weighted).toarray())


def _constant_rows(W: "scipy.sparse.csr_array") -> NDArray[np.bool_]:
    full = np.flatnonzero(np.diff(W.indptr) == W.shape[1])
    is_constant = np.zeros(W.shape[0], dtype=np.bool_)
    entries = W[full].toarray()
    is_constant[full] = np.ptp(entries, axis=1) <= _EVEN * np.abs(entries).max(axis=1, initial=0)
    return is_constant


def _without_constants(W: "scipy.sparse.csr_array") -> "tuple[scipy.sparse.csr_array, FloatArray]":
    """The rows (q, n) minus the midrange of those that have no entry 0, and these midranges (q,), 0 for the others.

    The midrange of equal entries is their value, so a multiple of the row of ones becomes zero.
    """
    constant, counts = np.zeros(W.shape[0]), np.diff(W.indptr)
    full = np.flatnonzero(counts == W.shape[1])
    if not len(full):
        return W, constant
    starts = W.indptr[full]
    entries = W.data[starts[:, None] + np.arange(W.shape[1])]
    constant[full] = entries.min(axis=1) / 2 + entries.max(axis=1) / 2
    rows = scipy.sparse.csr_array((W.data - np.repeat(constant, counts), W.indices, W.indptr), shape=W.shape)
    return rows, constant


def _projected_ones(W: "scipy.sparse.csr_array") -> FloatArray:
    lengths = np.sqrt(W.multiply(W).sum(axis=1))
    unit = scipy.sparse.diags_array(1 / lengths) @ W
    # The projection on the row space; rows of unit length, so that none is lost beside large ones.
    if W.shape[0] < W.shape[1]:
        _, roots, vectors = np.linalg.svd(unit.toarray(), full_matrices=False)
        spanned = vectors[roots > np.sqrt(_ZERO) * roots[0]].T
    else:
        values, columns = np.linalg.eigh((unit.T @ unit).toarray())
        spanned = columns[:, values > _ZERO * values[-1]]
    return np.asarray(spanned @ spanned.sum(axis=0))
