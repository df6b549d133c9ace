"""Workers count, draw and answer with receipts: Dask's threads, Dask's distributed workers, this process."""

import hashlib
import json
from contextlib import nullcontext
from functools import partial
from itertools import combinations

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client

import residualplanner as rp
from counted_records import DOMAIN, GROUPS, columns_of, naive_tables
from residualplanner import Domain
from residualplanner.scale.engines.engines import DaskRecords, open_cluster
from residualplanner.scale.engines.partitions import PROBLEMS, CountingTask
from residualplanner.scale.workers.workers import python_version, require_equal_versions

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
def records_in(request):
    """What brings records to workers."""
    if request.param == "distributed":
        request.getfixturevalue("client")
    with dask.config.set(scheduler="threads") if request.param == "Dask's threads" else nullcontext():
        yield (lambda frame: frame) if request.param == "this process" else partial(dd.from_pandas, npartitions=20)


def test_each_task_is_drawn_once_from_the_counts_of_all_records(records_in, tmp_path):
    records, note = some_records(60), str(tmp_path / "note")
    receipts = open_cluster(records_in(frame_of(records)), DOMAIN).draw(TASKS, partial(noting, note))
    assert receipts == [digest(task.number, naive_tables(DOMAIN, records, task.groups)) for task in TASKS]
    with open(note) as file:
        assert sorted(file.read().split()) == ["1", "3"]


def test_some_of_the_tasks_can_be_drawn_and_none(records_in):
    records = some_records(60)
    cluster = open_cluster(records_in(frame_of(records)), DOMAIN)
    assert cluster.draw(TASKS[1:], digest) == [digest(1, naive_tables(DOMAIN, records, GROUPS[2:]))]
    assert cluster.draw([], digest) == []


def test_where_records_break_a_rule_nothing_is_drawn(records_in, tmp_path):
    note = tmp_path / "note"
    cluster = open_cluster(records_in(pd.DataFrame({"a": [0] * 40 + [9]})), Domain({"a": 2}))
    with pytest.raises(rp.errors.DataError, match="column 'a' has values outside its schema"):
        cluster.draw([CountingTask(0, (np.array([[0]]),))], partial(noting, str(note)))
    assert not note.exists()


def test_no_records_are_drawn_too(records_in):
    cluster = open_cluster(records_in(pd.DataFrame({"a": pd.Series([], dtype="int64")})), Domain({"a": 2}))
    assert cluster.draw([CountingTask(0, (np.array([[0]]),))], digest) == [digest(0, [np.zeros((1, 2), dtype=int)])]


def test_a_function_is_called_with_each_number(records_in, tmp_path):
    cluster = open_cluster(records_in(pd.DataFrame({"a": [0]})), Domain({"a": 1}))
    cluster.require_ready()
    assert list(cluster.map(double, [4, 0, 9])) == [bytes([8]), bytes([0]), bytes([18])]


def test_what_is_measured_into_a_store_is_about_these_records(records_in, tmp_path):
    """With a budget so large that the noise hardly matters."""
    codes = np.random.default_rng(3).integers(0, (2, 3, 4), (500, 3))
    plan = rp.select(rp.marginals(rp.Domain({"a": 2, "b": 3, "c": 4}), up_to=2), budget=rp.pcost(1e9))
    data, ledger = records_in(pd.DataFrame(codes, columns=["a", "b", "c"])), rp.Ledger(rp.pcost(1e9))
    measurement = rp.scale.measure_in_store(plan, data, str(tmp_path / "store"), ledger=ledger)
    release = rp.reconstruct(measurement)
    assert ledger.spent == measurement.noise.pcost
    for first, last in combinations(range(3), 2):
        expected = np.zeros((plan.domain.sizes[first], plan.domain.sizes[last]))
        np.add.at(expected, (codes[:, first], codes[:, last]), 1)
        assert np.abs(release["abc"[first], "abc"[last]].estimate - expected).max() < 0.1


@pytest.mark.parametrize(("options", "entries"), [({}, 0), ({"checked": True}, 1), ({"charge": "first"}, 1)])
def test_records_that_do_not_fit_are_found_at_the_workers_before_the_charge(client, options, entries, tmp_path):
    plan, ledger = rp.select(rp.marginals(rp.Domain({"a": 2}), up_to=1), budget=rp.pcost(1)), rp.Ledger(rp.pcost(1))
    frame = dd.from_pandas(pd.DataFrame({"a": [0] * 40 + [9]}), npartitions=3)
    with pytest.raises(rp.errors.DataError, match="column 'a' has values outside its schema"):
        rp.scale.measure_in_store(plan, frame, tmp_path / "store", ledger=ledger, **options)
    assert len(ledger.entries) == entries
    assert (tmp_path / "store" / "release.json").exists() == bool(entries)


def test_a_run_that_is_resumed_before_anything_was_drawn_checks_the_records_before_it_is_charged(client, tmp_path):
    """The first run is interrupted when it is about to be charged."""
    plan = rp.select(rp.marginals(rp.Domain({"a": 2}), up_to=1), budget=rp.pcost(1))
    begun, ledger = rp.Ledger(rp.pcost(1)), rp.Ledger(rp.pcost(1))
    fits, misfits = (dd.from_pandas(pd.DataFrame({"a": [0, last]}), npartitions=2) for last in (1, 9))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rp.Ledger, "charge", interrupted)
        with pytest.raises(KeyboardInterrupt):
            rp.scale.measure_in_store(plan, fits, tmp_path / "store", ledger=begun)
    with pytest.raises(rp.errors.DataError):
        rp.scale.resume_measuring(tmp_path / "store", misfits, ledger=ledger)
    assert ledger.entries == begun.entries == ()
    assert rp.scale.resume_measuring(tmp_path / "store", fits, ledger=ledger).noise.pcost == ledger.spent


def interrupted(*_arguments, **_options):
    raise KeyboardInterrupt


@pytest.mark.parametrize(("last", "pieces"), [(1, []), (9, [PROBLEMS])])
def test_a_check_sends_no_count_but_only_what_is_broken(last, pieces, monkeypatch):
    sent, rows = [], DaskRecords.rows

    def spy(self, work, finish, progress):
        sent.extend(found := rows(self, work, finish, progress))
        return found

    monkeypatch.setattr(DaskRecords, "rows", spy)
    frame = dd.from_pandas(pd.DataFrame({"a": [0, 1, 0, last]}), npartitions=3)
    with nullcontext() if last == 1 else pytest.raises(rp.errors.DataError):
        open_cluster(frame, Domain({"a": 2})).check(TASKS)
    assert [row.piece for row in sent] == pieces


def test_a_function_that_fails_is_an_error_of_the_engine():
    with pytest.raises(rp.errors.ResourceError, match="Dask failed: ValueError"):
        rp.scale.DaskWorkers().map(double, [1, 200])


def answers_of(**workers):
    """In the place of ``client.run``: versions of Python and of this library at each worker."""
    texts = {
        name: json.dumps({"python": python, "library": library, "memory": []})
        for name, (python, library) in workers.items()
    }
    return lambda function, on_error: {name: (text, 1, None) for name, text in texts.items()}


OWN = (python_version(), rp.__version__)


def test_workers_of_other_versions_are_refused():
    require_equal_versions([OWN] * 2, "Dask")
    with pytest.raises(
        rp.errors.ResourceError, match=r"Dask's workers have Python 2\.7 with residualplanner 0\.1; this process"
    ):
        require_equal_versions([OWN, ("2.7", "0.1")], "Dask")


def test_a_client_one_of_whose_workers_has_another_version_is_refused(client, monkeypatch):
    monkeypatch.setattr(client, "run", answers_of(one=OWN, other=("3.10", "0.0")))
    with pytest.raises(rp.errors.ResourceError, match=r"Python 3\.10 with residualplanner 0\.0"):
        rp.scale.DaskWorkers().require_ready()


WORKLOAD = rp.marginals(rp.Domain({"a": 2}), up_to=1)
PLAN = rp.select(WORKLOAD, budget=rp.zcdp(1))


@pytest.mark.parametrize(
    "measure",
    [
        lambda frame, **options: rp.scale.measure_in_store(PLAN, frame, "store", **options),
        partial(rp.measure, PLAN),
        partial(
            rp.fits.rap.rap,
            rp.fits.rap.RapPlan(WORKLOAD, budget=rp.zcdp(1), neighbors="add-remove", rounds=1, choices=None),
        ),
    ],
    ids=["measure_in_store", "measure", "rap"],
)
def test_workers_of_another_version_are_refused_before_the_charge(client, monkeypatch, measure, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(client, "run", answers_of(other=("3.10", "0.0")))
    ledger, frame = rp.Ledger(rp.pcost(9)), dd.from_pandas(pd.DataFrame({"a": [0, 1]}), npartitions=1)
    with pytest.raises(rp.errors.ResourceError, match=r"residualplanner 0\.0; .*Nothing was charged or read"):
        measure(frame, ledger=ledger)
    assert ledger.entries == ()


@pytest.mark.parametrize(
    ("answer", "message"),
    [({}, "has no workers"), ({"tcp://there:1": TypeError()}, r"worker tcp://there:1 does not answer \(TypeError\)")],
)
def test_a_client_whose_workers_do_not_answer_is_refused(client, monkeypatch, answer, message):
    monkeypatch.setattr(client, "run", lambda function, on_error: answer)
    with pytest.raises(rp.errors.ResourceError, match=message):
        rp.scale.DaskWorkers().require_ready()
