"""Fits of microdata beside general solvers, the published examples, and the laws that fits must obey."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import residualplanner as rp
from noisy_tables import domain_of, least_largest, nearest, noisy_of

m = rp.fits.microdata
FEW = settings(max_examples=15)
FITS = [m.least_squares, m.nonnegative_least_squares, m.max_fit, m.sequential_fit, m.reweighted_fit]
#: Sets of marginals: nested, without single cells, in a circle, with the most detailed first.
SETS = [
    [(), (0,), (1,), (0, 1)],
    [(), (0,), (1,)],
    [(0, 1), (1, 2), (0, 2)],
    [(0, 1, 2), (0,), ()],
    [(), (0, 1), (1, 2), (0, 1, 2)],
]


def problems():
    """A true table, sets of marginals about it, a law and a seed."""
    shapes = st.sampled_from([(3, 4, 2), (2, 2, 3)])
    laws = st.sampled_from([m.Laplace(4.0), m.Gaussian(3.0)])
    return st.tuples(shapes, st.sampled_from(SETS), laws, st.integers(0, 10_000))


def drawn(problem, draws=()):
    shape, sets, law, seed = problem
    counts = np.random.default_rng(seed).poisson(1.5, shape) * 3.0
    return noisy_of(counts, sets, law, draws, seed + 1)


@FEW
@given(problems())
def test_least_squares_is_the_pseudoinverse_and_non_negative_that_of_an_active_set(problem):
    noisy, rows = drawn(problem)
    values = [each[0] for each in noisy.values]
    expected = np.linalg.pinv(np.vstack(rows)) @ np.concatenate(values)
    assert m.least_squares(noisy).estimate.ravel() == pytest.approx(expected, abs=1e-9)
    fit = m.nonnegative_least_squares(noisy)
    assert fit.estimate.min() >= 0
    other = nearest(rows, values, [np.full(len(each), 1 / noisy.variances[0]) for each in rows])
    for matrix in rows:
        assert matrix @ fit.estimate.ravel() == pytest.approx(matrix @ other, abs=1e-5)
    off = sum(((matrix @ other - each) ** 2).sum() for matrix, each in zip(rows, values, strict=True))
    assert float(fit.objective) == pytest.approx(off / noisy.variances[0] / 2, rel=1e-7, abs=1e-9)


@FEW
@given(problems())
def test_a_sequential_fit_keeps_what_came_before(problem):
    noisy, rows = drawn(problem)
    kept, targets = [], []
    for matrix, (answers,) in zip(rows, noisy.values, strict=True):
        cells = nearest([matrix], [answers], [np.ones(len(answers))], kept, targets)
        kept.append(matrix)
        targets.append(matrix @ cells)
    estimate = m.sequential_fit(noisy).estimate.ravel()
    for matrix, target in zip(kept, targets, strict=True):
        assert matrix @ estimate == pytest.approx(target, abs=2e-3)
    assert estimate.min() >= 0


@FEW
@given(problems())
def test_max_fit_is_the_least_squares_within_the_least_largest_error(problem):
    noisy, rows = drawn(problem)
    values, std_err = [each[0] for each in noisy.values], noisy.variances[0] ** 0.5
    least = least_largest(rows, values, std_err)
    matrix, right = np.vstack(rows), np.concatenate(values)
    fit = m.max_fit(noisy, slack=0.05)
    off = np.abs(matrix @ fit.estimate.ravel() - right).max() / std_err
    assert least - 1e-7 <= off <= least + 0.05 + 1e-6
    assert fit.gap <= 1e-6
    free = m.nonnegative_least_squares(noisy)
    assert fit.objective >= free.objective - 1e-6
    if np.abs(matrix @ free.estimate.ravel() - right).max() / std_err < least + 0.04:
        assert float(fit.objective) == pytest.approx(float(free.objective), rel=1e-5)


@settings(max_examples=6)
@given(problems())
def test_no_cell_is_negative_and_true_answers_come_back(problem):
    shape, sets, law, seed = problem
    counts = np.random.default_rng(seed).poisson(1.5, shape) + 1.0
    exact = type(law)(1e-3)
    noisy, rows = noisy_of(counts, sets, exact, seed=seed)
    for make in FITS:
        cells = make(noisy).estimate.ravel()
        assert make is m.least_squares or cells.min() >= 0
        for matrix in rows:
            assert matrix @ cells == pytest.approx(matrix @ counts.ravel(), abs=0.05)


@pytest.mark.parametrize("make", FITS)
def test_many_draws_at_once_are_fitted_as_one_by_one(make):
    counts = np.diag([9.0, 0, 4])
    together, _ = noisy_of(counts, SETS[0], m.Laplace(4.0), (2, 3), seed=5)
    whole = make(together)
    assert whole.estimate.shape == (2, 3, 3, 3)
    assert whole.gap.shape == (2, 3)
    for place in np.ndindex(2, 3):
        own = [m.GroupAnswers(each.group, np.asarray(each.values)[place], each.law) for each in together.answers]
        single = make(m.NoisyGroups(together.domain, own))
        assert single.estimate == pytest.approx(whole.estimate[place], abs=1e-6)


def weights_by_definition(values, law, confidence=0.99):
    """Of one group: which answers are low, the weight of each answer, and that of the sum of the low ones."""
    noise = stats.laplace(scale=law.noise_scale) if isinstance(law, m.Laplace) else stats.norm(scale=law.noise_scale)
    ordered, low = sorted(values), set()
    for j, value in enumerate(ordered, start=1):
        if noise.cdf(value) ** j >= confidence:
            break
        low.add(value)
    median = max(1.0, noise.ppf(0.5 ** (1 / len(low)))) if low else 1.0
    weights = [1 / (2 * law.variance * median**2) if value in low else 1 / law.variance for value in values]
    return np.array([value in low for value in values]), np.array(weights), 1 / (2 * law.variance * max(len(low), 1))


@FEW
@given(problems())
def test_a_reweighted_fit_is_least_squares_with_the_weights_of_its_definition(problem):
    shape, sets, law, seed = problem
    counts = np.random.default_rng(seed).poisson(1.5, shape) * 20.0
    noisy, rows = noisy_of(counts, sets, law, seed=seed + 1)
    matrices, right, weights = list(rows), [each[0] for each in noisy.values], []
    singles = [weights_by_definition(values, law) for values in right]
    for matrix, values, (low, single, together) in zip(rows, right.copy(), singles, strict=True):
        weights.append((single, np.array([together])))
        matrices.append((low @ matrix)[None])
        right.append(np.array([low @ values]))
    other = nearest(matrices, right, [each for part in zip(*weights, strict=True) for each in part])
    fit = m.reweighted_fit(noisy)
    for matrix in rows:
        assert matrix @ fit.estimate.ravel() == pytest.approx(matrix @ other, abs=1e-4)


@pytest.mark.parametrize(
    ("values", "low"),
    [
        ([900.0, 800, 700], [False, False, False]),
        ([-3.0, -2, -900], [True, True, True]),
        ([5.0], [True]),
        ([500.0], [False]),
        ([-30.0, 5, 5, 500], [True, True, True, False]),
        ([-20.0, 34.2], [True, True]),  # the second of these would not be if it was the only one
    ],
)
def test_answers_that_noise_explains_count_less_and_their_sum_counts_too(values, low):
    law = m.Laplace(8.0)
    found, single, together = weights_by_definition(values, law)
    assert found.tolist() == low
    noisy = m.NoisyGroups(domain_of((len(values),)), [m.GroupAnswers(m.Marginal(["a"]), values, law)])
    rows, right = [np.eye(len(values)), found[None] * 1.0], [np.array(values), np.array([found @ values])]
    expected = nearest(rows, right, [single, np.array([together])])
    assert m.reweighted_fit(noisy).estimate == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("shape", "total", "cells"), [((10, 10), 105.785, 10_578.5), ((9, 24), 110.592, 23_887.9)])
def test_variances_of_least_squares_are_the_published_ones(shape, total, cells):
    noisy, _ = noisy_of(np.zeros(shape), SETS[0], m.Laplace(8.0))
    assert m.least_squares_variance(noisy) == pytest.approx(total, abs=5e-4)
    assert m.least_squares_variance(noisy, ["a", "b"]) * np.prod(shape) == pytest.approx(cells, abs=0.05)


@pytest.mark.parametrize("make", [m.nonnegative_least_squares, m.reweighted_fit])
def test_a_table_of_many_sums_meets_the_conditions_of_the_optimum(make):
    """Of more than 300 sums beside the single cells no matrix is made."""
    shape, law = (20, 18, 17), m.Laplace(6.0)
    counts, answers = np.random.default_rng(1).poisson(0.5, shape) * 4.0, []
    noise = np.random.default_rng(2)
    for axes in SETS[4]:
        table = counts.sum(axis=tuple(axis for axis in range(3) if axis not in axes))
        names = ["abc"[axis] for axis in axes]
        answers.append(m.GroupAnswers(m.Marginal(names), table + noise.laplace(0, 6, table.shape), law))
    cells, slope = make(m.NoisyGroups(domain_of(shape), answers)).estimate, 0.0
    for axes, each in zip(SETS[4], answers, strict=True):
        away = tuple(axis for axis in range(3) if axis not in axes)
        wide = [size if axis in axes else 1 for axis, size in enumerate(shape)]
        off = cells.sum(axis=away) - each.values
        if make is m.reweighted_fit:
            low, single, together = weights_by_definition(np.ravel(each.values), law)
            off = off.ravel() * single + low * (low @ off.ravel()) * together
        slope = slope + np.reshape(off, wide) / (1 if make is m.reweighted_fit else law.variance)
    assert cells.min() >= 0
    assert slope.min() >= -1e-5
    assert np.abs(slope * cells).max() <= 1e-4


def release_of(sets, seed=0):
    domain = domain_of((3, 4, 2))
    records = np.random.default_rng(seed).integers(0, [3, 2, 2], (60, 3))
    plan = rp.select(rp.Workload(domain, [tuple("abc"[axis] for axis in each) for each in sets]), budget=rp.zcdp(1))
    return rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=seed))


@pytest.mark.parametrize("sets", [[(0, 1), (1, 2)], [(0, 1, 2)], [(0,), (2,)]])
def test_cells_of_a_release_are_those_of_its_own_quadratic_form(sets):
    release = release_of(sets)
    noisy = m.groups_of_release(release)
    assert all(
        m.least_squares(noisy).table(query) == pytest.approx(release[query].estimate, abs=1e-9)
        for query in release.plan.workload
    )
    rows, values, weights = [], [], []
    for members, variance in zip(release.plan.closure, release.plan.noise_variances, strict=True):
        factors = np.ones((1, 1))
        for axis, size in enumerate((3, 4, 2)):
            factors = np.kron(factors, np.eye(size) - 1 / size if axis in members else np.ones((1, size)))
        rows.append(factors)
        # the centered table has the component of the estimates that unbiased cells have
        cells = m.least_squares(noisy).estimate.ravel()
        values.append(factors @ cells)
        weights.append(np.full(len(factors), 1 / variance))
    expected = nearest(rows, values, weights)
    fit = m.nonnegative_least_squares(noisy)
    for matrix in rows:
        assert matrix @ fit.estimate.ravel() == pytest.approx(matrix @ expected, abs=1e-4)
    off = [weight[0] * ((matrix @ fit.estimate.ravel() - value) ** 2).sum() / 2
           for matrix, value, weight in zip(rows, values, weights, strict=True)]  # fmt: skip
    assert float(fit.objective) == pytest.approx(sum(off), rel=1e-6, abs=1e-9)


def test_a_release_of_all_cells_is_fitted_as_its_nonnegative_tables():
    release = release_of([(0, 1, 2)])
    tables = rp.nonnegative(release, weights="variance", total="free", gap=1e-12)
    fit = m.nonnegative_least_squares(m.groups_of_release(release))
    assert fit.estimate == pytest.approx(tables["a", "b", "c"].estimate, abs=1e-5)
    assert m.sequential_fit(m.groups_of_release(release)).estimate.min() >= 0


DOMAIN, LAW = domain_of((2, 3)), m.Laplace(1.0)
TOTAL = m.GroupAnswers(m.Marginal(), 5.0, LAW)
NOISY = m.NoisyGroups(DOMAIN, [TOTAL])


def groups(group, values, *more):
    return m.NoisyGroups(DOMAIN, [*more, m.GroupAnswers(group, values, LAW)])


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: groups(m.Marginal(["a", "b"]), np.zeros((3, 2))), "Data", r"need the shape \(2, 3\), got \(3, 2\)"),
        (lambda: groups(m.Marginal(["a"]), np.zeros((0, 2))), "Data", "there are no draws"),
        (lambda: groups(m.Marginal(), np.nan), "Data", "must be finite"),
        (lambda: groups(m.Marginal(["a"]), np.zeros((4, 2)), TOTAL), "Data", "same draws"),
        (lambda: groups(m.Marginal(["z"]), 5.0), "Domain", "unknown"),
        (lambda: groups(m.Residual(["a"]), np.zeros(2)), "Workload", "no group has every cell"),
        (lambda: m.NoisyGroups(DOMAIN, [5]), "Argument", "NoisyGroups: "),
        (lambda: m.NoisyGroups({"a": 2}, [TOTAL]), "Argument", "NoisyGroups: "),
        (lambda: m.GroupAnswers(m.Marginal(), 5.0, 2.0), "Argument", "law must be a NoiseLaw"),
        *((lambda make=make: make([TOTAL]), "Argument", "noisy must be a NoisyGroups") for make in FITS),
        *((lambda bad=bad: m.Laplace(bad), "Budget", "noise_scale must be pos") for bad in (0.0, -1.0, np.nan, np.inf)),
        *((lambda bad=bad: m.max_fit(NOISY, slack=bad), "Budget", "slack must be positive") for bad in (0.0, np.nan)),
        (lambda: m.reweighted_fit(NOISY, confidence=np.nan), "Budget", "confidence must be between 0 and 1"),
        (lambda: m.least_squares_variance(NOISY, ["a"]), "Workload", "do not determine"),
    ],
)
def test_what_means_nothing_is_refused(make, error, words):
    with pytest.raises(getattr(rp.errors, f"{error}Error"), match=words):
        make()


def test_releases_of_other_bases_and_fits_that_judge_each_answer_of_a_release_are_refused():
    residuals = m.groups_of_release(release_of([(0,)]))
    for make in (m.max_fit, m.reweighted_fit):
        refused = f"^{make.__name__} judges each answer as a count.*sequential_fit"
        with pytest.raises(rp.errors.WorkloadError, match=refused):
            make(residuals)
    for make in (m.nonnegative_least_squares, m.sequential_fit):
        assert make(residuals).estimate.min() >= 0
    plan = rp.select(rp.Workload(rp.Domain({"a": 4}), [{"a": rp.Prefix()}]), budget=rp.zcdp(1))
    with pytest.raises(rp.errors.WorkloadError, match="subtraction bases only"):
        m.groups_of_release(rp.reconstruct(rp.measure(plan, np.zeros((9, 1), dtype=int))))
