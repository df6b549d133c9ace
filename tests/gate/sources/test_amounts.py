"""What is wrong with amounts, weights and persons is told in the same words by every source and engine."""

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import residualplanner as rp
from forms_of_records import dask_of
from records_with_amounts import DOMAIN, RECORDS

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
