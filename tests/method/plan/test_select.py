"""Selection makes the loss it was asked for as small as the budget allows, or spends as little as the loss allows."""

import math
from fractions import Fraction

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from residualplanner import Domain, Workload, approx_dp, marginals, pcost, select, zcdp
from strategies import Case, cases, names_of, noise_of

ABC = Domain({"a": 3, "b": 2, "c": 4})
ConvexLoss, MaxVariance, SumOfVariances = rp.losses.ConvexLoss, rp.losses.MaxVariance, rp.losses.SumOfVariances
RULES = {"cells": lambda cells: cells, "equal": lambda cells: 1.0, "sqrt": math.sqrt}
KINDS = (SumOfVariances, MaxVariance)
losses = st.builds(lambda kind, rule: kind(rule), st.sampled_from(KINDS), st.sampled_from(sorted(RULES)))
solved = pytest.mark.parametrize("solver", ["CLARABEL", "ECOS"])


def problem_of(case: Case, plan) -> tuple[np.ndarray, np.ndarray]:
    """P and m of section 3 from explicit matrices, for the sets the plan measures."""
    sets = list(plan.closure)
    return dense.cost_coefficients(case.sizes, sets), dense.variance_coefficients(case.sizes, case.distinct, sets)


def loss_of(loss, case: Case, m: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """The loss of noise variances (.., m), by Imp_Q of section 3 for each distinct query, times its own weight."""
    cells = [math.prod(case.sizes[i] for i in members) for members in case.distinct]
    importance = np.array([RULES[loss.weights or "equal"](count) for count in cells]) * case.distinct_weights
    each = noise @ m.T * importance
    return each.sum(axis=-1) if isinstance(loss, SumOfVariances) else each.max(axis=-1)


def perturbed(plan, p: np.ndarray, seed: int) -> np.ndarray:
    """Other noise of the same cost, near and far."""
    rng = np.random.default_rng(seed)
    tilts = [rng.normal(scale=spread, size=(50, p.size)) for spread in (1e-3, 0.05, 1.0)]
    others = plan.noise_variances * np.exp(np.concatenate(tilts))
    return others * (p / others).sum(axis=1, keepdims=True) / (p / plan.noise_variances).sum()


@settings(max_examples=80)
@given(case=cases(most_cells=200), loss=losses, seed=st.integers(0, 2**32 - 1))
def test_no_noise_of_the_same_cost_has_a_smaller_loss(case, loss, seed):
    plan = select(case.workload, budget=pcost(1), loss=loss)
    p, m = problem_of(case, plan)
    gap = 0 if isinstance(loss, SumOfVariances) else 1e-6
    assert plan.loss_value == pytest.approx(loss_of(loss, case, m, plan.noise_variances), rel=1e-9)
    assert loss_of(loss, case, m, perturbed(plan, p, seed)).min() >= plan.loss_value * (1 - gap - 1e-9)
    assert plan.gap <= gap


@given(case=cases(), data=st.data(), loss=st.sampled_from(KINDS))
def test_weights_may_be_given_as_numbers_or_by_query(case, data, loss):
    number = st.floats(0.01, 100)
    weights = data.draw(st.lists(number, min_size=len(case.distinct), max_size=len(case.distinct)))
    by_query = {names_of(members)[::-1]: weight for members, weight in zip(case.distinct, weights, strict=True)}
    first, *others = (
        select(case.workload, budget=pcost(1), loss=loss(given)).noise_variances
        for given in (weights, tuple(weights), np.array(weights), by_query)
    )
    for noise in others:
        np.testing.assert_array_equal(noise, first)
    again = Workload(case.domain, map(names_of, case.distinct), np.array(weights) * case.distinct_weights)
    weighted = select(again, budget=pcost(1), loss=loss("equal"))
    np.testing.assert_allclose(weighted.noise_variances, first, rtol=1e-9)


@pytest.mark.cases(1)
@solved
@settings(max_examples=8)
@given(case=cases(most_cells=40, weighted=False), seed=st.integers(0, 2**32 - 1))
def test_convex_losses_agree_with_the_closed_form_and_the_search(solver, case, seed):
    cells = np.array([math.prod(case.sizes[i] for i in members) for members in case.distinct], dtype=float)
    by_solver = select(case.workload, budget=pcost(1), loss=ConvexLoss(lambda v: cells @ v, solver))
    closed = select(case.workload, budget=pcost(1), loss="sum")
    assert by_solver.loss_value == pytest.approx(closed.loss_value, rel=1e-6)
    assert by_solver.gap < 1e-5
    by_solver = select(case.workload, budget=pcost(1), loss=ConvexLoss(cvxpy.max, solver))
    searched = select(case.workload, budget=pcost(1), loss="max")
    assert by_solver.loss_value == pytest.approx(searched.loss_value, rel=1e-5)
    assert by_solver.loss_value / (1 + by_solver.gap) <= searched.loss_value * (1 + 1e-7)
    norm = select(case.workload, budget=pcost(1), loss=ConvexLoss(lambda v: cvxpy.norm(v, 4), solver))
    assert norm.loss_value == pytest.approx((norm.average_variances**4).sum() ** 0.25, rel=1e-9)
    p, m = problem_of(case, norm)
    others = ((perturbed(norm, p, seed) @ m.T) ** 4).sum(axis=1) ** 0.25
    assert others.min() >= norm.loss_value * (1 - 1e-6)
    assert others.min() >= norm.loss_value / (1 + norm.gap) * (1 - 1e-9)
    assert norm.gap < 1e-4


@given(case=cases(most_cells=60), loss=losses, limit=st.floats(0.01, 1e4))
def test_the_least_budget_reaches_the_loss_and_a_millionth_less_does_not(case, loss, limit):
    plan = select(case.workload, at_most=limit, loss=loss, gap=1e-8)
    assert plan.loss_value <= limit
    assert plan.loss_value == pytest.approx(limit, rel=1e-9)
    assert loss_of(loss, case, problem_of(case, plan)[1], plan.noise_variances) <= limit * (1 + 1e-15)
    assert dense.exact_cost(case.sizes, noise_of(plan)) <= Fraction(plan.pcost) <= plan.budget.pcost_exact
    assert float(plan.budget.pcost_exact) == pytest.approx(plan.pcost, rel=1e-15)
    less = select(case.workload, budget=pcost(plan.pcost * (1 - 1e-6)), loss=loss, gap=1e-8)
    assert less.loss_value > limit
    there = select(case.workload, budget=plan.budget, loss=loss, gap=1e-8)
    np.testing.assert_allclose(there.noise_variances, plan.noise_variances, rtol=1e-9)


def test_what_is_short_is_what_it_stands_for():
    workload = marginals(ABC, up_to=2)
    for word, loss in (("sum", SumOfVariances("cells")), ("max", MaxVariance())):
        left, right = (select(workload, budget=pcost(1), loss=given) for given in (word, loss))
        np.testing.assert_array_equal(left.noise_variances, right.noise_variances)
    by_function = select(workload, budget=pcost(1), loss=cvxpy.max)
    assert by_function.loss.words == "convex loss, solver CLARABEL"
    assert by_function.status.startswith(
        "clarabel: optimal; distance from the best of all mechanisms not known: the loss"
    )
    for budget in (zcdp(0.5), rp.privacy.gdp(1), pcost("1.0"), pcost(Fraction(1))):
        plan = select(workload, budget=budget)
        np.testing.assert_array_equal(plan.noise_variances, select(workload, budget=pcost(1)).noise_variances)
        assert plan.budget == budget
    plan = select(workload, budget=approx_dp(1, 1e-6))
    assert pcost(plan.pcost).epsilon(1e-6) <= 1
    assert plan.pcost == pytest.approx(approx_dp(1, 1e-6).pcost, rel=1e-9)
    part = select(marginals(ABC, up_to=3).take([1, 2]), budget=pcost(1))
    by_name = select(Workload(ABC, [("a",), ("b",)]), budget=pcost(1))
    np.testing.assert_array_equal(part.noise_variances, by_name.noise_variances)


@pytest.mark.parametrize("domain", [Domain({}), Domain({"k": 1}), Domain({"k": 1, "j": 1})])
@pytest.mark.parametrize("loss", ["sum", "max", cvxpy.max])
def test_a_domain_of_one_cell_is_the_total_under_all_names(domain, loss):
    plan = select(marginals(domain, up_to=2), budget=pcost(1), loss=loss)
    assert list(plan.noise_variance_of) == [()]
    assert plan.noise_variance_of[()] == pytest.approx(1, rel=1e-9)
    assert plan.variance(domain.names).shape == (1,) * len(domain)
    assert plan.covariance(domain.names).tolist() == [[plan.noise_variance_of[()]]]
    assert plan.errors()["privacy_share"].sum() == pytest.approx(1)


BAD = [0, 0.0, -1.0, math.nan, math.inf, -math.inf]
ONE_WAY, ONE = marginals(ABC, order=1), {"budget": pcost(1)}
WEIGHTS = [
    ([1.0, 2.0], r"one weight for each query: got 3 queries and weights of shape \(2,\)"),
    (1.0, "one weight for each query"),
    ([1.0, 1.0, -1.0], "weights must be finite and at least 0"),
    ([1.0, 1.0, math.nan], "weights must be finite and at least 0"),
    ([1.0, 1.0, math.inf], "weights must be finite and at least 0"),
    ([0.0, 0.0, 0.0], "all weights are 0"),
    ([1.0, 1.0, 0.0], r"every query that contains \('c',\) has weight 0, so nothing limits its noise"),
    (["x", "y", "z"], "weights must be numbers, one for each query"),
    ("cubes", r"weights must be one of \['cells', 'equal', 'sqrt'\], a mapping or numbers, got 'cubes'"),
    ({("a",): 1.0, ("b",): 1.0}, r"weights name no weight for the query \('c',\)"),
    ({"a": 1.0, "b": 1.0, "c": 1.0, (): 1.0}, "weights name .*, a query that is not in the workload"),
    ({"a": 1.0, ("a",): 1.0}, "name one query twice"),
]
REFUSED = {
    rp.errors.BudgetError: [
        *(
            ({"at_most": value, "loss": loss}, "at_most must be positive and finite")
            for loss in ("sum", "max", cvxpy.max)
            for value in [*BAD, True, "3"]
        ),
        ({}, "give exactly one of budget= and at_most="),
        ({**ONE, "at_most": 1.0}, "give exactly one of budget= and at_most="),
        *(
            ({"budget": budget}, r"budget must be zcdp\(0.5\), approx_dp")
            for budget in (1.0, "1", True, (1, 1e-6), Fraction(1))
        ),
        *(({**ONE, "loss": "max", "gap": gap}, "gap must be positive and finite") for gap in BAD),
        *(
            ({"at_most": 3, "loss": ConvexLoss(lambda v: cvxpy.max(v) + 5, solver)}, "no noise brings the loss down to")
            for solver in ("CLARABEL", "ECOS")
        ),
    ],
    rp.errors.WorkloadError: [
        *(
            ({**ONE, "loss": loss}, "loss must be 'sum', 'max', a loss or a function")
            for loss in ("rmse", "", None, 3, SumOfVariances, MaxVariance, ConvexLoss)
        ),
        *(({**ONE, "loss": kind(weights)}, message) for kind in KINDS for weights, message in WEIGHTS),
        ({**ONE, "loss": cvxpy.min}, "must give one convex number by CVXPY's rules"),
    ],
    rp.errors.SolverError: [
        ({**ONE, "loss": ConvexLoss(cvxpy.max, "MOSEK")}, "the solver MOSEK is not installed; write one of")
    ],
}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [(options, error, message) for error, cases in REFUSED.items() for options, message in cases],
)
def test_what_cannot_be_planned_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        select(ONE_WAY, **options)


def test_a_query_of_weight_zero_is_answered_with_what_others_leave_it():
    workload = Workload(ABC, [("a",), ("a", "b")], weights=[0, 1])
    for loss in ("sum", "max"):
        plan = select(workload, budget=pcost(1), loss=loss, gap=1e-9)
        alone = select(Workload(ABC, [("a", "b")]), budget=pcost(1), loss=loss, gap=1e-9)
        np.testing.assert_allclose(plan.noise_variances, alone.noise_variances, rtol=1e-6)
        assert plan.errors()["privacy_share"].sum() == pytest.approx(1)


@pytest.mark.parametrize("at_most", [1e-300, 1e-200, 1e200, 1e300])
def test_an_extreme_loss_is_reached(at_most):
    plan = select(marginals(ABC, up_to=3), at_most=at_most)
    assert plan.loss_value <= at_most
    assert Fraction(plan.pcost) <= plan.budget.pcost_exact


HUGE = Domain({"a": 2**30, "b": 2**30, "c": 3})


def test_a_table_that_no_array_can_hold_has_an_error_table():
    plan = select(Workload(HUGE, [("a", "b", "c"), ("a", "c")]), budget=pcost(1))
    assert plan.variance(("a", "c")).shape == (2**30, 3)
    assert np.isfinite(plan.errors()["std_err"]).all()


WORKLOAD, BUDGET = rp.errors.WorkloadError, rp.errors.BudgetError
FLOATS = "too small or too large for floating-point"
FORTY = Domain({f"x{i}": 2 for i in range(40)})


TOO_EXTREME = [
    *((ABC, {"budget": pcost(b), "loss": loss}, BUDGET, FLOATS) for b in (5e-324, 1e-310) for loss in ("sum", "max")),
    *((ABC, {"at_most": limit}, BUDGET, f"{FLOATS}|positive|at most 1.79e308") for limit in (1e-307, 5e-324)),
    *((FORTY, {**ONE, "loss": loss}, WORKLOAD, "too large: 1,099,511,627,776") for loss in ("sum", "max", cvxpy.max)),
]


@pytest.mark.parametrize(("domain", "options", "error", "message"), TOO_EXTREME)
def test_what_is_too_large_for_a_plan_is_refused(domain, options, error, message):
    with pytest.raises(error, match=message):
        select(Workload(domain, [domain.names]), **options)


NOT_ANSWERED = r"the plan does not answer \('c', 'a'\): add it to the workload"
ASKED = [
    (ABC, "ab", lambda plan: plan.variance(("c", "a")), WORKLOAD, NOT_ANSWERED),
    (ABC, "ab", lambda plan: plan.covariance(("c", "a")), WORKLOAD, NOT_ANSWERED),
    (ABC, "ab", lambda plan: plan.combination_variance(("c", "a"), np.ones((4, 3))), WORKLOAD, NOT_ANSWERED),
    *(
        (ABC, "ab", lambda plan, w=w: plan.combination_variance(("a", "b"), w), WORKLOAD, "for each cell: shape .3, 2")
        for w in (np.ones(6), np.ones((2, 3)), np.full((3, 2), math.nan), 1.0)
    ),
    (
        Domain({"a": 200, "b": 200}),
        "ab",
        lambda plan: plan.covariance(("a", "b")),
        WORKLOAD,
        "covariance of 40,000 cells",
    ),
    (HUGE, "abc", lambda plan: plan.variance(("a", "b", "c")), WORKLOAD, f"too large: a table of {3 * 2**60:,} cells"),
    *(
        (ABC, "a", lambda plan, level=level: plan.errors(level=level), BUDGET, "level must be between 0 and 1")
        for level in (0, 1, -0.5, 1.5, math.nan)
    ),
]


@pytest.mark.parametrize(("domain", "names", "ask", "error", "message"), ASKED)
def test_what_is_too_large_or_not_answered_is_refused(domain, names, ask, error, message):
    plan = select(Workload(domain, [tuple(names)]), **ONE)
    with pytest.raises(error, match=message):
        ask(plan)


def test_weights_that_overflow_together_are_refused():
    heavy = Workload(ABC, [("a",), ("b",)], weights=[1e200, 1.0])
    with pytest.raises(WORKLOAD, match="weights are too large"):
        select(heavy, budget=pcost(1), loss=SumOfVariances([1e200, 1.0]))


@pytest.mark.cases(1)
@pytest.mark.parametrize("how", [{}, {"loss": "max"}, {"neighbors": "replace"}, {"bases": "optimal_by_set"}])
def test_searches_tell_how_far_they_are_and_plans_do_not_depend_on_it(how):
    domain, told = rp.Domain({"a": 6, "b": 4, "c": 3}), []
    workload = rp.Workload(domain, [{"a": rp.Prefix()}, ("a", "b"), {"b": rp.Range(), "c": rp.Identity()}])
    plan = rp.select(workload, budget=rp.pcost(1), progress=lambda done, total: told.append((done, total)), **how)
    assert told
    assert all(0 <= done <= total for done, total in told)
    assert plan.noise_variances.tolist() == rp.select(workload, budget=rp.pcost(1), **how).noise_variances.tolist()
