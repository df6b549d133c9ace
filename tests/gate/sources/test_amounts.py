"""Amounts, weights and the records of each person together: every source and engine counts like a loop over records."""

import dask.dataframe as dd
import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import residualplanner as rp
from amounts_by_hand import DOMAIN, EXACT, GROUPS, RECORDS, as_lists, first_of_each_person, tables_by_hand
from residualplanner.gate.sources.opening import open_source
from residualplanner.scale.engines.engines import open_cluster
from residualplanner.scale.engines.partitions import CountingTask

KEY = bytes(range(32))
CENTS = pa.decimal128(10, 2)


def of_decimals(frame):
    return pa.Table.from_pandas(frame).set_column(3, "pay", pa.array(EXACT, CENTS))


def folder_of_types(frame, folder):
    """By sex, in one file floats, in the other decimals."""
    for name in ("sex=F", "sex=M"):
        (folder / name).mkdir(parents=True)
    frame[frame.sex == "F"].drop(columns="sex").to_parquet(folder / "sex=F" / "a.parquet")
    others = of_decimals(frame).filter(pa.array(frame.sex == "M")).drop_columns("sex")
    pq.write_table(others, folder / "sex=M" / "b.parquet")
    return folder


def csv_of(frame, folder):
    frame.assign(pay=EXACT).to_csv(folder / "records.csv", index=False)
    return folder / "records.csv"


def parquet_of(frame, folder):
    pq.write_table(of_decimals(frame), folder / "records.parquet")
    return folder / "records.parquet"


def as_arrow_in_pandas(frame):
    return frame.assign(pay=pd.array(EXACT, dtype=pd.ArrowDtype(CENTS)))


FORMS = {
    "pandas": lambda frame, _: frame,
    "pandas, nullable": lambda frame, _: frame.astype({"pay": "Float64", "hours": "Float32", "day": "Int8"}),
    "pandas, decimals": lambda frame, _: frame.assign(pay=EXACT),
    "pandas, text": lambda frame, _: frame.assign(pay=[str(amount) for amount in EXACT]),
    "pandas, Arrow": lambda frame, _: as_arrow_in_pandas(frame),
    "Arrow": lambda frame, _: of_decimals(frame),
    "Arrow, stream": lambda frame, _: of_decimals(frame).to_reader(max_chunksize=7),
    "Polars": lambda frame, _: pl.from_arrow(of_decimals(frame)),
    "Polars, lazy": lambda frame, _: pl.from_arrow(of_decimals(frame)).lazy(),
    "DuckDB": lambda frame, _: duckdb.from_arrow(of_decimals(frame)),
    "Ibis, DuckDB": lambda frame, folder: ibis.duckdb.connect().read_parquet(parquet_of(frame, folder)),
    "Ibis, Polars": lambda frame, _: ibis.polars.connect({"t": pl.from_arrow(of_decimals(frame))}).table("t"),
    "CSV": csv_of,
    "Parquet": parquet_of,
    "folder": lambda frame, folder: folder_of_types(frame, folder / "parts"),
    "Dask": lambda frame, _: dd.from_pandas(frame, npartitions=3),
    "Dask, decimals": lambda frame, _: dd.from_pandas(as_arrow_in_pandas(frame), npartitions=3),
    "Dask, text": lambda frame, _: dd.from_pandas(frame.assign(pay=list(map(str, EXACT))), npartitions=3),
}


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis looks at a schema so
@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_counted_like_a_loop_over_records(form, tmp_path):
    data = FORMS[form](RECORDS, tmp_path)
    assert as_lists(open_source(data, DOMAIN).count(GROUPS)) == tables_by_hand(RECORDS.itertuples())


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis looks at a schema so
@pytest.mark.parametrize("form", FORMS)
def test_of_every_form_the_first_records_of_each_person_are_counted(form, tmp_path):
    limited = rp.LimitedRecords(FORMS[form](RECORDS, tmp_path), person="name", order="day", keep=2, key=KEY)
    found = open_source(limited, DOMAIN, records_per_person=2).count(GROUPS)
    assert as_lists(found) == tables_by_hand(first_of_each_person(RECORDS, 2))
    assert len(first_of_each_person(RECORDS, 2)) < len(RECORDS)


def receipt_of(number, tables):
    return b"".join(np.ascontiguousarray(table).tobytes() for table in tables)


@pytest.mark.parametrize("limited", [False, True])
def test_workers_draw_from_the_amounts_of_all_parts(limited):
    data, kept = dd.from_pandas(RECORDS, npartitions=5), list(RECORDS.itertuples())
    if limited:
        data = rp.LimitedRecords(data, person="name", order="day", keep=2, key=KEY)
        kept = first_of_each_person(RECORDS, 2)
    cluster = open_cluster(data, DOMAIN, records_per_person=2)
    (receipt,) = cluster.draw([CountingTask(0, (GROUPS[0],))], receipt_of)
    assert np.frombuffer(receipt, dtype=np.int64).reshape(2, 4).tolist() == tables_by_hand(kept)[0]


@pytest.mark.parametrize(
    ("column", "entry", "message"),
    [
        ("pay", float("inf"), "column 'pay' has entries that are not finite numbers"),
        ("pay", float("nan"), "column 'pay' has missing values"),
        ("hours", -7.5, "column 'hours' has negative weights"),
        ("name", None, "the column of persons does not say whose each record is"),
    ],
)
@pytest.mark.parametrize("form", ["pandas", "Polars, lazy", "DuckDB", "Dask"])
def test_one_wrong_entry_is_told_in_the_same_words_by_all(form, column, entry, message):
    wrong = RECORDS.astype({"name": object})
    wrong.loc[57, column] = entry
    data = {
        "pandas": lambda: wrong,
        "Polars, lazy": lambda: pl.LazyFrame(pl.from_pandas(wrong, nan_to_null=False)),
        "DuckDB": lambda: duckdb.from_arrow(pa.Table.from_pandas(wrong)),
        "Dask": lambda: dd.from_pandas(wrong, npartitions=3),
    }[form]()
    plan = rp.select(
        rp.Workload(DOMAIN, [{"sex": rp.Identity(), "pay": rp.Sum()}]), budget=rp.pcost(1), records_per_person=2
    )
    with pytest.raises(rp.errors.DataError, match=message) as caught:
        rp.measure(plan, rp.LimitedRecords(data, person="name", order="day"))
    assert not any(word in str(caught.value) for word in ("inf", "7.5", "57", "60"))


@pytest.mark.parametrize("kind", ["timedelta64[s]", "bool", "datetime64[s]"])
@pytest.mark.parametrize("form", ["pandas", "DuckDB", "Dask"])
def test_columns_that_hold_no_amounts_cost_nothing(form, kind):
    wrong = RECORDS.assign(pay=RECORDS.day.astype(kind))
    ledger = rp.Ledger(rp.pcost(1))
    plan = rp.select(rp.Workload(DOMAIN, [{"pay": rp.Sum()}]), budget=rp.pcost(1))
    data = duckdb.from_arrow(pa.Table.from_pandas(wrong)) if form == "DuckDB" else FORMS[form](wrong, None)
    with pytest.raises(rp.errors.DataError, match=r"column 'pay' is of a type that holds .* and .* are amounts"):
        rp.measure(plan, data, ledger=ledger)
    assert not ledger.entries
