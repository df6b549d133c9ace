"""Standard deviations by group: exact sums of squares, and intervals against a search of all means by other means."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import residualplanner as rp
from kinds import read_kind
from residualplanner.release.deviations import DeviationTable

STANDARD_DEVIATION = rp.statistics.StandardDeviation
PAY = rp.Attribute("pay", numeric=rp.Numeric(-10, 30, bins=[5], squares=True), missing="Not stated")
DOMAIN = rp.Domain({"job": 3, "pay": PAY})
QUERY = {"job": rp.Identity(), "pay": STANDARD_DEVIATION()}
PEOPLE = pd.DataFrame({"job": np.arange(900) % 3, "pay": (np.arange(900) * 7 % 41 - 10.0)})
PEOPLE.loc[::50, "pay"] = np.nan


@pytest.fixture(scope="module")
def release():
    plan = rp.select(rp.Workload(DOMAIN, [QUERY]), budget=rp.pcost(10**10))
    return rp.reconstruct(rp.measure(plan, PEOPLE, noise="gaussian", seed=1))


def test_with_hardly_any_noise_they_are_those_of_the_records(release):
    found = rp.statistics.standard_deviations(release, "pay", ["job"])
    groups = PEOPLE.groupby("job")["pay"]
    np.testing.assert_allclose(found.estimate, groups.std(ddof=0), rtol=1e-6)
    np.testing.assert_allclose(found.mean, groups.mean(), rtol=1e-6)
    np.testing.assert_allclose(found.count, groups.count(), atol=1e-3)
    assert (found.high - found.low < 1e-3).all()
    assert ((found.low <= groups.std(ddof=0)) & (groups.std(ddof=0) <= found.high)).all()
    assert list(found.to_frame()) == ["job", "std_dev", "low", "high", "mean", "count"]


@pytest.mark.parametrize(
    "kind", [rp.Sum(), rp.Sum("bin"), rp.Mean(), rp.Quantiles(0.5), rp.Proportions(), rp.Identity()]
)
def test_other_kinds_on_amounts_with_squares_are_as_without(kind):
    answers = []
    for squares in (True, False):
        numeric = rp.Numeric(-10, 30, bins=[5], squares=squares)
        domain = rp.Domain({"job": 3, "pay": rp.Attribute("pay", numeric=numeric, missing="Not stated")})
        query = {"job": rp.Identity(), "pay": kind}
        plan = rp.select(rp.Workload(domain, [query]), budget=rp.pcost(10**10))
        answers.append(rp.reconstruct(rp.measure(plan, PEOPLE, noise="gaussian", seed=1))[query].estimate)
    np.testing.assert_allclose(*answers, atol=0.01)


def test_a_kind_is_read_from_json_as_it_was_written():
    tied = STANDARD_DEVIATION().on(PAY)
    assert read_kind(tied.to_json()) == tied
    assert read_kind(STANDARD_DEVIATION().to_json()) == STANDARD_DEVIATION() == tied.written
    plan = rp.select(rp.Workload(DOMAIN, [QUERY]), budget=rp.pcost(1))
    assert rp.Domain.from_json(plan.domain.to_json()) == DOMAIN


def test_amounts_without_squares_have_no_standard_deviations(release):
    plain = rp.Domain({"job": 3, "pay": rp.Numeric(0, 30)})
    with pytest.raises(
        rp.errors.WorkloadError, match=r"no squares, for standard deviation; declare Numeric\(\.\.\., squ"
    ):
        rp.Workload(plain, [QUERY])
    with pytest.raises(rp.errors.DomainError, match="more than 32,768 with squares; choose a coarser unit"):
        rp.Numeric(0, 100_000, squares=True)
    with pytest.raises(rp.errors.DomainError, match="squares must be True or False"):
        rp.Numeric(0, 100, squares=2)
    plan = rp.select(rp.Workload(DOMAIN, [{"pay": rp.Mean()}]), budget=rp.pcost(1))
    release = rp.reconstruct(rp.measure(plan, PEOPLE, noise="gaussian", seed=1))
    with pytest.raises(rp.errors.WorkloadError, match="does not answer the standard deviation of 'pay'"):
        rp.statistics.standard_deviations(release, "pay")


@given(amounts=st.lists(st.integers(-10, 30), max_size=30))
def test_ready_counts_with_squares_are_those_of_the_records(amounts):
    numeric = rp.Numeric(-10, 30, bins=[5], squares=True)
    cells, above = numeric.cells_of_codes(numeric.codes_of_numbers(np.array(amounts, dtype=np.int64)))
    expected = np.zeros(6, dtype=np.int64)
    for place, part in enumerate(numeric.parts_of_steps(above)):
        np.add.at(expected, cells + place, part)
    bins = [[each for each in amounts if each < 5], [each for each in amounts if each >= 5]]
    given_sums = [[len(own) for own in bins], [sum(own) for own in bins], [sum(v * v for v in own) for own in bins]]
    assert numeric.ready_counts(*map(np.array, given_sums)).tolist() == expected.tolist()


def test_ready_counts_that_no_amounts_have_are_refused():
    numeric = rp.Numeric(0, 10, squares=True)
    with pytest.raises(rp.errors.DataError, match="sums of squares are needed, too"):
        numeric.ready_counts([1], [5])
    for squares in ([20], [60], [-1], [np.inf], [[25]]):
        with pytest.raises(rp.errors.DataError, match=r"no amounts within some bins|need the shape of counts"):
            numeric.ready_counts([1], [5], squares)


def squared_distance(estimate, precision, deviation):
    """By a search of SciPy's over means, the count from a problem of least squares."""

    def at(means):
        directions = np.stack([np.ones_like(means), means, np.square(means) + deviation**2], axis=-1)
        length = np.einsum("...i,ij,...j->...", directions, precision, directions)
        counts = np.maximum(0, directions @ precision @ estimate / length)
        off = estimate - counts[..., None] * directions
        return np.einsum("...i,ij,...j->...", off, precision, off)

    most = np.sqrt(max(0, 1 - deviation**2))
    grid = np.linspace(-most, most, 201)
    start = grid[np.argmin(at(grid))]
    near = optimize.minimize_scalar(at, bounds=(max(-most, start - 0.02), min(most, start + 0.02)), method="bounded")
    return min(near.fun, at(start))


@given(seed=st.integers(0, 10**6), size=st.sampled_from([0.5, 5.0, 50.0, 500.0]), at_limit=st.booleans())
@settings(max_examples=12)
def test_intervals_end_where_the_distance_is_that_of_the_level_above_the_least(seed, size, at_limit):
    chance = np.random.default_rng(seed)
    root = chance.normal(size=(3, 3))
    covariance = root @ root.T + 0.1 * np.eye(3)
    deviation, mean = 0.0, 1.0  # where half of all noise leaves nothing that fits
    if not at_limit:
        deviation = chance.uniform(0, 0.9)
        mean = chance.uniform(-1, 1) * np.sqrt(1 - deviation**2)
    estimate = size * np.array([1, mean, mean**2 + deviation**2]) + root @ chance.normal(size=3)
    C, T, Q = np.eye(3)
    rows = np.array([C, (C + T) / 2, (C - T) / 2, Q, C - Q, (T + Q) / 2])
    kind = STANDARD_DEVIATION(edges=(-1.0, 1.0))
    variances = np.einsum("ij,jk,ik->i", rows, covariance, rows)
    found = DeviationTable.numbers(kind, rows @ estimate, variances, 0.95)
    precision = np.linalg.inv(covariance)
    distances = {each: squared_distance(estimate, precision, each) for each in np.linspace(0, 1, 401)}
    least = min(distances.values())

    def excess(value, distance):
        means = np.sqrt(1 - value**2) * estimate[0]
        return distance - least - (1.959964**2 if means > 1.959964 * np.sqrt(covariance[0, 0]) else 5.991465)

    for value, distance in distances.items():
        if excess(value, distance) < -1e-2:
            assert found["low"] <= value + 1e-6
            assert value - 1e-6 <= found["high"]
    assert found["low"] < found["high"]
    for name, outwards in (("low", -1e-4), ("high", 1e-4)):
        end = float(found[name])
        assert excess(end, squared_distance(estimate, precision, end)) <= 1e-2
        if 0 < end + outwards < 1:
            assert excess(end + outwards, squared_distance(estimate, precision, end + outwards)) >= -1e-2
