"""Weights on all cells of one query, and what follows from them in residual coordinates: arrays in, arrays out.

Reads: kinds of query.  Gives: QueryRows.
Source: spec eqs. (17) and (33).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray
from residualplanner.optimize.bound.svd_factors import reflected
from residualplanner.queries import Kind

#: How many pairs of entries are worked on at a time.
_CHUNK = 2**22


@dataclass(frozen=True, eq=False, slots=True)
class QueryRows:
    """Queries that are alike: their cells' weights are one array, with an axis for each attribute with rows of its own.

    Attributes:
        kinds: what is asked of the attribute of each axis.
        sizes: how many values it has.
        count: how many cells there are for each weight, those that differ in other attributes' values taken as one.
    """

    kinds: tuple[Kind, ...]
    sizes: tuple[int, ...]
    count: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of weights."""
        return tuple(kind.rows(size) for kind, size in zip(self.kinds, self.sizes, strict=True))

    def gram(self, weights: FloatArray) -> NDArray[np.float64]:
        """The weighted Gram matrix of the rows in residual coordinates, over the product of the sizes, (n, n)."""
        if len(self.sizes) == 1:
            gram = self.kinds[0].weighted_gram(weights, self.sizes[0])
            return reflected(reflected(gram).T) / self.sizes[0]
        found = weights
        for kind, size in zip(self.kinds, self.sizes, strict=True):
            flat = found.reshape(len(found), -1)
            pieces = [flat[rows].T @ squares for rows, squares in _squares(kind, size)]
            found = np.sum(pieces, axis=0).reshape(*found.shape[1:], -1)  # the axis goes last, as pairs of coordinates
        pairs = found.reshape(np.repeat(self.sizes, 2))
        order = [*range(0, pairs.ndim, 2), *range(1, pairs.ndim, 2)]
        return pairs.transpose(order).reshape(math.prod(self.sizes), -1)

    def row_forms(self, form: NDArray[np.float64]) -> FloatArray:
        """``w^T form w`` over the product of the sizes for every row w in residual coordinates, shaped as weights."""
        if len(self.sizes) == 1:
            return self.kinds[0].row_forms(reflected(reflected(form).T)) / self.sizes[0]
        half = len(self.sizes)
        pairs = form.reshape(self.sizes * 2).transpose([axis for i in range(half) for axis in (i, half + i)])
        found: FloatArray = pairs.reshape([size * size for size in self.sizes])
        for kind, size in zip(self.kinds, self.sizes, strict=True):
            flat = found.reshape(size * size, -1)
            pieces = [(squares @ flat).T for _, squares in _squares(kind, size)]
            found = np.concatenate(pieces, axis=1).reshape(*found.shape[1:], -1)
        return found


def _squares(kind: Kind, size: int) -> Iterator[tuple[slice, FloatArray]]:
    """For runs of rows of a kind: which they are, and the products of all pairs of entries of each, (q, n * n).

    Entries are those in residual coordinates, over the root of n.
    """
    rows = reflected(kind.matrix(size)) / np.sqrt(size)
    step = max(1, _CHUNK // size**2)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        yield slice(start, start + step), (part[:, :, None] * part[:, None, :]).reshape(len(part), -1)
