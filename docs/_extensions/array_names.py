"""Signatures show ``ArrayLike`` and ``NDArray[float64]``, as the code writes them, not what these stand for.

To be loaded before anything that imports NumPy's type aliases.
"""

from typing import Generic, TypeVar

import numpy.typing as npt

Entry = TypeVar("Entry")


class ArrayLike:
    """Stands for `numpy.typing.ArrayLike`."""

    __module__ = "builtins"  # else it would be shown


class NDArray(Generic[Entry]):
    """Stands for `numpy.typing.NDArray`."""

    __module__ = "builtins"


npt.ArrayLike = ArrayLike
npt.NDArray = NDArray
