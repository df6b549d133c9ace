"""The only module here that knows which array library is at work.

Reads: arrays of any library that follows the array API standard.  Gives: its namespace, and the few operations
for which the standard has no fast way.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: An array of any library that follows the array API standard.
Array = Any


def namespace(*arrays: Array) -> Any:
    """The array API namespace of all ``arrays``.

    Raises:
        TypeError: they come from different libraries, or from one that does not follow the standard.

    Example:
        >>> namespace(np.ones(2)).__name__
        'numpy'
    """
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


def take(array: Array, rows: NDArray[np.int64]) -> Array:
    """The ``rows`` (b,) of ``array`` (g, ..)."""
    if isinstance(array, np.ndarray):
        return array.take(rows, axis=0)
    xp = namespace(array)
    return xp.take(array, xp.asarray(rows, device=array.device), axis=0)


def multiply_into(out: Array, left: Array, right: Array) -> None:
    """Write the matrix product of ``left`` and ``right`` to ``out``."""
    if isinstance(out, np.ndarray):
        np.matmul(left, right, out=out)
    else:
        out[...] = namespace(left, right).matmul(left, right)


def subtract_into(out: Array, left: Array, right: Array) -> None:
    """Write the difference of ``left`` and ``right`` to ``out``."""
    if isinstance(out, np.ndarray):
        np.subtract(left, right, out=out)
    else:
        out[...] = left - right


class Scratch:
    """Memory that batch after batch works in, so that it stays in the processor's cache; for one thread."""

    def __init__(self) -> None:
        self._memory: dict[tuple[int, np.dtype[Any]], NDArray[Any]] = {}

    def empty(self, slot: int, shape: tuple[int, ...], like: Array) -> Array:
        """An array of ``shape`` and of the library and type of ``like``, over what was in ``slot`` before."""
        if not isinstance(like, np.ndarray):
            return namespace(like).empty(shape, dtype=like.dtype, device=like.device)
        size = math.prod(shape)
        memory = self._memory.get((slot, like.dtype))
        if memory is None or memory.size < size:
            memory = self._memory[slot, like.dtype] = np.empty(size, like.dtype)
        return memory[:size].reshape(shape)


def _namespace_of(array: Array) -> Any:
    if isinstance(array, np.ndarray):
        return np
    found = getattr(array, "__array_namespace__", None)
    if found is None:
        raise TypeError(f"{type(array).__name__} does not follow the array API standard; use a NumPy array")
    return found()
