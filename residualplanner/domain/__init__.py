"""The schema of a table, declared before any record is read, and the codes of raw values.

Reads: names, sizes, labels and bins that the user declares, or JSON.  Gives: `Domain`, its `Attribute`s and `Bins`.
Protocol: every value of an attribute has a code 0 .. size-1; `codes_of_values`, `codes_of_numbers` and `codes_of_days`
give the codes of raw entries, or `UNKNOWN` or `MISSING`, and the attribute's rules say what becomes of these.  The
values are an object of one family behind one protocol, `families.Values`.  Records count once each, or by a `Weight`.
Nothing here ever sees a data set: labels are never taken from the records.
"""

from residualplanner.domain.about import About, require_words, words_of
from residualplanner.domain.attribute import Attribute
from residualplanner.domain.bins import Bins
from residualplanner.domain.domain import Domain, HasAttribute
from residualplanner.domain.entries import (
    day_of,
    first_rounded_integer,
    integer_of,
    is_missing,
    is_narrow,
    number_of,
)
from residualplanner.domain.families import MISSING, UNKNOWN, Column, Entries
from residualplanner.domain.labels import Into, Label, Rule, label_text, plain_label
from residualplanner.domain.numeric import LARGEST_DENOMINATOR, Numeric
from residualplanner.domain.omission import omission_of, remarks_of
from residualplanner.domain.values import codes_of_days, codes_of_numbers, codes_of_values, integer_range
from residualplanner.domain.weight import ABOVE, BETWEEN_UNITS, NEGATIVE, EqualWeights, Weight, Weighting

__all__ = [
    "ABOVE",
    "BETWEEN_UNITS",
    "LARGEST_DENOMINATOR",
    "MISSING",
    "NEGATIVE",
    "UNKNOWN",
    "About",
    "Attribute",
    "Bins",
    "Column",
    "Domain",
    "Entries",
    "EqualWeights",
    "HasAttribute",
    "Into",
    "Label",
    "Numeric",
    "Rule",
    "Weight",
    "Weighting",
    "codes_of_days",
    "codes_of_numbers",
    "codes_of_values",
    "day_of",
    "first_rounded_integer",
    "integer_of",
    "integer_range",
    "is_missing",
    "is_narrow",
    "label_text",
    "number_of",
    "omission_of",
    "plain_label",
    "remarks_of",
    "require_words",
    "words_of",
]
