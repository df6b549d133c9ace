"""The schema: names, sizes, labels and bins, declared before any record is read; and the codes of raw values."""

from residualplanner.domain.attribute import Attribute, Into, Label, Rule
from residualplanner.domain.bins import Bins
from residualplanner.domain.domain import Domain
from residualplanner.domain.values import (
    MISSING,
    UNKNOWN,
    codes_of_numbers,
    codes_of_values,
    first_rounded_integer,
    integer_range,
)

__all__ = [
    "MISSING",
    "UNKNOWN",
    "Attribute",
    "Bins",
    "Domain",
    "Into",
    "Label",
    "Rule",
    "codes_of_numbers",
    "codes_of_values",
    "first_rounded_integer",
    "integer_range",
]
