"""A budget is an exact limit, its promises are on the safe side, and its file says the same."""

import copy
import json
import math
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import approx_dp, pcost, zcdp

checked = settings(derandomize=True, deadline=None, max_examples=200)
searched = settings(derandomize=True, deadline=None, max_examples=25)
Budget, gdp = rp.privacy.Budget, rp.privacy.gdp
positive = st.floats(5e-324, 1e150)
BUDGETS = [
    zcdp(0.5),
    zcdp(0.3),
    gdp(Fraction(1, 3)),
    pcost(Decimal("0.7")),
    pcost(Fraction(10**60 + 1, 10**60)),
    approx_dp(1, 1e-6),
    approx_dp("0.5", 1e-9, noise="gaussian"),
]


@checked
@given(value=positive, kind=st.sampled_from([np.float16, np.float32, np.float64, np.longdouble, float]))
def test_a_float_of_any_precision_never_buys_more_than_it_is_or_looks_like_and_survives_its_file(value, kind):
    with np.errstate(over="ignore"):
        number = kind(value)
    assume(0 < float(number) < 1e150)
    for reading in (Fraction(*number.as_integer_ratio()), Fraction(str(number))):
        assert pcost(number).pcost_exact <= reading
        assert zcdp(number).pcost_exact <= 2 * reading
        assert gdp(number).pcost_exact <= reading**2
    for make in (pcost, zcdp, gdp):
        assert Budget.from_json(make(number).to_json()) == make(number)


@checked
@given(value=positive)
def test_floats_are_the_smallest_that_are_not_below_the_exact_numbers(value):
    budget = zcdp(Fraction(value) * Fraction(10**20 + 7, 10**20))
    for stated, exact, power in [
        (budget.pcost, budget.pcost_exact, 1),
        (budget.rho, budget.pcost_exact / 2, 1),
        (budget.mu, budget.pcost_exact, 2),
    ]:
        assert Fraction(stated) ** power >= exact > Fraction(math.nextafter(stated, 0.0)) ** power
    if 1e-100 < value < 1e100:
        assert gdp(Fraction(value)).mu == value


@searched
@given(epsilon=st.floats(1e-4, 200), power=st.floats(-300, -0.31))
def test_a_budget_from_epsilon_and_delta_gives_no_more_than_epsilon_and_hardly_less(epsilon, power):
    delta = 10.0**power
    budgets = {noise: approx_dp(epsilon, delta, noise=noise) for noise in ("discrete", "gaussian")}
    for noise, budget in budgets.items():
        assert epsilon * (1 - 1e-9) <= budget.epsilon(delta, noise=noise) <= epsilon
    assert budgets["gaussian"].delta(epsilon, noise="gaussian") <= delta
    assert budgets["gaussian"].pcost_exact > budgets["discrete"].pcost_exact


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_a_budget_survives_its_file(budget):
    again = Budget.from_json(json.loads(json.dumps(budget.to_json())))
    assert again == budget
    assert hash(again) == hash(budget)
    assert repr(again) == repr(budget)
    assert copy.deepcopy(budget) == budget
    assert sum(budget == other for other in BUDGETS) == 1
    with pytest.raises(FrozenInstanceError):
        budget.pcost_exact = Fraction(9)


@pytest.mark.parametrize(
    ("budget", "shown", "statement"),
    [
        (zcdp(0.5), "zcdp(0.5)", "0.5-zCDP"),
        (gdp("1/3"), "gdp(1/3)", "1/3-GDP for continuous noise"),
        (pcost(np.float64(0.1)), "pcost(0.1)", "pcost 0.1"),
        (approx_dp(1, 1e-6), "approx_dp(1, 1e-06)", "(1, 1e-06)-DP"),
        (
            approx_dp(2.0, Decimal("1e-9"), noise="gaussian"),
            "approx_dp(2.0, 1E-9, noise='gaussian')",
            "(2.0, 1E-9)-DP for continuous noise",
        ),
    ],
)
def test_a_budget_shows_what_was_given(budget, shown, statement):
    assert repr(budget) == shown
    assert budget.statement == statement


@pytest.mark.parametrize(
    ("make", "name"), [(zcdp, "rho"), (gdp, "mu"), (pcost, "pcost"), (lambda bad: approx_dp(bad, 1e-6), "epsilon")]
)
@pytest.mark.parametrize(
    "bad",
    [
        *(0, 0.0, -0.0, -1, math.nan, math.inf, -math.inf, True, np.True_, None, "nan", "", b"1", 1j, [1]),
        *(Decimal("NaN"), np.complex128(1), np.timedelta64(5, "D"), np.float32("inf"), np.longdouble("nan")),
    ],
)
def test_what_is_no_positive_number_is_refused(make, name, bad):
    with pytest.raises(rp.errors.BudgetError, match=f"{name} must be (positive and finite|a number)"):
        make(bad)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        *(
            (lambda bad=bad: approx_dp(1, bad), "delta must lie strictly between 0 and 1")
            for bad in (1, 1.5, np.float64(1))
        ),
        *((lambda bad=bad: zcdp(1).epsilon(bad), "delta must lie strictly between 0 and 1") for bad in (1.0, "2")),
        *(
            (ask, "noise must be 'discrete' or 'gaussian'")
            for bad in ("laplace", "", None, True, ["gaussian"])
            for ask in (
                lambda bad=bad: approx_dp(1, 1e-6, noise=bad),
                lambda bad=bad: zcdp(1).epsilon(1e-6, noise=bad),
                lambda bad=bad: zcdp(1).delta(1, noise=bad),
            )
        ),
        *(
            (lambda bad=bad: zcdp(bad), "too many digits")
            for bad in (Fraction(1, 2**9000), "1e-999999999", Decimal("1e-99999"), "0." + "3" * 6000)
        ),
        (lambda: zcdp(1).delta("0e999999999"), "too many digits"),
        (lambda: zcdp(1e308), r"positive and at most 1\.79e308"),
        (lambda: gdp(1e200), r"positive and at most 1\.79e308"),
        (lambda: pcost("1e400"), r"positive and at most 1\.79e308"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(ask, message):
    with pytest.raises(rp.errors.BudgetError, match=message):
        ask()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        *(
            ({"pcost": cost}, "not what its statement")
            for cost in ("3/1", "1000000000000000001/1000000000000000000", "1/2")
        ),
        *((change, "not what its statement") for change in ({"given": ["0.4"]}, {"notion": "gdp"})),
        *(
            ({"pcost": cost}, "positive rational")
            for cost in (1.0, "1", "-1/1", "0/1", "1/0", "1/1\n", "١/1", "1/" + "1" * 4000)
        ),
        ({"pcost": "1/" + "1" * 2900}, "too many digits"),
        ({"notion": None}, "notion must be a string"),
        ({"notion": "renyi"}, "notion must be one of"),
        ({"given": "0.5"}, "list of strings"),
        *(({"given": given}, "given by 1 numbers") for given in ([0.5], [])),
        ({"given": ["nan"]}, "positive and finite"),
        ({"given": ["1e-999999999"]}, "too many digits"),
        *(({"noise": noise}, "noise belongs to") for noise in ("gaussian", ["gaussian"])),
        ({"extra": 1}, "no others"),
    ],
)
def test_an_altered_file_is_refused(change, match):
    with pytest.raises(rp.errors.FileFormatError, match=match):
        Budget.from_json(zcdp("0.5").to_json() | change)


def test_what_is_no_object_or_lacks_a_key_is_refused():
    whole = zcdp("0.5").to_json()
    less = [{key: value for key, value in whole.items() if key != missing} for missing in whole]
    for bad in (None, [], "zcdp(0.5)", 1, {}, *less):
        with pytest.raises(rp.errors.FileFormatError, match="must be an object with the keys"):
            Budget.from_json(bad)


def test_an_epsilon_of_zero_may_be_written_as_text_too():
    assert {zcdp(1).delta(zero) for zero in (0.0, "0", "0.0", "0/1", Decimal(0), np.float64(0))} == {zcdp(1).delta(0)}
