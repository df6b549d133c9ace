"""What every kind of query does is what its matrix does."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from kinds import kinds_with_sizes, read_kind
from kinds import tied as tied_kind
from random_plans import tells_more_than_total
from residualplanner import Attribute, Custom, Hierarchy, Identity, Prefix, Range
from residualplanner.testing.kinds import require_kind

KINDS = [Identity(), Prefix(), Range(), Hierarchy([2]), Custom([[1, 1, 1], [0, 1, 2]])]


@given(case=kinds_with_sizes().filter(lambda case: tells_more_than_total(case[2])))
def test_a_kind_does_what_the_matrix_of_its_definition_does(case):
    kind, size, rows = case
    labels = [f"v{i}" for i in range(size)]
    named = Attribute("a", size) if isinstance(kind, Hierarchy) else Attribute("a", labels=labels)
    require_kind(kind, named, rows)


@given(case=kinds_with_sizes(), other=kinds_with_sizes())
def test_a_kind_is_read_back_from_json_just_as_it_was_and_equals_no_other(case, other):
    (kind, size, rows), (second, other_size, other_rows) = case, other
    attribute = Attribute("a", size)
    for each in (kind, kind.on(attribute) if isinstance(kind, Hierarchy) else kind):
        again = read_kind(json.loads(json.dumps(each.to_json())))
        assert again == each != "identity"
        assert hash(again) == hash(each)
        assert type(again) is type(each)
        assert again.labels(attribute) == each.labels(attribute)
        np.testing.assert_array_equal(again.matrix(size), rows)
    if kind == second:
        assert hash(kind) == hash(second)
        assert size != other_size or np.array_equal(rows, other_rows)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        *(
            (kind, "'id' has 4,611,686,018,427,387,904 values; attributes with more")
            for kind in (Prefix(), Range(), KINDS[-1])
        ),
        (Hierarchy([10]), "'id': too large: 1 levels of 4,611,686,018,427,387,904 values"),
    ],
)
def test_attributes_of_very_many_values_are_refused_before_matrices_are_made(kind, message):
    with pytest.raises(rp.errors.WorkloadError, match=message):
        tied_kind(kind, Attribute("id", 2**62))
    assert tied_kind(Identity(), Attribute("id", 2**62)) == Identity()
    assert tied_kind(Hierarchy([100]), Attribute("id", 20_000)).rows(20_000) == 20_201


GOOD = Custom([[1, 1], [0, 1]]).to_json()
TREE = Hierarchy([{"all": ["x", "y"]}]).on(Attribute("a", labels=["x", "y"])).to_json()


KIND, ROWS = "a kind of query must be", r"must have rows \[columns, entries\]|has an invalid field 'rows'"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, f"{KIND} an object such as {{'kind': 'identity'}}, got None"),
        *((value, KIND) for value in ("identity", {}, {"kind": "median"}, {"kind": ["prefix"]}, ["identity"])),
        ({"kind": "identity", "more": 1}, r"a kind 'identity' must have the fields \['kind'\], got \['kind', 'more'\]"),
        ({"kind": "custom"}, "a kind 'custom' must have the fields"),
        *(({**GOOD, "size": size}, "a kind 'custom' has an invalid field 'size'") for size in (2.0, True, 10**9, 0)),
        *(({**GOOD, "rows": rows}, ROWS) for rows in ([], {}, [None, [[1], [1]]], [[[0], [1], [2]], [[1], [1]]])),
        *(
            ({**GOOD, "rows": [[columns, entries], [[1], [1]]]}, ROWS)
            for columns, entries in (
                *(([0], 1), ([], []), ([0, 1], [1]), ([1, 0], [1, 1]), ([0, 0], [1, 1]), ([0, 2], [1, 1])),
                *(([-1], [1]), ([0.0], [1]), ([True], [1]), ([0], [0]), ([0], ["1"]), ([0], [True])),
                *(([0], [10**400]), ([0], [1e16])),
            )
        ),
        *(
            ({**GOOD, **change}, f"an invalid kind 'custom': {message}")
            for change, message in (
                ({"rows": [[[0], [1e-300]]], "labels": ["a"]}, "row 1 of the matrix of a custom query has 1e-300"),
                ({"labels": ["a"]}, "labels of a custom query must be a list of 2 strings"),
                ({"labels": ["a", "a"]}, "labels of a custom query must differ"),
            )
        ),
        *(
            ({**TREE, field: bad}, f"a kind 'hierarchy' has an invalid field '{field}'")
            for field, bad in (
                *(("levels", {}), ("levels", [True]), ("total", True), ("leaves", 1), ("values", "xy")),
                *(("levels", [level]) for level in (None, [["all"]], [["all", "xy"]], [["g", ["x"]], ["g", ["y"]]])),
            )
        ),
        *(
            ({**TREE, **change}, f"an invalid kind 'hierarchy': {message}")
            for change, message in (
                ({"levels": [0]}, "level 1 of the hierarchy must be a mapping"),
                ({"levels": [[["all", [["x"], "y"]]]]}, "level 1 of the hierarchy: 'all' needs a list"),
                ({"levels": [[["all", ["x"]]]]}, ".*level 1: the value 'y' is in no group"),
                ({"levels": [1] * 2**19}, ".*too large: 524288 levels of 2 values"),
                ({"total": ""}, "total of a hierarchy"),
                ({"values": ["x", "x"]}, "attribute 'values' has a label twice: labels 1 and 2 are the same"),
                ({"values": ["x", 1.5]}, "attribute 'values' has the label 1.5"),
                ({"values": []}, "attribute 'values' needs at least 1 label"),
            )
        ),
    ],
)
def test_json_that_is_no_kind_is_refused(value, message):
    with pytest.raises(rp.errors.FileFormatError, match=message):
        read_kind(value)


@given(
    st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda x: st.lists(x, max_size=3), max_leaves=8),
    st.data(),
)
def test_json_from_anyone_is_read_or_refused(value, data):
    base = data.draw(st.sampled_from([GOOD, TREE]))
    field = data.draw(st.sampled_from(sorted(base)))
    try:
        kind = read_kind({**base, field: value})
    except rp.errors.FileFormatError:
        return
    assert read_kind(kind.to_json()) == kind


def test_the_largest_matrix_fits_into_the_header_of_a_file():
    matrix = -np.random.default_rng(5).random((32, 1024)) * 1e-290
    matrix[:, 0] = 1
    assert 32 * len(json.dumps(Custom(matrix).to_json())) < 2**25 - 2**20  # of 1,024 rows; a header has 2**25 letters
