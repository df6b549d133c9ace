"""Tables of every kind of query, from bases of every sort, are what the explicit matrices of the reconstruction say."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    random_matrix,
    table_covariance,
)
from replayed_measuring import integers_of, noise_frozen
from small_pieces import small_batches

every_plan = planned() | plans() | plans_by_set()


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
        with pytest.raises(rp.errors.WorkloadError, match=r"'a' does not answer \w+; add a query of this kind"):
            release[query]
    assert ("b",) in release


@given(plan=planned(most_cells=30) | plans(most_cells=30, most_queries=2) | plans_by_set())
@settings(max_examples=150)
def test_variances_covariances_and_combinations_are_those_of_eq_26(plan):
    release = any_release(plan)
    for query in plan.workload:
        table, covariance = release[query], table_covariance(plan, query)
        largest = np.abs(covariance).max()
        np.testing.assert_allclose(table.covariance(), covariance, atol=1e-9 * largest)
        np.testing.assert_allclose(table.variance.ravel(), np.diag(covariance), atol=1e-9 * largest)
        assert table.variance.shape == table.std_err.shape == table.estimate.shape
        weights = np.random.default_rng(1).normal(size=table.estimate.shape)
        combined = table.combine(weights)
        assert combined.estimate == pytest.approx(float((weights * table.estimate).sum()), rel=1e-9, abs=1e-9)
        expected = float(weights.ravel() @ covariance @ weights.ravel())
        assert combined.variance == pytest.approx(expected, rel=1e-9, abs=1e-9 * largest)


def test_wide_integers_with_any_basis_are_saved_and_reconstructed(tmp_path, monkeypatch):
    """Counts so large that 64 bits do not hold their products: stored, loaded and divided without loss."""
    sizes, most = (4, 3), 2**40
    plan = plan_of(sizes, (random_matrix(4, 3, 1, most=2**30), None), [{"a": rp.Prefix(), "b": IDENTITY}])
    table = np.random.default_rng(1).integers(0, most, sizes)
    noise_frozen(monkeypatch)
    saved = rp.measure(plan, {("a", "b"): table})
    saved.save(tmp_path / "file")
    loaded = rp.load_measurement(tmp_path / "file")
    assert loaded.residuals.wide
    before, after = integers_of(saved), integers_of(loaded)
    assert all(before[members].tolist() == after[members].tolist() for members in before)
    found = rp.reconstruct(loaded)[{"a": rp.Prefix(), "b": IDENTITY}].estimate
    np.testing.assert_allclose(found, np.cumsum(table, axis=0), rtol=1e-6)


DOMAIN = rp.Domain({"a": 3, "one": 1, "b": 2, "c": 4, "d": 3})
PLAN = rp.select(rp.marginals(DOMAIN, up_to=3), budget=rp.pcost(1))
RELEASE = any_release(PLAN)


@given(order=st.permutations("abc"))
def test_a_table_has_its_axes_in_the_order_of_the_query_whatever_its_form(order):
    known = RELEASE["a", "b", "c"]
    for query in (tuple(order), list(order), dict.fromkeys(order, rp.Identity())):
        table = RELEASE[query]
        assert table.names == tuple(order)
        assert (table.estimate == known.estimate.transpose(["abc".index(name) for name in order])).all()
    for query in (set(order), frozenset(order)):
        assert RELEASE[query].names == ("a", "b", "c")
    assert (RELEASE["a"].estimate == RELEASE[("a",)].estimate).all()


def test_batches_are_stacks_of_equal_tables_bounded_in_size():
    plan = rp.select(rp.marginals(rp.Domain({f"a{i}": 3 for i in range(7)}), up_to=3), budget=rp.pcost(1))
    with small_batches(2**17, tables=7):
        batches = list(any_release(plan).batches())
    assert max(len(found.queries) for found in batches) == 7
    assert len(batches) == 1 + 1 + 3 + 5
    for found in batches:
        assert found.estimates.shape == (len(found.queries), *(3,) * found.attributes.shape[1])


def test_two_threads_do_not_disturb_each_other():
    expected = [table.estimate for table in RELEASE.tables()]
    wrong = []

    def work():
        for _ in range(20):
            found = [table.estimate for table in RELEASE.tables()]
            wrong.extend(1 for one, two in zip(found, expected, strict=True) if (one != two).any())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_release_is_a_mapping():
    assert ("a", "b") in RELEASE
    assert ("a", "b", "c", "d") not in RELEASE
    assert "nobody" not in RELEASE
    assert RELEASE.get(("a", "b", "c", "d")) is None
    assert RELEASE.get(("b",)).names == ("b",)
    assert [table.query for table in RELEASE.values()] == list(RELEASE.keys())


@pytest.mark.parametrize(
    ("query", "error", "reason"),
    [
        (
            ("a", "b", "c", "d"),
            rp.errors.WorkloadError,
            "does not answer .*'a', 'b', 'c', 'd'.*add it, plan and measure again",
        ),
        (("a", "nobody"), rp.errors.DomainError, "unknown attribute"),
        (("a", "a"), rp.errors.DomainError, "occurs? twice"),
        (7, rp.errors.WorkloadError, "a query is a tuple of attribute names"),
        ({"a": "prefix"}, rp.errors.WorkloadError, "the kind of query on 'a'"),
    ],
)
def test_queries_without_an_answer_are_refused(query, error, reason):
    with pytest.raises(error, match=reason):
        RELEASE[query]
