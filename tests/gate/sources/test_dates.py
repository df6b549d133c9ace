"""The same dates in every container give the counts of the calendar; what is no date is refused, and not shown."""

import datetime as dt
import gzip
from itertools import pairwise

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet

import residualplanner as rp
from residualplanner import Attribute, Bins, Domain
from residualplanner.gate.sources.columns import ArrowColumn
from residualplanner.gate.sources.opening import open_source
from residualplanner.method.domain.families import MISSING, UNKNOWN

few = settings(max_examples=15)
FIRST = [np.array([[0]])]
#: Half-years, with a label for all other dates and one for none.
EDGES = [dt.date(1969, 7, 1), dt.date(1970, 1, 1), dt.date(2020, 3, 1)]
WHEN = Attribute("when", bins=Bins(EDGES), unknown="another time", missing="Not stated")
DOMAIN = Domain({"when": WHEN})

BOUNDARIES = [
    dt.datetime.combine(edge, dt.time()) + dt.timedelta(seconds=step) for edge in EDGES for step in (-1, 0, 1)
]
moments = st.datetimes(dt.datetime(1969, 1, 1), dt.datetime(2021, 1, 1)) | st.sampled_from(BOUNDARIES)
columns = st.lists(st.none() | moments, min_size=1, max_size=20)


def expected_counts(column):
    counts = [0, 0, 0, 0]
    for moment in column:
        if moment is None:
            counts[3] += 1
        else:
            found = [low <= moment.date() < high for low, high in pairwise(EDGES)]
            counts[found.index(True) if any(found) else 2] += 1
    return counts


def dates_of(column):
    return [None if moment is None else moment.date() for moment in column]


def timestamps(unit):
    return lambda column: pa.table({"when": pa.array(column, pa.timestamp("us")).cast(pa.timestamp(unit), safe=False)})


def dictionary(column):
    return pa.table({"when": pa.array(dates_of(column), pa.date32()).dictionary_encode()})


def duckdb_of(kind):
    def relation(column):
        table = pa.table({"when": pa.array(column, pa.timestamp("us"))})
        return duckdb.from_arrow(table).project(f'"when"::{kind} AS "when"')

    return relation


CONTAINERS = {
    "date32": lambda column: pa.table({"when": pa.array(dates_of(column), pa.date32())}),
    "date64": lambda column: pa.table({"when": pa.array(dates_of(column), pa.date64())}),
    **{f"timestamp {unit}": timestamps(unit) for unit in ("s", "ms", "us", "ns")},
    "dictionary": dictionary,
    "pandas objects": lambda column: pd.DataFrame({"when": pd.Series(column, dtype=object)}),
    "pandas dates": lambda column: pd.DataFrame({"when": pd.Series(dates_of(column), dtype=object)}),
    "pandas datetime64": lambda column: pd.DataFrame({"when": pd.to_datetime(pd.Series(column, dtype=object))}),
    "pandas seconds": lambda column: pd.DataFrame({"when": pd.array(column, dtype="datetime64[s]")}),
    "pandas category": lambda column: pd.DataFrame({"when": pd.to_datetime(pd.Series(column))}).astype("category"),
    "pandas arrow": lambda column: CONTAINERS["date32"](column).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas strings": lambda column: pd.DataFrame({"when": [None if m is None else str(m) for m in column]}),
    "polars": lambda column: pl.DataFrame({"when": column}, schema={"when": pl.Datetime("us")}),
    "polars lazy": lambda column: pl.DataFrame({"when": dates_of(column)}, schema={"when": pl.Date}).lazy(),
    "duckdb date": duckdb_of("DATE"),
    "duckdb timestamp": duckdb_of("TIMESTAMP"),
    "ibis": lambda column: ibis.memtable(CONTAINERS["date32"](column)),
}


@pytest.mark.parametrize("name", CONTAINERS)
@given(column=columns)
@few
def test_every_container_counts_like_the_calendar(name, column):
    found = open_source(CONTAINERS[name](column), DOMAIN).count(FIRST)[0]
    assert found.tolist() == [expected_counts(column)]


@pytest.mark.slow
@given(column=columns)
@few
def test_dask_counts_like_the_calendar(column):
    dd = pytest.importorskip("dask.dataframe")
    for frame in ("pandas datetime64", "pandas dates", "pandas arrow"):
        parts = dd.from_pandas(CONTAINERS[frame](column), npartitions=2)
        assert open_source(parts, DOMAIN).count(FIRST)[0].tolist() == [expected_counts(column)]


def test_every_file_counts_like_the_calendar(tmp_path):
    folder, column = tmp_path, [*BOUNDARIES, None, None, dt.datetime(2020, 2, 29, 23, 59, 59, 999_999)]
    parquet.write_table(timestamps("us")(column), folder / "a.parquet")
    parquet.write_table(CONTAINERS["date32"](column), folder / "b.parquet")
    csv.write_csv(timestamps("us")(column), folder / "a.csv")
    csv.write_csv(CONTAINERS["date32"](column), folder / "b.csv")
    (folder / "b.csv.gz").write_bytes(gzip.compress((folder / "b.csv").read_bytes()))
    for file in ("a.parquet", "b.parquet", "a.csv", "b.csv", "b.csv.gz"):
        found = open_source(folder / file, DOMAIN).count(FIRST)[0]
        assert found.tolist() == [expected_counts(column)], file


ZONED = {
    "arrow": pa.table({"when": pa.array([0], pa.timestamp("us", tz="UTC"))}),
    "pandas": pd.DataFrame({"when": pd.to_datetime(["2020-01-01"]).tz_localize("Europe/Oslo")}),
    "polars": pl.DataFrame({"when": [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]}),
    "duckdb": duckdb.sql("SELECT TIMESTAMPTZ '2020-01-01 00:00:00+00' AS when"),
}


@pytest.mark.parametrize("data", ZONED.values(), ids=ZONED)
def test_moments_with_a_time_zone_are_refused_before_anything_is_counted(data):
    with pytest.raises(
        rp.errors.DataError, match=r"column 'when' holds moments with a time zone, .*; convert the column to dates"
    ):
        open_source(data, DOMAIN)


@pytest.mark.parametrize(
    ("column", "attribute", "message"),
    [
        (pa.array([0], pa.date32()), Attribute("when", 3), "holds dates, and the attribute's values are integers"),
        (pa.array([0], pa.date32()), Attribute("when", labels=["2020-01-01"]), "are strings, .*or declare dates"),
        (pa.array([0], pa.timestamp("s")), Attribute("when", bins=Bins([0, 1])), "values are intervals of numbers"),
        (pa.array([2020]), WHEN, "holds numbers, and the attribute's values are intervals of dates"),
        (pa.array([True]), Attribute("when", labels=EDGES), "holds truth values, and the attribute's values are dates"),
        (pa.array([0], pa.time32("s")), WHEN, "holds dates, bytes, lists or other entries"),
    ],
)
def test_types_that_cannot_match_are_refused_before_anything_is_counted(column, attribute, message):
    with pytest.raises(rp.errors.DataError, match=message):
        open_source(pa.table({"when": column}), Domain({"when": attribute}))


@pytest.mark.parametrize("entry", ["2020-02-30", "2020-01-01T00:00Z", "1868-01-01", "canary"])
def test_an_entry_outside_the_declared_dates_breaks_the_rule_and_is_not_shown(entry, tmp_path):
    (tmp_path / "a.csv").write_text(f"when\n1969-12-31\n{entry}\n")
    strict = Domain({"when": Bins(EDGES)})
    with pytest.raises(rp.errors.DataError, match="column 'when' has values outside its schema") as told:
        open_source(tmp_path / "a.csv", strict).count(FIRST)
    assert entry not in str(told.value)


def test_moments_with_a_time_zone_are_unknown_wherever_they_turn_up_later():
    moments = pa.array([0, None], pa.timestamp("us", tz="UTC"))
    for array in (moments, moments.dictionary_encode()):
        assert ArrowColumn(WHEN).raw_codes(array).tolist() == [UNKNOWN, MISSING]
