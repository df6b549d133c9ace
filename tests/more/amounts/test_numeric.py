"""Amounts: bins, ends, and the fractions of a record that count at either end, in exact fractions."""

import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from column_codes import codes_of_entries, codes_of_numbers
from residualplanner import Attribute, Domain, Numeric

UNKNOWN, MISSING = -1, -2
units = st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(1, 100), Fraction(25)])


@st.composite
def amounts(draw, outside=None):
    """Amounts in 1 to 4 bins of any widths."""
    widths = draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    first, unit = draw(st.integers(-20, 20)), draw(units)
    edges = [(first + sum(widths[:number])) * unit for number in range(len(widths) + 1)]
    words = {"outside": outside or draw(st.sampled_from(["refuse", "clip"]))}
    return Numeric(edges[0], edges[-1], unit=unit, bins=edges[1:-1], **words)


def interpolated(numeric, value):
    """Where an amount within the limits counts, by the definition: fractions of a record by cell."""
    edges = [edge * numeric.unit for edge in numeric.edges]
    found = [Fraction(0)] * (2 * len(edges) - 2)
    number = max(i for i in range(len(edges) - 1) if edges[i] <= value)
    low, high = edges[number], edges[number + 1]
    found[2 * number], found[2 * number + 1] = (high - value) / (high - low), (value - low) / (high - low)
    return found


def fractions_of(numeric, code):
    """The same of a code that was found."""
    (cell,), (k,) = (found.tolist() for found in numeric.cells_of_codes(np.array([code])))
    found = [Fraction(0)] * len(numeric)
    found[cell] += Fraction(numeric.denominator - k, numeric.denominator)
    found[cell + 1] += Fraction(k, numeric.denominator)
    return found


@given(numeric=amounts(), data=st.data())
def test_an_amount_counts_at_the_ends_of_its_bin_by_linear_interpolation(numeric, data):
    value = data.draw(st.integers(numeric.edges[0], numeric.edges[-1])) * numeric.unit
    code = numeric.code_of(float(value))
    expected = interpolated(numeric, value)
    assert fractions_of(numeric, code) == expected
    ends = [Fraction(end).limit_denominator(1000) for end in numeric.ends.ravel().tolist()]
    assert sum(share * end for share, end in zip(expected, ends, strict=True)) == value
    assert sum(expected) == 1


@given(numeric=amounts("clip"), value=st.floats(-1e9, 1e9))
def test_amounts_outside_count_as_the_limit_and_no_fraction_is_negative(numeric, value):
    low, high = (numeric.edges[end] * numeric.unit for end in (0, -1))
    nearest = min(max(round(Fraction(value) / numeric.unit) * numeric.unit, low), high)
    assert fractions_of(numeric, numeric.code_of(value)) == interpolated(numeric, nearest)
    assert all(0 <= share <= 1 for share in fractions_of(numeric, numeric.code_of(value)))


@given(numeric=amounts("refuse"), value=st.floats(allow_nan=False) | st.integers(-(2**70), 2**70))
def test_amounts_outside_are_unknown_where_they_are_refused(numeric, value):
    exact = Fraction(value) if math.isfinite(value) else None
    is_within = exact is not None and numeric.edges[0] <= round(exact / numeric.unit) <= numeric.edges[-1]
    assert (numeric.code_of(value) != UNKNOWN) == is_within


def test_amounts_between_units_are_rounded_or_refused():
    rounded, refused = (Numeric(0, 10, unit="0.01", between_units=word) for word in ("round", "refuse"))
    assert rounded.code_of(0.29) == refused.code_of(0.29) == 29
    assert (rounded.code_of(0.294), refused.code_of(0.294)) == (29, UNKNOWN)
    assert refused.code_of(7) == 700


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_multiples_of_the_unit_are_told_by_the_digits_of_their_type(kind):
    refused = Numeric(0, 10, unit="0.01", between_units="refuse")
    numbers = np.array([0.29, 0.1, 9.5, 0.125], dtype=kind)
    assert refused.codes_of_numbers(numbers).tolist() == [29, 10, 950, UNKNOWN]
    assert [refused.code_of(number) for number in numbers] == [29, 10, 950, UNKNOWN]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.uint64])
def test_ready_counts_do_not_wrap_around_in_narrow_integers(kind):
    fare = Numeric(0, 100, unit="0.01", bins=[20])
    counts, sums = np.array([120, 30]), np.array([110, 90])
    expected = []
    for count, total, low, high in ((120, 110, 0, 20), (30, 90 + 30 * 20, 20, 100)):
        upper = Fraction(total - count * low, high - low) * fare.denominator
        expected += [count * fare.denominator - upper, upper]
    found = fare.ready_counts(counts.astype(kind), sums + np.array([0, 30 * 20]))
    assert found.tolist() == expected
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        *((entry, 3) for entry in (3, 3.0, "3", "3e0", Decimal("3"), np.int8(3))),
        *((entry, MISSING) for entry in (None, math.nan, Decimal("NaN"))),
        *((entry, UNKNOWN) for entry in (math.inf, -math.inf, "three", "", True, b"3", "1e999", 10**400)),
        (2**63, 10),
        (-(2**200), 0),
    ],
)
def test_entries_mean_what_they_mean_elsewhere_and_only_numbers_are_clipped(entry, code):
    attribute = Attribute("pay", numeric=Numeric(0, 10, outside="clip"))
    assert codes_of_entries(attribute, [entry]).tolist() == [code]


@given(numeric=amounts(), values=st.lists(st.floats() | st.integers(-50, 50).map(float), max_size=8))
def test_whole_columns_have_the_codes_of_their_entries(numeric, values):
    attribute = Attribute("pay", numeric=numeric)
    column = np.array(values, dtype=np.float64)
    assert codes_of_numbers(attribute, column).tolist() == codes_of_entries(attribute, values).tolist()


@given(numeric=amounts())
def test_amounts_are_read_back_from_json_just_as_they_were(numeric):
    domain = Domain({"pay": Attribute("pay", numeric=numeric, missing="Not stated")})
    again = Domain.from_json(json.loads(json.dumps(domain.to_json())))
    assert again == domain
    assert again["pay"].numeric == numeric
    assert eval(repr(numeric), {"Numeric": Numeric}) == numeric


def test_up_to_eight_edges_are_written_out():
    assert repr(Numeric(0, 7, bins=range(1, 7))) == "Numeric(0, 7, bins=[1, 2, 3, 4, 5, 6])"
    assert repr(Numeric(0, 8, bins=range(1, 8))) == "Numeric(0, 8, bins=[1, ..., 7])"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *((limits, "low below high") for limits in ((3, 3), (5, 3))),
        ((0, math.inf), "high must be a finite number"),
        ((math.nan, 3), "low must be a finite number"),
        (("a", 3), "low must be a finite number, got 'a'"),
        ((0, 10, {"unit": 3}), "high must be a multiple of the unit 3, got 10"),
        ((0, 10, {"unit": 0}), "unit of amounts must be positive"),
        ((0, 10, {"unit": True}), "unit must be a finite number"),
        ((0, 10, {"bins": 3}), "cannot be cut into 3 bins of equal width"),
        ((0, 10, {"bins": 0}), "1 to 5,000 bins"),
        *(((0, 10, {"bins": edges}), "edge 3 is not above edge 2") for edges in ([5, 4], [11])),
        ((0, 10, {"bins": 2.5}), "a number or a list of edges"),
        ((0, 10, {"outside": "clp"}), "outside must be 'refuse' or 'clip', got 'clp'; did you mean 'clip'?"),
        ((0, 2**31), "more than 1,073,741,824; choose a coarser unit"),
        ((0, 2**54), "fewer than 2\\*\\*53 units"),
    ],
)
def test_declarations_that_make_no_amounts_are_refused(given, message):
    low, high, options = (*given, {})[:3]
    with pytest.raises(rp.errors.DomainError, match=message):
        Numeric(low, high, **options)


def test_an_attribute_of_amounts_has_two_cells_for_each_bin_and_one_for_each_label_of_its_own():
    attribute = Attribute("pay", numeric=Numeric(0, 20, bins=2), unknown="Other", missing="Not stated")
    assert (attribute.size, len(attribute.value_labels), attribute.denominator) == (6, 6, 10)
    assert attribute.by_bin.value_labels == ("[0, 10)", "[10, 20]", "Other", "Not stated")
    assert Domain({"pay": Numeric(0, 20)})["pay"] == Attribute("pay", numeric=Numeric(0, 20))
    assert Attribute("age", 3).by_bin == Attribute("age", 3)


@pytest.mark.parametrize("label", ["[0, 10)", "low end of [0, 10)"])
def test_what_is_no_amount_is_not_counted_as_one(label):
    with pytest.raises(rp.errors.DomainError, match="label of their own"):
        Attribute("pay", numeric=Numeric(0, 20, bins=2), unknown=label)


def test_amounts_in_json_that_are_wrong_are_refused_where_they_are():
    value = Domain({"pay": Numeric(0, 20, bins=2)}).to_json()
    for word, wrong, message in [
        *(("edges", edges, "numeric: expected two edges") for edges in ([0], [0, 1.5])),
        ("unit", 1, "numeric: expected two edges"),
        ("unit", "x", "unit must be"),
        ("outside", None, "outside must be"),
    ]:
        broken = json.loads(json.dumps(value))
        broken["attributes"][0]["numeric"][word] = wrong
        with pytest.raises(rp.errors.DomainError, match=message):
            Domain.from_json(broken)
