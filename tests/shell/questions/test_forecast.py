"""Which attributes queries will be about, and how that drifts."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

import residualplanner as rp
from residualplanner import Domain

FIVE = Domain({name: 2 for name in "abcde"})
MASSES = [5, 3, 1, 0.5, 0.25]


def attributes(count):
    return Domain({f"a{i}": 2 for i in range(count)})


def test_sets_are_drawn_in_proportion_to_the_product_of_their_masses():
    runs = 20_000
    found = Counter(
        rp.questions.sample_sets(rp.questions.FeatureDistribution(FIVE, MASSES), 3, runs, replace=True, seed=1)
    )
    mass = dict(zip("abcde", MASSES, strict=True))
    weights = {chosen: math.prod(mass[name] for name in chosen) for chosen in combinations("abcde", 3)}
    total = sum(weights.values())
    statistic = sum((found[s] - runs * w / total) ** 2 / (runs * w / total) for s, w in weights.items())
    assert chi2.sf(statistic, len(weights) - 1) > 1e-3


@pytest.mark.parametrize(("law", "published"), [("product", 0.0681), ("successive", 0.0864)])
def test_both_laws_have_the_published_probability_of_the_top_three(law, published):
    masses = 0.75 ** np.arange(14)
    runs = 60_000
    drawn = rp.questions.sample_sets(
        rp.questions.FeatureDistribution(attributes(14), masses), 3, runs, replace=True, law=law, seed=2
    )
    found = Counter(drawn)["a0", "a1", "a2"] / runs
    assert abs(found - published) < 4 * math.sqrt(published / runs) + 5e-5


def test_sets_with_masses_far_apart_have_the_probable_attributes():
    """Products of small masses are 0 as floats: the one probable attribute is in every set, the others alike."""
    masses = np.full(6, 1e-200)
    masses[3] = 1.0
    found = Counter(
        rp.questions.sample_sets(rp.questions.FeatureDistribution(attributes(6), masses), 3, 2000, replace=True, seed=0)
    )
    assert set(found) == {tuple(sorted({"a3", *two})) for two in combinations(["a0", "a1", "a2", "a4", "a5"], 2)}
    assert chi2.sf(sum((count - 200) ** 2 / 200 for count in found.values()), 9) > 1e-3


def test_masses_whose_sum_no_float_holds_add_up_to_1():
    assert rp.questions.FeatureDistribution(FIVE, [1e308] * 5).masses.tolist() == pytest.approx([0.2] * 5)


@pytest.mark.parametrize("count", [14, 48])
def test_drift_moves_as_much_mass_as_the_table_says(count):
    published = {
        14: {0.05: 0.012, 0.1: 0.074, 0.2: 0.212, 0.3: 0.356, 0.4: 0.460, 0.5: 0.538, 0.8: 0.745, 1: 0.764},
        48: {0.05: 0.134, 0.1: 0.273, 0.2: 0.485, 0.3: 0.629, 0.4: 0.755, 0.5: 0.854, 0.8: 0.996, 1: 0.998},
    }[count]
    now = rp.questions.FeatureDistribution(attributes(count), 0.75 ** np.arange(count))
    for amount, distance in published.items():
        found = np.mean([now.distance(now.drifted(amount, seed=seed)) for seed in range(400)])
        assert abs(found - distance) < 0.02, amount


def test_no_drift_changes_nothing_and_full_drift_reverses_the_order():
    now = rp.questions.FeatureDistribution(FIVE, MASSES)
    assert (now.drifted(0, seed=1).masses == now.masses).all()
    assert (now.drifted(1, seed=1).masses == now.masses[::-1]).all()
    alone = rp.questions.FeatureDistribution(Domain({"a": 2}), [1])
    assert (alone.drifted(0.5).masses == [1]).all()


def test_families_have_their_masses_in_a_random_order():
    zipf = rp.questions.FeatureDistribution.zipf(FIVE, exponent=2, seed=3)
    assert np.allclose(sorted(zipf.masses / zipf.masses.max())[::-1], [1, 1 / 4, 1 / 9, 1 / 16, 1 / 25])
    geometric = rp.questions.FeatureDistribution.geometric(FIVE, q=0.25, seed=3)
    assert np.allclose(sorted(geometric.masses / geometric.masses.max())[::-1], 0.75 ** np.arange(5))
    firsts = {int(rp.questions.FeatureDistribution.zipf(FIVE, seed=seed).masses.argmax()) for seed in range(40)}
    assert firsts == set(range(5))
    assert np.allclose(rp.questions.FeatureDistribution.uniform(FIVE).masses, 0.2)


def test_without_replacement_every_set_comes_once():
    drawn = rp.questions.sample_sets(rp.questions.FeatureDistribution(FIVE, MASSES), 2, 10, seed=4)
    assert sorted(drawn) == sorted(combinations("abcde", 2))


def test_large_tables_are_left_out():
    domain = Domain({"a": 10, "b": 10, "c": 2, "d": 2})
    drawn = rp.questions.sample_sets(rp.questions.FeatureDistribution.uniform(domain), 2, 5, max_cells=20, seed=5)
    assert sorted(drawn) == [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")]
    with pytest.raises(rp.errors.WorkloadError, match="too few sets"):
        rp.questions.sample_sets(rp.questions.FeatureDistribution.uniform(domain), 2, 1, max_cells=3, seed=5)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: rp.questions.FeatureDistribution(FIVE, [1, 2]),
        lambda: rp.questions.FeatureDistribution(FIVE, [1, 1, 1, 1, 0]),
        lambda: rp.questions.FeatureDistribution(FIVE, [1, 1, 1, 1, math.nan]),
        lambda: rp.questions.FeatureDistribution(FIVE, ["x"] * 5),
        lambda: rp.questions.FeatureDistribution.zipf(FIVE, exponent=math.nan),
        lambda: rp.questions.FeatureDistribution.geometric(FIVE, q=1),
        lambda: rp.questions.FeatureDistribution(FIVE, MASSES).drifted(1.1),
        lambda: rp.questions.FeatureDistribution(FIVE, MASSES).drifted("0.5"),
        lambda: rp.questions.FeatureDistribution(FIVE, MASSES).drifted(0.5, seed=-1),
        lambda: rp.questions.FeatureDistribution(FIVE, [1e300, 1, 1, 1, 1e-300]),
        lambda: rp.questions.FeatureDistribution.zipf(FIVE, exponent=1000),
        lambda: rp.questions.FeatureDistribution.geometric(FIVE, q="0.5"),
        lambda: rp.questions.FeatureDistribution.geometric(FIVE, seed="x"),
        lambda: rp.questions.sample_sets(rp.questions.FeatureDistribution(FIVE, MASSES), 2, 1, max_cells="4"),
        lambda: rp.questions.sample_sets(rp.questions.FeatureDistribution(FIVE, MASSES), 2, 1, seed=1.5),
        lambda: rp.questions.FeatureDistribution(FIVE, MASSES).drifted(math.nan),
        lambda: rp.questions.FeatureDistribution(FIVE, MASSES).distance(
            rp.questions.FeatureDistribution.uniform(attributes(2))
        ),
        lambda: rp.questions.sample_sets(rp.questions.FeatureDistribution(FIVE, MASSES), 6, 1),
        lambda: rp.questions.sample_sets(rp.questions.FeatureDistribution(FIVE, MASSES), 0, 1),
        lambda: rp.questions.sample_sets(rp.questions.FeatureDistribution(FIVE, MASSES), 2, 11),
        lambda: rp.questions.sample_sets(rp.questions.FeatureDistribution(FIVE, MASSES), 2, 1, law="other"),
    ],
)
def test_what_is_no_distribution_is_refused(wrong):
    with pytest.raises(rp.errors.WorkloadError):
        wrong()
