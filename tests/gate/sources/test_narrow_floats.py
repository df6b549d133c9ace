"""The same decimal counts the same, whatever type of number a column has and wherever it comes from."""

from decimal import Decimal
from itertools import pairwise

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import residualplanner as rp
from residualplanner.gate.sources.opening import open_source

few = settings(derandomize=True, deadline=None, max_examples=40)
#: Two digits after the point are told apart by 16 bits below 8, where neighbors are 1/256 apart at most.
HUNDREDTHS = st.integers(-700, 700)
KINDS = {
    "float16": lambda texts: np.array(texts, dtype=np.float16),
    "float32": lambda texts: np.array(texts, dtype=np.float32),
    "float64": lambda texts: np.array(texts, dtype=np.float64),
    "decimal": lambda texts: pa.array(map(Decimal, texts), pa.decimal128(9, 2)),
    "text": pa.array,
}


def containers(texts, kind, folder):
    column = KINDS[kind](texts)
    arrow = pa.table({"a": pa.array(column)})
    arrow.to_pandas().to_csv(folder / "a.csv", index=False)
    parquet.write_table(arrow, folder / "a.parquet")
    yield from (arrow, arrow.to_pandas(), arrow.to_pandas(types_mapper=pd.ArrowDtype))
    yield from (folder / "a.csv", folder / "a.parquet", dd.from_pandas(arrow.to_pandas(), npartitions=2))
    yield pd.DataFrame({"a": pd.Series(list(column) if kind.startswith("float") else texts, dtype=object)})
    if kind != "float16":
        yield from (pl.from_arrow(arrow), pl.from_arrow(arrow).lazy(), duckdb.connect().from_arrow(arrow))


def counts_of_decimals(edges, texts):
    """By decimal arithmetic; a last cell for what is in no bin."""
    counts = [0] * len(edges)
    for number in map(Decimal, texts):
        inside = [low <= number < high for low, high in pairwise(edges)]
        inside[-1] |= number == edges[-1]
        counts[inside.index(True) if any(inside) else -1] += 1
    return counts


def counted(data, domain):
    return open_source(data, domain).count([np.array([[0]])])[0].ravel().tolist()


def in_bins(edges):
    return rp.Domain({"a": rp.Attribute("a", bins=rp.Bins(edges), unknown="none")})


@pytest.mark.parametrize("kind", KINDS)
def test_a_decimal_is_in_its_bin_from_every_source(kind, tmp_path):
    texts = [f"{number / 100:.2f}" for number in range(-10, 121)]
    edges = ["0", "0.07", "0.1", "0.3", "0.7", "1.1"]
    expected = counts_of_decimals([*map(Decimal, edges)], texts)
    for data in containers(texts, kind, tmp_path):
        assert counted(data, in_bins(map(float, edges))) == expected, type(data)


@given(numbers=st.lists(HUNDREDTHS, min_size=1), edges=st.sets(HUNDREDTHS, min_size=2, max_size=6), data=st.data())
@few
def test_a_decimal_in_few_bits_is_in_its_bin_wherever_the_edges_are(numbers, edges, data):
    kind = data.draw(st.sampled_from(["float16", "float32", "float64"]))
    texts = [f"{number / 100:.2f}" for number in [*numbers, *edges]]
    exact = [Decimal(number) / 100 for number in sorted(edges)]
    column = np.array(texts, dtype=kind)
    for given_edges in ([*map(float, exact)], [*np.array([*map(float, exact)], dtype=kind)]):
        for frame in (pd.DataFrame({"a": column}), pd.DataFrame({"a": pd.Series([*column], dtype=object)})):
            assert counted(frame, in_bins(given_edges)) == counts_of_decimals(exact, texts)


def test_an_edge_with_more_digits_than_the_column_is_passed_only_by_what_is_beyond_it():
    below = pd.DataFrame({"a": np.array([65, 65, 0, 500.25, 500], dtype=np.float16)})
    assert counted(below, in_bins([-1, 1e-10, 64.99999999, 500.25, 600])) == [1, 0, 3, 1, 0]
    assert counted(below, in_bins([-1, 65.00000001, 600])) == [3, 2, 0]
    assert counted(below, in_bins([65, 500.24, 70_000])) == [3, 1, 1]


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_amounts_and_weights_are_the_decimals_that_they_are_written_as(kind, tmp_path):
    """A weight of a tenth, and three tenths of an amount, as integers: exact in every type."""
    for data in containers(["0.3", "0.1", "0.7"], kind, tmp_path):
        numeric = rp.Numeric("0.1", "0.7", unit="0.1", between_units="refuse")
        assert counted(data, rp.Domain({"a": numeric})) == [4 + 6 + 0, 2 + 0 + 6]
        weighted = rp.Domain({}, weight=rp.Weight("a", maximum="0.7", unit="0.1"))
        assert open_source(data, weighted).count([np.empty((1, 0), dtype=int)])[0].tolist() == [3 + 1 + 7]


@pytest.mark.parametrize("rule", ["round", "refuse"])
@pytest.mark.parametrize("kind", KINDS)
def test_amounts_and_weights_are_their_decimals_in_units_that_are_finer_than_the_column(kind, rule, tmp_path):
    """In 16 bits 0.7 is nearer to 0.7002, and in 32 below 0.7; both are 0.7, a limit or not."""
    for data in containers(["0.30", "0.10", "0.70"], kind, tmp_path):
        for unit, parts in (("0.0001", 10**4), ("0.00000001", 10**8)):
            numeric = rp.Numeric("0.1", "0.7", unit=unit, between_units=rule)
            expected = [each * parts // 10 for each in (4 + 6 + 0, 2 + 0 + 6)]
            assert counted(data, rp.Domain({"a": numeric})) == expected, type(data)
            weighted = rp.Domain({}, weight=rp.Weight("a", maximum="0.7", unit=unit))
            found = open_source(data, weighted).count([np.empty((1, 0), dtype=int)])
            assert found[0].tolist() == [11 * parts // 10]


@given(numbers=st.lists(HUNDREDTHS, min_size=1), edges=st.sets(HUNDREDTHS, min_size=2, max_size=3), data=st.data())
@few
def test_an_amount_is_in_the_bin_in_which_it_would_only_be_counted(numbers, edges, data):
    """In all types, at edges and limits."""
    kind = data.draw(st.sampled_from(["float16", "float32", "float64"]))
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
    assert counted(frame, domain) == [*at_limit, 2 * 1000]
    if not isinstance(entry, str | Decimal):
        assert counted(frame[:1].astype(type(entry)), domain) == [*at_limit, 0]
