"""Intervals that cut a column of numbers or of dates into values."""

import datetime as dt
import math
import reprlib
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray, is_unicode, spelling, value_text
from residualplanner.ground.errors import DomainError
from residualplanner.method.domain.entries import bounds_in, date_of_day, day_of, is_narrow, number_of
from residualplanner.method.domain.families import MISSING, UNKNOWN, Entries, Matching
from residualplanner.method.domain.labels import plain_label

#: An edge of bins: a number, or a date; the outermost may be infinite either way.
Edge = float | dt.date


class Scale(NamedTuple):
    """What the edges of bins, and the entries of a column, are positions on."""

    words: str  # the bins, for messages
    entries: Entries  # of a column that are on it
    is_last_closed: bool  # whether the last bin holds its upper edge
    edge: Callable[[Any], Edge | None]  # an edge as bins keep it, from what users give; NaN for none
    position: Callable[[object], float]  # of an entry or an edge; none of them is in a bin where that is no number
    text: Callable[[Any], str]  # an edge in labels


def _number_edge(given: Any) -> Edge | None:
    """A float, minus zero as zero; NaN for a number too large for one."""
    if not isinstance(given, Real | Decimal) or isinstance(given, bool | np.bool_):
        return None
    try:
        return float(spelling(given) if isinstance(given, np.floating) else given) + 0.0
    except (OverflowError, ValueError):  # a signaling NaN
        return math.nan


def _number_position(entry: object) -> float:
    number = number_of(entry)
    return math.inf if number is None else number


def _number_text(edge: float) -> str:
    return str(int(edge)) if edge.is_integer() and abs(edge) < 1e16 else repr(edge)


def _day_edge(given: Any) -> Edge | None:
    """A date, from a date, a date in ISO 8601, or a midnight without a time zone."""
    if isinstance(given, float | np.floating) and math.isinf(given):
        return float(given)
    if isinstance(given, dt.datetime) and (given.tzinfo is not None or given.time() != dt.time()):
        raise DomainError("bin edges that are dates have no time of day and no time zone")
    if isinstance(given, str) and len(given) != len("2020-12-31"):
        return None
    day = day_of(given)
    try:
        return None if day is None else date_of_day(day)
    except (ValueError, OverflowError):
        raise DomainError("bin edges that are dates must be in the years 1 to 9999") from None


def _day_position(entry: object) -> float:
    if isinstance(entry, float) and math.isinf(entry):
        return entry
    day = day_of(entry)
    return math.nan if day is None else day


#: Numbers, compared as 64-bit floats.
_NUMBERS = Scale("intervals of numbers", "numbers", True, _number_edge, _number_position, _number_text)
#: Days, with all times of day on them.  No day is two days, so an interval needs no closed end: February is
#: [2021-02-01, 2021-03-01), also where it is last.
_DAYS = Scale("intervals of dates", "dates", False, _day_edge, _day_position, str)
#: The most bins that months or years make.
_PERIODS = 10_000


@dataclass(frozen=True, init=False, repr=False)
class Bins:
    """Intervals between neighboring edges, closed on the left and open on the right.

    The edges are all numbers or all dates: dates, or strings such as "2020-12-31".  The outermost may be infinite.

    - The last of bins of numbers is closed on both sides.  A number is compared with the edges as a 64-bit float; one
      of fewer bits is on an edge that it is written as: a 32-bit 0.7 is on 0.7.  An infinite number is in no bin.
    - The last of bins of dates is open on the right as all others: no record of March is counted in February.  A time
      of day belongs to its date; a moment with a time zone is in no bin, since its date depends on where one is.

    Attributes:
        edges: strictly increasing, one more than there are bins.
        labels: one string per bin.
        scale: of the edges: numbers or dates.

    Raises:
        DomainError: fewer than two edges, edges that are neither numbers nor dates or do not increase, labels that do
            not fit or are not valid Unicode.

    Example:
        >>> Bins([0, 10_000, 50_000.5]).labels
        ('[0, 10000)', '[10000, 50000.5]')
        >>> Bins([0, 18, float("inf")], labels=["minor", "adult"]).labels
        ('minor', 'adult')
        >>> Bins(["2020-01-01", "2020-02-01", float("inf")]).labels
        ('[2020-01-01, 2020-02-01)', '[2020-02-01, inf)')
    """

    edges: tuple[Edge, ...]
    labels: tuple[str, ...]
    scale: Scale = field(compare=False)
    matching: ClassVar[Matching] = "bin"

    def __init__(self, edges: Iterable[Edge | str], labels: Iterable[str] | None = None) -> None:
        scale, kept = _checked_edges(edges)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "edges", kept)
        object.__setattr__(self, "labels", self._interval_texts if labels is None else _checked_labels(labels))
        if len(self.labels) != len(self.edges) - 1:
            raise DomainError(f"{len(self.edges)} edges make {len(self.edges) - 1} bins, got {len(self.labels)} labels")

    @classmethod
    def months(cls, first: str | dt.date, last: str | dt.date) -> "Bins":
        """A bin for each month from ``first`` to ``last``, both written as "2020-12" or as a date in the month.

        Raises:
            DomainError: they are not months, in the wrong order, or too far apart.

        Example:
            >>> Bins.months("2020-11", "2021-01").labels
            ('2020-11', '2020-12', '2021-01')
        """
        begin, end = _month(first), _month(last)
        if end == dt.MAXYEAR * 12 + 11:
            raise DomainError("the calendar ends with December 9999, so bins must end before")
        _require_period(begin, end, "months")
        edges = [dt.date(month // 12, month % 12 + 1, 1) for month in range(begin, end + 2)]
        return cls(edges, [edge.isoformat()[:7] for edge in edges[:-1]])

    @classmethod
    def years(cls, first: int, last: int) -> "Bins":
        """A bin for each year from ``first`` to ``last``, for a column of dates.

        Raises:
            DomainError: they are not years, or in the wrong order.

        Example:
            >>> Bins.years(2019, 2021).labels
            ('2019', '2020', '2021')
        """
        years = [plain_label(year) for year in (first, last)]
        if not all(type(year) is int and dt.MINYEAR <= year < dt.MAXYEAR for year in years):
            raise DomainError(f"years are integers from {dt.MINYEAR} to {dt.MAXYEAR - 1}")
        begin, end = int(first), int(last)
        _require_period(begin, end, "years")
        edges = [dt.date(year, 1, 1) for year in range(begin, end + 2)]
        return cls(edges, [f"{year:04}" for year in range(begin, end + 1)])

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def words(self) -> str:
        """What the bins are, for messages."""
        return self.scale.words

    @property
    def labels_are_intervals(self) -> bool:
        """Whether the labels are the intervals written out, and not names of their own."""
        return self.labels == self._interval_texts

    def interval_text(self, first: int, last: int) -> str:
        """The interval that the bins ``first`` to ``last`` cover together, written out."""
        low, high, scale = self.edges[first], self.edges[last + 1], self.scale
        is_closed = scale.is_last_closed and last == len(self.edges) - 2 and not _is_infinite(high)
        left, right = "(" if _is_infinite(low) else "[", "]" if is_closed else ")"
        return f"{left}{scale.text(low)}, {scale.text(high)}{right}"

    def code_of(self, entry: object) -> int:
        """The bin that an entry is in, or UNKNOWN."""
        if isinstance(entry, np.floating) and is_narrow(entry.dtype):
            return int(self._codes(np.array([entry]))[0]) if self.scale.entries == "numbers" else UNKNOWN
        positions, position = self._positions, self.scale.position(entry)
        code = bisect_right(positions, position) - 1
        if 0 <= code < len(positions) - 1 and position > -math.inf:
            return code
        is_last_edge = position == positions[-1] and math.isfinite(position)
        return len(positions) - 2 if is_last_edge and self.scale.is_last_closed else UNKNOWN

    def code_of_label(self, label: object) -> int | None:
        """The bin of this label, or None."""
        return self.labels.index(label) if isinstance(label, str) and label in self.labels else None

    def holds(self, entries: Entries) -> bool:
        """Whether such entries are on the scale of the bins."""
        return entries == self.scale.entries

    def codes_of_column(self, entries: Entries) -> Callable[[NDArray[Any]], IntArray] | None:
        """The function that codes a whole column, if its entries are on the scale."""
        return self._codes if entries == self.scale.entries else None

    def _codes(self, column: NDArray[Any]) -> IntArray:
        positions = column if is_narrow(column.dtype) else column.astype(np.float64)
        codes = np.searchsorted(bounds_in(positions.dtype, self._positions), positions, side="right") - 1
        if self.scale.is_last_closed:
            (last,) = bounds_in(positions.dtype, self._positions[-1:], upper=True)
            codes[(codes == len(self)) & (positions <= last)] = len(self) - 1
        known = (codes >= 0) & (codes < len(self)) & np.isfinite(positions)
        return np.where(np.isnan(positions), MISSING, np.where(known, codes, UNKNOWN))

    def integer_range(self) -> tuple[int, int] | None:
        """None: a bin holds several integers, and does not distinguish them."""
        return None

    def to_json(self) -> dict[str, Any]:
        """Edges and labels; dates and infinite edges become strings."""
        edges = [
            edge if isinstance(edge, float) and math.isfinite(edge) else self.scale.text(edge) for edge in self.edges
        ]
        return {"bins": {"edges": edges, "labels": list(self.labels)}}

    def __repr__(self) -> str:
        texts = [self.scale.text(edge) for edge in self.edges[:6]]
        shown = ", ".join(repr(text) if isinstance(self.edges[i], dt.date) else text for i, text in enumerate(texts))
        return f"Bins([{shown}])" if len(self.edges) <= 6 else f"Bins([{shown}, ...; {len(self)} bins])"

    @cached_property
    def _positions(self) -> tuple[float, ...]:
        return tuple(map(self.scale.position, self.edges))

    @property
    def _interval_texts(self) -> tuple[str, ...]:
        return tuple(self.interval_text(code, code) for code in range(len(self.edges) - 1))


def _checked_edges(edges: Iterable[Edge | str]) -> tuple[Scale, tuple[Edge, ...]]:
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise DomainError(f"bins need a list of edges, such as Bins([0, 18, 65, 120]), got {value_text(edges)}")
    given = list(edges)
    if len(given) < 2:
        raise DomainError(f"bins need at least 2 edges, got {len(given)}")
    for scale in (_NUMBERS, _DAYS):
        kept = tuple(found for edge in given if (found := scale.edge(edge)) is not None)
        if len(kept) == len(given):
            for number, (low, high) in enumerate(pairwise(map(scale.position, kept)), 1):
                if not low < high:  # by their numbers: edges may be records given by mistake
                    pair = f"edge {number + 1} is not above edge {number}"
                    raise DomainError(f"bin edges must be strictly increasing, and none of them NaN; {pair}")
            return scale, kept
    raise DomainError("bin edges must be numbers, or else all of them dates, such as 2020-12-31")


def _checked_labels(labels: Iterable[str]) -> tuple[str, ...]:
    given = tuple(labels) if isinstance(labels, Iterable) else (labels,)
    if isinstance(labels, str) or not all(isinstance(label, str) for label in given):
        raise DomainError("labels of bins must be a list of strings")
    if len(set(given)) < len(given):
        raise DomainError("labels of bins must differ from one another")
    broken = [label for label in given if not is_unicode(label)]
    if broken:
        raise DomainError(f"the label {reprlib.repr(broken[0])} of a bin is not valid Unicode, which no file can hold")
    return tuple(str(label) for label in given)


def _month(given: object) -> int:
    """A month that is written as "2020-12", or as any date in it, counted from January of the year 0."""
    day = day_of(f"{given}-01" if isinstance(given, str) and len(given) == len("2020-12") else given)
    if day is None:
        raise DomainError('a month is written as "2020-12", or as a date in it')
    return date_of_day(day).year * 12 + date_of_day(day).month - 1


def _is_infinite(edge: Edge) -> bool:
    return isinstance(edge, float) and math.isinf(edge)


def _require_period(first: int, last: int, word: str) -> None:
    if not 0 <= last - first < _PERIODS:
        raise DomainError(f"bins of {word} need a first and a last of them, in this order, at most {_PERIODS:,} in all")
