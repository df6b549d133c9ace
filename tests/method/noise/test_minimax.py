"""The least maximum of variances, with a bound below all other noise and an honest gap; the closed form of sums."""

import cvxpy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import dense
import residualplanner as rp
from inner_parts import minimize_maximum_variance
from residualplanner import Domain, Workload, marginals, select
from residualplanner import pcost as budget_of
from residualplanner.method.noise.noise_problem import NoiseChoice, minimize_weighted_variance
from strategies import cases

Problem = tuple[np.ndarray, np.ndarray, float]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Costs, a matrix with no empty column, and a cost to spend; small, and not those of any workload.

    Costs are a vector, or several rows, in which entries may be 0 but no column is.
    """
    queries, sets = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = rng.exponential(size=(queries, sets)) ** 2 * (rng.random((queries, sets)) < 0.6)
    matrix[rng.integers(queries, size=sets), np.arange(sets)] += 0.1
    costs, ways = rng.uniform(0.1, 2, size=sets), draw(st.sampled_from([0, 0, 0, 1, 2, 3, 8]))
    if ways:
        costs = costs * rng.uniform(0.1, 2, size=(ways, sets)) * (rng.random((ways, sets)) < 0.7)
        costs[rng.integers(ways, size=sets), np.arange(sets)] += 0.1
    return costs, matrix, draw(st.floats(0.01, 100))


def solved(problem: Problem, **options) -> NoiseChoice:
    costs, matrix, pcost = problem
    return minimize_maximum_variance(costs, sparse.csr_array(matrix), pcost=pcost, **options)


def solved_by_cvxpy(problem: Problem) -> float:
    """The optimum of (15) where no row of costs comes to more than this, by a conic solver."""
    costs, matrix, pcost = problem
    rows = np.atleast_2d(costs)
    start = solved(problem).noise_variance * np.linspace(0.5, 2, rows.shape[1])  # nothing but the solver's units
    size = (matrix @ start).max()
    unit = cvxpy.Variable(rows.shape[1])
    limit = (rows / start / pcost) @ cvxpy.inv_pos(unit) <= 1
    found = cvxpy.Problem(cvxpy.Minimize(cvxpy.max((matrix * start / size) @ unit)), [limit])
    found.solve(solver="CLARABEL")
    return float(found.value) * size


def require_honest(choice: NoiseChoice, problem: Problem) -> None:
    costs, matrix, pcost = problem
    assert (np.atleast_2d(costs) @ (1 / choice.noise_variance)).max() == pytest.approx(pcost, rel=1e-12)
    assert choice.loss == pytest.approx((matrix @ choice.noise_variance).max(), rel=1e-12)
    assert choice.bound <= choice.loss * (1 + 1e-14)
    assert choice.gap == pytest.approx(max(0.0, choice.loss / choice.bound - 1), abs=1e-14)


@given(problem=problems(), gap=st.sampled_from([1e-2, 1e-4, 1e-8]), steps=st.integers(0, 30))
def test_the_requested_gap_is_reached_and_proved_and_a_search_cut_short_says_so(problem, gap, steps):
    choice = solved(problem, gap=gap)
    require_honest(choice, problem)
    assert choice.gap <= gap
    assert choice.status == "certified"
    short = solved(problem, gap=1e-13, steps=steps)
    require_honest(short, problem)
    if short.gap > 1e-12:
        assert short.status == f"stopped after {steps} steps"
    exact = solved(problem, gap=1e-9)
    assert short.bound <= exact.loss * (1 + 1e-12)
    assert short.loss >= exact.bound * (1 - 1e-12)


@given(problem=problems())
def test_a_convex_solver_agrees_and_the_bound_is_never_above_it(problem):
    optimum = solved_by_cvxpy(problem)
    assert solved(problem, gap=1e-8).loss == pytest.approx(optimum, rel=1e-5)
    for steps in (0, 1, 3, 10):
        rough = solved(problem, gap=1e-8, steps=steps)
        assert rough.bound <= optimum * (1 + 1e-6)
        assert rough.loss >= optimum * (1 - 1e-6)


@given(problem=problems(), seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([1e-3, 0.1, 1.0]))
def test_no_other_noise_of_the_same_largest_cost_is_below_the_bound(problem, seed, spread):
    costs, matrix, pcost = problem
    choice = solved(problem, gap=1e-6)
    tilts = np.random.default_rng(seed).normal(scale=spread, size=(200, matrix.shape[1]))
    others = choice.noise_variance * np.exp(tilts)
    others *= (np.atleast_2d(costs) @ (1 / others).T).max(axis=0)[:, None] / pcost
    assert (others @ matrix.T).max(axis=1).min() >= choice.bound * (1 - 1e-12)


@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_no_start_and_no_other_way_to_write_the_costs_changes_the_optimum(problem, seed):
    costs, matrix, pcost = problem
    rng, rows, loss = np.random.default_rng(seed), np.atleast_2d(costs), solved(problem, gap=1e-8).loss
    start = rng.uniform(1e-3, 1, size=len(matrix))
    assert solved(problem, gap=1e-8, start=start).loss == pytest.approx(loss, rel=2.1e-8)
    for same in (rows, rng.permutation(rows), np.vstack([rows, rows[:1]]), np.vstack([rows * 0.5, rows])):
        assert solved((same, matrix, pcost), gap=1e-8).loss == pytest.approx(loss, rel=2.1e-8)
    assert solved((np.vstack([rows, rows.max(axis=0)]), matrix, pcost), gap=1e-8).loss >= loss * (1 - 2.1e-8)


@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_the_closed_form_of_a_sum_is_the_search_over_one_row_and_nothing_does_better(problem, seed):
    costs, matrix, pcost = problem
    p, v = np.atleast_2d(costs).sum(axis=0), matrix.sum(axis=0)
    choice = minimize_weighted_variance(p, v, pcost=pcost)
    assert not choice.noise_variance.flags.writeable
    assert (p / choice.noise_variance).sum() == pytest.approx(pcost, rel=1e-12)
    assert v @ choice.noise_variance == pytest.approx(choice.loss, rel=1e-12)
    assert (choice.bound, choice.gap, choice.status) == (choice.loss, 0.0, "closed form")
    np.testing.assert_allclose(solved((p, v[None], pcost)).noise_variance, choice.noise_variance, rtol=1e-9)
    other = choice.noise_variance * np.exp(np.random.default_rng(seed).uniform(-0.5, 0.5, p.size))
    other *= (p / other).sum() / pcost
    assert v @ other >= choice.loss * (1 - 1e-12)


def require_optimum_over_all_sets(workload: Workload, queries) -> None:
    plan = select(workload, budget=budget_of(1), loss="max", gap=1e-8)
    sizes, sets = workload.domain.sizes, list(plan.closure)
    matrix = dense.variance_coefficients(sizes, queries, sets)
    full = solved((dense.cost_coefficients(sizes, sets), matrix, 1.0), gap=1e-8)
    assert plan.loss_value == pytest.approx(full.loss, rel=3e-8)
    assert plan.gap <= 1e-8


@given(case=cases(weighted=False))
def test_the_optimum_over_orbits_is_the_optimum_over_all_sets(case):
    require_optimum_over_all_sets(case.workload, case.distinct)


@pytest.mark.parametrize(
    ("sizes", "up_to", "extra"),
    [((3,) * 6, 2, []), ((2,) * 7, 3, []), ((2, 3, 2, 3, 2, 3), 2, []), ((3,) * 5, 2, [("x0", "x1", "x2")])],
)
def test_symmetry_changes_the_work_and_not_the_optimum(sizes, up_to, extra):
    domain = Domain({f"x{i}": size for i, size in enumerate(sizes)})
    workload = marginals(domain, up_to=up_to)
    workload = workload + Workload(domain, extra) if extra else workload
    queries = [tuple(domain.names.index(name) for name in query) for query in workload]
    require_optimum_over_all_sets(workload, queries)


def crowded_problem(seed: int, *, answers: int) -> Problem:
    """The cells of all tables of up to three attributes, whose answers take noise in many slightly different parts."""
    rng = np.random.default_rng(seed)
    sets = dense.subsets(range(3))
    angle = np.linspace(0, np.pi / 2, answers)
    arcs = [np.column_stack([np.sin(angle), np.cos(angle)]) ** rng.uniform(0.6, 1.5, 2) for _ in range(3)]
    blocks = []
    for members in sets:
        block = np.ones((1, 1))
        for i in range(3):
            block = np.kron(block, arcs[i] if i in members else np.array([[1.0, 0.0]]))
        blocks.append(block)
    return rng.uniform(0.5, 2, 8), np.vstack(blocks), 1.0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("competing", [False, True], ids=["one cost", "costs compete, too"])
def test_rows_that_share_all_their_noise_are_told_apart_to_a_fine_gap(seed, competing):
    problem = crowded_problem(seed, answers=6 if competing else 8)
    if competing:
        problem = (np.random.default_rng(seed).uniform(0, 1, (30, 8)) ** 3, *problem[1:])
    choice = solved(problem, gap=1e-8, steps=200)
    require_honest(choice, problem)
    assert choice.status == "certified"
    assert choice.gap <= 1e-8
    assert choice.weights.sum() == pytest.approx(1)
    if competing:
        assert choice.loss == pytest.approx(solved_by_cvxpy(problem), rel=1e-6)
    else:
        bound = float(np.sqrt(problem[0] * (problem[1].T @ choice.weights)).sum()) ** 2
        assert choice.bound == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize(
    "proposals",
    [
        lambda *_: iter(()),
        lambda problem, start: iter([(np.full(len(start[0]), 1 / len(start[0])), np.ones(1))] * 3),
        lambda problem, start: iter([(np.eye(len(start[0]))[0] * (1 - 1e-9) + 1e-9 / len(start[0]), np.ones(1))]),
    ],
    ids=["none", "equal", "one"],
)
def test_newton_steps_that_lead_nowhere_are_judged_and_the_search_goes_on(monkeypatch, proposals):
    problem = crowded_problem(1, answers=3)
    fine = solved(problem, gap=1e-9)
    monkeypatch.setattr("residualplanner.method.noise.minimax.interior_weights", proposals)
    choice = solved(problem, gap=1e-5)
    assert choice.bound <= fine.loss * (1 + 1e-12)
    assert choice.loss >= fine.bound * (1 - 1e-12)


@pytest.mark.parametrize("notion", ["add-remove", "replace"])
@pytest.mark.parametrize("weights", [[1e300] * 4, [1e-300] * 4, [1, 1e300, 1, 1]], ids=str)
def test_weights_near_the_ends_of_floating_point_scale_the_loss_and_nothing_else(weights, notion):
    workload = marginals(Domain({"a": 3, "b": 2}), up_to=2)
    plan = select(workload, budget=budget_of(1), loss=rp.losses.MaxVariance(weights), neighbors=notion)
    assert plan.loss_value == pytest.approx((np.array(weights) * plan.max_variances).max(), rel=1e-9)
    assert plan.gap <= 1e-6
    if len(set(weights)) == 1:
        even = select(workload, budget=budget_of(1), loss="max", neighbors=notion)
        np.testing.assert_allclose(plan.noise_variances, even.noise_variances, rtol=1e-6)


def test_a_loss_too_large_for_a_float_is_refused():
    workload = marginals(Domain({"a": 3, "b": 2}), up_to=2)
    for loss in (rp.losses.MaxVariance([1e308] * 4), rp.losses.SumOfVariances([1e308] * 4)):
        with pytest.raises(rp.errors.BudgetError, match="the loss is too large for a float; divide all weights"):
            select(workload, budget=budget_of(1), loss=loss)
