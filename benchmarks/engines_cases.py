"""The same records in every engine."""

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import residualplanner as rp
from residualplanner.gate.sources.opening import open_source

PART = 1_000_000
TEXT = [f"t{i}" for i in range(5)]
INTEGER = [f"i{i}" for i in range(5)]
NUMBER = [f"x{i}" for i in range(5)]
DOMAIN = rp.Domain(
    {
        **{name: [f"label {code:02}" for code in range(10)] for name in TEXT},
        **{name: list(range(100, 110)) for name in INTEGER},
        **{name: rp.Bins(np.linspace(0, 10, 11)) for name in NUMBER},
    }
)
PAIRS = [np.array([*combinations(range(len(DOMAIN)), 2)])]


class Outcome(NamedTuple):
    """How many tables were counted, and the hash of all counts."""

    tables: int
    digest: str | None


Job = Callable[[], Outcome]


def write_records(folder: Path, rows: int) -> None:
    """The records as a matrix of codes, a Parquet file, and a folder with a folder for each value of an attribute."""
    import pyarrow as pa
    from pyarrow import dataset, parquet

    draw = np.random.default_rng(0)
    codes = np.lib.format.open_memmap(folder / "codes.npy", "w+", np.uint8, (rows, len(DOMAIN)))
    writer = None
    for start in range(0, rows, PART):
        part = codes[start : start + PART]
        part[:] = draw.integers(0, 10, part.shape, dtype=np.uint8)
        labels = np.array(DOMAIN[TEXT[0]].value_labels)
        columns: dict[str, Any] = {}
        for place, name in enumerate(DOMAIN):
            column = part[:, place]
            if name in TEXT:
                columns[name] = pa.DictionaryArray.from_arrays(pa.array(column.astype(np.int32)), pa.array(labels))
                columns[name] = columns[name].cast(pa.string())
            else:
                columns[name] = column + np.int64(100) if name in INTEGER else column + draw.random(len(column))
        table = pa.table(columns)
        writer = writer or parquet.ParquetWriter(folder / "people.parquet", table.schema)
        writer.write_table(table, row_group_size=PART // 4)
    if writer is not None:
        writer.close()
    whole = dataset.dataset(folder / "people.parquet")
    flavor = dataset.partitioning(pa.schema([(TEXT[0], pa.string())]), flavor="hive")
    dataset.write_dataset(whole, folder / "people", format="parquet", partitioning=flavor)


def counting(data: object) -> Job:
    def job() -> Outcome:
        (tables,) = open_source(data, DOMAIN).count(PAIRS)
        return Outcome(len(tables), hashlib.sha256(tables.tobytes()).hexdigest())

    return job


@contextmanager
def of_numpy(folder: Path) -> Iterator[Job]:
    yield counting(np.load(folder / "codes.npy"))


@contextmanager
def of_pandas(folder: Path) -> Iterator[Job]:
    import pandas as pd

    yield counting(pd.read_parquet(folder / "people.parquet"))


@contextmanager
def of_polars(folder: Path) -> Iterator[Job]:
    import polars as pl

    yield counting(pl.scan_parquet(folder / "people.parquet"))


@contextmanager
def of_duckdb(folder: Path) -> Iterator[Job]:
    import duckdb

    yield counting(duckdb.connect().read_parquet(str(folder / "people.parquet")))


@contextmanager
def of_file(folder: Path) -> Iterator[Job]:
    yield counting(folder / "people.parquet")


@contextmanager
def of_folder(folder: Path) -> Iterator[Job]:
    yield counting(folder / "people")


@contextmanager
def of_ibis(folder: Path) -> Iterator[Job]:
    import ibis

    yield counting(ibis.duckdb.connect().read_parquet(folder / "people.parquet"))


@contextmanager
def of_dask(folder: Path) -> Iterator[Job]:
    import dask.dataframe as dd

    yield counting(dd.read_parquet(folder / "people.parquet", split_row_groups=4))


@contextmanager
def spark(*, connect: bool) -> Iterator[Any]:
    """Spark on two cores of this machine."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote("local[2]") if connect else SparkSession.builder.master("local[2]")
    settings = {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.showConsoleProgress": "false",
    }
    session = builder.config(map=settings).getOrCreate()
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def of_spark(folder: Path, *, connect: bool) -> Iterator[Job]:
    with spark(connect=connect) as session:
        yield counting(session.read.parquet(str(folder / "people.parquet")))


@contextmanager
def of_group_bys(folder: Path) -> Iterator[Job]:
    """What was not chosen: for each pair of columns a group_by of their values, united to one job."""
    import narwhals as nw

    with spark(connect=False) as session:
        frame = nw.from_native(session.read.parquet(str(folder / "people.parquet")))
        pairs = [*combinations([*TEXT, *INTEGER], 2)]

        def job() -> Outcome:
            tables = [
                frame.group_by(one, other)
                .agg(nw.len().alias("count"))
                .select(
                    nw.col(one, other).cast(nw.String).name.map(lambda name, of=(one, other): f"k{of.index(name)}"),
                    "count",
                )
                for one, other in pairs
            ]
            nw.concat(tables).collect()
            return Outcome(len(pairs), None)

        yield job


CASES: dict[str, Callable[[Path], AbstractContextManager[Job]]] = {
    "NumPy codes": of_numpy,
    "pandas, in memory": of_pandas,
    "Parquet file": of_file,
    "Parquet folder": of_folder,
    "Polars lazy, Parquet": of_polars,
    "DuckDB relation, Parquet": of_duckdb,
    "Ibis on DuckDB, Parquet": of_ibis,
    "Dask, Parquet": of_dask,
    "PySpark, Parquet": lambda folder: of_spark(folder, connect=False),
    "Spark Connect, Parquet": lambda folder: of_spark(folder, connect=True),
}
PEERS: dict[str, Callable[[Path], AbstractContextManager[Job]]] = {"PySpark, group_by per table": of_group_bys}
