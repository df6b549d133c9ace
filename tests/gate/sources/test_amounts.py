"""Amounts, weights and the records of each person together: every source and engine counts like a loop over records."""

import duckdb
import ibis
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import residualplanner as rp
from amounts_by_hand import DOMAIN, EXACT, GROUPS, RECORDS, as_lists, first_of_each_person, tables_by_hand
from forms_of_records import FORMS, dask_of, opened
from residualplanner.scale.engines.engines import open_cluster
from residualplanner.scale.engines.partitions import CountingTask

KEY = bytes(range(32))
TABLE = pa.Table.from_pandas(RECORDS).set_column(3, "pay", pa.array(EXACT, pa.decimal128(10, 2)))


def folder_of_types(folder):
    """By sex, in one file floats, in the other decimals."""
    for name in ("sex=F", "sex=M"):
        (folder / name).mkdir(parents=True)
    RECORDS[RECORDS.sex == "F"].drop(columns="sex").to_parquet(folder / "sex=F" / "a.parquet")
    others = TABLE.filter(pa.array(RECORDS.sex == "M")).drop_columns("sex")
    pq.write_table(others, folder / "sex=M" / "b.parquet")
    return folder


IN_TEXT = RECORDS.assign(pay=[str(amount) for amount in EXACT])
ALL = {
    **{name: lambda folder, form=form: form(TABLE, folder) for name, form in FORMS.items() if "categor" not in name},
    "pandas, floats": lambda _: RECORDS,
    "pandas, nullable": lambda _: RECORDS.astype({"pay": "Float64", "hours": "Float32", "day": "Int8"}),
    "pandas, text": lambda _: IN_TEXT,
    "Ibis, Polars": lambda _: ibis.polars.connect({"t": pl.from_arrow(TABLE)}).table("t"),
    "folder of types": lambda folder: folder_of_types(folder / "types"),
    "Dask, floats": lambda _: dask_of(RECORDS),
    "Dask, text": lambda _: dask_of(IN_TEXT),
}


def limited(data):
    return rp.LimitedRecords(data, person="name", order="day", keep=2, key=KEY)


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # Ibis looks at a schema so
@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_every_form_is_counted_like_a_loop_over_all_records_and_over_the_first_of_each_person(make, tmp_path):
    data, first = make(tmp_path), first_of_each_person(RECORDS, 2)
    assert len(first) < len(RECORDS)
    assert as_lists(opened(limited(data), DOMAIN, 2).count(GROUPS)) == tables_by_hand(first)
    if not isinstance(data, pa.RecordBatchReader):
        assert as_lists(opened(data, DOMAIN).count(GROUPS)) == tables_by_hand(RECORDS.itertuples())


def receipt_of(number, tables):
    return b"".join(np.ascontiguousarray(table).tobytes() for table in tables)


@pytest.mark.parametrize("is_limited", [False, True])
def test_workers_draw_from_the_amounts_of_all_parts(is_limited):
    data = dask_of(RECORDS, 5)
    kept = first_of_each_person(RECORDS, 2) if is_limited else RECORDS.itertuples()
    cluster = open_cluster(limited(data) if is_limited else data, DOMAIN, records_per_person=2)
    (receipt,) = cluster.draw([CountingTask(0, (GROUPS[0],))], receipt_of)
    assert np.frombuffer(receipt, dtype=np.int64).reshape(2, 4).tolist() == tables_by_hand(kept)[0]


ENGINES = {
    "pandas": lambda frame: frame,
    "Polars, lazy": lambda frame: pl.LazyFrame(pl.from_pandas(frame, nan_to_null=False)),
    "DuckDB": lambda frame: duckdb.from_arrow(pa.Table.from_pandas(frame)),
    "Dask": dask_of,
}
PLAN = rp.select(
    rp.Workload(DOMAIN, [{"sex": rp.Identity(), "pay": rp.Sum()}]), budget=rp.pcost(1), records_per_person=2
)


@pytest.mark.parametrize(
    ("column", "entry", "message"),
    [
        ("pay", float("inf"), "column 'pay' has entries that are not finite numbers"),
        ("pay", float("nan"), "column 'pay' has missing values"),
        ("hours", -7.5, "column 'hours' has negative weights"),
        ("name", None, "the column of persons does not say whose each record is"),
    ],
)
@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_one_wrong_entry_is_told_in_the_same_words_by_all(engine, column, entry, message):
    wrong = RECORDS.astype({"name": object})
    wrong.loc[57, column] = entry
    with pytest.raises(rp.errors.DataError, match=message) as caught:
        rp.measure(PLAN, rp.LimitedRecords(engine(wrong), person="name", order="day"))
    assert not any(word in str(caught.value) for word in ("inf", "7.5", "57", "60"))


@pytest.mark.parametrize("kind", ["timedelta64[s]", "bool", "datetime64[s]"])
@pytest.mark.parametrize("engine", ENGINES.values(), ids=ENGINES)
def test_columns_that_hold_no_amounts_cost_nothing(engine, kind):
    ledger = rp.Ledger(rp.pcost(1), records_per_person=2)
    wrong = RECORDS.assign(pay=RECORDS.day.astype(kind))
    with pytest.raises(rp.errors.DataError, match=r"column 'pay' is of a type that holds .* and .* are amounts"):
        rp.measure(PLAN, engine(wrong), ledger=ledger)
    assert not ledger.entries
