"""The schema as a whole, and as JSON."""

import json
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from column_codes import Into
from made_releases import any_release
from residualplanner import About, Attribute, Bins, Domain

reproducible = settings(derandomize=True, deadline=None)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
names = words.filter(bool)
integers = st.integers(-(2**63), 2**63 - 1)
labels = st.one_of(
    *(st.lists(kind, min_size=1, max_size=5, unique=True) for kind in (names, integers, st.booleans(), st.dates()))
)
edges = st.lists(st.floats(allow_nan=False), min_size=2, max_size=5, unique=True).map(sorted)
abouts = st.none() | st.builds(About, title=words, unit=words, source=words, note=words)


@st.composite
def attributes(draw, name):
    values = draw(
        st.one_of(
            st.integers(1, 2**63 - 3).map(lambda size: {"size": size}),
            labels.map(lambda found: {"labels": found}),
            labels.flatmap(
                lambda found: st.lists(words, min_size=len(found), max_size=len(found)).map(
                    lambda meant: {"labels": dict(zip(found, meant, strict=True))}
                )
            ),
            edges.map(lambda found: {"bins": Bins(found)}),
            st.just({"bins": Bins.months("2020-01", "2020-03")}),
        )
    )
    plain = Attribute(name, **values)
    code = draw(st.integers(0, plain.size - 1))
    shown = code if "size" in values else plain.value_labels[code]
    rules = st.sampled_from(["error", "drop", Into(shown), Into("not one of these"), Into("nor of these")])
    return Attribute(name, **values, unknown=draw(rules), missing=draw(rules), about=draw(abouts))


@st.composite
def domains(draw):
    chosen = draw(st.lists(names, max_size=4, unique=True))
    return Domain({name: draw(attributes(name)) for name in chosen})


@given(domain=domains())
@reproducible
def test_a_domain_comes_back_equal_from_json(domain):
    again = Domain.from_json(json.loads(json.dumps(domain.to_json(), allow_nan=False)))
    assert again == domain
    assert hash(again) == hash(domain)
    assert again.to_json() == domain.to_json()


@given(sizes=st.lists(st.integers(1, 2**62), max_size=60), data=st.data())
@reproducible
def test_cells_are_the_exact_product_of_sizes(sizes, data):
    domain = Domain({f"a{i}": size for i, size in enumerate(sizes)})
    chosen = data.draw(st.lists(st.sampled_from(range(len(sizes))), unique=True)) if sizes else []
    assert domain.cells([f"a{i}" for i in chosen]) == math.prod(sizes[i] for i in chosen)
    assert domain.positions([f"a{i}" for i in chosen]) == tuple(sorted(chosen))
    assert domain.cells() == math.prod(sizes)
    assert type(domain.cells()) is int


def test_a_domain_behaves_like_a_sequence_of_names_and_a_mapping_to_attributes():
    domain = Domain({"age": np.int32(85), "sex": ["F", "M"], "income": Bins([0, 10]), "job": Attribute("job", 3)})
    assert domain.names == ("age", "sex", "income", "job") == tuple(domain)
    assert domain.sizes == (85, 2, 1, 3)
    assert all(type(size) is int for size in domain.sizes)
    assert len(domain) == 4
    assert "sex" in domain
    assert "Sex" not in domain
    assert domain["sex"] == Attribute("sex", labels=["F", "M"])
    assert Domain({}).cells() == 1
    assert Domain({}).positions(()) == ()


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        *(({"a": size}, "at least 1 value") for size in (0, -1)),
        ({"a": 2**63}, r"fewer than 2\*\*63"),
        *(({"a": size}, "needs an integer for its size") for size in (True, 2.0, math.nan)),
        ({"a": "FM"}, "needs a list of labels"),
        ({"a": {"F", "M"}}, "needs its labels in an order, and a set has another in every run; write a list"),
        ({"a": None}, "needs a size, labels or bins, got None"),
        *(({name: 2}, "must be a string that is not empty") for name in ("", 1)),
        *(({name: 2}, "not valid Unicode") for name in ("\ud800", "\udbff\udbff")),
        ({"a": Attribute("b", 2)}, "has the key 'a'"),
        ([("a", 2)], "a domain is a mapping"),
    ],
)
def test_bad_mappings_are_refused(mapping, message):
    with pytest.raises(rp.errors.DomainError, match=message):
        Domain(mapping)


def test_names_that_are_unknown_repeated_or_one_text_are_refused():
    domain = Domain({"age": 85, "sex": 2})
    unknown = r"unknown attribute 'race'; the domain has \['age', 'sex'\]"
    with pytest.raises(rp.errors.DomainError, match=unknown) as caught:
        domain.positions(["race"])
    assert caught.value.attributes == ("race",)
    with pytest.raises(rp.errors.DomainError, match=r"attribute 'age' occurs twice"):
        domain.cells(["age", "sex", "age"])
    with pytest.raises(rp.errors.DomainError, match=r"write \('age',\)"):
        domain.positions("age")
    with pytest.raises(rp.errors.DomainError, match="unknown attribute"):
        domain["race"]


#: What version 6 of the format of plans has, before there were meanings, dates and labels of their own.
RULES = {"unknown": "error", "missing": "error"}
OLD = {
    "attributes": [
        {"name": "size", "size": 85, "unknown": "drop", "missing": {"into": 0}},
        {"name": "labels", "labels": ["F", "M", "?"], "unknown": {"into": "?"}, "missing": "error"},
        {"name": "truth", "labels": [True, False], "unknown": "error", "missing": {"into": False}},
        {"name": "bins", "bins": {"edges": ["-inf", 0.0, 1.5, "inf"], "labels": ["a", "b", "c"]}, **RULES},
    ]
}


def test_the_json_of_older_plans_is_read_and_written_as_it_was():
    assert json.dumps(Domain.from_json(OLD).to_json()) == json.dumps(OLD)


ONE_OF = "exactly one of size, labels, bins and numeric"
ALL_DIFFERENT = "expected strings, integers or truth values, all different"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"size": 2, "sizes": 2}, r": unknown \['sizes'\]"),
        *(({"size": size}, ": .* needs an integer") for size in (True, 2.0)),
        *(
            (fields, ONE_OF)
            for fields in ({}, {"size": 2, "labels": ["x"]}, {"labels": ["x"], "dates": ["2020-01-01"]})
        ),
        ({"labels": "xy"}, r"\.labels: expected a list"),
        ({"labels": ["x", "x"]}, "has a label twice: labels 1 and 2 are the same"),
        ({"size": 2, "unknown": "DROP"}, r"\.unknown: expected"),
        ({"size": 2, "unknown": {"into": 2}}, "has unknown=2; write 'error', 'drop' or one of its values 0 .. 1"),
        ({"size": 2, "unknown": {"into": []}}, "has unknown="),
        ({"bins": {"edges": [0, 1], "labels": "x"}}, r"\.bins: expected edges and labels, two lists"),
        ({"bins": {"edges": [0, 1]}}, r"\.bins: expected edges and labels, two lists"),
        ({"bins": {"edges": [0, "1"], "labels": ["x"]}}, "bin edges must be numbers"),
        ({"bins": {"edges": [1, 0], "labels": ["x"]}}, "strictly increasing"),
        ({"labels": ["x"], "meanings": ["a", "b"]}, "meanings: expected one for each label"),
        ({"size": 1, "meanings": ["a"]}, "meanings: expected one for each label"),
        ({"labels": ["x"], "meanings": "a"}, r"\.meanings: expected a list"),
        ({"labels": [["x"]], "meanings": ["a"]}, ALL_DIFFERENT),
        ({"labels": ["x", "x"], "meanings": ["a", "b"]}, ALL_DIFFERENT),
        ({"labels": ["x"], "meanings": [3]}, "has a meaning that is not a string"),
        *(({"dates": [day]}, "expected dates such as 2020-12-31") for day in ("2020-02-30", "2020-02-20 10:00", 7)),
        *(({"size": 1, "about": about}, r"\.about: expected an object") for about in ("x", {"titel": "x"})),
        ({"size": 1, "about": {"title": 5}}, "the title of an attribute must be a string"),
    ],
)
def test_json_that_does_not_fit_is_refused_where_it_is_wrong(fields, message):
    with pytest.raises(rp.errors.DomainError, match=rf"attributes\[0\].*{message}"):
        Domain.from_json({"attributes": [{"name": "a", **RULES, **fields}]})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        *((value, "domain: expected an object") for value in ([], {"attributes": [], "more": 1})),
        ({"attributes": {}}, "a list"),
        ({"attributes": [1]}, r"attributes\[0\]: expected an object"),
        ({"attributes": [{"name": "a", "size": 2}]}, "the fields 'missing' and 'unknown' are missing"),
        ({"attributes": [{"name": "a", "size": 2, **RULES}] * 2}, r"attribute 'a' occurs twice"),
    ],
)
def test_json_that_is_no_domain_is_refused(value, message):
    with pytest.raises(rp.errors.DomainError, match=message):
        Domain.from_json(value)


def test_the_sentence_names_every_attribute_that_leaves_records_out_and_no_other():
    for unknown, missing in product(["error", "drop", "Other"], repeat=2):
        domain = Domain({"income": Attribute("income", 9, unknown=unknown, missing=missing), "sex": 2})
        sentence = any_release(rp.select(rp.marginals(domain, order=1), budget=rp.pcost(1))).noise.omission
        assert ("without a value of 'income'" in sentence) == (missing == "drop")
        assert ("with a value outside the declared ones of 'income'" in sentence) == (unknown == "drop")
        assert ("the total included" in sentence) == ("drop" in (unknown, missing))
        assert "sex" not in sentence
