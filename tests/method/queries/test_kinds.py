"""What every kind of query does is what its matrix does."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from kinds import kinds_with_sizes
from residualplanner import Attribute, Bins, Custom, Hierarchy, Identity, Prefix, Range
from residualplanner.ground.archive import HEADER_LIMIT
from residualplanner.ground.json import json_text, parse_json
from residualplanner.method.queries.json import kind_from_json
from residualplanner.method.queries.kind import tied_kind

drawn_arrays = st.integers(0, 2**32 - 1).map(np.random.default_rng)
KINDS = [Identity(), Prefix(), Range(), Hierarchy([2]), Custom([[1, 1, 1], [0, 1, 2]])]


@given(case=kinds_with_sizes())
def test_the_matrix_is_the_one_of_the_definition(case):
    kind, size, rows = case
    np.testing.assert_array_equal(kind.matrix(size), rows)
    assert kind.rows(size) == len(rows)


@given(case=kinds_with_sizes(), draw=drawn_arrays)
def test_gram_matrices_are_products_of_the_matrix(case, draw):
    kind, size, rows = case
    weights = draw.random(len(rows)) * 10
    np.testing.assert_allclose(kind.gram(size), rows.T @ rows, atol=1e-12)
    np.testing.assert_allclose(kind.weighted_gram(weights, size), rows.T @ np.diag(weights) @ rows, atol=1e-10)


@given(
    case=kinds_with_sizes(),
    draw=drawn_arrays,
    before=st.integers(0, 2),
    after=st.integers(0, 2),
    negative=st.booleans(),
)
def test_applying_a_kind_multiplies_by_the_matrix_along_an_axis(case, draw, before, after, negative):
    kind, size, rows = case
    array = draw.normal(size=(*[2, 3][:before], size, *[3, 2][:after]))
    axis = before - array.ndim if negative else before
    expected = np.moveaxis(np.tensordot(rows, array, axes=(1, before)), 0, before)
    kept = array.copy()
    result = kind.apply(array, axis)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, atol=1e-12)
    np.testing.assert_array_equal(array, kept)


@given(case=kinds_with_sizes(), draw=drawn_arrays)
def test_applying_a_kind_to_no_tables_gives_no_tables(case, draw):
    kind, size, rows = case
    assert kind.apply(np.empty((0, size)), 1).shape == (0, len(rows))


@given(case=kinds_with_sizes(), draw=drawn_arrays)
def test_row_forms_are_those_of_the_rows(case, draw):
    kind, size, rows = case
    half = draw.normal(size=(size, size))
    form = half + half.T
    np.testing.assert_allclose(kind.row_forms(form), [row @ form @ row for row in rows], atol=1e-10)


@given(case=kinds_with_sizes())
def test_there_is_a_label_for_each_row_and_none_comes_twice(case):
    kind, size, rows = case
    labels = (
        kind.labels(Attribute("a", labels=[f"v{code}" for code in range(size)]))
        if not isinstance(kind, Hierarchy)
        else kind.labels(Attribute("a", size))
    )
    assert len(labels) == len(set(labels)) == len(rows)


@given(case=kinds_with_sizes())
def test_a_kind_is_read_back_from_json_just_as_it_was(case):
    kind, size, rows = case
    attribute = Attribute("a", size)
    for each in (kind, kind.on(attribute) if isinstance(kind, Hierarchy) else kind):
        again = kind_from_json(parse_json(json_text(each.to_json()).decode()))
        assert again == each
        assert hash(again) == hash(each)
        assert type(again) is type(each)
        assert again.labels(attribute) == each.labels(attribute)
        np.testing.assert_array_equal(again.matrix(size), rows)


@given(number=st.floats(1e-300, 1e15))
def test_a_matrix_keeps_every_digit_in_json(number):
    kind = Custom([[number, -1 / 3], [1, 1]])
    assert kind_from_json(json.loads(json.dumps(kind.to_json()))).matrix(2)[0, 0] == number


@given(case=kinds_with_sizes(), other=kinds_with_sizes())
def test_kinds_are_equal_only_if_they_ask_the_same(case, other):
    (kind, size, rows), (second, other_size, other_rows) = case, other
    if kind == second:
        assert hash(kind) == hash(second)
        assert size != other_size or np.array_equal(rows, other_rows)
    assert kind == kind_from_json(kind.to_json()) != "identity"


def test_kinds_of_different_names_differ():
    assert len(set(KINDS)) == len({kind.name for kind in KINDS}) == 5


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_kinds_cannot_be_changed(kind):
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError, AttributeError)):
        kind.name = "other"
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError, AttributeError)):
        kind.levels = ()


@pytest.mark.parametrize("kind", [Prefix(), Range(), Custom([[1, 1]])], ids=lambda kind: kind.name)
def test_attributes_of_very_many_values_are_refused_before_matrices_are_made(kind):
    with pytest.raises(
        rp.errors.WorkloadError, match="'id' has 4,611,686,018,427,387,904 values; attributes with more than"
    ):
        tied_kind(kind, Attribute("id", 2**62))
    assert tied_kind(Identity(), Attribute("id", 2**62)) == Identity()


def test_a_hierarchy_of_very_many_values_is_refused_before_its_rows_are_made():
    with pytest.raises(rp.errors.WorkloadError, match="'id': too large: 1 levels of 4,611,686,018,427,387,904 values"):
        tied_kind(Hierarchy([10]), Attribute("id", 2**62))
    assert tied_kind(Hierarchy([100]), Attribute("id", 20_000)).rows(20_000) == 20_201


GOOD = Custom([[1, 1], [0, 1]]).to_json()
TREE = Hierarchy([{"all": ["x", "y"]}]).on(Attribute("a", labels=["x", "y"])).to_json()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "a kind of query must be {'kind': 'identity'}, 'prefix', .*got None"),
        ("identity", "a kind of query must be"),
        ({}, "a kind of query must be"),
        ({"kind": "median"}, "a kind of query must be"),
        ({"kind": ["prefix"]}, "a kind of query must be"),
        (["identity"], "a kind of query must be"),
        ({"kind": "identity", "more": 1}, r"a kind 'identity' must have the fields \['kind'\], got \['kind', 'more'\]"),
        ({"kind": "custom"}, "a kind 'custom' must have the fields"),
        ({**GOOD, "size": 2.0}, "must have a size from 1 to 10,000"),
        ({**GOOD, "size": True}, "must have a size from 1 to 10,000"),
        ({**GOOD, "size": 10**9}, "must have a size from 1 to 10,000"),
        ({**GOOD, "size": 0}, "must have a size from 1 to 10,000"),
        ({**GOOD, "rows": []}, r"must have rows \[columns, entries\]"),
        ({**GOOD, "rows": {}}, r"must have rows \[columns, entries\]"),
        *(
            ({**GOOD, "rows": [row, [[1], [1]]]}, r"must have rows \[columns, entries\]")
            for row in (
                None,
                [[0], [1], [2]],
                [[0], 1],
                [[], []],
                [[0, 1], [1]],
                [[1, 0], [1, 1]],
                [[0, 0], [1, 1]],
                [[0, 2], [1, 1]],
                [[-1], [1]],
                [[0.0], [1]],
                [[True], [1]],
                [[0], [0]],
                [[0], ["1"]],
                [[0], [True]],
                [[0], [10**400]],
                [[0], [1e16]],
            )
        ),
        (
            {**GOOD, "rows": [[[0], [1e-300]]], "labels": ["a"]},
            "an invalid kind 'custom': row 1 of the matrix of a custom query has 1e-300",
        ),
        ({**GOOD, "labels": ["a"]}, "an invalid kind 'custom': labels of a custom query must be a list of 2 strings"),
        ({**GOOD, "labels": ["a", "a"]}, "an invalid kind 'custom': labels of a custom query must differ"),
        ({**TREE, "levels": {}}, "must have a list of levels"),
        ({**TREE, "levels": [None]}, "a level of a kind 'hierarchy' must be a number, or a list of"),
        ({**TREE, "levels": [[["all"]]]}, "a level of a kind 'hierarchy' must be a number, or a list of"),
        ({**TREE, "levels": [[["all", "xy"]]]}, "a level of a kind 'hierarchy' must be a number, or a list of"),
        ({**TREE, "levels": [[["g", ["x"]], ["g", ["y"]]]]}, "two groups of one name"),
        ({**TREE, "levels": [True]}, "an invalid kind 'hierarchy': level 1 of the hierarchy must be a mapping"),
        ({**TREE, "levels": [0]}, "an invalid kind 'hierarchy': level 1 of the hierarchy must be a mapping"),
        (
            {**TREE, "levels": [[["all", [["x"], "y"]]]]},
            r"an invalid kind 'hierarchy': the group 'all' has the member \['x'\]",
        ),
        (
            {**TREE, "levels": [[["all", ["x"]]]]},
            "an invalid kind 'hierarchy': .*level 1: the value 'y' is in no group",
        ),
        ({**TREE, "levels": [1] * 2**19}, "an invalid kind 'hierarchy': .*too large: 524288 levels of 2 values"),
        ({**TREE, "total": True}, "null or a string for its total"),
        ({**TREE, "total": ""}, "an invalid kind 'hierarchy': total of a hierarchy"),
        ({**TREE, "leaves": 1}, "an invalid kind 'hierarchy': leaves of a hierarchy must be True or False"),
        ({**TREE, "values": "xy"}, "must have a list of values, or null"),
        ({**TREE, "values": ["x", "x"]}, "an invalid kind 'hierarchy': attribute 'values' has a label twice"),
        ({**TREE, "values": ["x", 1.5]}, "an invalid kind 'hierarchy': attribute 'values' has the label 1.5"),
        ({**TREE, "values": []}, "an invalid kind 'hierarchy': attribute 'values' needs at least 1 label"),
    ],
)
def test_json_that_is_no_kind_is_refused(value, message):
    with pytest.raises(rp.errors.FileFormatError, match=message):
        kind_from_json(value)


@given(
    st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda x: st.lists(x, max_size=3), max_leaves=8),
    st.data(),
)
def test_json_from_anyone_is_read_or_refused(value, data):
    base = data.draw(st.sampled_from([GOOD, TREE]))
    field = data.draw(st.sampled_from(sorted(base)))
    try:
        kind = kind_from_json({**base, field: value})
    except rp.errors.FileFormatError:
        return
    assert kind_from_json(kind.to_json()) == kind


@pytest.mark.slow
def test_the_largest_matrix_fits_into_the_header_of_a_file():
    matrix = -np.random.default_rng(5).random((1024, 1024)) * 1e-290
    matrix[:, 0] = 1
    assert len(json_text(Custom(matrix).to_json())) < HEADER_LIMIT - 2**20


def test_labels_are_in_the_words_of_the_attribute():
    letters, codes = Attribute("a", labels=["a", "b", "c"]), Attribute("a", 3)
    bins, named = (
        Attribute("a", bins=Bins([0, 18, 65, 120])),
        Attribute("a", bins=Bins([0, 18, 65], ["minor", "adult"])),
    )
    assert Identity().labels(letters) == ("a", "b", "c")
    assert Identity().labels(codes) == (0, 1, 2)
    assert Identity().labels(named) == ("minor", "adult")
    assert Prefix().labels(letters) == ("≤ a", "≤ b", "≤ c")
    assert Prefix().labels(codes) == ("≤ 0", "≤ 1", "≤ 2")
    assert Prefix().labels(bins) == ("[0, 18)", "[0, 65)", "[0, 120]")
    assert Prefix().labels(named) == ("≤ minor", "≤ adult")
    assert Range().labels(letters) == ("a", "a – b", "a – c", "b", "b – c", "c")
    assert Range().labels(codes) == ("0", "0 – 1", "0 – 2", "1", "1 – 2", "2")
    assert Range().labels(bins) == ("[0, 18)", "[0, 65)", "[0, 120]", "[18, 65)", "[18, 120]", "[65, 120]")
    assert Range().labels(named) == ("minor", "minor – adult", "adult")
    assert Range().labels(Attribute("a", bins=Bins([-np.inf, 0, np.inf]))) == ("(-inf, 0)", "(-inf, inf)", "[0, inf)")
    assert Range().labels(Attribute("a", labels=["18–24", "25–34"])) == ("18–24", "18–24 – 25–34", "25–34")


@given(st.lists(st.text('a–" ', min_size=1, max_size=5), min_size=1, max_size=5, unique=True))
def test_labels_of_ranges_differ_whatever_the_values_are_called(values):
    attribute = Attribute("a", labels=values)
    for kind in (Prefix(), Range()):
        assert len(set(kind.labels(attribute))) == kind.rows(len(values))


@pytest.fixture(scope="module")
def thousand():
    half = np.random.default_rng(0).normal(size=(1000, 1000))
    return half + half.T


def test_ranges_of_a_thousand_values_are_right_without_their_matrix(thousand):
    kind, draw = Range(), np.random.default_rng(1)
    first, last = np.triu_indices(1000)
    forms, gram, weights = kind.row_forms(thousand), kind.gram(1000), draw.random(500_500)
    weighted = kind.weighted_gram(weights, 1000)
    assert kind.rows(1000) == len(forms) == 500_500
    for row in draw.integers(0, 500_500, 50):
        block = thousand[first[row] : last[row] + 1, first[row] : last[row] + 1]
        assert forms[row] == pytest.approx(block.sum(), rel=1e-9, abs=1e-8)
    for i, j in draw.integers(0, 1000, (50, 2)):
        held = (first <= min(i, j)) & (last >= max(i, j))
        assert gram[i, j] == held.sum()
        assert weighted[i, j] == pytest.approx(weights[held].sum(), rel=1e-9)
    counts = draw.integers(0, 100, (1000, 2)).astype(float)
    sums = kind.apply(counts, 0)
    assert sums.shape == (500_500, 2)
    for row in draw.integers(0, 500_500, 50):
        assert sums[row].tolist() == counts[first[row] : last[row] + 1].sum(axis=0).tolist()


def test_row_forms_of_many_sparse_rows_are_those_of_the_rows(thousand, monkeypatch):
    monkeypatch.setattr("residualplanner.method.queries.sparse_kind._CHUNK", 7000)
    kind = Hierarchy([100, 10])
    W = kind.matrix(1000)
    np.testing.assert_allclose(kind.row_forms(thousand), ((W @ thousand) * W).sum(axis=1), atol=1e-9)
