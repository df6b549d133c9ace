"""A budget beyond reason gets a caution wherever it is stated, and no other budget does."""

import json

import numpy as np
import pytest
from scipy.optimize import brentq

import residualplanner as rp
from command_line import outcome
from html_pages import read_page

CAUTION = "above 10, a budget hardly protects anyone"
SPEC = """\
budget = { zcdp = "%s" }

[domain]
sex = ["F", "M"]

[[workload]]
queries = [["sex"]]
"""


def least_epsilon(rho):
    """The smallest epsilon at delta 1e-9 that follows from the Renyi divergences of zCDP, over a grid of orders."""
    a = 1 + np.arange(1, 4000) / 200
    return (rho * a + (np.log(10**9) - np.log(a)) / (a - 1) + np.log(1 - 1 / a)).min()


RHO = brentq(lambda rho: least_epsilon(rho) - 10, 1, 1.3)
WITHIN, BEYOND = f"{RHO * 0.998:.6f}", f"{RHO * 1.002:.6f}"


def plan_for(budget, **options):
    return rp.select(rp.marginals(rp.Domain({"sex": ["F", "M"]}), order=1), budget=budget, **options)


@pytest.mark.cases(1)
@pytest.mark.parametrize(("rho", "is_beyond"), [(WITHIN, False), (BEYOND, True), ("1e6", True)])
def test_a_plan_and_every_page_on_it_say_that_its_budget_hardly_protects_anyone(rho, is_beyond, tmp_path):
    plan = plan_for(rp.zcdp(rho))
    release = rp.reconstruct(rp.measure(plan, np.zeros((3, 1), dtype=np.int64), ledger=rp.Ledger.unlimited("a test")))
    assert (CAUTION in repr(plan), CAUTION in plan._repr_html_()) == (is_beyond, is_beyond)
    for number, source in enumerate((plan, release)):
        rp.publish.write_report(source, tmp_path / f"{number}.html")
        assert (CAUTION in read_page(tmp_path / f"{number}.html").one("main").text) == is_beyond
    rounds = rp.fits.rap.RapPlan(plan.workload, budget=rp.zcdp(rho), neighbors="replace", rounds=1, choices=1)
    assert (CAUTION in repr(rounds)) == is_beyond


@pytest.mark.parametrize(
    ("budget", "spent", "cautions"),
    [
        (rp.zcdp(WITHIN), rp.zcdp(WITHIN).pcost_exact, 0),
        (rp.zcdp(BEYOND), rp.zcdp(BEYOND).pcost_exact, 2),
        (rp.zcdp(5), 1, 1),
        (None, 10, 1),
    ],
    ids=["of nothing", "of both", "of its budget", "of what is spent, without one"],
)
def test_a_ledger_says_so_of_its_budget_and_of_what_is_spent(budget, spent, cautions, tmp_path):
    reason = "" if budget else "a test"
    ledger = rp.Ledger.create(tmp_path / "l.ledger", budget=budget, reason=reason, data_set="people")
    ledger.charge(spent, "0" * 64, neighbors="add-remove")
    told = outcome("ledger", tmp_path / "l.ledger").stdout
    assert told.count(CAUTION) == cautions


def test_the_commands_that_plan_and_spend_say_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(SPEC % "0.5")
    (tmp_path / "people.csv").write_text("sex\nF\n")
    assert CAUTION not in outcome("plan", "spec.toml", "-o", "a.plan").stdout
    assert CAUTION in outcome("plan", "spec.toml", "-o", "b.plan", "--at-most", "0.0001").stdout
    budget = ["--budget", "zcdp=3", "--json"]
    told = map(json.loads, outcome("release", "spec.toml", "people.csv", "-o", "out", *budget).stdout.splitlines())
    assert [CAUTION in line["text"] for line in told if line["event"] == "caution"] == [True, True]
