"""The only module here that knows which array library is at work.

Nothing here moves an array to another device: what is made is made where the array beside it is.
"""

import math
from typing import Any, TypeVar

import numpy as np
import scipy  # which loads scipy.sparse, a third of the time to import the three verbs, where it is first used
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray

#: An array of any library that follows the array API standard.
Array = Any
#: An array, and another one of the same library, on the same device.
SameArray = TypeVar("SameArray")
#: How many entries of a sparse matrix are written out at a time where a library has only dense products.
_DENSE_ENTRIES = 2**22


def namespace(*arrays: Array) -> Any:
    """The array API namespace of all ``arrays``; TypeError where they are of different libraries, or of none."""
    spaces = [_namespace_of(array) for array in arrays]
    if any(space is not spaces[0] for space in spaces):
        names = sorted({getattr(space, "__name__", "?") for space in spaces})
        raise TypeError(f"arrays must come from one library, got {names}")
    return spaces[0]


def like(values: NDArray[Any], array: Array) -> Array:
    """``values`` as an array of the library, type and device of ``array``; the same object where that is NumPy's."""
    if isinstance(array, np.ndarray):
        return values.astype(array.dtype, copy=False)
    return namespace(array).asarray(values, dtype=array.dtype, device=array.device)


def empty_floats(shape: tuple[int, ...], array: Array) -> Array:
    """Double precision of ``shape`` where ``array`` is, its entries not set."""
    if isinstance(array, np.ndarray):
        return np.empty(shape)
    xp = namespace(array)
    return xp.empty(shape, dtype=xp.float64, device=array.device)


def take(array: Array, rows: IntArray) -> Array:
    """The ``rows`` (b,) of ``array`` (g, ..)."""
    if isinstance(array, np.ndarray):
        return array.take(rows, axis=0)
    xp = namespace(array)
    return xp.take(array, xp.asarray(rows, device=array.device), axis=0)


def quotients(integers: Array, divisor: int) -> Array:
    """``integers``, or floats, divided by an integer below ``2**53``, rounded as in NumPy: as a float, then divided."""
    if isinstance(integers, np.ndarray):
        return integers if divisor == 1 else integers / divisor
    xp = namespace(integers)
    floats = xp.astype(integers, xp.float64, copy=False)
    return floats if divisor == 1 else floats / float(divisor)


def multiply_into(out: Array, left: Array, right: Array) -> None:
    """Write the products of matrices ``left`` (b, r, n) and one matrix ``right`` (n, m) to ``out`` (b, r, m)."""
    if isinstance(out, np.ndarray):
        np.matmul(left, right, out=out)
        return
    xp = namespace(left, right)  # all of ``left`` is one tall matrix: CuPy would multiply matrix by matrix
    tall = xp.reshape(left, (math.prod(left.shape[:-1]), left.shape[-1]))
    out[...] = xp.reshape(xp.matmul(tall, right), out.shape)


def subtract_into(out: Array, left: Array, right: Array) -> None:
    """Write the difference of ``left`` and ``right`` to ``out``."""
    if isinstance(out, np.ndarray):
        np.subtract(left, right, out=out)
    else:
        out[...] = left - right


def cumulative_sums(array: SameArray, axis: int) -> SameArray:
    """The cumulative sums of ``array`` along an axis."""
    xp = namespace(array)
    # NumPy 2.0 has no `cumulative_sum`.
    sums: SameArray = xp.cumsum(array, axis=axis) if xp is np else xp.cumulative_sum(array, axis=axis)
    return sums


def add_up_into(out: Array, values: Array) -> None:
    """Write the cumulative sums of ``values`` along their last axis to ``out``, of the same shape."""
    if isinstance(out, np.ndarray):
        np.cumsum(values, axis=-1, out=out)
    else:
        out[...] = cumulative_sums(values, -1)


def sparse_product(matrix: "scipy.sparse.csr_array", values: Array) -> Array:
    """The product of a sparse ``matrix`` (q, n) and ``values`` (n, r), (q, r)."""
    if isinstance(values, np.ndarray):
        return matrix @ values
    xp, (rows, columns) = namespace(values), matrix.shape
    step = max(1, _DENSE_ENTRIES // max(1, columns))
    parts = (matrix[start : start + step].toarray() for start in range(0, rows, step))
    return xp.concat([xp.matmul(like(part, values), values) for part in parts])


def read_only(array: Array) -> Array:
    """``array`` itself, marked read-only where its library has such a mark."""
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    return array


class Scratch:
    """Memory that batch after batch works in, so that it stays in the processor's cache; for one thread."""

    def __init__(self) -> None:
        self._memory: dict[tuple[int, np.dtype[Any]], NDArray[Any]] = {}

    def empty(self, slot: int, shape: tuple[int, ...], like: Array) -> Array:
        """An array of ``shape`` and of the library and type of ``like``, over what was in ``slot`` before."""
        if not isinstance(like, np.ndarray):  # others keep the memory of arrays that are gone themselves
            return namespace(like).empty(shape, dtype=like.dtype, device=like.device)
        size = math.prod(shape)
        memory = self._memory.get((slot, like.dtype))
        if memory is None or memory.size < size:
            memory = self._memory[slot, like.dtype] = np.empty(size, like.dtype)
        return memory[:size].reshape(shape)


def _namespace_of(array: Array) -> Any:
    if isinstance(array, np.ndarray):
        return np
    # Here, as only those who use another library need it; CuPy and PyTorch have no namespace of their own.
    from array_api_compat import array_namespace, is_array_api_obj

    if not is_array_api_obj(array):
        raise TypeError(f"{type(array).__name__} does not follow the array API standard; use a NumPy array")
    return array_namespace(array)
