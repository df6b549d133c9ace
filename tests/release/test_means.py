"""Means and quantiles by group: errors against explicit matrices, intervals against their definitions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from random_plans import mechanism
from residualplanner.release.ratios import fieller_interval

IDENTITY = rp.Identity()
BY_JOB = {"job": IDENTITY, "pay": rp.Sum()}
STATED = rp.Attribute("pay", numeric=rp.Numeric(-10, 30, bins=[5]), missing="Not stated")
MARGIN = 1.959963984540054


def release_of(pay, queries, records=None, *, seed=1):
    domain = rp.Domain({"job": 3, "pay": pay})
    plan = rp.select(rp.Workload(domain, queries), budget=rp.zcdp(0.5))
    if records is None:
        records = pd.DataFrame({"job": [0, 1] * 100, "pay": [-4.0, 20.0] * 100})
    return rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=seed))


def test_standard_errors_of_means_are_those_of_explicit_matrices():
    release = release_of(STATED, [("job", "pay"), BY_JOB])
    found = rp.statistics.means(release, "pay", ["job"])
    one = np.array([[1, 1, 1, 1, 0], [-10, 5, 5, 30, 0]])
    covariance = dense.least_squares_covariance(*mechanism(release.plan), np.kron(np.eye(3), one))
    for job in range(2):
        gradient = np.array([-found.estimate[job], 1]) / found.count[job]
        block = covariance[2 * job : 2 * job + 2, 2 * job : 2 * job + 2]
        assert found.std_err[job] == pytest.approx(np.sqrt(gradient @ block @ gradient), rel=1e-6)


entries = st.floats(-50, 50)


@given(above=entries, below=entries, scale=st.floats(0.1, 20), other=st.floats(0.1, 20), r=st.floats(-0.95, 0.95))
@settings(max_examples=150)
def test_fieller_s_interval_is_all_that_a_search_over_ratios_does_not_exclude(above, below, scale, other, r):
    covariance, limit = r * scale * other, 10.0
    low, high = fieller_interval(tuple(map(np.array, (above, below, scale**2, other**2, covariance))), MARGIN, limit)
    t = np.linspace(-limit, limit, 20_001)
    spread = np.sqrt(scale**2 - 2 * t * covariance + t**2 * other**2)
    kept = t[np.abs(above - t * below) <= MARGIN * spread]
    if len(kept):
        np.testing.assert_allclose([low, high], [kept[0], kept[-1]], atol=2e-3)
    assert -limit <= low <= high <= limit


@pytest.mark.parametrize("count", [1, 3, 10, 100])
def test_intervals_of_means_of_small_groups_cover_as_often_as_stated(count):
    chance, mean, draws = np.random.default_rng(count), 4.0, 20_000
    covariance = np.array([[4.0, 3.0], [3.0, 60.0]])
    below, above = chance.multivariate_normal([count, mean * count], covariance, draws).T
    variances = (np.full(draws, entry) for entry in (60.0, 4.0, 3.0))
    low, high = fieller_interval((above, below, *variances), MARGIN, 10.0)
    assert ((low <= mean) & (mean <= high)).mean() >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / draws)


def test_means_of_negative_amounts_are_near_the_truth_and_an_empty_group_has_none_to_speak_of():
    for seed in range(8):
        release = release_of(STATED, [("job", "pay"), BY_JOB], seed=seed)
        found = rp.statistics.means(release, "pay", ["job"])
        assert (np.abs(found.estimate[:2] - [-4, 20]) < 5 * found.std_err[:2]).all()
        assert found.too_noisy.tolist() == (found.count <= MARGIN * found.count_std_err).tolist()
        assert seed != 1 or (found.low[2], found.high[2], found.too_noisy[2]) == (-10, 30, True)
    everybody = rp.statistics.means(release, "pay")
    assert abs(everybody.estimate - 8) < 5 * everybody.std_err


@pytest.mark.parametrize(
    "queries", [[BY_JOB], [BY_JOB, ("job",)], [("job", "pay")], [{"pay": rp.Sum()}, ("job", "pay")]]
)
def test_what_a_plan_lacks_for_means_is_named(queries):
    needed = r"mean of 'pay' by \['job'\]; let the workload have \{'job': Identity\(\), 'pay': Mean\(\)\}"
    release = release_of(STATED, queries)
    if queries[0] == {"pay": rp.Sum()}:
        assert rp.statistics.means(release, "pay", ["job"]).count.shape == (3,)  # bases know the sum's row
    else:
        with pytest.raises(rp.errors.WorkloadError, match=needed):
            rp.statistics.means(release, "pay", ["job"])


def test_amounts_that_nobody_leaves_out_need_the_sum_and_the_groups_only():
    found = rp.statistics.means(release_of(rp.Numeric(-10, 30), [BY_JOB, ("job",)]), "pay", ["job"])
    assert (np.abs(found.estimate[:2] - [-4, 20]) < 5 * found.std_err[:2]).all()


def test_adjusted_tables_and_what_is_no_release_are_refused():
    for wrong in (rp.nonnegative(release_of(STATED, [("job", "pay"), BY_JOB])), None, "release", [1, 2], {}):
        with pytest.raises(rp.errors.WorkloadError, match="unbiased tables that reconstruct returns"):
            rp.statistics.means(wrong, "pay", ["job"])


@pytest.mark.parametrize("between", [None, (-5, 20)])
def test_counts_and_sums_beside_means_have_the_errors_of_explicit_matrices(between):
    release = release_of(STATED, [{"job": IDENTITY, "pay": rp.Mean(between)}])
    found = rp.statistics.means(release, "pay", ["job"])
    rows = np.array([[1, 1, 1, 1, 0], [-10, 5, 5, 30, 0]])
    for row, std_err in zip(rows, (found.count_std_err, found.sum_std_err), strict=True):
        covariance = dense.least_squares_covariance(*mechanism(release.plan), np.kron(np.eye(3), row))
        np.testing.assert_allclose(std_err, np.sqrt(np.diag(covariance)), rtol=1e-9)
    truth = np.array([[100, 100, 0], [-400, 2000, 0]])
    for each, true, std_err in zip(
        (found.count, found.sum), truth, (found.count_std_err, found.sum_std_err), strict=True
    ):
        assert (np.abs(each - true) < 6 * std_err).all()


@pytest.mark.parametrize(("least", "most"), [(-10, 30), (-5, 20)])
def test_no_mean_that_is_expected_has_a_larger_error_than_is_told_in_advance_and_the_worst_has_it(least, most):
    plan = release_of(STATED, [{"job": IDENTITY, "pay": rp.Mean((-5, 20))}]).plan
    told = rp.questions.mean_std_err(plan, "pay", ["job"], records=25, between=(least, most))
    rows = np.array([[-10, 5, 5, 30, 0], [1, 1, 1, 1, 0]])
    covariance = dense.least_squares_covariance(*mechanism(plan), np.kron(np.eye(3)[:1], rows))
    along = [np.array([1, -t]) @ covariance @ np.array([1, -t]) for t in np.linspace(least, most, 101)]
    assert np.sqrt(max(along)) / 25 == pytest.approx(told[0], rel=1e-9)


@pytest.mark.parametrize(("loss", "least"), [("max", 4 / 3), ("sum", 2 + np.sqrt(3))])
def test_the_plan_for_a_mean_has_the_least_errors_that_were_proved(loss, least):
    domain = rp.Domain({"job": 4, "pay": rp.Numeric(20, 60)})
    query = {"job": IDENTITY, "pay": rp.Mean()}
    plan = rp.select(rp.Workload(domain, [query]), budget=rp.pcost(1), loss=loss)
    found = plan.variance(query)[0]
    assert (found.max() if loss == "max" else found.sum()) == pytest.approx(least, rel=1e-5)


@pytest.mark.parametrize("records", [0, -1, np.nan, np.inf])
def test_errors_of_means_of_no_records_are_refused(records):
    plan = release_of(STATED, [{"job": IDENTITY, "pay": rp.Mean()}]).plan
    with pytest.raises(rp.errors.BudgetError, match="records must be positive"):
        rp.questions.mean_std_err(plan, "pay", ["job"], records=records)


@pytest.mark.parametrize("p", [0.5, (0.2, 0.5, 0.9)])
def test_quantiles_of_a_workload_for_them_are_those_of_its_counts_by_bin(p):
    pay = rp.Numeric(-10, 30, bins=4)
    release = release_of(pay, [{"job": IDENTITY, "pay": rp.Quantiles(p)}], seed=3)
    found, counts = rp.statistics.quantiles(release, "pay", p, ["job"]), release["job", "pay"].estimate
    edges, probabilities = np.array([-10, 0, 10, 20, 30]), np.atleast_1d(p)
    for job in range(2):
        rising = np.clip(np.maximum.accumulate(np.append(0, counts[job].cumsum())), 0, counts[job].sum())
        expected = np.interp(probabilities * rising[-1], rising, edges)
        np.testing.assert_allclose(found.estimate[job], expected, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_intervals_of_quantiles_are_made_of_the_bins_that_excesses_do_not_exclude(seed):
    edges, query = [-10, 0, 10, 20, 30], {"job": IDENTITY, "pay": rp.Quantiles((0.3, 0.8))}
    release = release_of(rp.Numeric(-10, 30, bins=4), [query], seed=seed)
    found, table = rp.statistics.quantiles(release, "pay", (0.3, 0.8), ["job"]), release[query]
    for job, p in np.ndindex(3, 2):
        rows = slice(1 + 3 * p, 4 + 3 * p)
        excess, slack = table.estimate[job, rows], MARGIN * table.std_err[job, rows]
        may_be = [b for b in range(4) if b == 3 or excess[b] >= -slack[b]]  # the quantile's bin, or one before it
        below = [b for b in range(3) if excess[b] < slack[b]]  # the quantile may be above their upper edges
        assert (found.low[job, p], found.high[job, p]) == (edges[may_be[0]], edges[below[-1] + 2 if below else 1])


@pytest.mark.parametrize("sign", [1, -1])
def test_an_interval_beyond_the_limits_of_the_amounts_is_the_nearest_end(sign):
    """A mean that is within the limits is missed there only if the whole interval misses it."""
    estimates = tuple(np.array([x]) for x in (sign * 130.0, 10.0, 4.0, 0.01, 0.0))
    low, high = fieller_interval(estimates, 2.0, limit=10.0)
    assert (low, high) == (sign * 10.0, sign * 10.0)
