"""Which attributes queries will be about, how that drifts, and known and historical queries in one workload."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import residualplanner as rp
from residualplanner import Domain, Threshold, Workload

FeatureDistribution, sample_sets = rp.questions.FeatureDistribution, rp.questions.sample_sets
with_history = rp.questions.with_history
FIVE = Domain({name: 2 for name in "abcde"})
MASSES = [5, 3, 1, 0.5, 0.25]


def attributes(count):
    return Domain({f"a{i}": 2 for i in range(count)})


def test_sets_are_drawn_in_proportion_to_the_product_of_their_masses():
    runs = 20_000
    found = Counter(sample_sets(FeatureDistribution(FIVE, MASSES), 3, runs, replace=True, seed=1))
    mass = dict(zip("abcde", MASSES, strict=True))
    weights = {chosen: math.prod(mass[name] for name in chosen) for chosen in combinations("abcde", 3)}
    total = sum(weights.values())
    statistic = sum((found[s] - runs * w / total) ** 2 / (runs * w / total) for s, w in weights.items())
    assert chi2.sf(statistic, len(weights) - 1) > 1e-3


@pytest.mark.parametrize("count", [14, 48])
def test_drift_moves_as_much_mass_as_the_table_says(count):
    published = {
        14: {0.05: 0.012, 0.1: 0.074, 0.2: 0.212, 0.3: 0.356, 0.4: 0.460, 0.5: 0.538, 0.8: 0.745, 1: 0.764},
        48: {0.05: 0.134, 0.1: 0.273, 0.2: 0.485, 0.3: 0.629, 0.4: 0.755, 0.5: 0.854, 0.8: 0.996, 1: 0.998},
    }[count]
    now = FeatureDistribution(attributes(count), 0.75 ** np.arange(count))
    for amount, distance in published.items():
        found = np.mean([np.abs(now.masses - now.drifted(amount, seed=seed).masses).sum() / 2 for seed in range(400)])
        assert abs(found - distance) < 0.02, amount


def test_large_tables_are_left_out():
    domain = Domain({"a": 10, "b": 10, "c": 2, "d": 2})
    drawn = sample_sets(FeatureDistribution.uniform(domain), 2, 5, max_cells=20, seed=5)
    assert sorted(drawn) == [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
    with pytest.raises(rp.errors.WorkloadError, match="too few sets"):
        sample_sets(FeatureDistribution.uniform(domain), 2, 1, max_cells=3, seed=5)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: FeatureDistribution(FIVE, [1, 2]),
        lambda: FeatureDistribution(FIVE, [1, 1, 1, 1, 0]),
        lambda: FeatureDistribution(FIVE, [1, 1, 1, 1, math.nan]),
        lambda: FeatureDistribution(FIVE, ["x"] * 5),
        lambda: FeatureDistribution.geometric(FIVE, q=1),
        lambda: FeatureDistribution(FIVE, MASSES).drifted(1.1),
        lambda: FeatureDistribution(FIVE, MASSES).drifted("0.5"),
        lambda: FeatureDistribution(FIVE, MASSES).drifted(0.5, seed=-1),
        lambda: FeatureDistribution(FIVE, [1e300, 1, 1, 1, 1e-300]),
        lambda: FeatureDistribution.geometric(FIVE, q="0.5"),
        lambda: FeatureDistribution.geometric(FIVE, seed="x"),
        lambda: sample_sets(FeatureDistribution(FIVE, MASSES), 2, 1, max_cells="4"),
        lambda: sample_sets(FeatureDistribution(FIVE, MASSES), 2, 1, seed=1.5),
        lambda: FeatureDistribution(FIVE, MASSES).drifted(math.nan),
        lambda: sample_sets(FeatureDistribution(FIVE, MASSES), 6, 1),
        lambda: sample_sets(FeatureDistribution(FIVE, MASSES), 0, 1),
        lambda: sample_sets(FeatureDistribution(FIVE, MASSES), 2, 11),
    ],
)
def test_what_is_no_distribution_is_refused(wrong):
    with pytest.raises(rp.errors.WorkloadError):
        wrong()


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
    assert by_query(with_history(workload(known), workload(past), history_weight=part)) == pytest.approx(expected)


def test_at_the_ends_only_one_of_them_is_left():
    known, past = workload({0: 1.0}), workload({1: 1.0})
    assert with_history(known, past, history_weight=0) is known
    assert with_history(known, past, history_weight=1) is past


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan])
def test_a_weight_outside_0_to_1_is_refused(wrong):
    with pytest.raises(rp.errors.WorkloadError, match="history_weight must be between 0 and 1"):
        with_history(workload({0: 1.0}), workload({1: 1.0}), history_weight=wrong)


def test_workloads_of_two_domains_are_refused_whatever_they_weigh():
    other = Workload(Domain({"a": 2}), [("a",)])
    for part in (0, 0.5, 1):
        with pytest.raises(rp.errors.WorkloadError, match="same domain"):
            with_history(workload({0: 1.0}), other, history_weight=part)
    with pytest.raises(rp.errors.ArgumentError, match="prespecified"):
        with_history([("a",)], other, history_weight=0.5)
