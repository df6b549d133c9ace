"""The basic matrix of a kind of query, as a sparse matrix; and whether its rows give the total."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray, IntArray, is_unicode
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.kron import SameArray, namespace, sparse_product

#: The most entries other than 0 that a matrix may have; JSON of as many fits into a plan's header.
ENTRY_LIMIT = 2**20
#: Rows whose entries differ by no more than this, relative, are multiples of the row of ones, but for rounding.
_EVEN = 1e-13
#: Eigenvalues of the rows' Gram matrix, all of length 1, below this fraction of the largest count as 0.
_ZERO = 1e-13
#: As many multiplications take seconds; rows and values of parts that are checked as one.
_QUICK, _SMALL = 2.0**34, 256
_CHUNK = 2**22


class Rows(ABC):
    """A matrix W (q, n) over the values of one attribute, held as a sparse one unless there is something better.

    No method but ``matrix`` forms it densely.
    """

    @property
    def is_identity(self) -> bool:
        """Whether its rows are the values themselves, one after another."""
        return False

    @abstractmethod
    def sparse_rows(self, size: int) -> sparse.csr_array:
        """W without its entries 0, (q, n)."""

    def rows(self, size: int) -> int:
        """How many answers an attribute of ``size`` values gets: q."""
        return self.sparse_rows(size).shape[0]

    def matrix(self, size: int) -> FloatArray:
        """W, dense, (q, n)."""
        dense: FloatArray = self.sparse_rows(size).toarray()
        return dense

    def gram(self, size: int) -> FloatArray:
        """``W^T W``, (n, n)."""
        return _gram(self.sparse_rows(size))

    def weighted_gram(self, weights: FloatArray, size: int) -> FloatArray:
        """``W^T diag(weights) W`` for weights (q,), (n, n)."""
        return _gram(self.sparse_rows(size), weights)

    def augmented_gram(self, size: int, weights: FloatArray | None = None) -> FloatArray:
        """``[c | D]^T diag(weights) [c | D]`` for the parts of `centered` and weights (q,) or 1, (1 + n, 1 + n)."""
        rows, constant = _without_constants(self.sparse_rows(size))
        return _gram(sparse.hstack([sparse.csr_array(constant[:, None]), rows], format="csr"), weights)

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

    held: sparse.csr_array

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """The rows, (q, size)."""
        del size
        return self.held


def _firsts(keys: Iterable[object]) -> IntArray:
    """For each key the position of the first one that is equal."""
    first: dict[object, int] = {}
    return np.array([first.setdefault(key, value) for value, key in enumerate(keys)], dtype=np.int64)


def _columns(rows: sparse.csr_array) -> list[tuple[bytes, bytes]]:
    """The rows and the entries of each column, which are equal where columns are."""
    columns = rows.tocsc()
    columns.sort_indices()
    ends = zip(columns.indptr[:-1].tolist(), columns.indptr[1:].tolist(), strict=True)
    return [(columns.indices[start:end].tobytes(), columns.data[start:end].tobytes()) for start, end in ends]


def require_more_than_total(W: sparse.csr_array, attribute: Attribute, words: str) -> None:
    """Raise WorkloadError where all rows (q, n) are multiples of the row of ones and there is more than one value."""
    if attribute.size > 1 and _constant_rows(W).all():
        problem = f"{words} gives nothing but the total of {attribute.name!r}"
        raise WorkloadError(f"{problem}; leave the attribute out of the query instead")


def closest_to_ones(W: sparse.csr_array) -> FloatArray:
    """The combination of the rows W (q, n), none of them all 0, that is closest to the row of ones, (n,).

    WorkloadError where rows overlap so much that it would take minutes; with a constant row it is ones.

    Cost: O(n min(q, n)^2) where no row is constant; beyond `_QUICK` only within parts that share no value.
    """
    closest = np.ones(W.shape[1])
    if _constant_rows(W).any():
        return closest
    for rows, columns in _parts(W):
        if not _cost(len(rows), len(columns)) <= _QUICK:
            raise WorkloadError(
                "the matrix is too large to check whether its rows give every value the weight 1: "
                f"{len(rows):,} of them share {len(columns):,} values; add a row of ones"
            )
        closest[columns] = _projected_ones(W[rows][:, columns])
    return closest


def is_text(label: object) -> bool:
    """Whether a label is a string that files can hold: not empty, and valid Unicode."""
    return isinstance(label, str) and bool(label) and is_unicode(label)


def _gram(W: sparse.csr_array, weights: FloatArray | None = None) -> FloatArray:
    weighted = W if weights is None else sparse.diags_array(weights) @ W
    product: FloatArray = (W.T @ weighted).toarray()
    return product


def _constant_rows(W: sparse.csr_array) -> NDArray[np.bool_]:
    """Which rows (q,) are multiples of the row of ones."""
    full = np.flatnonzero(np.diff(W.indptr) == W.shape[1])
    is_constant = np.zeros(W.shape[0], dtype=np.bool_)
    entries = W[full].toarray()
    is_constant[full] = np.ptp(entries, axis=1) <= _EVEN * np.abs(entries).max(axis=1, initial=0)
    return is_constant


def _without_constants(W: sparse.csr_array) -> tuple[sparse.csr_array, FloatArray]:
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
    rows = sparse.csr_array((W.data - np.repeat(constant, counts), W.indices, W.indptr), shape=W.shape)
    return rows, constant


def _parts(W: sparse.csr_array) -> Iterator[tuple[IntArray, IntArray]]:
    """The rows and columns of parts that have no entry in common but 0: all of W where that is small."""
    if _cost(*W.shape) <= _QUICK:
        yield np.arange(W.shape[0]), np.arange(W.shape[1])
        return
    from scipy.sparse.csgraph import connected_components  # takes a thirtieth of the time to import the package

    graph: Any = sparse.block_array([[None, W], [W.T, None]], format="csr")
    number = connected_components(graph, directed=False)[1]
    group = np.cumsum(np.bincount(number))[number] // _SMALL  # small parts together
    order = np.argsort(group, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        is_row = part < W.shape[0]
        yield part[is_row], part[~is_row] - W.shape[0]


def _cost(rows: int, columns: int) -> float:
    """How many multiplications `_projected_ones` takes, up to a factor."""
    return float(columns) * min(rows, columns) ** 2 * (4 if rows < columns else 1)


def _projected_ones(W: sparse.csr_array) -> FloatArray:
    """The combination of the rows that is closest to the row of ones, (n,)."""
    if not W.shape[0]:  # values that are in no row
        return np.zeros(W.shape[1])
    lengths = np.sqrt(W.multiply(W).sum(axis=1))
    unit = sparse.diags_array(1 / lengths) @ W
    # The projection on the row space; rows of unit length, so that none is lost beside large ones.
    if W.shape[0] < W.shape[1]:
        _, roots, vectors = np.linalg.svd(unit.toarray(), full_matrices=False)
        spanned = vectors[roots > np.sqrt(_ZERO) * roots[0]].T
    else:
        values, columns = np.linalg.eigh((unit.T @ unit).toarray())
        spanned = columns[:, values > _ZERO * values[-1]]
    closest: FloatArray = spanned @ spanned.sum(axis=0)
    return closest
