"""A table has its axes, names, labels, columns and files in the order in which its query was written.

What it must be is the table in domain order, transposed here.
"""

import csv
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from made_releases import any_release
from random_plans import as_mapping, plan_by_hand, plans
from small_pieces import small_batches
from strategies import NAMES

DOMAIN = rp.Domain({"age": 3, "sex": ["F", "M"], "yes": [False, True], "home": ["n", "s", "w"]})
GROUPS = rp.Custom([[1, 1, 1], [1, 0, 0]], labels=["all", "first"])


def rearranged(query, order):
    pairs = list(query.items())
    return dict(pairs[i] for i in order)


@given(given=plans(), data=st.data(), chunk=st.sampled_from([1, 20, 2**18]))
@settings(max_examples=60)
def test_a_workload_gives_back_every_query_as_it_was_written(given, data, chunk):
    queries = list(map(as_mapping, given.workload))
    queries += data.draw(st.lists(st.sampled_from(queries), max_size=2))
    written = [rearranged(query, data.draw(st.permutations(range(len(query))))) for query in queries]
    plan = plan_by_hand(rp.Workload(given.domain, written), given.strategy, given.noise_variances)
    usual, release = any_release(given), any_release(plan)
    with small_batches(2**17, chunk=chunk):
        tables, batches = list(release.tables()), list(release.batches())
    expected = {}
    for query in written:
        axes = frozenset((plan.domain.names.index(name), kind) for name, kind in query.items())
        expected[axes] = max(tuple(map(plan.domain.names.index, query)), expected.get(axes, ()))
    names = plan.errors()["query"].tolist()
    words = plan.errors()["kinds"].tolist()
    for number, (query, table) in enumerate(zip(release, tables, strict=True)):
        assert table.positions == expected[frozenset(zip(table.positions, table.kinds, strict=True))]
        found = [NAMES[i] for i in table.positions]
        assert list(query) == found == list(table.names)
        assert names[number] == (" × ".join(found) or "(total)")
        assert words[number] == " × ".join(kind.name for kind in table.kinds)
        np.testing.assert_array_equal(table.estimate, release[query].estimate)
        order = [sorted(found).index(name) for name in found]
        ascending = dict(sorted(as_mapping(query).items()))
        np.testing.assert_array_equal(table.estimate, np.transpose(usual[ascending].estimate, order))
    assert sorted(np.concatenate([batch.queries for batch in batches]).tolist()) == list(range(len(tables)))
    for batch in batches:
        for number, row, estimate in zip(batch.queries, batch.attributes, batch.estimates, strict=True):
            assert (tables[number].positions, tables[number].kinds) == (tuple(row), batch.kinds)
            np.testing.assert_array_equal(estimate, tables[number].estimate)
            assert not estimate.flags.writeable


WRITTEN = [
    ("sex", "age"),
    ("home", "sex", "age"),
    {"yes": rp.Prefix(), "age": GROUPS},
    {"home": rp.Identity(), "age": GROUPS},
]


@pytest.fixture(scope="module")
def release():
    return any_release(rp.select(rp.Workload(DOMAIN, [*WRITTEN, ("age", "yes"), ()]), budget=rp.zcdp("0.5")))


@pytest.mark.parametrize(("file_format", "profile"), [("parquet", "gls"), ("csv", "default"), ("xlsx", "acs")])
def test_files_have_the_written_order_and_are_found_in_every_order(release, tmp_path, file_format, profile):
    release.save(tmp_path / "out", file_format, profile=profile)
    index = list(csv.DictReader((tmp_path / "out" / "index.csv").read_text(encoding="utf-8").splitlines()))
    names = {row["query"]: row["file"].removeprefix("tables/").removesuffix(f".{file_format}") for row in index}
    assert names == {
        "(total)": "_total",
        "sex × age": "sex.age",
        "age × yes": "age.yes",
        "home × age": "home.age@custom",
        "yes × age": "yes@prefix.age@custom",
        "home × sex × age": "home.sex.age",
    }
    tables = rp.load_tables(tmp_path / "out")
    assert [list(query) for query in tables] == [list(query) for query in release]
    for query in release:
        expected = release[query].to_frame(profile=profile)
        for order in itertools.permutations(range(len(query))):
            other = rearranged(as_mapping(query), order)
            assert other in tables
            assert tables[other].names == release[other].names
            pd.testing.assert_frame_equal(tables.numbers.frame(other), expected, rtol=1e-13)


def test_of_two_written_orders_the_last_holds_whatever_comes_first():
    one, other = rp.Workload(DOMAIN, [("yes", "age")]), rp.Workload(DOMAIN, [("age", "yes")])
    family = rp.marginals(DOMAIN, order=2)
    for whole in (one + other, other + one, rp.Workload(DOMAIN, [*other, *one, *other])):
        assert list(whole) == [("yes", "age")]
    for whole in (one + family, family + one):
        assert ("yes", "age") in list(whole)
        assert len(whole) == 6
    assert all(block.axes is None for block in (family + family).blocks)
