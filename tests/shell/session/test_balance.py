"""What is spent and left is exact, and its words are those of the budget, never on the side that looks safe."""

import math
import re
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import residualplanner as rp
from residualplanner import Ledger, approx_dp, pcost, zcdp

Balance = type(Ledger(zcdp(1)).balance)
costs = st.fractions(min_value=Fraction(1, 10**8), max_value=10).filter(bool)
EXACT = {"pcost": lambda number: number, "zcdp": lambda number: 2 * number, "gdp": lambda number: number**2}


def epsilon_of_zcdp(rho, delta):
    """The least epsilon over all orders alpha of Renyi divergence, by Canonne, Kamath and Steinke (2020)."""

    def at(log_excess):
        alpha = 1 + math.exp(log_excess)
        return alpha * rho - math.log(alpha * delta) / (alpha - 1) + math.log(1 - 1 / alpha)

    return minimize_scalar(at, bounds=(-5, 20), method="bounded", options={"xatol": 1e-10}).fun


def number_in(text):
    return Fraction(re.search(r"[0-9][0-9.E+-]*[0-9]|[0-9]", text)[0])


@given(cost=costs, like=st.sampled_from([pcost(3), zcdp(2), rp.privacy.gdp(1)]))
def test_numbers_of_notions_with_one_are_on_the_safe_side_and_close(cost, like):
    cost_of = EXACT[like.notion]
    low, high = (cost_of(number_in(text(cost, like))) for text in (rp.privacy.cost_text_down, rp.privacy.cost_text_up))
    assert cost * (1 - Fraction(3, 10**5)) <= low <= cost <= high <= cost * (1 + Fraction(3, 10**5))
    exact = rp.privacy.budget_within(cost, like).pcost_exact
    assert cost * (1 - Fraction(1, 10**10)) <= exact <= cost
    assert exact == cost_of(Fraction(rp.privacy.budget_within(cost, like).given[0]))


@pytest.mark.parametrize("cost", [Fraction(1, 10**6), Fraction(1, 7), Fraction(5)])
def test_an_epsilon_that_is_left_is_below_that_of_the_cost_and_one_that_is_spent_above(cost):
    like = approx_dp(1, "1e-9")
    exact = Fraction(epsilon_of_zcdp(float(cost / 2), 1e-9))
    low, high = (number_in(text(cost, like)) for text in (rp.privacy.cost_text_down, rp.privacy.cost_text_up))
    assert exact * (1 - Fraction(1, 10**4)) <= low <= exact <= high <= exact * (1 + Fraction(1, 10**4))
    found = rp.privacy.budget_within(cost, like)
    assert cost * (1 - Fraction(1, 10**10)) <= found.pcost_exact <= cost
    assert (found.notion, found.given[1]) == ("approx_dp", "1e-9")


@pytest.mark.parametrize("excess", [1 + 1e-9, 1.5])
def test_an_epsilon_that_its_curve_overstates_is_made_smaller_until_it_fits(monkeypatch, excess):
    curve = SimpleNamespace(epsilon=lambda cost, delta: rp.privacy.ZCDP.epsilon(cost, delta) * excess)
    monkeypatch.setattr("residualplanner.method.privacy.claim.law_of", lambda _: SimpleNamespace(curve=curve))
    found = rp.privacy.budget_within(Fraction(1, 7), approx_dp(1, "1e-9")).pcost_exact
    assert Fraction(1, 28) < found <= Fraction(1, 7)


def test_a_cost_too_small_for_any_epsilon_is_told_in_pcost():
    like = approx_dp(1, "1e-9")
    assert rp.privacy.cost_text_down(Fraction(1, 10**22), like) == "(0, 1e-9)-DP"
    with pytest.raises(
        rp.errors.BudgetError, match=r'too little to be stated as \(epsilon, 1e-9\)-DP.*budget=pcost\("1E-22"\)'
    ):
        rp.privacy.budget_within(Fraction(1, 10**22), like)


@given(spent=st.lists(st.fractions(min_value=0, max_value=Fraction(1, 10)), max_size=6), part=st.fractions(0, 1))
def test_fractions_of_what_is_left_never_add_up_to_more(spent, part):
    balance = Balance(zcdp("0.5"), Fraction(0))
    for cost in spent:
        balance = balance.after(cost)
    assert balance.spent + balance.remaining == 1
    if part:
        assert part * balance.remaining * (1 - Fraction(1, 10**10)) <= balance.budget_for(part).pcost_exact
        assert balance.budget_for(part).pcost_exact <= part * balance.remaining


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Balance(zcdp(1), Fraction(0)).budget_for("3/2"), "fraction must be at most 1"),
        (lambda: Balance(zcdp(1), Fraction(0)).budget_for(0), "fraction must be positive"),
        (lambda: Balance(zcdp(1), Fraction(0)).budget_for(float("nan")), "fraction must be positive"),
        (lambda: Balance(zcdp(1), Fraction(2)).budget_for(), "nothing is left of 1-zCDP"),
        (lambda: Balance(zcdp(1), 2 - Fraction(1, 10**7)).budget_for(), "nothing is left of 1-zCDP"),
        (lambda: Balance(None, Fraction(2)).budget_for(), "there is no limit"),
        (lambda: Balance(zcdp(1), Fraction(1)).after(Fraction(3, 2)), "0.75-zCDP is more than what is left, 0.5-zCDP"),
    ],
)
def test_what_cannot_be_had_is_refused(make, word):
    with pytest.raises(rp.errors.BudgetError, match=word):
        make()


@pytest.mark.parametrize(
    ("budget", "spent", "text"),
    [
        (zcdp(1), Fraction(0), "0-zCDP of 1-zCDP is spent, 1-zCDP is left"),
        (pcost(1), Fraction(1, 3), "pcost 0.333334 of pcost 1 is spent, pcost 0.666666 is left"),
        (None, Fraction(1), "0.5-zCDP is spent, of no limit"),
        (zcdp(1), Fraction(2), "1-zCDP of 1-zCDP is spent, 0-zCDP is left"),
        (zcdp(1), 2 - Fraction(1, 10**10), "1-zCDP of 1-zCDP is spent, 0-zCDP is left"),  # a trace of rounding
        (zcdp(1), 2 - Fraction(1, 10**5), "0.999995-zCDP of 1-zCDP is spent, 0.000005-zCDP is left"),
    ],
)
def test_a_balance_is_told_in_the_words_of_its_budget(budget, spent, text):
    assert repr(Balance(budget, spent)) == f"<Balance: {text}>"


def test_what_would_fit_is_a_budget_that_can_be_written():
    ledger = Ledger(approx_dp(19, "0.01"))
    ledger.charge(ledger.remaining - Fraction(1, 10**4), "0" * 64, neighbors="add-remove")
    assert ledger.balance.remaining_text == "(0, 0.01)-DP"  # which no budget states: its epsilon is above 0
    with pytest.raises(rp.errors.BudgetError, match=r"a plan for pcost 0\.0001 would fit"):
        ledger.charge(1, "0" * 64, neighbors="add-remove")


def test_a_ledger_says_what_would_fit_when_it_refuses():
    ledger = Ledger(approx_dp(1, "1e-9"))
    left = ledger.balance.remaining_text
    with pytest.raises(rp.errors.BudgetError, match=re.escape(f"this costs 1; a plan for {left} would fit")):
        ledger.charge(1, "0" * 64, neighbors="add-remove")
    ledger.charge(ledger.remaining - Fraction(1, 10**8), "0" * 64, neighbors="add-remove")
    with pytest.raises(rp.errors.BudgetError, match=r"has next to nothing left of .*; this costs pcost 1$"):
        ledger.charge(1, "0" * 64, neighbors="add-remove")
    with pytest.raises(rp.errors.BudgetError, match=r"has next to nothing left of .*; this costs pcost 1E-7$"):
        ledger.charge(Fraction(1, 10**7), "0" * 64, neighbors="add-remove")
    ledger.charge(ledger.remaining, "0" * 64, neighbors="add-remove")
    with pytest.raises(rp.errors.BudgetError, match=r"has nothing left of .*; this costs pcost 1$"):
        ledger.charge(1, "0" * 64, neighbors="add-remove")
