"""The closed form is the optimum of a weighted sum of variances."""

import math

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner.method.noise.choice import minimize_weighted_variance

entries = st.floats(1e-3, 1e3)


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, float]:
    count = draw(st.integers(1, 6))
    numbers = st.lists(entries, min_size=count, max_size=count).map(np.array)
    return draw(numbers), draw(numbers), draw(entries)


@given(problem=problems(), tilt=st.lists(st.floats(-0.5, 0.5), min_size=6, max_size=6))
def test_no_other_noise_of_the_same_cost_does_better(problem, tilt):
    p, v, pcost = problem
    choice = minimize_weighted_variance(p, v, pcost=pcost)
    other = choice.noise_variance * np.exp(tilt[: p.size])
    other *= (p / other).sum() / pcost
    assert v @ other >= choice.loss * (1 - 1e-12)


@given(problem=problems())
def test_it_spends_the_whole_cost_and_states_the_loss_it_reaches(problem):
    p, v, pcost = problem
    choice = minimize_weighted_variance(p, v, pcost=pcost)
    assert (p / choice.noise_variance).sum() == pytest.approx(pcost, rel=1e-12)
    assert v @ choice.noise_variance == pytest.approx(choice.loss, rel=1e-12)
    assert choice.loss == pytest.approx(np.sqrt(p * v).sum() ** 2 / pcost, rel=1e-12)
    assert choice.bound == choice.loss
    assert choice.gap == 0.0
    assert choice.status == "closed form"


@settings(max_examples=10)
@given(problem=problems())
def test_a_convex_solver_finds_nothing_better(problem):
    p, v, pcost = problem
    choice = minimize_weighted_variance(p, v, pcost=pcost)
    unit = cvxpy.Variable(p.size)
    start = choice.noise_variance * np.linspace(0.5, 2, p.size)
    cost = cvxpy.sum(cvxpy.multiply(p / start / pcost, cvxpy.inv_pos(unit)))
    problem = cvxpy.Problem(cvxpy.Minimize((v * start / choice.loss) @ unit), [cost <= 1])
    problem.solve(solver="CLARABEL")
    assert problem.value == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("pcost", [0.0, -1.0, math.nan, math.inf, True, "1", None])
def test_bad_budget_is_refused(pcost):
    with pytest.raises(rp.errors.BudgetError, match="pcost must be positive and finite"):
        minimize_weighted_variance([1.0], [1.0], pcost=pcost)


@pytest.mark.parametrize(
    ("p", "v", "message"),
    [
        ([1.0, 2.0], [1.0], "one weight per base mechanism: got 2 coefficients and 1 weights"),
        ([1.0, 0.0], [1.0, 1.0], "must be positive in every entry"),
        ([1.0, 1.0], [1.0, -1.0], "must be positive in every entry"),
        ([1.0, math.nan], [1.0, 1.0], "pcost_coefficient must be finite in every entry"),
        ([1.0], [math.inf], "variance_weight must be finite in every entry"),
        ([[1.0]], [[1.0]], "pcost_coefficient must have 1 axes, got 2"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(p, v, message):
    with pytest.raises(ValueError, match=message):
        minimize_weighted_variance(p, v, pcost=1.0)


def test_the_noise_cannot_be_changed():
    assert not minimize_weighted_variance([1.0], [1.0], pcost=1.0).noise_variance.flags.writeable
