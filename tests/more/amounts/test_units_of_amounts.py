"""A plan is the same whatever unit an amount is declared in, for every loss and both notions of neighbors."""

import cvxpy
import numpy as np
import pytest

import residualplanner as rp

QUERIES = [("a",), ("a", "b"), {"b": rp.Identity(), "pay": rp.Sum()}, {"a": rp.Identity(), "pay": rp.Mean()}]
LOSSES = {
    "sum": "sum",
    "equal weights": rp.losses.SumOfVariances("equal"),
    "max": "max",
    "targets": rp.losses.Targets([(("a",), 3.0), (("a", "b"), 2.0)]),
    "norm": lambda variances: cvxpy.norm(variances, 4),
    "squares": cvxpy.sum_squares,
}


def planned(unit, **options):
    domain = rp.Domain({"a": 4, "b": 2, "pay": rp.Numeric(0, 40 * unit, unit=unit)})
    return rp.select(rp.Workload(domain, QUERIES), **options)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
@pytest.mark.parametrize("loss", LOSSES)
def test_errors_in_units_of_scales_and_the_budget_for_a_loss_do_not_depend_on_the_unit_of_an_amount(loss, neighbors):
    how = {"loss": LOSSES[loss], "neighbors": neighbors}
    small, large = (planned(unit, budget=rp.pcost(1), **how) for unit in (1, 10**9))
    mine, theirs = (plan.errors()["std_err"] / plan.errors()["scale"] for plan in (small, large))
    np.testing.assert_allclose(theirs, mine, rtol=2e-3)
    assert large.loss_value == pytest.approx(small.loss_value, rel=1e-4)
    small, large = (planned(unit, at_most=2.0, **how) for unit in (1, 10**9))
    assert float(large.budget.pcost) == pytest.approx(float(small.budget.pcost), rel=1e-4)
