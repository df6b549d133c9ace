"""Plans with one basis of any sort for each attribute cost what the explicit matrices of their mechanism say."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import dense
import residualplanner as rp
from random_plans import IDENTITY, kind_of, mechanism, plan_of, plans
from residualplanner import Domain, Identity, Workload, marginals, pcost, select
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.method.bases.subtraction import subtraction_basis
from strategies import noise_of

every_plan = plans(most_cells=24, kind=kind_of)
REPLACED = rp.privacy.Neighbors("replace")


@given(plan=every_plan)
def test_the_cost_is_the_largest_diagonal_entry_of_the_stacked_mechanism_and_stated_hardly_higher(plan):
    assert plan.pcost == pytest.approx(dense.privacy_cost(*mechanism(plan)), rel=1e-10)
    exact = Fraction(0)
    for members, variance in noise_of(plan).items():
        columns = [
            max(sum(int(x) ** 2 for x in column) for column in basis.matrix.T)
            if basis.matrix is not None
            else Fraction(basis.size - 1, basis.size)
            for basis in (plan.strategy.basis(members, i) for i in members)
        ]
        exact += math.prod(columns, start=Fraction(1)) / Fraction(variance)
    assert exact <= Fraction(plan.pcost) <= exact * (1 + Fraction(1, 10**13))


@pytest.mark.parametrize("limit", [1, 10**9])
def test_means_over_too_many_cells_are_bounded_by_the_average(monkeypatch, limit):
    monkeypatch.setattr("residualplanner.method.strategy.accuracy.MEAN_LIMIT", limit)
    workload = Workload(Domain({"a": 3}), [{"a": kind_of([[1, 0, 0], [1, 1, 0], [1, 1, 1]])}])
    table = select(workload, budget=pcost(1), bases={"a": [[1.0, 0, 0], [0, 1, 0]]}).errors()
    of_average = math.sqrt(2 / math.pi) * table["std_err"]
    assert (table["expected_abs_error"] < of_average * (1 - 1e-3)).all() == (limit > 1)
    assert (table["expected_abs_error"] <= of_average * (1 + 1e-12)).all()


@given(plan=every_plan)
def test_the_bound_for_replaced_records_is_no_less_than_any_pair_costs(plan):
    replaced = replace(plan, neighbors=REPLACED)
    worst = dense.pair_costs(*mechanism(plan)).max()
    assert replaced.pcost >= worst * (1 - 1e-9)
    assert replaced.pcost <= 4 * dense.privacy_cost(*mechanism(plan)) * (1 + 1e-9)
    if all(plan.strategy.basis(members, i).matrix is None for members in plan.closure for i in members):
        assert replaced.pcost == pytest.approx(worst, rel=1e-9, abs=1e-9)


def test_the_bound_for_replaced_records_is_attained_by_opposite_columns():
    """One attribute: columns 2 and -2, p = 4, worst replacement 1: the pair costs 16 = 4 p."""
    plan = plan_of((2,), [np.array([[2, -2]])], [{"a": IDENTITY}], neighbors=REPLACED)
    assert plan.pcost == pytest.approx(16 / plan.noise_variances[1], rel=1e-12)


def test_columns_that_only_rounding_calls_orthogonal_are_not_underestimated():
    """The products of large columns are below 0 by less than floats of their size hold."""
    large = 2**49
    B = np.array([[large, 1, 0], [1, -large - 1, 1]])
    plan = plan_of((3,), [B], [{"a": IDENTITY}], neighbors=REPLACED)
    exact = max(sum((int(B[i, j]) - int(B[i, k])) ** 2 for i in range(2)) for j in range(3) for k in range(3))
    assert Fraction(plan.pcost) >= exact / Fraction(plan.noise_variances[1])


def test_two_attributes_of_one_size_may_have_different_bases():
    domain = Domain({"a": 3, "b": 3})
    bases = {"a": [[1.0, 0, 0], [0, 1, 0]], "b": [[1.0, -1, 0], [1, 1, -2]]}
    plan = select(marginals(domain, up_to=2), budget=pcost(1), bases=bases)
    assert plan.bases["a"].matrix.tolist() != plan.bases["b"].matrix.tolist()
    assert plan.noise_variance_of["a"] != pytest.approx(plan.noise_variance_of["b"])
    assert plan.basis_summary == {"given": 2}


def test_a_basis_of_fewer_rows_answers_what_it_spans_and_refuses_the_rest():
    groups = kind_of([[1, 1, 0, 0], [0, 0, 1, 1]])
    workload = Workload(Domain({"a": 4, "b": 2}), [{"a": groups, "b": Identity()}])
    basis = integer_basis([[1, 1, -1, -1]], "given")
    plan = select(workload, budget=pcost(1), bases={"a": basis})
    assert plan.variance({"a": groups}).shape == (2,)
    for method in (plan.variance, plan.covariance, lambda query: plan.combination_variance(query, np.ones((4, 2)))):
        with pytest.raises(
            rp.errors.WorkloadError, match="the basis of 'a' has 1 answers, from which identity does not follow"
        ):
            method(("a", "b"))
    with pytest.raises(
        rp.errors.WorkloadError, match="the basis of 'a' has 1 answers, from which identity does not follow"
    ):
        select(Workload(Domain({"a": 4}), ["a"]), budget=pcost(1), bases={"a": basis})


def test_a_kind_that_asks_only_for_the_total_is_answered():
    """Nothing of the attribute's own noise reaches the answer, so its noise may be anything."""
    total = kind_of([[1, 1, 1]])
    workload = Workload(Domain({"a": 3, "b": 2}), [{"a": total, "b": Identity()}])
    for loss in ("sum", "max"):
        plan = select(workload, budget=pcost(1), loss=loss, bases={"a": [[1.0, 0, 0], [0, 1, 0]]})
        alone = select(Workload(Domain({"b": 2}), ["b"]), budget=pcost(1), loss=loss)
        np.testing.assert_allclose(plan.variance({"a": total, "b": Identity()})[0], alone.variance("b"), rtol=1e-4)


def test_bases_that_do_not_fit_are_refused():
    workload = marginals(Domain({"a": 3, "b": 2}), up_to=2)
    plan = select(workload, budget=pcost(1))
    with pytest.raises(rp.errors.WorkloadError, match="one basis for each attribute: got 1 for 2 attributes"):
        replace(plan, strategy=rp.strategies.constant_strategy(plan.closure, (subtraction_basis(3),)))
    with pytest.raises(rp.errors.WorkloadError, match="the basis of 'b' is for 3 values, but it has 2"):
        replace(plan, strategy=rp.strategies.constant_strategy(plan.closure, (subtraction_basis(3),) * 2))
    assert replace(plan, strategy=rp.strategies.subtraction_strategy(workload)).basis_summary == {"subtraction": 2}


@pytest.mark.parametrize(
    ("bases", "message"),
    [
        ("best", r'bases must be "optimal", "optimal_by_set", "orthogonal" or a mapping'),
        (None, r"or a mapping from attribute names to matrices, got None"),
        ({"a": np.eye(3)}, r"the basis given for 'a' must have shape \(2, 3\): .* got \(3, 3\)"),
        ({"a": "words"}, "the basis given for 'a' must be a matrix of numbers"),
        ({"a": [[1.0, 0, 0], [2, 0, 0]]}, "the basis given for 'a' cannot be used: .*independent"),
        ({"a": [[1.0, 0, 0], [0, math.nan, 0]]}, "the basis given for 'a' cannot be used: .*finite"),
        ({"a": subtraction_basis(4)}, "the basis given for 'a' is for 4 values, but it has 3"),
        ({"c": np.eye(3)}, "'c'"),
    ],
)
def test_bases_that_cannot_be_read_are_refused(bases, message):
    with pytest.raises(ValueError, match=message):
        select(marginals(Domain({"a": 3, "b": 2}), up_to=2), budget=pcost(1), bases=bases)


def test_bases_with_entries_too_large_for_many_attributes_are_refused():
    domain = Domain({f"x{i}": 2 for i in range(12)})
    bases = {name: integer_basis([[2**50, 0]], "given") for name in domain.names}
    with pytest.raises(rp.errors.WorkloadError, match="entries too large for queries of so many attributes"):
        select(Workload(domain, [domain.names]), budget=pcost(1), bases=bases)


def test_a_real_matrix_becomes_integers_that_cost_next_to_nothing():
    S = np.random.default_rng(3).normal(size=(4, 5))
    workload = Workload(Domain({"a": 5}), ["a"])
    plan = select(workload, budget=pcost(1), bases={"a": S})
    u, G = np.split(np.linalg.inv(np.vstack([np.ones(5), S])), [1], axis=1)
    share = {(): (u**2).sum(), (0,): (G**2).sum()}
    ideal = (math.sqrt(share[()]) + math.sqrt(share[(0,)] * (S**2).sum(axis=0).max())) ** 2
    assert ideal * (1 - 1e-9) <= plan.loss_value <= ideal * (1 + 1e-4)
    assert plan.bases["a"].family == "given"
    assert select(workload, budget=pcost(1), bases=plan.bases).loss_value == plan.loss_value
