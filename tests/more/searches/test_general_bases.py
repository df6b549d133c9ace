"""Plans with one basis of any sort for each attribute cost what the explicit matrices of their mechanism say."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import dense
import residualplanner as rp
from random_plans import IDENTITY, basis_of, kind_of, mechanism, plan_of, plans
from residualplanner import Domain, Identity, Workload, marginals, pcost, select
from strategies import noise_of

every_plan = plans(most_cells=24, kind=kind_of)
REPLACED = rp.privacy.Neighbors("replace")
PAIR = marginals(Domain({"a": 3, "b": 2}), up_to=2)


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


@given(plan=every_plan)
def test_the_bound_for_replaced_records_is_no_less_than_any_pair_costs(plan):
    replaced = replace(plan, neighbors=REPLACED)
    worst = dense.pair_costs(*mechanism(plan)).max()
    assert replaced.pcost >= worst * (1 - 1e-9)
    assert replaced.pcost <= 4 * dense.privacy_cost(*mechanism(plan)) * (1 + 1e-9)
    if all(plan.strategy.basis(members, i).matrix is None for members in plan.closure for i in members):
        assert replaced.pcost == pytest.approx(worst, rel=1e-9, abs=1e-9)


def test_the_bound_for_replaced_records_is_attained_by_opposite_columns_and_not_lost_to_rounding():
    """One attribute: columns 2 and -2, p = 4, worst replacement 1: the pair costs 16 = 4 p.

    The products of large columns are below 0 by less than floats of their size hold.
    """
    plan = plan_of((2,), [np.array([[2, -2]])], [{"a": IDENTITY}], neighbors=REPLACED)
    assert plan.pcost == pytest.approx(16 / plan.noise_variances[1], rel=1e-12)
    large = 2**49
    B = np.array([[large, 1, 0], [1, -large - 1, 1]])
    plan = plan_of((3,), [B], [{"a": IDENTITY}], neighbors=REPLACED)
    exact = max(sum((int(B[i, j]) - int(B[i, k])) ** 2 for i in range(2)) for j in range(3) for k in range(3))
    assert Fraction(plan.pcost) >= exact / Fraction(plan.noise_variances[1])


def test_two_attributes_of_one_size_may_have_different_bases():
    bases = {"a": [[1.0, 0, 0], [0, 1, 0]], "b": [[1.0, -1, 0], [1, 1, -2]]}
    plan = select(marginals(Domain({"a": 3, "b": 3}), up_to=2), budget=pcost(1), bases=bases)
    assert plan.bases["a"].matrix.tolist() != plan.bases["b"].matrix.tolist()
    assert plan.noise_variance_of["a",] != pytest.approx(plan.noise_variance_of["b",])
    assert plan.basis_summary == {"given": 2}


def test_a_basis_of_fewer_rows_answers_what_it_spans_and_refuses_the_rest():
    groups, basis = kind_of([[1, 1, 0, 0], [0, 0, 1, 1]]), basis_of(4, [[1, 1, -1, -1]])
    workload = Workload(Domain({"a": 4, "b": 2}), [{"a": groups, "b": Identity()}])
    plan = select(workload, budget=pcost(1), bases={"a": basis})
    assert plan.variance({"a": groups}).shape == (2,)
    for refused in (
        lambda: plan.variance(("a", "b")),
        lambda: plan.covariance(("a", "b")),
        lambda: plan.combination_variance(("a", "b"), np.ones((4, 2))),
        lambda: select(Workload(Domain({"a": 4}), ["a"]), budget=pcost(1), bases={"a": basis}),
    ):
        with pytest.raises(
            rp.errors.WorkloadError, match="the basis of 'a' has 1 answers, from which identity does not follow"
        ):
            refused()


def test_a_kind_that_asks_only_for_the_total_is_answered():
    """Nothing of the attribute's own noise reaches the answer, so its noise may be anything."""
    total = kind_of([[1, 1, 1]])
    workload = Workload(Domain({"a": 3, "b": 2}), [{"a": total, "b": Identity()}])
    for loss in ("sum", "max"):
        plan = select(workload, budget=pcost(1), loss=loss, bases={"a": [[1.0, 0, 0], [0, 1, 0]]})
        alone = select(Workload(Domain({"b": 2}), ["b"]), budget=pcost(1), loss=loss)
        np.testing.assert_allclose(plan.variance({"a": total, "b": Identity()})[0], alone.variance("b"), rtol=1e-4)


@pytest.mark.parametrize(
    ("bases", "message"),
    [
        ((basis_of(3, None),), "one basis for each attribute: got 1 for 2 attributes"),
        ((basis_of(3, None),) * 2, "the basis of 'b' is for 3 values, but it has 2"),
        ("best", r'bases must be "optimal", "optimal_by_set", "orthogonal" or a mapping'),
        ({"a": np.eye(3)}, r"the basis given for 'a' must have shape \(2, 3\): .* got \(3, 3\)"),
        ({"a": "words"}, "the basis given for 'a' must be a matrix of numbers"),
        ({"a": [[1.0, 0, 0], [2, 0, 0]]}, "the basis given for 'a' cannot be used: .*independent"),
        ({"a": [[1.0, 0, 0], [0, math.nan, 0]]}, "the basis given for 'a' cannot be used: .*finite"),
        ({"a": basis_of(4, None)}, "the basis given for 'a' is for 4 values, but it has 3"),
        ({"c": np.eye(3)}, "'c'"),
    ],
)
def test_bases_that_do_not_fit_or_cannot_be_read_are_refused(bases, message):
    plan = select(PAIR, budget=pcost(1))

    def other():
        if isinstance(bases, tuple):
            return replace(plan, strategy=rp.strategies.constant_strategy(plan.closure, bases))
        return select(PAIR, budget=pcost(1), bases=bases)

    with pytest.raises(ValueError, match=message):
        other()
    assert replace(plan, strategy=rp.strategies.subtraction_strategy(PAIR)).basis_summary == {"subtraction": 2}


def test_bases_with_entries_too_large_for_many_attributes_are_refused():
    domain = Domain({f"x{i}": 2 for i in range(12)})
    bases = {name: basis_of(2, [[2**50, 0]]) for name in domain.names}
    with pytest.raises(rp.errors.WorkloadError, match="entries too large for queries of so many attributes"):
        select(Workload(domain, [domain.names]), budget=pcost(1), bases=bases)


def test_a_real_matrix_becomes_integers_that_cost_next_to_nothing():
    S = np.random.default_rng(3).normal(size=(4, 5))
    workload = Workload(Domain({"a": 5}), ["a"])
    plan = select(workload, budget=pcost(1), bases={"a": S})
    u, G = np.split(np.linalg.inv(np.vstack([np.ones(5), S])), [1], axis=1)
    ideal = (math.sqrt((u**2).sum()) + math.sqrt((G**2).sum() * (S**2).sum(axis=0).max())) ** 2
    assert ideal * (1 - 1e-9) <= plan.loss_value <= ideal * (1 + 1e-4)
    assert plan.bases["a"].family == "given"
    assert select(workload, budget=pcost(1), bases=plan.bases).loss_value == plan.loss_value
