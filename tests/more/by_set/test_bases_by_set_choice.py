"""Plans that select makes with bases by set: their loss and cost by explicit matrices, their proof, what is refused."""

import math
import re
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import dense
import residualplanner as rp
from benchmarks.dense_optimum import gram_matrix, least_loss, workload
from random_plans import mechanism, messages_of_factor, query_rows
from residualplanner.method.noise.choice import ChosenNoise
from residualplanner.method.strategy.costs import exact_cost
from residualplanner.more.by_set.choice import choose_by_set
from residualplanner.shell.questions.comparison import plan_of_part, scaled_plan
from slowness import slow
from workloads_by_set import EXCHANGED, IDENTITY, ODD, PREFIX, RING, SAME_BASES, THREE, TINY

BY_SET = "optimal_by_set"
WORKLOADS = {"tiny": TINY, "three": THREE, "odd": ODD, "same bases": SAME_BASES, "exchanged": EXCHANGED, "ring": RING}


@cache
def planned(name):
    return rp.select(WORKLOADS[name], budget=rp.zcdp("0.37"), bases=BY_SET)


@pytest.fixture(params=["tiny", "three", "odd", *map(slow, ("same bases", "exchanged", "ring"))])
def plan(request):
    return planned(request.param)


@pytest.mark.cases(1)
@pytest.mark.slow
def test_the_loss_is_that_of_explicit_matrices(plan):
    rows, covariance = mechanism(plan)
    loss = 0.0
    for query, weight in zip(plan.workload, plan.workload.weights.tolist(), strict=True):
        loss += weight * float(np.trace(dense.least_squares_covariance(rows, covariance, query_rows(plan, query))))
    assert plan.strategy.varying.any()
    assert plan.loss_value == pytest.approx(loss, rel=1e-8)
    assert float(plan.workload.weights * plan.workload.cells @ plan.average_variances) == pytest.approx(loss, rel=1e-8)


def test_the_exact_cost_is_the_budget_but_for_a_billionth_and_the_noise_is_proved_best_for_its_bases(plan):
    exact = exact_cost(plan.strategy, np.nextafter(1 / plan.noise_variances, np.inf))
    assert exact <= Fraction(plan.pcost) <= plan.budget.pcost_exact <= exact * (1 + Fraction(1, 10**9))
    assert dense.privacy_cost(*mechanism(plan)) <= plan.pcost * (1 + 1e-9)
    assert 0 <= plan.gap < 1e-6
    assert re.fullmatch("noise certified for bases by set from a local search, errors .*% smaller than .*", plan.status)


def test_no_workload_is_worse_off_and_where_a_set_asks_otherwise_one_is_better_off(plan):
    one = rp.select(plan.workload, budget=plan.budget, bases="optimal")
    assert plan.loss_value < one.loss_value
    assert plan.loss.words == one.loss.words
    least, _ = least_loss(gram_matrix(plan.workload))
    assert least / 0.74 * (1 - 1e-5) <= plan.loss_value <= least / 0.74 * 1.005**2


def test_attributes_of_single_values_keep_the_subtraction_basis_and_the_others_have_integers():
    plan = planned("odd")
    by_set = plan.strategy
    families = {(i, by_set.basis(A, i).family) for A in plan.closure for i in A}
    assert families == {(0, BY_SET), (1, BY_SET), (3, "subtraction")}
    assert all(abs(basis.matrix).max() < 2**20 for basis in by_set.bases if basis.matrix is not None)


@pytest.mark.slow
def test_attributes_that_can_be_exchanged_have_the_same_bases_messages_and_noise():
    by_set, plan = planned("exchanged").strategy, planned("exchanged")
    assert len(by_set.bases) == 3  # of single attributes, of pairs, and the subtraction basis
    for sets in ([(0,), (1,), (2,)], [(0, 1), (0, 2), (1, 2)], [(0, 3), (1, 3), (2, 3)]):
        factors = [(A, i) for A in sets for i in A if i < 3]
        assert len({id(by_set.basis(A, i)) for A, i in factors}) == 1
        assert len({messages_of_factor(by_set, A, i).tobytes() for A, i in factors}) == 1
        noise = [plan.noise_variances[plan.closure.positions_of([A])[0]] for A in sets]
        np.testing.assert_allclose(noise, noise[0], rtol=1e-12)
    assert len({planned("ring").strategy.factor_bases[i] for i in range(4)}) == 4


@pytest.mark.slow
def test_where_all_sets_have_an_attribute_in_the_same_kinds_the_plan_is_the_usual_one():
    for case in (
        workload((6, 5), [{0: PREFIX}, {1: PREFIX}]),
        workload((6, 5), [{0: PREFIX, 1: IDENTITY}, {1: IDENTITY}]),
        workload((6, 5), [{0: IDENTITY, 1: IDENTITY}, {1: IDENTITY}]),
        workload((6, 5), [{0: PREFIX, 1: PREFIX}]),
    ):
        found, usual = (rp.select(case, budget=rp.pcost(1), bases=word) for word in (BY_SET, "optimal"))
        assert not found.strategy.varying.any()
        assert (found.loss_value, found.pcost) == (usual.loss_value, usual.pcost)
        assert found.status.removesuffix("; a search found no better bases") == usual.status
        assert (found.noise_variances == usual.noise_variances).all()


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("limit", "records"),
    [
        *(({"budget": rp.pcost(text)}, 1) for text in ("1e-9", "12345.678", "1e12")),
        ({"at_most": 10.0}, 1),
        ({"budget": rp.zcdp("0.37")}, 3),
    ],
)
def test_every_budget_is_spent_and_never_exceeded(limit, records):
    plan = rp.select(TINY, **limit, bases=BY_SET, records_per_person=records)
    exact = exact_cost(plan.strategy, np.nextafter(1 / plan.noise_variances, np.inf)) * records**2
    assert plan.budget.pcost_exact * (1 - Fraction(1, 10**9)) <= exact <= Fraction(plan.pcost)
    assert Fraction(plan.pcost) <= plan.budget.pcost_exact
    assert plan.loss_value <= limit.get("at_most", math.inf)
    assert plan.loss_value * plan.pcost == pytest.approx(records**2 * planned("tiny").loss_value * 0.74, rel=1e-5)
    assert plan.gap < 1e-6


def test_scaled_plans_and_parts_of_plans_have_the_cost_they_state(plan):
    for factor in (1e-7, 1 / 3, 1.0, 4096, 1e9):
        scaled = scaled_plan(plan, factor)
        assert scaled.pcost == pytest.approx(plan.pcost * factor, rel=1e-12)
        assert scaled.loss_value == pytest.approx(plan.loss_value / factor)
    part = plan_of_part(plan, plan.workload.take([0, 1]))
    assert part.pcost <= plan.pcost
    np.testing.assert_allclose(part.average_variances, plan.average_variances[:2], rtol=1e-12)


def test_estimates_count_the_search():
    case = workload((120, 100), [{0: PREFIX}, {1: PREFIX}, {0: IDENTITY, 1: IDENTITY}])
    without, by_set = (rp.questions.resource_estimate(case, bases=word).planning_seconds for word in (None, BY_SET))
    assert without + 1 < by_set < without + 60


def test_a_search_that_gains_nothing_ends_where_it_started():
    case = workload((6, 5), [{0: PREFIX, 1: PREFIX}])
    one = rp.select(case, budget=rp.pcost(1), loss=rp.losses.SumOfVariances([1.0]))
    plain = ChosenNoise(one.strategy, one.noise_variances, one.loss_value, one.gap, one.status)
    found = choose_by_set(case, np.ones(1), plain, rp.privacy.Neighbors(), enough=0.0)
    assert one.loss_value * (1 - 1e-4) < found.loss < one.loss_value * (1 + 1e-4)


TARGETS = rp.losses.Targets([(query, 3.0 + number) for number, query in enumerate(TINY)])


@pytest.mark.thorough
@pytest.mark.parametrize(("loss", "case"), [("max", TINY), ("max", THREE), (TARGETS, TINY), ("max", RING)])
@pytest.mark.cases(1)
def test_largest_variances_have_bases_by_set_that_are_near_the_best_of_all_mechanisms(loss, case):
    one, plan = (rp.select(case, budget=rp.pcost(1), loss=loss, **how) for how in ({"bases": "optimal"}, {}))
    assert plan.strategy.varying.any()
    assert plan.loss_value < one.loss_value
    assert plan.suboptimality < min(0.008, one.suboptimality)
    assert plan.gap < 1e-6
    importance = plan.loss.importance(case)
    largest = float((importance * plan.max_variances).max())
    assert plan.loss_value == pytest.approx(plan.loss.stated(largest), rel=1e-8)
    rows, covariance = mechanism(plan)
    by_hand = [
        dense.least_squares_covariance(rows, covariance, query_rows(plan, query)).diagonal().max() for query in case
    ]
    np.testing.assert_allclose(plan.max_variances, by_hand, rtol=1e-8)
    assert dense.privacy_cost(rows, covariance) <= plan.pcost * (1 + 1e-9)


@pytest.mark.parametrize("arguments", [{"loss": rp.losses.Targets({("a0", "a1"): 5.0})}])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_what_bases_by_set_are_not_for_is_refused(arguments, neighbors):
    words = 'losses of all tables, and these targets are of some; use bases="optimal"'
    with pytest.raises(rp.errors.WorkloadError, match=re.escape(words)):
        rp.select(TINY, budget=rp.pcost(1), bases=BY_SET, neighbors=neighbors, **arguments)


@pytest.mark.thorough
def test_by_default_the_search_is_for_plans_that_may_be_far_from_the_best_and_has_a_time():
    one, plan, quick = (rp.select(TINY, budget=rp.pcost(1), **how) for how in ({"bases": "optimal"}, {}, {"time": 0}))
    assert plan.suboptimality < 0.005 < one.suboptimality
    assert plan.loss_value == rp.select(TINY, budget=rp.pcost(1)).loss_value < one.loss_value
    assert quick.loss_value == one.loss_value
    assert "better bases were not searched for" in quick.status
    near = rp.select(workload((6, 5), [{0: PREFIX, 1: PREFIX}, {1: PREFIX}]), budget=rp.pcost(1))
    assert near.suboptimality < 0.005
    assert near.status == "closed form"
    for seconds in (-1, math.nan):
        with pytest.raises(rp.errors.BudgetError, match="time must be a number of seconds, at least 0"):
            rp.select(TINY, budget=rp.pcost(1), time=seconds)


def test_noise_that_nothing_limits_and_budgets_beyond_floating_point_are_refused():
    silent = workload((5, 4), [{0: PREFIX}, {1: PREFIX}, {0: IDENTITY, 1: IDENTITY}], [1, 1, 0])
    with pytest.raises(rp.errors.WorkloadError, match="has weight 0, so nothing limits its noise"):
        rp.select(silent, budget=rp.pcost(1), bases=BY_SET)
    with pytest.raises(rp.errors.BudgetError, match="too small or too large for floating-point"):
        rp.select(TINY, budget=rp.pcost("1e-307"), bases=BY_SET)
