"""Marked records, valid and invalid, stay in: no error, history, frame, warning, log or print holds them."""

import io
import logging

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import residualplanner as rp
from forms_of_records import FORMS, counts, dask_of
from leaks import DIGITS, LEAKS, TEXT, leaks_of_error
from residualplanner import Bins, Domain

NUMBER = int(f"{DIGITS}645")
DOMAIN = Domain({"name": ["x", TEXT + "-valid"], "code": 3, "amount": Bins([0, 10])})
VALID = {"name": ["x", TEXT + "-valid", "x"], "code": [0, 1, 2], "amount": [1.0, 2.0, 3.0]}
SPOILED = [
    {"name": ["x", TEXT, "x"]},
    {"name": ["x", TEXT + "-valid", None]},
    {"code": [0, NUMBER, 1]},
    {"code": [0, None, NUMBER]},
    {"code": ["0", "1", TEXT]},
    {"amount": [0.5, float(NUMBER), float("nan")]},
    {"amount": ["1", TEXT, None]},
]


CASES = {
    f"{name} {i}": lambda form=FORMS[name], spoiled=spoiled: form(pa.table(VALID | spoiled), None)
    for i, spoiled in enumerate(SPOILED)
    for name in ("pandas, objects", "Polars, lazy", "Dask")
}
MIXED = pd.DataFrame(VALID | {"name": pd.Series([TEXT, NUMBER, [TEXT]], dtype=object)})


def duckdb_cast():
    """A relation that fails while it is read, with the value in DuckDB's message."""
    table = pa.table({"name": ["x", "x"], "code": ["1", TEXT], "amount": [1.0, 2.0]})
    relation = duckdb.connect().from_arrow(table)
    return relation.select("name, code::int as code, amount")


def polars_cast():
    """A frame that fails while it is read, with the value in Polars' message."""
    return pl.LazyFrame(VALID | {"code": ["1", TEXT, "2"]}).with_columns(pl.col("code").cast(pl.Int64))


def ibis_cast():
    """A table that fails while it is read, with the value in DuckDB's message."""
    table = ibis.memtable(pa.table(VALID | {"code": ["1", TEXT, "2"]}))
    return table.mutate(code=table.code.cast("int64"))


def dask_cast():
    """A frame whose parts fail while they are read, with the value in the message."""
    return dask_of(pd.DataFrame(VALID | {"code": ["1", TEXT, "2"]})).astype({"code": "int64"})


def failing_reader():
    batch = pa.RecordBatch.from_pydict(VALID)

    def batches():
        yield batch
        raise RuntimeError(f"{TEXT} {NUMBER}")

    return pa.RecordBatchReader.from_batches(batch.schema, batches())


class Unreadable:
    def __hash__(self):
        raise RuntimeError(TEXT)

    def __eq__(self, other):
        raise RuntimeError(TEXT)


class Huge:
    def __hash__(self):
        raise MemoryError(TEXT)


CASES |= {
    "no memory": lambda: pd.DataFrame(VALID | {"name": pd.Series([Huge()] * 3, dtype=object)}),
    "duckdb cast": duckdb_cast,
    "polars cast": polars_cast,
    "ibis cast": ibis_cast,
    "dask cast": dask_cast,
    "failing reader": failing_reader,
    "mixed objects": lambda: MIXED,
    "unreadable object": lambda: pd.DataFrame(VALID | {"name": pd.Series([Unreadable()] * 3, dtype=object)}),
    "code matrix": lambda: np.array([[0, 1, 0], [NUMBER, 0, 0]]),
    "negative codes": lambda: np.array([[0, 1, 0], [-NUMBER, 0, 0]]),
    "matrix of floats": lambda: np.full((3, 3), float(NUMBER)),
    "list": lambda: [[TEXT, NUMBER]],
    "header that is a record": lambda: pd.DataFrame([[TEXT, 1, 1]], columns=[TEXT, str(NUMBER), "amount"]),
    "negative counts": lambda: {("code",): np.array([NUMBER, -NUMBER, 1])},
    "huge counts": lambda: {("code",): np.array([NUMBER * 2**33, NUMBER * 2**33, 1])},
    "contradicting counts": lambda: {("code",): np.array([NUMBER, 1, 1]), ("name",): np.array([NUMBER, 1])},
    "counts of too little": lambda: {("code",): np.array([NUMBER, 1, 1])},
}


PARQUET = io.BytesIO()
pd.DataFrame(VALID).to_parquet(PARQUET)
PARQUET = PARQUET.getvalue()


def folder_of(folder, *contents):
    for number, content in enumerate(contents):
        (folder / f"extra={TEXT}").mkdir(exist_ok=True)
        (folder / f"extra={TEXT}" / f"{NUMBER}-{number}.parquet").write_bytes(content)
    return folder


def written(content, name="records.csv"):
    def file(folder):
        (folder / name).write_bytes(content)
        return folder / name

    return file


def path_that_is_not_in_the_schema(folder):
    inside = folder / f"name={TEXT}" / f"amount={NUMBER}"
    inside.mkdir(parents=True)
    pd.DataFrame({"code": [0, 1]}).to_parquet(inside / "a.parquet")
    return folder


BROKEN_FILES = {
    "unknown value": written(f"name,code,amount\nx,1,1\n{TEXT},1,1\n".encode()),
    "too many fields": written(f"name,code,amount\nx,1,1\n{TEXT},1,1,{NUMBER}\n".encode()),
    "too few fields": written(f"name,code,amount\nx,1,1\n{TEXT},{NUMBER}\n".encode()),
    "an open quote": written(f'name,code,amount\nx,1,1\n"{TEXT},1,{NUMBER}\n'.encode()),
    "not Unicode": written(f"name,code,amount\nx,1,1\n{TEXT},1,".encode() + b"\xff\xfe\n"),
    "no header": written(f"{TEXT},{NUMBER},1\nx,1,1\n".encode()),
    "a truncated Parquet file": written(PARQUET[:-200], "records.parquet"),
    "a folder with a truncated file": lambda folder: folder_of(folder, PARQUET, PARQUET[:-200]),
    "a folder with a damaged file": lambda folder: folder_of(folder, PARQUET, PARQUET[:4] + PARQUET[60:]),
    "a value in a path": path_that_is_not_in_the_schema,
}


def assert_silent(action, data, capfd, caplog, recwarn):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(rp.errors.DataError) as caught:
        action(data)
    assert leaks_of_error(caught.value, data) == []
    printed = capfd.readouterr()
    assert (printed.out, printed.err, caplog.text, list(recwarn)) == ("", "", "", [])


def count(data):
    counts(data, DOMAIN, (0, 1))


@pytest.mark.parametrize("case", CASES)
def test_a_failing_count_says_and_keeps_nothing_of_the_records(case, capfd, caplog, recwarn):
    assert_silent(count, CASES[case](), capfd, caplog, recwarn)


@pytest.mark.parametrize("make", BROKEN_FILES.values(), ids=BROKEN_FILES)
def test_a_failing_file_says_and_keeps_nothing_of_the_records(make, tmp_path, capfd, caplog, recwarn):
    assert_silent(count, make(tmp_path), capfd, caplog, recwarn)


@pytest.mark.parametrize("leak", LEAKS)
def test_the_checks_above_see_a_leak(leak, capfd, caplog, recwarn, monkeypatch):
    monkeypatch.setitem(leak.__globals__, "__name__", "residualplanner.planted")
    with pytest.raises(AssertionError):
        assert_silent(leak, pd.DataFrame(VALID | SPOILED[0]), capfd, caplog, recwarn)
