"""The cost a plan states is never below the exact cost of its noise; the noise by names, in any order."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dense
import residualplanner as rp
from random_plans import plan_by_hand
from residualplanner import Domain, Identity, Numeric, Plan, Sum, Workload, marginals, pcost, select
from strategies import cases, noise_of


def plan_with(workload: Workload, noise: np.ndarray, budget: rp.privacy.Budget) -> Plan:
    return plan_by_hand(workload, rp.strategies.subtraction_strategy(workload), noise, budget=budget)


@given(case=cases(), seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1e-290, 1e-9, 1.0, 1e9, 1e290]))
def test_the_stated_cost_is_at_least_the_exact_one_and_hardly_more(case, seed, size):
    workload = case.workload
    noise = np.random.default_rng(seed).lognormal(size=len(workload.closure)) * size
    plan = plan_with(workload, noise, pcost("1e305"))
    exact = dense.exact_cost(case.sizes, noise_of(plan))
    assert exact <= Fraction(plan.pcost) <= exact * (1 + Fraction(1, 10**13))


@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_a_budget_the_least_bit_below_the_exact_cost_is_refused(case, seed):
    workload = case.workload
    noise = np.random.default_rng(seed).lognormal(size=len(workload.closure))
    exact = dense.exact_cost(case.sizes, dict(zip(workload.closure, noise.tolist(), strict=True)))
    with pytest.raises(rp.errors.BudgetError, match=r"the noise costs pcost .*, more than the budget of"):
        plan_with(workload, noise, pcost(exact * (1 - Fraction(1, 10**18))))
    assert (
        plan_with(workload, noise, pcost(exact * (1 + Fraction(1, 10**13)))).noise_variances.tolist() == noise.tolist()
    )


def test_terms_below_the_smallest_normal_number_are_not_rounded_away():
    workload = marginals(Domain({f"x{i}": 2 for i in range(12)}), order=12)
    orders = workload.closure.orders.tolist()
    candidates = np.random.default_rng(3).uniform(1.6e308, 1.7e308, size=(len(orders), 6)).tolist()

    def whole(variance: float, order: int) -> int:
        """The exact cost of a base mechanism, in units of 2**-1300 and rounded down; the noise is an integer."""
        return 2 ** (1300 - order) // int(variance)

    def lost(variance: float, order: int) -> Fraction:
        """How much less than its exact value that cost is as a float."""
        return Fraction(whole(variance, order), 2**1300) - Fraction(0.5**order / variance)

    noise = [
        max((lost(variance, order), variance) for variance in row)[1]
        for row, order in zip(candidates, orders, strict=True)
    ]
    least = sum(whole(variance, order) for variance, order in zip(noise, orders, strict=True))
    assert Fraction(least, 2**1300) <= Fraction(plan_with(workload, np.array(noise), pcost(1)).pcost)


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        *(
            (noise, "one noise variance for each of 2 sets, got shape")
            for noise in ([1.0], [1.0] * 3, [[1.0, 1.0]], [])
        ),
        *(([1.0, bad], "noise variances must be positive and finite") for bad in (0.0, -1.0, math.nan, math.inf)),
    ],
)
def test_noise_that_is_not_a_positive_number_for_each_set_is_refused(noise, message):
    with pytest.raises(rp.errors.BudgetError, match=message):
        plan_with(Workload(Domain({"a": 3}), ["a"]), np.array(noise), pcost(10))


def test_amounts_in_one_bin_are_a_key_though_their_count_by_bin_is_no_query():
    domain = Domain({"sex": 2, "pay": Numeric(0, 40)})
    plan = select(Workload(domain, [{"sex": Identity(), "pay": Sum()}]), budget=pcost(1))
    assert [plan.noise_variance_of[names] for names in plan.noise_variance_of] == plan.noise_variances.tolist()
