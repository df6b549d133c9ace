"""Several measurements of the same records are one: averages that no linear unbiased estimate betters, costs added."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from inner_parts import averages
from made_releases import answers_of, any_release
from random_plans import base_mechanisms, parts_of, plan_by_hand, planned, plans, plans_by_set, query_rows
from residualplanner import Release

DOMAIN = rp.Domain({"sex": ["F", "M"], "age": 5, "region": 3})
CODES = np.random.default_rng(0).integers(0, DOMAIN.sizes, size=(200, 3))
ONE, TWO = (
    rp.select(rp.marginals(DOMAIN, order=order), budget=rp.zcdp(rho)) for order, rho in ((1, "0.5"), (2, "0.25"))
)


@st.composite
def pairs(draw):
    """Two plans with the same bases: of parts of a workload where bases do not vary, with noise of their own."""
    plan = draw(planned(smallest=2, most_cells=36) | plans(smallest=2, most_cells=36, most_queries=3) | plans_by_set())
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    if plan.strategy.varying.any():
        return plan, plan_by_hand(
            plan.workload, plan.strategy, plan.noise_variances * rng.lognormal(size=len(plan.closure))
        )
    parts = []
    for _ in range(2):
        numbers = draw(st.sets(st.integers(0, len(plan.workload) - 1), min_size=1))
        workload = rp.Workload(plan.domain, [query for i, query in enumerate(plan.workload) if i in numbers])
        strategy = rp.strategies.constant_strategy(workload.closure, plan.strategy.of_attributes)
        parts.append(plan_by_hand(workload, strategy, rng.lognormal(size=len(workload.closure))))
    return tuple(parts)


@given(two=pairs())
@settings(max_examples=50)
def test_tables_are_those_of_least_squares_on_all_answers(two):
    releases = [any_release(plan, seed) for seed, plan in enumerate(two)]
    answers = np.concatenate([flat for release in releases for flat in answers_of(release).values()])
    rows, covariance = dense.stacked(part for plan in two for part in base_mechanisms(plan))
    combined = averages.combine([release.measurement for release in releases])
    release = Release(combined)
    for query in parts_of(combined.plan.workload):
        wanted = query_rows(combined.plan, query)
        expected = dense.least_squares(rows, covariance, wanted) @ answers
        np.testing.assert_allclose(release[query].estimate.ravel(), expected, rtol=1e-6, atol=1e-6)
        expected = dense.least_squares_covariance(rows, covariance, wanted)
        np.testing.assert_allclose(combined.plan.covariance(query), expected, rtol=1e-6, atol=1e-8)


@given(two=pairs())
@settings(max_examples=30)
def test_the_cost_is_no_more_than_the_costs_added_up(two):
    plan = averages.combined_plan(two)
    assert plan.pcost <= sum(each.pcost for each in two) * (1 + 1e-12)
    if not any(each.strategy.varying.any() for each in two):
        assert plan.pcost == pytest.approx(sum(each.pcost for each in two), rel=1e-12)


def test_the_sentence_covers_all_measurements_at_their_exact_cost_unless_one_is_for_research():
    first, second = rp.measure(ONE, CODES), rp.measure(TWO, CODES)
    noise = averages.combine([first, second]).noise
    assert noise.pcost == first.noise.pcost + second.noise.pcost <= Fraction(3, 2)
    assert noise.has_guarantee
    assert "(<= 0.75)" in noise.sentence
    assert "2 measurements" in noise.sentence
    noise = averages.combine([first, rp.measure(TWO, CODES, noise="gaussian", seed=3)]).noise
    assert (noise.has_guarantee, noise.is_private, noise.pcost) == (False, False, None)
    assert noise.guarantee.startswith("none: whoever knows the seed")
    assert noise.randomness == "operating system, seeded, not private"


@pytest.mark.parametrize(
    ("other", "error", "words"),
    [
        (
            rp.select(rp.marginals(rp.Domain({"sex": 2}), order=1), budget=rp.pcost(1)),
            rp.errors.WorkloadError,
            "one domain",
        ),
        (rp.select(TWO.workload, budget=rp.pcost(1), neighbors="replace"), rp.errors.BudgetError, "the same change"),
        (
            rp.select(rp.Workload(DOMAIN, [{"age": rp.Prefix()}]), budget=rp.pcost(1)),
            rp.errors.WorkloadError,
            "'age' is measured in different bases; .* with bases= of the first",
        ),
    ],
)
def test_plans_that_do_not_fit_are_refused(other, error, words):
    with pytest.raises(error, match=words):
        averages.combined_plan([ONE, other])


@pytest.mark.parametrize(
    ("noise", "words"),
    [(1.7e308, "the noise of .* is too large"), (2.97e-308, "cost more together"), (1e-300, "at most 1.79e308")],
)
def test_noise_beyond_all_numbers_is_refused_without_a_warning(noise, words):
    plan = plan_by_hand(ONE.workload, ONE.strategy, np.full(len(ONE.closure), noise), budget=rp.pcost("1.5e308"))
    with pytest.raises(rp.errors.BudgetError, match=words):
        averages.combined_plan([plan, plan])


@pytest.mark.parametrize("measurements", [[], [rp.measure(ONE, CODES)], [ONE, TWO]])
def test_fewer_than_two_measurements_and_one_that_is_there_twice_are_refused(measurements):
    with pytest.raises(rp.errors.ArgumentError, match="two or more measurements"):
        averages.combine(measurements)
    if len(measurements) == 1:
        with pytest.raises(rp.errors.BudgetError, match="there twice"):
            averages.combine([*measurements, replace(measurements[0])])
