"""Numbers read exactly, and conversions whose rounding goes one way."""

import decimal
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

import numpy as np

from residualplanner.ground.checks import Number, require_fraction, spelling
from residualplanner.ground.errors import BudgetError

MAX_BITS = 8192  # of a numerator or denominator: room for the square of any float, far below Python's limit on digits
_MAX_TEXT = 5000
_MAX_EXPONENT = 1000
_SHORT = 40
#: By how much, relative, the number that a budget is stated with may exceed the one it was made of, a float.
ROUNDING = Fraction(1, 10**9)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9_]+)")

# Python's decimal rounds + - * / sqrt exp ln correctly, so with 80 digits each step errs by at most 1e-79 relative.
_TRAPS = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
_CONTEXT = decimal.Context(prec=80, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=_TRAPS)
SLACK = Decimal("1e-74")  # exceeds the rounding of a few hundred steps of such arithmetic
_CLOSE = 1 + Decimal("1e-18")


@contextmanager
def working_digits() -> Iterator[None]:
    """Do decimal arithmetic with 80 digits and exponents that cannot overflow by accident."""
    with localcontext(_CONTEXT):
        yield


def read_allowance(name: str, value: Number) -> Fraction:
    """Return a positive limit exactly; a float means the smaller of its binary value and its decimal spelling."""
    if isinstance(value, str | Decimal):
        _require_short_text(name, str(value))
    exact = require_fraction(name, value)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > MAX_BITS:
        raise BudgetError(f"{name} has too many digits; write it with at most {_MAX_TEXT}")
    return exact


def read_epsilon(value: Number) -> Fraction:
    """Return epsilon exactly, as ``read_allowance`` but with zero allowed."""
    return Fraction(0) if _is_zero(value) else read_allowance("epsilon", value)


def read_delta(value: Number) -> Fraction:
    """Return delta exactly, as ``read_allowance`` but below 1; BudgetError unless it is strictly between 0 and 1."""
    exact = read_allowance("delta", value)
    if not exact < 1:
        raise BudgetError(f"delta must lie strictly between 0 and 1, got {value!r}")
    return exact


def given_text(value: Number, exact: Fraction) -> str:
    """Return a number as the user wrote it; exactly where that is long, or a float with few digits left."""
    if isinstance(value, float | np.floating):
        text, is_coarse = spelling(value), value < sys.float_info.min
        if not Fraction(text) * (1 - ROUNDING) <= exact:  # of 32 bits or fewer, and below its spelling
            text = repr(float(value))
    else:
        text, is_coarse = str(value).strip(), False
    return str(exact) if is_coarse or len(text) > _SHORT else text


def decimal_up(exact: Fraction) -> Decimal:
    """Return the smallest decimal of the working digits that is at least ``exact``."""
    return _quotient(exact, ROUND_CEILING)


def decimal_down(exact: Fraction) -> Decimal:
    """Return the largest decimal of the working digits that is at most ``exact``."""
    return _quotient(exact, ROUND_FLOOR)


def root_up(exact: Fraction) -> Decimal:
    """Return the square root of ``exact``, or the working digits' next decimal above it."""
    root = decimal_up(exact).sqrt()
    return root if Fraction(root) ** 2 >= exact else root.next_plus()


def float_up(exact: Fraction | Decimal) -> float:
    """Return the smallest float that is at least ``exact``."""
    nearest = float(exact)
    return nearest if type(exact)(nearest) >= exact else math.nextafter(nearest, math.inf)


def crossing(is_past: Callable[[Decimal], bool], low: Decimal, high: Decimal) -> tuple[Decimal, Decimal]:
    """Narrow ``[low, high]`` to 1e-18 relative around the point where a monotone yes-no question turns to yes.

    A returned end is either the given one or was tried: the answer is no at the lower end, yes at the upper.
    """
    while high > low * _CLOSE:
        middle = (low * high).sqrt()
        if is_past(middle):
            high = middle
        else:
            low = middle
    return low, high


def _quotient(exact: Fraction, rounding: str) -> Decimal:
    with localcontext() as context:
        context.rounding = rounding
        return Decimal(exact.numerator) / Decimal(exact.denominator)


def _is_zero(value: Number) -> bool:
    if not isinstance(value, str):
        return isinstance(value, Number | np.integer | np.floating) and not isinstance(value, bool) and not value
    _require_short_text("epsilon", value)
    try:
        return not Fraction(value)
    except (ValueError, ZeroDivisionError):
        return False


def _require_short_text(name: str, text: str) -> None:
    exponent = _EXPONENT.search(text)
    # The length first: turning a long exponent into an int is itself work.
    if len(text) > _MAX_TEXT or (exponent and not abs(int(exponent[1])) <= _MAX_EXPONENT):
        raise BudgetError(f"{name} has too many digits; write it with at most {_MAX_TEXT}")
