"""The same decimal counts the same, whatever type of number a column has and wherever it comes from."""

from decimal import Decimal
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from forms_of_records import FORMS, counts

few = settings(derandomize=True, deadline=None, max_examples=40)
#: Two digits after the point are told apart by 16 bits below 8, where neighbors are 1/256 apart at most.
HUNDREDTHS = st.integers(-700, 700)
FLOATS = ["float16", "float32", "float64"]
KINDS = {
    **{kind: lambda texts, kind=kind: pa.array(np.array(texts, dtype=kind)) for kind in FLOATS},
    "decimal": lambda texts: pa.array(map(Decimal, texts), pa.decimal128(9, 2)),
    "text": pa.array,
}
#: What writes or holds no numbers of these types.
OTHERS = {
    "float16": ("Polars", "DuckDB", "Ibis", "pandas, cat", "CSV", "pandas, obj"),
    "float32": ("CSV", "pandas, obj"),
}
MADE = [(kind, form) for kind in KINDS for form in FORMS if not form.startswith(OTHERS.get(kind, ("pandas, obj",)))]
in_every_type_and_form = pytest.mark.parametrize(("kind", "form"), [*MADE, *((kind, "objects") for kind in KINDS)])


def made(texts, kind, form, folder):
    if form == "objects":
        return pd.DataFrame({"a": pd.Series([*KINDS[kind](texts).to_numpy(zero_copy_only=False)], dtype=object)})
    return FORMS[form](pa.table({"a": KINDS[kind](texts)}), folder)


def counts_of_decimals(edges, texts):
    """By decimal arithmetic; a last cell for what is in no bin."""
    found = [0] * len(edges)
    for number in map(Decimal, texts):
        inside = [low <= number < high for low, high in pairwise(edges)]
        inside[-1] |= number == edges[-1]
        found[inside.index(True) if any(inside) else -1] += 1
    return found


def in_bins(edges):
    return rp.Domain({"a": rp.Attribute("a", bins=rp.Bins(edges), unknown="none")})


@in_every_type_and_form
def test_a_decimal_is_in_its_bin_from_every_source(kind, form, tmp_path):
    texts = [f"{number / 100:.2f}" for number in range(-10, 121)]
    edges = ["0", "0.07", "0.1", "0.3", "0.7", "1.1"]
    data = made(texts, kind, form, tmp_path)
    assert counts(data, in_bins(map(float, edges))) == counts_of_decimals([*map(Decimal, edges)], texts)


@given(numbers=st.lists(HUNDREDTHS, min_size=1), edges=st.sets(HUNDREDTHS, min_size=2, max_size=6), data=st.data())
@few
def test_a_decimal_in_few_bits_is_in_its_bin_wherever_the_edges_are(numbers, edges, data):
    kind = data.draw(st.sampled_from(FLOATS))
    texts = [f"{number / 100:.2f}" for number in [*numbers, *edges]]
    exact = [Decimal(number) / 100 for number in sorted(edges)]
    column = np.array(texts, dtype=kind)
    for given_edges in ([*map(float, exact)], [*np.array([*map(float, exact)], dtype=kind)]):
        for frame in (pd.DataFrame({"a": column}), pd.DataFrame({"a": pd.Series([*column], dtype=object)})):
            assert counts(frame, in_bins(given_edges)) == counts_of_decimals(exact, texts)


def test_an_edge_with_more_digits_than_the_column_is_passed_only_by_what_is_beyond_it():
    below = pd.DataFrame({"a": np.array([65, 65, 0, 500.25, 500], dtype=np.float16)})
    assert counts(below, in_bins([-1, 1e-10, 64.99999999, 500.25, 600])) == [1, 0, 3, 1, 0]
    assert counts(below, in_bins([-1, 65.00000001, 600])) == [3, 2, 0]
    assert counts(below, in_bins([65, 500.24, 70_000])) == [3, 1, 1]


@pytest.mark.cases(34)
@in_every_type_and_form
def test_amounts_and_weights_are_the_decimals_that_they_are_written_as(kind, form, tmp_path):
    """In 16 bits 0.7 is nearer to 0.7002, and in 32 below 0.7; both are 0.7, a limit or not, in any unit."""
    texts = ["0.30", "0.10", "0.70"]
    for digits, rule in ((1, "refuse"), (4, "round"), (4, "refuse"), (8, "refuse")):
        unit, tenth = Decimal(10) ** -digits, 10 ** (digits - 1)
        numeric = rp.Numeric("0.1", "0.7", unit=unit, between_units=rule)
        assert counts(made(texts, kind, form, tmp_path), rp.Domain({"a": numeric})) == [10 * tenth, 8 * tenth]
        weighted = rp.Domain({}, weight=rp.Weight("a", maximum="0.7", unit=unit))
        assert counts(made(texts, kind, form, tmp_path), weighted, ()) == 11 * tenth


@given(numbers=st.lists(HUNDREDTHS, min_size=1), edges=st.sets(HUNDREDTHS, min_size=2, max_size=3), data=st.data())
@few
def test_an_amount_is_in_the_bin_in_which_it_would_only_be_counted(numbers, edges, data):
    """In all types, at edges and limits."""
    kind = data.draw(st.sampled_from(FLOATS))
    digits = data.draw(st.sampled_from([2, 3]))
    low, *inner, high = (Decimal(number) / 100 for number in sorted(edges))
    numeric = rp.Numeric(low, high, unit=Decimal(10) ** -digits, bins=inner)
    column = np.array([number / 100 for number in [*numbers, *edges]], dtype=kind)
    codes = numeric.codes_of_numbers(column)
    bins = rp.Bins([float(low), *map(float, inner), float(high)]).codes_of_column("numbers")(column)
    assert np.where(codes < 0, codes, codes // (numeric.denominator + 1)).tolist() == bins.tolist()


@pytest.mark.parametrize("entry", [1000.5, "1000.5", Decimal("1000.5"), np.float32(1000.5), 1e300, -0.5])
def test_what_is_clipped_need_not_be_a_multiple_of_the_unit(entry):
    """An amount beyond a limit counts as the limit, and one that is between units within them is unknown."""
    amounts = rp.Numeric(0, 1000, outside="clip", between_units="refuse")
    domain = rp.Domain({"a": rp.Attribute("a", numeric=amounts, unknown="none")})
    frame = pd.DataFrame({"a": pd.Series([entry, "999.5", "inf"], dtype=object)})
    at_limit = [1000, 0] if float(entry) < 0 else [0, 1000]
    assert counts(frame, domain) == [*at_limit, 2 * 1000]
    if not isinstance(entry, str | Decimal):
        assert counts(frame[:1].astype(type(entry)), domain) == [*at_limit, 0]
