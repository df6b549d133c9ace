"""Correlations and regressions from tables, beside those of the records themselves."""

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from kinds import read_kind

PAY = rp.Attribute(
    "pay", numeric=rp.Numeric(-20, 100, bins=[10, 40], squares=True), about=rp.About(title="Salary", unit="dollars")
)
DOMAIN = rp.Domain(
    {
        "sex": ["F", "M"],
        "job": ["cook", "waiter", "host"],
        "pay": PAY,
        "age": rp.Numeric(15, 75, bins=3, squares=True),
        "hours": rp.Numeric(0, 60, squares=True),
    }
)
ALL = ["pay", "age", "job", "hours"]
QUERIES = [*rp.statistics.moments(DOMAIN, ALL), *rp.statistics.moments(DOMAIN, ["age", "pay"], by=["sex"])]


def records(size, seed=0):
    chance = np.random.default_rng(seed)
    age, hours = chance.integers(15, 76, size), chance.integers(0, 61, size)
    job, sex = chance.integers(0, 3, size), chance.integers(0, 2, size)
    pay = np.clip(age // 2 + hours // 3 - 7 * job + chance.integers(-15, 16, size), -20, 100)
    named = {"sex": np.array(["F", "M"])[sex], "job": np.array(["cook", "waiter", "host"])[job]}
    return pd.DataFrame(named | {"pay": pay, "age": age, "hours": hours})


def release_of(frame, budget, seed=1):
    plan = rp.select(rp.Workload(DOMAIN, QUERIES), budget=budget)
    return rp.reconstruct(rp.measure(plan, frame, noise="gaussian", seed=seed))


@pytest.fixture(scope="module")
def exact():
    return release_of(records(2000), rp.pcost(10**11))


def test_without_noise_they_are_those_of_the_records(exact):
    frame = records(2000)
    terms = [np.ones(len(frame)), frame["age"], frame["job"] == "waiter", frame["job"] == "host", frame["hours"]]
    design = np.column_stack([np.asarray(each, dtype=float) for each in terms])
    expected = np.linalg.lstsq(design, frame["pay"], rcond=None)[0]
    found = rp.statistics.regression(exact, "pay", ["age", "job", "hours"], simulations=50)
    np.testing.assert_allclose(found.estimate, expected, rtol=1e-4)
    assert found.labels == (("intercept", "age", "job: waiter", "job: host", "hours"),)
    by_sex = rp.statistics.correlation(exact, "pay", "age", ["sex"], simulations=50)
    groups = [frame[frame["sex"] == each][["pay", "age"]].corr().iloc[0, 1] for each in ("F", "M")]
    np.testing.assert_allclose(by_sex.estimate, groups, rtol=1e-4)
    assert by_sex.names == ("sex",)
    assert by_sex.labels == (("F", "M"),)
    of_all = rp.statistics.correlation(exact, "hours", "pay", simulations=50)
    np.testing.assert_allclose(of_all.estimate, frame["hours"].corr(frame["pay"]), rtol=1e-4)


def test_where_noise_hides_everything_intervals_are_all_that_is_possible():
    release = release_of(records(3), rp.pcost("0.01"))
    found = rp.statistics.correlation(release, "pay", "age", ["sex"], simulations=50)
    assert (found.low <= -0.99).all()
    assert (found.high >= 0.99).all()
    coefficients = rp.statistics.regression(release, "pay", ["age", "job", "hours"], simulations=50)
    assert np.isinf(coefficients.low).all()


def test_they_are_saved_with_a_release(exact, tmp_path):
    comparisons = {
        "slopes": rp.statistics.regression(exact, "pay", ["age", "hours"], simulations=50),
        "by-sex": rp.statistics.correlation(exact, "pay", "age", ["sex"], simulations=50),
    }
    exact.save(tmp_path / "release", format="csv", comparisons=comparisons)
    numbers = rp.load_tables(tmp_path / "release").numbers
    for name, each in comparisons.items():
        pd.testing.assert_frame_equal(numbers.comparison(name), each.to_frame(), check_dtype=False)
    assert "of noise alone" in dict((name, meaning) for name, _, meaning in comparisons["slopes"].columns)["std_err"]


def test_what_cannot_be_is_refused(exact):
    statistics = rp.statistics
    with pytest.raises(rp.errors.WorkloadError, match="two attributes or more"):
        statistics.moments(DOMAIN, ["pay"])
    with pytest.raises(rp.errors.WorkloadError, match="two attributes or more"):
        statistics.moments(DOMAIN, ["pay", "age"], by=["pay"])
    with pytest.raises(rp.errors.WorkloadError, match="no amounts to correlate"):
        statistics.correlation(exact, "pay", "job")
    with pytest.raises(rp.errors.WorkloadError, match="no amounts to explain"):
        statistics.regression(exact, "job", ["pay"])
    with pytest.raises(rp.errors.WorkloadError):
        statistics.correlation(exact, "hours", "age", ["sex"])
    with pytest.raises(rp.errors.WorkloadError, match="no squares, for moments; declare"):
        rp.Workload(rp.Domain({"a": 2, "pay": rp.Numeric(0, 5)}), [{"pay": statistics.Moments()}])


def test_a_kind_is_read_from_json_as_it_was_written():
    tied = rp.statistics.Moments().on(DOMAIN["pay"])
    assert read_kind(tied.to_json()) == tied
    assert tied.written == rp.statistics.Moments() == read_kind(rp.statistics.Moments().to_json())
    assert tied.labels(DOMAIN["pay"]) == ("count", "distance from 40", "squared distance from 40")


@pytest.mark.parametrize("attempt", [rp.statistics.moments, lambda *given: rp.statistics.regression(*given, "age")])
def test_a_name_in_place_of_a_list_is_refused(exact, attempt):
    first = DOMAIN if attempt is rp.statistics.moments else exact
    with pytest.raises(rp.errors.WorkloadError, match="give a list of attributes"):
        attempt(first, "pay")
