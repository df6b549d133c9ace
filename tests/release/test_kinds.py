"""Tables of every kind of query, from bases of every sort, are what the explicit matrices of the reconstruction say."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from made_releases import answers_of, any_release
from random_plans import (
    IDENTITY,
    mechanism,
    parts_of,
    plan_of,
    planned,
    plans,
    plans_by_set,
    query_rows,
    random_kind,
    random_matrix,
)
from replayed_measuring import noise_left_out
from small_pieces import small_batches

every_plan = planned() | plans() | plans_by_set()


@pytest.mark.slow
@given(plan=every_plan)
@settings(max_examples=200)
def test_estimates_are_the_only_linear_unbiased_ones(plan):
    """Answers are as many as unknowns, so that every query is one combination of them, that of eq. (25)."""
    release = any_release(plan)
    answers, rows = np.concatenate(list(answers_of(release).values())), mechanism(plan)[0]
    for query in parts_of(plan.workload):
        table, wanted = release[query], query_rows(plan, query)
        estimator = np.linalg.lstsq(rows.T, wanted.T, rcond=1e-11)[0].T
        np.testing.assert_allclose(estimator @ rows, wanted, atol=1e-9)
        assert table.estimate.shape == tuple(kind.rows(plan.domain[name].size) for name, kind in query.items())
        np.testing.assert_allclose(table.estimate.ravel(), estimator @ answers, atol=1e-8)


@given(plan=every_plan, batch=st.sampled_from([1, 10, 2**16]), chunk=st.sampled_from([1, 20, 2**18]))
def test_all_ways_of_asking_give_the_same_bits_in_the_order_of_the_workload(plan, batch, chunk):
    release = any_release(plan)
    with small_batches(batch, chunk=chunk):
        tables, batches = list(release.tables()), list(release.batches())
    assert [table.query for table in tables] == list(plan.workload) == list(release)
    assert len(release) == len(tables)
    for query, table in zip(release, tables, strict=True):
        assert (release[query].estimate == table.estimate).all()
    numbers = np.concatenate([found.queries for found in batches])
    assert sorted(numbers.tolist()) == list(range(len(tables)))
    for found in batches:
        for number, row, estimate in zip(found.queries, found.attributes, found.estimates, strict=True):
            assert (tables[number].positions, tables[number].kinds) == (tuple(row), found.kinds)
            assert (tables[number].estimate == estimate).all()


def test_long_axes_give_the_same_bits_in_every_stack():
    """The same kinds on 40 values with three bases, in stacks of all sizes, and alone."""
    bases = [random_matrix(40, 39, 1), random_matrix(40, 39, 2), None]
    matrices = tuple(bases[i % 3] for i in range(7))
    kinds = [IDENTITY, rp.Prefix(), rp.Range()]
    queries = [{name: kind} for name in "abcdefg" for kind in kinds] + [{"a": kinds[1], "g": kinds[2]}]
    release = any_release(plan_of((40,) * 7, matrices, queries))
    alone = [release[query].estimate for query in release]
    for batch in (1, 100, 2**16):
        with small_batches(batch):
            for table, expected in zip(release.tables(), alone, strict=True):
                assert (table.estimate == expected).all()


@pytest.mark.parametrize("size", [1, 2, 6, 40])
@pytest.mark.parametrize("rows", ["none", "all", "few"])
def test_long_and_short_axes_give_the_same_for_kinds_of_few_and_many_answers(size, rows):
    """Whether a matrix product is formed or values are rebuilt and then summed makes no difference."""
    count = {"none": None, "all": size - 1, "few": max(1, size // 3)}[rows]
    matrix = None if not count or size == 1 else random_matrix(size, count, 1)
    kinds = [random_kind(size, matrix, 2)]
    if matrix is None or count == size - 1:
        kinds += [IDENTITY, rp.Prefix(), rp.Range()]
    for first, second in itertools.product(kinds, kinds):
        query = {"a": first, "b": IDENTITY, "c": second}
        release = any_release(plan_of((size, 3, size), (matrix, None, matrix), [query]))
        back = np.linalg.pinv(np.vstack([np.ones(size), dense.subtraction(size) if matrix is None else matrix]))
        middle = np.linalg.inv(np.vstack([np.ones(3), dense.subtraction(3)]))
        tensor = np.zeros((back.shape[1], 3, back.shape[1]))
        for members, answers in answers_of(release).items():
            place = tuple(slice(1, None) if i in members else 0 for i in range(3))
            tensor[place] = answers.reshape(tensor[place].shape)
        expected = np.einsum(
            "ai,bj,ck,ijk->abc", first.matrix(size) @ back, middle, second.matrix(size) @ back, tensor, optimize=True
        )
        found = release[query].estimate
        np.testing.assert_allclose(found, expected, atol=1e-9 * max(1, np.abs(expected).max()))


def test_attributes_of_one_value_can_be_queried_in_any_kind():
    double = rp.Custom([[1.0], [2.0], [-3.0]])
    query = {"a": double, "b": IDENTITY, "c": double}
    release = any_release(plan_of((1, 3, 1), (None, random_matrix(3, 2, 1), None), [query]))
    alone = release["b"].estimate
    factors = double.matrix(1)[:, 0]
    found = release[query].estimate
    np.testing.assert_allclose(found, np.einsum("a,b,c->abc", factors, alone, factors), atol=1e-12)
    assert release["a", "b", "c"].estimate.shape == (1, 3, 1)
    assert (release["a", "b", "c"].estimate.ravel() == alone).all()


def test_a_table_knows_its_kinds_its_query_and_its_labels():
    kind = rp.Custom([[1, 1, 1, 1], [1, 0, 0, 0]], labels=["all", "first"])
    release = any_release(plan_of((4, 2), (None, None), [{"a": kind, "b": IDENTITY}, {"a": IDENTITY, "b": IDENTITY}]))
    table = release[{"b": IDENTITY, "a": kind}]
    assert (table.names, table.kinds) == (("b", "a"), (IDENTITY, kind))
    assert list(table.query.items()) == [("b", IDENTITY), ("a", kind)]
    assert table.labels == ((0, 1), ("all", "first"))
    assert release["a", "b"].query == ("a", "b")
    assert (release[table.query].estimate == table.estimate).all()
    assert table.query in release


def test_a_kind_that_does_not_follow_from_what_was_measured_is_refused():
    matrix = np.array([[1, 1, 0, 0]])
    halves, other = rp.Custom([[1, 1, 0, 0], [0, 0, 1, 1]]), rp.Custom([[1, 1, 1, 1], [2, 2, 1, 1]])
    release = any_release(plan_of((4, 4), (matrix, None), [{"a": halves, "b": IDENTITY}]))
    np.testing.assert_allclose(
        release[{"a": other, "b": IDENTITY}].estimate,
        [[1, 1], [2, 1]] @ release[{"a": halves, "b": IDENTITY}].estimate,
        atol=1e-12,
    )
    for query in (("a",), ("a", "b"), {"a": rp.Prefix()}, {"a": rp.Range()}):
        assert query not in release
        with pytest.raises(
            rp.errors.WorkloadError, match=r"'a' does not answer \w+; add a query of this kind to the workload"
        ):
            release[query]
    assert ("b",) in release


@given(plan=plans(most_queries=2))
@settings(max_examples=50)
def test_integer_answers_are_divided_by_the_sizes_of_subtraction_axes(plan):
    """Integers of a measurement without noise give the counts back exactly."""
    data = np.random.default_rng(1).integers(0, 4, plan.domain.sizes)
    with pytest.MonkeyPatch.context() as patch:
        noise_left_out(patch)
        release = rp.reconstruct(rp.measure(plan, {plan.domain.names: data}))
    for query in plan.workload:
        expected = query_rows(plan, query) @ data.ravel()
        np.testing.assert_allclose(release[query].estimate.ravel(), expected, atol=1e-8)
