"""Matrices of integers in whatever form, as they are applied along one axis of tables.

Source: eq. (36).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.kron.arrays import Array
from residualplanner.method.kron.exact_products import exact_product, float_product


class IntegerMap(Protocol):
    """A matrix (m, n) of integers, in whatever form, that is applied along one axis of tables."""

    @property
    def largest(self) -> int:
        """The largest entry in size, at least 1."""
        ...

    @property
    def roundings(self) -> int:
        """How many roundings a term of an answer goes through at most in floating point."""
        ...

    def modulo(self, tables: IntArray, axis: int, total: int) -> IntArray:
        """The products modulo ``2**64``: exact where ``total``, as in `exact_product`, times the largest entry fits."""
        ...

    def exact(self, tables: Array, axis: int) -> Array:
        """The products in Python integers."""
        ...

    def near(self, tables: FloatArray, axis: int) -> FloatArray:
        """The products in floating point."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class DenseIntegers:
    """A matrix of integers as it is.

    Attributes:
        matrix (m, n): int64.
    """

    matrix: IntArray

    @property
    def largest(self) -> int:
        """The largest entry in size, at least 1."""
        return max(1, int(np.abs(self.matrix).max(initial=0)))

    @property
    def roundings(self) -> int:
        """N: one for each term of a sum."""
        return int(self.matrix.shape[1])

    def modulo(self, tables: IntArray, axis: int, total: int) -> IntArray:
        """As `exact_product`."""
        products: IntArray = along_axis(partial(exact_product, total=total), self.matrix, tables, axis)
        return products

    def exact(self, tables: Array, axis: int) -> Array:
        """In Python integers."""
        return along_axis(np.matmul, self.matrix.astype(object), tables.astype(object), axis)

    def near(self, tables: FloatArray, axis: int) -> FloatArray:
        """In double precision."""
        products: FloatArray = along_axis(float_product, self.matrix.astype(np.float64), tables, axis)
        return products


def integer_maps(matrices: Mapping[int, IntArray | IntegerMap]) -> dict[int, IntegerMap]:
    """The matrices of axes, each as a map."""
    return {
        axis: DenseIntegers(matrix) if isinstance(matrix, np.ndarray) else matrix for axis, matrix in matrices.items()
    }


def along_axis(product: Callable[[Array, Array], Array], matrix: Array, tables: Array, axis: int) -> Array:
    """Apply a matrix (m, n) along one axis of ``tables`` by a product along the middle axis of a stack (a, n, r)."""
    before, after = tables.shape[:axis], tables.shape[axis + 1 :]
    mapped = product(matrix, tables.reshape(math.prod(before), tables.shape[axis], math.prod(after)))
    return mapped.reshape(*before, len(matrix), *after)
