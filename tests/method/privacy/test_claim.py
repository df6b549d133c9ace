"""Every claim on discrete noise is true of the discrete Gaussian of any scale, to 50 digits; others are refused."""

import math
import re
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from exact_privacy import exact_delta, exact_divergence
from residualplanner import approx_dp, pcost, zcdp

RHOS = ["0.01", "0.1", "0.5", "1", "2", "4.5", "20"]
DELTAS = ["0.3", "1e-2", "1e-6", "1e-10"]
STEPS = [1, 2, 5]
ADDING, ONE, gdp = "adding or removing one record", rp.privacy.Neighbors(), rp.privacy.gdp
PrivacyClaim, claim_of_budget = rp.privacy.PrivacyClaim, rp.privacy.claim_of_budget
CONTINUOUS = [
    gdp("3"),
    gdp(0.3),
    gdp("1/3"),
    approx_dp(3, 0.01, noise="gaussian"),
    approx_dp("1", "1e-9", noise="gaussian"),
]


def told(text):
    """The pairs of epsilon and delta that a text names."""
    pairs = re.findall(r"epsilon ([\d.e+-]+) at delta ([\d.e/-]*\d)|e\^([\d.e+-]+), plus ([\d.e/-]*\d)", text)
    assert pairs
    return [tuple(Fraction(number) for number in pair if number) for pair in pairs]


def test_the_oracle_is_right_where_it_can_be_summed_by_hand():
    with mpmath.workdps(50):
        weights = {i: mpmath.exp(-mpmath.mpf(i * i) / 2) for i in range(-30, 31)}
        total = mpmath.fsum(weights.values())
        by_hand = mpmath.fsum(max(0, weights[i] - mpmath.e * weights.get(i - 1, 0)) for i in weights) / total
    assert mpmath.almosteq(exact_delta(1, 1), by_hand, 1e-45)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("rho", RHOS)
def test_no_claim_on_discrete_noise_is_more_than_is_true(rho, step):
    cost = 2 * Fraction(rho)
    claim = PrivacyClaim(cost, ADDING)
    assert [holding.notion for holding in claim.holdings] == ["rho-zCDP"]
    for delta, epsilon in claim.epsilons(DELTAS):
        assert epsilon == claim.epsilon(delta)
        assert exact_delta(cost, Fraction(epsilon), step) <= Fraction(delta)
    for alpha in (1.01, 2, 10):
        assert exact_divergence(cost, alpha, step) <= alpha * claim.facts["rho"] * (1 + 1e-14)
    for text in (claim.summary, claim.promise):
        (pair,) = told(text)
        assert pair[0] >= claim.facts["epsilon"]
        assert pair[1] == Fraction(claim.facts["delta"])
        assert exact_delta(cost, pair[0], step) <= pair[1]


@pytest.mark.parametrize("rho", ["0.03", "0.6", "1.2", "0.011", "9.99"])
def test_a_rho_of_few_digits_is_told_as_it_was_stated(rho):
    assert claim_of_budget(zcdp(rho), ONE).summary.startswith(f"{rho}-zCDP: rho {rho}, ")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-9"), ("1", "1e-6"), ("3", "0.01"), ("8", "1e-3")])
def test_a_budget_of_approximate_privacy_holds_for_discrete_noise_of_its_cost(epsilon, delta, step):
    budget = approx_dp(epsilon, delta)
    assert exact_delta(budget.pcost_exact, epsilon, step) <= Fraction(delta)
    claim = claim_of_budget(budget, ONE)
    assert (claim.noise, claim.statement, claim.delta) == ("discrete", budget.statement, delta)
    assert claim.facts["epsilon"] <= float(epsilon)


def test_what_is_stated_for_continuous_noise_is_not_true_of_discrete_noise():
    budget = approx_dp(3, 0.01, noise="gaussian")
    assert float(exact_delta(budget.pcost_exact, 3)) == pytest.approx(0.013085, abs=5e-7)
    for epsilon, factor in ((3, 1.3), ("12.8", 2.5)):
        allowed = gdp(3).delta(epsilon, noise="gaussian")
        assert exact_delta(9, epsilon) > factor * allowed


def test_budgets_know_for_which_noise_they_hold():
    for budget in (zcdp(1), pcost(1), approx_dp(1, 1e-6)):
        assert budget.proved_for == ("discrete", "gaussian")
        assert rp.privacy.require_discrete(budget) is None
        assert claim_of_budget(budget, ONE).statement == budget.statement
    for budget in CONTINUOUS:
        assert budget.proved_for == ("gaussian",)
        assert budget.statement.endswith(" for continuous noise")
        assert rp.privacy.Budget.from_json(budget.to_json()) == budget


@pytest.mark.parametrize("budget", CONTINUOUS, ids=repr)
def test_a_budget_of_continuous_noise_is_refused_with_budgets_that_hold(budget):
    with pytest.raises(
        rp.errors.BudgetError, match="for continuous noise does not hold for discrete noise; write "
    ) as refused:
        rp.privacy.require_discrete(budget)
    text = str(refused.value)
    written = [
        eval(code, {"zcdp": zcdp, "approx_dp": approx_dp}) for code in re.findall(r"\w+\([^()]*\)(?= for)", text)
    ]
    assert [option.notion for option in written] == (["approx_dp"] if budget.given[1:] else []) + ["zcdp"]
    for option in written:
        rp.privacy.require_discrete(option)
        assert option.pcost_exact <= budget.pcost_exact
    assert written[-1].pcost_exact > budget.pcost_exact * (1 - Fraction(1, 10**11))
    (pair,) = told(text)
    assert exact_delta(written[-1].pcost_exact, pair[0]) <= pair[1]
    if budget.given[1:]:
        assert tuple(map(Fraction, written[0].given)) == tuple(map(Fraction, budget.given))
        assert exact_delta(written[0].pcost_exact, written[0].given[0]) <= Fraction(written[0].given[1])


@pytest.mark.parametrize("budget", CONTINUOUS, ids=repr)
def test_for_discrete_noise_such_a_budget_is_told_in_zcdp(budget):
    claim = claim_of_budget(budget, rp.privacy.Neighbors("replace"), noise="discrete")
    assert claim.statement == claim.summary.split(":")[0]
    assert 1 <= Fraction(claim.statement.removesuffix("-zCDP")) / claim.rho < Fraction(1001, 1000)
    assert set(claim.facts) == {"statement", "pcost", "rho", "epsilon", "delta"}
    for text in (claim.summary, claim.promise, claim.planned, claim.released, claim.curve):
        assert not re.search(r"\bmu\b|GDP|continuous", text)
    for delta, epsilon in claim.epsilons(DELTAS):
        assert exact_delta(claim.pcost, Fraction(epsilon)) <= Fraction(delta)


def test_of_continuous_noise_more_may_be_said():
    claim = claim_of_budget(gdp("2"), ONE)
    assert claim.noise == "gaussian"
    assert claim.summary.startswith("2-GDP for continuous noise: rho 2, mu 2, epsilon ")
    assert (
        claim.epsilon("1e-6")
        == gdp(2).epsilon("1e-6", noise="gaussian")
        < claim_of_budget(zcdp(2), ONE).epsilon("1e-6")
    )
    assert "refused where discrete noise is measured" in claim.planned
    assert claim.promise.startswith("with continuous noise, adding or removing one record changes ")
    assert claim.released.startswith("continuous noise in floating point is a simulation")


def test_a_stated_delta_is_told_once_and_in_its_order():
    claim = PrivacyClaim(Fraction(1), ADDING, stated=approx_dp("7", "1/1000000"))
    assert [delta for delta, _ in claim.epsilons(["1e-5", "1e-6", "1e-8"])] == ["1e-5", "1/1000000", "1e-8"]
    assert claim.delta == "1/1000000"


def test_a_cost_of_any_length_can_be_told():
    cost = 1 + Fraction(1, 3**20_000)
    claim = PrivacyClaim(cost, ADDING)
    rho, above = re.search(r"rho = (0x\w+/0x\w+) \(<= ([\d.]+)\)", claim.released).groups()
    numerator, denominator = (int(text, 16) for text in rho.split("/"))
    assert Fraction(numerator, denominator) == cost / 2 <= Fraction(above)
    assert claim.epsilon("1e-6") >= zcdp("0.5").epsilon("1e-6")
    assert claim.facts["rho"] > 0.5
    assert "rho 0.5001" in claim.summary


@pytest.mark.parametrize("noise", ["laplace", "", None, 1])
def test_noise_of_another_kind_has_no_claim(noise):
    with pytest.raises(rp.errors.BudgetError, match="noise must be 'discrete' or 'gaussian'"):
        PrivacyClaim(Fraction(1), ADDING, noise).epsilon("1e-6")


@given(notion=st.sampled_from(["add-remove", "replace"]), records=st.integers(1, 10**6))
def test_k_records_of_a_person_cost_k_squared_times_one_and_are_named(notion, records):
    neighbors = rp.privacy.Neighbors(notion, records)
    assert neighbors.cost_factor == records * records
    change = {"add-remove": "adding or removing", "replace": "replacing"}[notion]
    assert neighbors.words == f"{change} " + ("one record" if records == 1 else f"up to {records} records")


NOTIONS = ["replace-one", "Replace", "", "add", None, 1, ("replace",)]
NUMBERS = [0, -1, 10**6 + 1, 1.0, 2.5, math.nan, True, "2", None, np.float64(2)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        *(((notion,), r"neighbors must be one of \['add-remove', 'replace'\], got") for notion in NOTIONS),
        *((("replace", records), "records_per_person must be an integer from 1 to 1,000,") for records in NUMBERS),
    ],
)
def test_neighbors_that_cannot_be_are_refused(given, message):
    with pytest.raises(rp.errors.BudgetError, match=message):
        rp.privacy.Neighbors(*given)
