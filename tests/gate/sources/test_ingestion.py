"""The same records in every container and type give the counts of a counter."""

import datetime as dt
import gzip
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet

import residualplanner as rp
from counted_records import RECORDS, assert_counts, columns_of
from residualplanner import Attribute, CsvFile, Domain
from residualplanner.gate.sources import records as records_module
from residualplanner.gate.sources.opening import open_source

reproducible = settings(derandomize=True, deadline=None)


def pandas_objects(records):
    return pd.DataFrame(columns_of(records), dtype=object)


def pandas_inferred(records):
    """Nulls turn integers into floats and truth values into objects; the index is odd, the columns shuffled."""
    frame = pd.DataFrame(columns_of(records))
    frame.index = [7] * len(frame)
    return frame[["number", "truth", "text", "code", "integer"]].assign(extra="unused")


def pandas_nullable(records):
    types = {"text": "string", "code": "Int8", "integer": "Int64", "truth": "boolean", "number": "Float32"}
    return pd.DataFrame({name: pd.array(column, dtype=types[name]) for name, column in columns_of(records).items()})


def pandas_categories(records):
    frame = pandas_objects(records).astype("category")
    frame["text"] = frame["text"].cat.add_categories(["never seen", "01 too"])
    return frame


def pandas_arrow(records):
    return arrow_table(records).to_pandas(types_mapper=pd.ArrowDtype)


def pandas_arrow_chunks(records):
    return arrow_chunks(records).to_pandas(types_mapper=pd.ArrowDtype)


def pandas_sparse(records):
    return pandas_inferred(records).astype({"number": pd.SparseDtype(float)})


def pandas_sliced(records):
    doubled = pd.DataFrame(columns_of([record for record in records for _ in range(2)]))
    return doubled.iloc[::-2]


def arrow_table(records):
    return pa.table(columns_of(records))


def arrow_chunks(records):
    """Chunks of uneven length, one empty, sliced out of a longer table."""
    table = arrow_table(records + records).slice(1, len(records))
    records[:] = [*records[1:], records[0]]
    cut = len(records) // 3
    return pa.concat_tables([table.slice(0, cut), table.slice(cut, 0), table.slice(cut)])


def arrow_dictionaries(records):
    table = arrow_table(records)
    encoded = [column.dictionary_encode() for column in table.columns]
    return pa.table(dict(zip(table.column_names, encoded, strict=True)))


def arrow_narrow(records):
    types = {
        "text": pa.string_view(),
        "code": pa.int8(),
        "integer": pa.decimal128(20, 1),
        "truth": pa.bool_(),
        "number": pa.float16(),
    }
    columns = columns_of(records)
    columns["integer"] = [None if value is None else Decimal(value) for value in columns["integer"]]
    columns["number"] = [None if value is None else np.float16(value) for value in columns["number"]]
    return pa.table({name: pa.array(column, type=types[name]) for name, column in columns.items()})


def arrow_reader(records):
    return arrow_table(records).to_reader(max_chunksize=3)


def arrow_batch(records):
    return pa.RecordBatch.from_pydict(columns_of(records))


def polars_frame(records):
    return pl.DataFrame(columns_of(records), schema_overrides={"truth": pl.Boolean, "number": pl.Float64})


def polars_typed(records):
    types = {"text": pl.Categorical, "code": pl.Int8, "integer": pl.Int64, "truth": pl.Boolean, "number": pl.Float32}
    return pl.DataFrame(columns_of(records), schema=types)


def polars_lazy(records):
    return polars_frame(records).lazy().filter(True)


def duckdb_relation(records):
    table = arrow_table(records)
    return duckdb.connect().from_arrow(table)


CONTAINERS = [
    *(
        pandas_objects,
        pandas_inferred,
        pandas_nullable,
        pandas_categories,
        pandas_arrow,
        pandas_arrow_chunks,
        pandas_sparse,
        pandas_sliced,
    ),
    *(arrow_table, arrow_chunks, arrow_dictionaries, arrow_narrow, arrow_reader, arrow_batch),
    *(polars_frame, polars_typed, polars_lazy, duckdb_relation),
]


@pytest.mark.parametrize("container", CONTAINERS)
@given(records=RECORDS)
@settings(derandomize=True, deadline=None, max_examples=40)
def test_every_container_is_counted_like_a_list_of_records(container, records):
    records = list(records)
    assert_counts(container(records), records)


@given(records=RECORDS, seed=st.integers(0, 2**32 - 1), block=st.integers(1, 9))
@reproducible
def test_order_and_chunks_of_records_play_no_part(records, seed, block):
    shuffled = [records[i] for i in np.random.default_rng(seed).permutation(len(records))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records_module, "batch_records", lambda *_: block)
        assert_counts(arrow_table(shuffled).to_reader(max_chunksize=2), records)


@given(records=RECORDS)
@settings(derandomize=True, deadline=None, max_examples=40)
def test_files_are_counted_like_a_list_of_records(tmp_path_factory, records):
    folder = tmp_path_factory.mktemp("files")
    table = arrow_table(records)
    parquet.write_table(table, folder / "table.parquet", row_group_size=4)
    csv.write_csv(table, folder / "table.csv")
    (folder / "table.csv.gz").write_bytes(gzip.compress((folder / "table.csv").read_bytes()))
    assert_counts(folder / "table.parquet", records)
    assert_counts(str(folder / "table.csv"), records)
    assert_counts(folder / "table.csv.gz", records)


def test_csv_is_text_and_nothing_is_guessed(tmp_path):
    domain = Domain({"a": Attribute("a", labels=["01", "1", "NA", "null", " x", "#c", "q\nz,", "'"], missing="NA")})
    lines = ["a,b", "01,1", "1,#", "NA,", "null,x", " x,y", "#c,9", '"q\nz,",9', "',9", '"",9', ",9", "01,9"]
    file = tmp_path / "[odd] *name?.csv"
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    source = open_source(CsvFile(file, newlines_in_values=True), domain)
    assert source.count([np.array([[0]])])[0].tolist() == [[2, 1, 3, 1, 1, 1, 1, 1]]


def test_a_csv_file_with_a_header_only_has_no_records(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n")
    assert open_source(tmp_path / "a.csv", Domain({"a": 2})).count([np.array([[0]])])[0].tolist() == [[0, 0]]


def test_columns_are_told_apart_by_exact_name():
    columns = {"A": [0, 0, 0], "a": [0, 1, 1], "a.b": [1, 1, 1], 'q"': [1, 0, 0]}
    domain = Domain({'q"': 2, "a.b": 2, "a": 2})
    for data in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        assert open_source(data, domain).count([np.array([[0], [1], [2]])])[0].tolist() == [[2, 1], [0, 3], [1, 2]]


def test_parquet_columns_with_dots_and_of_two_cases_are_told_apart(tmp_path):
    parquet.write_table(pa.table({"A": [0, 0], "a.b": [0, 1], "a": [1, 1]}), tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet", Domain({"a": 2, "a.b": 2}))
    assert source.count([np.array([[0], [1]])])[0].tolist() == [[0, 2], [1, 1]]


def test_duckdb_names_are_quoted():
    relation = duckdb.connect().sql("""select 1 as "q""x", 0 as "select" union all select 1, 1""")
    counts = open_source(relation, Domain({"select": 2, 'q"x': 2})).count([np.array([[0], [1]])])
    assert counts[0].tolist() == [[1, 1], [0, 2]]


def test_mixed_objects_are_matched_one_by_one():
    column = [
        1,
        True,
        1.0,
        "1",
        np.int8(1),
        Decimal(1),
        [1],
        None,
        float("nan"),
        pd.NA,
        Decimal("sNaN"),
        b"1",
        "\ud800",
        (1, [2]),
    ]
    for values in (column, column[::-1]):
        frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
        domain = Domain({"a": Attribute("a", labels=[1, 0, 2, 3], unknown=2, missing=3)})
        assert open_source(frame, domain).count([np.array([[0]])])[0].tolist() == [[5, 0, 5, 4]]


def test_text_that_is_not_valid_unicode_is_unknown():
    frame = pd.DataFrame({"a": pd.Series(["x", "\ud800", "x", None], dtype=object)})
    domain = Domain({"a": Attribute("a", labels=["x", "?", "-"], unknown="?", missing="-")})
    assert open_source(frame, domain).count([np.array([[0]])])[0].tolist() == [[2, 1, 1]]


def test_an_arrow_extension_of_text_is_text():
    text = pa.array(["1", "7", None], type=pa.json_())
    domain = Domain({"text": Attribute("text", 3, unknown=2, missing=0)})
    assert open_source(pa.table({"text": text}), domain).count([np.array([[0]])])[0].tolist() == [[1, 1, 1]]


def test_chunks_with_one_dictionary_and_chunks_with_several_are_counted_in_the_same_way():
    def chunk(words, places):
        return pa.DictionaryArray.from_arrays(pa.array(places), pa.array(words))

    chunks = [chunk(["x", "y"], [0, 1, 1]), chunk(["x", "y"], [0, None]), chunk(["y", "x", None], [0, 1, 2])]
    batches = [pa.RecordBatch.from_arrays([array], ["a"]) for array in chunks]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    domain = Domain({"a": Attribute("a", labels=["x", "y", "-"], missing="-")})
    assert open_source(reader, domain).count([np.array([[0]])])[0].tolist() == [[3, 3, 2]]


def test_categories_of_mixed_kind_are_matched_one_by_one():
    frame = pd.DataFrame({"a": pd.Categorical([1, "1", "01", 1, None], categories=["01", 1, "1"])})
    domain = Domain({"a": Attribute("a", labels=["1", "01", "?"], missing="?")})
    assert open_source(frame, domain).count([np.array([[0]])])[0].tolist() == [[3, 1, 1]]


@pytest.mark.parametrize(
    "column",
    [
        pd.period_range("2000", periods=3, freq="D"),
        pd.to_datetime(["2000-01-01"] * 3),
        pd.to_timedelta([0, 1, 2]),
        pd.interval_range(0, 3),
        pd.array([0j, 1j, 1]),
        pa.array([[0], [1], [2]]),
        pa.array([{"a": 1}] * 3),
        pa.array([b"0", b"1", b"2"]),
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, 2], pa.int8())),
        [True, False, True],
    ],
    ids=lambda column: str(getattr(column, "dtype", getattr(column, "type", "")))[:20],
)
def test_columns_of_dates_spans_lists_bytes_and_truth_values_are_refused_whatever_the_rules(column):
    domain = Domain({"a": Attribute("a", labels=[0, 1, 2, 9], unknown=9)})
    data = pa.table({"a": column}) if isinstance(column, pa.Array) else pd.DataFrame({"a": column})
    with pytest.raises(rp.errors.DataError, match=r"column 'a' is of a type that holds .* so none could match"):
        open_source(data, domain)


def test_dates_spans_lists_and_bytes_among_objects_match_nothing():
    dates = [pd.Period("2000"), pd.Timestamp("2000-01-01"), pd.Timedelta(0), pd.Interval(0, 1), dt.date(2000, 1, 1)]
    frame = pd.DataFrame({"a": pd.Series([*dates, 0j, [0], {"a": 1}, b"0", 0], dtype=object)})
    domain = Domain({"a": Attribute("a", labels=[0, 1, 2, 9], unknown=9)})
    assert open_source(frame, domain).count([np.array([[0]])])[0].tolist() == [[1, 0, 0, 9]]


def test_a_column_of_nulls_is_missing_everywhere():
    domain = Domain({"a": Attribute("a", 2, missing=1)})
    for data in (pd.DataFrame({"a": [None] * 3}), pl.DataFrame({"a": [None] * 3}), pa.table({"a": pa.nulls(3)})):
        assert open_source(data, domain).count([np.array([[0]])])[0].tolist() == [[0, 3]]


def test_no_records_give_tables_of_zeros():
    domain = Domain({"a": 2, "b": ["x", "y"]})
    columns = {"a": [], "b": []}
    typed = pd.DataFrame(columns).astype({"b": "string"})
    for data in (typed, pl.DataFrame(columns), pa.table(columns), np.empty((0, 2), dtype=int)):
        single, total = open_source(data, domain).count([np.array([[0], [1]]), np.empty((1, 0), dtype=int)])
        assert single.tolist() == [[0, 0], [0, 0]]
        assert total.tolist() == [0]


def test_a_domain_without_attributes_counts_the_records():
    columns = {"a": [1, None, "x"]}
    frames = (pd.DataFrame(columns), pl.DataFrame(columns, strict=False), pa.table({"a": [1, 2, 3]}))
    for data in (*frames, frames[1].lazy(), duckdb.connect().from_arrow(frames[2]), np.empty((3, 0), dtype=int)):
        assert open_source(data, Domain({})).count([np.empty((1, 0), dtype=int)])[0].tolist() == [3]


def test_a_record_dropped_for_one_column_leaves_every_table():
    domain = Domain({"a": 2, "b": Attribute("b", 2, unknown="drop", missing="drop")})
    frame = pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 5, None, 1]})
    only_a, total = open_source(frame, domain).count([np.array([[0]]), np.empty((1, 0), dtype=int)])
    assert only_a.tolist() == [[1, 1]]
    assert total.tolist() == [2]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_holds_codes_whatever_the_labels(dtype, order):
    matrix = np.array([[0, 1], [1, 1], [2, 0], [2, 0]], dtype=dtype, order=order)
    domain = Domain({"a": [30, 20, 10], "b": ["x", "y"]})
    (stack,) = open_source(matrix, domain).count([np.array([[0, 1]])])
    assert stack.tolist() == [[[0, 1], [0, 1], [2, 0]]]


def test_labels_beyond_ascii_call_for_utf_8_where_values_do_not_fit(tmp_path):
    (tmp_path / "towns.csv").write_bytes("town\nKöln\n".encode("latin-1"))
    towns = Domain({"town": ["Köln", "Bonn"]})
    with pytest.raises(
        rp.errors.DataError, match=r'declare unknown="Other" or "drop"; in a CSV file that is not UTF-8, labels'
    ):
        open_source(tmp_path / "towns.csv", towns).count([np.array([[0]])])


def test_codes_outside_the_domain_follow_the_rules():
    matrix = np.array([[0, 0], [3, 1], [-1, 1], [2**62, 0], [1, 9]])
    into = Domain({"a": Attribute("a", 3, unknown=2), "b": Attribute("b", 2, unknown="drop")})
    assert open_source(matrix, into).count([np.array([[0, 1]])])[0].tolist() == [[[1, 0], [0, 0], [1, 2]]]
    with pytest.raises(rp.errors.DataError, match="column 'a' has values outside its schema"):
        open_source(matrix, Domain({"a": 3, "b": 10})).count([np.array([[1]])])


def test_progress_counts_tables_and_never_records():
    seen = {}
    for records in (1, 200_000):
        seen[records] = []
        source = open_source(np.zeros((records, 2), dtype=np.uint8), Domain({"a": 2, "b": 2}))
        source.count(
            [np.array([[0], [1]]), np.array([[0, 1]])], progress=lambda *told, to=seen[records]: to.append(told)
        )
    assert seen[1] == seen[200_000] == [(2, 3), (3, 3)]


def test_a_stream_is_read_once():
    source = open_source(pa.table({"a": [0, 1]}).to_reader(), Domain({"a": 2}))
    assert source.count([np.array([[0]])])[0].tolist() == [[1, 1]]
    with pytest.raises(rp.errors.DataError, match="can be read only once"):
        source.count([np.array([[0]])])


def test_all_columns_that_break_a_rule_are_named_in_the_domains_order():
    frame = pd.DataFrame({"b": [None, 1.0, 9.0], "a": [0, 7, 0]})
    with pytest.raises(rp.errors.DataError) as caught:
        open_source(frame, Domain({"a": 2, "b": 2})).count([np.empty((1, 0), dtype=int)])
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
        (pl.DataFrame({"A": [0], "b": [0]}), r"column 'a' is missing"),
        (pd.DataFrame([[0, 0, 0]], columns=["a", "b", "a"]), r"column 'a' occurs more than once"),
        (pa.table([[0], [0], [0]], names=["b", "a", "b"]), r"column 'b' occurs more than once"),
        ([[0, 0]], "data of type list are not understood; give a pandas DataFrame, a Polars"),
        (pd.Series([0]), "data of type Series are not understood"),
        (None, "data of type NoneType are not understood"),
        (np.zeros((2, 2)), "must be a matrix of integer codes"),
        (np.zeros((2, 2), dtype=bool), "must be a matrix of integer codes"),
        (np.zeros(2, dtype=int), "must be a matrix of integer codes"),
        (np.zeros((2, 3), dtype=int), "needs one column per attribute, 2; it has 3"),
        ("nowhere.csv", "there is no file 'nowhere.csv'"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value[:20],
)
def test_data_that_cannot_be_counted_are_refused(data, message):
    with pytest.raises(rp.errors.DataError, match=message):
        open_source(data, Domain({"a": 2, "b": 2}))


def test_files_of_other_kinds_are_refused(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"")
    with pytest.raises(
        rp.errors.DataError, match=r"read from \.csv, \.csv\.gz and \.parquet files, not from 'a\.xlsx'"
    ):
        open_source(tmp_path / "a.xlsx", Domain({"a": 2}))
    with pytest.raises(rp.errors.DataError, match=r"there is no file 'nowhere\.parquet'"):
        open_source("nowhere.parquet", Domain({"a": 2}))
    for name in ("empty.csv", "empty.parquet", "empty.csv.gz"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(
            rp.errors.DataError, match=r"could not be read as a table|is empty; its first line must hold"
        ):
            open_source(tmp_path / name, Domain({"a": 2}))


@pytest.mark.parametrize("name", ["*", "^a.*$", "^b$"])
def test_names_that_polars_reads_as_patterns_are_names(name):
    frame = pl.DataFrame({"a": [1, 1], "b": [1, 1], name: [0, 1]})
    for data in (frame, frame.lazy()):
        assert open_source(data, Domain({name: 2})).count([np.array([[0]])])[0].tolist() == [[1, 1]]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_matrix_of_numpys_own_class_is_one_of_codes():
    matrix = np.matrix([[0, 1], [1, 1]])
    domain = Domain({"a": 2, "b": 2})
    assert open_source(matrix, domain).count([np.array([[0, 1]])])[0].tolist() == [[[0, 1], [0, 1]]]
