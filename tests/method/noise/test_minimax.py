"""The least maximum of variances, with a bound below every other noise and an honest gap."""

import math

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import dense
import residualplanner as rp
from residualplanner import Domain, Workload, marginals, select
from residualplanner import pcost as budget_of
from residualplanner.method.noise.choice import NoiseChoice
from residualplanner.method.noise.minimax import minimize_maximum_variance
from strategies import cases, positions_of


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, float]:
    """Costs, a matrix with no empty column, and a cost to spend; small, and not those of any workload."""
    queries, sets = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = rng.exponential(size=(queries, sets)) ** 2 * (rng.random((queries, sets)) < 0.6)
    matrix[rng.integers(queries, size=sets), np.arange(sets)] += 0.1
    return rng.uniform(0.1, 2, size=sets), matrix, draw(st.floats(0.01, 100))


def solved_by_cvxpy(p: np.ndarray, matrix: np.ndarray, pcost: float) -> float:
    """The optimum of (15) at this cost, by a conic solver, in units of the loss of equal noise."""
    start = np.full(p.size, p.sum() / pcost)
    size = (matrix @ start).max()
    unit = cvxpy.Variable(p.size)
    cost = cvxpy.sum(cvxpy.multiply(p / start / pcost, cvxpy.inv_pos(unit)))
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.max((matrix * start / size) @ unit)), [cost <= 1])
    problem.solve(solver="CLARABEL")
    return float(problem.value) * size


def require_honest(choice: NoiseChoice, p: np.ndarray, matrix: np.ndarray, pcost: float) -> None:
    assert (p / choice.noise_variance).sum() == pytest.approx(pcost, rel=1e-12)
    assert choice.loss == pytest.approx((matrix @ choice.noise_variance).max(), rel=1e-12)
    assert choice.bound <= choice.loss * (1 + 1e-14)
    assert choice.gap == pytest.approx(max(0.0, choice.loss / choice.bound - 1), abs=1e-14)


@given(problem=problems(), gap=st.sampled_from([1e-2, 1e-4, 1e-8]))
def test_the_requested_gap_is_reached_and_proved(problem, gap):
    p, matrix, pcost = problem
    choice = minimize_maximum_variance(p, sparse.csr_array(matrix), pcost=pcost, gap=gap)
    require_honest(choice, p, matrix, pcost)
    assert choice.gap <= gap
    assert choice.status == "certified"


@given(problem=problems(), steps=st.integers(0, 30))
def test_a_search_cut_short_gives_its_true_gap_and_says_so(problem, steps):
    p, matrix, pcost = problem
    choice = minimize_maximum_variance(p, sparse.csr_array(matrix), pcost=pcost, gap=1e-13, steps=steps)
    require_honest(choice, p, matrix, pcost)
    if choice.gap > 1e-12:
        assert choice.status == f"stopped after {steps} steps"
    exact = minimize_maximum_variance(p, sparse.csr_array(matrix), pcost=pcost, gap=1e-9)
    assert choice.bound <= exact.loss * (1 + 1e-12)
    assert choice.loss >= exact.bound * (1 - 1e-12)


def test_one_step_is_not_enough_for_a_lopsided_problem():
    matrix = sparse.csr_array([[1.0, 0.0], [0.01, 5.0]])
    choice = minimize_maximum_variance([1.0, 1.0], matrix, pcost=1.0, steps=1)
    assert choice.status == "stopped after 1 steps"
    assert choice.gap > 1e-6


@settings(max_examples=25)
@given(problem=problems())
def test_a_convex_solver_agrees_and_the_bound_is_never_above_it(problem):
    p, matrix, pcost = problem
    optimum = solved_by_cvxpy(p, matrix, pcost)
    choice = minimize_maximum_variance(p, sparse.csr_array(matrix), pcost=pcost, gap=1e-8)
    assert choice.loss == pytest.approx(optimum, rel=1e-5)
    for steps in (0, 1, 3, 10):
        rough = minimize_maximum_variance(p, sparse.csr_array(matrix), pcost=pcost, gap=1e-8, steps=steps)
        assert rough.bound <= optimum * (1 + 1e-6)
        assert rough.loss >= optimum * (1 - 1e-6)


@st.composite
def several_costs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, float]:
    """Several rows of costs, in which entries may be 0 but no column is, with a matrix and a cost to spend."""
    p, matrix, pcost = draw(problems())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ways = draw(st.integers(1, 8))
    rows = p * rng.uniform(0.1, 2, size=(ways, p.size)) * (rng.random((ways, p.size)) < 0.7)
    rows[rng.integers(ways, size=p.size), np.arange(p.size)] += 0.1
    return rows, matrix, pcost


def solved_for_several_costs(rows: np.ndarray, matrix: np.ndarray, pcost: float) -> float:
    """The least maximum of variances where no row of costs comes to more than ``pcost``, by a conic solver."""
    start = np.full(rows.shape[1], rows.sum(axis=1).max() / pcost)
    size = (matrix @ start).max()
    unit = cvxpy.Variable(rows.shape[1])
    limit = (rows / start / pcost) @ cvxpy.inv_pos(unit) <= 1
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.max((matrix * start / size) @ unit)), [limit])
    problem.solve(solver="CLARABEL")
    return float(problem.value) * size


@settings(max_examples=60)
@given(problem=several_costs())
def test_of_several_costs_the_largest_is_spent_and_a_convex_solver_agrees(problem):
    rows, matrix, pcost = problem
    optimum = solved_for_several_costs(rows, matrix, pcost)
    choice = minimize_maximum_variance(rows, sparse.csr_array(matrix), pcost=pcost, gap=1e-7)
    assert (rows @ (1 / choice.noise_variance)).max() == pytest.approx(pcost, rel=1e-12)
    assert choice.loss == pytest.approx((matrix @ choice.noise_variance).max(), rel=1e-12)
    assert choice.status == "certified"
    assert choice.loss == pytest.approx(optimum, rel=1e-5)
    for steps in (0, 1, 3, 10):
        rough = minimize_maximum_variance(rows, sparse.csr_array(matrix), pcost=pcost, gap=1e-8, steps=steps)
        assert rough.bound <= optimum * (1 + 1e-6)
        assert rough.loss >= optimum * (1 - 1e-6)


@given(problem=several_costs(), seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([1e-3, 0.1, 1.0]))
def test_no_other_noise_of_the_same_largest_cost_is_below_the_bound(problem, seed, spread):
    rows, matrix, pcost = problem
    choice = minimize_maximum_variance(rows, sparse.csr_array(matrix), pcost=pcost, gap=1e-6)
    tilts = np.random.default_rng(seed).normal(scale=spread, size=(200, rows.shape[1]))
    others = choice.noise_variance * np.exp(tilts)
    others *= (rows @ (1 / others).T).max(axis=0)[:, None] / pcost
    assert (others @ matrix.T).max(axis=1).min() >= choice.bound * (1 - 1e-12)


@given(problem=several_costs(), seed=st.integers(0, 2**32 - 1))
def test_costs_in_another_order_repeated_or_never_the_largest_change_nothing(problem, seed):
    rows, matrix, pcost = problem
    rng = np.random.default_rng(seed)

    def solved(costs: np.ndarray) -> NoiseChoice:
        return minimize_maximum_variance(costs, sparse.csr_array(matrix), pcost=pcost, gap=1e-8)

    loss = solved(rows).loss
    assert solved(rng.permutation(rows)).loss == pytest.approx(loss, rel=2.1e-8)
    assert solved(np.vstack([rows, rows[rng.integers(len(rows))]])).loss == pytest.approx(loss, rel=2.1e-8)
    assert solved(np.vstack([rows * 0.5, rows])).loss == pytest.approx(loss, rel=2.1e-8)
    assert solved(np.vstack([rows, rows.max(axis=0)])).loss >= loss * (1 - 2.1e-8)


@given(problem=problems())
def test_a_single_row_of_costs_is_a_vector_of_costs(problem):
    p, matrix, pcost = problem
    vector, row = (minimize_maximum_variance(given, sparse.csr_array(matrix), pcost=pcost) for given in (p, p[None]))
    np.testing.assert_array_equal(vector.noise_variance, row.noise_variance)


def test_two_sets_that_are_never_paid_together_get_the_whole_budget_each():
    choice = minimize_maximum_variance([[1.0, 0.0], [0.0, 1.0]], sparse.csr_array(np.eye(2)), pcost=2.0)
    assert choice.noise_variance.tolist() == pytest.approx([0.5, 0.5], rel=1e-6)


@given(problem=problems(), seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([1e-3, 0.1, 1.0]))
def test_no_other_noise_of_the_same_cost_is_below_the_bound(problem, seed, spread):
    p, matrix, pcost = problem
    choice = minimize_maximum_variance(p, sparse.csr_array(matrix), pcost=pcost, gap=1e-6)
    tilts = np.random.default_rng(seed).normal(scale=spread, size=(200, p.size))
    others = choice.noise_variance * np.exp(tilts)
    others *= (p / others).sum(axis=1, keepdims=True) / pcost
    assert (others @ matrix.T).max(axis=1).min() >= choice.bound * (1 - 1e-12)


@given(problem=problems(), seed=st.integers(0, 2**32 - 1))
def test_every_start_leads_to_the_same_optimum(problem, seed):
    p, matrix, pcost = problem
    start = np.random.default_rng(seed).uniform(1e-3, 1, size=len(matrix))
    left = minimize_maximum_variance(p, sparse.csr_array(matrix), pcost=pcost, gap=1e-7)
    right = minimize_maximum_variance(p, sparse.csr_array(matrix), pcost=pcost, gap=1e-7, start=start)
    assert right.loss == pytest.approx(left.loss, rel=2e-7)


@given(case=cases(weighted=False))
def test_the_optimum_over_orbits_is_the_optimum_over_all_sets(case):
    plan = select(case.workload, budget=budget_of(1), loss="max", gap=1e-8)
    sets = list(plan.closure)
    matrix = dense.variance_coefficients(case.sizes, case.distinct, sets)
    full = minimize_maximum_variance(
        dense.cost_coefficients(case.sizes, sets), sparse.csr_array(matrix), pcost=1.0, gap=1e-8
    )
    assert plan.max_variance == pytest.approx(full.loss, rel=3e-8)


@pytest.mark.parametrize(
    ("sizes", "up_to", "extra"),
    [((3,) * 6, 2, []), ((2,) * 7, 3, []), ((2, 3, 2, 3, 2, 3), 2, []), ((3,) * 5, 2, [("x0", "x1", "x2")])],
)
def test_symmetry_changes_the_work_and_not_the_optimum(sizes, up_to, extra):
    domain = Domain({f"x{i}": size for i, size in enumerate(sizes)})
    workload = marginals(domain, up_to=up_to)
    workload = workload + Workload(domain, extra) if extra else workload
    plan = select(workload, budget=budget_of(1), loss="max", gap=1e-8)
    sets = list(plan.closure)
    queries = [tuple(domain.names.index(name) for name in query) for query in workload]
    full = minimize_maximum_variance(
        dense.cost_coefficients(sizes, sets),
        sparse.csr_array(dense.variance_coefficients(sizes, queries, sets)),
        pcost=1.0,
        gap=1e-8,
    )
    assert plan.loss_value == pytest.approx(full.loss, rel=3e-8)
    assert plan.gap <= 1e-8


@pytest.mark.parametrize("number", [0.0, -1.0, math.nan, math.inf, None])
def test_bad_numbers_are_refused(number):
    matrix = sparse.csr_array([[1.0]])
    with pytest.raises(rp.errors.BudgetError, match="pcost must be positive and finite"):
        minimize_maximum_variance([1.0], matrix, pcost=number)
    with pytest.raises(rp.errors.BudgetError, match="gap must be positive and finite"):
        minimize_maximum_variance([1.0], matrix, pcost=1.0, gap=number)


@pytest.mark.parametrize(
    ("p", "matrix", "start", "message"),
    [
        ([1.0], [[1.0, 1.0]], None, r"variance_coefficient must be \(q, 1\) with q >= 1, got \(1, 2\)"),
        ([1.0], np.empty((0, 1)), None, "with q >= 1"),
        ([0.0], [[1.0]], None, "pcost_coefficient must be positive"),
        ([[1.0, 0.0], [1.0, 0.0]], [[1.0, 1.0]], None, "pcost_coefficient must be positive"),
        ([[1.0, -1.0], [1.0, 2.0]], [[1.0, 1.0]], None, "pcost_coefficient must be positive"),
        ([1.0], [[-1.0]], None, "at least 0 and finite in every entry"),
        ([1.0], [[math.nan]], None, "at least 0 and finite in every entry"),
        ([1.0, 1.0], [[1.0, 0.0]], None, "every base mechanism must matter to some query"),
        ([1.0], [[1.0]], [0.0], "start must hold 1 positive weights"),
        ([1.0], [[1.0]], [1.0, 1.0], "start must hold 1 positive weights"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(p, matrix, start, message):
    with pytest.raises(ValueError, match=message):
        minimize_maximum_variance(p, sparse.csr_array(matrix), pcost=1.0, start=start)


def test_workload_positions_are_those_of_the_dense_matrices():
    workload = Workload(Domain({"a": 2, "b": 3}), [("b", "a"), ("b",)])
    assert [sorted(positions_of(query)) for query in workload] == [[1], [0, 1]]


def crowded_problem(seed: int, *, answers: int) -> tuple[np.ndarray, sparse.csr_array]:
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
    return rng.uniform(0.5, 2, 8), sparse.csr_array(np.vstack(blocks))


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_share_all_their_noise_are_told_apart_to_a_fine_gap(seed):
    p, M = crowded_problem(seed, answers=8)
    choice = minimize_maximum_variance(p, M, pcost=1.0, gap=1e-8, steps=200)
    assert choice.status == "certified"
    assert choice.gap <= 1e-8
    assert float((p / choice.noise_variance).sum()) == pytest.approx(1, rel=1e-12)
    assert choice.loss == pytest.approx(float((M @ choice.noise_variance).max()), rel=1e-12)
    assert choice.weights.sum() == pytest.approx(1)
    assert choice.bound == pytest.approx(float(np.sqrt(p * (M.T @ choice.weights)).sum()) ** 2, rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_so_they_are_where_costs_compete_too(seed):
    _, M = crowded_problem(seed, answers=6)
    N = np.random.default_rng(seed).uniform(0, 1, (30, 8)) ** 3
    choice = minimize_maximum_variance(N, M, pcost=1.0, gap=1e-8, steps=200)
    assert choice.status == "certified"
    assert float((N @ (1 / choice.noise_variance)).max()) == pytest.approx(1, rel=1e-12)
    assert choice.loss == pytest.approx(float((M @ choice.noise_variance).max()), rel=1e-12)
    s = cvxpy.Variable(8)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.max(M @ s)), [N @ cvxpy.inv_pos(s) <= 1])
    problem.solve(solver="CLARABEL")
    assert choice.loss == pytest.approx(float(problem.value), rel=1e-6)


def test_newton_steps_are_what_reaches_that_gap(monkeypatch):
    p, M = crowded_problem(5, answers=8)
    monkeypatch.setattr("residualplanner.method.noise.minimax._PATIENCE", -1)
    slow = minimize_maximum_variance(p, M, pcost=1.0, gap=1e-8, steps=200)
    assert slow.gap > 1e-6
    assert slow.status == "stopped after 200 steps"


@pytest.mark.parametrize(
    "proposals",
    [
        lambda *_: iter(()),
        lambda N, M, start: iter([(np.full(len(start[0]), 1 / len(start[0])), np.ones(1))] * 3),
        lambda N, M, start: iter([(np.eye(len(start[0]))[0] * (1 - 1e-9) + 1e-9 / len(start[0]), np.ones(1))]),
    ],
    ids=["none", "equal", "one"],
)
def test_newton_steps_that_lead_nowhere_are_judged_and_the_search_goes_on(monkeypatch, proposals):
    p, M = crowded_problem(1, answers=3)
    fine = minimize_maximum_variance(p, M, pcost=1.0, gap=1e-9)
    monkeypatch.setattr("residualplanner.method.noise.minimax.interior_weights", proposals)
    choice = minimize_maximum_variance(p, M, pcost=1.0, gap=1e-5)
    assert choice.bound <= fine.loss * (1 + 1e-12)
    assert choice.loss >= fine.bound * (1 - 1e-12)


def test_a_search_begun_with_the_weights_of_the_last_one_begins_with_its_bound():
    p, M = crowded_problem(2, answers=4)
    first = minimize_maximum_variance(p, M, pcost=1.0, gap=1e-7)
    again = minimize_maximum_variance(p, M, pcost=1.0, gap=1e-9, start=first.weights, steps=1)
    assert first.bound * (1 - 1e-12) <= again.bound <= first.loss
    assert minimize_maximum_variance(p, M, pcost=1.0, gap=1e-9, steps=1).bound < first.bound * (1 - 1e-4)


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
