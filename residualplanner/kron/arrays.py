"""The only module here that knows which array library is at work.

Reads: arrays of any library that follows the array API standard.  Gives: its namespace.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: An array of any library that follows the array API standard.
Array = Any


def namespace(*arrays: Array) -> Any:
    """The array API namespace that ``arrays`` share.

    Raises:
        TypeError: they come from different libraries, or from one that does not follow the standard.

    Example:
        >>> namespace(np.ones(2)).__name__
        'numpy'
    """
    found = {id(space): space for space in map(_namespace_of, arrays)}
    if len(found) != 1:
        names = sorted(getattr(space, "__name__", "?") for space in found.values())
        raise TypeError(f"arrays must come from one library, got {names}")
    return next(iter(found.values()))


def like(values: NDArray[Any], array: Array) -> Array:
    """``values`` as an array of the library, type and device of ``array``; the same object where that is NumPy's."""
    if isinstance(array, np.ndarray):
        return values.astype(array.dtype, copy=False)
    return namespace(array).asarray(values, dtype=array.dtype, device=array.device)


def indices(values: NDArray[np.int64], array: Array) -> Array:
    """``values`` as integers of the library and device of ``array``."""
    if isinstance(array, np.ndarray):
        return values
    return namespace(array).asarray(values, device=array.device)


def _namespace_of(array: Array) -> Any:
    if isinstance(array, np.ndarray):
        return np
    found = getattr(array, "__array_namespace__", None)
    if found is None:
        raise TypeError(f"{type(array).__name__} does not follow the array API standard; use a NumPy array")
    return found()
