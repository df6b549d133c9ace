"""Targets are met by every cell, exactly, at the least budget; what no target limits rides along."""

import math
from dataclasses import replace
from statistics import NormalDist

import cvxpy
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from random_plans import mechanism, plans, table_covariance
from residualplanner import Domain, Identity, Numeric, Prefix, Range, Sum, Workload, marginals, pcost, select
from strategies import Case, cases, names_of, noise_of

ABC = Domain({"a": 3, "b": 2, "c": 4})
PAIRS, Targets = marginals(ABC, up_to=2), rp.losses.Targets


def z(level: float) -> float:
    """The factor of eq. (47)."""
    return NormalDist().inv_cdf((1 + level) / 2) + 2**-18


@st.composite
def targeted(draw: st.DrawFn) -> tuple[Case, dict[dense.Members, float]]:
    """A case, and a margin for some of its queries."""
    case = draw(cases(most_cells=48))
    chosen = draw(st.lists(st.sampled_from(case.distinct), min_size=1, unique=True))
    margin = st.floats(0.1, 100)
    return case, {members: draw(margin) for members in chosen}


def margins_of(case: Case, plan, chosen, level: float) -> dict[dense.Members, float]:
    """The largest margin of error of each query, from the explicit matrices of the mechanism."""
    queries, covariance = dense.mechanism(case.sizes, noise_of(plan))
    found = {}
    for members in chosen:
        wanted = dense.marginal(case.sizes, members)
        variances = np.diag(dense.least_squares_covariance(queries, covariance, wanted))
        found[members] = z(level) * math.sqrt(variances.max())
    return found


def least_cost(case: Case, margins: dict[dense.Members, float], level: float) -> float:
    """The least cost at which all margins hold, by a convex solver."""
    sets = dense.closure(margins)
    keep = [members for members in sets if all(case.sizes[i] > 1 for i in members)]
    p = dense.cost_coefficients(case.sizes, keep)
    m = dense.variance_coefficients(case.sizes, list(margins), keep)
    limits = np.array([(margin / z(level)) ** 2 for margin in margins.values()])
    scale = 1 / (m / limits[:, None]).max(axis=0)
    unit = cvxpy.Variable(len(keep))
    rows = (m * scale) / limits[:, None]
    costs = p / scale
    # The solver stops at differences of 1e-8, so the least should be about 1.
    problem = cvxpy.Problem(cvxpy.Minimize((costs / costs.sum()) @ cvxpy.inv_pos(unit)), [rows @ unit <= 1])
    return float(problem.solve(solver="CLARABEL")) * float(costs.sum())


@settings(max_examples=40, deadline=None)
@given(problem=targeted(), level=st.sampled_from([0.5, 0.9, 0.95, 0.99]), reserve=st.sampled_from([0.01, 0.3]))
def test_every_margin_is_met_one_exactly_and_at_the_least_cost(problem, level, reserve):
    case, margins = problem
    loss = Targets({names_of(members)[::-1]: margin for members, margin in margins.items()}, level, reserve)
    plan = select(case.workload, loss=loss)
    found = margins_of(case, plan, margins, level)
    ratios = [found[members] / margins[members] for members in margins]
    assert max(ratios) == pytest.approx(1, rel=1e-8)
    assert plan.meets_targets
    assert plan.loss_value <= 1
    least = least_cost(case, margins, level)
    limited = {members for members in dense.closure(margins) if all(case.sizes[i] > 1 for i in members)}
    share = 0.0 if limited == set(plan.closure) else reserve
    assert plan.pcost == pytest.approx(least / (1 - share), rel=2e-5)
    assert plan.pcost / (1 + plan.gap) <= least * (1 + 1e-5)


@settings(max_examples=25, deadline=None)
@given(problem=targeted(), neighbors=st.sampled_from(["add-remove", "replace"]))
def test_a_hundredth_less_budget_misses_a_target_and_says_so(problem, neighbors):
    case, margins = problem
    assume(neighbors == "add-remove" or any(case.sizes[i] > 1 for members in margins for i in members))
    loss = Targets({names_of(members): margin for members, margin in margins.items()}, reserve=1e-9)
    plan = select(case.workload, loss=loss, neighbors=neighbors)
    assert plan.meets_targets
    assert plan.gap <= 1.1e-6
    less = select(case.workload, budget=pcost(plan.pcost * 0.99), loss=loss, neighbors=neighbors)
    assert not less.meets_targets
    assert less.loss_value == pytest.approx(0.99**-0.5, rel=1e-5)
    more = select(case.workload, budget=pcost(plan.pcost * 1.01), loss=loss, neighbors=neighbors)
    assert more.meets_targets


@settings(max_examples=25, deadline=None)
@given(given=plans(most_cells=24), data=st.data())
def test_the_margin_is_that_of_the_cell_with_the_largest_variance(given, data):
    margins = data.draw(st.lists(st.floats(1, 20), min_size=len(given.workload), max_size=len(given.workload)))
    plan = select(given.workload, loss=Targets(np.array(margins), level=0.9), bases=given.bases)
    ratios = [
        z(0.9) * math.sqrt(np.diag(table_covariance(plan, query)).max()) / margin
        for query, margin in zip(plan.workload, margins, strict=True)
    ]
    assert max(ratios) == pytest.approx(1, rel=1e-6)
    assert dense.privacy_cost(*mechanism(plan)) <= plan.pcost * (1 + 1e-9)


def test_targets_are_the_maximum_with_their_own_weights_and_not_the_workloads():
    margins = np.array([10.0, 20, 30, 40, 50, 60, 70])
    plan = select(PAIRS, budget=pcost(1), loss=Targets(margins))
    weighted = select(PAIRS, budget=pcost(1), loss=rp.losses.MaxVariance((z(0.95) / margins) ** 2))
    np.testing.assert_allclose(plan.noise_variances, weighted.noise_variances, rtol=1e-9)
    assert plan.loss_value == pytest.approx(math.sqrt(weighted.loss_value), rel=1e-12)
    heavy, loss = Workload(ABC, list(PAIRS), weights=[0, 1, 2, 3, 4, 5, 1e6]), Targets({("a",): 3, ("b", "c"): 5})
    np.testing.assert_array_equal(select(heavy, loss=loss).noise_variances, select(PAIRS, loss=loss).noise_variances)


def test_targets_are_written_in_many_ways():
    workload = marginals(ABC, up_to=2, kinds={"a": Prefix()})
    plans = [
        select(workload, loss=Targets(given))
        for given in (
            [({"a": Prefix()}, 5), (("c", "b"), 7)],
            (({"a": Prefix()}, 5.0), ({"b": Identity(), "c": Identity()}, 7)),
            np.array([np.nan, 5, np.nan, np.nan, np.nan, np.nan, 7]),
            iter([(["b", "c"], 7), ({"a": Prefix()}, 5)]),
        )
    ]
    for plan in plans[1:]:
        np.testing.assert_array_equal(plan.noise_variances, plans[0].noise_variances)
    one = select(workload, loss=Targets(5))
    np.testing.assert_array_equal(one.noise_variances, select(workload, loss=Targets(np.full(7, 5.0))).noise_variances)


def test_the_others_share_what_is_set_aside_and_get_the_best_of_it():
    loss = Targets({("a",): 3}, reserve=0.2)
    plan = select(PAIRS, loss=loss)
    alone = select(Workload(ABC, [("a",)]), loss=Targets(3))
    assert plan.pcost == pytest.approx(alone.pcost / 0.8, rel=1e-9)
    assert plan.status.endswith("0.2 of the cost for tables without a target")
    p = plan.closure.products([float(basis.pcost) for basis in plan.strategy.of_attributes])
    free = np.array([members not in {(), (0,)} for members in plan.closure])
    assert (p / plan.noise_variances)[free].sum() == pytest.approx(0.2 * plan.pcost, rel=1e-9)
    rng = np.random.default_rng(3)
    rest = [number for number, query in enumerate(PAIRS) if query != ("a",)]
    least = plan.average_variances[rest].sum()
    for spread in (1e-3, 0.1, 1):
        other = plan.noise_variances.copy()
        other[free] *= np.exp(rng.normal(scale=spread, size=free.sum()))
        other[free] *= (p / other)[free].sum() / (p / plan.noise_variances)[free].sum()
        assert replace(plan, noise_variances=other, budget=pcost(1e9)).average_variances[rest].sum() >= least * (
            1 - 1e-9
        )


def test_attributes_that_only_others_ask_for_get_a_basis_too():
    workload = marginals(Domain({"a": 6, "b": 2, "c": 5}), up_to=2, kinds={"a": Range(), "c": Prefix()})
    plan = select(workload, loss=Targets([({"a": Range()}, 10)]))
    assert plan.meets_targets
    assert np.isfinite(plan.errors()["max_std_err"]).all()
    reserved = select(Workload(workload.domain, [{"c": Prefix()}]), budget=pcost(1), loss="max")
    mine = select(Workload(workload.domain, [{"c": Prefix()}]), budget=pcost(1), loss="max", bases=plan.bases)
    assert mine.rmse <= reserved.rmse * 1.02


def test_at_most_is_the_largest_ratio():
    loss = Targets({("a", "b"): 8})
    half, whole = (select(PAIRS, loss=loss, at_most=ratio) for ratio in (0.5, 1))
    assert half.pcost == pytest.approx(4 * whole.pcost, rel=1e-9)
    assert half.loss_value == pytest.approx(0.5, rel=1e-9)
    np.testing.assert_array_equal(whole.noise_variances, select(PAIRS, loss=loss).noise_variances)


def test_the_error_table_holds_each_query_to_its_target():
    plan = replace(select(PAIRS, budget=pcost(1)), loss=Targets({("a",): 1.0, ("b", "c"): 100.0}))
    table = plan.errors(level=0.5).set_index("query")
    assert table["target"].dropna().to_dict() == {"a": 1.0, "b × c": 100.0}
    assert table["meets_target"].dropna().to_dict() == {"a": False, "b × c": True}
    assert (table["conf_level"] == 0.5).all()
    assert not plan.meets_targets
    assert select(PAIRS, loss=Targets(5)).loss.words == "largest margin of error (0.95) relative to its target"
    plain = select(PAIRS, budget=pcost(1))
    assert not {"target", "meets_target"} & set(plain.errors())
    assert plain.meets_targets


WORKLOAD, BUDGET, POSITIVE = rp.errors.WorkloadError, rp.errors.BudgetError, "must be positive and finite"


@pytest.mark.parametrize(
    ("margins", "error", "message"),
    [
        *((margins, WORKLOAD, "there are no targets; name a query") for margins in ({}, [])),
        ({("a", "b", "c"): 5}, WORKLOAD, r"targets name \('a', 'b', 'c'\), a query that is not in the work"),
        ([({"a": Prefix()}, 5)], WORKLOAD, "is not in the workload; add it"),
        ({("x",): 5}, rp.errors.DomainError, "x"),
        ({("a", "b"): 5, ("b", "a"): 6}, WORKLOAD, "targets name one query twice"),
        ({("a",): 0}, BUDGET, rf"the target of \('a',\) {POSITIVE}, got 0"),
        *(({("a",): bad}, BUDGET, f"{POSITIVE}, got {bad!r}") for bad in (math.nan, math.inf, "5", True)),
        *((bad, BUDGET, f"a target {POSITIVE}, got {bad}") for bad in (-1.0, None)),
        *((given, WORKLOAD, "targets must be a mapping from query to margin") for given in ([5.0, 6.0], "50")),
        (np.ones(6), WORKLOAD, r"one target for each query: got 7 queries and targets of shape \(6,\)"),
        (np.full(7, np.nan), WORKLOAD, "there are no targets; at least one query must have a margin"),
        (np.zeros(7), BUDGET, "targets must be positive and finite, or NaN for none"),
        *((tiny, BUDGET, "a target is too small or too large for floating-point") for tiny in (1e-200, 1e200)),
    ],
)
def test_targets_that_cannot_be_are_refused(margins, error, message):
    with pytest.raises(error, match=message):
        select(PAIRS, loss=Targets(margins))


@pytest.mark.parametrize("part", [0, 1, -1, 2, math.nan, "0.95", None, True])
def test_a_level_or_a_reserve_outside_zero_and_one_is_refused(part):
    with pytest.raises(rp.errors.BudgetError, match=r"level must be between 0 and 1, such as 0.95"):
        Targets(5, part)
    with pytest.raises(rp.errors.BudgetError, match="reserve must be a part of the cost between 0 and 1"):
        Targets(5, reserve=part)


def test_a_public_total_needs_no_target():
    with pytest.raises(rp.errors.BudgetError, match="their number is public: it needs no target; name another table"):
        select(PAIRS, loss=Targets({(): 5}), neighbors="replace")


def test_a_target_further_below_than_floats_can_say_is_not_met():
    workload = Workload(Domain({"a": 2}), [("a",)])
    assert not Targets([(("a",), 1e-300)]).are_met(workload, np.array([1e300])).any()


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_tables_without_a_target_are_as_accurate_whatever_amounts_are_counted_in(neighbors):
    def errors(unit):
        domain = Domain({"a": 4, "b": 2, "pay": Numeric(0, 40 * unit, unit=unit)})
        workload = Workload(domain, [("a",), ("b",), ("a", "b"), {"b": Identity(), "pay": Sum()}])
        plan = select(workload, budget=pcost(1), loss=Targets([(("a",), 3.0), (("b",), 2.0)]), neighbors=neighbors)
        return (plan.errors()["std_err"] / plan.errors()["scale"]).to_numpy()

    np.testing.assert_allclose(errors(10**9), errors(1), rtol=1e-3)
