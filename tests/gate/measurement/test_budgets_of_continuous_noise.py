"""A budget that holds for continuous noise alone is refused where discrete noise is drawn, before anything is spent."""

from fractions import Fraction

import numpy as np
import pytest

import residualplanner as rp
from forms_of_records import Unread
from residualplanner import (
    Domain,
    Ledger,
    approx_dp,
    load_plan,
    marginals,
    measure,
    pcost,
    select,
)
from residualplanner.gate.measurement.measure import require_measurable

WORKLOAD = marginals(Domain({"a": 2, "b": 3}), up_to=2)
RECORDS = np.array([[0, 0], [1, 2]])
BUDGETS = [rp.privacy.gdp("0.5"), rp.privacy.gdp(3), approx_dp(3, 0.01, noise="gaussian")]
REFUSAL = "for continuous noise does not hold for discrete noise; write "

pytestmark = pytest.mark.parametrize("budget", BUDGETS, ids=repr)


def test_measuring_discrete_noise_refuses_it_before_the_charge_and_the_records(budget, tmp_path):
    select(WORKLOAD, budget=budget).save(tmp_path / "p")
    plan, ledger = load_plan(tmp_path / "p"), Ledger(pcost(100))
    assert plan.budget == budget
    for attempt in (
        lambda: measure(plan, Unread(), ledger=ledger),
        lambda: require_measurable(plan, ledger=ledger),
        lambda: require_measurable(plan),
    ):
        with pytest.raises(rp.errors.BudgetError, match=REFUSAL):
            attempt()
    assert ledger.entries == ()


def test_continuous_noise_can_be_measured_for_research_and_is_charged_in_zcdp(budget):
    plan, ledger = select(WORKLOAD, budget=budget), Ledger(pcost(100))
    measurement = measure(plan, RECORDS, noise="gaussian", seed=1, ledger=ledger)
    assert measurement.noise.guarantee.startswith("none")
    (entry,) = ledger.entries
    statement = entry.label.removeprefix("4 tables, planned for ").removesuffix("-zCDP")
    assert 0 <= Fraction(statement) - budget.pcost_exact / 2 < budget.pcost_exact / 1000


def test_a_ledger_cannot_be_begun_with_it(budget, tmp_path):
    for begin in (lambda: Ledger(budget), lambda: Ledger.create(tmp_path / "l", budget=budget, data_set="census")):
        with pytest.raises(rp.errors.BudgetError, match=REFUSAL):
            begin()
    assert not (tmp_path / "l").exists()
