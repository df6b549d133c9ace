"""Published and prototype's figures for prefix sums at privacy cost 1: ours are at or below, to the last digit."""

import pytest

from benchmarks.generalized import ORDERS, prefix_workload
from benchmarks.published_general import PREFIX_RMSE
from residualplanner import pcost, select


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("domain", PREFIX_RMSE)
@pytest.mark.cases(1)
def test_rmse_of_prefix_sums_prints_at_or_below_the_prototypes(domain, order):
    published = [figures[list(ORDERS).index(order)] for figures in PREFIX_RMSE[domain]]
    plan = select(prefix_workload(domain, **ORDERS[order]), budget=pcost(1))
    assert round(plan.rmse, 3) <= min(published)
    # The prototype solved the same problem: integers cannot make it much lower.
    assert plan.rmse > published[2] - 0.001
