"""A session charges whatever it measures, refuses what does not fit before it reads, and goes on where others ended."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import traceback
from fractions import Fraction

import numpy as np
import pytest

import residualplanner as rp
from residualplanner import Domain, Ledger, Session, approx_dp, marginals, measure, pcost, select, zcdp
from shell.specs import plan_hash, require_measurable, warn_without_ledger

WORKLOAD = marginals(Domain({"a": 2, "b": 3}), up_to=2)
RECORDS = np.array([[0, 0], [1, 2], [1, 1]])
PLAN = select(WORKLOAD, budget=pcost("1/3"))


class Forbidden:
    def __getattr__(self, name):
        raise AssertionError("records were looked at")


def forbidden(**options):
    return Session(Forbidden(), **options)


def test_what_is_measured_is_charged_exactly_and_told_before_and_after():
    session = Session(RECORDS, budget=pcost(1), data_set="visits")
    cost = require_measurable(PLAN, ledger=None, again=False)
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


def test_a_plan_that_does_not_fit_is_refused_before_records_are_read_with_what_would_fit():
    session = forbidden(budget=pcost("1/4"))
    message = r"has pcost 0\.25 left of pcost 1/4; this costs 0\.333334; a plan for pcost 0\.25 would fit"
    for call in (session.measure, session.release, session.balance_after):
        with pytest.raises(rp.errors.BudgetError, match=message):
            call(PLAN)
    assert session.balance.spent == 0
    session.balance_after(session.select(WORKLOAD))  # what is offered does fit


def begin(path):
    Session(RECORDS, ledger=path, budget=pcost(1)).measure(PLAN, again=True)


@pytest.mark.slow
def test_processes_that_begin_one_ledger_at_once_share_it(tmp_path):
    with multiprocessing.get_context("fork").Pool(3) as pool:
        pool.map(begin, [str(tmp_path / "l")] * 3)
    assert len(Ledger.open(tmp_path / "l").entries) == 3


def require_no_records(error):
    """Nothing on the way that an error has come leads to records."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    mine = [frame for frame in frames if frame.f_globals["__name__"].startswith("residualplanner")]
    assert mine
    values = [value for frame in mine for value in frame.f_locals.values()]
    assert not any(isinstance(value, np.ndarray) for value in values)
    assert not any(isinstance(value, Session) and hasattr(value, "_data") for value in values)


@pytest.mark.parametrize("method", ["measure", "release"])
@pytest.mark.parametrize("charge", ["counted", "first"])
def test_records_that_fail_stay_out_of_sight_and_cost_nothing_unless_the_charge_comes_first(method, charge):
    session = Session(np.array([[0, 7]]), budget=pcost(1))
    with pytest.raises(rp.errors.DataError) as caught:
        getattr(session, method)(PLAN, charge=charge)
    assert session.balance.spent == (require_measurable(PLAN, ledger=None, again=False) if charge == "first" else 0)
    require_no_records(caught.value)


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
        ({"ledger": "no/l"}, "there is no ledger no/l yet; a session needs"),
    ],
)
def test_a_session_without_one_clear_budget_is_refused_and_no_traceback_leads_to_records(options, word):
    with pytest.raises(rp.errors.BudgetError, match=word) as caught:
        Session(RECORDS, **options)
    require_no_records(caught.value)
    assert not os.path.exists("no")


@pytest.mark.parametrize("same", [zcdp("0.50"), pcost(1)])
def test_a_budget_may_be_written_otherwise_than_when_its_ledger_was_begun(same):
    assert Session(RECORDS, ledger=Ledger(zcdp("0.5")), budget=same).balance.budget == zcdp("0.5")


def test_a_session_shows_no_record_is_not_copied_and_is_shown_without_its_ledger(tmp_path):
    session = Session(np.array([[987_654, 1]]), ledger=tmp_path / "l", budget=pcost(1))
    assert "987" not in repr(session) + session._repr_html_()
    with pytest.raises(TypeError, match="a session holds records"):
        pickle.dumps(session)
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
        "from residualplanner.fits import rap;"
        "rap.rap(rap.RapPlan(plan.workload, budget=rp.zcdp(9), rounds=1, neighbors='replace'), np.zeros((99, 2), int))",
    ],
)
@pytest.mark.slow
def test_measuring_without_a_ledger_is_told_once_at_the_line_of_the_call(tmp_path, call):
    program = COUNTED.replace("CALL", call)
    line = 1 + program[: program.index(call)].count("\n")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == f"[('NoLedgerWarning', {line})]\n", done.stderr


@pytest.mark.filterwarnings("error:nothing keeps count")
def test_without_a_ledger_nothing_is_measured_where_warnings_are_errors():
    warn_without_ledger.cache_clear()
    with pytest.raises(rp.errors.NoLedgerWarning, match="nothing keeps count"):
        measure(PLAN, Forbidden())
