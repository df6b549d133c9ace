"""Codes of raw values, against a slow reading of the rules, one value at a time."""

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from column_codes import codes_of_numbers
from inner_parts import MISSING, UNKNOWN, columns
from residualplanner import Attribute, Bins

reproducible = settings(derandomize=True, deadline=None)

ATTRIBUTES = [
    Attribute("a", 4),
    Attribute("a", labels=[3, 1, -7, 0, 2**53 + 1, -(2**63)]),
    Attribute("a", labels=["1", "01", "x", "", "None", "nan", "True", "é", "-7", "0"]),
    Attribute("a", labels=[True, False]),
    Attribute("a", bins=Bins([-7, 0, 1, 3.5])),
    Attribute("a", bins=Bins([-math.inf, 0, math.inf])),
]
ODD = [
    *(None, math.nan, np.float32("nan"), Decimal("NaN"), Decimal("sNaN"), pd.NA, pd.NaT, np.datetime64("NaT", "s")),
    *(True, False, np.True_, np.False_, 0, 1, -7, 3, 4, -1, 2**53, 2**53 + 1, 2**63, -(2**63), 10**400),
    *(np.int8(-128), np.int8(1), np.uint64(2**64 - 1), np.timedelta64(1, "s"), np.complex128(1), 1j),
    *(0.0, -0.0, 1.0, 1.5, 3.5, np.nextafter(3.5, 4), 1e300, math.inf, -math.inf, np.float32(0.1), np.float16(3)),
    *(Decimal(1), Decimal("1.0"), Decimal("1.5"), Decimal("1e9999"), Decimal("-Infinity"), Decimal("-0")),
    *("1", "01", " 1", "1 ", "+1", "1.0", "-0", "-7", "0", "1_0", "1e0", ".5", "1.", "x", "X", "", "None", "nan"),
    *("inf", "true", "True", "TRUE", "tRue", "false", "yes", "é", "e\u0301", "\ud800", "９", "9" * 5000, np.str_("x")),
    *(b"1", [1], (1,), {}, object(), dt.date(2020, 1, 1), pd.Timestamp("2020-01-01"), pd.Interval(0, 1)),
]


WHOLE, FLOATING = (int, np.int8, np.uint64), (float, np.float64, np.float32, np.float16)


def is_missing(value):
    is_nan = (type(value) in FLOATING and math.isnan(value)) or (isinstance(value, Decimal) and value.is_nan())
    return value is None or value is pd.NA or value is pd.NaT or is_nan or isinstance(value, np.datetime64)


def exact(value):
    """The number an entry is, exactly, or None."""
    if type(value) in WHOLE:
        return Fraction(int(value))
    if type(value) in FLOATING:
        return Fraction(float(value)) if math.isfinite(value) else None
    return Fraction(value) if isinstance(value, Decimal) and value.is_finite() else None


def integer_meant(value):
    if isinstance(value, str):
        return next((n for n in (*range(-10, 11), 2**53 + 1, -(2**63), 2**63) if value == str(n)), None)
    number = exact(value)
    exactly = {np.float32: 2**24, np.float16: 2**11}.get(type(value), 2**53)
    if type(value) in FLOATING and number is not None and abs(number) >= exactly:
        return None
    return int(number) if number is not None and number.denominator == 1 else None


def number_meant(value):
    is_number_text = isinstance(value, str) and value != "" and set(value) <= set("0123456789.e+-")
    number = Fraction(Decimal(value)) if is_number_text else exact(value)
    return None if number is None or abs(number) > 10**308 else number


def code_in_bins(edges, number):
    for code, (low, high) in enumerate(pairwise(edges)):
        is_last = code == len(edges) - 2
        if number is not None and (low <= number < high or (is_last and number == high)):
            return code
    return UNKNOWN


def naive_code(attribute, value):
    """The code by the documented words, slowly."""
    if is_missing(value):
        return MISSING
    if attribute.matching == "bin":
        return code_in_bins(attribute.bins.edges, number_meant(value))
    if attribute.matching == "truth":
        words = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
        meant = bool(value) if type(value) in (bool, np.bool_) else words.get(value) if isinstance(value, str) else None
        return UNKNOWN if meant is None else attribute.value_labels.index(meant)
    meant = integer_meant(value)
    if attribute.matching == "text":
        meant = value if isinstance(value, str) else None if meant is None or abs(meant) > 2**64 else str(meant)
    return next((code for code, label in enumerate(attribute.value_labels) if label == meant), UNKNOWN)


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=str)
def test_each_odd_value_has_its_documented_code(attribute):
    for value in ODD:
        found = columns.codes_of_values(attribute, [value]).tolist()
        assert found == [naive_code(attribute, value)], f"{type(value).__name__} {ascii(value)[:12]}"


ELEMENTS = {
    np.int64: st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9),
    np.uint64: st.integers(0, 2**64 - 1) | st.integers(0, 9),
    np.int8: st.integers(-128, 127),
    np.uint8: st.integers(0, 255),
    np.float64: st.floats() | st.integers(-9, 9).map(float),
    np.float32: st.floats(width=32),
    np.float16: st.floats(width=16),
}
numbers = st.sampled_from([*ELEMENTS]).flatmap(
    lambda dtype: st.lists(ELEMENTS[dtype]).map(lambda found: np.array(found, dtype=dtype))
)


@given(column=numbers, attribute=st.sampled_from([a for a in ATTRIBUTES if a.matching not in ("text", "truth")]))
@reproducible
def test_a_whole_column_of_numbers_gets_the_codes_of_its_values(column, attribute):
    assert codes_of_numbers(attribute, column).tolist() == columns.codes_of_values(attribute, list(column)).tolist()


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=str)
def test_a_decimal_of_a_million_digits_is_unknown_at_once_and_no_values_have_no_codes(attribute):
    assert columns.codes_of_values(attribute, [Decimal("1e999999"), Decimal("-1e999999")]).tolist() == [UNKNOWN] * 2
    none = columns.codes_of_values(attribute, [])
    assert (none.shape, none.dtype) == ((0,), np.int64)
