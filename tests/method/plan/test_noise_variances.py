"""The noise variances of a plan are a mapping from attribute names, in any order."""

import pytest

import residualplanner as rp
from residualplanner import Domain, Identity, Numeric, Sum, Workload, marginals, pcost, select

PLAN = select(marginals(Domain({"a": 2, "one": 1, "b": 3}), up_to=2), budget=pcost(1))


def test_every_set_of_the_closure_is_a_key_whatever_the_order_of_its_names():
    assert list(PLAN.noise_variance_of) == [(), ("a",), ("b",), ("a", "b")]
    with pytest.raises(ValueError, match="read-only"):
        PLAN.noise_variance_of.array[0] = 1.0
    assert PLAN.noise_variance_of["b", "a"] == PLAN.noise_variance_of["a", "b"] == PLAN.noise_variances[3]


@pytest.mark.parametrize("names", [("unknown",), ("one",), ("a", "one"), ("a", "a"), 3])
def test_anything_else_is_not_a_key(names):
    assert names not in PLAN.noise_variance_of


def test_amounts_in_one_bin_are_a_key_though_their_count_by_bin_is_no_query():
    domain = Domain({"sex": 2, "pay": Numeric(0, 40)})
    plan = select(Workload(domain, [{"sex": Identity(), "pay": Sum()}]), budget=pcost(1))
    assert [plan.noise_variance_of[names] for names in plan.noise_variance_of] == plan.noise_variances.tolist()


def test_weights_that_name_one_query_twice_are_refused():
    workload = Workload(PLAN.domain, [("a", "b")])
    with pytest.raises(rp.errors.WorkloadError, match="name one query twice"):
        select(workload, budget=pcost(1), loss=rp.losses.SumOfVariances({("a", "b"): 1.0, ("b", "a"): 2.0}))
