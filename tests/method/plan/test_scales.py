"""Rows of any scale: what is claimed is what explicit matrices say in 50 digits, and bases are as good as they say."""

import math
import warnings
from dataclasses import replace

import mpmath
import numpy as np
import pytest

import residualplanner as rp
from random_plans import basis_of
from residualplanner import Plan
from slowness import slow

ONE = rp.pcost(1)
N = 16
X, ONES = np.arange(N), np.ones(N)
NORMAL = np.random.default_rng(3).normal(size=(5, N))

SCALES = {
    "squares": [ONES, X, X**2],
    "incomes": [ONES, X * 1e6 / N],
    "incomes and ages": [ONES, X * 1e9, X[::-1] ** 2],
    "cents": [ONES, np.round(X * 1234.5678, 2), X**2 * 0.01],
    "years": [ONES, 1990 + X],
    "dates": [ONES, 20240101 + X],
    "ordinal dates": [ONES, 738000 + X, 1e9 + X**2],
    "dates alone": [20240101 + X, 20240101 - X],
    "from millionths to billions": [ONES, *(NORMAL * 10.0 ** np.arange(-6, 9, 3)[:, None])],
    "constants above them": [1e9 * ONES, *(NORMAL * 10.0 ** np.arange(-6, 9, 3)[:, None] + 1e7)],
    "the limits": [ONES, NORMAL[0] * 1e-15, NORMAL[1], NORMAL[2] * 1e14],
    "repeated and doubled": [ONES, X, X, 2 * X, X**2],
    "powers": [(X / 10) ** k for k in range(7)],
}


def workload_of(rows, **others) -> rp.Workload:
    rows = np.array(rows, dtype=float)
    domain = rp.Domain({"a": rows.shape[1], "b": 2})
    return rp.Workload(domain, [{"a": rp.Custom(rows), **others}])


def covariance_of(plan: Plan, rows) -> tuple[list[list[mpmath.mpf]], list[mpmath.mpf]]:
    """Of the answers on the first attribute, and their variances, in 50 digits.

    Every row is a combination of the row of ones and what is measured.
    """
    with mpmath.workdps(50):
        T = mpmath.matrix([[1] * plan.bases["a"].size, *plan.bases["a"].matrix.tolist()])
        wanted = mpmath.matrix(np.array(rows, dtype=float).tolist())
        combination = wanted * T.T * mpmath.inverse(T * T.T)
        missed = combination * T - wanted
        assert max(map(abs, missed)) <= mpmath.mpf(10) ** -30 * max(map(abs, wanted))
        noise = mpmath.diag([plan.noise_variances[0], *[plan.noise_variances[1]] * (T.rows - 1)])
        found = (combination * noise * combination.T).tolist()
    return found, [row[i] for i, row in enumerate(found)]


@pytest.mark.cases(9)
@pytest.mark.slow
@pytest.mark.parametrize("loss", ["sum", slow("max")])
@pytest.mark.parametrize("name", SCALES)
def test_claims_are_those_of_explicit_matrices_whatever_the_scale(name, loss):
    rows = SCALES[name]
    workload = workload_of(rows)
    plan, query = rp.select(workload, budget=ONE, loss=loss), {"a": rp.Custom(np.array(rows, dtype=float))}
    covariance, variances = covariance_of(plan, rows)
    for claimed, exact in zip(plan.variance(query), variances, strict=True):
        assert abs(claimed / exact - 1) < 1e-9
    assert abs(plan.average_variances[0] * len(rows) / sum(variances) - 1) < 1e-9
    assert abs(plan.max_variance / max(variances) - 1) < 1e-9
    found = plan.covariance(query)
    for i, j in np.ndindex(found.shape):
        assert abs(found[i, j] - covariance[i][j]) <= 1e-9 * mpmath.sqrt(variances[i] * variances[j])
    weights = 1 / plan.variance(query) ** 0.5
    combined = sum(weights[i] * weights[j] * covariance[i][j] for i, j in np.ndindex(found.shape))
    assert abs(plan.combination_variance(query, weights) / combined - 1) < 1e-9


def few_rows(size: int, rows: str):
    """Few rows on many values, which are searched to the end, too."""
    x = np.arange(size)
    return [x**0, x, x**2] if rows == "quadratic" else [x**0, *np.random.default_rng(0).normal(size=(int(rows), size))]


@pytest.mark.cases(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "slack"),
    [
        *((rows, 2e-4) for rows in SCALES.values()),
        *((few_rows(*given), 3e-4) for given in ((200, "3"), (60, "10"), (60, "quadratic"))),
    ],
)
def test_plans_are_the_best_of_all_mechanisms_for_one_query_whatever_the_scale(rows, slack):
    plan, least = rp.select(workload_of(rows), budget=ONE), least_loss(rows)
    assert least * (1 - 1e-9) <= plan.loss_value <= least * (1 + slack)
    # Rows of very different scales leave the last digits of the proof to the processor.
    assert plan.bases["a"].gap <= (0.1 if any(rows is each for each in SCALES.values()) else slack)
    assert ("stopped" in plan.status) == (plan.bases["a"].gap > 1e-4)


def least_loss(rows) -> float:
    """A bound for every mechanism of cost 1 that answers the rows: (33) with the best weights of the values."""
    W = np.array(rows, dtype=float)
    weights = np.full(W.shape[1], 1 / W.shape[1])
    bound = 0.0
    for step in range(3000):
        _, values, turned = np.linalg.svd(W * np.sqrt(weights), full_matrices=False)
        before, bound = bound, max(bound, float(values.sum()) ** 2)
        if step > 50 and bound < before * (1 + 3e-8):
            break
        lengths = (values[:, None] * turned**2).sum(axis=0) / values.sum()
        weights = lengths / lengths.sum()
    return bound


def test_bases_whose_search_was_stopped_and_bases_that_nothing_is_proved_of_say_so():
    assert basis_of(3, None).gap == 0.0
    given = basis_of(2, [[1, -1]])
    assert given.gap == math.inf
    domain = rp.Domain({name: 2 for name in "abc"})
    bases = {"a": given, "b": replace(given, gap=0.03), "c": replace(given, gap=1e-5)}
    plan = rp.select(rp.marginals(domain, up_to=2), budget=ONE, bases=bases)
    assert plan.status == "closed form; the search for the basis of 'b' stopped within 3.0e-02 of the best"


@pytest.mark.parametrize("exponent", [8, 12, 16, 100])
def test_weights_far_apart_are_planned_for_the_maximum(exponent):
    domain = rp.Domain({"a": 6, "b": 4})
    queries = [{"a": rp.Custom([[1] * 6, [0, 1, 2, 3, 4, 5]])}, {"b": rp.Prefix()}]
    plan = rp.select(rp.Workload(domain, queries, weights=[1, 10.0**exponent]), budget=ONE, loss="max")
    assert np.isfinite(plan.max_variances).all()
    alone = rp.select(rp.Workload(domain, queries[1:]), budget=ONE, loss="max")
    assert plan.max_variances[1] == pytest.approx(alone.max_variance, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [[[1, 1], [1, 0]], [[1, 1], [1, -1]]])
def test_bases_by_set_with_a_column_of_zeros_warn_of_nothing(rows):
    domain = rp.Domain({"a": 2, "b": 3, "c": 2})
    other = rp.Custom([[1, 1, 1], [0, 1, 2]])
    queries = [{"b": other}, {"a": rp.Custom(rows), "b": other}, ("a", "c")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for weights in ([1, 1, 1], [1e-12, 1, 1]):
            plan = rp.select(rp.Workload(domain, queries, weights=weights), budget=ONE, bases="optimal_by_set")
            assert np.isfinite(plan.rmse)
