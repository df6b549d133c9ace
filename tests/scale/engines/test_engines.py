"""Dask frames and Ibis tables give the counts of a counter, from one pass over the records."""

import logging

import dask
import dask.dataframe as dd
import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

import residualplanner as rp
from counted_records import RECORDS, assert_counts, columns_of
from inner_parts import opening, spark
from residualplanner import Attribute, Domain

few = settings(derandomize=True, deadline=None, max_examples=15)
TOTAL = np.empty((1, 0), dtype=int)


def dask_objects(records):
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_pandas(pd.DataFrame(columns_of(records), dtype=object), npartitions=3)


def dask_nullable(records):
    types = {"text": "string", "code": "Int8", "integer": "Int64", "truth": "boolean", "number": "Float32"}
    frame = pd.DataFrame({name: pd.array(column, dtype=types[name]) for name, column in columns_of(records).items()})
    return dd.from_pandas(frame, npartitions=2)[["number", "truth", "text", "code", "integer"]]


def typed(records):
    types = {"text": pa.string(), "code": pa.int8(), "integer": pa.int64(), "truth": pa.bool_(), "number": pa.float32()}
    return pa.table({name: pa.array(column, types[name]) for name, column in columns_of(records).items()})


def ibis_selected(records):
    return ibis.memtable(typed(records)).mutate(extra=1).select("extra", "number", "truth", "text", "integer", "code")


def ibis_of_polars(records):
    return ibis.polars.connect({"people": pl.from_arrow(typed(records))}).table("people")


#: Others meet in `tests/meetings`.
CONTAINERS = [dask_objects, dask_nullable, ibis_selected, ibis_of_polars]


@pytest.mark.parametrize("container", CONTAINERS)
@given(records=RECORDS)
@few
def test_every_engine_counts_like_a_list_of_records(container, records):
    assert_counts(container(records), records)


def test_dask_reads_every_part_once_and_only_the_columns_needed():
    read = []

    def load(number):
        read.append(number)
        return pd.DataFrame({"a": [number % 2] * 10, "b": [0] * 10, "c": ["x"] * 10})

    frame = dd.from_map(load, range(6), meta=pd.DataFrame({"a": [0], "b": [0], "c": ["x"]})[:0])
    source, told = opening.open_source(frame, Domain({"b": 2, "a": 2})), []
    assert read == []
    both, total = source.count([np.array([[0, 1]]), TOTAL], progress=lambda *numbers: told.append(numbers))
    assert told == [(2, 2)]
    assert both.tolist() == [[[30, 30], [0, 0]]]
    assert total.tolist() == [60]
    assert sorted(read) == [*range(6)]


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis looks at a schema so
def test_ibis_reads_the_records_once():
    read = []
    table = pa.table({"a": [0, 1] * 500, "b": [0, 0] * 500})

    def batches():
        for batch in table.to_batches(max_chunksize=100):
            read.append(batch.num_rows)
            yield batch

    connection = duckdb.connect()
    connection.register("people", pa.RecordBatchReader.from_batches(table.schema, batches()))
    frame = ibis.duckdb.from_connection(connection).table("people")
    counts = opening.open_source(frame, Domain({"a": 2, "b": 2})).count([np.array([[0], [1]]), np.array([[0, 1]])])
    assert counts[0].tolist() == [[500, 500], [1000, 0]]
    assert sum(read) == 1000


def test_all_rules_that_any_part_breaks_are_named():
    frame = pd.DataFrame({"a": [0, 1, 0, 9], "b": [None, 1.0, 2.0, 1.0], "c": [0, 0, 0, 0]})
    domain = Domain({"c": 1, "b": Attribute("b", 3), "a": 2})
    with pytest.raises(rp.errors.DataError) as caught:
        opening.open_source(dd.from_pandas(frame, npartitions=4), domain).count([TOTAL])
    with pytest.raises(rp.errors.DataError) as expected:
        opening.open_source(frame, domain).count([TOTAL])
    assert str(caught.value) == str(expected.value)
    assert caught.value.column == expected.value.column == "b"


def test_what_spark_would_log_is_not_logged_and_later_is_again(caplog):
    logger = logging.getLogger("py4j.clientserver")
    with caplog.at_level(logging.DEBUG, logger="py4j"):
        with spark.unlogged():
            logger.error("Answer received: canary")
        logger.error("again")
    assert [record.message for record in caplog.records] == ["again"]
