"""Intervals that cut a numeric column into values.

Reads: edges, and labels where bins have names of their own.  Gives: Bins.
"""

import math
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real

from residualplanner._checks import is_unicode, value_text
from residualplanner.errors import DomainError


@dataclass(frozen=True, slots=True, init=False)
class Bins:
    """Intervals between neighboring edges, closed on the left and open on the right; the last is closed on both sides.

    A number is compared with the edges as a 64-bit float.  The outermost edges may be infinite, but an infinite number
    in the records is in no bin.

    Attributes:
        edges: strictly increasing, one more than there are bins.
        labels: one string per bin.

    Raises:
        DomainError: fewer than two edges, edges that are not numbers or do not increase, labels that do not fit or
            are not valid Unicode.

    Example:
        >>> Bins([0, 10_000, 50_000.5]).labels
        ('[0, 10000)', '[10000, 50000.5]')
        >>> Bins([0, 18, float("inf")], labels=["minor", "adult"]).labels
        ('minor', 'adult')
    """

    edges: tuple[float, ...]
    labels: tuple[str, ...]

    def __init__(self, edges: Iterable[float], labels: Iterable[str] | None = None) -> None:
        object.__setattr__(self, "edges", _checked_edges(edges))
        object.__setattr__(self, "labels", _interval_texts(self.edges) if labels is None else _checked_labels(labels))
        if len(self.labels) != len(self.edges) - 1:
            raise DomainError(f"{len(self.edges)} edges make {len(self.edges) - 1} bins, got {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def labels_are_intervals(self) -> bool:
        """Whether the labels are the intervals written out, and not names of their own."""
        return self.labels == _interval_texts(self.edges)

    def interval_text(self, first: int, last: int) -> str:
        """The interval that the bins ``first`` to ``last`` cover together, written out.

        Example:
            >>> Bins([0, 18, 65, 120]).interval_text(1, 2)
            '[18, 120]'
        """
        closed = last == len(self) - 1
        return _interval_text(self.edges[first], self.edges[last + 1], closed=closed)

    def __repr__(self) -> str:
        shown = ", ".join(_number_text(edge) for edge in self.edges[:6])
        return f"Bins([{shown}])" if len(self.edges) <= 6 else f"Bins([{shown}, ...; {len(self)} bins])"


def _checked_edges(edges: Iterable[float]) -> tuple[float, ...]:
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise DomainError(f"bins need a list of edges, such as Bins([0, 18, 65, 120]), got {value_text(edges)}")
    given = list(edges)
    if len(given) < 2:
        raise DomainError(f"bins need at least 2 edges, got {len(given)}")
    if not all(_is_number(edge) for edge in given):
        raise DomainError("bin edges must be numbers")
    numbers = tuple(_as_float(edge) for edge in given)
    if not all(low < high for low, high in pairwise(numbers)):
        raise DomainError("bin edges must be strictly increasing, and none of them NaN")
    return numbers


def _is_number(edge: object) -> bool:
    return isinstance(edge, Real) and not isinstance(edge, bool)


def _as_float(edge: float) -> float:
    try:
        return float(edge) + 0.0  # minus zero becomes zero
    except OverflowError:
        return math.nan


def _checked_labels(labels: Iterable[str]) -> tuple[str, ...]:
    given = tuple(labels)
    if isinstance(labels, str) or not all(isinstance(label, str) for label in given):
        raise DomainError("labels of bins must be a list of strings")
    if len(set(given)) < len(given):
        raise DomainError("labels of bins must differ from one another")
    broken = [label for label in given if not is_unicode(label)]
    if broken:
        raise DomainError(f"the label {reprlib.repr(broken[0])} of a bin is not valid Unicode, which no file can hold")
    return tuple(str(label) for label in given)


def _interval_texts(edges: tuple[float, ...]) -> tuple[str, ...]:
    return tuple(_interval_text(low, high, closed=high == edges[-1]) for low, high in pairwise(edges))


def _interval_text(low: float, high: float, *, closed: bool) -> str:
    left = "[" if math.isfinite(low) else "("
    right = "]" if closed and math.isfinite(high) else ")"
    return f"{left}{_number_text(low)}, {_number_text(high)}{right}"


def _number_text(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 1e16 else repr(number)
