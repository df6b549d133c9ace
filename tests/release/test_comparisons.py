"""Estimates that are calculated with, tables that are compared, and ranks: errors against explicit matrices."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from random_plans import mechanism, query_rows
from residualplanner.method.workload.query import written_query
from residualplanner.release.estimate import Estimate

IDENTITY, PREFIX, RANGE = rp.Identity(), rp.Prefix(), rp.Range()
DOMAIN = rp.Domain({"a": 3, "b": 4, "c": 2, "one": 1})
WORKLOAD = rp.Workload(
    DOMAIN, [{"a": PREFIX, "b": IDENTITY}, {"a": IDENTITY, "c": IDENTITY}, {"b": RANGE, "c": IDENTITY}, ("a", "b", "c")]
)
RECORDS = np.stack(np.unravel_index(np.arange(2400) ** 2 % 24, (3, 4, 2, 1)), axis=1)
#: Two queries each, and which of its cells the second has beside a cell of the first.
PAIRS = [
    (("a", "b"), ("a",), lambda a, b: (a,)),
    (("b", "a"), ("a",), lambda b, a: (a,)),
    ({"a": PREFIX, "b": IDENTITY}, ("a", "b"), lambda a, b: (a, b)),
    (("a", "b", "c"), ("c", "b"), lambda a, b, c: (c, b)),
    (("a", "b", "c"), (), lambda a, b, c: ()),
    (("a", "b", "c"), rp.Among(("c",), where={"b": 1}), lambda a, b, c: (c,)),
    (("a",), rp.Among((), where={"c": 1}), lambda a: ()),
    (("c",), rp.Among(("c",), where={"a": [0, 2], "b": 3}), lambda c: (c,)),
]


@pytest.fixture(scope="module", params=["orthogonal", "optimal", "optimal_by_set"])
def release(request):
    plan = rp.select(WORKLOAD, budget=rp.zcdp(2), bases=request.param)
    return rp.reconstruct(rp.measure(plan, RECORDS, noise="gaussian", seed=1))


def joint_covariance(plan, *queries):
    """The covariance of the least squares answers of several queries, from explicit matrices."""
    rows = [query_rows(plan, query) for query in queries]
    return dense.least_squares_covariance(*mechanism(plan), np.concatenate(rows)), np.cumsum(
        [len(each) for each in rows]
    )


def written(plan, query):
    """A query with its attributes in the domain's order, in which explicit matrices have its cells."""
    positions, kinds = written_query(plan.domain, query).in_domain_order
    return {plan.domain.names[position]: kind for position, kind in zip(positions, kinds, strict=True)}


@pytest.mark.parametrize(("query", "other", "beside"), PAIRS)
def test_covariances_of_two_tables_are_those_of_explicit_matrices(release, query, other, beside):
    plan = release.plan
    found = plan.covariance_with(query, other)
    one, two = written(plan, query), written(plan, other)
    covariance, (first, _) = joint_covariance(plan, one, two)
    shapes = [[kind.rows(plan.domain[name].size) for name, kind in each.items()] for each in (one, two)]
    block = covariance[:first, first:].reshape(*shapes[0], *shapes[1])
    axes = [name for name in query if one[name].is_axis]
    for cell in np.ndindex(*found.shape):
        at = dict(zip(axes, cell, strict=True))
        where = dict(zip([name for name in other if two[name].is_axis], beside(*cell), strict=True))
        index = (*(at[name] for name in one), *(where.get(name, 0) for name in two))
        assert found[cell] == pytest.approx(block[index], rel=1e-7, abs=1e-9)


def test_a_table_that_has_cells_of_its_own_beside_another_is_refused(release):
    with pytest.raises(rp.errors.WorkloadError, match=r"no cell for each of .* on 'b'; sum over it first"):
        release.plan.covariance_with(("a",), ("a", "b"))
    with pytest.raises(rp.errors.WorkloadError, match="first table has no attribute 'b'"):
        rp.statistics.difference(release["a",], release["a", "b"])
    with pytest.raises(rp.errors.WorkloadError, match="other labels of 'a'"):
        rp.statistics.ratio(release["a",], release[{"a": PREFIX}])


weights = st.lists(st.integers(-3, 3), min_size=24, max_size=24)


@settings(max_examples=25, deadline=None)
@given(weights, weights, st.floats(-2, 2))
def test_sums_of_estimates_of_several_tables_have_the_variances_of_explicit_matrices(release, first, second, factor):
    plan = release.plan
    one, two = release["a", "b", "c"], release[{"b": RANGE, "c": IDENTITY}]
    of_one = np.array(first, dtype=float).reshape(3, 4, 2)
    of_two = np.resize(np.array(second, dtype=float), two.estimate.shape)
    left, right = one.combine(of_one), two.combine(of_two)
    found = left - factor * right + 3
    covariance, _ = joint_covariance(plan, dict.fromkeys("abc", IDENTITY), {"b": RANGE, "c": IDENTITY})
    combined = np.concatenate([of_one.ravel(), -factor * of_two.ravel()])
    expected = combined @ covariance @ combined
    scale = max(left.variance, factor**2 * right.variance, 1e-9)
    assert found.variance == pytest.approx(expected, rel=1e-6, abs=1e-8 * scale)
    assert float(found) == pytest.approx(left.estimate - factor * right.estimate + 3)
    both = covariance[:24, 24:]
    assert left.covariance(right) == pytest.approx(of_one.ravel() @ both @ of_two.ravel(), rel=1e-6, abs=1e-8 * scale)


def test_an_estimate_is_calculated_with_as_a_number(release):
    table = release["a", "c"]
    one, total = table.at(a=0, c=1), release[()].at()
    part = one / total
    assert f"{one:.1f}" == f"{table.estimate[0, 1]:.1f}"
    assert float(part) == pytest.approx(table.estimate[0, 1] / float(release[()].estimate))
    assert (total - one - total).estimate == pytest.approx(-one.estimate)
    assert (total - one - total).variance == pytest.approx(one.variance)
    assert (one - one).variance == 0
    for twice in (2 * one, one * 2, one + one, one / 0.5):
        assert twice.std_err == pytest.approx(2 * one.std_err)
    assert (1 - part).interval() == pytest.approx(tuple(1 - end for end in reversed(part.interval())))
    assert ((total - one) / total).interval() == pytest.approx((1 - part).interval())
    assert (100 * part).std_err == pytest.approx(100 * part.std_err)
    for wrong in (lambda: one * total, lambda: part * one, lambda: "2" / one, lambda: one + "3"):
        with pytest.raises((TypeError, ValueError)):
            wrong()
    apart = Estimate(5.0, 9.0) + one  # from elsewhere: independent
    assert apart.variance == pytest.approx(9 + one.variance)
    assert (apart - one).variance == pytest.approx(9)


def test_the_difference_of_two_proportions_has_the_error_that_a_gradient_of_explicit_matrices_gives(release):
    table = release["a", "c"]
    parts = [table.at(a=a, c=1) / release["a",].at(a=a) for a in (0, 1)]
    found = parts[0] - parts[1]
    covariance, _ = joint_covariance(release.plan, {"a": IDENTITY, "c": IDENTITY})
    cells = table.estimate.ravel()

    def value(at):
        by = at.reshape(3, 2)
        return by[0, 1] / by[0].sum() - by[1, 1] / by[1].sum()

    gradient = np.array([(value(cells + step) - value(cells - step)) / 2e-4 for step in 1e-4 * np.eye(6)])
    assert found.estimate == pytest.approx(value(cells))
    assert found.std_err == pytest.approx(math.sqrt(gradient @ covariance @ gradient), rel=1e-5)


def test_tables_of_one_release_are_compared_with_their_covariance_and_those_of_two_without(release):
    one, other = release["a", "b"], release["a",]
    found = rp.statistics.difference(one, other)
    for a, b in np.ndindex(3, 4):
        expected = one.at(a=a, b=b) - other.at(a=a)
        assert (found.estimate[a, b], found.std_err[a, b]) == pytest.approx((expected.estimate, expected.std_err))
    of_ratio = rp.statistics.ratio(one, other, factor=100)
    expected = 100 * (one.at(a=2, b=3) / other.at(a=2))
    ends = of_ratio.low[2, 3], of_ratio.high[2, 3]
    assert (of_ratio.estimate[2, 3], of_ratio.std_err[2, 3]) == pytest.approx((expected.estimate, expected.std_err))
    assert ends == pytest.approx(expected.interval())
    later = rp.reconstruct(rp.measure(release.plan, RECORDS, noise="gaussian", seed=2))
    changed = rp.statistics.change(later["a",], other)
    both = later["a",].at(a=1) / other.at(a=1) - 1
    assert (changed.estimate[1], changed.low[1], changed.high[1]) == pytest.approx((both.estimate, *both.interval()))
    assert both.above.covariance(both.below) == 0
    assert not rp.statistics.difference(later["a",], later["a",]).is_clear.any()


def test_releases_that_have_some_measurements_in_common_are_not_compared(release):
    first, second = (rp.measure(release.plan, RECORDS, noise="gaussian", seed=seed) for seed in (1, 2))
    both = rp.reconstruct([first, second])
    with pytest.raises(rp.errors.WorkloadError, match="some measurements in common"):
        rp.statistics.difference(both["a",], rp.reconstruct(first)["a",])
    with pytest.raises(rp.errors.WorkloadError, match="some measurements in common"):
        both["a",].at(a=0) - rp.reconstruct(first)["a",].at(a=0)
    again = rp.reconstruct([first, second])
    assert (both["a",].at(a=0) - again["a",].at(a=0)).variance == pytest.approx(0, abs=1e-12)


def test_a_folder_s_tables_have_the_noise_of_the_release(release, tmp_path):
    release.save(tmp_path / "tables", "csv")
    saved = rp.load_tables(tmp_path / "tables")["a", "b", "c"]
    assert (saved.at(a=0, b=0, c=0) - release["a", "b", "c"].at(a=0, b=0, c=0)).variance == pytest.approx(0, abs=1e-12)


def test_tables_that_are_not_unbiased_are_refused(release):
    table = rp.nonnegative(release)["a",]
    for wrong in (
        lambda: rp.statistics.difference(table, release["a",]),
        lambda: rp.statistics.ratio(release["a",], table),
        lambda: rp.statistics.ranks(table),
    ):
        with pytest.raises(rp.errors.WorkloadError, match="known of unbiased estimates only"):
            wrong()


@pytest.mark.thorough
def test_simultaneous_intervals_and_ranks_hold_at_once_as_often_as_they_say():
    domain = rp.Domain({"county": 8, "sex": 2})
    plan = rp.select(rp.marginals(domain, order=2), budget=rp.zcdp(0.02))
    counts = np.array([10, 12, 14, 30, 60, 61, 90, 200])
    records = np.stack([np.repeat(np.arange(8), counts), np.arange(counts.sum()) % 2], axis=1)
    table_of_truth, runs, held = np.stack([np.ceil(counts / 2), counts // 2], axis=1), 300, np.zeros(2)
    ranks_of_truth = (-counts).argsort().argsort() + 1
    for seed in range(runs):
        release = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=seed))
        found = rp.statistics.ratio(release["county", "sex"], release["county",], level=0.8, simultaneous=True)
        true = table_of_truth / counts[:, None]
        held[0] += bool(((found.low <= true) & (true <= found.high)).all())
        ranked = rp.statistics.ranks(release["county",], level=0.8)
        held[1] += bool(((ranked.first <= ranks_of_truth) & (ranks_of_truth <= ranked.last)).all())
        assert sorted(ranked.rank) == list(range(1, 9))
        assert ((ranked.first <= ranked.rank) & (ranked.rank <= ranked.last)).all()
    assert (held / runs >= 0.8 - 3 * math.sqrt(0.16 / runs)).all()
    assert list(ranked.to_frame()["rank"]) == list(range(1, 9))


def test_a_ratio_to_next_to_nothing_has_no_ends():
    plan = rp.select(rp.marginals(rp.Domain({"a": 2}), order=1), budget=rp.zcdp(0.01))
    release = rp.reconstruct(rp.measure(plan, np.zeros((3, 1), dtype=int), noise="gaussian", seed=1))
    found = rp.statistics.ratio(release["a",], release[()])
    assert np.isneginf(found.low).any()
    assert np.isposinf(found.high).any()
    assert set(found.to_frame().columns) == {"a", "estimate", "std_err", "low", "high"}
