"""Plans with bases and kinds of query of any sort agree with the explicit matrices of their mechanism."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dense
from general_cases import General, as_mapping, general_cases, kind_of, kinds_of, require_summaries
from residualplanner.bases import integer_basis, subtraction_basis
from residualplanner.domain import Domain
from residualplanner.errors import WorkloadError
from residualplanner.plan import Plan, select
from residualplanner.privacy import Neighbors, pcost
from residualplanner.queries import Identity
from residualplanner.strategy import constant_strategy, subtraction_strategy
from residualplanner.workload import Workload, marginals
from strategies import NAMES

seeds = st.integers(0, 2**32 - 1)


def covariance_by_least_squares(case: General, plan: Plan, query: dict) -> np.ndarray:
    return dense.least_squares_covariance(*case.mechanism(plan), case.matrix(query))


@given(case=general_cases(), seed=seeds)
def test_the_cost_is_the_largest_diagonal_entry_of_the_stacked_mechanism(case, seed):
    plan = case.plan(seed)
    assert plan.pcost == pytest.approx(dense.privacy_cost(*case.mechanism(plan)), rel=1e-10)


@given(case=general_cases(), seed=seeds)
def test_the_stated_cost_is_at_least_the_exact_one_and_hardly_more(case, seed):
    plan = case.plan(seed)
    exact = Fraction(0)
    for members, variance in zip(plan.closure, plan.noise_variances.tolist(), strict=True):
        columns = [
            max(sum(int(x) ** 2 for x in column) for column in case.bases[i].matrix.T)
            if case.bases[i].matrix is not None
            else Fraction(case.sizes[i] - 1, case.sizes[i])
            for i in members
        ]
        exact += math.prod(columns, start=Fraction(1)) / Fraction(variance)
    assert exact <= Fraction(plan.pcost) <= exact * (1 + Fraction(1, 10**13))


@given(case=general_cases(), seed=seeds)
def test_variances_and_covariances_are_those_of_the_least_squares_tables(case, seed):
    plan = case.plan(seed)
    for query in plan.workload:
        expected = covariance_by_least_squares(case, plan, as_mapping(query))
        size = np.abs(expected).max()
        shape = tuple(kind.rows(plan.domain[name].size) for name, kind in as_mapping(query).items())
        np.testing.assert_allclose(plan.covariance(query), expected, rtol=1e-7, atol=1e-9 * size)
        np.testing.assert_allclose(plan.variance(query), np.diag(expected).reshape(shape), rtol=1e-7, atol=1e-9 * size)


@given(case=general_cases(), seed=seeds, data=st.data())
def test_any_kind_may_be_asked_of_any_part_of_a_query_planned_for_or_not(case, seed, data):
    plan = case.plan(seed)
    members = data.draw(st.sampled_from(case.queries))
    chosen = data.draw(st.sets(st.sampled_from(sorted(members))) if members else st.just(set()))
    query = {NAMES[i]: data.draw(kinds_of(case.bases[i])) for i in sorted(chosen)}
    expected = covariance_by_least_squares(case, plan, query)
    size = np.abs(expected).max()
    np.testing.assert_allclose(plan.covariance(query), expected, rtol=1e-7, atol=1e-9 * size)
    np.testing.assert_allclose(plan.variance(query).ravel(), np.diag(expected), rtol=1e-7, atol=1e-9 * size)
    weights = np.random.default_rng(seed).integers(-9, 10, len(expected)).astype(float)
    found = plan.combination_variance(query, weights.reshape(plan.variance(query).shape))
    assert found == pytest.approx(weights @ expected @ weights, rel=1e-7, abs=1e-8 * size * (weights @ weights))


@given(case=general_cases(), seed=seeds)
def test_summaries_are_those_of_all_cells_of_the_least_squares_tables(case, seed):
    plan = case.plan(seed)
    cells = [np.diag(covariance_by_least_squares(case, plan, as_mapping(query))) for query in plan.workload]
    require_summaries(plan, cells, 1e-8)


@pytest.mark.parametrize("limit", [1, 10**9])
def test_means_over_too_many_cells_are_bounded_by_the_average(monkeypatch, limit):
    monkeypatch.setattr("residualplanner.strategy.accuracy.MEAN_LIMIT", limit)
    workload = Workload(Domain({"a": 3}), [{"a": kind_of([[1, 0, 0], [1, 1, 0], [1, 1, 1]])}])
    table = select(workload, budget=pcost(1), bases={"a": [[1.0, 0, 0], [0, 1, 0]]}).errors()
    of_average = math.sqrt(2 / math.pi) * table["std_err"]
    assert (table["expected_abs_error"] < of_average * (1 - 1e-3)).all() == (limit > 1)
    assert (table["expected_abs_error"] <= of_average * (1 + 1e-12)).all()


@given(case=general_cases(), seed=seeds)
def test_the_bound_for_replaced_records_is_no_less_than_any_pair_costs(case, seed):
    plan = case.plan(seed, Neighbors("replace"))
    worst = dense.pair_costs(*case.mechanism(plan)).max()
    assert plan.pcost >= worst * (1 - 1e-9)
    assert plan.pcost <= 4 * dense.privacy_cost(*case.mechanism(plan)) * (1 + 1e-9)
    occurring = {i for query in case.queries for i in query if case.sizes[i] > 1}
    if all(case.bases[i].matrix is None for i in occurring):
        assert plan.pcost == pytest.approx(worst, rel=1e-9, abs=1e-9)


def test_the_bound_for_replaced_records_is_attained_by_opposite_columns():
    """One attribute: columns 2 and -2, p = 4, worst replacement 1: the pair costs 16 = 4 p."""
    case = General((2,), (integer_basis([[2, -2]], "given"),), ({0: Identity()},))
    plan = case.plan(0, Neighbors("replace"))
    assert plan.pcost == pytest.approx(16 / plan.noise_variances[1], rel=1e-12)


def test_columns_that_only_rounding_calls_orthogonal_are_not_underestimated():
    """The products of large columns are below 0 by less than floats of their size hold."""
    large = 2**49
    B = np.array([[large, 1, 0], [1, -large - 1, 1]])
    case = General((3,), (integer_basis(B, "given"),), ({0: Identity()},))
    plan = case.plan(0, Neighbors("replace"))
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
    for asked in (plan.variance, plan.covariance, lambda query: plan.combination_variance(query, np.ones((4, 2)))):
        with pytest.raises(WorkloadError, match="the basis of 'a' has 1 answers, from which identity does not follow"):
            asked(("a", "b"))
    with pytest.raises(WorkloadError, match="the basis of 'a' has 1 answers, from which identity does not follow"):
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
    with pytest.raises(WorkloadError, match="one basis for each attribute: got 1 for 2 attributes"):
        again(plan, (subtraction_basis(3),))
    with pytest.raises(WorkloadError, match="the basis of 'b' is for 3 values, but it has 2"):
        again(plan, (subtraction_basis(3), subtraction_basis(3)))
    assert replace(plan, strategy=subtraction_strategy(workload)).basis_summary == {"subtraction": 2}


def again(plan: Plan, bases) -> Plan:
    return Plan(
        workload=plan.workload,
        noise_variances=plan.noise_variances,
        budget=plan.budget,
        loss=plan.loss,
        loss_value=plan.loss_value,
        gap=plan.gap,
        status=plan.status,
        strategy=constant_strategy(plan.closure, bases),
    )


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
    with pytest.raises(WorkloadError, match="entries too large for queries of so many attributes"):
        select(Workload(domain, [domain.names]), budget=pcost(1), bases=bases)


def test_a_real_matrix_becomes_whole_numbers_that_cost_next_to_nothing():
    S = np.random.default_rng(3).normal(size=(4, 5))
    workload = Workload(Domain({"a": 5}), ["a"])
    plan = select(workload, budget=pcost(1), bases={"a": S})
    u, G = np.split(np.linalg.inv(np.vstack([np.ones(5), S])), [1], axis=1)
    share = {(): (u**2).sum(), (0,): (G**2).sum()}
    ideal = (math.sqrt(share[()]) + math.sqrt(share[(0,)] * (S**2).sum(axis=0).max())) ** 2
    assert ideal * (1 - 1e-9) <= plan.loss_value <= ideal * (1 + 1e-4)
    assert plan.bases["a"].family == "given"
    assert select(workload, budget=pcost(1), bases=plan.bases).loss_value == plan.loss_value
