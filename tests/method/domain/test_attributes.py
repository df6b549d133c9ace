"""One attribute: its values and their meanings, its rules and labels of their own, and the words about it."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pytest

import residualplanner as rp
from column_codes import MISSING, UNKNOWN, Into, codes_of_entries
from residualplanner import Attribute, Bins

#: Each family, its values in words, an entry that is one of them, and the code of it.
FAMILIES = [
    ({"size": 3}, ("0", "1", "2"), 1, 1),
    ({"labels": ["F", "M"]}, ("F", "M"), "M", 1),
    ({"labels": [7, -1]}, ("7", "-1"), -1, 1),
    ({"labels": [True, False]}, ("true", "false"), False, 1),
    ({"labels": [dt.date(2020, 2, 29)]}, ("2020-02-29",), "2020-02-29 12:00", 0),
    ({"bins": Bins([0, 1.5, 9])}, ("[0, 1.5)", "[1.5, 9]"), 1.5, 1),
    ({"bins": Bins.months("2020-01", "2020-02")}, ("2020-01", "2020-02"), dt.date(2020, 2, 29), 1),
]


def test_values_are_shown_as_declared_in_plain_python_values():
    assert Attribute("a", 3).value_labels == (0, 1, 2)
    assert Attribute("a", labels=["y", "x"]).value_labels == ("y", "x")
    assert Attribute("a", bins=Bins([0, 1.5, math.inf])).value_labels == ("[0, 1.5)", "[1.5, inf)")
    for given, kind in ((np.array(["x"]), str), (np.array([3], dtype=np.uint8), int), (np.array([True]), bool)):
        attribute = Attribute(np.str_("a"), labels=given)
        assert attribute.value_labels == tuple(given.tolist())
        assert (type(attribute.value_labels[0]), type(attribute.name)) == (kind, str)


def test_codes_of_labels_are_their_positions():
    attribute = Attribute("a", labels=[5, 1, 0])
    assert [attribute.code_of_label(label) for label in (5, 1, 0)] == [0, 1, 2]
    assert Attribute("a", 10**18).code_of_label(10**17) == 10**17
    day = Attribute("day", labels=[dt.date(2020, 2, 29)])
    assert day.code_of_label("2020-02-29") == day.code_of_label(dt.date(2020, 2, 29)) == 0
    for of, absent in (*((attribute, label) for label in (True, False, "1", 2, 1.0, None)), (day, "2020-02-29 12:00")):
        with pytest.raises(rp.errors.DomainError, match="has no value"):
            of.code_of_label(absent)


def test_edges_are_floats_the_last_bin_is_closed_and_neighboring_bins_cover_an_interval():
    assert Bins([0, np.float32(1.5), Decimal("3.1")]).edges == (0.0, 1.5, 3.1)
    assert Bins([-0.0, 1]).labels == ("[0, 1]",)
    assert Bins([-math.inf, -2, 1e300]).labels == ("(-inf, -2)", "[-2, 1e+300]")
    assert len(Bins([0, 1, 2], labels=["x", "y"])) == 2
    bins = Bins([-math.inf, 0, 1.5, 9])
    assert (bins.interval_text(0, 1), bins.interval_text(1, 2)) == ("(-inf, 1.5)", "[0, 9]")
    assert [bins.interval_text(i, i) for i in range(3)] == list(bins.labels)
    assert bins.labels_are_intervals
    assert not Bins([0, 1], labels=["unit"]).labels_are_intervals


EXACTLY_ONE = "exactly one of size, labels, bins and numeric"
NO_LABEL, WRITE = "labels are strings, integers or truth values", "write 'error', 'drop' or one of its values"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *((given, EXACTLY_ONE) for given in ({}, {"size": 2, "labels": ["x", "y"]})),
        ({"labels": []}, "at least 1 label"),
        ({"labels": ["x", "x"]}, "has the label 'x' twice"),
        *(({"labels": labels}, "mixes kinds of labels") for labels in (["x", 1], [1, True])),
        *(({"labels": [label]}, NO_LABEL) for label in (1.0, None, b"x")),
        ({"labels": [2**63]}, "needs more than 64 bits"),
        *(({"labels": ["a", text]}, "not valid Unicode") for text in ("\ud800", "a\udfff", "\udbff\udbff")),
        ({"labels": 7}, "needs a list of labels"),
        *(({"labels": {1: "female", 2: bad}}, "has a meaning that is not a string of") for bad in (1, None, "\udfff")),
        ({"bins": [0, 1]}, r"write Bins\(\[\.\.\.\]\)"),
        *(({"size": 2, "missing": rule}, f"{WRITE} 0 .. 1") for rule in (2, True)),
        ({"labels": ["x"], "missing": None}, WRITE),
        ({"labels": [False], "missing": 0}, WRITE),
        *(
            ({"size": 3, "unknown": rule}, r"has unknown=.*or another string as a label of its own")
            for rule in (3, True, None, "", " ", "DROP", "Error", "\ud800", b"x", ["x"])
        ),
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
        *((edges, None, "strictly increasing") for edges in ([0, 0], [1, 0], [2**53, 2**53 + 1])),
        *(([0, edge], None, "none of them NaN") for edge in (math.nan, 10**400, Decimal("sNaN"))),
        ([math.nan, 0], None, "none of them NaN"),
        *((edges, None, "must be numbers") for edges in (["0", "1"], [False, True])),
        ([0, 1, 2], ["x"], "3 edges make 2 bins, got 1 labels"),
        ([0, 1, 2], ["x", "x"], "must differ"),
        ([0, 1, 2], ["a", "\ud800"], "not valid Unicode"),
        *(([0, 1, 2], labels, "must be a list of strings") for labels in ("xy", [1, 2], 2)),
    ],
)
def test_bad_bins_are_refused(edges, labels, message):
    with pytest.raises(rp.errors.DomainError, match=message):
        Bins(edges, labels)


def test_rules_are_words_or_labels_and_the_words_win():
    attribute = Attribute("a", labels=["drop", "error", "x"], unknown="drop", missing=Into("drop"))
    assert (attribute.unknown, attribute.missing) == ("drop", Into("drop"))
    assert Attribute("a", labels=["drop", "x"]).unknown == "error"
    assert Attribute("a", labels=["x", "y"], unknown="y") == Attribute("a", labels=["x", "y"], unknown=Into("y"))
    for values, label, size in (
        ({"size": 3}, 2, 3),
        ({"labels": ["F", "M"]}, "M", 2),
        ({"labels": [True, False]}, False, 2),
    ):
        assert Attribute("a", **values, missing=label).missing == Into(label)
        assert Attribute("a", **values, missing=label).size == size
    with_own = Attribute("a", labels=[7, -1], unknown=7, missing="Not stated")
    assert with_own.code_of_label(7) == with_own.code_of_label("7") == 0
    assert with_own.unknown == Into(7)


@pytest.mark.parametrize(("values", "texts", "entry", "code"), FAMILIES)
def test_labels_of_their_own_come_after_the_values_and_no_entry_matches_them(values, texts, entry, code):
    attribute = Attribute("a", **values, unknown="Other", missing="Not stated")
    assert attribute.value_labels == (*texts, "Other", "Not stated")
    assert attribute.size == len(texts) + 2
    assert [attribute.code_of_label(label) for label in attribute.value_labels] == [*range(attribute.size)]
    assert Attribute("a", **values, missing="Not stated", unknown="drop").value_labels == (*texts, "Not stated")
    assert Attribute("a", **values, missing="?", unknown="?").value_labels == (*texts, "?")
    assert Attribute("a", **values).size == len(texts)
    found = codes_of_entries(attribute, [entry, "Other", "Not stated", None, "none of these"])
    assert found.tolist() == [code, UNKNOWN, UNKNOWN, MISSING, UNKNOWN]
    if "bins" in values or texts == ("2020-02-29",):
        assert Attribute("a", **values, missing=texts[0]).size == len(texts)


@pytest.mark.parametrize("label", ["FEMALE", " female"])
def test_a_value_in_other_letters_is_not_taken_for_a_label_of_its_own(label):
    with pytest.raises(rp.errors.DomainError, match=r"'sex' has missing=.*hard to tell from its value 'female'; write"):
        Attribute("sex", labels=["female", "male"], missing=label)
    assert Attribute("sex", labels=["female", "male"], missing="Not stated").size == 3
    assert Attribute("sex", labels=["female", "male"], missing=Into(label)).value_labels[2] == label


@pytest.mark.parametrize(
    ("values", "label"),
    [({"size": 3}, "1"), ({"size": 10**6}, "5000"), ({"labels": [7, 8]}, "8"), ({"labels": [True, False]}, "true")],
)
def test_no_label_of_its_own_is_shown_like_a_value(values, label):
    for rule in (label, Into(label)):
        with pytest.raises(rp.errors.DomainError, match=f"hard to tell from its value '{label}'"):
            Attribute("a", **values, missing=rule)


def test_meanings_stand_beside_values_and_match_no_entry():
    sex = Attribute("sex", labels={1: "female", 2: "male", 9: ""}, missing="Not stated")
    assert sex.labels == (1, 2, 9)
    assert sex.value_meanings == ("female", "male", "9", "Not stated")
    assert codes_of_entries(sex, [2, "1", "female", None]).tolist() == [1, 0, UNKNOWN, MISSING]
    assert Attribute("sex", labels={"a": "", "b": ""}) == Attribute("sex", labels=["a", "b"])
    assert Attribute("sex", labels={"a": "same", "b": "same"}).value_meanings == ("same", "same")
