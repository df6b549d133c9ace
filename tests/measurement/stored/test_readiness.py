"""What would fail at an engine's workers is found at every one of them before the charge; Dask's, in processes."""

import os

import dask.dataframe as dd
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import residualplanner as rp
from benchmarks.s3_server import s3_server

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.path.exists("/proc/self/cwd"), reason="a name that is another folder in each process"),
]
PLAN = rp.select(rp.marginals(rp.Domain({"a": 2}), up_to=1), budget=rp.zcdp(1))
#: A folder that each process sees elsewhere.
STORE = "/proc/self/cwd/store"


@pytest.fixture(scope="module")
def client():
    """Of two workers with 1 GiB each."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="1GiB", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def frame(client):
    return dd.from_pandas(pd.DataFrame({"a": [0, 1, 1]}), npartitions=1)


def refused(frame, store, words):
    """The message with which measuring into a store is refused, at no cost."""
    ledger = rp.Ledger(rp.pcost(9))
    with pytest.raises(rp.ResourceError, match=words) as found:
        rp.measure_in_store(PLAN, frame, store, ledger=ledger)
    assert ledger.entries == ()
    assert "Nothing was charged or read" in str(found.value)
    return str(found.value)


@pytest.mark.parametrize("number", [0, 1])
def test_one_worker_that_does_not_have_the_folder_is_named(client, frame, tmp_path, monkeypatch, number):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    workers = sorted(client.scheduler_info()["workers"])
    client.run(os.chdir, str(tmp_path))
    client.run(os.chdir, str(tmp_path / "elsewhere"), workers=[workers[number]])
    message = refused(frame, STORE, "file system that all workers have under the same path")
    assert workers[number] in message
    assert workers[1 - number] not in message
    assert not os.listdir(tmp_path / "elsewhere")
    client.run(os.chdir, str(tmp_path))
    assert len(rp.measure_in_store(PLAN, frame, STORE, ledger=rp.Ledger(rp.pcost(9))).plan.closure) == 2


def test_workers_that_cannot_write_to_the_folder_are_told_of(client, frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    client.run(os.chdir, str(tmp_path))
    worker, _ = client.scheduler_info()["workers"]
    client.run(_limit_files, workers=[worker])
    try:
        assert worker in refused(frame, STORE, r"does not reach .*could not be read or written: File too large")
    finally:
        client.run(_unlimit_files, workers=[worker])


def test_a_worker_with_another_endpoint_is_named_with_the_variables_that_it_lacks(client, frame, monkeypatch):
    with s3_server() as bucket:
        settings = {f"AWS_{name.upper()}": value for name, value in bucket("store").settings}
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        workers = list(client.scheduler_info()["workers"])
        client.run(_set_variables, settings)
        client.run(_set_variables, {"AWS_ENDPOINT": "http://127.0.0.1:9"}, workers=workers[1:])  # nobody is there
        client.run(_remove_variable, "AWS_REGION", workers=workers[1:])
        assert workers[1] in refused(frame, "s3://curator/store", "AWS_REGION must be set there as here: .*dask worker")
        assert bucket("store").names("") == []


def _limit_files():
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def _unlimit_files():
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _set_variables(settings):
    os.environ.update(settings)


def _remove_variable(name):
    del os.environ[name]
