"""Bases chosen for the least maximum: of single attributes they reach it, and integers lose little of it."""

import cvxpy
import numpy as np
import pytest

import residualplanner as rp
from more.limits import limited
from residualplanner import Custom, Domain, Hierarchy, Identity, Prefix, Range, Workload, marginals, pcost, select
from residualplanner.more.searches.attribute_grams import attribute_grams
from residualplanner.more.searches.joint_choice import _JointSearch
from residualplanner.more.searches.tree_grams import grams_for_maximum

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


@pytest.mark.cases(4)
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
    domain = Domain(dict(zip("abc", sizes, strict=False)))
    queries = [{name: kind} for name, kind in zip("abc", kinds, strict=False)]
    plan = select(Workload(domain, queries, weights=list(weights)), budget=ONE, loss="max")
    matrices = [kind.matrix(size) for kind, size in zip(kinds, sizes, strict=True)]
    least = least_of_singles(list(zip(matrices, weights, strict=True)))
    assert least * (1 - 1e-6) <= plan.loss_value <= least * (1 + 2e-4)


class CountedSearch(_JointSearch):
    """The search, with the number of its rounds."""

    rounds = 0

    def _improved(self, tangents):
        self.rounds += 1
        return super()._improved(tangents)


def searched(workload):
    found = CountedSearch(workload, np.ones(len(workload)), attribute_grams(workload, grams_for_maximum))
    found.run()
    return found


def test_the_search_ends_by_itself_and_its_first_levels_do_not_slow_it():
    """The level falls at first while bases follow the weights; the power must recover from that."""
    workload = marginals(Domain(dict.fromkeys("abc", 10)), order=1, kinds=dict.fromkeys("abc", Prefix()))
    assert 5 < searched(workload).rounds < 60


@pytest.mark.parametrize("size", [6, 10, 40])
def test_integers_raise_no_rows_variance_by_much(size):
    found = searched(Workload(Domain({"a": size}), [{"a": Prefix()}]))
    basis = found.basis(0)

    def factors(matrix):
        inverse = np.tril(np.ones((size, size))) @ np.linalg.inv(np.vstack([np.ones(size), matrix]))
        return (inverse[:, 1:] ** 2).sum(axis=1) * (matrix**2).sum(axis=0).max(), inverse[:, 0] ** 2

    for exact, rounded in zip(factors(found.found[0].S), factors(basis.matrix.astype(float)), strict=True):
        assert (rounded <= exact + 1.001e-4 * exact.max()).all()
    assert abs(basis.matrix).max() < 2**16


def test_a_query_of_weight_0_has_no_say():
    queries, domain = [{"a": Prefix()}, {"a": Range()}], Domain({"a": 12})
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


@pytest.mark.thorough
@pytest.mark.slow
def test_few_rounds_for_large_attributes_are_near_many():
    workload = marginals(Domain({"a": 64, "b": 3}), up_to=2, kinds={"a": Prefix()})
    many, orthogonal = (
        select(workload, budget=ONE, loss="max", bases=word).max_variance for word in ("optimal", "orthogonal")
    )
    for smallest, least_gain in ((2048, 3 / 4), (20, 0)):  # beyond the last size those for the sum of variances serve
        with limited("more.searches.joint_choice", _EFFORT=((10, 150, 12), (smallest, 14, 4))):
            few = select(workload, budget=ONE, loss="max").max_variance
        assert many * (1 - 1e-4) < few < orthogonal - (orthogonal - many) * least_gain


@pytest.mark.slow
@pytest.mark.thorough
def test_rows_that_share_weights_lose_little():
    workload = marginals(Domain({"a": 20, "b": 16, "c": 3}), order=2, kinds={"a": Prefix(), "b": Range()})
    each = select(workload, budget=ONE, loss="max").max_variance
    with limited("more.searches.joint_choice", _WEIGHTS=1500):
        assert select(workload, budget=ONE, loss="max").max_variance < each * 1.08
