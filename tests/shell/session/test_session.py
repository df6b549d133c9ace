"""A session charges whatever it measures, refuses what does not fit before it reads, and goes on where others ended."""

import multiprocessing
import pickle
import subprocess
import sys
import threading
import traceback
from fractions import Fraction

import numpy as np
import pytest

import residualplanner as rp
from residualplanner import (
    Domain,
    Ledger,
    Session,
    approx_dp,
    load_measurement,
    marginals,
    measure,
    pcost,
    reconstruct,
    select,
    zcdp,
)
from residualplanner.gate.measurement.measure import require_measurable
from residualplanner.gate.spend import warn_without_ledger
from residualplanner.method.plan.files import plan_hash

WORKLOAD = marginals(Domain({"a": 2, "b": 3}), up_to=2)
RECORDS = np.array([[0, 0], [1, 2], [1, 1]])
PLAN = select(WORKLOAD, budget=pcost("1/3"))


def raised(message, category, stacklevel):
    raise category(message)


class Forbidden:
    """Records that must not be read."""

    def __getattr__(self, name):
        raise AssertionError("records were looked at")


def forbidden(**options):
    return Session(Forbidden(), **options)


def test_what_is_measured_is_charged_exactly_and_told_before_and_after():
    session = Session(RECORDS, budget=pcost(1), data_set="visits")
    cost = require_measurable(PLAN)
    before, after = session.balance, session.balance_after(PLAN)
    assert (before.spent, after.spent, after.remaining) == (0, cost, 1 - cost)
    measurement = session.measure(PLAN)
    assert session.balance == after
    assert measurement.noise.pcost == cost
    assert measurement.noise.has_guarantee
    assert [(e.cost, e.plan_sha256) for e in session.ledger.entries] == [(cost, plan_hash(PLAN))]
    assert repr(session) == "<Session of 'visits': pcost 0.333334 of pcost 1 is spent, pcost 0.666666 is left>"
    assert "pcost 0.666666 is left" in session._repr_html_()
    assert session.balance_after(PLAN).spent == 2 * cost  # as it is told for whoever means to measure it again


def test_a_release_of_a_session_has_all_tables_of_its_measurement():
    session = Session(RECORDS, budget=pcost(1))
    release = session.release(PLAN)
    assert session.balance.spent == release.noise.pcost
    same = reconstruct(release.measurement)
    assert all(np.array_equal(release[query].estimate, same[query].estimate) for query in WORKLOAD)


@pytest.mark.parametrize("budget", [zcdp("0.5"), pcost(1), approx_dp(1, "1e-9")])
@pytest.mark.parametrize("fraction", [Fraction(1, 3), "0.25", 1])
def test_a_plan_for_a_fraction_of_the_rest_costs_no_more_and_hardly_less(budget, fraction):
    session = Session(RECORDS, budget=budget, neighbors="replace", records_per_person=2)
    session.measure(session.select(WORKLOAD, fraction="1/7"))
    remaining = session.balance.remaining
    plan = session.select(WORKLOAD, fraction=fraction)
    assert (plan.neighbors.notion, plan.neighbors.records_per_person) == ("replace", 2)
    assert plan.budget.notion == budget.notion
    cost = session.balance_after(plan).spent - session.balance.spent
    assert Fraction(fraction) * remaining * (1 - Fraction(1, 10**5)) <= cost <= Fraction(fraction) * remaining


def test_parts_of_the_rest_fill_the_budget_and_no_more():
    session = Session(RECORDS, budget=zcdp(1))
    for parts in (3, 2, 1):
        session.release(session.select(WORKLOAD, fraction=Fraction(1, parts)))
    assert 0 <= session.balance.remaining < Fraction(1, 10**5)


def test_a_plan_that_does_not_fit_is_refused_before_records_are_read_with_what_would_fit():
    session = forbidden(budget=pcost("1/4"))
    message = r"has pcost 0\.25 left of pcost 1/4; this costs 0\.333334; a plan for pcost 0\.25 would fit"
    for call in (session.measure, session.release, session.balance_after):
        with pytest.raises(rp.errors.BudgetError, match=message):
            call(PLAN)
    assert session.balance.spent == 0
    session.balance_after(session.select(WORKLOAD))  # what is offered does fit


@pytest.mark.slow
def test_another_process_goes_on_with_what_is_left(tmp_path):
    path = tmp_path / "visits.ledger"
    Session(RECORDS, ledger=path, budget=zcdp(1)).release(PLAN).measurement.save(tmp_path / "m")
    program = (
        "import sys, numpy as np, residualplanner as rp\n"
        "session = rp.Session(np.zeros((4, 2), dtype=int), ledger=sys.argv[1], budget=rp.zcdp(1))\n"
        "session.measure(rp.load_measurement(sys.argv[2]).plan, again=True)\n"
        "print(session)"
    )
    command = [sys.executable, "-W", "error", "-c", program, path, tmp_path / "m"]
    told = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    assert told == "<Session of 'visits': 0.333334-zCDP of 1-zCDP is spent, 0.666666-zCDP is left>\n"
    resumed = Session(RECORDS, ledger=path)
    assert resumed.balance.spent == 2 * load_measurement(tmp_path / "m").noise.pcost
    assert resumed.ledger.data_set == "visits"


def test_sessions_at_once_never_spend_more_than_there_is(tmp_path):
    path, results = tmp_path / "l", []
    Ledger.create(path, budget=pcost(1), data_set="d")

    def work():
        try:
            results.append(Session(RECORDS, ledger=path).measure(PLAN, again=True))
        except rp.errors.BudgetError as error:
            results.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(result, rp.errors.BudgetError) for result in results) == 5
    assert len(Ledger.open(path).entries) == 3


def begin(path):
    Session(RECORDS, ledger=path, budget=pcost(1)).measure(PLAN, again=True)


@pytest.mark.slow
def test_processes_that_begin_one_ledger_at_once_share_it(tmp_path):
    with multiprocessing.get_context("fork").Pool(3) as pool:
        pool.map(begin, [str(tmp_path / "l")] * 3)
    assert len(Ledger.open(tmp_path / "l").entries) == 3


def test_a_measuring_that_was_killed_while_it_was_charged_must_be_settled_first(tmp_path):
    path = tmp_path / "l"
    session = Session(RECORDS, ledger=path, budget=pcost(1))
    path.write_bytes(path.read_bytes() + b'{"cost":"1')
    for _ in range(2):
        with pytest.raises(rp.errors.FileFormatError, match="the last line is incomplete"):
            session.measure(PLAN)
    session.ledger.settle(Fraction(1, 3))
    session.measure(PLAN)
    assert Fraction(1, 3) < session.balance.remaining < Fraction(1, 3) + Fraction(1, 10**5)


@pytest.mark.parametrize("method", ["measure", "release"])
@pytest.mark.parametrize("charge", ["counted", "first"])
def test_records_that_fail_stay_out_of_sight_and_cost_nothing_unless_the_charge_comes_first(method, charge):
    session = Session(np.array([[0, 7]]), budget=pcost(1))
    with pytest.raises(rp.errors.DataError) as caught:
        getattr(session, method)(PLAN, charge=charge)
    assert session.balance.spent == (require_measurable(PLAN) if charge == "first" else 0)
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    mine = [frame for frame in frames if frame.f_globals["__name__"].startswith("residualplanner")]
    assert mine
    assert not any(isinstance(value, Session | np.ndarray) for frame in mine for value in frame.f_locals.values())


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({}, "a session needs a ledger that exists, or the budget of all releases"),
        ({"budget": rp.privacy.gdp(1)}, "does not hold for discrete noise"),
        ({"ledger": 7}, "ledger must be a Ledger or the path of one, got int"),
        ({"ledger": Ledger(pcost(1)), "budget": pcost(2)}, r"begun with budget pcost\(1\), which never changes"),
        ({"ledger": Ledger(pcost(1)), "neighbors": "replace"}, "begun with neighbors 'add-remove'"),
        ({"ledger": Ledger(pcost(1)), "records_per_person": 2}, "begun with records_per_person 1"),
        ({"ledger": Ledger(pcost(1), data_set="d"), "data_set": "e"}, "begun with data_set 'd'"),
        ({"budget": pcost(1), "records_per_person": 0}, "records_per_person must be an integer"),
    ],
)
def test_a_session_without_one_clear_budget_is_refused(options, word):
    with pytest.raises(rp.errors.BudgetError, match=word):
        forbidden(**options)


@pytest.mark.parametrize("same", [zcdp("0.50"), pcost(1)])
def test_a_budget_may_be_written_otherwise_than_when_its_ledger_was_begun(same):
    assert Session(RECORDS, ledger=Ledger(zcdp("0.5")), budget=same).balance.budget == zcdp("0.5")


def test_a_ledger_that_is_not_there_needs_a_budget(tmp_path):
    with pytest.raises(rp.errors.BudgetError, match=r"there is no ledger .*l yet; a session needs"):
        forbidden(ledger=tmp_path / "l")
    assert not (tmp_path / "l").exists()


def test_a_ledger_without_a_limit_counts_and_has_no_fractions():
    session = Session(RECORDS, ledger=Ledger.unlimited("invented"))
    assert session.measure(PLAN).noise.unlimited_because == "invented"
    with pytest.raises(rp.errors.BudgetError, match="there is no limit"):
        session.select(WORKLOAD)


def test_wrong_arguments_cost_nothing():
    session = forbidden(budget=pcost(1))
    with pytest.raises(rp.errors.ArgumentError, match="plan"):
        session.measure(WORKLOAD)
    with pytest.raises(rp.errors.ArgumentError, match="plan"):
        session.balance_after(WORKLOAD)
    with pytest.raises((rp.errors.ArgumentError, rp.errors.DeviceError), match="device"):
        session.release(PLAN, device="abacus")
    assert session.balance.spent == 0


def test_a_session_shows_no_record_and_is_not_copied():
    session = Session(np.array([[987_654, 1]]), budget=pcost(1))
    assert "987" not in repr(session) + session._repr_html_()
    with pytest.raises(TypeError, match="a session holds records"):
        pickle.dumps(session)


def test_a_session_whose_ledger_is_gone_can_still_be_shown(tmp_path):
    session = Session(RECORDS, ledger=tmp_path / "l", budget=pcost(1))
    (tmp_path / "l").unlink()
    assert repr(session) == "<Session of 'l': its ledger cannot be read>"


COUNTED = """
import warnings, numpy as np, residualplanner as rp
plan = rp.select(rp.marginals(rp.Domain({"a": 2, "b": 2}), up_to=1), budget=rp.zcdp(1))
records = np.zeros((3, 2), dtype=int)
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    rp.measure(plan, records, noise="gaussian", seed=1)
    rp.measure(plan, records, ledger=rp.Ledger.unlimited("invented"))
    assert not found
    CALL
    rp.measure(plan, records)
print([(each.category.__name__, each.lineno) for each in found])
"""


@pytest.mark.parametrize(
    "call",
    [
        "rp.measure(plan, records)",
        "rp.scale.measure_in_store(plan, records, 'store')",
        "from residualplanner.fits.rap import RapPlan, rap;"
        "rap(RapPlan(plan.workload, budget=rp.zcdp(9), rounds=1, neighbors='replace'), np.zeros((99, 2), int))",
    ],
)
@pytest.mark.slow
def test_measuring_without_a_ledger_is_told_once_at_the_line_of_the_call(tmp_path, call):
    program = COUNTED.replace("CALL", call)
    line = 1 + program[: program.index(call)].count("\n")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == f"[('NoLedgerWarning', {line})]\n", done.stderr


def test_without_a_ledger_nothing_is_measured_where_warnings_are_errors(monkeypatch):
    warn_without_ledger.cache_clear()
    monkeypatch.setattr("warnings.warn", raised)
    with pytest.raises(rp.errors.NoLedgerWarning, match="nothing keeps count"):
        measure(PLAN, Forbidden())


def test_the_traceback_of_a_session_that_is_refused_does_not_lead_to_the_records():
    with pytest.raises(rp.errors.BudgetError, match="was begun with budget") as caught:
        Session(RECORDS, ledger=Ledger(zcdp(1)), budget=zcdp(2))
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    mine = [frame for frame in frames if frame.f_globals["__name__"].startswith("residualplanner")]
    assert mine
    assert not any(value is RECORDS for frame in mine for value in frame.f_locals.values())
