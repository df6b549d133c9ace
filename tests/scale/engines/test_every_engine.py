"""Whoever counts: tasks are drawn from the sums over all records where these are, and only receipts come back."""

import hashlib
from contextlib import ExitStack
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pyarrow as pa
import pytest
from distributed import Client

import residualplanner as rp
from counted_records import DOMAIN, GROUPS, TYPES, columns_of, naive_tables, some_records
from forms_of_records import arrow_in_pandas
from inner_parts import engines, partitions

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
TASKS = [partitions.CountingTask(3, tuple(GROUPS[:2])), partitions.CountingTask(1, tuple(GROUPS[2:]))]
THREE = [partitions.CountingTask(number, (np.array([[0]]),)) for number in range(3)]
TRUE_OR_NOT = rp.Domain({"a": 2})


def of_dask(table):
    return dd.from_pandas(arrow_in_pandas(table), npartitions=5)


#: What is used of the session of the name, if it is Spark's; what the engine's errors call it.
ENGINES = {
    "this process": "",
    "Dask's threads": "Dask",
    "distributed": "Dask",
    "Spark": "classic",
    "Spark Connect": "connect",
}


@pytest.fixture(params=ENGINES)
def engine(request):
    """What makes an Arrow table records of an engine, and the engine's workers; none for this process."""
    name, kind = request.param, ENGINES[request.param]
    with ExitStack() as stack:
        if name == "this process":
            yield (lambda table: table), None
        elif kind == "Dask":
            stack.enter_context(dask.config.set(scheduler="threads"))
            if name == "distributed":
                stack.enter_context(Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None))
            yield of_dask, rp.scale.DaskWorkers()
        else:
            from pyspark.sql.pandas.types import from_arrow_schema

            session = request.getfixturevalue("sessions")[kind]

            def of_spark(table):
                return session.createDataFrame(table, from_arrow_schema(table.schema)).repartition(2)

            yield of_spark, rp.scale.SparkWorkers(session)


def noting(path):
    """A receipt that depends on the counts, with a note that it was made; Spark's workers do not have this module."""

    def digest(number, tables):
        with open(path, "a") as file:
            file.write(f"{number} ")
        return bytes([number]) + hashlib.sha256(b"".join(table.tobytes() for table in tables)).digest()

    return digest


@pytest.mark.cases(2)
def test_each_task_is_drawn_once_from_the_counts_of_all_records(engine, tmp_path):
    records, note = some_records(400), str(tmp_path / "note")
    cluster = engines.open_cluster(engine[0](pa.table(columns_of(records), TYPES)), DOMAIN)
    digest = noting(str(tmp_path / "expected"))
    expected = [digest(task.number, naive_tables(DOMAIN, records, task.groups)) for task in TASKS]
    assert cluster.draw(TASKS, noting(note)) == expected
    assert sorted(Path(note).read_text().split()) == ["1", "3"]
    assert cluster.draw(TASKS[1:], digest) == expected[1:]
    assert cluster.draw([], digest) == []


@pytest.mark.cases(1)
def test_where_records_break_a_rule_nothing_is_drawn_and_where_there_are_none_zeros_are(engine, tmp_path):
    note, wrong = tmp_path / "note", engine[0](pa.table({"a": [0] * 40 + [9]}))
    for step in (lambda cluster: cluster.check(THREE), lambda cluster: cluster.draw(THREE, noting(str(note)))):
        with pytest.raises(rp.errors.DataError, match="column 'a' has values outside its schema"):
            step(engines.open_cluster(wrong, TRUE_OR_NOT))
    assert not note.exists()
    nobody = engines.open_cluster(engine[0](pa.table({"a": pa.array([], pa.int64())})), TRUE_OR_NOT)
    nobody.check(THREE)
    digest = noting(str(note))
    assert nobody.draw(THREE, digest) == [digest(number, [np.zeros((1, 2), dtype=int)]) for number in range(3)]


def test_a_function_is_called_with_each_number_and_its_failure_is_the_engines(engine):
    make, workers = engine
    call = (workers or engines.open_cluster(make(pa.table({"a": [0]})), TRUE_OR_NOT)).map
    assert list(call(lambda number: bytes([2 * number]), [4, 0, 9])) == [bytes([8]), bytes([0]), bytes([18])]
    assert list(call(lambda number: b"", [])) == []
    if workers is not None:
        with pytest.raises(rp.errors.ResourceError, match=r"(Dask|Spark) failed"):
            call(lambda number: bytes([2 * number]), [200])


@pytest.mark.cases(2)
def test_noise_is_charged_once_and_what_progress_raises_ends_the_run(engine, tmp_path):
    """With a budget so large that the noise hardly matters."""
    plan, steps = rp.select(rp.marginals(rp.Domain({"a": 2, "b": 3}), up_to=2), budget=rp.pcost(1e9)), []
    data = engine[0](pa.table({"a": [number % 2 for number in range(100)], "b": [number % 3 for number in range(100)]}))
    ledger, report = rp.Ledger(rp.pcost(1e9)), lambda done, total: steps.append((done, total))
    measurement = rp.scale.measure_in_store(plan, data, str(tmp_path / "a"), ledger=ledger, progress=report)
    assert ledger.spent == measurement.noise.pcost
    assert np.abs(rp.reconstruct(measurement)["a", "b"].estimate - [[17, 16, 17], [17, 17, 16]]).max() < 0.1
    assert steps[-1][0] == steps[-1][1] >= 1
    assert all(0 <= done <= total for done, total in steps)
    with pytest.raises(ZeroDivisionError):
        rp.scale.measure_in_store(plan, data, tmp_path / "b", progress=lambda done, total: 1 // 0)
