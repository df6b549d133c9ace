"""Where no rule drops records, every reader's total is their number, and all readers count the same."""

import csv
import gzip

import dask
import dask.dataframe as dd
import duckdb
import ibis
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from residualplanner import Attribute, CsvFile, Domain, marginals, measure, pcost, select
from residualplanner.gate.sources.opening import open_source

NAMES = ("v", "w")
VALUES = ["a", "b", "c", "", " ", "a,b", '"', "a\nb", "\r", "\0", "é", "nan", "0", None]
TABLES = [np.empty((1, 0), dtype=int), np.array([[0]])]
RECORDS = st.lists(st.tuples(st.sampled_from(VALUES), st.sampled_from(VALUES)), max_size=12)


def domain_of(columns):
    rules = {"labels": ["a", "b"], "unknown": "b", "missing": "b"}
    return Domain({name: Attribute(name, **rules) for name in NAMES[:columns]})


def counts(data, columns):
    total, single = open_source(data, domain_of(columns)).count(TABLES)
    return [total.tolist()[0], *single[0].tolist()]


def table_of(records, columns):
    values = {name: [record[place] for record in records] for place, name in enumerate(NAMES[:columns])}
    return pa.table({name: pa.array(column, pa.string()) for name, column in values.items()})


def csv_of_python(table, folder):
    with open(folder / "python.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerows([table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)])
    return CsvFile(folder / "python.csv", newlines_in_values=True)


def csv_of_arrow(table, folder):
    arrow_csv.write_csv(table, folder / "arrow.csv")
    return CsvFile(str(folder / "arrow.csv"), newlines_in_values=True)


def csv_zipped(table, folder):
    with gzip.open(folder / "zipped.csv.gz", "wb") as file:
        arrow_csv.write_csv(table, file)
    return CsvFile(folder / "zipped.csv.gz", newlines_in_values=True)


def parquet_file(table, folder):
    parquet.write_table(table, folder / "file.parquet", row_group_size=3)
    return folder / "file.parquet"


def parquet_folder(table, folder):
    (folder / "parts").mkdir()
    for number in (0, 1):
        parquet.write_table(table.slice(number * 2, 2 if number == 0 else None), folder / "parts" / f"{number}.parquet")
    return folder / "parts"


def dask_frame(table, _):
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_pandas(table.to_pandas(), npartitions=2)


SOURCES = {
    "csv of python": csv_of_python,
    "csv of arrow": csv_of_arrow,
    "csv, gzipped": csv_zipped,
    "parquet": parquet_file,
    "folder": parquet_folder,
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: pl.from_arrow(table),
    "polars lazy": lambda table, _: pl.from_arrow(table).lazy(),
    "arrow": lambda table, _: table,
    "reader": lambda table, _: table.to_reader(),
    "duckdb": lambda table, _: duckdb.connect().from_arrow(table),
    "dask": dask_frame,
    "ibis": lambda table, _: ibis.memtable(table),
}


@pytest.mark.parametrize("kind", SOURCES)
@given(records=RECORDS, columns=st.integers(1, 2))
@example(records=[("a", None), (None, None), ("a", None)], columns=1)
@example(records=[(None, None)], columns=1)
@settings(derandomize=True, deadline=None, max_examples=15)
def test_every_readers_total_is_the_number_of_records(kind, records, columns, tmp_path_factory):
    data = SOURCES[kind](table_of(records, columns), tmp_path_factory.mktemp("totals"))
    found = [value for value, _ in records]
    assert counts(data, columns) == [len(records), found.count("a"), len(records) - found.count("a")]


@given(codes=st.lists(st.integers(-3, 3), max_size=12))
@settings(derandomize=True, deadline=None)
def test_codes_and_counts_have_the_same_total(codes):
    expected = [len(codes), codes.count(0), len(codes) - codes.count(0)]
    assert counts(np.array(codes, dtype=int).reshape(-1, 1), 1) == expected
    assert counts({("v",): np.array(expected[1:])}, 1) == expected


@pytest.mark.parametrize("text", ["v\na\nb\na\n", "v\na\n\na\n", 'v\na\n""\na', 'v\na\n"a\na\n'])
def test_where_records_are_replaced_the_published_total_tells_nothing(text, tmp_path):
    (tmp_path / "people.csv").write_text(text)
    domain = Domain({"v": Attribute("v", labels=["a", "b"], unknown="b", missing="b")})
    plan = select(marginals(domain, up_to=1), budget=pcost(1), neighbors="replace")
    measurement = measure(plan, tmp_path / "people.csv", noise="gaussian", seed=1)
    assert round(float(measurement.residuals.values[0]), 3) == 3
