"""A plan comes back from its file as it was."""

import math
from fractions import Fraction

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import Attribute, Domain, Workload, approx_dp, load_plan, marginals, pcost, select, zcdp
from residualplanner.method.plan.files import plan_from_archive, plan_hash, plan_to_archive
from saved_plans import DOMAIN, require_equal, small_plan
from strategies import cases

BUDGETS = [
    zcdp("0.5"),
    rp.privacy.gdp(1.3),
    pcost(Fraction(1, 3)),
    approx_dp(1, 1e-6),
    approx_dp(1, 1e-6, noise="gaussian"),
]


@settings(max_examples=30)
@given(
    case=cases(),
    budget=st.sampled_from(BUDGETS),
    loss=st.sampled_from(["sum", "max", rp.losses.SumOfVariances("sqrt")]),
)
def test_a_plan_comes_back_as_it_was(tmp_path_factory, case, budget, loss):
    plan, path = select(case.workload, budget=budget, loss=loss), tmp_path_factory.mktemp("plan") / "plan.zip"
    plan.save(path)
    again = load_plan(path)
    require_equal(plan, again)
    assert plan_hash(plan) == plan_hash(again)
    assert plan.errors().equals(again.errors())
    for query in again.workload:
        np.testing.assert_array_equal(plan.variance(query), again.variance(query))
        np.testing.assert_array_equal(plan.covariance(query), again.covariance(query))


@pytest.mark.parametrize(
    "plan",
    [
        small_plan,
        lambda: select(marginals(DOMAIN, order=3), at_most=7.5),
        lambda: select(marginals(DOMAIN, order=2), at_most=7.5, loss="max"),
        lambda: select(marginals(DOMAIN, up_to=2), budget=rp.privacy.gdp(1), loss=lambda v: cvxpy.norm(v, 4)),
        lambda: select(marginals(DOMAIN, up_to=2), at_most=3, loss=cvxpy.max),
        lambda: select(Workload(DOMAIN, [()]), budget=pcost(1)),
        lambda: select(Workload(Domain({}), [()]), budget=pcost(1)),
        lambda: select(Workload(Domain({"k": 1, "a": 3}), [("k", "a"), ("k",)], [2, 0.5]), budget=pcost(1)),
        lambda: select(marginals(DOMAIN, order=2), budget=pcost(1e-300), loss=rp.losses.MaxVariance([1, 2, 3])),
        lambda: select(Workload(Domain({"é × ü": ["“", "\\"], "b": 2**40}), [("b", "é × ü")]), budget=pcost(7)),
        lambda: select(Workload(Domain({"a": Attribute("a", 3, unknown="drop")}), ["a"]), budget=pcost(1)),
        lambda: select(Workload(DOMAIN, [("region", "age"), ("sex", "region", "age"), ("age",)]), budget=pcost(1)),
    ],
)
def test_every_sort_of_plan_comes_back(tmp_path, plan):
    made = plan()
    made.save(tmp_path / "plan")
    require_equal(made, load_plan(tmp_path / "plan"))


def test_a_loss_reached_that_was_written_as_an_integer_has_the_same_hash_when_it_comes_back(tmp_path):
    made = select(marginals(DOMAIN, up_to=2), at_most=3, loss=cvxpy.max)
    made.save(tmp_path / "plan")
    assert plan_hash(load_plan(tmp_path / "plan")) == plan_hash(made)


def test_an_unproved_gap_comes_back(tmp_path):
    made = select(marginals(DOMAIN, up_to=2), budget=pcost(1), loss=lambda v: cvxpy.sum_squares(v - 100))
    assert made.gap == math.inf
    made.save(tmp_path / "plan")
    require_equal(made, load_plan(tmp_path / "plan"))


@pytest.mark.parametrize("kind", [rp.losses.SumOfVariances, rp.losses.MaxVariance])
def test_weights_given_one_by_one_come_back_and_plan_the_same_again(tmp_path, kind):
    weights = {("sex",): 3, ("region",): 1, ("age",): 0.5}
    made = select(marginals(DOMAIN, order=1), budget=pcost(1), loss=kind(weights))
    made.save(tmp_path / "plan")
    loss = load_plan(tmp_path / "plan").loss
    assert loss.words == f"{kind().words.partition(',')[0]}, weights given"
    np.testing.assert_array_equal(loss.weights, [weights[query] for query in made.workload])
    again = select(made.workload, budget=pcost(1), loss=loss)
    np.testing.assert_array_equal(again.noise_variances, made.noise_variances)
    with pytest.raises(ValueError, match="read-only"):
        made.loss.weights[0] = 7


def test_of_a_function_its_words_come_back_and_no_plan_can_be_made_with_them(tmp_path):
    select(marginals(DOMAIN, order=1), budget=pcost(1), loss=cvxpy.max).save(tmp_path / "plan")
    loss = load_plan(tmp_path / "plan").loss
    assert loss.words == "convex loss, solver CLARABEL"
    with pytest.raises(
        rp.errors.WorkloadError, match=r"does not hold its loss \(convex loss, solver CLARABEL\) in full"
    ):
        select(marginals(DOMAIN, order=1), budget=pcost(1), loss=loss)


@pytest.mark.parametrize(
    "loss",
    [
        None,
        "sum",
        {},
        {"kind": "sum"},
        {"kind": "sum", "weights": None},
        {"kind": "sum", "weights": "odd"},
        {"kind": "max", "weights": []},
        {"kind": "max", "weights": "cells", "level": 1},
        {"kind": ["sum"]},
        {"kind": "described", "words": 3},
        {"kind": "described", "words": "x" * 1001},
    ],
    ids=str,
)
def test_losses_that_cannot_be_are_refused(loss):
    header, arrays = plan_to_archive(small_plan())
    with pytest.raises(rp.errors.FileFormatError, match="a plan's loss must be one of the kinds"):
        plan_from_archive({**header, "loss": loss}, arrays)


def test_weights_that_cannot_be_are_refused():
    made = select(marginals(DOMAIN, order=1), budget=pcost(1), loss=rp.losses.MaxVariance([1, 2, 3]))
    header, arrays = plan_to_archive(made)
    name, weights = "loss/weights", arrays["loss/weights"]
    for other in (weights[:2], -weights, weights * 0, weights * math.inf, weights * math.nan, weights.astype("<f4")):
        with pytest.raises(rp.errors.FileFormatError, match="a plan's weights must be"):
            plan_from_archive(header, {**arrays, name: other})
    without = {key: array for key, array in arrays.items() if key != name}
    for forged in ((header, without), ({**header, "loss": {"kind": "max", "weights": "cells"}}, arrays)):
        with pytest.raises(rp.errors.FileFormatError, match="and no other arrays"):
            plan_from_archive(*forged)


def test_equal_plans_have_equal_files_and_hashes_and_others_do_not(tmp_path):
    for name in ("one", "two"):
        small_plan().save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert plan_hash(small_plan()) == plan_hash(small_plan())
    assert plan_hash(select(marginals(DOMAIN, up_to=2), budget=zcdp("0.6"))) != plan_hash(small_plan())


@pytest.mark.slow
def test_a_plan_of_a_hundred_thousand_sets_comes_back(tmp_path):
    workload = marginals(Domain({f"x{i}": 2 + i % 9 for i in range(84)}), up_to=3)
    plan = select(workload, budget=pcost(1))
    assert len(plan.closure) > 95_000
    plan.save(tmp_path / "plan")
    assert (tmp_path / "plan").stat().st_size < 6_000_000
    require_equal(plan, load_plan(tmp_path / "plan"))


def test_saving_replaces_a_file_and_leaves_nothing_beside_it(tmp_path):
    (tmp_path / "plan").write_text("old")
    small_plan().save(tmp_path / "plan")
    assert [path.name for path in tmp_path.iterdir()] == ["plan"]
    require_equal(load_plan(tmp_path / "plan"), small_plan())


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_plan(tmp_path / "nowhere")
