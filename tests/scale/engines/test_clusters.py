"""Workers count, draw and answer with receipts: Dask's threads, Dask's distributed workers, this process."""

import hashlib
import json
from contextlib import nullcontext
from functools import partial

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client

import residualplanner as rp
from counted_records import DOMAIN, GROUPS, columns_of, naive_tables
from residualplanner import Domain
from scale.parts import PROBLEMS, CountingTask, engines, python_version
from stored_releases import Interrupted

TASKS = [CountingTask(3, tuple(GROUPS[:2])), CountingTask(1, tuple(GROUPS[2:]))]
ONE_TASK = [CountingTask(0, (np.array([[0]]),))]
TRUE_OR_NOT = Domain({"a": 2})
PLAN = rp.select(rp.marginals(TRUE_OR_NOT, up_to=1), budget=rp.zcdp(1))


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


@pytest.fixture
def answered(client, monkeypatch):
    """Has the client's workers answer something else, when they are asked."""
    return lambda answers: monkeypatch.setattr(client, "run", lambda function, on_error: answers)


@pytest.fixture(params=["this process", "Dask's threads", "distributed"])
def cluster_of(request):
    """What brings records to workers."""
    if request.param == "distributed":
        request.getfixturevalue("client")
    brought = (lambda frame: frame) if request.param == "this process" else partial(dd.from_pandas, npartitions=20)
    with dask.config.set(scheduler="threads") if request.param == "Dask's threads" else nullcontext():
        yield lambda frame, domain=TRUE_OR_NOT: engines.open_cluster(brought(frame), domain)


def test_each_task_is_drawn_once_from_the_counts_of_all_records(cluster_of, tmp_path):
    records, note = some_records(60), tmp_path / "note"
    cluster = cluster_of(frame_of(records), DOMAIN)
    cluster.require_ready()
    expected = [digest(task.number, naive_tables(DOMAIN, records, task.groups)) for task in TASKS]
    assert cluster.draw(TASKS, partial(noting, str(note))) == expected
    assert sorted(note.read_text().split()) == ["1", "3"]
    assert cluster.draw(TASKS[1:], digest) == expected[1:]
    assert cluster.draw([], digest) == []
    assert list(cluster.map(double, [4, 0, 9])) == [bytes([8]), bytes([0]), bytes([18])]


def test_where_records_break_a_rule_nothing_is_drawn_and_where_there_are_none_zeros_are(cluster_of, tmp_path):
    note = tmp_path / "note"
    with pytest.raises(rp.errors.DataError, match="column 'a' has values outside its schema"):
        cluster_of(pd.DataFrame({"a": [0] * 40 + [9]})).draw(ONE_TASK, partial(noting, str(note)))
    assert not note.exists()
    nobody = cluster_of(pd.DataFrame({"a": pd.Series([], dtype="int64")}))
    assert nobody.draw(ONE_TASK, digest) == [digest(0, [np.zeros((1, 2), dtype=int)])]


@pytest.mark.parametrize(("options", "entries"), [({}, 0), ({"checked": True}, 1), ({"charge": "first"}, 1)])
def test_records_that_do_not_fit_are_found_at_the_workers_before_the_charge(client, options, entries, tmp_path):
    ledger, frame = rp.Ledger(rp.zcdp(1)), dd.from_pandas(pd.DataFrame({"a": [0] * 40 + [9]}), npartitions=3)
    with pytest.raises(rp.errors.DataError, match="column 'a' has values outside its schema"):
        rp.scale.measure_in_store(PLAN, frame, tmp_path / "store", ledger=ledger, **options)
    assert len(ledger.entries) == entries
    assert (tmp_path / "store" / "release.json").exists() == bool(entries)


def test_a_run_that_is_resumed_before_anything_was_drawn_checks_the_records_before_it_is_charged(client, tmp_path):
    ledger = Interrupted(rp.zcdp(1))
    fits, misfits = (dd.from_pandas(pd.DataFrame({"a": [0, last]}), npartitions=2) for last in (1, 9))
    with pytest.raises(KeyboardInterrupt):
        rp.scale.measure_in_store(PLAN, fits, tmp_path / "store", ledger=ledger)
    with pytest.raises(rp.errors.DataError):
        rp.scale.resume_measuring(tmp_path / "store", misfits, ledger=ledger)
    assert ledger.entries == ()
    assert rp.scale.resume_measuring(tmp_path / "store", fits, ledger=ledger).noise.pcost == ledger.spent


@pytest.mark.parametrize(("last", "pieces"), [(1, []), (9, [PROBLEMS])])
def test_a_check_sends_no_count_but_only_what_is_broken(last, pieces, monkeypatch):
    sent = []

    class Seen(engines.DaskRecords):
        def rows(self, work, finish, progress):
            sent.extend(found := super().rows(work, finish, progress))
            return found

    monkeypatch.setitem(engines.ENGINES, "Dask", Seen)
    frame = dd.from_pandas(pd.DataFrame({"a": [0, 1, 0, last]}), npartitions=3)
    with nullcontext() if last == 1 else pytest.raises(rp.errors.DataError):
        engines.open_cluster(frame, TRUE_OR_NOT).check(TASKS)
    assert [row.piece for row in sent] == pieces


def test_a_function_that_fails_is_an_error_of_the_engine():
    with pytest.raises(rp.errors.ResourceError, match="Dask failed: ValueError"):
        rp.scale.DaskWorkers().map(double, [1, 200])


def versions(**workers):
    """What workers answer of the versions of Python and of this library that they have."""
    return {
        name: (json.dumps({"python": python, "library": library, "memory": []}), 1, None)
        for name, (python, library) in workers.items()
    }


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({}, "has no workers"),
        ({"tcp://there:1": TypeError()}, r"worker tcp://there:1 does not answer \(TypeError\)"),
        (
            versions(one=(python_version(), rp.__version__), other=("2.7", "0.1")),
            r"Dask's workers have Python 2\.7 with residualplanner 0\.1; this process",
        ),
    ],
    ids=["no workers", "no answer", "another version"],
)
def test_a_client_whose_workers_do_not_serve_is_refused(answered, answers, message):
    answered(versions(one=(python_version(), rp.__version__)))
    assert rp.scale.DaskWorkers().require_ready() == []
    answered(answers)
    with pytest.raises(rp.errors.ResourceError, match=message):
        rp.scale.DaskWorkers().require_ready()


ROUNDS = rp.fits.rap.RapPlan(PLAN.workload, budget=rp.zcdp(1), neighbors="add-remove", rounds=1, choices=None)


@pytest.mark.parametrize(
    "measure",
    [
        lambda frame, **options: rp.scale.measure_in_store(PLAN, frame, "store", **options),
        partial(rp.measure, PLAN),
        partial(rp.fits.rap.rap, ROUNDS),
    ],
    ids=["measure_in_store", "measure", "rap"],
)
def test_workers_of_another_version_are_refused_before_the_charge(answered, monkeypatch, measure, tmp_path):
    monkeypatch.chdir(tmp_path)
    answered(versions(other=("3.10", "0.0")))
    ledger, frame = rp.Ledger(rp.pcost(9)), dd.from_pandas(pd.DataFrame({"a": [0, 1]}), npartitions=1)
    with pytest.raises(rp.errors.ResourceError, match=r"residualplanner 0\.0; .*Nothing was charged or read"):
        measure(frame, ledger=ledger)
    assert ledger.entries == ()
