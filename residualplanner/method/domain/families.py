"""Families of values that an attribute can have, one small object each: codes, integers, strings, truth values, dates.

A family knows which entries are its values, one at a time and whole columns at once, and how tables show its values.
Intervals are in `bins`.
"""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, KeysView, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray, value_text
from residualplanner.method.domain.entries import day_of, first_rounded_integer, integer_of, text_of, truth_of
from residualplanner.method.domain.labels import Label, attribute_error, checked_label

#: The code of an entry that is not one of the attribute's values.
UNKNOWN = -1
#: The code of an entry without a value.
MISSING = -2

#: What the entries of a column of one type are, other than strings, which may stand for anything.
Entries = Literal["numbers", "truth values", "dates"]
#: How the raw values of a column are matched.
Matching = Literal["code", "integer", "text", "truth", "date", "bin", "amount"]


@dataclass(frozen=True)
class Codes:
    """The integers from 0 to ``size`` - 1."""

    size: int
    matching: ClassVar[Matching] = "code"
    words: ClassVar[str] = "integers"

    def __len__(self) -> int:
        return self.size

    @property
    def labels(self) -> tuple[Label, ...]:
        """The values as tables show them."""
        return tuple(range(self.size))

    def code_of(self, entry: object) -> int:
        """The code of an entry that is not missing, or UNKNOWN."""
        number = integer_of(entry)
        return number if number is not None and 0 <= number < self.size else UNKNOWN

    def code_of_label(self, label: object) -> int | None:
        """The code of a value as tables show it or as it was declared, or None."""
        return int(label) if type(label) is int and 0 <= label < self.size else None

    def holds(self, entries: Entries) -> bool:
        """Whether any such entries can be values."""
        return entries == "numbers"

    def codes_of_column(self, entries: Entries) -> Callable[[NDArray[Any]], IntArray] | None:
        """The function that codes a whole column of such entries, or None where that is done one by one.

        Numbers come as integers or floats, dates as days from 1970-01-01; NaN is missing.
        """
        return codes_of_numbers(self._codes_of_integers) if entries == "numbers" else None

    def _codes_of_integers(self, numbers: NDArray[Any]) -> IntArray:
        known = (numbers >= 0) & (numbers < self.size)
        return np.where(known, numbers.astype(np.int64), UNKNOWN)

    def integer_range(self) -> tuple[int, int] | None:
        """The least and the largest integer among the values; None where single integers are not distinguished."""
        return 0, self.size - 1

    def to_json(self) -> dict[str, Any]:
        """The values as a JSON object with one field."""
        return {"size": self.size}


def codes_of_numbers(codes_of_integers: Callable[[NDArray[Any]], IntArray]) -> Callable[[NDArray[Any]], IntArray]:
    """The function that codes integers, or floats, of which those without a fraction are integers unless rounded."""

    def codes_of(numbers: NDArray[Any]) -> IntArray:
        if numbers.dtype.kind in "iu":
            return codes_of_integers(numbers)
        limit = float(first_rounded_integer(numbers.dtype))
        floats = numbers.astype(np.float64)
        integral = (floats == np.trunc(floats)) & (np.abs(floats) < limit)
        codes = codes_of_integers(np.where(integral, floats, 0).astype(np.int64))
        return np.where(np.isnan(floats), MISSING, np.where(integral, codes, UNKNOWN))

    return codes_of


#: Of each family that is listed its values in words, what an entry means, and what columns other than strings hold.
_LISTED: Mapping[Matching, tuple[str, Callable[[Any], object], Entries]] = {
    "text": ("strings", text_of, "numbers"),
    "truth": ("truth values", truth_of, "truth values"),
    "integer": ("integers", integer_of, "numbers"),
    "date": ("dates", day_of, "dates"),
}


@dataclass(frozen=True)
class Listed:
    """Values that are listed: entries are looked up by what they mean, dates by the day from 1970-01-01 on."""

    labels: tuple[Label, ...]
    matching: Matching  # a family of `_LISTED`

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def words(self) -> str:
        """What the values are, for messages."""
        return _LISTED[self.matching][0]

    @cached_property
    def _meant(self) -> Callable[[Any], object]:
        return _LISTED[self.matching][1]

    @cached_property
    def _code(self) -> dict[Any, int]:
        return {self._meant(label): code for code, label in enumerate(self.labels)}

    def code_of(self, entry: object) -> int:
        """The code of an entry that is not missing, or UNKNOWN."""
        return self._code.get(self._meant(entry), UNKNOWN)

    def code_of_label(self, label: object) -> int | None:
        """The code of a value as tables show it or as it was declared, or None."""
        if self.matching == "date":
            is_one = isinstance(label, dt.date) or label in self.labels
        else:
            is_one = type(label) is type(self.labels[0])
        return self._code.get(self._meant(label)) if is_one else None

    def holds(self, entries: Entries) -> bool:
        """Whether any such entries can be values: of numbers only where some label means an integer."""
        return entries == _LISTED[self.matching][2] and (entries != "numbers" or self.integer_range() is not None)

    def codes_of_column(self, entries: Entries) -> Callable[[NDArray[Any]], IntArray] | None:
        """The function that codes a whole column of such entries, or None."""
        looked_up = partial(_looked_up, tuple(self._code))
        if self.matching == "integer" and entries == "numbers":
            return codes_of_numbers(looked_up)
        return looked_up if self.matching == "date" and entries == "dates" else None

    def integer_range(self) -> tuple[int, int] | None:
        """The least and the largest integer among the values, or None."""
        means = map(integer_of, self.labels) if _LISTED[self.matching][2] == "numbers" else ()
        numbers = [number for number in means if number is not None]
        return (min(numbers), max(numbers)) if numbers else None

    def to_json(self) -> dict[str, Any]:
        """The values as a JSON object with one field."""
        return {"dates" if self.matching == "date" else "labels": list(self.labels)}


def values_of_labels(name: str, labels: object) -> Listed:
    """The family of labels of an attribute; DomainError where they repeat, are of several kinds, or no labels."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise attribute_error(name, f"needs a list of labels, got {value_text(labels)}")
    if isinstance(labels, Set) and not isinstance(labels, KeysView):
        raise attribute_error(name, "needs its labels in an order, and a set has another in every run; write a list")
    given = list(labels)
    if not given:
        raise attribute_error(name, "needs at least 1 label")
    if all(isinstance(label, dt.date) for label in given):
        if any(isinstance(day, dt.datetime) and (day.tzinfo is not None or day.time() != dt.time()) for day in given):
            raise attribute_error(name, "has a label with a time of day or a time zone; labels are dates without these")
        values = Listed(tuple(day.isoformat()[:10] for day in given), "date")
    else:
        plain = tuple(checked_label(name, label) for label in given)
        if len({type(label) for label in plain}) > 1:
            raise attribute_error(name, "mixes kinds of labels; make them all strings, say")
        values = Listed(plain, _FAMILIES[type(plain[0])])
    if len(set(values.labels)) < len(values):
        twice = next(label for label, times in Counter(values.labels).items() if times > 1)
        raise attribute_error(name, f"has the label {value_text(twice)} twice")
    return values


_FAMILIES: Mapping[type, Matching] = {str: "text", bool: "truth", int: "integer"}


def _looked_up(distinct: Sequence[Any], numbers: NDArray[Any]) -> IntArray:
    """The index of each number among the distinct integers, or UNKNOWN."""
    values = np.array(distinct, dtype=np.int64)
    fits = numbers <= np.iinfo(np.int64).max  # unsigned integers beyond it equal no value
    order = np.argsort(values)
    wanted = np.where(fits, numbers, 0).astype(np.int64)
    nearest = np.minimum(np.searchsorted(values[order], wanted), values.size - 1)
    codes = order[nearest]
    return np.where(fits & (values[codes] == wanted), codes, UNKNOWN)
