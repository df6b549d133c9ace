"""The bounds of the uncertainty principle: known answers, one method beside the other, and what a mechanism attains."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from noisy_tables import noisy_of

m = rp.fits.microdata
FEW = settings(max_examples=25)
TOTAL = math.sqrt(800)


@pytest.mark.parametrize(
    ("cells", "tight", "published", "concentrated", "sequential"),
    [
        (100, 20.0, 0.0, 8.6, 54_770),
        (1000, 217, 19.4, 50, 105_060),
        (10_000, 639, 91.7, 109, 172_368),
        (1_000_000, 2185, 408, 253, 357_901),
    ],
)
def test_least_errors_of_cells_and_those_of_the_sequential_fit_are_the_known_ones(
    cells, tight, published, concentrated, sequential
):
    assert m.least_cell_error(TOTAL, cells, epsilon=0.1) ** 2 == pytest.approx(tight, rel=0.02)
    found = m.least_cell_error(TOTAL, cells, epsilon=0.1, method="published") ** 2
    assert found == pytest.approx(published, rel=0.02, abs=0.1)
    assert m.least_cell_error(math.sqrt(200), cells, rho=0.005) ** 2 == pytest.approx(concentrated, rel=0.02)
    errors = m.errors_of_sequential_fit(cells, epsilon=0.1)
    assert errors.cell**2 == pytest.approx(sequential, rel=1e-4)
    assert errors.total**2 == pytest.approx(800)


@pytest.mark.parametrize(("law", "noise"), [(m.Laplace(3.0), "laplace"), (m.Gaussian(3.0), "normal")])
def test_the_largest_of_draws_has_the_means_and_the_median_that_a_simulation_has(law, noise):
    draw = getattr(np.random.default_rng(0), noise)
    largest = np.abs(draw(0, 3.0, (20_000, 20))).max(axis=1)
    first, second = law.largest_of(20)
    assert first == pytest.approx(largest.mean(), rel=0.01)
    assert second == pytest.approx((largest**2).mean(), rel=0.02)
    one, square = law.largest_of(1)
    assert square == pytest.approx(law.variance, rel=1e-6)
    assert one == pytest.approx(np.abs(draw(0, 3.0, 400_000)).mean(), rel=0.01)
    below = draw(0, 3.0, (20_000, 7)).max(axis=1) < law.median_of_largest(7)
    assert below.mean() == pytest.approx(0.5, abs=0.02)
    values = np.array([-30.0, -1, 0, 2, 9])
    simulated = [(draw(0, 3.0, 100_000) <= value).mean() for value in values]
    assert np.exp(law.log_cdf(values)) == pytest.approx(simulated, abs=0.01)
    assert np.isfinite(law.log_cdf(-3000.0))
    # cells are not listed for it: a trillion of them have no room
    assert law.largest_of(10**12)[0] == pytest.approx(float(law.median_of_largest(2 * 10**12)), rel=0.02)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
@pytest.mark.parametrize("delta", [0.5, 0.01, 1e-6])
def test_truncated_noise_hides_one_record_more_with_exactly_this_delta(epsilon, delta):
    law = m.noise_for(1, epsilon=epsilon, delta=delta)
    edges = np.linspace(
        -law.bound - 2, law.bound + 2, 2_000_001
    )  # of intervals, and both counts' chances to fall there
    here, there = (np.diff(np.exp(law.log_cdf(edges - count))) for count in (0, 1))
    for one, other in ((here, there), (there, here)):
        assert np.maximum(one - math.exp(epsilon) * other, 0).sum() == pytest.approx(delta, rel=1e-3)
    middles = (edges[1:] + edges[:-1]) / 2
    assert law.variance == pytest.approx(float(here @ middles**2), rel=1e-4)
    assert np.exp(law.log_cdf([-law.bound, 0, law.bound])).tolist() == pytest.approx([0, 0.5, 1])
    assert np.exp(3 * law.log_cdf(law.median_of_largest(3))) == pytest.approx(0.5)
    assert law.largest_of(10**15)[0] == pytest.approx(law.bound, rel=0.05)


def test_with_a_delta_the_error_of_cells_does_not_grow_with_their_number():
    law = m.noise_for(2, epsilon=0.1, delta=1e-6)
    most = 4 * law.bound**2 + 4 * law.bound * law.noise_scale + 2 * law.noise_scale**2
    few, many = (m.errors_of_sequential_fit(cells, epsilon=0.1, delta=1e-6) for cells in (100, 10**14))
    assert few.cell < many.cell <= math.sqrt(most)
    assert many.total == few.total <= math.sqrt(800)
    assert m.errors_of_sequential_fit(10**14, epsilon=0.1).cell > 2 * many.cell
    assert few.cell <= m.errors_of_sequential_fit(100, epsilon=0.1).cell
    assert m.errors_of_clipping(7, epsilon=0.1, delta=1e-6).total == pytest.approx(
        7 * math.sqrt(m.noise_for(1, epsilon=0.1, delta=1e-6).variance)
    )
    generator, draws = np.random.default_rng(0), np.zeros((2_000, 30))
    uniform = generator.random((2_000, 31))
    noise = np.where(uniform < 0.5, 1, -1) * law._quantile(np.minimum(uniform, 1 - uniform)) * law.noise_scale
    assert np.abs(noise).max() <= law.bound * (1 + 1e-12)
    domain = rp.Domain({"a": 30})
    groups = [(m.Marginal(), noise[:, 0]), (m.Marginal(["a"]), draws + noise[:, 1:])]
    noisy = m.NoisyGroups(domain, [m.GroupAnswers(names, answers, law) for names, answers in groups])
    fit, bound = m.sequential_fit(noisy), m.errors_of_sequential_fit(30, epsilon=0.1, delta=1e-6)
    assert (fit.table() ** 2).mean() <= bound.total**2
    assert (fit.estimate**2).mean(axis=0).max() <= bound.cell**2


@pytest.mark.parametrize(
    "given", [{"epsilon": 1, "delta": 0.6}, {"epsilon": 1, "delta": -0.1}, {"rho": 1, "delta": 0.1}]
)
def test_a_delta_that_belongs_to_nothing_is_refused(given):
    for call in (m.noise_for, m.errors_of_clipping, m.errors_of_sequential_fit):
        with pytest.raises(rp.errors.BudgetError, match="delta belongs to epsilon"):
            call(2, **given)


@FEW
@given(
    cell=st.floats(0, 200), cells=st.integers(2, 10**7), epsilon=st.floats(0.01, 50), delta=st.sampled_from([0, 1e-9])
)
def test_the_tight_bound_implies_the_published_one(cell, cells, epsilon, delta):
    tight = m.least_total_error(cell, cells, epsilon=epsilon, delta=delta)
    assert tight >= m.least_total_error(cell, cells, epsilon=epsilon, delta=delta, method="published") - 1e-9


@FEW
@given(cell=st.floats(1, 100), cells=st.integers(50, 10**6), rho=st.floats(0.001, 0.1))
def test_one_bound_is_the_inverse_of_the_other(cell, cells, rho):
    total = m.least_total_error(cell, cells, rho=rho)
    if total > 0:
        assert m.least_cell_error(total * (1 + 1e-9), cells, rho=rho) <= cell * (1 + 1e-6)


@pytest.mark.parametrize("budget", [{"epsilon": 0.5}, {"rho": 0.125}])
def test_no_bound_is_above_what_a_mechanism_attains(budget):
    cells = 1000
    for errors in (m.errors_of_clipping(cells, **budget), m.errors_of_sequential_fit(cells, **budget)):
        assert m.least_cell_error(errors.total, cells, **budget) <= errors.cell
        assert m.least_total_error(errors.cell, cells, **budget) <= errors.total


@pytest.mark.parametrize("method", ["tight", "published"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 10.0, 30.0])
def test_no_bound_is_above_what_clipped_geometric_noise_attains(method, epsilon):
    """Its errors are known exactly: of a full cell the variance, of empty ones that of positive noise and its mean."""
    part, cells = math.exp(-epsilon), 10**6
    chance = (1 - part) / (1 + part)
    mean, square = chance * part / (1 - part) ** 2, chance * part * (1 + part) / (1 - part) ** 3
    total = max(cells * 2 * square, cells * (square - mean**2) + (cells * mean) ** 2)
    assert m.least_total_error(math.sqrt(2 * square), cells, epsilon=epsilon, method=method) <= math.sqrt(total)


@pytest.mark.parametrize(("epsilon", "delta"), [(1000.0, 0.5), (800.0, 1e-9)])
def test_a_budget_that_protects_nobody_has_a_bound_too(epsilon, delta):
    assert m.least_total_error(1.0, 1000, epsilon=epsilon, delta=delta) == 0


def test_the_hard_data_are_between_the_bounds():
    cells, epsilon = 100, 0.1
    counts = np.zeros(cells)
    counts[0] = math.log(cells) / epsilon
    law = m.noise_for(2, epsilon=epsilon)
    noisy, _ = noisy_of(counts, [(), (0,)], law, (1000,))
    fit, upper = m.sequential_fit(noisy), m.errors_of_sequential_fit(cells, epsilon=epsilon)
    error, total = ((fit.estimate - counts) ** 2).mean(axis=0).max(), ((fit.table() - counts.sum()) ** 2).mean()
    assert m.least_cell_error(TOTAL, cells, epsilon=epsilon) ** 2 < error < upper.cell**2
    assert error == pytest.approx(1815, rel=0.15)
    assert total < upper.total**2


def test_clipped_cells_of_no_records_have_no_larger_error_of_the_total_than_the_bound():
    scale, cells = 4.0, 100
    exact = (cells * scale / 2) ** 2 + 0.75 * cells * scale**2  # of positive Laplace noise, its mean and its variance
    assert exact <= m.errors_of_clipping(cells, epsilon=1 / scale).total ** 2


PARAMETERS = [
    ({}, "give epsilon"),
    ({"epsilon": 1.0, "rho": 1.0}, "give epsilon"),
    ({"epsilon": math.nan}, "epsilon must be positive"),
    ({"epsilon": -1.0}, "epsilon must be positive"),
    ({"rho": math.inf}, "rho must be positive"),
    ({"rho": 1.0, "delta": 1e-6}, "delta belongs to epsilon"),
    ({"epsilon": 1.0, "delta": 1.0}, "delta must be at least 0"),
    ({"epsilon": 1.0, "delta": math.nan}, "delta must be at least 0"),
]


@pytest.mark.parametrize(
    ("call", "arguments", "options", "words"),
    [
        *((call, (1.0, 100), *each) for call in (m.least_cell_error, m.least_total_error) for each in PARAMETERS),
        (m.least_total_error, (-1.0, 100), {"epsilon": 1.0}, "cell_error must be at least 0"),
        (m.least_cell_error, (math.nan, 100), {"epsilon": 1.0}, "total_error must be at least 0"),
        (m.least_cell_error, (1.0, 1), {"epsilon": 1.0}, "cells must be an integer, at least 2"),
        (m.least_cell_error, (1.0, 100), {"rho": 1.0, "method": "published"}, "method must be one of"),
        (m.errors_of_clipping, (100,), {}, "give epsilon"),
        (m.errors_of_sequential_fit, (100,), {"rho": 0.0}, "rho must be positive"),
        *(
            (call, (cells,), {"epsilon": 1}, "cells must be an integer, at least 1")
            for call in (m.errors_of_clipping, m.errors_of_sequential_fit)
            for cells in (0, -5, 2.5, True)
        ),
        *((m.noise_for, (groups,), {"rho": 1}, "groups must be an integer") for groups in (0, 0.5, True)),
    ],
)
def test_what_means_nothing_is_refused(call, arguments, options, words):
    error = rp.errors.WorkloadError if words.startswith(("cells", "method")) else rp.errors.BudgetError
    with pytest.raises(error, match=words):
        call(*arguments, **options)
