"""Tables of every kind of query, from bases of every sort, are what the explicit matrices of the reconstruction say."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
from made_releases import answers_of, any_release
from mixed_bases import (
    IDENTITY,
    MixedCase,
    answer_covariance,
    measured_rows,
    mixed_cases,
    query_of,
    query_rows,
    random_kind,
    random_matrix,
    rebuilt,
    strategy,
)
from residualplanner.errors import WorkloadError
from residualplanner.measurement import FloatResiduals, Measurement, NoiseRecord
from residualplanner.measurement.measurement import groups_of_plan
from residualplanner.queries import Custom, Prefix, Range
from residualplanner.reconstruction import reconstruct
from residualplanner.reconstruction import release as release_module


def asked_of(case):
    """All queries of the workload, and all that follow from them with the same kinds on fewer attributes."""
    for members, kinds in case.queries:
        for part in dense.subsets(members):
            yield part, tuple(kind for i, kind in zip(members, kinds, strict=True) if i in part)


def exact_release(case, data):
    """The release of answers without noise."""
    groups = groups_of_plan(case.plan)
    order = np.concatenate(groups.members).tolist()
    values = np.concatenate([measured_rows(case, case.plan.closure[number]) @ data.ravel() for number in order])
    return reconstruct(Measurement(case.plan, FloatResiduals(groups, values), NoiseRecord(seed=0)))


@given(case=mixed_cases())
@settings(max_examples=200)
def test_estimates_are_the_sum_over_subsets_of_eq_25(case):
    release = any_release(case.plan)
    answers = answers_of(release)
    for members, kinds in asked_of(case):
        table = release[query_of(members, kinds)]
        assert table.estimate.shape == tuple(kind.rows(case.sizes[i]) for i, kind in zip(members, kinds, strict=True))
        np.testing.assert_allclose(table.estimate.ravel(), rebuilt(case, members, kinds, answers), atol=1e-8)


@given(case=mixed_cases(smallest=2, most_cells=36, most_queries=2))
@settings(max_examples=60)
def test_estimates_are_the_best_linear_unbiased_ones(case):
    """Generalized least squares with everything that was measured, weighted by its covariance."""
    release, noise = any_release(case.plan), case.plan.noise_variances.tolist()
    answers = answers_of(release)
    blocks = []
    for members, variance in zip(case.plan.closure, noise, strict=True):
        factor = np.linalg.cholesky(variance * answer_covariance(case, members))
        blocks.append(np.linalg.solve(factor, np.column_stack([measured_rows(case, members), answers[members]])))
    whitened = np.vstack(blocks)
    everything = np.linalg.pinv(whitened[:, :-1], rcond=1e-9) @ whitened[:, -1]
    for members, kinds in case.queries:
        expected = query_rows(case, members, kinds) @ everything
        np.testing.assert_allclose(release[query_of(members, kinds)].estimate.ravel(), expected, atol=1e-5)


@given(case=mixed_cases(), records=st.integers(0, 50))
def test_without_noise_the_tables_are_the_data(case, records):
    codes = np.random.default_rng(records).integers(0, case.sizes, (records, len(case.sizes)))
    data = np.zeros(case.sizes)
    np.add.at(data, tuple(codes.T), 1)
    release = exact_release(case, data)
    for members, kinds in asked_of(case):
        expected = query_rows(case, members, kinds) @ data.ravel()
        np.testing.assert_allclose(release[query_of(members, kinds)].estimate.ravel(), expected, atol=1e-8)


@given(case=mixed_cases(), batch=st.sampled_from([1, 10, 2**16]), chunk=st.sampled_from([1, 20, 2**18]))
def test_all_ways_of_asking_give_the_same_bits_in_the_order_of_the_workload(case, batch, chunk):
    release = any_release(case.plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("residualplanner.reconstruction.stacks.BATCH_CELLS", batch)
        patch.setattr(release_module, "_CHUNK_CELLS", chunk)
        tables, batches = list(release.tables()), list(release.batches())
    assert [table.query for table in tables] == list(case.plan.workload) == list(release)
    for query, table in zip(release, tables, strict=True):
        assert (release[query].estimate == table.estimate).all()
    numbers = np.concatenate([found.queries for found in batches])
    assert sorted(numbers.tolist()) == list(range(len(tables)))
    for found in batches:
        for number, row, estimate in zip(found.queries, found.attributes, found.estimates, strict=True):
            assert (tables[number].positions, tables[number].kinds) == (tuple(row), found.kinds)
            assert (tables[number].estimate == estimate).all()


def test_long_axes_give_the_same_bits_in_every_stack(monkeypatch):
    """The same kinds on 40 values with three bases, in stacks of all sizes, and alone."""
    bases = [random_matrix(40, 39, 1), random_matrix(40, 39, 2), None]
    matrices = tuple(bases[i % 3] for i in range(7))
    kinds = [IDENTITY, Prefix(), Range()]
    queries = [((i,), (kind,)) for i in range(7) for kind in kinds] + [((0, 6), (kinds[1], kinds[2]))]
    release = any_release(MixedCase((40,) * 7, matrices, tuple(queries)).plan)
    alone = [release[query].estimate for query in release]
    for batch in (1, 100, 2**16):
        monkeypatch.setattr("residualplanner.reconstruction.stacks.BATCH_CELLS", batch)
        for table, expected in zip(release.tables(), alone, strict=True):
            assert (table.estimate == expected).all()


@pytest.mark.parametrize("matrix", [None, random_matrix(5, 4, 3)], ids=["subtraction", "matrix"])
def test_tables_of_one_attribute_in_several_kinds_agree(matrix):
    """Prefix sums are the cumulative sums of the counts, alone and beside another attribute, whoever was asked."""
    pairs = list(itertools.product([IDENTITY, Prefix()], repeat=2))
    case = MixedCase((5, 2, 5), (matrix, None, matrix), tuple(((0, 1, 2), (a, IDENTITY, b)) for a, b in pairs))
    release = any_release(case.plan)
    counts = release["a", "b", "c"].estimate
    for first, last in pairs:
        expected = counts
        for axis, kind in ((0, first), (2, last)):
            expected = expected if kind == IDENTITY else np.cumsum(expected, axis=axis)
        found = release[{"a": first, "b": IDENTITY, "c": last}]
        np.testing.assert_allclose(found.estimate, expected, atol=1e-12)
        assert found.kinds == (first, IDENTITY, last)
    np.testing.assert_allclose(release[{"c": Prefix()}].estimate, np.cumsum(release["c"].estimate), atol=1e-12)
    np.testing.assert_allclose(release[{"c": Prefix()}].estimate[-1], release[()].estimate, atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 6, 40])
@pytest.mark.parametrize("rows", ["none", "all", "few"])
def test_long_and_short_axes_are_rebuilt_alike_for_kinds_of_few_and_many_answers(size, rows):
    """Whether a matrix product is formed or values are rebuilt and then summed makes no difference."""
    count = {"none": None, "all": size - 1, "few": max(1, size // 3)}[rows]
    matrix = None if not count or size == 1 else random_matrix(size, count, 1)
    kinds = [random_kind(size, matrix, 2)]
    if matrix is None or count == size - 1:
        kinds += [IDENTITY, Prefix(), Range()]
    for first, second in itertools.product(kinds, kinds):
        case = MixedCase((size, 3, size), (matrix, None, matrix), (((0, 1, 2), (first, IDENTITY, second)),))
        release = any_release(case.plan)
        back = np.linalg.pinv(np.vstack([np.ones(size), strategy(size, matrix)]))
        middle = np.linalg.inv(np.vstack([np.ones(3), dense.subtraction(3)]))
        tensor = np.zeros((back.shape[1], 3, back.shape[1]))
        for members, answers in answers_of(release).items():
            place = tuple(slice(1, None) if i in members else 0 for i in range(3))
            tensor[place] = answers.reshape(tensor[place].shape)
        expected = np.einsum(
            "ai,bj,ck,ijk->abc", first.matrix(size) @ back, middle, second.matrix(size) @ back, tensor, optimize=True
        )
        found = release[{"a": first, "b": IDENTITY, "c": second}].estimate
        np.testing.assert_allclose(found, expected, atol=1e-9 * max(1, np.abs(expected).max()))


def test_attributes_of_one_value_can_be_asked_in_any_kind():
    double = Custom([[1.0], [2.0], [-3.0]])
    case = MixedCase((1, 3, 1), (None, random_matrix(3, 2, 1), None), (((0, 1, 2), (double, IDENTITY, double)),))
    release = any_release(case.plan)
    alone = release["b"].estimate
    factors = double.matrix(1)[:, 0]
    found = release[{"a": double, "b": IDENTITY, "c": double}].estimate
    np.testing.assert_allclose(found, np.einsum("a,b,c->abc", factors, alone, factors), atol=1e-12)
    assert release["a", "b", "c"].estimate.shape == (1, 3, 1)
    assert (release["a", "b", "c"].estimate.ravel() == alone).all()


def test_a_table_knows_its_kinds_its_query_and_its_labels():
    kind = Custom([[1, 1, 1, 1], [1, 0, 0, 0]], labels=["all", "first"])
    case = MixedCase((4, 2), (None, None), (((0, 1), (kind, IDENTITY)), ((0, 1), (IDENTITY, IDENTITY))))
    release = any_release(case.plan)
    table = release[{"b": IDENTITY, "a": kind}]
    assert (table.names, table.kinds) == (("b", "a"), (IDENTITY, kind))
    assert list(table.query.items()) == [("b", IDENTITY), ("a", kind)]
    assert table.labels == ((0, 1), ("all", "first"))
    assert release["a", "b"].query == ("a", "b")
    assert (release[table.query].estimate == table.estimate).all()
    assert table.query in release


def test_a_kind_that_does_not_follow_from_what_was_measured_is_refused():
    matrix = np.array([[1, 1, 0, 0]])
    halves, other = Custom([[1, 1, 0, 0], [0, 0, 1, 1]]), Custom([[1, 1, 1, 1], [2, 2, 1, 1]])
    case = MixedCase((4, 4), (matrix, None), (((0, 1), (halves, IDENTITY)),))
    release = any_release(case.plan)
    np.testing.assert_allclose(
        release[{"a": other, "b": IDENTITY}].estimate,
        [[1, 1], [2, 1]] @ release[{"a": halves, "b": IDENTITY}].estimate,
        atol=1e-12,
    )
    for query in (("a",), ("a", "b"), {"a": Prefix()}, {"a": Range()}):
        assert query not in release
        with pytest.raises(WorkloadError, match=r"'a' does not answer \w+; add a query of this kind to the workload"):
            release[query]
    assert ("b",) in release


@given(case=mixed_cases(most_queries=2))
@settings(max_examples=50)
def test_whole_number_answers_are_divided_by_the_sizes_of_subtraction_axes(case):
    """Integers of a measurement without noise give the counts back exactly."""
    from residualplanner.measurement import discrete, measure

    codes = np.random.default_rng(1).integers(0, case.sizes, (30, len(case.sizes)))
    data = np.zeros(case.sizes)
    np.add.at(data, tuple(codes.T), 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discrete, "draw_flat", lambda _scales, sizes, _source: np.zeros(int(np.sum(sizes)), dtype=int))
        release = reconstruct(measure(case.plan, codes))
    for members, kinds in case.queries:
        expected = query_rows(case, members, kinds) @ data.ravel()
        np.testing.assert_allclose(release[query_of(members, kinds)].estimate.ravel(), expected, atol=1e-8)
