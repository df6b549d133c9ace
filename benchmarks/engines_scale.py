"""What counting very many tables at an engine's workers takes, beside NumPy in the same run.

    python -m benchmarks.engines_scale [--records 1000000] [--engine NAME] [--attributes 30] [--json FILE]

All three-way tables of 30, 31 and 50 attributes of ten values: 4,060, 4,495 and 19,600.  Each engine counts in a
process of its own, whose processor time, with that of all processes that it starts, is looked at ten times a second;
"start" is what it takes until the engine has opened the records, and is not part of "CPU s".  No count comes to the
process that asks: workers answer with hashes of each task's counts, which must be those of NumPy's.  "driver" is the
most memory of the process that asks, without Java, and without files.
"""

import argparse
import hashlib
import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import residualplanner as rp
from benchmarks.watched_processes import add_rows, run_watched
from residualplanner.ground.checks import IntArray
from residualplanner.scale.engines.cluster import Cluster
from residualplanner.scale.engines.engines import open_cluster
from residualplanner.scale.engines.partitions import CountingTask

SIZE = 10
ORDER = 3
#: For Java machines that live for less than a minute, and have one core: they compile less, and quickly.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
TASK_TABLES = 2**22 // SIZE**ORDER
HEADER = (
    f"{'records in':<24}{'tables':>8}{'start':>8}{'CPU s':>8}{'ms a table':>12}{'NumPy = 1':>11}{'MiB':>8}{'driver':>8}"
)


def domain_of(attributes: int) -> rp.Domain:
    return rp.Domain({f"a{number}": SIZE for number in range(attributes)})


def tasks_of(attributes: int) -> list[CountingTask]:
    """All three-way tables, those of a task together in at most 2^22 cells."""
    sets = np.array([*combinations(range(attributes), ORDER)])
    starts = range(0, len(sets), TASK_TABLES)
    return [CountingTask(number, (sets[start : start + TASK_TABLES],)) for number, start in enumerate(starts)]


def digest(_: int, tables: list[IntArray]) -> bytes:
    """What comes back of the counts of a task."""
    return hashlib.sha256(b"".join(table.tobytes() for table in tables)).digest()


def write_records(folder: Path, records: int, attributes: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    codes = np.random.default_rng(0).integers(0, SIZE, (records, attributes), dtype=np.uint8)
    np.save(folder / "codes.npy", codes)
    table = pa.table({name: codes[:, number] for number, name in enumerate(domain_of(attributes))})
    parquet.write_table(table, folder / "people.parquet", row_group_size=max(1, records // 4))


@contextmanager
def numpy_codes(folder: Path, domain: rp.Domain) -> Iterator[Cluster]:
    yield open_cluster(np.load(folder / "codes.npy"), domain)


@contextmanager
def dask_frame(folder: Path, domain: rp.Domain) -> Iterator[Cluster]:
    import dask
    import dask.dataframe as dd

    with dask.config.set(scheduler="threads", num_workers=2):
        yield open_cluster(dd.read_parquet(folder / "people.parquet", split_row_groups=2), domain)


@contextmanager
def dask_processes(folder: Path, domain: rp.Domain) -> Iterator[Cluster]:
    import dask.dataframe as dd
    from distributed import Client

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(folder)):
        yield open_cluster(dd.read_parquet(folder / "people.parquet", split_row_groups=2), domain)


@contextmanager
def spark_session(master: str, **others: str) -> Iterator[Any]:
    """A classic session on two cores."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": f"{_JAVA} -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=20",
        "spark.executor.extraJavaOptions": _JAVA,
        "spark.executor.memory": "1g",
        "spark.ui.enabled": "false",
    }
    session = SparkSession.builder.master(master).config(map=settings | others).getOrCreate()
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def connect_session() -> Iterator[Any]:
    """A session over Spark Connect, to a server in the same Java machine."""
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        port = str(listener.getsockname()[1])
    plugin = "org.apache.spark.sql.connect.SparkConnectPlugin"
    with spark_session("local[2]", **{"spark.plugins": plugin, "spark.connect.grpc.binding.port": port}):
        remote = RemoteSession.builder.remote(f"sc://localhost:{port}").create()
        yield remote
        remote.stop()


@contextmanager
def spark_frame(session: AbstractContextManager[Any], folder: Path, domain: rp.Domain) -> Iterator[Cluster]:
    with session as spark:
        yield open_cluster(spark.read.parquet(str(folder / "people.parquet")), domain)


ENGINES: dict[str, Callable[[Path, rp.Domain], AbstractContextManager[Cluster]]] = {
    "NumPy codes": numpy_codes,
    "Dask, threads": dask_frame,
    "Dask, distributed": dask_processes,
    "Spark, local": lambda *arguments: spark_frame(spark_session("local[2]"), *arguments),
    "Spark, local-cluster": lambda *arguments: spark_frame(spark_session("local-cluster[2,1,1024]"), *arguments),
    "Spark Connect": lambda *arguments: spark_frame(connect_session(), *arguments),
}


def in_this_process(engine: str, folder: Path, attributes: int) -> None:
    """Count, and print what the workers answered."""
    tasks = tasks_of(attributes)
    with ENGINES[engine](folder, domain_of(attributes)) as cluster:
        print("ready", flush=True)
        start = time.perf_counter()
        receipts = cluster.draw(tasks, digest)
        seconds = time.perf_counter() - start
        print(json.dumps({"clock": seconds, "receipts": [receipt.hex() for receipt in receipts]}), flush=True)
        sys.stdin.readline()  # the one who watches has seen what was spent


def counted(engine: str, folder: Path, attributes: int) -> dict[str, Any]:
    """What counting takes, and what the workers answered."""
    command = [sys.executable, "-m", "benchmarks.engines_scale", "--case", engine, "--folder", str(folder)]
    spent = run_watched([*command, "--attributes", str(attributes)])
    tables = sum(len(rows) for task in tasks_of(attributes) for rows in task.groups)
    row = {"engine": engine, "tables": tables, "start": spent.start, "cpu": spent.work, "clock": spent.said["clock"]}
    return row | {"peak_mib": spent.peak, "driver_mib": spent.driver, "receipts": spent.said["receipts"]}


def compared(names: Sequence[str], folder: Path, attributes: int) -> list[dict[str, Any]]:
    """What each engine takes, the first of which says what the counts are; a line is printed for each."""
    rows = []
    for name in names:
        rows.append(counted(name, folder, attributes))
        print(line(rows[-1], rows[0]), flush=True)
        if rows[-1]["receipts"] != rows[0]["receipts"]:
            raise SystemExit(f"{name} has other counts than {names[0]}")
    return [{key: value for key, value in row.items() if key != "receipts"} for row in rows]


def line(row: dict[str, Any], numpy: dict[str, Any]) -> str:
    return (
        f"{row['engine']:<24}{row['tables']:>8,}{row['start']:>8.1f}{row['cpu']:>8.1f}"
        f"{1000 * row['cpu'] / row['tables']:>12.2f}{row['cpu'] / numpy['cpu']:>11.2f}"
        f"{row['peak_mib']:>8.0f}{row['driver_mib']:>8.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--engine", action="append", choices=[*ENGINES], help="NumPy and this one")
    parser.add_argument("--attributes", type=int, action="append", help="30, 31 and 50 if not given")
    parser.add_argument("--folder", type=Path, help="where to write; by default a folder for temporary files")
    parser.add_argument("--json", type=Path, help="add the results to this file")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        in_this_process(options.case, options.folder, options.attributes[0])
        return
    names = ["NumPy codes", *(name for name in options.engine or ENGINES if name != "NumPy codes")]
    print(f"{options.records:,} records\n{HEADER}", flush=True)
    rows: list[dict[str, Any]] = []
    for attributes in options.attributes or (30, 31, 50):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            write_records(Path(folder), options.records, attributes)
            rows += compared(names, Path(folder), attributes)
        if options.json:
            add_rows(options.json, rows, ("engine", "tables"))


if __name__ == "__main__":
    main()
