"""A plan comes back from its file as it was, with its bases and its loss."""

import math
from dataclasses import replace
from fractions import Fraction

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from random_plans import basis_of
from residualplanner import Attribute, Custom, Domain, Prefix, Range, Workload, approx_dp, marginals, pcost
from residualplanner import select as selected
from saved_plans import DOMAIN, plan_hash, require_equal_bases, small_plan, through_a_file
from strategies import cases

MaxVariance, SumOfVariances, Targets = rp.losses.MaxVariance, rp.losses.SumOfVariances, rp.losses.Targets
BUDGETS = [
    *(rp.zcdp("0.5"), rp.privacy.gdp(1.3), pcost(Fraction(1, 3))),
    *(approx_dp(1, 1e-6), approx_dp(1, 1e-6, noise="gaussian")),
]
FOUR = Domain({"a": 3, "b": 3, "c": 2, "d": 3})
OTHER = basis_of(3, [[2, -1, 0], [1, 1, -3]])
FOUND = replace(basis_of(3, [[1, 0, 0], [1, 1, 0]]), family="optimal")
GIVEN = {"a": FOUND, "b": OTHER, "d": replace(basis_of(3, FOUND.matrix), family="optimal")}
KINDS = {"a": Prefix(), "b": Range(), "d": Custom([[1, 1, 0], [0, 0, 1]], labels=["low", "high"])}
PAIRS = marginals(DOMAIN, up_to=2)


def select(workload, **options):
    """A plan, of cost 1 where nothing else is said."""
    return selected(workload, **({} if options.keys() & {"budget", "at_most"} else {"budget": pcost(1)}), **options)


def with_bases(**bases):
    return select(marginals(FOUR, up_to=2), bases={**GIVEN, **bases})


@settings(max_examples=30)
@given(case=cases(), budget=st.sampled_from(BUDGETS), loss=st.sampled_from(["sum", "max", SumOfVariances("sqrt")]))
def test_a_plan_comes_back_as_it_was(tmp_path_factory, case, budget, loss):
    plan = select(case.workload, budget=budget, loss=loss)
    again = through_a_file(plan, tmp_path_factory.mktemp("plan"))
    assert plan.errors().equals(again.errors())
    for query in again.workload:
        np.testing.assert_array_equal(plan.variance(query), again.variance(query))
        np.testing.assert_array_equal(plan.covariance(query), again.covariance(query))


@pytest.mark.parametrize(
    "plan",
    [
        *(with_bases, small_plan),
        lambda: select(marginals(FOUR, up_to=2, kinds=KINDS)),
        lambda: select(marginals(FOUR, up_to=2, kinds=KINDS), bases={"d": OTHER}),
        lambda: select(marginals(FOUR, up_to=2, kinds=KINDS), bases="orthogonal", loss="max", gap=1e-3),
        lambda: select(marginals(DOMAIN, order=3), at_most=7.5),
        lambda: select(marginals(DOMAIN, order=2), at_most=7.5, loss="max"),
        lambda: select(PAIRS, loss=lambda v: cvxpy.norm(v, 4)),
        lambda: select(PAIRS, at_most=3, loss=cvxpy.max),
        lambda: selected(PAIRS, loss=Targets({("age",): 3, ("region", "sex"): 5.5}, level=0.9, reserve=0.1)),
        lambda: select(Workload(DOMAIN, [()])),
        lambda: select(Workload(Domain({}), [()])),
        lambda: select(Workload(Domain({"k": 1, "a": 3}), [("k", "a"), ("k",)], [2, 0.5])),
        lambda: select(marginals(DOMAIN, order=2), budget=pcost(1e-300), loss=MaxVariance([1, 2, 3])),
        lambda: select(Workload(Domain({"é × ü": ["“", "\\"], "b": 2**40}), [("b", "é × ü")]), budget=pcost(7)),
        lambda: select(Workload(Domain({"a": Attribute("a", 3, unknown="drop")}), ["a"])),
        lambda: select(Workload(DOMAIN, [("region", "age"), ("sex", "region", "age"), ("age",)])),
    ],
)
def test_every_sort_of_plan_comes_back(tmp_path, plan):
    made = plan()
    again = through_a_file(made, tmp_path)
    if made.domain.cells() < 10**6:
        require_equal_bases(made, again)


@pytest.mark.parametrize("kind", [SumOfVariances, MaxVariance])
def test_weights_given_one_by_one_come_back_and_plan_the_same_again(tmp_path, kind):
    weights = {("sex",): 3, ("region",): 1, ("age",): 0.5}
    made = select(marginals(DOMAIN, order=1), loss=kind(weights))
    loss = through_a_file(made, tmp_path).loss
    assert loss.words == f"{kind().words.partition(',')[0]}, weights given"
    np.testing.assert_array_equal(loss.weights, [weights[query] for query in made.workload])
    np.testing.assert_array_equal(select(made.workload, loss=loss).noise_variances, made.noise_variances)
    with pytest.raises(ValueError, match="read-only"):
        made.loss.weights[0] = 7


def test_a_gap_that_is_not_proved_comes_back(tmp_path):
    made = select(PAIRS, loss=lambda v: cvxpy.sum_squares(v - 100))
    assert made.gap == through_a_file(made, tmp_path).gap == math.inf


def test_what_a_file_holds_of_a_loss(tmp_path):
    """Of targets the margins, and of a function its words only, with which no plan can be made."""
    plan = selected(PAIRS, loss=Targets({("age",): 3, ("region", "sex"): 5.5}, level=0.9, reserve=0.1))
    again = through_a_file(plan, tmp_path)
    assert (again.targets.level, again.targets.reserve) == (0.9, 0.1)
    np.testing.assert_array_equal(again.targets.margins, plan.targets.margins)
    assert not again.targets.margins.flags.writeable
    assert plan.errors().equals(again.errors())
    loss = through_a_file(select(marginals(DOMAIN, order=1), loss=cvxpy.max), tmp_path).loss
    assert loss.words == "convex loss, solver CLARABEL"
    with pytest.raises(rp.errors.WorkloadError, match=r"does not hold its loss \(convex loss, solver CLARABEL\) in fu"):
        select(marginals(DOMAIN, order=1), loss=loss)


def test_equal_plans_have_equal_files_and_hashes_and_others_do_not(tmp_path):
    (tmp_path / "two").write_text("old")
    for name in ("one", "two"):
        small_plan().save(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert plan_hash(small_plan()) == plan_hash(small_plan())
    assert plan_hash(select(PAIRS, budget=rp.zcdp("0.6"))) != plan_hash(small_plan())
    plan, *others = (
        with_bases(**bases)
        for bases in ({}, {"d": OTHER}, {"b": replace(OTHER, family="orthogonal")}, {"b": basis_of(3, -OTHER.matrix)})
    )
    assert len({plan_hash(each) for each in (plan, *others)}) == 4
    np.testing.assert_array_equal(plan.noise_variances, others[1].noise_variances)
    np.testing.assert_allclose(plan.noise_variances, others[2].noise_variances)


@pytest.mark.slow
def test_a_plan_of_a_hundred_thousand_sets_comes_back(tmp_path):
    plan = select(marginals(Domain({f"x{i}": 2 + i % 9 for i in range(84)}), up_to=3))
    assert len(plan.closure) > 95_000
    through_a_file(plan, tmp_path)
    assert (tmp_path / "plan").stat().st_size < 6_000_000
