"""What would fail at an engine's workers is found at every one of them before the charge; Dask's, in processes."""

import os
import signal

import dask.dataframe as dd
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import residualplanner as rp
from benchmarks.s3_server import s3_server
from inner_parts import Room, discrete, tasks

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
    with pytest.raises(rp.errors.ResourceError, match=words) as found:
        rp.scale.measure_in_store(PLAN, frame, store, ledger=ledger)
    assert ledger.entries == ()
    assert "Nothing was charged or read" in str(found.value)
    return str(found.value)


@pytest.mark.cases(1)
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
    assert len(rp.scale.measure_in_store(PLAN, frame, STORE, ledger=rp.Ledger(rp.pcost(9))).plan.closure) == 2


def test_workers_that_cannot_write_to_the_folder_are_told_of(client, frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    client.run(os.chdir, str(tmp_path))
    worker, _ = client.scheduler_info()["workers"]
    client.run(_limit_files, workers=[worker])
    try:
        assert worker in refused(frame, STORE, r"does not reach .*could not be read or written: File too large")
    finally:
        client.run(_unlimit_files, workers=[worker])


def test_a_worker_with_another_endpoint_is_named_and_told_how_it_gets_variables(client, frame, monkeypatch):
    with s3_server() as bucket:
        settings = {f"AWS_{name.upper()}": value for name, value in bucket("store").settings}
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        workers = list(client.scheduler_info()["workers"])
        client.run(_set_variables, settings)
        client.run(_set_variables, {"AWS_ENDPOINT": "http://127.0.0.1:9"}, workers=workers[1:])  # nobody is there
        assert workers[1] in refused(frame, "s3://curator/store", "must be set there as here: .*dask worker")
        assert bucket("store").names("") == []


def test_a_table_too_large_for_the_workers_is_refused_and_memory_is_the_reason(client, tmp_path):
    plan = rp.select(rp.marginals(rp.Domain({"a": 8000, "b": 8000}), up_to=2), budget=rp.zcdp(1))
    pairs = dd.from_pandas(pd.DataFrame({"a": [0, 1], "b": [0, 1]}), npartitions=1)
    ledger = rp.Ledger(rp.pcost(9))
    with pytest.raises(
        rp.errors.ResourceError, match=r"too little memory: .*Dask's worker tcp://.* has .* left; nothing was"
    ) as e:
        rp.scale.measure_in_store(plan, pairs, tmp_path / "store", ledger=ledger)
    assert "memory=" not in str(e.value)
    assert ledger.entries == ()


def test_tasks_are_made_as_small_as_the_memory_for_them():
    plan = rp.select(rp.marginals(rp.Domain({name: 60 for name in "abcd"}), up_to=3), budget=rp.zcdp(1))
    rooms = ([Room(left, 1, "the machine")] for left in (3 * 2**23, 2**34))
    few, many = (tasks.tasks_within(discrete.exact_noise(plan), tasks.TASK_CELLS, room)[0] for room in rooms)
    assert len(few) > len(many) == 1


def test_workers_that_are_killed_while_they_count_are_told_of_as_want_of_memory(client, frame, tmp_path):
    def killed(part):
        os.kill(os.getpid(), signal.SIGKILL)
        return part

    ledger, scheduler = rp.Ledger(rp.pcost(9)), client.cluster.scheduler
    fails, scheduler.allowed_failures = scheduler.allowed_failures, 0
    try:
        with pytest.raises(
            rp.errors.ResourceError, match="killed or lost, which is mostly for lack of memory"
        ) as found:
            rp.scale.measure_in_store(
                PLAN, frame.map_partitions(killed, meta=frame._meta), tmp_path / "s", ledger=ledger
            )
    finally:
        scheduler.allowed_failures = fails
    assert any("The charge stays" in note for note in found.value.__notes__) == (len(ledger.entries) == 1)
    client.wait_for_workers(2)
    assert len(rp.scale.resume_measuring(tmp_path / "s", frame, ledger=ledger).plan.closure) == 2


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
