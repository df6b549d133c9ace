"""A hierarchy asks for groups, groups of groups, and values, in the words of the attribute."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from kinds import tied as tied_kind
from residualplanner import Attribute, Bins, Hierarchy

STATES = Attribute("state", labels=["CA", "OR", "TX", "WA"])
REGIONS = {"West": ["CA", "OR", "WA"], "South": ["TX"]}
COASTS = {"Pacific": ["West"], "Gulf": ["South"]}


def table(kind: Hierarchy, attribute: Attribute) -> dict[object, list[int]]:
    """The rows under their labels, as codes that are summed."""
    matrix = kind.on(attribute).matrix(attribute.size)
    assert set(matrix.ravel().tolist()) <= {0.0, 1.0}
    return {label: np.flatnonzero(row).tolist() for label, row in zip(kind.labels(attribute), matrix, strict=True)}


def test_rows_go_from_the_total_down_to_the_values():
    rows = {"(total)": [0, 1, 2, 3], "Pacific": [0, 1, 3], "Gulf": [2], "West": [0, 1, 3], "South": [2]}
    rows |= {"CA": [0], "OR": [1], "TX": [2], "WA": [3]}
    assert list(table(Hierarchy([COASTS, REGIONS]), STATES).items()) == list(rows.items())


def test_total_and_leaves_may_be_left_out_or_named():
    assert list(table(Hierarchy([REGIONS], total="USA", leaves=False), STATES)) == ["USA", "West", "South"]
    assert list(table(Hierarchy([REGIONS], total=False, leaves=False), STATES)) == ["West", "South"]
    assert list(table(Hierarchy([], total=False), STATES)) == ["CA", "OR", "TX", "WA"]
    assert list(table(Hierarchy([]), STATES)) == ["(total)", "CA", "OR", "TX", "WA"]


@pytest.mark.parametrize(
    ("attribute", "members"),
    [
        (Attribute("a", 3), ([0, 2], [1])),
        (Attribute("a", 3), (range(0, 3, 2), np.array([1]))),
        (Attribute("a", labels=[10, 20, 30]), ([10, 30], [20])),
        (Attribute("a", labels=[1, 2, 0]), ([1, 0], [2])),
        (Attribute("a", labels=["1", "2", "0"]), (["1", "0"], ["2"])),
        (Attribute("a", bins=Bins([0, 1, 2, 3])), (["[0, 1)", "[2, 3]"], ["[1, 2)"])),
        (Attribute("a", bins=Bins([0, 1, 2, 3], ["x", "y", "z"])), (["x", "z"], ["y"])),
    ],
)
def test_members_are_the_values_whatever_they_are(attribute, members):
    groups = {"outer": members[0], "inner": members[1]}
    assert table(Hierarchy([groups], total=False, leaves=False), attribute) == {"outer": [0, 2], "inner": [1]}


def test_truth_values_are_not_numbers():
    truth, numbers = Attribute("a", labels=[True, False]), Attribute("a", labels=[1, 0])
    kind = Hierarchy([{"yes": [True], "no": [False]}], leaves=False)
    assert table(kind, truth) == {"(total)": [0, 1], "yes": [0], "no": [1]}
    with pytest.raises(rp.errors.WorkloadError, match="True, a member of 'yes', is not a value"):
        kind.on(numbers)
    plain = Hierarchy([])
    assert plain.on(truth) != plain.on(numbers)
    assert plain.on(truth).on(numbers) == plain.on(numbers)


def test_a_name_of_a_group_of_the_next_level_goes_before_a_value_of_that_name():
    cities = Attribute("city", labels=["Albany", "New York", "Newark"])
    states = {"New York": ["Albany", "New York"], "New Jersey": ["Newark"]}
    kind = Hierarchy([{"Northeast": ["New York", "New Jersey"]}, states], leaves=False)
    assert table(kind, cities) == {"(total)": [0, 1, 2], "Northeast": [0, 1, 2], "New York": [0, 1], "New Jersey": [2]}


@given(size=st.integers(1, 40), width=st.integers(1, 12), times=st.integers(1, 4))
def test_bands_hold_consecutive_values(size, width, times):
    kind, codes = Hierarchy([width * times, width], total=False, leaves=False), list(range(size))
    bands = {}
    for step in (width * times, width):
        for band in (codes[first : first + step] for first in range(0, size, step)):
            bands[str(band[0]) if len(band) == 1 else f"{band[0]} – {band[-1]}"] = band
    assert table(kind, Attribute("a", size)) == bands


def test_bands_of_bins_are_intervals_those_of_labels_ranges_and_groups_may_be_made_of_them():
    ages = Attribute("age", bins=Bins([0, 5, 10, 15, 20, 99]))
    labels = ("(total)", "[0, 20)", "[20, 99]", "[0, 10)", "[10, 20)")
    assert Hierarchy([4, 2], leaves=False).labels(ages) == labels
    assert Hierarchy([2], leaves=False).labels(STATES) == ("(total)", "CA – OR", "TX – WA")
    kind = Hierarchy([{"young": ["0 – 1", "2 – 3"], "old": ["4"]}, 2], leaves=False)
    assert table(kind, Attribute("age", 5))["young"] == [0, 1, 2, 3]


def test_tying_a_hierarchy_to_an_attribute_once_more_changes_nothing():
    kind = Hierarchy([REGIONS])
    tied = kind.on(STATES)
    assert tied.on(STATES) is tied
    assert tied_kind(kind, STATES) == tied_kind(tied, STATES) == tied != kind
    other = Attribute("s", labels=["TX", "WA", "OR", "CA"])
    assert tied.on(other) == kind.on(other) != tied
    with pytest.raises(
        rp.errors.WorkloadError, match="the hierarchy on 's' is tied to other values than that attribute has"
    ):
        tied.require_fit(other)


def test_without_an_attribute_values_are_codes():
    kind = Hierarchy([{"low": [0, 1], "high": [2]}], leaves=False)
    np.testing.assert_array_equal(kind.matrix(3), [[1, 1, 1], [1, 1, 0], [0, 0, 1]])
    assert kind.rows(3) == 3
    with pytest.raises(rp.errors.WorkloadError, match="the hierarchy has 3 values, not 4"):
        kind.on(Attribute("a", 3)).gram(4)


def test_what_is_given_is_copied_and_the_words_for_it_are_short():
    members = ["CA", "OR", "WA"]
    levels = [{"West": members, "South": ["TX"]}]
    kind = Hierarchy(levels)
    members.append("TX")
    levels.append(2)
    assert kind == Hierarchy([REGIONS])
    assert repr(Hierarchy([COASTS, REGIONS, 2])) == "Hierarchy([2 groups, 2 groups, 2])"
    one = Hierarchy([{"all": [0]}], total="sum", leaves=False)
    assert repr(one) == "Hierarchy([1 group], total='sum', leaves=False)"
    assert repr(Hierarchy([], total=False)) == "Hierarchy([], total=False)"


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([{"West": ["CA", "OR"], "South": ["TX"]}], "level 1: the value 'WA' is in no group; add each to one"),
        ([{"West": ["CA", "CA", "OR", "WA"], "South": ["TX"]}], "level 1: the value 'CA' is twice in 'West'; write it"),
        ([{"A": ["CA", "OR"], "B": ["OR", "TX", "WA"]}], "level 1: the value 'OR' is in 'A' and again in 'B'; write"),
        ([{"A": ["CA", "NY"], "B": ["OR", "TX", "WA"]}], "'NY', a member of 'A', is not a value of the attribute$"),
        ([{"A": ["Wst", "South"]}, REGIONS], "'Wst', a member of 'A', is not a value of .* nor a group of the"),
        ([{"A": ["West"]}, REGIONS], "level 1: the value 'TX' is in no group"),
        ([{"A": ["West", "South"], "B": ["West"]}, REGIONS], "level 1: the value 'CA' is in 'A' and again in 'B'"),
        ([{"A": ["CA", "TX"], "B": ["OR", "WA"]}, REGIONS], "'West' lies partly in 'A' and partly in 'B'; divide it"),
        ([REGIONS, COASTS], "'West', a member of 'Pacific', is not a value of the attribute$"),
        ([3, 2], "'TX – WA' lies partly in 'CA – TX' and partly in 'WA'"),
        ([{"CA": ["CA", "OR"], "B": ["TX", "WA"]}], "two different rows are called 'CA'; give the group another name"),
        ([{"(total)": ["CA", "OR"], "B": ["TX", "WA"]}], r"two different rows are called '\(total\)'"),
        ([{"A": ["CA", "OR"], "B": ["TX", "WA"]}, {"A": ["CA"], "B": ["OR"], "C": ["TX", "WA"]}], "are called 'A'"),
        ([1] * 2**18, "too large: 262144 levels of 4 values; at most 1,048,576"),
    ],
)
def test_groups_that_do_not_fit_the_values_are_refused(levels, message):
    with pytest.raises(rp.errors.WorkloadError, match=f"the hierarchy on 'state': .*{message}"):
        Hierarchy(levels).on(STATES)


@pytest.mark.parametrize("kind", [Hierarchy([], leaves=False), Hierarchy([4], leaves=False)])
def test_a_hierarchy_that_asks_only_for_the_total_is_refused(kind):
    with pytest.raises(rp.errors.WorkloadError, match="gives nothing but the total of 'state'; leave it out"):
        tied_kind(kind, STATES)
    tied_kind(kind, Attribute("a", 1))


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (REGIONS, r"must be a list from coarse to fine, as in \[level\]"),
        ("West", "must be a list from coarse to fine"),
        (5, "must be a list from coarse to fine"),
        *(
            ([2, level], f"level 2 of the hierarchy must be a mapping .*, got {got}")
            for level, got in ((None, "None"), (0, "0"), (True, "True"), (2.0, "2.0"), ([["West", ["CA"]]], "a list"))
        ),
        ([{}], "level 1 of the hierarchy has no groups; leave it out"),
        *(
            ([{"West": members}], "level 1 of the hierarchy: 'West' needs a list of members")
            for members in ("CA", 5, [], [1.5], [["CA"]])
        ),
        *(([{name: ["CA"]}], f"{name!r} needs a list of members") for name in (7, "")),
    ],
)
def test_levels_that_are_none_are_refused(levels, message):
    with pytest.raises(rp.errors.WorkloadError, match=message):
        Hierarchy(levels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"total": None}, "total of a hierarchy must be True, False or the label of its row, got None"),
        ({"total": ""}, "total of a hierarchy must be True, False or the label"),
        ({"leaves": 1}, "leaves of a hierarchy must be True or False, got 1"),
        ({"total": False, "leaves": False}, "the hierarchy has no rows; give levels, total=True or leaves=True"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(rp.errors.WorkloadError, match=message):
        Hierarchy([], **options)
