"""The same records in every container and type give the counts of a counter."""

import csv
import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import residualplanner as rp
from counted_records import RECORDS, assert_counts, columns_of
from forms_of_records import FORMS, arrow_in_pandas, counts, opened
from residualplanner import Attribute, CsvFile, Domain

PANDAS_TYPES = {"text": "string", "code": "Int8", "integer": "Int64", "truth": "boolean", "number": "Float32"}
POLARS_TYPES = {"text": pl.Categorical, "code": pl.Int8, "integer": pl.Int64, "truth": pl.Boolean, "number": pl.Float32}
ARROW_TYPES = {
    **{"text": pa.string_view(), "code": pa.int8(), "integer": pa.decimal128(20, 1)},
    **{"truth": pa.bool_(), "number": pa.float16()},
}


def inferred(records):
    """Nulls turn integers into floats and truth values into objects; the index is odd, the columns shuffled."""
    frame = pd.DataFrame(columns_of(records))
    frame.index = [7] * len(frame)
    return frame[["number", "truth", "text", "code", "integer"]].assign(extra="unused")


def nullable(records):
    return pd.DataFrame(
        {name: pd.array(column, dtype=PANDAS_TYPES[name]) for name, column in columns_of(records).items()}
    )


def unused_categories(records):
    frame = pd.DataFrame(columns_of(records), dtype=object).astype("category")
    frame["text"] = frame["text"].cat.add_categories(["never seen", "01 too"])
    return frame


def every_second(records):
    return pd.DataFrame(columns_of([record for record in records for _ in range(2)])).iloc[::-2]


def chunks(records):
    """Of uneven length, one empty, sliced out of a longer table."""
    table, cut = pa.table(columns_of([records[-1], *records])).slice(1), len(records) // 3
    return pa.concat_tables([table.slice(0, cut), table.slice(cut, 0), table.slice(cut)])


def dictionaries(records):
    table = pa.table(columns_of(records))
    return pa.table([column.dictionary_encode() for column in table.columns], names=table.column_names)


def narrow(records):
    columns = columns_of(records)
    columns["integer"] = [None if value is None else Decimal(value) for value in columns["integer"]]
    columns["number"] = [None if value is None else np.float16(value) for value in columns["number"]]
    return pa.table({name: pa.array(column, type=ARROW_TYPES[name]) for name, column in columns.items()})


CONTAINERS = [
    *(inferred, nullable, unused_categories, every_second, chunks, dictionaries, narrow),
    lambda records: inferred(records).astype({"number": pd.SparseDtype(float)}),
    lambda records: arrow_in_pandas(chunks(records)),
    lambda records: pl.DataFrame(columns_of(records), schema=POLARS_TYPES),
    lambda records: pl.DataFrame(columns_of(records), schema=POLARS_TYPES).lazy().filter(True),
]


@pytest.mark.parametrize("container", CONTAINERS)
@given(records=RECORDS)
@settings(derandomize=True, deadline=None, max_examples=30)
def test_every_container_is_counted_like_a_list_of_records(container, records):
    assert_counts(container(records), records)


def test_batches_of_more_records_than_are_counted_at_a_time_are_all_counted():
    codes = np.random.default_rng(1).integers(0, 3, 2**20 + 2**16)
    table = pa.table({"a": codes, "w": np.arange(len(codes)) % 2})
    domain = Domain({"a": Attribute("a", 3, unknown="drop")}, weight=rp.Weight("w", maximum=1))
    expected = np.bincount(codes, np.arange(len(codes)) % 2).tolist()
    for data in (table.to_reader(max_chunksize=300_000), table.to_pandas()):
        assert counts(data, domain) == expected


def test_columns_are_told_apart_by_exact_name(tmp_path):
    columns = {"A": [0, 0, 0], "a": [0, 1, 1], "a.b": [1, 1, 1], 'q"': [1, 0, 0], "select": [0, 0, 0]}
    domain = Domain({'q"': 2, "a.b": 2, "a": 2, "select": 2})
    relation = duckdb.connect().sql(
        """select 1 as "q""x", 0 as "select", 1 as "a.b", 0 as a union all select 1, 1, 1, 0"""
    )
    for form in ("pandas", "Polars", "Polars, lazy", "Arrow", "Parquet", "Dask"):
        data = FORMS[form](pa.table(columns), tmp_path)
        assert [counts(data, domain, (axis,)) for axis in range(4)] == [[2, 1], [0, 3], [1, 2], [3, 0]]
    quoted = Domain({"select": 2, 'q"x': 2})
    assert [counts(relation, quoted, (axis,)) for axis in range(2)] == [[1, 1], [0, 2]]


@pytest.mark.parametrize("name", ["*", "^a.*$", "^b$"])
def test_names_that_polars_reads_as_patterns_are_names(name):
    frame = pl.DataFrame({"a": [1, 1], "b": [1, 1], name: [0, 1]})
    for data in (frame, frame.lazy()):
        assert counts(data, Domain({name: 2})) == [1, 1]


MIXED = [1, True, 1.0, "1", np.int8(1), Decimal(1), [1], None, float("nan"), pd.NA, Decimal("sNaN"), b"1", "\ud800"]
DATES = [pd.Period("2000"), pd.Timestamp("2000-01-01"), pd.Timedelta(0), pd.Interval(0, 1), dt.date(2000, 1, 1)]


@pytest.mark.parametrize(
    ("entries", "labels", "found"),
    [
        ([*MIXED, (1, [2])], [1, 0, 2, 3], [5, 0, 5, 4]),
        ([(1, [2]), *MIXED[::-1]], [1, 0, 2, 3], [5, 0, 5, 4]),
        ([*DATES, 0j, [0], {"a": 1}, b"0", 0], [0, 1, 2, 3], [1, 0, 9, 0]),
        (["x", "\ud800", "x", None], ["x", "y", "?", "-"], [2, 0, 1, 1]),
    ],
)
def test_mixed_objects_are_matched_one_by_one(entries, labels, found):
    frame = pd.DataFrame({"a": pd.Series(entries, dtype=object)})
    assert counts(frame, Domain({"a": Attribute("a", labels=labels, unknown=labels[2], missing=labels[3])})) == found


def test_chunks_with_one_dictionary_and_chunks_with_several_are_counted_in_the_same_way():
    def chunk(words, places):
        return pa.DictionaryArray.from_arrays(pa.array(places), pa.array(words))

    arrays = [chunk(["x", "y"], [0, 1, 1]), chunk(["x", "y"], [0, None]), chunk(["y", "x", None], [0, 1, 2])]
    batches = [pa.RecordBatch.from_arrays([array], ["a"]) for array in arrays]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    assert counts(reader, Domain({"a": Attribute("a", labels=["x", "y", "-"], missing="-")})) == [3, 3, 2]


@pytest.mark.parametrize(
    "column",
    [
        pd.period_range("2000", periods=3, freq="D"),
        pd.to_datetime(["2000-01-01"] * 3),
        pd.to_timedelta([0, 1, 2]),
        pd.interval_range(0, 3),
        pd.array([0j, 1j, 1]),
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, 2], pa.int8())),
    ],
    ids=lambda column: str(getattr(column, "dtype", getattr(column, "type", "")))[:20],
)
def test_columns_of_dates_spans_and_complex_numbers_are_refused_whatever_the_rules(column):
    data = pa.table({"a": column}) if isinstance(column, pa.Array) else pd.DataFrame({"a": column})
    with pytest.raises(rp.errors.DataError, match=r"column 'a' is of a type that holds .* so none could match"):
        opened(data, Domain({"a": Attribute("a", labels=[0, 1, 2, 9], unknown=9)}))


def test_a_domain_without_attributes_counts_the_records():
    table = pa.table({"a": [1, 2, 3]})
    frames = (pd.DataFrame({"a": [1, None, "x"]}), pl.DataFrame({"a": [1, None, "x"]}, strict=False))
    others = [FORMS[form](table, None) for form in ("Arrow", "Polars, lazy", "DuckDB", "Dask", "Ibis")]
    for data in (*frames, *others, np.empty((3, 0), dtype=int)):
        assert counts(data, Domain({}), ()) == 3


def test_a_stream_is_read_once():
    source = opened(pa.table({"a": [0, 1]}).to_reader(), Domain({"a": 2}))
    assert source.count([np.array([[0]])])[0].tolist() == [[1, 1]]
    with pytest.raises(rp.errors.DataError, match="can be read only once"):
        source.count([np.array([[0]])])


def test_all_columns_that_break_a_rule_are_named_in_the_domains_order():
    frame = pd.DataFrame({"b": [None, 1.0, 9.0], "a": [0, 7, 0]})
    with pytest.raises(rp.errors.DataError) as caught:
        counts(frame, Domain({"a": 2, "b": 2}), ())
    assert caught.value.column == "a"
    assert str(caught.value) == (
        'column \'a\' has values outside its schema; add them to the attribute, or declare unknown="Other" or "drop"; '
        'column \'b\' has missing values; fill them, or declare missing="Not stated" or "drop"; '
        'column \'b\' has values outside its schema; add them to the attribute, or declare unknown="Other" or "drop".  '
        "rp.check(domain, data), or residualplanner check, lists them for whoever holds the records"
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pd.DataFrame({"a": [0]}), r"column 'b' is missing"),
        (pd.DataFrame([[0, 0, 0]], columns=["a", "b", "a"]), r"column 'a' occurs more than once"),
        (pa.table([[0], [0], [0]], names=["b", "a", "b"]), r"column 'b' occurs more than once"),
        ([[0, 0]], "data of type list are not understood; give a pandas DataFrame, a Polars"),
        (None, "data of type NoneType are not understood"),
        (np.zeros((2, 2)), "must be a matrix of integer codes"),
        (np.zeros(2, dtype=int), "must be a matrix of integer codes"),
        (np.zeros((2, 3), dtype=int), "needs one column per attribute, 2; it has 3"),
        ("nowhere.csv", "there is no file 'nowhere.csv'"),
        ("a.xlsx", r"files, and those of SPSS, Stata and SAS, not from 'a\.xlsx'"),
        ("empty.csv", "is empty; its first line must hold"),
        ("empty.csv.gz", "is empty; its first line must hold|could not be read as a table"),
        ("empty.parquet", "could not be read as a table"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:20],
)
def test_data_that_cannot_be_counted_are_refused(data, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.xlsx", "empty.csv", "empty.parquet", "empty.csv.gz"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(rp.errors.DataError, match=message):
        opened(data, Domain({"a": 2, "b": 2}))


# Where no rule drops records, every reader's total is their number, whatever is in their text.

NAMES = ("v", "w")
ODD_TEXTS = ["a", "b", "c", "", " ", "a,b", '"', "a\nb", "\r", "\0", "é", "nan", "0", None]
ODD_RECORDS = st.lists(st.tuples(st.sampled_from(ODD_TEXTS), st.sampled_from(ODD_TEXTS)), max_size=12)
#: Without newlines in values, and of no records no batch.
OTHERS = {"CSV", "Arrow, batch"}


def domain_of(columns):
    rules = {"labels": ["a", "b"], "unknown": "b", "missing": "b"}
    return Domain({name: Attribute(name, **rules) for name in NAMES[:columns]})


def csv_of_python(table, folder):
    with open(folder / "python.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)])
    return CsvFile(folder / "python.csv", newlines_in_values=True)


SOURCES = {"CSV of Python": csv_of_python} | {name: form for name, form in FORMS.items() if name not in OTHERS}


@pytest.mark.cases(9)
@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
@given(records=ODD_RECORDS, columns=st.integers(1, 2))
@example(records=[("a", None), (None, None), ("a", None)], columns=1)
@example(records=[(None, None)], columns=1)
@settings(derandomize=True, deadline=None, max_examples=12)
def test_every_readers_total_is_the_number_of_records(make, records, columns, tmp_path_factory):
    values = dict(zip(NAMES[:columns], zip(*records, strict=True), strict=False)) or dict.fromkeys(NAMES[:columns], ())
    table = pa.table({name: pa.array(column, pa.string()) for name, column in values.items()})
    folder, domain = tmp_path_factory.mktemp("totals"), domain_of(columns)
    found = [value for value, _ in records]
    assert counts(make(table, folder), domain, ()) == len(records)
    assert counts(make(table, folder), domain) == [found.count("a"), len(records) - found.count("a")]
