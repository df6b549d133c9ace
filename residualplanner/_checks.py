"""Checks on numbers and arrays that come from callers.

Every comparison is written so that NaN fails it.
"""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.errors import BudgetError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Number = int | float | str | Fraction | Decimal


def require_positive(name: str, value: float) -> float:
    """Return ``value`` as a float, or raise BudgetError unless ``0 < value < inf``."""
    number = _as_float(value)
    if not 0 < number < math.inf:
        raise BudgetError(f"{name} must be positive and finite, got {value!r}")
    return number


def require_fraction(name: str, value: Number) -> Fraction:
    """Return ``value`` as an exact positive fraction, or raise BudgetError.

    A float is read as the smaller of its binary value and its decimal spelling: 0.1 means at most 1/10.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction | Decimal | np.number):
        raise BudgetError(f"{name} must be a number, got {value!r}")
    try:
        if isinstance(value, float | np.floating):
            exact = min(Fraction(float(value)), Fraction(repr(float(value))))
        else:
            exact = Fraction(value) if not isinstance(value, np.number) else Fraction(int(value))
    except (ValueError, OverflowError, ZeroDivisionError):
        raise BudgetError(f"{name} must be positive and finite, got {value!r}") from None
    if not exact > 0:
        raise BudgetError(f"{name} must be positive and finite, got {value!r}")
    return exact


def frozen_float_array(name: str, values: ArrayLike, *, ndim: int) -> FloatArray:
    """Return a read-only float64 copy of ``values``, or raise ValueError if its rank or an entry is wrong."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} axes, got {array.ndim}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite in every entry")
    return frozen(array)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Mark ``array`` read-only and return it."""
    array.flags.writeable = False
    return array


def _as_float(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | Decimal | np.number):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf
