"""Amounts in units: what users declare as exact fractions, and what columns hold as multiples of a unit."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray, spelling, value_text
from residualplanner.ground.errors import DomainError
from residualplanner.ground.words import suggestion
from residualplanner.method.domain.entries import is_narrow, number_of, spelled
from residualplanner.method.domain.families import UNKNOWN, Entries

#: An amount as users declare it; a float is read by its decimal spelling.
Amount = int | float | str | Fraction | Decimal

#: Amounts have fewer units than this, so that floats hold them exactly.
MOST_UNITS = 2**53
#: The most bins: two cells for each stay within what matrices are formed for.
_MOST_BINS = 5_000


class NumberReader(ABC):
    """Values of a column that are numbers and told apart in units: an entry is read as a column of its own is."""

    __slots__ = ()

    @abstractmethod
    def codes_of_numbers(self, numbers: NDArray[Any]) -> IntArray:
        """The codes (m,) of numbers (m,), integers or floats; UNKNOWN for what is no value, MISSING for NaN."""

    def code_of(self, entry: object) -> int:
        """The code of an entry that is not missing."""
        number = number_of(entry)
        column = np.array([entry if isinstance(entry, np.floating) else number])
        return UNKNOWN if number is None else int(self.codes_of_numbers(column)[0])

    def holds(self, entries: Entries) -> bool:
        """Whether any such entries can be values."""
        return entries == "numbers"

    def codes_of_column(self, entries: Entries) -> Callable[[NDArray[Any]], IntArray] | None:
        """The function that codes a whole column of such entries, if these are numbers."""
        return self.codes_of_numbers if self.holds(entries) else None

    def integer_range(self) -> tuple[int, int] | None:
        """None: single integers are not told apart."""
        return None


def edges_in_units(low: Amount, high: Amount, bins: int | Iterable[Amount], unit: Fraction) -> tuple[int, ...]:
    """The edges of bins from one limit to another, in units, strictly increasing.

    ``bins`` is how many there are, of equal width, or the edges between the limits, which may be among them.
    """
    first, last = _units_of("low", low, unit), _units_of("high", high, unit)
    if not first < last:
        raise DomainError(f"amounts need low below high, got {value_text(low)} and {value_text(high)}")
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        if not 1 <= bins <= _MOST_BINS:
            raise DomainError(f"amounts may have 1 to {_MOST_BINS:,} bins, got {bins:,}")
        width, rest = divmod(last - first, int(bins))
        if rest:
            raise DomainError(f"{last - first:,} units cannot be cut into {bins:,} bins of equal width; give the edges")
        return tuple(range(first, last + 1, width))
    if isinstance(bins, str | bytes) or not isinstance(bins, Iterable):
        raise DomainError(f"bins of amounts are a number or a list of edges, got {value_text(bins)}")
    given = [_units_of("an edge of bins", edge, unit) for edge in bins]
    inner = given[given[:1] == [first] : len(given) - (given[-1:] == [last] and len(given) > 0)]
    edges = (first, *inner, last)
    for number, (edge, following) in enumerate(pairwise(edges), 1):
        if not edge < following:
            pair = f"edge {number + 1} is not above edge {number}, where edge 1 is low"
            raise DomainError(f"edges of bins must be strictly increasing; {pair}")
    if len(edges) > _MOST_BINS + 1:
        raise DomainError(f"amounts may have at most {_MOST_BINS:,} bins, got {len(edges) - 1:,}")
    return edges


def _units_of(what: str, amount: Amount, unit: Fraction) -> int:
    units = exact_amount(what, amount) / unit
    if units.denominator != 1:
        raise DomainError(f"{what} must be a multiple of the unit {amount_text(unit)}, got {value_text(amount)}")
    if abs(units.numerator) * max(1, unit.numerator) >= MOST_UNITS:
        raise DomainError(f"{what} must have fewer than 2**53 units, got {value_text(amount)}; choose a coarser unit")
    return units.numerator


def exact_amount(what: str, amount: object) -> Fraction:
    """A declared number as the fraction that its decimal spelling means."""
    if isinstance(amount, np.generic) and not isinstance(amount, np.floating):
        amount = amount.item()
    if isinstance(amount, int | float | str | Fraction | Decimal | np.floating) and not isinstance(amount, bool):
        try:
            return Fraction(spelling(amount) if isinstance(amount, float | np.floating) else amount)
        except (ValueError, OverflowError, ZeroDivisionError):
            pass
    raise DomainError(f"{what} must be a finite number, got {value_text(amount)}")


def word_among(name: str, given: object, known: tuple[str, ...]) -> Any:
    """One of some words; DomainError for anything else."""
    if not isinstance(given, str) or given not in known:
        expected = " or ".join(map(repr, known))
        raise DomainError(f"{name} must be {expected}, got {value_text(given)}{suggestion(given, known)}")
    return given


def nearest_units(
    amounts: NDArray[np.float64], numbers: NDArray[Any], unit: Fraction
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The nearest multiple of a unit for each amount (m,), in units, and whether the amount is that multiple.

    As for bins, a float of fewer than 64 bits stands for itself and for the decimal that it is written as.  It is the
    multiple that it is itself; or else the one that is nearest to that decimal, where its digits leave several.
    ``amounts`` are ``numbers``, as the column has them, in 64 bits or, where these are far away, limited.
    """
    p, q = unit.numerator, unit.denominator
    units = amounts * q / p
    nearest = np.rint(units)
    if is_narrow(numbers.dtype):
        with np.errstate(over="ignore", invalid="ignore"):
            beside = (np.nextafter(numbers, numbers.dtype.type(end)).astype(np.float64) for end in (-np.inf, np.inf))
            first, last = (np.rint((amounts + each) / 2 * q / p) for each in beside)
        is_open = (first != last) & (units != nearest) & (amounts == numbers.astype(np.float64)) & np.isfinite(amounts)
        nearest[is_open] = np.rint(spelled(numbers[is_open]) * q / p)
    own = numbers.dtype if numbers.dtype.kind == "f" else np.dtype(np.float64)  # compared to the digits of this type
    return nearest, np.asarray((nearest * p / q).astype(own) == numbers.astype(own))


def amount_text(amount: Fraction) -> str:
    """An amount in decimal digits where it has few, else as a fraction."""
    if amount.denominator == 1:
        return str(amount.numerator)
    decimal = repr(float(amount))
    return decimal if Fraction(decimal) == amount else repr(str(amount))
