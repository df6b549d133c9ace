"""Sessions in several processes: what a kill before any call to the system leaves, and two at work at once."""

import json
import os
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

import residualplanner as rp
import session_processes
from residualplanner.ground.stores.object_store import Folder
from session_processes import PLAN, RECORDS
from shell.specs import require_measurable

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there is no fork elsewhere")

COST = require_measurable(PLAN, ledger=None, again=False)
SCENES = ("race", *session_processes.SCENES)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the processes of each scene told, in order: four rounds of the race, and a kill before every change."""
    command = [sys.executable, session_processes.__file__, tmp_path_factory.mktemp("scenes"), 4, 1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = list(map(json.loads, done.stdout.splitlines()))
    return SimpleNamespace(**{name: [line for line in lines if line["scene"] == name] for name in SCENES})


def test_two_processes_that_measure_at_once_never_exceed_the_budget(told):
    took_turns = 0
    for race in told.race:
        ledger, lines = rp.Ledger.open(race["ledger"]), race["told"]
        assert (race["status"], len(lines)) == ([0, 0], 8)
        measured = sorted(Fraction(line["cost"]) for line in lines if line["is_measured"])
        assert sorted(entry.cost for entry in ledger.entries) == measured
        assert sum(measured) == ledger.spent <= session_processes.BUDGET.pcost_exact
        refused = [Fraction(line["cost"]) for line in lines if not line["is_measured"]]
        assert all(ledger.remaining < cost for cost in refused), "what would have fitted was refused"
        took_turns += sum(one["who"] != other["who"] for one, other in pairwise(lines)) > 1
    assert took_turns, "one was always done before the other began: the test has shown nothing"


def folders_of_killed(lines):
    """The folders of a scene, all but the last of which a process that is killed there would have left."""
    *copied, whole = [line["status"] for line in lines]
    assert copied
    assert whole == 0
    return [Path(line["folder"]) for line in lines]


def checked_charges(folder):
    """How often the ledger was charged, whole lines and never more than once, and before noise was drawn."""
    ledger = rp.Ledger.open(folder / "ledger")
    assert not ledger.is_torn, "the line of a charge is written at once; a machine that stops may tear it"
    assert [entry.cost for entry in ledger.entries] == [COST] * len(ledger.entries)
    assert len(ledger.entries) <= 1
    for name, lines in (("counting", [1]), ("drawing", [2, 3])):  # in a store a generation has a line, too
        then = (folder / name).read_bytes() if (folder / name).exists() else b""
        assert then.count(b"\n") in (0, *lines), "records are counted before the charge, and noise is drawn after it"
    return len(ledger.entries)


def test_a_session_killed_at_any_step_leaves_whole_outputs_that_were_charged_and_goes_on(told):
    seen = set()
    for folder in folders_of_killed(told.release):
        charges = checked_charges(folder)
        is_measured, is_written = (folder / "measurement").exists(), (folder / "tables").exists()
        seen.add((charges, is_measured, is_written))
        session = rp.Session(RECORDS, ledger=folder / "ledger")
        if is_written:
            tables = rp.load_tables(folder / "tables")
            assert [tables[query].estimate.size for query in PLAN.workload] == PLAN.workload.cells.tolist()
        if is_measured:
            rp.reconstruct(rp.load_measurement(folder / "measurement")).save(folder / "again", format="csv")
        else:
            session.measure(PLAN, again=bool(charges)).save(folder / "measurement")
        assert session.balance.spent == COST * (charges + (not is_measured))
    every = {(0, False, False), (1, False, False), (1, True, False), (1, True, True)}
    assert seen == every


def test_a_store_killed_at_any_step_is_resumed_for_the_same_charge_and_the_same_answers(told):
    seen = set()
    for folder in folders_of_killed(told.store):
        charges, store = checked_charges(folder), Folder(folder / "store")
        has_begun = (folder / "store").exists() and bool(store.names("release.json"))
        answers = {name: store.read(name) for name in store.names("answers/")} if has_begun else {}
        seen.add((charges, has_begun, bool(answers)))
        ledger = rp.Ledger.open(folder / "ledger")
        if has_begun:
            rp.scale.resume_measuring(folder / "store", RECORDS, ledger=ledger)
            assert {name: store.read(name) for name in answers} == answers
        else:
            rp.scale.measure_in_store(PLAN, RECORDS, folder / "store", ledger=ledger)
        assert ledger.spent == COST
    every = {(0, False, False), (0, True, False), (1, True, False), (1, True, True)}
    assert seen == every
