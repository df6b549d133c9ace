"""The exact noise is never less than planned, hardly more, and costs exactly what is stated."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from forms_of_records import Unread
from inner_parts import costs, require_measurable
from inner_parts import precision as precision_part
from residualplanner import Domain, Ledger, marginals, measure, pcost, select, zcdp

floats = st.floats(min_value=5e-324, max_value=1.7976931348623157e308, allow_nan=False, allow_infinity=False)
normal = st.floats(min_value=2.0**-1021, max_value=2.0**1021)


@given(variances=st.lists(floats, min_size=1, max_size=40))
@settings(max_examples=300)
def test_no_precision_is_above_the_exact_reciprocal(variances):
    for variance, precision in zip(variances, precision_part.precision_of(np.array(variances)).tolist(), strict=True):
        assert 0 < precision < math.inf
        assert Fraction(precision) * Fraction(variance) <= 1


@given(variances=st.lists(normal, min_size=1, max_size=40))
@settings(max_examples=300)
def test_the_exact_variance_is_larger_by_less_than_two_to_the_minus_51(variances):
    for variance, precision in zip(variances, precision_part.precision_of(np.array(variances)).tolist(), strict=True):
        assert 1 / Fraction(precision) - Fraction(variance) < Fraction(variance) / 2**51


@pytest.mark.parametrize("exponent", range(-1022, 1022, 73))
def test_both_hold_next_to_powers_of_two(exponent):
    power = 2.0**exponent
    for variance in (power, math.nextafter(power, 0), math.nextafter(power, math.inf)):
        precision = Fraction(float(precision_part.precision_of(np.array([variance]))[0]))
        assert 0 <= 1 - precision * Fraction(variance) < Fraction(1, 2**51)


@given(pairs=st.lists(st.tuples(floats, st.integers(0, 3)), min_size=1, max_size=60))
@settings(max_examples=300)
def test_sums_within_groups_are_exact(pairs):
    groups = np.unique([group for _, group in pairs], return_inverse=True)[1]
    values = [value for value, _ in pairs]
    wholes, exponent = costs.exact_sums(np.array(values), groups)
    for number, whole in enumerate(wholes):
        expected = sum(Fraction(value) for value, group in zip(values, groups, strict=True) if group == number)
        assert whole * Fraction(2) ** exponent == expected


SIZES = (3, 2, 4)
TABLES = marginals(Domain(dict(zip("abc", SIZES, strict=True))), up_to=2)


@pytest.mark.parametrize("loss", ["sum", "max"])
@pytest.mark.parametrize("people", [1, 3])
def test_the_cost_charged_for_replaced_records_covers_and_nearly_meets_the_dense_one(loss, people):
    plan = select(TABLES, budget=zcdp("0.7"), loss=loss, neighbors="replace", records_per_person=people)
    ledger = Ledger(zcdp(1), neighbors="replace", records_per_person=people)
    measurement, precision = (
        measure(plan, np.zeros((2, 3), int), ledger=ledger),
        precision_part.precision_of(plan.noise_variances),
    )
    assert (
        measurement.noise.pcost
        == ledger.spent
        == precision_part.measured_cost(plan, precision)
        <= plan.budget.pcost_exact
    )
    explicit = sum(
        dense.replacement_costs(SIZES, members) * weight
        for members, weight in zip(plan.closure, precision.tolist(), strict=True)
    )
    assert float(explicit.max()) * people**2 == pytest.approx(float(ledger.spent), rel=1e-9)
    assert "replacing" in measurement.noise.guarantee


def test_several_records_of_a_person_cost_the_square_of_their_number():
    one, three = (select(TABLES, budget=zcdp(people**2), records_per_person=people) for people in (1, 3))
    precision = precision_part.precision_of(one.noise_variances)
    assert precision_part.measured_cost(three, precision) == 9 * precision_part.measured_cost(one, precision)
    assert "up to 3 records" in measure(three, np.zeros((1, 3), dtype=int)).noise.guarantee


@pytest.mark.parametrize(
    ("precision", "cost", "told"),
    [
        (2.0**60, Fraction(1), None),
        (1.0, 1 + Fraction(1, 10**30), "exact cost of the noise is more than the plan's budget"),
        (math.nextafter(2.0**60, math.inf), Fraction(1), "below 1e-9"),
    ],
)
def test_the_largest_cost_is_the_budget_and_the_smallest_noise_that_is_drawn_is_two_to_the_minus_60(
    precision, cost, told, monkeypatch
):
    monkeypatch.setattr(precision_part, "precision_of", lambda _noise: np.array([precision]))
    monkeypatch.setattr(precision_part, "measured_cost", lambda _plan, _precision: cost)
    plan = select(TABLES, budget=pcost(1))
    if told is None:
        assert precision_part.exact_price(plan)[1] == cost
    else:
        with pytest.raises(rp.errors.BudgetError, match=told):
            measure(plan, Unread())


REFUSAL = "for continuous noise does not hold for discrete noise; write "
of_continuous_noise = pytest.mark.parametrize(
    "budget", [rp.privacy.gdp("0.5"), rp.privacy.gdp(3), rp.approx_dp(3, 0.01, noise="gaussian")], ids=repr
)


@of_continuous_noise
def test_a_budget_for_continuous_noise_is_refused_before_the_charge_and_the_records(budget, tmp_path):
    select(TABLES, budget=budget).save(tmp_path / "p")
    plan, ledger = rp.load_plan(tmp_path / "p"), Ledger(pcost(100))
    assert plan.budget == budget
    for attempt in (
        lambda: measure(plan, Unread(), ledger=ledger),
        lambda: require_measurable(plan, ledger=ledger, again=False),
        lambda: require_measurable(plan, ledger=None, again=False),
        lambda: Ledger(budget),
        lambda: Ledger.create(tmp_path / "l", budget=budget, data_set="census"),
    ):
        with pytest.raises(rp.errors.BudgetError, match=REFUSAL):
            attempt()
    assert ledger.entries == ()
    assert not (tmp_path / "l").exists()


@of_continuous_noise
def test_continuous_noise_can_be_measured_for_research_and_is_charged_in_zcdp(budget):
    plan, ledger = select(TABLES, budget=budget), Ledger(pcost(100))
    measurement = measure(plan, np.zeros((2, 3), int), noise="gaussian", seed=1, ledger=ledger)
    assert measurement.noise.guarantee.startswith("none")
    (entry,) = ledger.entries
    statement = entry.label.removeprefix("7 tables, planned for ").removesuffix("-zCDP")
    assert 0 <= Fraction(statement) - budget.pcost_exact / 2 < budget.pcost_exact / 1000
