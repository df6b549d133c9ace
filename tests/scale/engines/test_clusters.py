"""Workers count, draw and answer with receipts: Dask's threads, Dask's distributed workers, this process."""

import json
from contextlib import nullcontext
from functools import partial
from sysconfig import get_python_version

import dask.dataframe as dd
import pandas as pd
import pytest

import residualplanner as rp
from counted_records import GROUPS
from inner_parts import engines, partitions
from residualplanner import Domain
from stored_releases import Interrupted

TASKS = [partitions.CountingTask(3, tuple(GROUPS[:2])), partitions.CountingTask(1, tuple(GROUPS[2:]))]
TRUE_OR_NOT = Domain({"a": 2})
PLAN = rp.select(rp.marginals(TRUE_OR_NOT, up_to=1), budget=rp.zcdp(1))


@pytest.fixture
def answered(client, monkeypatch):
    """Has the client's workers answer something else, when they are asked."""
    return lambda answers: monkeypatch.setattr(client, "run", lambda function, on_error: answers)


@pytest.mark.parametrize(("options", "entries"), [({}, 0), ({"charge": "first"}, 1)])
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


@pytest.mark.parametrize(("last", "pieces"), [(1, []), (9, [partitions.PROBLEMS])])
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


def versions(**workers):
    """What workers answer of the versions of Python and of this library that they have."""
    return {
        name: (json.dumps({"python": python, "library": library, "memory": [], "trouble": ""}), 1, None)
        for name, (python, library) in workers.items()
    }


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({}, "has no workers"),
        ({"tcp://there:1": TypeError()}, r"worker tcp://there:1 does not answer \(TypeError\)"),
        (
            versions(one=(get_python_version(), rp.__version__), other=("2.7", "0.1")),
            r"Dask's worker other has Python 2\.7 with residualplanner 0\.1; install there what this process has",
        ),
    ],
    ids=["no workers", "no answer", "another version"],
)
def test_a_client_whose_workers_do_not_serve_is_refused(answered, answers, message):
    answered(versions(one=(get_python_version(), rp.__version__)))
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
