"""A column of amounts, of which sums are published and not only counts: bins, each with a cell for either end.

An amount v in a bin from l to h is t = (v - l) / (h - l) of the way from one to the other, and counts 1 - t at the
bin's low end and t at its high end.  In integers: k / D counts at the high end, D the least common multiple of the
widths in units.  With squares a bin has a third cell, between the two: (1 - t)^2, 2 t (1 - t) and t^2 are counted.
Source: eqs. (104), (105) and (140).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.ground.checks import IntArray, value_text
from residualplanner.ground.errors import DataError, DomainError
from residualplanner.ground.margins import LARGEST_DENOMINATOR
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.domain.families import MISSING, UNKNOWN, Matching
from residualplanner.method.domain.labels import Label
from residualplanner.more.amounts.units import (
    MOST_UNITS,
    Amount,
    NumberReader,
    amount_text,
    edges_in_units,
    exact_amount,
    nearest_units,
    word_among,
)

Outside = Literal["refuse", "clip"]
BetweenUnits = Literal["round", "refuse"]

#: Fractions of records that int64 adds up.
_MOST_PARTS = 2**62


@dataclass(frozen=True, init=False, repr=False)
class Numeric(NumberReader):
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
        squares: whether sums of squares can be published, too, for standard deviations.  The common multiple of the
            bins' widths is then at most 2**15 units.

    Attributes:
        unit: as a fraction.
        edges: of the bins, in units, strictly increasing; one more than there are bins.

    Raises:
        DomainError: a limit is not below the next one or is not a multiple of the unit; amounts have 2**53 units or
            more; the common multiple of the bins' widths is above 2**30 units; there are too many bins; another word.

    Source: eqs. (104), (105) and (140).

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
    squares: bool

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
        squares: bool = False,
    ) -> None:
        step = exact_amount("unit", unit)
        if not step > 0:
            raise DomainError(f"the unit of amounts must be positive, got {value_text(unit)}")
        edges = edges_in_units(low, high, bins, step)
        rules = {"outside": (outside, get_args(Outside)), "between_units": (between_units, get_args(BetweenUnits))}
        words = {name: word_among(name, *given) for name, given in rules.items()}
        if not isinstance(squares, bool):
            raise DomainError(f"squares must be True or False, got {value_text(squares)}")
        for name, value in {"unit": step, "edges": edges, **words, "squares": squares}.items():
            object.__setattr__(self, name, value)
        if self.denominator > LARGEST_DENOMINATOR:
            most = math.isqrt(LARGEST_DENOMINATOR) if squares else LARGEST_DENOMINATOR
            problem = f"the widths of the bins have the common multiple {self.steps:,} units, more than {most:,}"
            raise DomainError(f"{problem}{' with squares' * squares}; choose a coarser unit, or bins of equal widths")

    def __len__(self) -> int:
        """How many cells the bins have: two each, or three with squares."""
        return self.per_bin * (len(self.edges) - 1)

    @property
    def per_bin(self) -> int:
        """How many cells a bin has."""
        return 3 if self.squares else 2

    @cached_property
    def steps(self) -> int:
        """The least common multiple of the widths of the bins, in units: how many amounts are told apart in a bin."""
        return math.lcm(*(high - low for low, high in pairwise(self.edges)))

    @property
    def denominator(self) -> int:
        """D, of the fractions of records that are counted: the number of steps, or its square with squares."""
        return int(self.steps ** (self.per_bin - 1))

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
        places = ("low end", "middle", "high end") if self.squares else ("low end", "high end")
        return tuple(f"{place} of {label}" for label in self.bins.labels for place in places)

    def code_of_label(self, label: object) -> int | None:
        """The cell of this label, or None."""
        return self.labels.index(label) if isinstance(label, str) and label in self.labels else None

    def cells_of_codes(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """The cell of each bin's low end, and how many steps an amount is above it, (m,) each; see `parts_of_steps`.

        The code of an amount is the bin times one more than there are steps, plus these; codes below 0 are kept.
        """
        bins, above = np.divmod(codes, self.steps + 1)
        return np.where(codes < 0, codes, self.per_bin * bins), np.where(codes < 0, 0, above)

    def parts_of_steps(self, above: IntArray) -> tuple[IntArray, ...]:
        """What counts in each cell of its bin of records so many steps above the low end, in 1/D, (m,) each.

        Source: eqs. (104) and (140).

        Example:
            >>> [part.tolist() for part in Numeric(0, 10, squares=True).parts_of_steps(np.array([0, 4]))]
            [[100, 36], [0, 48], [0, 16]]
        """
        below = self.steps - above
        return (below * below, 2 * below * above, above * above) if self.squares else (below, above)

    def ready_counts(self, counts: ArrayLike, sums: ArrayLike, squares: ArrayLike | None = None) -> IntArray:
        """The cells of records of which only counts and sums by bin are at hand, for a table of ready counts.

        Args:
            counts (..., bins): how many records have amounts in each bin; where they are weighted, multiples of 1/q.
            sums (..., bins): of these amounts, none beyond the limits, in the unit of the column.
            squares (..., bins): the sums of their squares, where these can be published.

        Returns:
            The cells (..., 2 bins), or (..., 3 bins) with squares, in fractions 1/D of a record.

        Raises:
            DataError: the shapes are not these, or no amounts within the bins have such counts, sums and squares.

        Source: eqs. (104), (105) and (140): the counts are the sums of both ends, the sums those of ends times amounts.

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
        counted: IntArray = records.astype(np.int64)  # narrow integers would wrap around
        above: IntArray = np.asarray(units, dtype=np.int64) - counted * edges[:-1]
        if (above < 0).any() or (above > counted * widths).any():
            raise DataError("the sums of some bins are not of amounts within them; sum up what each bin counts")
        if not self.squares:
            at_high = above * (self.denominator // widths)
            parts = [counted * self.denominator - at_high, at_high]
        else:
            at_high, middle = self._squared_parts(counted, above, squares)
            parts = [counted * self.denominator - middle - at_high, middle, at_high]
        return np.stack(parts, axis=-1).reshape(*counted.shape[:-1], -1)

    def _squared_parts(
        self, records: IntArray, above: IntArray, squares: ArrayLike | None
    ) -> tuple[IntArray, IntArray]:
        """What counts at the high end of each bin and between the two, from sums of what amounts are above the low."""
        if squares is None:
            raise DataError("sums of squares are needed, too: ready_counts(counts, sums, squares)")
        given = np.rint(_numbers(squares).astype(np.float64) / float(self.unit) ** 2)
        edges = np.array(self.edges, dtype=np.int64)
        widths, low = edges[1:] - edges[:-1], edges[:-1]
        if given.shape != records.shape or not (np.abs(given) < MOST_UNITS).all():
            raise DataError(
                "sums of squares need the shape of counts, and to be below 2**53 units; choose a coarser unit"
            )
        squared = given.astype(np.int64) - 2 * low * above - low * low * records
        # No square of a sum is larger than the count times the sum of squares, and none of these than widths allow.
        if (above.astype(np.float64) ** 2 > records * squared * (1 + 1e-12)).any() or (squared > above * widths).any():
            raise DataError("no amounts within some bins have these counts, sums and squares")
        scale = (self.steps // widths) ** 2
        return squared * scale, 2 * (above * widths - squared) * scale

    def to_json(self) -> dict[str, Any]:
        """Edges in units, the unit as text, the two rules, and whether there are squares."""
        rules = {"outside": self.outside, "between_units": self.between_units}
        squares = {"squares": True} if self.squares else {}
        return {"numeric": {"unit": str(self.unit), "edges": list(self.edges), **rules, **squares}}

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
        shown |= {"squares": "True"} if self.squares else {}
        return f"Numeric({', '.join([texts[0], texts[-1], *(f'{word}={text}' for word, text in shown.items())])})"

    @property
    def clipping(self) -> str:
        """The limits that amounts beyond them count as, in words; empty where these are refused."""
        low, high = (amount_text(self.edges[end] * self.unit) for end in (0, -1))
        return f"{low} to {high}" if self.outside == "clip" else ""

    def count_at_limits(self, codes: IntArray) -> int:
        """How many of the codes (m,) are of amounts at a limit, or beyond one where that is clipped."""
        last = (len(self.edges) - 1) * (self.steps + 1) - 1
        return int(((codes == 0) | (codes == last)).sum())

    def codes_of_numbers(self, numbers: NDArray[Any]) -> IntArray:
        """The codes (m,) of numbers (m,), see `cells_of_codes`; UNKNOWN or MISSING for what is no amount."""
        units, is_known = self._units(numbers)
        edges = np.array(self.edges, dtype=np.int64)
        is_known &= (units >= edges[0]) & (units <= edges[-1])
        units = np.where(is_known, units, edges[0])
        bins = np.minimum(np.searchsorted(edges, units, side="right") - 1, len(edges) - 2)
        above = (units - edges[bins]) * (self.steps // (edges[bins + 1] - edges[bins]))
        codes = np.where(is_known, bins * (self.steps + 1) + above, UNKNOWN)
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
