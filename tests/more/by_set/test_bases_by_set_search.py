"""What the search for bases by set computes: loss and cost against explicit matrices, slopes against differences."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from benchmarks.dense_optimum import workload
from random_plans import query_rows, workloads_in_kinds
from residualplanner.method.noise.choice import ChosenNoise
from residualplanner.more.by_set.cost import GroupBasis, LossSlopes, Maxima, Member
from residualplanner.more.by_set.problem import SearchSize, by_set_problem
from residualplanner.more.by_set.search import Coordinates, Family
from residualplanner.more.by_set.table_costs import CostTable, cost_of
from slopes_by_set import require_right_slopes
from workloads_by_set import EXCHANGED, IDENTITY, ODD, PREFIX, RANGE, SAME_BASES, THREE, TINY

#: What is to be small, and which data sets are neighbors.
AIMS = [(loss, how) for loss in ("sum", "max") for how in ("add-remove", "replace", "replace, one basis")]


def family_of(case, loss="sum", neighbors="add-remove"):
    importance = case.weights * (case.cells if loss == "sum" else 1)
    how = {"replaced": neighbors != "add-remove", "is_one": neighbors == "replace, one basis"}
    problem = by_set_problem(case, importance, of_maximum=loss == "max", **how)
    return None if problem is None else Family.of(problem)


@cache
def one_for_each(case, loss="sum", neighbors="add-remove"):
    return rp.select(case, budget=rp.pcost(1), loss=loss, neighbors=neighbors.split(",")[0], bases="optimal")


def library(case, family, *aim):
    plan = one_for_each(case, *aim)
    return family.start(ChosenNoise(plan.strategy, plan.noise_variances, plan.loss_value, plan.gap, plan.status))


def random_member(family, seed):
    """Random bases, precisions and messages."""
    rng, problem = np.random.default_rng(seed), family.problem
    bases = []
    for group in range(len(problem.attribute_of_group)):
        axis = problem.axis(group)
        core = np.eye(axis.directions) + 0.3 * rng.normal(size=(axis.directions,) * 2)
        bases.append(GroupBasis.of(axis, 0.3 * rng.normal(size=axis.directions), core))
    messages = {c: [rng.normal(size=length) for length in each] for c, each in family.cost.message_lengths.items()}
    return Member(tuple(bases), rng.lognormal(size=problem.noise_of_set.max() + 1), messages)


def explicit_rows(family, member):
    """What each set measures with unit noise, over the whole domain; the precision of each set."""
    problem, case = family.problem, family.problem.workload
    rows, factor = [], 0
    for members in case.closure:
        factors = {}
        for i in members:
            n, group = case.domain.sizes[i], int(problem.group[factor])
            factor += 1
            if group < 0:
                factors[i] = np.linalg.qr(np.eye(n)[:, 1:] - 1 / n)[0].T
                continue
            basis = member.bases[group]
            coarse = basis.core @ (basis.axis.Z.T - basis.offset[:, None])
            factors[i] = coarse[:, basis.axis.forms.group]
        sizes = enumerate(case.domain.sizes)
        rows.append(dense.product(factors[i] if i in members else np.ones((1, n)) for i, n in sizes))
    return rows


@settings(max_examples=60)
@given(case=workloads_in_kinds(), seed=st.integers(0, 10**6))
def test_the_weights_of_noise_are_those_of_explicit_matrices(case, seed):
    family = family_of(case)
    assume(family is not None)
    member, rng = random_member(family, seed), np.random.default_rng(seed)
    precision = rng.lognormal(size=len(case.closure))
    rows = explicit_rows(family, member)
    noise = np.diag(np.concatenate([np.full(len(part), 1 / w) for part, w in zip(rows, precision, strict=True)]))
    expected = 0.0
    for query, weight in zip(case, case.weights.tolist(), strict=True):
        estimator = dense.least_squares(np.vstack(rows), noise, query_rows(case, query))
        expected += weight * float(np.trace(estimator @ noise @ estimator.T))
    found = family.loss.variances(member.bases)[0]
    assert float(found @ (1 / precision)) == pytest.approx(expected, rel=1e-6)


@settings(max_examples=60)
@given(case=workloads_in_kinds(), seed=st.integers(0, 10**6))
def test_the_largest_variance_is_that_of_explicit_matrices(case, seed):
    family = family_of(case, "max")
    assume(family is not None)
    member = random_member(family, seed)
    rows, precision = explicit_rows(family, member), family.loss.precision_of_sets(member.bases, member.precision)
    noise = np.diag(np.concatenate([np.full(len(part), 1 / w) for part, w in zip(rows, precision, strict=True)]))
    expected = 0.0
    for query, weight in zip(case, case.weights.tolist(), strict=True):
        estimator = dense.least_squares(np.vstack(rows), noise, query_rows(case, query))
        expected = max(expected, weight * float(np.diag(estimator @ noise @ estimator.T).max()))
    assert math.exp(family.loss.value(member.bases, member.precision)) == pytest.approx(expected, rel=1e-6)
    value, largest_rows = family.loss.rows(member.bases)(member.precision)
    assert value == pytest.approx(expected, rel=1e-6)
    assert (largest_rows @ (1 / member.precision)).max() == pytest.approx(value, rel=1e-12)


@settings(max_examples=60)
@given(case=workloads_in_kinds(), seed=st.integers(0, 10**6), known=st.booleans())
def test_the_cost_of_replacing_a_record_is_that_of_explicit_matrices(case, seed, known):
    family = family_of(case, "sum", "replace")
    assume(family is not None)
    member = random_member(family, seed)
    if not known:  # as where there are too many pairs
        family = replace(family, cost=replace(family.cost, pairs=family.cost.pairs[-1:], are_all=False))
        for _ in range(3):
            family = family.with_worst(member)
    precision = family.loss.precision_of_sets(member.bases, member.precision)
    parts = zip(explicit_rows(family, member), precision, strict=True)
    products = sum(w * part.T @ part for part, w in parts if len(part) > 1 or not (part == 1).all())
    lengths = np.diag(products)
    expected = float((lengths[:, None] + lengths - 2 * products).max())
    found = family.cost.value_and_slopes(member, Maxima())[0]
    assert found == pytest.approx(expected, rel=1e-9 if known else 0.05)
    assert found <= expected * (1 + 1e-9)
    best = family.best_noise(member)
    assert best.bound <= best.loss <= math.exp(family.value(member)) * (1 + 1e-9) or not known
    other = Member(member.bases, best.precision * np.random.default_rng(seed).lognormal(size=len(best.precision)), {})
    assert best.bound <= math.exp(family.value(other)) * (1 + 1e-9) or not known
    assert best.loss <= best.bound * (1 + 1e-5)


@settings(max_examples=60)
@given(case=workloads_in_kinds(), seed=st.integers(0, 10**6), sharpness=st.floats(1, 1e4))
def test_the_cost_is_the_bound_and_not_below_the_cost_of_explicit_matrices(case, seed, sharpness):
    family = family_of(case)
    assume(family is not None)
    problem, member = family.problem, random_member(family, seed)
    found, _ = family.cost.value_and_slopes(member, Maxima())
    own = [tuple(int(problem.attribute_of_group[g]) for g in groups) for groups in problem.classes]
    lengths = [tuple(member.bases[g].lengths for g in groups) for groups in problem.classes]
    tables = [CostTable(*each) for each in zip(own, lengths, strict=True)]
    assert found == pytest.approx(cost_of(tables, member.precision, member.messages), rel=1e-9)
    above, slopes = family.cost.value_and_slopes(member, Maxima(sharpness))
    assert found <= above * (1 + 1e-12)
    # Weighed by what counts, smooth maxima are below the maxima, and nearer than any that are above.
    loss = LossSlopes(np.zeros(0), [], [], None)
    below, _ = family.cost.value_and_slopes(member, slopes.maxima(sharpness, loss))
    assert below <= found * (1 + 1e-12) <= above * (1 + 1e-11)
    # Each class has as many sets as have its precision; any division of it has the same cost.
    members = np.bincount(problem.cost_class, minlength=len(problem.classes))
    precision = (member.precision / members)[problem.cost_class] / problem.factor
    costs = [w * (part * part).sum(axis=0) for w, part in zip(precision, explicit_rows(family, member), strict=True)]
    assert sum(costs).max() <= found * (1 + 1e-9)


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("case", [TINY, THREE, ODD, SAME_BASES])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.cases(2)
def test_slopes_are_differences(case, weighed, aim):
    family = family_of(case, *aim)
    require_right_slopes(family, library(case, family, *aim), weighed=weighed)


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("case", [TINY, THREE, ODD, SAME_BASES, EXCHANGED])
@pytest.mark.cases(10)
def test_the_search_starts_at_the_plan_with_one_basis_for_each_attribute(case, aim):
    family = family_of(case, *aim)
    start = library(case, family, *aim)
    family = family.with_worst(start)
    # Where not all pairs of records are known, those that are may cost a little less.
    assert family.value(start) == pytest.approx(math.log(one_for_each(case, *aim).loss_value), abs=1e-5)
    start = family.scaled(start)
    assert family.cost.value_and_slopes(start, Maxima())[0] == pytest.approx(1, rel=1e-9)
    coordinates = Coordinates(family, start, unit=0.5)
    again = coordinates.member(coordinates.point())
    assert family.value(again) == pytest.approx(family.value(start), abs=1e-6)


def test_factors_have_one_basis_where_the_order_and_the_kinds_of_larger_sets_are_the_same():
    problem = by_set_problem(THREE, THREE.weights * THREE.cells)
    factors = [(members, i) for members in THREE.closure for i in members]
    groups = dict(zip(factors, problem.group.tolist(), strict=True))
    # Attribute 2 is queried as identity with both others, and as prefix with 1 only, by a query of weight 0.
    assert groups[(0, 2), 2] != groups[(1, 2), 2]
    assert groups[(0, 2), 2] != groups[(0, 1, 2), 2]
    same = [groups[factor] for factor in factors if factor[1] == 0 and len(factor[0]) == 2]
    assert len(set(same)) == 1
    assert by_set_problem(workload((4, 3), [{0: PREFIX}, {1: RANGE}]), np.ones(2)) is None


def test_attributes_of_identity_only_add_no_tables():
    case = workload((4, 5, 3), [{0: PREFIX}, {0: IDENTITY, 1: IDENTITY}, {0: IDENTITY, 1: IDENTITY, 2: IDENTITY}])
    problem = by_set_problem(case, case.weights * case.cells)
    assert list(problem.axes) == [0]
    assert Family.of(problem).cost.message_lengths == {}
    assert problem.size.cells == 0


def test_sizes_that_take_long_are_refused_before_they_are_made():
    large = SearchSize(pairs=8, cells=2**22, directions=(29, 29), parts=3)
    assert large.seconds > 60
    assert SearchSize(pairs=8, cells=10_000, directions=(99, 99), parts=3).seconds < 10
    with pytest.raises(
        rp.errors.WorkloadError, match=r"2 bases of up to 30 values, 4,194,304 cells in 3 tables.*\"optimal\""
    ):
        large.require_quick(60)
    many = rp.marginals(rp.Domain({f"a{i}": 2 for i in range(40)}), up_to=4)
    with pytest.raises(
        rp.errors.WorkloadError, match=r"1,544,481 pairs of a query and a part of it, the limit is 131,072"
    ):
        by_set_problem(many, many.weights * many.cells, seconds=25)
    long = workload((400, 300), [{0: PREFIX}, {1: PREFIX}, {0: IDENTITY, 1: IDENTITY}])
    with pytest.raises(rp.errors.WorkloadError, match=r"4 bases of up to 400 values, 120,000 cells in 1 tables"):
        by_set_problem(long, long.weights * long.cells, seconds=25)


def test_what_is_far_too_large_is_refused_before_eigenvalues_are_computed(monkeypatch):
    monkeypatch.setattr(np.linalg, "eigvalsh", None)
    long = workload((1500, 300), [{0: PREFIX}, {1: PREFIX}, {0: IDENTITY, 1: IDENTITY}])
    with pytest.raises(rp.errors.WorkloadError, match=r"2 bases of up to 1,500 values, 8 pairs of a query"):
        by_set_problem(long, long.weights * long.cells, seconds=25)
