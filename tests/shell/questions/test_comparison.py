"""Plans side by side say what each plan says, and sweeps what planning for each budget says."""

import math
from functools import partial

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import Custom, Domain, Identity, Prefix, Range, Workload, approx_dp, marginals, pcost, select, zcdp
from residualplanner.method import bases
from shell.specs import comparison
from strategies import cases

ABC = Domain({"a": 3, "b": 2, "c": 4})
WORKLOAD = marginals(ABC, up_to=2)
WRONG_WORK, NO_PLANS = rp.errors.WorkloadError, ({}, [], [1], {"a": None})
BUDGETS = [zcdp("0.5"), rp.privacy.gdp("0.3"), approx_dp("1", "1e-9"), pcost("17")]
losses = st.sampled_from(
    ["sum", "max", rp.losses.SumOfVariances("equal"), rp.losses.MaxVariance("sqrt"), rp.losses.Targets(3.0)]
)


def plan_of_abc(domain=ABC):
    return select(marginals(domain, order=1), budget=zcdp(1))


def test_totals_are_those_of_the_plans():
    plans = {"sum": select(WORKLOAD, budget=zcdp(1)), "max": select(WORKLOAD, budget=rp.privacy.gdp(1), loss="max")}
    totals = rp.questions.compare(plans).totals
    assert list(totals.index) == ["sum", "max"]
    for name, plan in plans.items():
        row = totals.loc[name]
        assert (row["pcost"], row["rho"], row["rmse"]) == (plan.pcost, plan.pcost / 2, plan.rmse)
        assert row["max_std_err"] == math.sqrt(plan.max_variance)
        stated = plan.loss.words, plan.loss_value, plan.gap, plan.suboptimality
        assert tuple(row[["loss", "loss_value", "gap", "suboptimality"]]) == stated
        assert row["queries"] == 7
        assert row["neighbors"] == "adding or removing one record"


def test_a_query_is_compared_by_every_plan_that_answers_it():
    kinds = {"a": Range(), "b": Identity()}
    first = select(Workload(ABC, [("a", "b"), ("c",)]), budget=zcdp(1))
    second = select(Workload(ABC, [("b",), kinds]), budget=zcdp(1))
    queries = rp.questions.compare([first, second], level=0.9).queries
    assert list(queries.columns.get_level_values(0).unique()) == ["std_err", "max_std_err", "moe"]
    assert [name[:2] for name in queries.index] == [
        ("b", "identity"),
        ("c", "identity"),
        ("a × b", "identity × identity"),
        ("a × b", "range × identity"),
    ]
    assert queries.index.get_level_values("cells").tolist() == [2, 4, 6, 12]
    for name, plan in (("plan 1", first), ("plan 2", second)):
        for row, query in enumerate([("b",), ("c",), ("a", "b"), kinds]):
            found = queries.iloc[row]
            if name == "plan 2" and query == ("c",):
                assert found.xs(name, level=1).isna().all()
                continue
            variances = plan.variance(query)
            assert found["std_err", name] == pytest.approx(math.sqrt(variances.mean()), rel=1e-9)
            assert found["max_std_err", name] == pytest.approx(math.sqrt(variances.max()), rel=1e-9)
            assert found["moe", name] == pytest.approx((1.6448536 + 2**-18) * found["std_err", name], rel=1e-6)


def test_a_comparison_in_words_has_both_tables():
    text = str(
        rp.questions.compare(
            {"mine": select(marginals(Domain({f"x{i}": 2 for i in range(8)}), up_to=2), budget=zcdp(1))}
        )
    )
    assert "sum of variances, weights cells" in text
    assert "standard error of a cell, 20 of 37 queries" in text
    assert "x0 × x1" in text


def test_a_kind_that_the_basis_does_not_span_is_not_answered():
    halves = {"c": Custom([[1, 1, 0, 0], [0, 0, 1, 1]])}
    basis = bases.matrix.integer_basis(np.array([[1, 1, -1, -1]]), "given")
    plan = select(Workload(ABC, [halves]), budget=pcost(1), bases={"c": basis})
    queries = Workload(ABC, [halves, ("c",), {"c": Prefix()}, ()])
    assert list(queries.take(comparison.restriction(plan, queries))) == [(), next(iter(plan.workload))]


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        *((partial(rp.questions.compare, given), WRONG_WORK, "compare takes plans") for given in NO_PLANS),
        (lambda: rp.questions.compare([plan_of_abc(), plan_of_abc(Domain({"a": 4}))]), WRONG_WORK, "over the same dom"),
        *((partial(rp.questions.sweep, WORKLOAD, given), rp.errors.BudgetError, "budgets must be a list")
          for given in ([], zcdp(1), [1.0], "zcdp", None)),
        *((partial(rp.questions.sweep, WORKLOAD, [zcdp(1)], given), WRONG_WORK, "losses must be one loss or")
          for given in ([], {})),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


@settings(max_examples=20, deadline=None)
@given(case=cases(weighted=False), loss=losses, neighbors=st.sampled_from(["add-remove", "replace"]))
def test_a_sweep_is_what_planning_for_each_budget_gives(case, loss, neighbors):
    if len(case.workload.closure) == 1:
        neighbors = "add-remove"
    table = rp.questions.sweep(case.workload, BUDGETS, loss, level=0.9, neighbors=neighbors, records_per_person=2)
    for budget, (_, row) in zip(BUDGETS, table.iterrows(), strict=True):
        plan = select(case.workload, budget=budget, loss=loss, neighbors=neighbors, records_per_person=2)
        assert row["budget"] == budget.statement
        assert row["pcost"] == pytest.approx(plan.pcost, rel=1e-9)
        assert row["pcost"] <= budget.pcost_exact
        assert row["rho"] == budget.rho
        assert row["rmse"] == pytest.approx(plan.rmse, rel=1e-9)
        assert row["max_std_err"] == pytest.approx(math.sqrt(plan.max_variance), rel=1e-9)
        assert row["loss_value"] == pytest.approx(plan.loss_value, rel=1e-9)
        moe = plan.errors(level=0.9)["moe"]
        assert row["median_moe"] == pytest.approx(moe.median(), rel=1e-9)
        assert row["max_moe"] == pytest.approx((1.6448536 + 2**-18) * row["max_std_err"], rel=1e-6)
        if isinstance(loss, rp.losses.Targets):
            assert row["meets_targets"] == plan.meets_targets


def test_a_sweep_plans_anew_for_functions():
    def loss(variances):
        return cvxpy.norm(variances - 0.001, 4)

    table = rp.questions.sweep(WORKLOAD, [pcost(1), pcost(5)], {"mine": loss, "max": "max"})
    assert table["loss"].tolist() == ["mine", "mine", "max", "max"]
    for row, budget in enumerate([pcost(1), pcost(5)]):
        plan = select(WORKLOAD, budget=budget, loss=loss)
        assert table["rmse"][row] == pytest.approx(plan.rmse, rel=1e-9)
        assert table["loss_value"][row] == pytest.approx(plan.loss_value, rel=1e-9)
