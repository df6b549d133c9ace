"""Weights of records: a column says how much each record counts, up to a declared maximum.

A record of weight w is w / maximum of a record of the largest weight, and costs at most as much (eq. (101)).
Weights are multiples of a declared unit p / q, so that ``q w`` is an integer and sums of weights are exact.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray, Number, has_shape, is_unicode, value_text
from residualplanner.ground.errors import DomainError
from residualplanner.ground.words import fraction_text
from residualplanner.method.domain.families import MISSING, UNKNOWN
from residualplanner.more.amounts.units import NumberReader, amount_text, exact_amount, nearest_units, word_among

#: What becomes of a weight above the maximum: the data are refused, or it counts as the maximum.
Above = Literal["refuse", "clip"]
#: Codes of entries that are no weights, beside UNKNOWN and MISSING.
NEGATIVE, ABOVE, BETWEEN_UNITS = -3, -4, -5
#: The largest weight has fewer than so many parts of one q-th, which floats still tell apart.
_MOST_PARTS = 2**53
_FRACTION = re.compile("[0-9]{1,400}(/[0-9]{1,400})?")
_SHAPE = {"column": str, "above": str} | dict.fromkeys(
    ("maximum", "unit"), lambda text: isinstance(text, str) and _FRACTION.fullmatch(text)
)


@dataclass(frozen=True, slots=True, init=False)
class Weight(NumberReader):
    """A column that says how much each record counts: tables hold totals of it, not numbers of records.

    Args:
        name: the column's name; it is no attribute of the domain.
        maximum: the largest weight.  Noise is as for records that all have it, so choose it from what is known
            without the data, and no larger than needed.
        unit: all weights are multiples of it; a float means its decimal spelling.
        above: "refuse": data with a weight above the maximum are refused; "clip": it counts as the maximum.

    Raises:
        DomainError: no name; numbers that are not positive; a maximum that is not a multiple of the unit, or has too
            many of them.

    Source: eqs. (100) to (102).

    Example:
        >>> Weight("hours", maximum=60, unit=0.5, above="clip")
        Weight('hours', maximum=60, unit=0.5, above='clip')
    """

    name: str
    maximum: Fraction
    unit: Fraction
    above: Above

    words: ClassVar[str] = "weights"

    def __init__(self, name: str, *, maximum: Number, unit: Number = 1, above: Above = "refuse") -> None:
        if not isinstance(name, str) or not name or not is_unicode(name):
            raise DomainError(f"the column of weights needs a name, got {value_text(name)}")
        largest, step = _exact("maximum", maximum), _exact("unit", unit)
        if (largest / step).denominator != 1:
            raise DomainError(f"the maximum of weights must be a multiple of their unit, got {value_text(maximum)}")
        if largest * step.denominator >= _MOST_PARTS or step.denominator >= _MOST_PARTS:
            raise DomainError("the maximum of weights must have fewer than 2**53 units; choose a larger unit")
        rule = word_among("above", above, get_args(Above))
        for word, value in (("name", str(name)), ("maximum", largest), ("unit", step), ("above", rule)):
            object.__setattr__(self, word, value)

    def __repr__(self) -> str:
        unit = "" if self.unit == 1 else f", unit={amount_text(self.unit)}"
        above = "" if self.above == "refuse" else f", above={self.above!r}"
        return f"Weight({self.name!r}, maximum={amount_text(self.maximum)}{unit}{above})"

    @property
    def columns(self) -> tuple["Weight", ...]:
        """The column itself."""
        return (self,)

    @property
    def values(self) -> "Weight":
        """What reads its entries."""
        return self

    @property
    def denominator(self) -> int:
        """The q of the unit p / q in lowest terms."""
        return self.unit.denominator

    @property
    def unit_name(self) -> str:
        """The column that is added up."""
        return repr(self.name)

    @property
    def sentence(self) -> str:
        """What tables hold."""
        most = f"at most {amount_text(self.maximum)}"
        most += " (a larger one counts as that)" if self.above == "clip" else ""
        return (
            f"Records are weighted by {self.name!r}, {most}: all numbers and their errors are totals of "
            f"{self.name!r}, not numbers of records."
        )

    def to_json(self) -> dict[str, Any]:
        """The column's name, exact numbers as text, and the rule."""
        numbers = {"maximum": fraction_text(self.maximum), "unit": fraction_text(self.unit)}
        return {"weight": {"column": self.name, **numbers, "above": self.above}}

    @classmethod
    def from_json(cls, value: object) -> "Weight":
        """The inverse of `to_json`, of the value of its field; DomainError where that is none."""
        if not has_shape(value, _SHAPE):
            raise DomainError("weight: expected column, maximum, unit and above, the numbers as text such as '1/2'")
        fields = dict(cast("dict[str, Any]", value))
        return cls(fields.pop("column"), **fields)

    def codes_of_numbers(self, numbers: NDArray[Any]) -> IntArray:
        """The integers q w for weights w, (m,); UNKNOWN, MISSING, NEGATIVE, ABOVE or BETWEEN_UNITS for what is none."""
        p = self.unit.numerator
        floats = numbers.astype(np.float64)
        is_known = np.isfinite(floats)
        within = np.clip(np.where(is_known, floats, 0), -1, 2 * float(self.maximum))
        units, is_multiple = nearest_units(within, numbers, self.unit)
        parts, most = units.astype(np.int64) * p, int(self.maximum * self.denominator)
        codes = np.where(is_multiple, parts, BETWEEN_UNITS)
        is_above = np.where(is_multiple, parts > most, floats > float(self.maximum))
        codes = np.where(is_above, most if self.above == "clip" else ABOVE, codes)
        codes = np.where(floats < 0, NEGATIVE, codes)
        return np.where(is_known, codes, np.where(np.isnan(floats), MISSING, UNKNOWN))


def _exact(what: str, number: Number) -> Fraction:
    exact = exact_amount(f"the {what} of weights", number)
    if not exact > 0:
        raise DomainError(f"the {what} of weights must be positive and finite, got {value_text(number)}")
    return exact
