"""The same records in every form, with values that may stand in no message; what is said of the charge for them."""

import dask
import dask.dataframe as dd
import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from leaks import DIGITS, TEXT
from residualplanner import Attribute, Bins, Domain, marginals, pcost, select

DOMAIN = Domain(
    {
        "name": Attribute("name", labels=["x", "other"], unknown="other"),
        "amount": Attribute("amount", bins=Bins([0, 10, 1e15])),
    }
)
PLAN = select(marginals(DOMAIN, up_to=2), budget=pcost("1/4"))
VALUES = {"name": ["x", f"{TEXT}-1", "x"] * 4, "amount": [1.0, DIGITS * 1e6, 3.0] * 4}


def folder_of_parts(table, path):
    for row in range(2):
        (part := path / "records" / f"name={TEXT}-{row}").mkdir(parents=True)
        pq.write_table(table.drop_columns("name"), part / "part.parquet")
    return path / "records"


def csv_file(path):
    pd.DataFrame(VALUES).to_csv(path / "records.csv", index=False)
    return path / "records.csv"


def dask_frame():
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_pandas(pd.DataFrame(VALUES), npartitions=2)


FORMS = {
    "pandas": lambda _: pd.DataFrame(VALUES),
    "polars": lambda _: pl.DataFrame(VALUES),
    "lazy": lambda _: pl.LazyFrame(VALUES),
    "arrow": lambda _: pa.table(VALUES),
    "duckdb": lambda _: duckdb.connect().from_arrow(pa.table(VALUES)),
    "ibis": lambda _: ibis.memtable(pa.table(VALUES)),
    "dask": lambda _: dask_frame(),
    "csv": csv_file,
    "folder": lambda path: folder_of_parts(pa.table(VALUES), path),
    "counts": lambda _: {("name", "amount"): np.full((2, 2), DIGITS * 10**6)},
}
CHARGED, NOT_CHARGED = "The charge stays: pcost 0.25, entry 1 of the ledger.", "Nothing was charged to the ledger."
