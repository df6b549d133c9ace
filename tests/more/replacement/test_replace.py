"""Plans for replaced records are the best ones for that cost, and say and keep what they are for."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from residualplanner import Attribute, Domain, Identity, Prefix, Workload, load_plan, marginals, pcost, select
from residualplanner.method.plan.files import plan_to_archive
from saved_plans import DOMAIN, forge, require_equal, through_a_file
from strategies import Case, cases, noise_of

ABC = Domain({"a": 3, "b": 2, "c": 4})
LOSSES = {"sum": np.sum, "max": np.max}
seeds = st.integers(0, 2**32 - 1)


def replacing_cases(most_cells: int = 48) -> st.SearchStrategy[Case]:
    """Cases with something to protect besides the number of records."""
    return cases(most_cells=most_cells).filter(lambda case: len(case.workload.closure) > 1)


def cost_rows(sizes: tuple[int, ...], sets: list[dense.Members]) -> np.ndarray:
    """What every set costs at unit noise for every way to differ, from pairs of records, (ways, sets)."""
    costs = np.column_stack([dense.replacement_costs(sizes, members)[0] for members in sets])
    return np.unique(costs.round(12), axis=0)


def weighted_variances(case: Case, sets: list[dense.Members], loss: str) -> np.ndarray:
    """The rows whose products with the noise the loss adds up, or takes the largest of, (queries, sets)."""
    cells = [math.prod(case.sizes[i] for i in members) for members in case.distinct]
    weights = np.array(case.distinct_weights) * (cells if loss == "sum" else 1.0)
    return weights[:, None] * dense.variance_coefficients(case.sizes, case.distinct, sets)


def solved_by_cvxpy(rows: np.ndarray, matrix: np.ndarray, loss: str) -> float:
    """The least loss at cost 1 over all noise, where sets that cost nothing get none."""
    paid = rows.max(axis=0) > 0
    rows, matrix = rows[:, paid], matrix[:, paid]
    size = rows.max(axis=0) * paid.sum()
    unit = cvxpy.Variable(len(size))
    scale = float(LOSSES[loss](matrix @ size))
    variances = (matrix * size / scale) @ unit
    objective = cvxpy.sum(variances) if loss == "sum" else cvxpy.max(variances)
    problem = cvxpy.Problem(cvxpy.Minimize(objective), [(rows / size) @ cvxpy.inv_pos(unit) <= 1])
    problem.solve(solver="CLARABEL")
    return float(problem.value) * scale


def perturbed(plan: rp.Plan, rows: np.ndarray, seed: int) -> np.ndarray:
    """Other noise of the same cost, near and far."""
    rng = np.random.default_rng(seed)
    tilts = [rng.normal(scale=spread, size=(50, rows.shape[1])) for spread in (1e-3, 0.05, 1.0)]
    others = plan.noise_variances * np.exp(np.concatenate(tilts))
    return others * (rows @ (1 / others).T).max(axis=0)[:, None] / (rows @ (1 / plan.noise_variances)).max()


@settings(max_examples=40)
@given(case=replacing_cases(), loss=st.sampled_from(sorted(LOSSES)), seed=seeds)
def test_no_noise_of_the_same_cost_does_better_and_a_solver_agrees(case, loss, seed):
    plan = select(case.workload, budget=pcost(1), loss=loss, neighbors="replace", gap=1e-7)
    sets = list(plan.closure)
    rows, matrix = cost_rows(case.sizes, sets), weighted_variances(case, sets, loss)
    assert (rows @ (1 / plan.noise_variances)).max() == pytest.approx(1, rel=1e-9)
    assert plan.loss_value == pytest.approx(float(LOSSES[loss](matrix @ plan.noise_variances)), rel=1e-9)
    assert plan.loss_value == pytest.approx(solved_by_cvxpy(rows, matrix, loss), rel=1e-5)
    others = LOSSES[loss](perturbed(plan, rows, seed) @ matrix.T, axis=1)
    assert others.min() >= plan.loss_value / (1 + plan.gap) * (1 - 1e-9)
    assert plan.gap <= 1e-7
    assert plan.status == "certified"


@settings(max_examples=40)
@given(case=replacing_cases(), loss=st.sampled_from(sorted(LOSSES)), gap=st.sampled_from([0.3, 1e-2, 1e-3, 1e-4]))
def test_a_wide_gap_is_an_honest_one(case, loss, gap):
    rough, fine = (
        select(case.workload, budget=pcost(1), loss=loss, neighbors="replace", gap=each) for each in (gap, 1e-8)
    )
    assert rough.gap <= gap
    assert rough.loss_value / (1 + rough.gap) <= fine.loss_value * (1 + 1e-12)


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("size", [2, 5])
def test_the_gap_holds_against_noise_that_gives_the_total_away(loss, size):
    plan = select(marginals(Domain({"a": size}), up_to=1), budget=pcost(1), loss=loss, neighbors="replace")
    matrix = dense.variance_coefficients((size,), [(), (0,)], [(), (0,)])
    weights = np.array([1, size]) if loss == "sum" else np.ones(2)
    given_away = float(LOSSES[loss](weights * (matrix @ (plan.noise_variances * [0, 1]))))
    assert given_away < plan.loss_value
    assert plan.loss_value / (1 + plan.gap) <= given_away * (1 + 1e-14)


def cost_row(sizes: tuple[int, ...], sets: list[dense.Members], differing: set[int]) -> list[float]:
    """(37) at unit noise, set by set, for one way to differ; for domains too large for matrices."""
    row = []
    for members in sets:
        same = math.prod(1 - 1 / sizes[i] for i in members)
        row.append(2 * (same - math.prod(-1 / sizes[i] if i in differing else 1 - 1 / sizes[i] for i in members)))
    return row


@given(
    case=replacing_cases(),
    loss=st.sampled_from(sorted(LOSSES)),
    notion=st.sampled_from(["add-remove", "replace"]),
    records=st.integers(2, 1000),
)
def test_k_records_of_a_person_need_k_squared_times_the_variance_and_cost_no_more_than_the_budget(
    case, loss, notion, records
):
    exact = dense.exact_cost if notion == "add-remove" else dense.exact_replacement_cost
    found = []
    for k in (1, records):
        plan = select(case.workload, budget=pcost("0.3"), loss=loss, neighbors=notion, records_per_person=k)
        assert exact(case.sizes, noise_of(plan)) * k**2 <= Fraction(plan.pcost) <= Fraction(3, 10)
        assert plan.pcost == pytest.approx(0.3, rel=1e-9)
        assert plan.neighbors == rp.privacy.Neighbors(notion, k)
        assert notion == "add-remove" or plan.noise_variances[0] <= 1e-6 * plan.noise_variances[1:].min()
        found.append(plan.loss_value / k**2)
    assert found[1] == pytest.approx(found[0], rel=3e-6)


@given(case=replacing_cases(), loss=st.sampled_from(sorted(LOSSES)), limit=st.floats(0.01, 1e4))
def test_the_least_budget_reaches_the_loss_and_a_hundred_thousandth_less_does_not(case, loss, limit):
    plan = select(case.workload, at_most=limit, loss=loss, neighbors="replace", gap=1e-7)
    matrix = weighted_variances(case, list(plan.closure), loss)
    assert LOSSES[loss](matrix @ plan.noise_variances) <= limit
    exact = dense.exact_replacement_cost(case.sizes, noise_of(plan))
    assert exact <= Fraction(plan.pcost) <= plan.budget.pcost_exact
    less = select(case.workload, budget=pcost(plan.pcost * (1 - 1e-5)), loss=loss, neighbors="replace", gap=1e-7)
    assert less.loss_value > limit


@pytest.mark.parametrize("solver", ["CLARABEL", "ECOS"])
@pytest.mark.parametrize(
    ("function", "searched"),
    [
        (cvxpy.max, rp.losses.MaxVariance()),
        (cvxpy.sum, rp.losses.SumOfVariances("equal")),
        (lambda v: cvxpy.norm(v, 4), None),
        (cvxpy.sum_squares, None),
    ],
)
def test_convex_losses_agree_with_the_search_and_have_the_twin_too(solver, function, searched):
    workload, loss = marginals(ABC, up_to=2), rp.losses.ConvexLoss(function, solver)
    there = select(workload, budget=pcost(1), loss=loss, neighbors="replace")
    if searched is not None:
        least = select(workload, budget=pcost(1), loss=searched, neighbors="replace").loss_value
        assert there.loss_value == pytest.approx(least, rel=1e-5)
        assert there.loss_value / (1 + there.gap) <= least * (1 + 1e-7)
    sets = list(there.closure)
    matrix, moved = dense.variance_coefficients(ABC.sizes, sets, sets), perturbed(there, cost_rows(ABC.sizes, sets), 7)
    values = [function(cvxpy.Constant(matrix @ noise)).value for noise in moved]
    assert min(values) >= there.loss_value / (1 + there.gap) * (1 - 1e-9)
    back = select(workload, at_most=there.loss_value, loss=loss, neighbors="replace")
    assert back.pcost == pytest.approx(1, rel=1e-4)
    assert function(cvxpy.Constant(back.average_variances)).value <= there.loss_value
    for plan in (there, back):
        exact = dense.exact_replacement_cost(ABC.sizes, noise_of(plan))
        assert exact <= Fraction(plan.pcost) <= plan.budget.pcost_exact
        assert plan.gap < 1e-3


@pytest.mark.cases(1)
@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("kind", [Identity(), Prefix()])
def test_more_than_twenty_attributes_of_few_sorts_are_planned_for_their_exact_cost(loss, kind):
    names = [f"x{i}" for i in range(24)]
    workload = marginals(Domain(dict.fromkeys(names, 4)), up_to=2, kinds=dict.fromkeys(names, kind))
    plan = select(workload, budget=pcost(1), loss=loss, neighbors="replace")
    assert plan.gap <= 2e-5
    precision = {len(members): 1 / noise for members, noise in noise_of(plan).items()}
    same, pairs = columns_of(plan.strategy.of_attributes[0])
    costs = []
    for counts in itertools.combinations_with_replacement(range(len(pairs) + 1), 3):
        # So many attributes differ in each of up to three ways: all 8 x 8 x 8, or fewer.
        way = np.vstack([same, *pairs])[np.repeat(counts, 8)]
        singles, squares = way.sum(axis=0), (way**2).sum(axis=0)
        costs.append((precision[1] * singles + precision[2] * (singles**2 - squares) / 2) @ [1, 1, -2])
    assert max(costs) <= 1


def columns_of(basis) -> tuple[np.ndarray, list[np.ndarray]]:
    """The lengths and products of equal columns, the longest ones, and of all pairs of different ones."""
    S = basis.matrix if basis.matrix is not None else np.eye(basis.size) - 1 / basis.size
    K = S.T.astype(float) @ S
    pairs = [np.array([K[j, j], K[k, k], K[j, k]]) for j, k in itertools.permutations(range(basis.size), 2)]
    return np.full(3, K.diagonal().max()), list({tuple(pair): pair for pair in pairs}.values())


@pytest.mark.cases(1)
@pytest.mark.parametrize("loss", [*sorted(LOSSES), cvxpy.max])
def test_more_than_twenty_attributes_of_as_many_sorts_have_a_bound_of_the_cost_and_a_gap_that_says_so(loss):
    sizes = tuple(range(2, 24))
    workload = marginals(Domain({f"x{i}": n for i, n in enumerate(sizes)}), up_to=2)
    plan = select(workload, budget=pcost(1), loss=loss, neighbors="replace")
    sets, chance = list(plan.closure), np.random.default_rng(0)
    ways = [set(range(22)), {0}, *(set(np.flatnonzero(chance.random(22) < 0.5).tolist()) for _ in range(50))]
    rows = np.array([cost_row(sizes, sets, way) for way in ways])
    assert 0.5 <= (rows @ (1 / plan.noise_variances)).max() <= plan.pcost <= 1
    assert 1e-3 <= plan.gap <= 0.5
    assert "bound of the cost" in plan.status


@pytest.mark.parametrize("domain", [ABC, Domain({}), Domain({"k": 1})])
@pytest.mark.parametrize("loss", ["sum", "max", cvxpy.max])
def test_the_total_alone_has_nothing_to_protect_where_records_are_replaced(domain, loss):
    workload = Workload(domain, [()])
    with pytest.raises(rp.errors.BudgetError, match=r"their number is public: this workload has nothing to protect"):
        select(workload, budget=pcost(1), loss=loss, neighbors="replace")
    assert select(workload, budget=pcost(1), loss=loss).pcost <= 1


@pytest.mark.parametrize("rules", [{"unknown": "drop"}, {"missing": "drop"}, {"unknown": "drop", "missing": "drop"}])
@pytest.mark.parametrize("queries", [("b", "c"), ("a",)])
def test_dropping_records_is_refused_where_their_number_is_public(rules, queries):
    """An attribute that no table has must not drop records either."""
    domain = Domain({"a": 3, "b": Attribute("b", labels=["x", "y"], **rules), "c": Attribute("c", 2, missing="drop")})
    workload = Workload(domain, [queries])
    with pytest.raises(
        rp.errors.BudgetError, match=r"none may be dropped: \['b', 'c'\] have \"drop\" as rule; count such"
    ):
        select(workload, budget=pcost(1), neighbors="replace")
    with pytest.raises(rp.errors.BudgetError, match="none may be dropped"):
        replace(select(workload, budget=pcost(1)), neighbors=rp.privacy.Neighbors("replace"), budget=pcost(100))


KINDS = [rp.privacy.Neighbors(notion, records) for notion in ("add-remove", "replace") for records in (1, 3)]


@cache
def planned(neighbors):
    how = {"neighbors": neighbors.notion, "records_per_person": neighbors.records_per_person}
    return select(marginals(DOMAIN, up_to=2), budget=pcost(1), **how)


@pytest.mark.parametrize("neighbors", KINDS, ids=lambda each: each.words)
def test_a_saved_plan_keeps_its_neighbors(tmp_path, neighbors):
    again = through_a_file(planned(neighbors), tmp_path)
    require_equal(again, planned(neighbors))
    assert again.neighbors == neighbors


@pytest.mark.parametrize(("mine", "other"), list(itertools.permutations(KINDS, 2)))
def test_other_neighbors_written_into_a_file_pass_only_if_all_that_is_said_is_true(tmp_path, mine, other):
    plan = planned(mine)
    header, arrays = plan_to_archive(plan)
    changed = {**header, "neighbors": other.notion, "records_per_person": other.records_per_person}
    with pytest.raises(rp.errors.BudgetError, match=r"the plan states pcost|more than the budget"):
        load_plan(forge(tmp_path / "forged", plan, changed, arrays))
    true = replace(plan, neighbors=other, budget=pcost("1e30")).pcost
    path = forge(tmp_path / "told", plan, {**changed, "pcost": true}, arrays)
    exact = dense.exact_cost if other.notion == "add-remove" else dense.exact_replacement_cost
    cost = exact(DOMAIN.sizes, noise_of(plan)) * other.records_per_person**2
    if cost > plan.budget.pcost_exact:
        with pytest.raises(rp.errors.BudgetError, match="more than the budget"):
            load_plan(path)
    else:
        assert cost <= Fraction(load_plan(path).pcost) <= plan.budget.pcost_exact
    if mine.notion == "replace" and other.notion == "add-remove":  # it would hide the number of records
        for stated in (plan.pcost, 1.0, 0.5, 1e12):
            with pytest.raises(rp.errors.BudgetError, match="more than the budget"):
                load_plan(forge(tmp_path / "stated", plan, {**changed, "pcost": stated}, arrays))
