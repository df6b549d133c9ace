"""Families of values that an attribute can have, one small object each: their protocol, and codes.

A family knows which entries are its values, one at a time and whole columns at once, and how tables show its values.
The others are in `listed_values` and `bins`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray
from residualplanner.method.domain.entries import first_rounded_integer, integer_of
from residualplanner.method.domain.labels import Label

#: The code of an entry that is not one of the attribute's values.
UNKNOWN = -1
#: The code of an entry without a value.
MISSING = -2

#: What the entries of a column of one type are, other than strings, which may stand for anything.
Entries = Literal["numbers", "truth values", "dates"]
#: How the raw values of a column are matched.
Matching = Literal["code", "integer", "text", "truth", "date", "bin", "amount"]


class Coding(Protocol):
    """How the entries of a column become codes."""

    @property
    def words(self) -> str:
        """What its values are, for messages."""
        ...

    def code_of(self, entry: object) -> int:
        """The code of an entry that is not missing, or UNKNOWN."""
        ...

    def holds(self, entries: Entries) -> bool:
        """Whether any such entries can be values."""
        ...

    def codes_of_column(self, entries: Entries) -> Callable[[NDArray[Any]], IntArray] | None:
        """The function that codes a whole column of such entries, or None where that is done one by one.

        Numbers come as integers or floats, dates as days from 1970-01-01; NaN is missing.
        """
        ...

    def integer_range(self) -> tuple[int, int] | None:
        """The least and the largest integer among the values; None where single integers are not distinguished."""
        ...


class SchemaColumn(Protocol):
    """A column of the records: its name, and how its entries become codes."""

    @property
    def name(self) -> str:
        """The column's name."""
        ...

    @property
    def values(self) -> Coding:
        """How its entries become codes."""
        ...


class Values(Coding, Protocol):
    """The values that the entries of an attribute's column can have, in the order of their codes."""

    @property
    def matching(self) -> Matching:
        """The word for this family."""
        ...

    def __len__(self) -> int: ...

    @property
    def labels(self) -> tuple[Label, ...]:
        """The values as tables show them."""
        ...

    def code_of_label(self, label: object) -> int | None:
        """The code of a value as tables show it or as it was declared, or None."""
        ...

    def to_json(self) -> dict[str, Any]:
        """The values as a JSON object with one field."""
        ...


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
        """The function that codes a whole column of such entries, or None."""
        return codes_of_numbers(self._codes_of_integers) if entries == "numbers" else None

    def _codes_of_integers(self, numbers: NDArray[Any]) -> IntArray:
        known = (numbers >= 0) & (numbers < self.size)
        return np.where(known, numbers.astype(np.int64), UNKNOWN)

    def integer_range(self) -> tuple[int, int] | None:
        """The least and the largest integer among the values, or None."""
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


class Weighting(Protocol):
    """How much each record counts."""

    @property
    def columns(self) -> tuple[SchemaColumn, ...]:
        """The columns that are read for it."""
        ...

    @property
    def maximum(self) -> Fraction:
        """The largest weight."""
        ...

    @property
    def denominator(self) -> int:
        """The integer q by which every weight is multiplied, so that it becomes an integer."""
        ...

    @property
    def unit_name(self) -> str:
        """What estimates and errors are in; empty where that is numbers of records."""
        ...

    @property
    def sentence(self) -> str:
        """What tables hold instead of numbers of records; empty where they hold these."""
        ...

    def to_json(self) -> dict[str, Any]:
        """The field of a domain's JSON that declares it; nothing where every record counts once."""
        ...


@dataclass(frozen=True, slots=True)
class EqualWeights:
    """Every record has weight 1: tables hold numbers of records."""

    columns: ClassVar[tuple[SchemaColumn, ...]] = ()
    maximum: ClassVar[Fraction] = Fraction(1)
    denominator: ClassVar[int] = 1
    unit_name: ClassVar[str] = ""
    sentence: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        """Nothing."""
        return {}
