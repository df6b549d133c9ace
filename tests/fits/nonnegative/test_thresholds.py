"""Tables of thresholds beside sums: residuals that no query depends on have noise almost without a limit."""

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp

SIZES = {"a": 3, "b": 2, "d": 4}


def released(seed, budget, top):
    chance = np.random.default_rng(seed)
    domain = rp.Domain({**SIZES, "pay": rp.Numeric(0, top)})
    queries = [rp.Threshold(("a", "b", "d"), 2), {"b": rp.Identity(), "pay": rp.Sum()}]
    records = pd.DataFrame({name: chance.integers(0, size, 50) for name, size in SIZES.items()})
    records["pay"] = chance.integers(0, top, 50)
    plan = rp.select(rp.Workload(domain, queries), budget=rp.pcost(budget))
    return rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=seed))


@pytest.mark.slow
@pytest.mark.parametrize("budget", [1, 10**3, 10**6])
@pytest.mark.parametrize("top", [40, 10**9])
@pytest.mark.cases(1)
def test_nonnegative_tables_and_their_errors_are_found_at_every_budget(budget, top):
    for seed in range(2):
        made = rp.nonnegative(released(seed, budget, top))
        assert made.numbers.gap < 1e-6
    rp.fits.published_errors(made, simulations=10)


@pytest.mark.parametrize("total", ["estimate", "free"])
@pytest.mark.parametrize("weights", ["protect-margins", "variance", "order"])
def test_noise_without_a_limit_bends_no_table_to_it(weights, total):
    """Tables of the sums that were measured stay within some standard errors of the unbiased ones."""
    domain = rp.Domain({"a": 2, "b": 3, "c": 3, "d": 2})
    threshold = rp.Threshold(tuple(domain.names), 2)
    plan = rp.select(rp.Workload(domain, [threshold, "a", "b"]), budget=rp.pcost(1))
    assert plan.noise_variances.max() > 1e12
    records = np.random.default_rng(1).integers(0, domain.sizes, (3_000, 4))
    release = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=1))
    made = rp.nonnegative(release, weights=weights, total=total)
    assert made.numbers.gap < 1e-6
    for query in (threshold, "a", "b"):
        table = release[query]
        assert (np.abs(made[query].estimate - table.estimate) < 4 * table.std_err).all()
