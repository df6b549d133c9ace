"""A column of amounts, of which sums are published and not only counts: bins, each with a cell for either end.

An amount v in a bin from l to h counts (h - v) / (h - l) at the bin's low end and (v - l) / (h - l) at its high end.
In integers: k / D counts at the high end, D the least common multiple of the widths in units.
Source: eqs. (104) and (105).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.ground.checks import IntArray, spelling, value_text
from residualplanner.ground.errors import DataError, DomainError
from residualplanner.ground.margins import LARGEST_DENOMINATOR
from residualplanner.ground.words import suggestion
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.domain.entries import is_narrow, number_of, spelled
from residualplanner.method.domain.families import MISSING, UNKNOWN, Entries, Matching
from residualplanner.method.domain.labels import Label

#: An amount as users declare it; a float is read by its decimal spelling.
Amount = int | float | str | Fraction | Decimal

#: Amounts have fewer units than this, so that floats hold them exactly.
MOST_UNITS = 2**53
#: The most bins: two cells for each stay within what matrices are formed for.
_MOST_BINS = 5_000


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
    if not all(edge < following for edge, following in pairwise(edges)):
        raise DomainError("edges of bins must be strictly increasing, from low to high")
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
    return nearest, are_written_alike(nearest * p / q, numbers)


def are_written_alike(amounts: NDArray[np.float64], numbers: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each of the numbers (m,), of any type, is the amount of 64 bits (m,) to the digits of its own type."""
    own = numbers.dtype if numbers.dtype.kind == "f" else np.dtype(np.float64)
    return np.asarray(amounts.astype(own) == numbers.astype(own))


def amount_text(amount: Fraction) -> str:
    """An amount in decimal digits where it has few, else as a fraction."""
    if amount.denominator == 1:
        return str(amount.numerator)
    decimal = repr(float(amount))
    return decimal if Fraction(decimal) == amount else repr(str(amount))


Outside = Literal["refuse", "clip"]
BetweenUnits = Literal["round", "refuse"]

#: Fractions of records that int64 adds up.
_MOST_PARTS = 2**62


@dataclass(frozen=True, init=False, repr=False)
class Numeric:
    """Amounts from one limit to another, such as incomes, whose sums and counts by bin can be published.

    Args:
        low: the least amount that counts as itself.
        high: the largest.
        unit: what amounts are multiples of, such as 1, "0.01" or 100; limits and edges must be.  A coarser unit, or
            bins of equal widths, keep the integers small that are measured.
        bins: how many bins of equal width, or the edges between ``low`` and ``high`` (these included or not).
        outside: what becomes of an amount below ``low`` or above ``high``: "clip", it counts as the limit, or "refuse",
            it follows the attribute's rule for unknown values, as does what is not a finite number.
        between_units: what becomes of an amount between two multiples of the unit: "round", to the nearest one, or
            "refuse", as above.

    Attributes:
        unit: as a fraction.
        edges: of the bins, in units, strictly increasing; one more than there are bins.

    Raises:
        DomainError: a limit is not below the next one or is not a multiple of the unit; amounts have 2**53 units or
            more; the common multiple of the bins' widths is above 2**30 units; there are too many bins; another word.

    Source: eqs. (104) and (105).

    Example:
        >>> salary = Numeric(0, 200_000, unit=100, bins=[50_000, 100_000], outside="clip")
        >>> salary
        Numeric(0, 200000, unit=100, bins=[50000, 100000], outside='clip')
        >>> salary.ends.tolist()
        [[0.0, 50000.0], [50000.0, 100000.0], [100000.0, 200000.0]]
        >>> salary.denominator
        1000
    """

    unit: Fraction
    edges: tuple[int, ...]
    outside: Outside
    between_units: BetweenUnits

    matching: ClassVar[Matching] = "amount"
    words: ClassVar[str] = "amounts"

    def __init__(
        self,
        low: Amount,
        high: Amount,
        *,
        unit: Amount = 1,
        bins: int | Iterable[Amount] = 1,
        outside: Outside = "refuse",
        between_units: BetweenUnits = "round",
    ) -> None:
        step = exact_amount("unit", unit)
        if not step > 0:
            raise DomainError(f"the unit of amounts must be positive, got {value_text(unit)}")
        edges = edges_in_units(low, high, bins, step)
        rules = {"outside": (outside, get_args(Outside)), "between_units": (between_units, get_args(BetweenUnits))}
        words = {name: word_among(name, *given) for name, given in rules.items()}
        for name, value in {"unit": step, "edges": edges, **words}.items():
            object.__setattr__(self, name, value)
        if self.denominator > LARGEST_DENOMINATOR:
            problem = f"the widths of the bins have the common multiple {self.denominator:,} units, more"
            raise DomainError(f"{problem} than {LARGEST_DENOMINATOR:,}; choose a coarser unit, or bins of equal widths")

    def __len__(self) -> int:
        """How many cells the bins have: two each."""
        return 2 * (len(self.edges) - 1)

    @cached_property
    def denominator(self) -> int:
        """D, of the fractions of records that are counted: the least common multiple of the widths in units."""
        return math.lcm(*(high - low for low, high in pairwise(self.edges)))

    def attribute(self, name: str) -> Attribute:
        """The attribute of this name whose values are these amounts."""
        return Attribute(name, numeric=self)

    @property
    def amounts(self) -> tuple[float, ...]:
        """The edges of the bins as amounts, (bins + 1,)."""
        return tuple(float(edge * self.unit) for edge in self.edges)

    @cached_property
    def bins(self) -> Bins:
        """The bins, as those of a column whose records are only counted."""
        return Bins(self.amounts)

    @property
    def ends(self) -> NDArray[np.float64]:
        """The low and the high end of each bin, (bins, 2)."""
        return np.array([*pairwise(self.amounts)])

    @property
    def labels(self) -> tuple[Label, ...]:
        """A label for each cell, which no table shows: tables are by bin."""
        return tuple(f"{end} end of {label}" for label in self.bins.labels for end in ("low", "high"))

    def code_of(self, entry: object) -> int:
        """The code of an entry that is not missing, see `cells_of_codes`, or UNKNOWN."""
        number = number_of(entry)
        spelled = entry if isinstance(entry, np.floating) else number
        return UNKNOWN if number is None else int(self.codes_of_numbers(np.array([spelled]))[0])

    def code_of_label(self, label: object) -> int | None:
        """The cell of this label, or None."""
        return self.labels.index(label) if isinstance(label, str) and label in self.labels else None

    def holds(self, entries: Entries) -> bool:
        """Whether any such entries can be values."""
        return entries == "numbers"

    def codes_of_column(self, entries: Entries) -> Callable[[NDArray[Any]], IntArray] | None:
        """The function that codes a whole column of numbers."""
        return self.codes_of_numbers if entries == "numbers" else None

    def cells_of_codes(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """The cell of each bin's low end, and the numerator of what counts at its high end, the next cell, (m,) each.

        The code of an amount is ``bin (D + 1) + k``, where k / D of the record counts at the high end; codes below 0
        are kept.
        """
        bins, numerators = np.divmod(codes, self.denominator + 1)
        return np.where(codes < 0, codes, 2 * bins), np.where(codes < 0, 0, numerators)

    def ready_counts(self, counts: ArrayLike, sums: ArrayLike) -> IntArray:
        """The cells of records of which only counts and sums by bin are at hand, for a table of ready counts.

        Args:
            counts (..., bins): how many records have amounts in each bin; where they are weighted, multiples of 1/q.
            sums (..., bins): of these amounts, none beyond the limits, in the unit of the column.

        Returns:
            The cells (..., 2 bins): at the low and the high end of each bin, in fractions 1/D of a record.

        Raises:
            DomainError: the shapes are not these, or no amounts within the bins have such counts and sums.

        Source: eqs. (104) and (105): the counts are the sums of both ends, the sums those of ends times amounts.

        Example:
            >>> Numeric(0, 30, bins=[10]).ready_counts([2, 1], [13, 17])
            array([14, 26, 13,  7])
        """
        records, totals = _numbers(counts), _numbers(sums)
        bins, edges = len(self.edges) - 1, np.array(self.edges, dtype=np.int64)
        if records.dtype.kind not in "iu" or records.shape[-1:] != (bins,) or totals.shape != records.shape:
            raise DataError(f"counts and sums need equal shapes with {bins} bins last, and counts integers")
        units = np.rint(totals.astype(np.float64) * self.unit.denominator / self.unit.numerator)
        widths = edges[1:] - edges[:-1]
        largest = float(np.abs(edges).max()) * float(records.max(initial=0))
        if not (np.abs(units) < MOST_UNITS).all() or max(largest, 1) * self.denominator >= _MOST_PARTS:
            raise DataError("sums must be finite, and as small as 64-bit integers hold; choose a coarser unit")
        records = records.astype(np.int64)  # narrow integers would wrap around
        above = units.astype(np.int64) - records * edges[:-1]
        if (above < 0).any() or (above > records * widths).any():
            raise DataError("the sums of some bins are not of amounts within them; sum up what each bin counts")
        at_high = above * (self.denominator // widths)
        return np.stack([records * self.denominator - at_high, at_high], axis=-1).reshape(*records.shape[:-1], -1)

    def integer_range(self) -> tuple[int, int] | None:
        """None: single integers are not told apart."""
        return None

    def to_json(self) -> dict[str, Any]:
        """Edges in units, the unit as text, and the two rules."""
        rules = {"outside": self.outside, "between_units": self.between_units}
        return {"numeric": {"unit": str(self.unit), "edges": list(self.edges), **rules}}

    @classmethod
    def of_units(cls, edges: Iterable[int], unit: str, **rules: Any) -> "Numeric":
        """The inverse of `to_json`, from edges in units."""
        step, given = exact_amount("unit", unit), list(edges)
        return cls(given[0] * step, given[-1] * step, unit=step, bins=[edge * step for edge in given], **rules)

    def __repr__(self) -> str:
        texts = [amount_text(edge * self.unit) for edge in self.edges]
        shown = {"unit": amount_text(self.unit)} if self.unit != 1 else {}
        if len(texts) > 2:
            shown["bins"] = f"[{', '.join(texts[1:-1])}]" if len(texts) <= 8 else f"[{texts[1]}, ..., {texts[-2]}]"
        defaults = {"outside": "refuse", "between_units": "round"}
        shown |= {word: repr(getattr(self, word)) for word, usual in defaults.items() if getattr(self, word) != usual}
        return f"Numeric({', '.join([texts[0], texts[-1], *(f'{word}={text}' for word, text in shown.items())])})"

    def codes_of_numbers(self, numbers: NDArray[Any]) -> IntArray:
        """The codes (m,) of numbers (m,), integers or floats; UNKNOWN or MISSING for what is no amount."""
        units, is_known = self._units(numbers)
        edges = np.array(self.edges, dtype=np.int64)
        is_known &= (units >= edges[0]) & (units <= edges[-1])
        units = np.where(is_known, units, edges[0])
        bins = np.minimum(np.searchsorted(edges, units, side="right") - 1, len(edges) - 2)
        numerators = (units - edges[bins]) * (self.denominator // (edges[bins + 1] - edges[bins]))
        codes = np.where(is_known, bins * (self.denominator + 1) + numerators, UNKNOWN)
        is_missing = np.isnan(numbers) if numbers.dtype.kind == "f" else np.zeros(len(numbers), dtype=np.bool_)
        return np.where(is_missing, MISSING, codes)

    def _units(self, numbers: NDArray[Any]) -> tuple[IntArray, NDArray[np.bool_]]:
        """How many units each number is, and which of them are amounts: finite, and multiples where that is asked for.

        Numbers beyond 2**53 units count as 2**53, which is outside any limits.  What is clipped counts as the limit,
        whatever it was: else an amount beyond it and between two units would be none.
        """
        floats = numbers.astype(np.float64)
        p, q = self.unit.numerator, self.unit.denominator
        with np.errstate(over="ignore", invalid="ignore"):
            units = floats * q / p
            is_clipped = (units < self.edges[0]) | (units > self.edges[-1]) if self.outside == "clip" else False
            nearest, is_multiple = nearest_units(floats, numbers, self.unit)
            nearest = np.clip(nearest, self.edges[0], self.edges[-1]) if self.outside == "clip" else nearest
            is_amount = np.isfinite(floats)
            if self.between_units == "refuse":
                is_far = np.abs(nearest) >= MOST_UNITS / p
                is_amount &= is_clipped | is_far | is_multiple
        within = np.clip(np.where(is_amount, nearest, 0), -MOST_UNITS, MOST_UNITS)
        return within.astype(np.int64), is_amount


def _numbers(given: ArrayLike) -> NDArray[Any]:
    """An array of integers, or else of floats; DataError, which shows none of them, where there are other entries."""
    try:
        array = np.asarray(given)
        if array.dtype.kind == "c":
            raise TypeError
        return array if array.dtype.kind in "iu" else array.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError("counts and sums must be arrays of numbers") from None
