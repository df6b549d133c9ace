"""The same records in every form, counts of them, records that nobody may look at, and marked ones with a plan."""

import gzip

import dask
import dask.dataframe as dd
import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import csv, parquet

from inner_parts import opening
from leaks import DIGITS, TEXT
from residualplanner import Attribute, Bins, CsvFile, Domain, marginals, pcost, select


def opened(data, domain, keep=1):
    """Records that were opened, and not counted yet."""
    return opening.open_source(data, domain, records_per_person=keep)


def counts(data, domain, members=(0,), keep=1):
    """The table over attributes, by position, as lists; over none the total."""
    (tables,) = opened(data, domain, keep).count([np.array([members], dtype=int)])
    return tables[0].tolist()


def dask_of(frame, parts=3):
    """With objects as they are, not as text."""
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_pandas(frame, npartitions=parts)


def arrow_in_pandas(table):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def csv_of(table, folder):
    csv.write_csv(table, folder / "records.csv")
    return folder / "records.csv"


def zipped(table, folder):
    with gzip.open(folder / "records.csv.gz", "wb") as file:
        csv.write_csv(table, file)
    return folder / "records.csv.gz"


def parquet_of(table, folder):
    parquet.write_table(table, folder / "records.parquet", row_group_size=3)
    return folder / "records.parquet"


def folder_of(table, folder):
    (folder / "parts").mkdir(exist_ok=True)
    for number, part in enumerate((table.slice(0, 2), table.slice(2))):
        parquet.write_table(part, folder / "parts" / f"{number}.parquet")
    return folder / "parts"


#: From an Arrow table, and a folder for files.
FORMS = {
    "pandas": lambda table, _: table.to_pandas(),
    "pandas, objects": lambda table, _: pd.DataFrame(table.to_pydict(), dtype=object),
    "pandas, categories": lambda table, _: table.to_pandas().astype("category"),
    "pandas, Arrow": lambda table, _: arrow_in_pandas(table),
    "Arrow": lambda table, _: table,
    "Arrow, batch": lambda table, _: pa.RecordBatch.from_pydict(table.to_pydict(), table.schema),
    "Arrow, stream": lambda table, _: table.to_reader(max_chunksize=7),
    "Polars": lambda table, _: pl.from_arrow(table),
    "Polars, lazy": lambda table, _: pl.from_arrow(table).lazy(),
    "DuckDB": lambda table, _: duckdb.connect().from_arrow(table),
    "Ibis": lambda table, _: ibis.memtable(table),
    "Dask": lambda table, _: dask_of(table.to_pandas()),
    "Dask, Arrow": lambda table, _: dask_of(arrow_in_pandas(table)),
    "CSV": csv_of,
    "CSV, newlines": lambda table, folder: CsvFile(csv_of(table, folder), newlines_in_values=True),
    "CSV, zipped": lambda table, folder: CsvFile(zipped(table, folder), newlines_in_values=True),
    "Parquet": parquet_of,
    "folder": folder_of,
}


class Unread:
    """Records that nobody may look at."""

    def __getattribute__(self, name):
        if name in ("__class__", "__dict__", "__array_namespace__"):
            return object.__getattribute__(self, name)
        raise AssertionError(f"{name} of the records was looked at")


# Values that may stand in no message, and what is said of the charge for them.

DOMAIN = Domain(
    {
        "name": Attribute("name", labels=["x", "other"], unknown="other"),
        "amount": Attribute("amount", bins=Bins([0, 10, 1e15])),
    }
)
PLAN = select(marginals(DOMAIN, up_to=2), budget=pcost("1/4"))
VALUES = {"name": ["x", f"{TEXT}-1", "x"] * 4, "amount": [1.0, DIGITS * 1e6, 3.0] * 4}


def folder_of_marks(path):
    for row in range(2):
        (part := path / "records" / f"name={TEXT}-{row}").mkdir(parents=True)
        parquet.write_table(pa.table(VALUES).drop_columns("name"), part / "part.parquet")
    return path / "records"


def marked(form):
    return lambda folder: FORMS[form](pa.table(VALUES), folder)


MARKED = {
    **{form: marked(form) for form in ("pandas", "Polars", "Polars, lazy", "Arrow", "DuckDB", "Ibis", "Dask", "CSV")},
    "folder": folder_of_marks,
    "counts": lambda _: {("name", "amount"): np.full((2, 2), DIGITS * 10**6)},
}
CHARGED, NOT_CHARGED = "The charge stays: pcost 0.25, entry 1 of the ledger.", "Nothing was charged to the ledger."
