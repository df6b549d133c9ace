"""Workers count, draw and answer with receipts: Dask's threads, Dask's distributed workers, this process."""

import functools
import hashlib
from contextlib import nullcontext

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client

from counted_records import DOMAIN, GROUPS, columns_of, naive_tables
from residualplanner.domain import Domain
from residualplanner.errors import DataError, ResourceError
from residualplanner.sources import open_cluster
from residualplanner.sources.clusters import CountingTask
from residualplanner.workers import DaskWorkers
from residualplanner.workers.workers import require_equal_versions, versions

TASKS = [CountingTask(3, tuple(GROUPS[:2])), CountingTask(1, tuple(GROUPS[2:]))]


def some_records(number):
    draw = np.random.default_rng(5)
    values = {
        "text": ["01", "1", "NO", "odd", None],
        "code": [0, 1, 2, 3, 4, None],
        "integer": [5, -3, 0, 7, None],
        "truth": [True, False, None],
        "number": [-1.0, 0.0, 2.5, 10.0, 11.0, None],
    }
    return [{name: column[draw.integers(len(column))] for name, column in values.items()} for _ in range(number)]


def frame_of(records):
    types = {"text": "string", "code": "Int8", "integer": "Int64", "truth": "boolean", "number": "Float32"}
    return pd.DataFrame({name: pd.array(column, dtype=types[name]) for name, column in columns_of(records).items()})


def digest(number, tables):
    """What a receipt may not be in earnest: it depends on the counts."""
    content = b"".join(np.ascontiguousarray(table).tobytes() for table in tables)
    return bytes([number]) + hashlib.sha256(content).digest()


def noting(path, number, tables):
    with open(path, "a") as file:
        file.write(f"{number} ")
    return digest(number, tables)


def double(number):
    return bytes([2 * number])


@pytest.fixture(scope="module")
def client():
    with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        yield client


@pytest.fixture(params=["this process", "Dask's threads", "distributed"])
def opened(request):
    """What opens records as a cluster."""
    if request.param == "distributed":
        request.getfixturevalue("client")
    partitions = 0 if request.param == "this process" else 20

    def open_records(frame, domain=DOMAIN):
        return open_cluster(dd.from_pandas(frame, npartitions=partitions) if partitions else frame, domain)

    with dask.config.set(scheduler="threads") if request.param == "Dask's threads" else nullcontext():
        yield open_records


def test_each_task_is_drawn_once_from_the_counts_of_all_records(opened, tmp_path):
    records, note = some_records(60), str(tmp_path / "note")
    receipts = opened(frame_of(records)).draw(TASKS, functools.partial(noting, note))
    assert receipts == [digest(task.number, naive_tables(DOMAIN, records, task.groups)) for task in TASKS]
    with open(note) as file:
        assert sorted(file.read().split()) == ["1", "3"]


def test_some_of_the_tasks_can_be_drawn_and_none(opened):
    records = some_records(60)
    cluster = opened(frame_of(records))
    assert cluster.draw(TASKS[1:], digest) == [digest(1, naive_tables(DOMAIN, records, GROUPS[2:]))]
    assert cluster.draw([], digest) == []


def test_where_records_break_a_rule_nothing_is_drawn(opened, tmp_path):
    note = tmp_path / "note"
    cluster = opened(pd.DataFrame({"a": [0] * 40 + [9]}), Domain({"a": 2}))
    with pytest.raises(DataError, match="column 'a' has values outside its schema"):
        cluster.draw([CountingTask(0, (np.array([[0]]),))], functools.partial(noting, str(note)))
    assert not note.exists()


def test_no_records_are_drawn_too(opened):
    cluster = opened(pd.DataFrame({"a": pd.Series([], dtype="int64")}), Domain({"a": 2}))
    assert cluster.draw([CountingTask(0, (np.array([[0]]),))], digest) == [digest(0, [np.zeros((1, 2), dtype=int)])]


def test_a_function_is_called_with_each_number(opened):
    cluster = opened(pd.DataFrame({"a": [0]}), Domain({"a": 1}))
    cluster.require_ready(TASKS)
    assert cluster.run(double, [4, 0, 9]) == [bytes([8]), bytes([0]), bytes([18])]


def test_a_function_that_fails_is_an_error_of_the_engine():
    with pytest.raises(ResourceError, match="Dask failed: ValueError"):
        DaskWorkers().run(double, [1, 200])


def test_workers_of_other_versions_are_refused():
    require_equal_versions([versions()] * 2, "Dask")
    with pytest.raises(ResourceError, match=r"Dask's workers have Python 2\.7 with residualplanner 0\.1; this process"):
        require_equal_versions([versions(), ("2.7", "0.1")], "Dask")


def test_a_client_whose_workers_have_another_version_is_refused(client, monkeypatch):
    monkeypatch.setattr(client, "run", lambda function: {"one": function(), "other": ("3.10", "0.0")})
    with pytest.raises(ResourceError, match=r"Python 3\.10 with residualplanner 0\.0"):
        DaskWorkers().require_ready()


@pytest.mark.parametrize(
    ("answer", "message"),
    [(lambda function: {}, "has no workers"), (lambda function: 1 / 0, "cannot run this library")],
)
def test_a_client_whose_workers_do_not_answer_is_refused(client, monkeypatch, answer, message):
    monkeypatch.setattr(client, "run", answer)
    with pytest.raises(ResourceError, match=message):
        DaskWorkers().require_ready()
