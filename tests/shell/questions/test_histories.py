"""Known and historical queries in one workload."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import Domain, Threshold, Workload

DOMAIN = Domain({"a": 2, "b": 3, "c": 4})
QUERIES = [("a",), ("a", "b"), ("b", "c"), Threshold(("a", "b"), 1), Threshold(("a", "b", "c"), 2)]
WEIGHTED = st.dictionaries(st.sampled_from(range(len(QUERIES))), st.floats(0.5, 4), min_size=1)


def workload(weights):
    return Workload(DOMAIN, [QUERIES[number] for number in weights], weights=list(weights.values()))


def by_query(found):
    return dict(zip(map(str, found), found.weights.tolist(), strict=True))


@given(known=WEIGHTED, past=WEIGHTED, part=st.floats(0.01, 0.99))
def test_a_query_has_the_weighted_sum_of_its_weights(known, past, part):
    names = {number: str(next(iter(workload({number: 1.0})))) for number in range(len(QUERIES))}
    expected = {
        names[number]: (1 - part) * known.get(number, 0) + part * past.get(number, 0) for number in known.keys() | past
    }
    assert by_query(rp.questions.with_history(workload(known), workload(past), history_weight=part)) == pytest.approx(
        expected
    )


def test_at_the_ends_only_one_of_them_is_left():
    known, past = workload({0: 1.0}), workload({1: 1.0})
    assert rp.questions.with_history(known, past, history_weight=0) is known
    assert rp.questions.with_history(known, past, history_weight=1) is past


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan])
def test_a_weight_outside_0_to_1_is_refused(wrong):
    with pytest.raises(rp.errors.WorkloadError, match="history_weight must be between 0 and 1"):
        rp.questions.with_history(workload({0: 1.0}), workload({1: 1.0}), history_weight=wrong)


def test_workloads_of_two_domains_are_refused_whatever_they_weigh():
    other = Workload(Domain({"a": 2}), [("a",)])
    for part in (0, 0.5, 1):
        with pytest.raises(rp.errors.WorkloadError, match="same domain"):
            rp.questions.with_history(workload({0: 1.0}), other, history_weight=part)
    with pytest.raises(rp.errors.ArgumentError, match="prespecified"):
        rp.questions.with_history([("a",)], other, history_weight=0.5)
