"""Intervals of numbers that are not unbiased: those of the unbiased estimates, cut at the counts that are possible."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from inner_parts import facts as facts_part
from inner_parts import margins
from made_releases import exact_release, one_table

DOMAIN = rp.Domain({"a": 3, "b": 2, "one": 1, "c": 2})
QUERIES = [("a", "b"), ("c", "one", "b"), {"a": rp.Prefix()}, {"a": rp.Custom([[1, 1, 1], [1, -2, 0], [0, 0, 3]])}, ()]


@pytest.mark.parametrize("kind", [rp.nonnegative, rp.rounded, lambda release: rp.rounded(rp.nonnegative(release))])
def test_intervals_are_those_of_the_unbiased_estimates_cut_at_0(kind):
    release = one_table((-9.0, 30.0))
    # each cell has the variance 2 / 4 + 8 / 2
    margin = margins.margin_factor(0.9) * 4.5**0.5
    low, high = kind(release)["a"].interval(0.9)
    is_cut = kind is not rp.rounded
    assert low == pytest.approx([0 if is_cut else -9 - margin, 30 - margin])
    assert high == pytest.approx([0 if is_cut else -9 + margin, 30 + margin])


def test_known_counts_and_cells_that_cannot_occur_have_intervals_of_length_0_and_parts_at_most_the_total():
    low, high = rp.nonnegative(one_table((1.0, 22.0)), known={(): 23})["a"].interval(0.99)
    margin = margins.margin_factor(0.99) * 4.5**0.5
    assert low == pytest.approx([0, 22 - margin])
    assert high == pytest.approx([1 + margin, 23])
    plan = rp.select(rp.Workload(DOMAIN, QUERIES[:2]), budget=rp.zcdp("0.01"))
    data = np.arange(12.0).reshape(DOMAIN.sizes)
    known, impossible = {"b": data.sum(axis=(0, 2, 3))}, [{"a": 0, "b": 1}]
    tables = rp.nonnegative(exact_release(plan, data), known=known, impossible=impossible)
    for end in tables["b"].interval():
        assert end == pytest.approx(known["b"])
    low, high = tables["b", "a"].interval()
    assert (low[1, 0], high[1, 0]) == (0, 0)
    assert high[1, 1] > low[1, 1]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), facts=st.sets(st.sampled_from(["total", "b", "ab", "cells"])))
def test_no_true_count_is_outside_the_limits(seed, facts):
    chance = np.random.default_rng(seed)
    truth = chance.poisson(1.0, DOMAIN.sizes).astype(float)
    if "cells" in facts:
        truth[:2, 1] = 0
    every = {
        "total": ((), truth.sum()),
        "b": (("b",), truth.sum(axis=(0, 2, 3))),
        "ab": (("b", "a"), truth.sum((2, 3)).T),
    }
    impossible = [{"a": [0, 1], "b": 1}] if "cells" in facts else []
    plan = rp.select(rp.Workload(DOMAIN, QUERIES), budget=rp.zcdp(1))
    found = facts_part.read_facts(plan, [every[name] for name in facts if name in every], impossible)
    without_noise = exact_release(plan, truth)
    release = exact_release(plan, truth + chance.normal(0, 5, DOMAIN.sizes))
    for query in plan.workload:
        origin = facts_part.origin_of(release[query], found)
        expected = without_noise[query].estimate
        assert (origin.least <= expected + 1e-9).all()
        assert (expected <= origin.most + 1e-9).all()


def test_a_sum_of_cells_has_the_sums_of_their_limits():
    plan = rp.select(rp.Workload(DOMAIN, QUERIES[:2]), budget=rp.zcdp(1))
    tables = rp.nonnegative(exact_release(plan, np.ones(DOMAIN.sizes)), impossible=[{"a": 0, "b": 1}])
    low, high = tables["a", "b"].sum("b").interval(0.999)
    assert (low >= 0).all()
    assert (high > low).all()
    with pytest.raises(rp.errors.WorkloadError, match="a margin of error is known of unbiased"):
        tables["a", "b"].sum("b").moe()
