"""What more queries cost is what planning for them explicitly says."""

import math

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import Domain, Prefix, Range, Workload, marginals, pcost, select, zcdp
from strategies import cases, names_of

ABC = Domain({"a": 3, "b": 2, "c": 4})
SINGLES = marginals(ABC, order=1)
PAIRS = [("a", "b"), ("b", "c")]
built_in = st.sampled_from(
    ["sum", "max", rp.losses.SumOfVariances("equal"), rp.losses.SumOfVariances("sqrt"), rp.losses.MaxVariance("cells")]
)


@st.composite
def additions(draw: st.DrawFn):
    case = draw(cases(weighted=False))
    known = set(case.distinct)
    query = st.sets(st.integers(0, len(case.sizes) - 1)).map(lambda members: tuple(sorted(members)))
    added = draw(st.lists(query.filter(lambda members: members not in known), min_size=1, max_size=2, unique=True))
    return case, [names_of(members) for members in added]


def largest(plan, query) -> float:
    return float(plan.variance(query).max())


@settings(max_examples=25, deadline=None)
@given(problem=additions(), loss=built_in)
def test_the_same_budget_and_the_same_accuracy_are_what_planning_anew_says(problem, loss):
    case, added = problem
    plan = select(case.workload, budget=zcdp("0.5"), loss=loss, gap=1e-9)
    cost = rp.questions.cost_of_more(plan, added, gap=1e-9)
    whole = case.workload + Workload(case.domain, added)
    again = select(whole, budget=zcdp("0.5"), loss=loss, gap=1e-9)
    np.testing.assert_allclose(cost.same_budget.noise_variances, again.noise_variances, rtol=1e-9)
    growth = [math.sqrt(largest(again, query) / largest(plan, query)) for query in case.workload]
    assert cost.budget_factor == pytest.approx(max(growth) ** 2, rel=1e-9)
    more = select(whole, budget=pcost(cost.same_accuracy.pcost * (1 + 1e-9)), loss=loss, gap=1e-9)
    assert all(largest(more, query) <= largest(plan, query) * (1 + 1e-9) for query in case.workload)
    less = select(whole, budget=pcost(cost.same_accuracy.pcost * 0.99), loss=loss, gap=1e-9)
    assert any(largest(less, query) > largest(plan, query) * 1.001 for query in case.workload)
    assert cost.extra_pcost == pytest.approx(cost.same_accuracy.pcost - plan.pcost)
    old = cost.queries[~cost.queries["is_new"]]
    np.testing.assert_allclose(old["growth"], growth, rtol=1e-9)
    np.testing.assert_allclose(old["before"], [math.sqrt(largest(plan, query)) for query in case.workload], rtol=1e-12)
    assert (old["same_accuracy"] <= old["before"] * (1 + 1e-12)).all()


def least_cost(plan, whole, added, moe) -> float:
    """By a convex solver: the least cost at which no query is worse than now, and the added ones are as asked."""
    names, sizes = whole.domain.names, whole.domain.sizes
    sets = [set(members) for members in whole.closure if all(sizes[i] > 1 for i in members)]
    p = np.array([math.prod(1 - 1 / sizes[i] for i in members) for members in sets])
    known = {tuple(query) for query in plan.workload}
    rows = []
    for query in whole:
        limit = largest(plan, query) if query in known else (moe / (1.959963984540054 + 2**-18)) ** 2
        mine = set(map(names.index, query))
        factors = [[1 - 1 / sizes[i] if i in members else 1 / sizes[i] ** 2 for i in mine] for members in sets]
        rows.append([(members <= mine) * math.prod(each) / limit for members, each in zip(sets, factors, strict=True)])
    rows = np.array(rows)
    scale = 1 / rows.max(axis=0)
    unit = cvxpy.Variable(len(p))
    problem = cvxpy.Problem(cvxpy.Minimize((p / scale) @ cvxpy.inv_pos(unit)), [(rows * scale) @ unit <= 1])
    return float(problem.solve(solver="CLARABEL"))


@settings(max_examples=20, deadline=None)
@given(problem=additions(), loss=built_in, moe=st.floats(0.5, 50))
def test_with_a_margin_no_smaller_budget_keeps_all_tables_as_accurate(problem, loss, moe):
    case, added = problem
    plan = select(case.workload, budget=zcdp("0.5"), loss=loss, gap=1e-9)
    cost = rp.questions.cost_of_more(plan, added, moe=moe)
    whole = case.workload + Workload(case.domain, added)
    assert cost.same_accuracy.pcost == pytest.approx(least_cost(plan, whole, added, moe), rel=2e-5)
    for query in case.workload:
        assert largest(cost.same_accuracy, query) <= largest(plan, query) * (1 + 1e-9)
    for query in added:
        assert 1.96 * math.sqrt(largest(cost.same_accuracy, query)) <= moe * 1.0001


@settings(max_examples=12, deadline=None)
@given(problem=additions())
def test_a_plan_for_targets_keeps_them(problem):
    case, added = problem
    plan = select(case.workload, loss=rp.losses.Targets(3.0, 0.9))
    cost = rp.questions.cost_of_more(plan, added, moe=5, level=0.9)
    margins = dict.fromkeys(case.workload, 3.0) | dict.fromkeys(added, 5.0)
    whole = case.workload + Workload(case.domain, added)
    again = select(whole, budget=plan.budget, loss=rp.losses.Targets(margins, 0.9))
    np.testing.assert_allclose(cost.same_budget.noise_variances, again.noise_variances, rtol=1e-6)
    free = rp.questions.cost_of_more(plan, added)
    assert free.same_budget.targets.in_order(whole)[~np.isin(list(map(str, whole)), list(map(str, added)))].tolist()
    assert np.isnan(free.same_budget.targets.in_order(whole)).sum() == len(added)


def test_a_table_that_follows_from_others_at_its_accuracy_costs_nothing():
    plan = select(Workload(ABC, [("a", "b")]), budget=zcdp(1))
    moe = 1.97 * math.sqrt(plan.variance(("a",)).max())
    cost = rp.questions.cost_of_more(plan, [("a",)], moe=moe)
    assert cost.budget_factor == pytest.approx(1, rel=1e-6)
    row = cost.queries.set_index("query").loc["a"]
    assert row["is_new"]
    assert row["before"] == pytest.approx(moe / 1.97, rel=1e-12)


def test_bases_are_kept_where_that_is_cheaper_and_given_ones_always():
    domain = Domain({"a": 12, "b": 3})
    workload = Workload(domain, [{"a": Range()}])
    plan = select(workload, budget=zcdp(1))
    cost = rp.questions.cost_of_more(plan, [("b",)], moe=50)
    part = select(Workload(domain, [("b",)]), loss=rp.losses.Targets(50))
    assert cost.extra_pcost <= part.pcost * (1 + 1e-6)
    given = select(workload, budget=zcdp(1), bases={"a": plan.bases["a"].matrix.astype(float)})
    kept = rp.questions.cost_of_more(given, [("b",)])
    np.testing.assert_array_equal(kept.same_budget.bases["a"].matrix, given.bases["a"].matrix)
    older = select(workload, budget=zcdp(1), bases="orthogonal")
    assert rp.questions.cost_of_more(older, [{"b": Prefix()}]).same_budget.basis_summary == {"orthogonal": 2}


def test_the_cost_in_words_says_all_three_things_and_is_for_the_plans_neighbors():
    plan = select(SINGLES, budget=zcdp("0.5"), neighbors="replace", records_per_person=3)
    cost = rp.questions.cost_of_more(plan, [*PAIRS, ("a", "c")], moe=20)
    assert cost.same_budget.neighbors == cost.same_accuracy.neighbors == plan.neighbors
    text = str(rp.questions.cost_of_more(select(SINGLES, budget=zcdp("0.5")), [*PAIRS, ("a", "c"), ()]))
    first, second, third = text.splitlines()
    assert first == "Added: (total), a × b, a × c and 1 more"
    assert second.startswith("Same budget, rho 0.5: standard errors grow by factors of ")
    assert " times the budget, rho " in third


@pytest.mark.parametrize(
    ("queries", "options", "error", "message"),
    [
        ([("a",), ("a", "b")], {}, rp.errors.WorkloadError, r"\('a',\) is in the plan already; name queries th"),
        ([("x",)], {}, rp.errors.DomainError, "x"),
        ([], {}, rp.errors.WorkloadError, "no queries"),
        (PAIRS, {"moe": 0}, rp.errors.BudgetError, "moe must be positive and finite"),
        (PAIRS, {"moe": 5, "level": 1}, rp.errors.BudgetError, "level must be between 0 and 1"),
        (PAIRS, {"loss": cvxpy.max}, rp.errors.WorkloadError, "cost_of_more is for sums, maxima and targets"),
    ],
)
def test_what_cannot_be_added_is_refused(queries, options, error, message):
    with pytest.raises(error, match=message):
        rp.questions.cost_of_more(select(SINGLES, budget=zcdp(1)), queries, **options)
    with pytest.raises(rp.errors.WorkloadError, match="does not hold its loss"):
        rp.questions.cost_of_more(select(SINGLES, budget=zcdp(1), loss=cvxpy.max), PAIRS)
