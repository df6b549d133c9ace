"""Tables of integers that add up."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from made_releases import any_release, exact_release
from random_plans import plan_of, planned, random_matrix
from residualplanner import Custom, Identity, Prefix
from residualplanner.fits.nonnegative.integers import IntegerTables, apportioned, controlled_rounding
from residualplanner.method.workload.query import written_query
from strategies import names_of

FEW = settings(max_examples=25, deadline=None)
values = st.lists(st.floats(-5, 9), min_size=1, max_size=6).map(np.array)


@st.composite
def fitting(draw, *, low=0.0):
    """A matrix of numbers, and integers next to the sums of its rows and columns, of one total."""
    n, m = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    entries = draw(st.lists(st.floats(low, 4).map(lambda x: round(x, 2)), min_size=n * m, max_size=n * m))
    matrix = np.array(entries).reshape(n, m)
    total = np.rint(matrix.sum())
    return matrix, apportioned(matrix.sum(axis=1), total), apportioned(matrix.sum(axis=0), total)


@given(values)
def test_integers_of_a_given_sum_are_next_to_their_numbers(numbers):
    total = float(np.rint(numbers.sum()))
    found = apportioned(numbers, total)
    assert found.sum() == total
    assert (np.abs(found - numbers) < 1 + 1e-6).all()
    assert (found == np.rint(found)).all()


@FEW
@given(fitting() | fitting(low=-4.0))
def test_a_matrix_of_integers_has_the_sums_and_no_other_is_nearer(problem):
    matrix, rows, columns = problem
    found = controlled_rounding(matrix, rows, columns)
    assert found.sum(axis=1).tolist() == rows.tolist()
    assert found.sum(axis=0).tolist() == columns.tolist()
    assert (found >= 0).all() or (matrix < 0).any()
    near = [
        np.array(each).reshape(matrix.shape)
        for each in itertools.product(*([np.floor(x), np.ceil(x)] if x % 1 else [x] for x in matrix.ravel()))
    ]
    fits = [each for each in near if (each.sum(axis=1) == rows).all() and (each.sum(axis=0) == columns).all()]
    if fits:
        assert ((found - matrix) ** 2).sum() == pytest.approx(min(((each - matrix) ** 2).sum() for each in fits))


@pytest.mark.parametrize(("status", "amounts"), [(4, None), (0, [0.0, 0.0, 0.0, 0.0])])
def test_integers_that_a_solver_did_not_find_are_not_made_up(monkeypatch, status, amounts):
    answer = SimpleNamespace(status=status, x=amounts and np.array(amounts), message="numerical difficulties")
    monkeypatch.setattr("scipy.optimize.linprog", lambda *arguments, **options: answer)
    with pytest.raises(rp.errors.SolverError, match="no integers were found for a table: numerical difficulties"):
        controlled_rounding(np.full((2, 2), 0.5), np.array([1.0, 1.0]), np.array([1.0, 1.0]))


@FEW
@given(plan=planned(most_cells=48), seed=st.integers(0, 100), makes_non_negative=st.booleans())
def test_tables_agree_with_the_total_their_attributes_and_all_but_the_first(plan, seed, makes_non_negative):
    chance = np.random.default_rng(seed)
    release = exact_release(plan, chance.poisson(1.0, plan.domain.sizes) + chance.normal(size=plan.domain.sizes))
    source = rp.nonnegative(release) if makes_non_negative else release
    made = rp.rounded(source)
    for members in plan.closure:
        table = made[names_of(members)].estimate
        assert (table == np.rint(table)).all()
        assert table.sum() == np.rint(source[()].estimate)
        assert not makes_non_negative or (table >= 0).all()
        for axis, attribute in enumerate(members):
            others = tuple(other for other in range(len(members)) if other != axis)
            assert (table.sum(axis=others) == made[names_of((attribute,))].estimate).all()
        if members:
            assert (table.sum(axis=0) == made[names_of(members[1:])].estimate).all()


def test_cells_are_next_to_their_numbers_in_any_order_of_look_ups_and_prefix_sums_are_theirs():
    queries = [("a", "b"), ("b", "c"), ("a", "c"), {"a": Prefix(), "b": Identity()}, {"a": rp.Range()}, ("c",)]
    plan = rp.select(rp.Workload(rp.Domain({"a": 6, "b": 5, "c": 4}), queries), budget=rp.zcdp("0.1"))
    chance = np.random.default_rng(0)
    source = rp.nonnegative(exact_release(plan, chance.poisson(2.0, (6, 5, 4)) + chance.normal(0, 2, (6, 5, 4))))
    made, backward = rp.rounded(source), rp.rounded(source)
    found = [backward[query].estimate.tolist() for query in reversed(list(made))][::-1]
    for query, table, again in zip(made, made.tables(), found, strict=True):
        assert table.estimate.tolist() == again
        assert query in queries[3:5] or (np.abs(table.estimate - source[query].estimate) < 1).all()
    table = made[{"b": Identity(), "a": Prefix()}].estimate
    assert np.diff(table, axis=1, prepend=0).tolist() == made["b", "a"].estimate.tolist()


def test_groups_of_very_many_values_are_rounded_where_no_more_is_known():
    """Of so many values no matrix is kept: their basis is nested."""
    groups, values = 6, [f"v{value}" for value in range(120)]
    members = [values[group::groups] for group in range(groups)]
    halves = {"low": [*members[0], *members[1]], "high": list(itertools.chain(*members[2:]))}
    tree = rp.Hierarchy([halves, {f"g{group}": own for group, own in enumerate(members)}], leaves=False)
    plan = rp.select(rp.Workload(rp.Domain({"a": values}), [{"a": tree}]), budget=rp.zcdp(1))
    assert type(plan.strategy.of_attributes[0]).__name__ == "NestedBasis"
    made = rp.rounded(rp.nonnegative(any_release(plan)))[{"a": tree}]
    found = dict(zip(made.labels[0], made.estimate.tolist(), strict=True))
    assert all(number == int(number) >= 0 for number in found.values())
    assert found["low"] == found["g0"] + found["g1"]
    assert found["high"] == sum(found[f"g{group}"] for group in range(2, groups))


def test_sums_that_overlap_and_what_is_no_release_are_refused():
    matrix = random_matrix(4, 1, 0)
    plan = plan_of((4,), [matrix], [{"a": Custom(np.vstack([np.ones(4), matrix]))}])
    with pytest.raises(rp.errors.WorkloadError, match=r"what was measured of \['a'\] determines no counts"):
        rp.rounded(any_release(plan))
    with pytest.raises(rp.errors.ArgumentError, match="release must be a Release, got 'folder'"):
        rp.rounded("folder")


def test_margins_that_are_below_0_by_as_much_as_simulations_allow_have_integers_of_at_least_0():
    # The cells of the large table are 0 but for rounding, and are cut at 0; the sum of two of them is not.
    margin = np.array([[-0.01, 1.7, 1.7], [1.8, 0.1, 1.2]])
    whole = np.maximum(np.stack([margin, margin]) / 2, 0)
    tables = {(0, 1, 2): whole, (1, 2): margin, (0,): margin.sum() * np.array([0.5, 0.5]), (): margin.sum()}
    tables |= {(1,): margin.sum(axis=1), (2,): margin.sum(axis=0)}
    plan = rp.select(rp.marginals(rp.Domain({"a": 2, "b": 2, "c": 3}), up_to=3), budget=rp.zcdp(1))
    integers = IntegerTables(plan, lambda query: np.asarray(tables[query.in_domain_order[0]]), 1, is_nonnegative=True)
    pairs, triples = (integers.estimate(written_query(plan.domain, query)) for query in [("b", "c"), ("a", "b", "c")])
    assert pairs.min() >= 0
    assert triples.min() >= 0
    assert triples.sum(axis=0).tolist() == pairs.tolist()
