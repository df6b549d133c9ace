"""The codes of raw values: the attribute's value that a record's entry stands for.

Reads: an attribute and raw entries.  Gives: codes 0 .. size-1, or UNKNOWN or MISSING; the attribute's rules are applied
to these elsewhere.

The same entry gets the same code whatever container it came in.  ``None``, NaN, pandas' NA and NaT are missing.  Then:

=============== ====================================================================================================
the attribute   what matches
=============== ====================================================================================================
size, integers  integers; floats and decimals without a fraction (a null turns a column of integers into
                floats), but no float so large that other integers are rounded to it: 2**53 and more in 64 bits;
                strings that are the integer's usual spelling: "7", "-3"; not "07", "+7", " 7", "7.0", "-0"
strings         the same string, code point by code point; an integer with that spelling, because readers turn "1"
                into 1; so 1 and 1.0 match "1", and nothing but the string "01" matches "01"
truth values    True and False; the strings "true", "True", "TRUE", "false", "False", "FALSE"
bins of numbers finite numbers; strings that are numbers as programs write them: "1500", "-2.5", "1e3"
dates, and bins dates, and times of day on a date, without a time zone; strings that are such: "2020-02-29",
of dates        "2020-02-29 23:59:59", "2020-02-29T23:59:59.5"; nothing that names a time zone, and no number
=============== ====================================================================================================

True and False are not 1 and 0, and bytes are not text.  A label under which unknown or missing entries are counted is
no value: no entry matches it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.entries import is_missing
from residualplanner.method.domain.families import MISSING, UNKNOWN, Column, Entries


def codes_of_values(attribute: Column, values: Sequence[object]) -> IntArray:
    """The code of each raw value, one at a time: for the few distinct values of a column.

    Args:
        attribute: the column's description.
        values (m,): raw entries of any type.

    Returns:
        (m,): codes 0 .. size-1, UNKNOWN or MISSING.

    Cost: about a microsecond a value.

    Example:
        >>> codes_of_values(Attribute("grade", labels=[1, 2]), ["2", 1.0, "02", True, None])
        array([ 1,  0, -1, -1, -2])
    """
    code_of = attribute.values.code_of
    codes = (MISSING if is_missing(value) else code_of(value) for value in values)
    return np.fromiter(codes, dtype=np.int64, count=len(values))


def codes_of_numbers(attribute: Attribute, numbers: NDArray[np.number]) -> IntArray:
    """The codes of a whole column of numbers at once, for attributes with a size, integers or bins of numbers.

    Args:
        attribute: a size, integer labels or bins of numbers.
        numbers (m,): integers, or floats with NaN where the entry is missing.

    Returns:
        (m,): codes 0 .. size-1, UNKNOWN or MISSING; the same as ``codes_of_values`` gives.

    Cost: O(m log size), without a Python step per number.

    Example:
        >>> from residualplanner.method.domain.bins import Bins
        >>> codes_of_numbers(Attribute("income", bins=Bins([0, 10, 20])), np.array([5.0, 20.0, 20.5, np.nan]))
        array([ 0,  1, -1, -2])
    """
    return _codes_of_column(attribute, "numbers", numbers)


def codes_of_days(attribute: Attribute, days: IntArray) -> IntArray:
    """The codes of a whole column of dates at once, for attributes with dates or bins of dates.

    Args:
        attribute: dates as labels, or bins of dates.
        days (m,): numbered from 1970-01-01.

    Returns:
        (m,): codes 0 .. size-1 or UNKNOWN; the same as ``codes_of_values`` gives for the dates.

    Cost: O(m log size), without a Python step per date.

    Example:
        >>> from residualplanner.method.domain.bins import Bins
        >>> codes_of_days(Attribute("born", bins=Bins.years(1970, 1971)), np.array([-1, 0, 364, 365, 730]))
        array([-1,  0,  0,  1, -1])
    """
    return _codes_of_column(attribute, "dates", days)


def integer_range(attribute: Column) -> tuple[int, int] | None:
    """The least and the largest integer among the attribute's values; None for bins, and where there is none.

    Example:
        >>> integer_range(Attribute("grade", 5)), integer_range(Attribute("sex", labels=["F", "M"]))
        ((0, 4), None)
    """
    return attribute.values.integer_range()


def _codes_of_column(attribute: Attribute, entries: Entries, column: NDArray[np.number]) -> IntArray:
    codes_of = attribute.values.codes_of_column(entries)
    return np.full(len(column), UNKNOWN, dtype=np.int64) if codes_of is None else codes_of(column)
