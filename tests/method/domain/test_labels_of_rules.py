"""Labels of their own for unknown and missing entries, meanings of values, and words about attributes."""

import datetime as dt
import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import About, Attribute, Bins, Domain
from residualplanner.gate.sources.columns import codes_of_values
from residualplanner.method.domain.domain import omission_of
from residualplanner.method.domain.families import MISSING, UNKNOWN
from residualplanner.method.domain.labels import Into

VALUES = [
    ({"size": 3}, ("0", "1", "2")),
    ({"labels": ["F", "M"]}, ("F", "M")),
    ({"labels": [7, -1]}, ("7", "-1")),
    ({"labels": [True, False]}, ("true", "false")),
    ({"labels": [dt.date(2020, 2, 29)]}, ("2020-02-29",)),
    ({"bins": Bins([0, 1.5, 9])}, ("[0, 1.5)", "[1.5, 9]")),
    ({"bins": Bins.months("2020-01", "2020-02")}, ("2020-01", "2020-02")),
]
#: Each family with an entry that is one of its values, and the code of it.
ENTRIES = [1, "M", -1, False, "2020-02-29 12:00", 1.5, dt.date(2020, 2, 29)]
CODES = [1, 1, 1, 1, 0, 1, 1]


@pytest.mark.parametrize(("values", "texts"), VALUES)
def test_labels_of_their_own_come_after_the_values_as_strings(values, texts):
    attribute = Attribute("a", **values, unknown="Other", missing="Not stated")
    assert attribute.value_labels == (*texts, "Other", "Not stated")
    assert attribute.size == len(texts) + 2
    assert [attribute.code_of_label(label) for label in attribute.value_labels] == [*range(attribute.size)]
    assert Attribute("a", **values, missing="Not stated", unknown="drop").value_labels == (*texts, "Not stated")
    assert Attribute("a", **values, missing="?", unknown="?").value_labels == (*texts, "?")
    assert Attribute("a", **values).size == len(texts)


@pytest.mark.parametrize(
    ("values", "entry", "code"), [(values, *pair) for (values, _), *pair in zip(VALUES, ENTRIES, CODES, strict=True)]
)
def test_labels_of_their_own_change_no_code_and_no_entry_matches_them(values, entry, code):
    attribute = Attribute("a", **values, unknown="Other", missing="Not stated")
    found = codes_of_values(attribute, [entry, "Other", "Not stated", None, "none of these"])
    assert found.tolist() == [code, UNKNOWN, UNKNOWN, MISSING, UNKNOWN]


def test_a_label_of_a_rule_is_a_value_wherever_there_is_such_a_value():
    for values, label, size in ((VALUES[0][0], 2, 3), (VALUES[1][0], "M", 2), (VALUES[3][0], False, 2)):
        assert Attribute("a", **values, missing=label).size == size
    for values, texts in VALUES[4:]:
        assert Attribute("a", **values, missing=texts[0]).size == len(texts)
    with_own = Attribute("a", labels=[7, -1], unknown=7, missing="Not stated")
    assert with_own.code_of_label(7) == with_own.code_of_label("7") == 0
    assert with_own.unknown == Into(7)


@pytest.mark.parametrize("label", ["Femal", "femalle", "FEMALE", " female", "fmale"])
def test_a_misspelled_value_is_not_taken_for_a_label_of_its_own(label):
    with pytest.raises(rp.errors.DomainError, match=r"'sex' has missing=.*hard to tell from its value 'female'; write"):
        Attribute("sex", labels=["female", "male"], missing=label)
    assert Attribute("sex", labels=["female", "male"], missing="Not stated").size == 3
    assert Attribute("sex", labels=["female", "male"], missing=Into(label)).value_labels[2] == label


@pytest.mark.parametrize("rule", [3, True, None, "", " ", "DROP", "Error", "\ud800", b"x", ["x"]])
def test_what_is_no_rule_is_refused(rule):
    with pytest.raises(rp.errors.DomainError, match=r"has unknown=.*or another string as a label of its own"):
        Attribute("a", 3, unknown=rule)


@pytest.mark.parametrize(
    ("values", "label"),
    [({"size": 3}, "1"), ({"size": 10**6}, "5000"), ({"labels": [7, 8]}, "8"), ({"labels": [True, False]}, "true")],
)
def test_no_label_of_its_own_is_shown_like_a_value(values, label):
    for rule in (label, Into(label)):
        with pytest.raises(rp.errors.DomainError, match=f"hard to tell from its value '{label}'"):
            Attribute("a", **values, missing=rule)


def test_labels_from_files_and_long_ones_are_not_compared_letter_by_letter(monkeypatch):
    compared = []
    monkeypatch.setattr("difflib.get_close_matches", lambda label, texts, **_: compared.extend([label, *texts]) or [])
    Attribute("a", labels=["x" * 10**6, "y"], missing="z")
    Attribute("a", labels=["x", "y"], missing="z" * 10**6)
    domain = Domain({"a": Attribute("a", labels=["x", "y"], missing=Into("z"))})
    assert compared == ["z", "y"]
    assert Domain.from_json(domain.to_json()) == domain
    assert compared == ["z", "y"]


# --- meanings ---


def test_meanings_stand_beside_values_and_match_no_entry():
    sex = Attribute("sex", labels={1: "female", 2: "male", 9: ""}, missing="Not stated")
    assert sex.labels == (1, 2, 9)
    assert sex.value_meanings == ("female", "male", "9", "Not stated")
    assert codes_of_values(sex, [2, "1", "female", None]).tolist() == [1, 0, UNKNOWN, MISSING]
    assert Attribute("sex", labels={"a": "", "b": ""}) == Attribute("sex", labels=["a", "b"])
    assert Attribute("sex", labels={"a": "same", "b": "same"}).value_meanings == ("same", "same")


@pytest.mark.parametrize("meaning", [1, None, "\udfff"])
def test_meanings_are_strings_that_files_can_hold(meaning):
    with pytest.raises(rp.errors.DomainError, match="'sex' has a meaning that is not a string of valid Unicode"):
        Attribute("sex", labels={1: "female", 2: meaning})


# --- words about attributes ---


def test_words_about_an_attribute_change_none_of_its_codes():
    about = About(title="Income", unit="dollars", source="survey", note="before tax")
    plain, described = (Attribute("a", bins=Bins([0, 1]), about=given) for given in (None, about))
    assert described.about == about
    assert plain.described(about) == described != plain
    assert plain.value_labels == described.value_labels
    assert not plain.about


@pytest.mark.parametrize(
    "make", [lambda: About(title=1), lambda: About(note="\ud800"), lambda: Attribute("a", 2, about="Income")]
)
def test_words_that_no_file_can_hold_are_refused(make):
    with pytest.raises(rp.errors.DomainError, match=r"must be|write About"):
        make()


# --- JSON ---

rules = st.sampled_from(["error", "drop", "Other", "Not stated", Into("drop")])
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
abouts = st.builds(About, title=words, unit=words, source=words, note=words)


@given(values=st.sampled_from(VALUES), unknown=rules, missing=rules, about=abouts)
def test_a_domain_is_the_same_after_a_round_trip_through_json(values, unknown, missing, about):
    domain = Domain({"a": Attribute("a", **values[0], unknown=unknown, missing=missing, about=about)})
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain


@given(meanings=st.lists(words, min_size=3, max_size=3), labels=st.sampled_from([(1, 2, 3), ("1", "b", "")]))
def test_meanings_are_the_same_after_a_round_trip_through_json(meanings, labels):
    domain = Domain({"a": dict(zip(labels, meanings, strict=True))})
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain


#: What version 6 of the format of plans has, before there were meanings, dates and labels of their own.
OLD = {
    "attributes": [
        {"name": "size", "size": 85, "unknown": "drop", "missing": {"into": 0}},
        {"name": "labels", "labels": ["F", "M", "?"], "unknown": {"into": "?"}, "missing": "error"},
        {"name": "truth", "labels": [True, False], "unknown": "error", "missing": {"into": False}},
        {
            "name": "bins",
            "bins": {"edges": ["-inf", 0.0, 1.5, "inf"], "labels": ["a", "b", "c"]},
            "unknown": "error",
            "missing": "error",
        },
    ]
}


def test_the_json_of_older_plans_is_read_and_written_as_it_was():
    assert json.dumps(Domain.from_json(OLD).to_json()) == json.dumps(OLD)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": ["x"], "meanings": ["a", "b"]}, r"meanings: expected one for each label"),
        ({"size": 1, "meanings": ["a"]}, r"meanings: expected one for each label"),
        ({"labels": ["x"], "meanings": "a"}, r"meanings: expected a list"),
        ({"labels": [["x"]], "meanings": ["a"]}, "expected strings, integers or truth values, all different"),
        ({"labels": ["x", "x"], "meanings": ["a", "b"]}, "expected strings, integers or truth values, all different"),
        ({"labels": ["x"], "meanings": [3]}, "has a meaning that is not a string"),
        ({"labels": ["x"], "dates": ["2020-01-01"]}, "exactly one of size, labels, bins and numeric"),
        ({"dates": ["2020-02-30"]}, "expected dates such as 2020-12-31"),
        ({"dates": ["2020-02-20 10:00"]}, "expected dates such as 2020-12-31"),
        ({"dates": [7]}, "expected dates such as 2020-12-31"),
        ({"size": 1, "about": {"titel": "x"}}, "about: unknown field 'titel'"),
        ({"size": 1, "about": {"title": 5}}, r"about: the title of an attribute must be a string"),
        ({"size": 1, "about": "x"}, r"about: expected an object"),
    ],
)
def test_json_that_does_not_fit_is_refused_where_it_is_wrong(fields, message):
    value = {"attributes": [{"name": "a", **fields, "unknown": "error", "missing": "error"}]}
    with pytest.raises(rp.errors.DomainError, match=rf"attributes\[0\].*{message}"):
        Domain.from_json(value)


# --- what is left out ---


def test_the_sentence_names_every_attribute_that_leaves_records_out_and_no_other():
    for unknown, missing in product(["error", "drop", "Other"], repeat=2):
        domain = Domain({"income": Attribute("income", 9, unknown=unknown, missing=missing), "sex": 2})
        sentence = omission_of(domain)
        assert ("without a value of 'income'" in sentence) == (missing == "drop")
        assert ("with a value outside the declared ones of 'income'" in sentence) == (unknown == "drop")
        assert ("the total included" in sentence) == ("drop" in (unknown, missing))
        assert "sex" not in sentence
