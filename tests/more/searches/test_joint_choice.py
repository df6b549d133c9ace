"""Bases chosen for the least maximum: of single attributes they reach it, and integers lose little of it."""

import cvxpy
import numpy as np
import pytest

import residualplanner as rp
from residualplanner import Custom, Domain, Hierarchy, Identity, Prefix, Range, Workload, marginals, pcost, select
from residualplanner.more.searches import joint_choice as joint
from residualplanner.more.searches.rounding import rounded_matrix

ONE = pcost(1)


def least_of_singles(queries):
    """The least largest variance over the family, of queries of one attribute each: a convex problem.

    Args:
        queries: pairs of a query matrix (rows, n) and the importance of its cells, one for each attribute.
    """
    h, largest = cvxpy.Variable(), cvxpy.Variable()
    limits, cost = [], h
    for W, importance in queries:
        n = W.shape[1]
        Z = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))[0][:, 1:]
        Y, u, longest = cvxpy.Variable((n - 1, n - 1), PSD=True), cvxpy.Variable(n), cvxpy.Variable()
        limits += [cvxpy.sum(u) == 1, *(cvxpy.matrix_frac(Z.T @ (e - u), Y) <= longest for e in np.eye(n))]
        limits += [importance * (w @ Z @ Y @ Z.T @ w + cvxpy.quad_over_lin(w @ u, h)) <= largest for w in W]
        cost = cost + longest
    return cvxpy.Problem(cvxpy.Minimize(largest), [*limits, cost <= 1]).solve(solver="CLARABEL")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "sizes", "weights"),
    [
        ((Prefix(),), (10,), (1.0,)),
        ((Prefix(), Prefix()), (7, 7), (1.0, 1.0)),
        ((Prefix(), Prefix()), (8, 5), (1.0, 3.0)),
        ((Prefix(), Range(), Identity()), (6, 5, 4), (1.0, 1.0, 1.0)),
        ((Hierarchy([2]), Prefix()), (6, 6), (2.0, 1.0)),
    ],
    ids=["one", "equal", "weights", "three kinds", "hierarchy"],
)
def test_queries_of_single_attributes_reach_the_least_maximum(kinds, sizes, weights):
    names = "abc"[: len(kinds)]
    queries = [{name: kind} for name, kind in zip(names, kinds, strict=True)]
    plan = select(
        Workload(Domain(dict(zip(names, sizes, strict=True))), queries, weights=list(weights)), budget=ONE, loss="max"
    )
    matrices = [kind.matrix(size) for kind, size in zip(kinds, sizes, strict=True)]
    least = least_of_singles(list(zip(matrices, weights, strict=True)))
    assert least * (1 - 1e-6) <= plan.loss_value <= least * (1 + 2e-4)


def test_the_search_ends_by_itself_and_its_first_levels_do_not_slow_it(monkeypatch):
    """The level falls at first while bases follow the weights; the power must recover from that."""
    rounds = []
    improved = joint._JointSearch._improved
    monkeypatch.setattr(joint._JointSearch, "_improved", lambda *arguments: rounds.append(1) or improved(*arguments))
    select(
        marginals(Domain(dict.fromkeys("abc", 10)), order=1, kinds=dict.fromkeys("abc", Prefix())),
        budget=ONE,
        loss="max",
    )
    assert 5 < len(rounds) < 60


@pytest.mark.parametrize("size", [6, 10, 40])
def test_integers_raise_no_rows_variance_by_much(size, monkeypatch):
    kept = []
    whole = joint.basis_in_integers
    monkeypatch.setattr(
        joint,
        "basis_in_integers",
        lambda forms, found, *rest: kept.append((found.S, whole(forms, found, *rest))) or kept[-1][1],
    )
    select(Workload(Domain({"a": size}), [{"a": Prefix()}]), budget=ONE, loss="max")
    ((S, basis),) = kept

    def factors(matrix):
        inverse = np.tril(np.ones((size, size))) @ np.linalg.inv(np.vstack([np.ones(size), matrix]))
        return (inverse[:, 1:] ** 2).sum(axis=1) * (matrix**2).sum(axis=0).max(), inverse[:, 0] ** 2

    for exact, found in zip(factors(S), factors(basis.matrix.astype(float)), strict=True):
        assert (found <= exact + 1.001e-4 * exact.max()).all()
    assert abs(basis.matrix).max() < 2**16


@pytest.mark.parametrize("slack", [0.0, 1e-5, 1e-3])
def test_lengths_within_the_slack_are_left_alone(slack):
    S = np.random.default_rng(1).normal(size=(9, 10))
    wanted = np.ldexp(S, 14)
    longest = (wanted**2).sum(axis=0).max()
    matrix, nearest = rounded_matrix(S, 14, slack), np.rint(wanted)
    off = abs((nearest**2).sum(axis=0) - (wanted**2).sum(axis=0)) / longest
    assert (matrix[:, off <= slack] == nearest[:, off <= slack]).all()
    assert (abs((matrix.astype(float) ** 2).sum(axis=0) - (wanted**2).sum(axis=0)) <= max(slack, 1e-6) * longest).all()
    if slack == 0.0:
        assert (matrix != nearest).any()


def test_a_query_of_weight_0_has_no_say():
    queries = [{"a": Prefix()}, {"a": Range()}]
    domain = Domain({"a": 12})
    alone = select(Workload(domain, queries[:1]), budget=ONE, loss="max")
    beside = select(Workload(domain, queries), budget=ONE, loss=rp.losses.MaxVariance([1, 0]))
    assert beside.loss_value == pytest.approx(alone.loss_value, rel=2e-4)
    assert abs(beside.bases["a"].matrix).max() < 2 * abs(alone.bases["a"].matrix).max()


def test_amounts_a_billion_times_as_large_as_counts_are_planned_as_those_that_are_a_million_times_as_large():
    def relative(size):
        rows = Custom([[1, 1, 1, 1], [1, 1, 1, 1 + size], [size, -size, 0, 0]])
        workload = Workload(Domain({"a": 4, "b": 3}), [{"a": rows, "b": Prefix()}, ("b",)])
        return select(workload, budget=ONE, loss="max").max_variance / size**2

    assert relative(1e10) == pytest.approx(relative(1e6), rel=1e-4)
