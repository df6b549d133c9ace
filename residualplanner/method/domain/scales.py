"""Scales that bins cut into intervals: numbers, and dates."""

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Protocol

import numpy as np

from residualplanner.ground.checks import spelling
from residualplanner.ground.errors import DomainError
from residualplanner.method.domain.entries import date_of_day, day_of, number_of
from residualplanner.method.domain.families import Entries

#: An edge of bins: a number, or a date; the outermost may be infinite either way.
Edge = float | dt.date


class Scale(Protocol):
    """What the edges of bins, and the entries of a column, are positions on.

    Attributes:
        words: what its intervals are, for messages.
        entries: of a column that are on it.
        is_last_closed: whether the last bin holds its upper edge.
    """

    words: str
    entries: Entries
    is_last_closed: bool

    def edge(self, given: Any) -> Edge | None:
        """An edge as bins keep it; None where it is not one."""
        ...

    def position(self, entry: object) -> float:
        """Where an edge or an entry is; infinite, in no bin, for an entry that is not on the scale."""
        ...

    def text(self, edge: Edge) -> str:
        """An edge as labels show it."""
        ...


class NumberScale:
    """Numbers, compared as 64-bit floats.  Two are equal: there is only one such scale."""

    words = "intervals of numbers"
    entries: Entries = "numbers"
    is_last_closed = True

    def edge(self, given: Any) -> Edge | None:
        """A float, minus zero as zero; NaN for a number too large for one."""
        if not isinstance(given, Real | Decimal) or isinstance(given, bool | np.bool_):
            return None
        try:
            return float(spelling(given) if isinstance(given, np.floating) else given) + 0.0
        except (OverflowError, ValueError):  # a signaling NaN
            return math.nan

    def position(self, entry: object) -> float:
        """The number itself; infinity for what is not a number."""
        number = number_of(entry)
        return math.inf if number is None else number

    def text(self, edge: Edge) -> str:
        """An integer without its fraction, any other number in the fewest digits."""
        assert isinstance(edge, float)
        return str(int(edge)) if edge.is_integer() and abs(edge) < 1e16 else repr(edge)


class Days:
    """Days, with all times of day on them.

    No day is two days, so an interval needs no closed end: February is [2021-02-01, 2021-03-01), also where it is last.
    """

    words = "intervals of dates"
    entries: Entries = "dates"
    is_last_closed = False

    def edge(self, given: Any) -> Edge | None:
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

    def position(self, entry: object) -> float:
        """The day, numbered from 1970-01-01; NaN for what means no day."""
        if isinstance(entry, float) and math.isinf(entry):
            return entry
        day = day_of(entry)
        return math.nan if day is None else day

    def text(self, edge: Edge) -> str:
        """A date in ISO 8601."""
        return str(edge) if isinstance(edge, float) else edge.isoformat()


NUMBERS, DAYS = NumberScale(), Days()


def scale_of(edges: Sequence[object]) -> tuple[Scale, tuple[Edge, ...]]:
    """The scale that edges are on, and the edges as bins keep them.

    Raises:
        DomainError: they are neither all numbers nor all dates.
    """
    for scale in (NUMBERS, DAYS):
        found = [scale.edge(edge) for edge in edges]
        kept = tuple(edge for edge in found if edge is not None)
        if len(kept) == len(found):
            return scale, kept
    raise DomainError("bin edges must be numbers, or else all of them dates, such as 2020-12-31")


def first_of_month(given: object) -> dt.date:
    """The first day of a month that is written as "2020-12", or as any date in it; DomainError for anything else."""
    day = day_of(f"{given}-01" if isinstance(given, str) and len(given) == len("2020-12") else given)
    if day is None:
        raise DomainError('a month is written as "2020-12", or as a date in it')
    return date_of_day(day).replace(day=1)


def following_month(first: dt.date) -> dt.date:
    """The first day of the next month; DomainError after the last month of the calendar."""
    if (first.year, first.month) == (dt.MAXYEAR, 12):
        raise DomainError("the calendar ends with December 9999, so bins must end before")
    return first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
