"""Tables are what the explicit matrices of the reconstruction say, for every query, in every way of asking."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dense
import residualplanner as rp
from made_releases import answers_of, any_release
from small_pieces import small_batches
from strategies import cases, names_of

DOMAIN = rp.Domain({"a": 3, "one": 1, "b": 2, "c": 4, "d": 3})
PLAN = rp.select(rp.marginals(DOMAIN, up_to=3), budget=rp.pcost(1))
RELEASE = any_release(PLAN)


@given(case=cases())
def test_estimates_are_the_sum_over_subsets_of_eq_10(case):
    release = any_release(rp.select(case.workload, budget=rp.pcost(1)))
    answers = answers_of(release)
    varied = {members for query in case.queries for members in dense.subsets(query)}
    for members in varied:
        expected = np.zeros(int(np.prod([case.sizes[i] for i in members])))
        for part in dense.subsets(members):
            if all(case.sizes[i] > 1 for i in part):
                expected += dense.reconstruction(case.sizes, members, part) @ answers[part]
        table = release[names_of(members)]
        assert table.estimate.shape == tuple(case.sizes[i] for i in members)
        np.testing.assert_allclose(table.estimate.ravel(), expected, atol=1e-11)


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


def test_estimates_cannot_be_changed():
    tables = [RELEASE["a", "b"], next(RELEASE.tables()), RELEASE[()]]
    assert not any(table.estimate.flags.writeable for table in tables)
    assert not any(found.estimates.flags.writeable for found in RELEASE.batches())


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


def test_progress_counts_the_tables_of_the_workload_which_are_computed_when_they_are_asked_for():
    seen = []
    with small_batches(1, chunk=1):
        next(RELEASE.tables(lambda done, total: seen.append((done, total))))
        assert seen == []
    list(RELEASE.tables(lambda done, total: seen.append((done, total))))
    assert seen[-1] == (len(PLAN.workload), len(PLAN.workload))
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_a_release_is_a_mapping():
    assert ("a", "b") in RELEASE
    assert ("a", "b", "c", "d") not in RELEASE
    assert "nobody" not in RELEASE
    assert RELEASE.get(("a", "b", "c", "d")) is None
    assert RELEASE.get(("b",)).names == ("b",)
    assert [table.query for table in RELEASE.values()] == list(RELEASE.keys())


def test_a_query_beyond_the_workload_is_answered_where_its_attributes_are_in_one():
    plan = rp.select(rp.Workload(DOMAIN, [("a", "b", "c")]), budget=rp.pcost(1))
    assert any_release(plan)["c", "a"].estimate.shape == (4, 3)


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
