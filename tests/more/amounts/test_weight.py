"""Weights of records: what is a weight, what is none, and how a domain keeps its column."""

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from column_codes import codes_of_entries
from residualplanner import Domain, Numeric, Weight

UNKNOWN, MISSING, NEGATIVE, ABOVE, BETWEEN_UNITS = -1, -2, -3, -4, -5
few = settings(derandomize=True, deadline=None, max_examples=60)
WEIGHTS = [
    Weight("w", maximum=60),
    Weight("w", maximum=60, unit=0.5),
    Weight("w", maximum="0.3", unit="0.1", above="clip"),
    Weight("w", maximum=Fraction(8, 3), unit=Fraction(2, 3)),
    Weight("w", maximum=12.5, unit=0.01, above="clip"),
    Weight("w", maximum=10**9, unit=5),
]


def expected_code(weight, value):
    """By exact fractions, from the definition."""
    if value < 0:
        return NEGATIVE
    if value > weight.maximum:
        return ABOVE if weight.above == "refuse" else weight.maximum * weight.unit.denominator
    return value * weight.unit.denominator if (value / weight.unit).denominator == 1 else BETWEEN_UNITS


@given(weight=st.sampled_from(WEIGHTS), units=st.fractions(-3, 200, max_denominator=4), rounding=st.booleans())
@few
def test_weights_are_read_exactly_however_they_are_written(weight, units, rounding):
    value = (round(units) if rounding else units) * weight.unit
    if 10**6 % value.denominator == 0:
        written = f"{Decimal(value.numerator) / Decimal(value.denominator):f}"
        expected = expected_code(weight, value)
        assert weight.code_of(written) == expected
        assert weight.code_of(Decimal(written)) == expected
        assert weight.code_of(float(written)) == expected
        assert weight.codes_of_column("numbers")(np.array([float(written)])).tolist() == [expected]
    if value.denominator == 1:
        expected = expected_code(weight, value)
        assert weight.code_of(int(value)) == expected
        assert weight.codes_of_column("numbers")(np.array([int(value)])).tolist() == [expected]


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        *((entry, UNKNOWN) for entry in ("seven", True, b"1", "inf", float("-inf"), "1" * 500)),
        *((entry, MISSING) for entry in (None, float("nan"))),
        *((entry, ABOVE) for entry in ("1e308", 2**70)),
        *((entry, 0) for entry in ("0e-999999999", "-0", "1e-400")),
        ("6e1", 60),
        (np.int8(7), 7),
    ],
)
def test_entries_that_are_no_weights_are_told_apart(entry, code):
    assert codes_of_entries(WEIGHTS[0], [entry]).tolist() == [code]


@pytest.mark.parametrize(("above", "code"), [("clip", 480), ("refuse", ABOVE)])
@pytest.mark.parametrize("entry", ["60.01", "60.06", "60.0625", "60.11", "119.99", "120.07"])
def test_what_is_between_units_above_the_maximum_is_above_it_in_every_type(above, code, entry):
    weight = Weight("hours", maximum=60, unit="0.125", above=above)
    for written in (entry, Decimal(entry), float(entry), np.float32(entry)):
        assert weight.code_of(written) == code
    assert weight.codes_of_column("numbers")(np.array([float(entry)])).tolist() == [code]


def test_integers_beyond_the_maximum_do_not_wrap_and_a_float_of_32_bits_is_the_decimal_that_it_spells():
    narrow = np.array([0.1, 3.07, 3.075, np.nan, np.inf, -1, 99], dtype=np.float32)
    codes = [10, 307, BETWEEN_UNITS, MISSING, UNKNOWN, NEGATIVE, 1250]
    assert WEIGHTS[4].codes_of_column("numbers")(narrow).tolist() == codes
    found = WEIGHTS[0].codes_of_column("numbers")
    assert found(np.array([2**63 - 1, -(2**63), 60])).tolist() == [ABOVE, NEGATIVE, 60]
    assert found(np.array([2**64 - 1], dtype=np.uint64)).tolist() == [ABOVE]


@pytest.mark.parametrize("weight", WEIGHTS)
def test_a_domain_with_weights_survives_json_and_one_without_is_as_it_was(weight):
    domain = Domain({"a": 2}, weight=weight)
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain
    assert domain != Domain({"a": 2})
    assert eval(repr(weight), {"Weight": Weight}) == weight
    assert [column.name for column in domain.columns] == ["a", "w"]
    assert domain.denominator == weight.unit.denominator
    plain = Domain({"a": 2})
    assert plain.to_json() == {"attributes": [{"name": "a", "size": 2, "unknown": "error", "missing": "error"}]}
    assert (plain.weight.maximum, plain.denominator, plain.columns) == (1, 1, plain.attributes)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"maximum": 0}, "maximum of weights must be positive"),
        *(({"maximum": float(bad)}, "must be a finite number") for bad in ("nan", "inf")),
        ({"maximum": 1, "unit": 0.3}, "must be a multiple of their unit"),
        ({"maximum": 2**53}, r"fewer than 2\*\*53 units"),
        ({"maximum": 1, "unit": -1}, "unit of weights must be positive"),
        ({"maximum": 1, "above": "clipp"}, "did you mean 'clip'"),
    ],
)
def test_bad_declarations_are_refused(declared, message):
    with pytest.raises(rp.errors.DomainError, match=message):
        Weight("w", **declared)


def test_the_column_of_weights_is_no_attribute():
    with pytest.raises(rp.errors.DomainError, match="'a' is an attribute, too"):
        Domain({"a": 2}, weight=Weight("a", maximum=1))
    with pytest.raises(rp.errors.DomainError, match='such as Weight\\("hours", maximum=60\\)'):
        Domain({"a": 2}, weight="w")
    with pytest.raises(rp.errors.DomainError, match="weight: expected column"):
        Domain.from_json({"attributes": [], "weight": {"column": "w"}})


@pytest.mark.parametrize("kind", [float, np.float16, np.float32, np.float64, np.longdouble])
def test_a_declared_number_is_the_decimal_that_it_is_written_as_whatever_its_precision(kind):
    assert Weight("hours", maximum=kind("0.7"), unit=kind("0.1")) == Weight("hours", maximum="0.7", unit="0.1")
    assert Numeric(0, kind("0.7"), unit=kind("0.1")) == Numeric(0, "0.7", unit="0.1")
