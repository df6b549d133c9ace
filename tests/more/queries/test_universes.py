"""Queries about some of the records are written, ordered and collected into families."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from universes import DOMAIN, universes

WIDE = rp.Domain({"a": 3, "b": 2, "c": 4, "d": 2, "one": 1})


def marginals_one_by_one(domain, orders, selected):
    """The queries of a family, written one by one."""
    members = [name for name in domain.names if len(selected.get(name, [])) != 1 or domain[name].size == 1]
    return [rp.Among(names, where=selected) for order in orders for names in itertools.combinations(members, order)]


@given(selected=universes(WIDE), order=st.integers(0, 2), is_exact=st.booleans())
def test_a_family_has_the_queries_that_are_written_one_by_one(selected, order, is_exact):
    orders = [order] if is_exact else range(order + 1)
    family = rp.marginals(WIDE, where=selected, **({"order": order} if is_exact else {"up_to": order}))
    expected = rp.Workload(WIDE, marginals_one_by_one(WIDE, orders, selected))
    assert dict(zip(family, family.cells, strict=True)) == dict(zip(expected, expected.cells, strict=True))


def test_a_family_has_only_tables_of_few_selected_cells_and_the_kinds_of_attributes_in_its_tables():
    family = rp.marginals(WIDE, max_cells=4, where={"c": [0, 1]})
    assert rp.Among(("b", "c"), where={"c": [0, 1]}) in list(family)
    assert max(family.cells) == 4
    family = rp.marginals(WIDE, order=1, kinds={"a": rp.Prefix(), "c": rp.Range()}, where={"c": [1, 2]})
    for kinds in ({"a": rp.Prefix()}, {"c": rp.Range()}):
        assert rp.Among(kinds, where={"c": [1, 2]}) in list(family)


def test_the_order_in_which_a_query_is_written_is_that_of_its_axes():
    asked = {"employed": rp.Selection("no"), "sex": rp.Identity(), "age": rp.Identity()}
    query = rp.Workload(DOMAIN, [asked]).query_at(0)
    assert query.positions == (1, 0, 2)
    assert query.table_axes.positions == (1, 0)
    assert query.words(DOMAIN) == "sex × age among employed: no"
    several = rp.Workload(DOMAIN, [rp.Among(("age",), where={"employed": "no", "sex": 1})]).query_at(0)
    assert several.words(DOMAIN) == "age among sex: 1, employed: no"
    assert list(rp.Workload(DOMAIN, [rp.Among(("sex", "age"), where={"employed": "no"})])) == [
        rp.Among(("sex", "age"), where={"employed": "no"})
    ]


def test_equal_queries_are_one_and_others_are_not():
    one = rp.Among(("age",), where={"employed": ["yes", "no"], "sex": 1})
    assert {one: 1}[rp.Among("age", where={"sex": [1], "employed": ["yes", "no"]})] == 1
    assert one != rp.Among(("age",), where={"employed": ["yes"], "sex": 1})
    assert rp.Among(("sex", "age"), where={"employed": "no"}) != rp.Among(("age", "sex"), where={"employed": "no"})
    twice = rp.Workload(DOMAIN, [one, rp.Among(("age",), where={"employed": ["no", "yes"], "sex": "1"})])
    assert len(twice) == 1
    assert eval(repr(one), {"Among": rp.Among}) == one


def test_a_query_about_some_can_be_narrowed():
    employed = rp.Among(("age",), where={"employed": "yes"})
    assert list(rp.Workload(DOMAIN, [rp.Among(employed, where={"sex": 2})])) == [
        rp.Among(("age",), where={"sex": 2, "employed": "yes"})
    ]
    with pytest.raises(rp.errors.WorkloadError, match="not of a selection"):
        rp.Among(rp.Among(("employed",), where={"employed": "yes"}), where={"employed": ["yes", "no"]})


def test_nothing_selected_from_is_the_query_itself():
    assert list(rp.Workload(DOMAIN, [rp.Among(("age", "sex"), where={})])) == [("age", "sex")]
    amounts = rp.Domain({"income": rp.Numeric(0, 100, unit=1, bins=4), "sex": 2})
    bins = ["[0, 25)", "[25, 50)", "[50, 75)", "[75, 100]"]
    for domain, every in ((DOMAIN, {}), (DOMAIN, {"sex": [1, 2]}), (amounts, {"income": bins})):
        for order in (1, 2):
            assert list(rp.marginals(domain, order=order, where=every)) == list(rp.marginals(domain, order=order))
    assert list(rp.Workload(amounts, [rp.Among(("sex",), where={"income": bins})])) == [("sex",)]
    low = rp.Among(("sex",), where={"income": "[0, 25)"})
    assert list(rp.marginals(amounts, order=1, where={"income": "[0, 25)"})) == [low]


def test_thresholds_are_about_records_that_others_select():
    among = rp.Among(rp.Threshold(("age", "sex"), 1), where={"employed": "yes"})
    assert list(rp.Workload(DOMAIN, [among])) == [among]
    with pytest.raises(rp.errors.WorkloadError, match="an attribute that a threshold matches cannot be selected from"):
        rp.Among(rp.Threshold(("age", "sex"), 1), where={"sex": 1})


@pytest.mark.parametrize("query", [3, None, [1, 2], ("age", 3)])
def test_something_else_than_a_query_is_refused_and_a_name_that_is_written_twice(query):
    with pytest.raises(rp.errors.WorkloadError, match="the query of Among must be names"):
        rp.Among(query, where={"employed": "yes"})
    with pytest.raises(rp.errors.DomainError, match="occurs twice"):
        rp.Workload(DOMAIN, [rp.Among(("age", "age"), where={"employed": "yes"})])
