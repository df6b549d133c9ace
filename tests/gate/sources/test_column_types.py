"""Columns of a type that can hold no value of their attribute are told when the records are opened."""

import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import residualplanner as rp
from forms_of_records import FORMS, counts, opened
from inner_parts import columns
from residualplanner import Attribute, Bins, Domain

RULES = {"unknown": "drop", "missing": "drop"}
ATTRIBUTES = {
    "code": Attribute("a", 3, **RULES),
    "integer": Attribute("a", labels=[5, -3], **RULES),
    "words": Attribute("a", labels=["F", "M", "01"], **RULES),
    "numerals": Attribute("a", labels=["F", "1"], **RULES),
    "truth": Attribute("a", labels=[True, False], **RULES),
    "bin": Attribute("a", bins=Bins([0, 1, 2]), **RULES),
    "dates": Attribute("a", bins=Bins([dt.date(1970, 1, 1), dt.date(1970, 1, 2)]), **RULES),
    "days": Attribute("a", labels=[dt.date(1970, 1, 1)], **RULES),
}
#: For each type, entries that it can hold: whatever attribute could match it must match one of them.
COLUMNS = {
    pa.int8(): [0, 1, 5, -3],
    pa.uint64(): [0, 1, 5],
    pa.float16(): [np.float16(1), np.float16(5)],
    pa.float64(): [0.0, 1.0, 5.0],
    pa.decimal128(5, 1): [Decimal(0), Decimal(1), Decimal(5)],
    pa.decimal256(50, 1): [Decimal(0), Decimal(1), Decimal(5)],
    pa.bool_(): [True, False],
    pa.string(): ["F", "1", "5", "true", "1970-01-01"],
    pa.string_view(): ["F", "1", "5", "true", "1970-01-01"],
    pa.dictionary(pa.int8(), pa.large_string()): ["F", "1", "5", "true", "1970-01-01"],
    pa.dictionary(pa.int8(), pa.int64()): [0, 1, 5],
    pa.binary(): [b"F", b"1"],
    pa.date32(): [0],
    pa.timestamp("us", "UTC"): [0],
    pa.duration("s"): [1],
    pa.list_(pa.int8()): [[1]],
    pa.struct({"a": pa.int8()}): [{"a": 1}],
    pa.json_(): ["1", "5", "true", "01", "1970-01-01"],
}


def counted(data, attribute):
    return counts(data, Domain({"a": attribute}))


@pytest.mark.parametrize("attribute", ATTRIBUTES.values(), ids=ATTRIBUTES)
@pytest.mark.parametrize("kind", COLUMNS, ids=str)
def test_a_type_is_refused_if_and_only_if_none_of_its_entries_could_match(kind, attribute):
    table = pa.table({"a": pa.array(COLUMNS[kind], kind)})
    entries = pa.array(COLUMNS[kind], kind).to_pylist()
    if (columns.codes_of_values(attribute, entries) >= 0).any():
        assert sum(counted(table, attribute)) > 0
    else:
        told = "column 'a' (is of a type that holds .*, so none could match|holds moments with a time zone)"
        with pytest.raises(rp.errors.DataError, match=told):
            opened(table, Domain({"a": attribute}))


def folder_of_two(table, folder):
    (folder / "two").mkdir()
    parquet.write_table(pa.table({"a": ["F"]}), folder / "two" / "0.parquet")
    parquet.write_table(table, folder / "two" / "1.parquet")
    return folder / "two"


TYPED = {name: form for name, form in FORMS.items() if "CSV" not in name and "objects" not in name}


@pytest.mark.parametrize("form", [*TYPED.values(), folder_of_two], ids=[*TYPED, "a file of a folder"])
@pytest.mark.parametrize(
    ("column", "attribute", "message"),
    [
        *(
            (column, ATTRIBUTES["words"], r"is of a type that holds .*the attribute's values are strings")
            for column in ([1, 2], [0.5, 1.0], [True, False])
        ),
        *(
            ([1.0, 2.0**53], Attribute("a", labels=labels), r"holds floats, .* from 2\*\*53 on, .*64-bit integers")
            for labels in ([1, 2**53], ["F", f"-{2**60}"])
        ),
        (
            pa.array([0], pa.timestamp("us", tz="UTC")),
            ATTRIBUTES["dates"],
            "holds moments with a time zone, .*; convert the column to dates",
        ),
    ],
)
def test_every_form_tells_of_types_before_it_is_counted(form, column, attribute, message, tmp_path):
    """And of integers that floats cannot tell apart."""
    table = pa.table({"a": column})
    with pytest.raises(rp.errors.DataError, match=f"column 'a' {message}"):
        opened(form(table, tmp_path), Domain({"a": attribute}))


@pytest.mark.parametrize(("kind", "bits"), [("Float32", 24), ("float32", 24), ("float64", 53), ("Float64", 53)])
def test_integers_are_told_apart_up_to_the_precision_of_the_floats(kind, bits):
    frame = pd.DataFrame({"a": pd.Series([2**bits - 1, None], dtype=kind)})
    exact = Attribute("a", labels=[2**bits - 1, 0], missing=0)
    assert counted(frame, exact) == [1, 1]
    with pytest.raises(rp.errors.DataError, match=rf"from 2\*\*{bits} on"):
        counted(frame, Attribute("a", labels=[2**bits, 0], missing=0))
    with pytest.raises(rp.errors.DataError, match=rf"from 2\*\*{bits} on"):
        counted(frame, Attribute("a", 2**bits + 1, missing=0))


def test_columns_without_any_value_are_missing_where_their_type_could_hold_one():
    for attribute in (
        Attribute("a", labels=["F", "M"], missing="M"),
        Attribute("a", labels=[True, False], missing=False),
    ):
        for column in ([None] * 3, pd.Categorical([None] * 3, categories=["x"]), pd.Series([None] * 3, dtype="string")):
            frame = pd.DataFrame({"a": column})
            assert counted(frame, attribute) == [0, len(column)]
        assert counted(pa.table({"a": pa.nulls(2)}), attribute) == [0, 2]
        assert counted(pl.DataFrame({"a": [None] * 2}), attribute) == [0, 2]


@pytest.mark.parametrize("kind", [float, "Float64", "category"])
@pytest.mark.parametrize("entries", [[], [np.nan] * 3, [np.nan, 1.0]], ids=["none", "missing", "some"])
def test_whether_a_column_is_refused_follows_from_its_type_and_not_from_its_entries(kind, entries):
    frame = pd.DataFrame({"a": pd.Series(entries, dtype=float).astype(kind)})
    with pytest.raises(
        rp.errors.DataError, match=r"a type that holds numbers, .* any entry; .* \.astype\(\"string\"\)"
    ):
        counted(frame, Attribute("a", labels=["F", "M"], missing="M"))
    texts = frame.assign(a=frame["a"].astype("string"))
    assert sum(counted(texts, Attribute("a", labels=["F", "1.0"], missing="F"))) == len(entries)


@pytest.mark.parametrize(
    "nothing",
    [None, float("nan"), np.float16("nan"), np.float32("nan"), np.longdouble("nan"), Decimal("NaN"), pd.NA, pd.NaT],
    ids=lambda value: type(value).__name__,
)
def test_a_nan_of_any_type_beside_text_is_missing(nothing):
    frame = pd.DataFrame({"a": pd.Series(["F", nothing, "X", "F", nothing], dtype=object)})
    attribute = Attribute("a", labels=["F", "?", "-"], unknown="?", missing="-")
    assert counted(frame, attribute) == [2, 1, 2]
    assert counted(frame.astype("category"), attribute) == [2, 1, 2]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_arrow_text_that_is_not_valid_utf_8_is_unknown(kind, tmp_path):
    binary = pa.array([b"F", b"\xff", None, b"x\xc3"], pa.binary() if kind == pa.string() else pa.large_binary())
    text = pa.Array.from_buffers(kind, 4, binary.buffers(), null_count=1)
    attribute = Attribute("a", labels=["F", "?", "-"], unknown="?", missing="-")
    table = pa.table({"a": text})
    parquet.write_table(table, tmp_path / "file.parquet")
    for data in (table, table.to_pandas(types_mapper=pd.ArrowDtype), tmp_path / "file.parquet"):
        assert counted(data, attribute) == [1, 2, 1]


def test_types_of_spark_are_known_by_their_names():
    names = ["string", "varchar(3)", "string collate UNICODE", "bigint", "double", "boolean", "decimal(10,2)", "void"]
    kinds = [pa.string()] * 3 + [pa.int64(), pa.float64(), pa.bool_(), pa.decimal128(38), pa.null()]
    assert [columns.type_of_spark(name) for name in names] == kinds
    assert columns.type_of_spark("timestamp_ntz") == pa.timestamp("us")
    assert columns.type_of_spark("timestamp").tz is not None
    assert columns.type_of_spark("date") == pa.date32()
    assert columns.type_of_spark("array<int>") == columns.type_of_spark("struct<a:int>") == pa.list_(pa.null())
    assert columns.type_of_spark("a type of tomorrow") is None


def test_opening_runs_no_query_and_takes_nothing_from_a_stream():
    table, run = pa.table({"a": ["F", "M", "F"]}), []
    lazy = pl.LazyFrame({"a": ["F", "M", "F"]}).with_columns(
        pl.col("a").map_batches(lambda column: run.append(1) or column, return_dtype=pl.String)
    )
    relation = duckdb.connect().from_arrow(table.to_reader())
    domain = Domain({"a": ["F", "M"]})
    sources = [opened(data, domain) for data in (lazy, relation, table.to_reader())]
    assert run == []
    assert [source.count([np.array([[0]])])[0].tolist() for source in sources] == [[[2, 1]]] * 3
