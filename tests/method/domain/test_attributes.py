"""One attribute: its values and its rules."""

import math
from decimal import Decimal

import numpy as np
import pytest

import residualplanner as rp
from residualplanner import Attribute, Bins
from residualplanner.method.domain.labels import Into


def test_values_are_shown_as_declared():
    assert Attribute("a", 3).value_labels == (0, 1, 2)
    assert Attribute("a", labels=["y", "x"]).value_labels == ("y", "x")
    assert Attribute("a", labels=np.array([3, -1])).value_labels == (3, -1)
    assert Attribute("a", labels=[True]).value_labels == (True,)
    assert Attribute("a", bins=Bins([0, 1.5, math.inf])).value_labels == ("[0, 1.5)", "[1.5, inf)")


def test_labels_become_plain_python_values():
    for given, kind in ((np.array(["x"]), str), (np.array([1], dtype=np.uint8), int), (np.array([True]), bool)):
        attribute = Attribute(np.str_("a"), labels=given)
        assert type(attribute.value_labels[0]) is kind
        assert type(attribute.name) is str


def test_codes_of_labels_are_their_positions():
    attribute = Attribute("a", labels=[5, 1, 0])
    assert [attribute.code_of_label(label) for label in (5, 1, 0)] == [0, 1, 2]
    assert Attribute("a", 10**18).code_of_label(10**17) == 10**17
    for absent in (True, False, "1", 2, 1.0, None):
        with pytest.raises(rp.errors.DomainError, match="has no value"):
            attribute.code_of_label(absent)


def test_rules_are_words_or_labels_and_the_words_win():
    attribute = Attribute("a", labels=["drop", "error", "x"], unknown="drop", missing=Into("drop"))
    assert attribute.unknown == "drop"
    assert attribute.missing == Into("drop")
    assert Attribute("a", labels=["drop", "x"]).unknown == "error"
    assert Attribute("a", labels=["x", "y"], unknown="y").unknown == Into("y")
    assert Attribute("a", labels=["x", "y"], unknown="y") == Attribute("a", labels=["x", "y"], unknown=Into("y"))
    assert Attribute("a", bins=Bins([0, 1]), missing="[0, 1]").missing == Into("[0, 1]")
    assert Attribute("a", labels=[False, True], missing=False).missing == Into(False)


def test_edges_are_floats_and_the_last_bin_is_closed():
    assert Bins([0, np.float32(1.5), Decimal("3.1")]).edges == (0.0, 1.5, 3.1)
    assert Bins([-0.0, 1]).labels == ("[0, 1]",)
    assert Bins([-math.inf, -2, 1e300]).labels == ("(-inf, -2)", "[-2, 1e+300]")
    assert len(Bins([0, 1, 2], labels=["x", "y"])) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one of size, labels, bins and numeric"),
        ({"size": 2, "labels": ["x", "y"]}, "exactly one of size, labels, bins and numeric"),
        ({"labels": []}, "at least 1 label"),
        ({"labels": ["x", "x"]}, "has a label twice"),
        ({"labels": ["x", 1]}, "mixes kinds of labels"),
        ({"labels": [1, True]}, "mixes kinds of labels"),
        ({"labels": [1.0]}, "labels are strings, integers or truth values"),
        ({"labels": [None]}, "labels are strings, integers or truth values"),
        ({"labels": [b"x"]}, "labels are strings, integers or truth values"),
        ({"labels": [2**63]}, "needs more than 64 bits"),
        ({"labels": ["\udfff"]}, "not valid Unicode"),
        ({"labels": 7}, "needs a list of labels"),
        ({"bins": [0, 1]}, r"write Bins\(\[\.\.\.\]\)"),
        ({"size": 2, "unknown": "Drop"}, "write 'error', 'drop' or one of its values 0 .. 1"),
        ({"size": 2, "missing": 2}, "write 'error', 'drop' or one of its values 0 .. 1"),
        ({"size": 2, "missing": True}, "write 'error', 'drop' or one of its values 0 .. 1"),
        ({"labels": ["x"], "missing": None}, "write 'error', 'drop' or one of its values"),
        ({"labels": [False], "missing": 0}, "write 'error', 'drop' or one of its values"),
    ],
)
def test_bad_attributes_are_refused(arguments, message):
    with pytest.raises(rp.errors.DomainError, match=message) as caught:
        Attribute("a", **arguments)
    assert caught.value.attributes == ("a",)


@pytest.mark.parametrize(
    ("edges", "labels", "message"),
    [
        ([0], None, "at least 2 edges, got 1"),
        ([0, 0], None, "strictly increasing"),
        ([1, 0], None, "strictly increasing"),
        ([0, math.nan], None, "none of them NaN"),
        ([math.nan, 0], None, "none of them NaN"),
        ([2**53, 2**53 + 1], None, "strictly increasing"),
        ([0, 10**400], None, "none of them NaN"),
        (["0", "1"], None, "must be numbers"),
        ([False, True], None, "must be numbers"),
        ([0, Decimal("sNaN")], None, "none of them NaN"),
        ([0, 1, 2], ["x"], "3 edges make 2 bins, got 1 labels"),
        ([0, 1, 2], ["x", "x"], "must differ"),
        ([0, 1, 2], "xy", "must be a list of strings"),
        ([0, 1, 2], [1, 2], "must be a list of strings"),
        ([0, 1, 2], 2, "must be a list of strings"),
    ],
)
def test_bad_bins_are_refused(edges, labels, message):
    with pytest.raises(rp.errors.DomainError, match=message):
        Bins(edges, labels)


def test_neighboring_bins_cover_an_interval():
    bins = Bins([-math.inf, 0, 1.5, 9])
    assert bins.interval_text(0, 1) == "(-inf, 1.5)"
    assert bins.interval_text(1, 2) == "[0, 9]"
    assert [bins.interval_text(i, i) for i in range(3)] == list(bins.labels)
    assert bins.labels_are_intervals
    assert not Bins([0, 1], labels=["unit"]).labels_are_intervals


@pytest.mark.parametrize(
    "declare",
    [
        lambda text: Bins([0, 1, 2], labels=["a", text]),
        lambda text: Attribute("a", labels=["a", text]),
        lambda text: Attribute(text, 2),
    ],
)
@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "\udbff\udbff"])
def test_a_text_that_no_file_can_hold_is_refused_where_it_is_declared(declare, text):
    with pytest.raises(rp.errors.DomainError, match="not valid Unicode"):
        declare(text)
