"""A plan that a ledger holds already is measured again only where that is said."""

import os
import threading

import numpy as np
import pytest

import residualplanner as rp
from command_line import outcome
from forms_of_records import Unread

WORKLOAD = rp.marginals(rp.Domain({"a": 2, "b": 3}), up_to=2)
PLAN = rp.select(WORKLOAD, budget=rp.pcost("1/3"))
RAP = rp.fits.rap.RapPlan(WORKLOAD, budget=rp.zcdp("1/6"), neighbors="add-remove", rounds=1, choices=1)
RECORDS = np.array([[0, 0], [1, 2], [1, 1]] * 40)
HELD = r"entry 1 of the ledger is for this plan already .*reconstruct the folder.*again=True, or --again"
SPEC = """\
budget = { zcdp = "0.1" }
ledger = { file = "l.ledger", budget = { zcdp = "1" } }

[domain]
sex = ["F", "M"]

[[workload]]
up_to = 1
"""


ROADS = {
    "measure": lambda ledger, data, folder, **again: rp.measure(PLAN, data, ledger=ledger, **again),
    "session": lambda ledger, data, folder, **again: rp.Session(data, ledger=ledger).measure(PLAN, **again),
    "release": lambda ledger, data, folder, **again: rp.Session(data, ledger=ledger).release(PLAN, **again),
    "store": lambda ledger, data, folder, **again: rp.scale.measure_in_store(
        PLAN, data, folder / f"store-{len(ledger.entries)}", ledger=ledger, **again
    ),
    "rap": lambda ledger, data, folder, **again: rp.fits.rap.rap(RAP, data, ledger=ledger, **again),
}
LEDGERS = {
    "memory": lambda folder: rp.Ledger(rp.pcost(9)),
    "file": lambda folder: rp.Ledger.create(folder / "l", budget=rp.pcost(9), data_set="d"),
    "unlimited": lambda folder: rp.Ledger.unlimited("invented records"),
}


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("make", LEDGERS)
def test_a_plan_that_the_ledger_holds_is_refused_before_records_are_looked_at(road, make, tmp_path):
    ledger, run = LEDGERS[make](tmp_path), ROADS[road]
    run(ledger, RECORDS, tmp_path)
    (entry,) = ledger.entries
    with pytest.raises(rp.errors.BudgetError, match=HELD):
        run(ledger, Unread(), tmp_path)
    assert ledger.entries == (entry,)
    run(ledger, RECORDS, tmp_path, again=True)
    assert [each.cost for each in ledger.entries] == [entry.cost] * 2
    assert [each.plan_sha256 for each in ledger.entries] == [entry.plan_sha256] * 2


def test_every_road_knows_what_the_others_have_measured(tmp_path):
    ledger = rp.Ledger(rp.pcost(9))
    rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "store", ledger=ledger)
    with pytest.raises(rp.errors.BudgetError, match=HELD):
        rp.Session(RECORDS, ledger=ledger).release(PLAN)
    other = rp.select(WORKLOAD, budget=rp.pcost("1/4"))
    assert rp.measure(other, RECORDS, ledger=ledger).noise.pcost == ledger.entries[1].cost


def test_what_a_store_holds_is_completed_and_not_measured_again(tmp_path):
    ledger = rp.Ledger(rp.pcost(9))

    def stop(done, total):
        raise KeyboardInterrupt

    for options in ({}, {"again": True}):
        store = tmp_path / f"store-{len(ledger.entries)}"
        with pytest.raises(KeyboardInterrupt):
            rp.scale.measure_in_store(PLAN, RECORDS, store, ledger=ledger, progress=stop, **options)
        charged = ledger.spent
        rp.scale.resume_measuring(store, RECORDS, ledger=ledger)
        assert ledger.spent == charged


def test_of_many_who_measure_one_plan_at_once_one_is_charged(tmp_path):
    rp.Ledger.create(tmp_path / "l", budget=rp.pcost(9), data_set="d")
    found, start = [], threading.Barrier(6)

    def work():
        ledger = rp.Ledger.open(tmp_path / "l")
        start.wait()
        try:
            found.append(rp.measure(PLAN, RECORDS, ledger=ledger))
        except rp.errors.BudgetError as error:
            found.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(each, rp.errors.BudgetError) for each in found) == 5
    assert len(rp.Ledger.open(tmp_path / "l").entries) == 1


def test_the_command_line_asks_for_again_and_says_what_was_likely_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "people.csv").write_text("sex\n" + "F\n" * 30)

    release = ("release", "spec.toml", "people.csv", "-o")
    assert outcome(*release, "a").exit_code == 0
    before = (tmp_path / "l.ledger").read_bytes()
    outcome("plan", "spec.toml", "-o", "p")
    for command in (
        (*release, "b", "--nonnegative"),
        (*release, "b", "--dry-run"),
        ("measure", "p", "people.csv", "-o", "m", "--ledger", "l.ledger"),
        ("measure", "p", "people.csv", "-o", "m", "--ledger", "l.ledger", "--dry-run"),
    ):
        refused = outcome(*command)
        assert refused.exit_code == 2
        assert "reconstruct the folder of that release" in refused.stderr
        assert "--again" in refused.stderr
    assert (tmp_path / "l.ledger").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a", "l.ledger", "p", "p.errors.csv", "people.csv", "spec.toml"]
    assert outcome("reconstruct", "a", "-o", "b", "--nonnegative").exit_code == 0
    assert rp.load_tables(tmp_path / "b").product.is_nonnegative
    assert (tmp_path / "l.ledger").read_bytes() == before
    assert outcome(*release, "c", "--again").exit_code == 0
    assert len(rp.Ledger.open(tmp_path / "l.ledger").entries) == 2


def test_nothing_is_advised_that_the_ledger_has_too_little_left_for():
    ledger = rp.Ledger(rp.pcost("1/3"))
    rp.measure(PLAN, RECORDS, ledger=ledger)
    with pytest.raises(rp.errors.BudgetError, match=r"is for this plan already .* too little left to measure it anew$"):
        rp.measure(PLAN, RECORDS, ledger=ledger)
