"""The schema as a whole."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import Attribute, Bins, Domain
from residualplanner.method.domain.labels import Into

reproducible = settings(derandomize=True, deadline=None)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
integers = st.integers(-(2**63), 2**63 - 1)
labels = st.one_of(
    *(st.lists(kind, min_size=1, max_size=5, unique=True) for kind in (names, integers, st.booleans())),
)
edges = st.lists(st.floats(allow_nan=False), min_size=2, max_size=5, unique=True).map(sorted)


@st.composite
def attributes(draw, name):
    values = draw(
        st.one_of(
            st.integers(1, 2**63 - 1).map(lambda size: {"size": size}),
            labels.map(lambda found: {"labels": found}),
            edges.map(lambda found: {"bins": Bins(found)}),
        )
    )
    code = draw(st.integers(0, Attribute(name, **values).size - 1))
    shown = code if "size" in values else Attribute(name, **values).value_labels[code]
    rules = st.sampled_from(["error", "drop", Into(shown)])
    return Attribute(name, **values, unknown=draw(rules), missing=draw(rules))


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
    product = 1
    for i in chosen:
        product *= sizes[i]
    assert domain.cells([f"a{i}" for i in chosen]) == product
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


def test_a_domain_without_attributes_has_the_total_only():
    assert Domain({}).cells() == 1
    assert Domain({}).positions(()) == ()
    assert Domain.from_json(Domain({}).to_json()) == Domain({})


def test_domains_differ_in_order_kind_and_rules():
    variants = [
        Domain({"a": 2, "b": 3}),
        Domain({"b": 3, "a": 2}),
        Domain({"a": [0, 1], "b": 3}),
        Domain({"a": [False, True], "b": 3}),
        Domain({"a": ["0", "1"], "b": 3}),
        Domain({"a": Attribute("a", 2, missing="drop"), "b": 3}),
    ]
    assert len(set(variants)) == len(variants)


def test_the_text_of_a_domain_stays_short():
    assert repr(Domain({"age": 85, "sex": ["F", "M"]})) == "Domain(age: 85, sex: 2)"
    assert len(repr(Domain({f"a long name of an attribute, number {i}": 10 for i in range(200)}))) < 250
    assert len(repr(Attribute("a", labels=[f"label {i}" for i in range(1000)]))) < 120
    assert len(repr(Bins(range(1000)))) < 60


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"a": 0}, "at least 1 value"),
        ({"a": -1}, "at least 1 value"),
        ({"a": 2**63}, r"fewer than 2\*\*63"),
        ({"a": True}, "needs an integer for its size"),
        ({"a": 2.0}, "needs an integer for its size"),
        ({"a": math.nan}, "needs an integer for its size"),
        ({"a": "FM"}, "needs a list of labels"),
        ({"a": {"F", "M"}}, "needs its labels in an order, and a set has another in every run; write a list"),
        ({"a": None}, "needs a size, labels or bins, got None"),
        ({"": 2}, "must be a string that is not empty"),
        ({1: 2}, "must be a string that is not empty"),
        ({"\ud800": 2}, "not valid Unicode"),
        ({"a": Attribute("b", 2)}, "has the key 'a'"),
        ([("a", 2)], "a domain is a mapping"),
    ],
)
def test_bad_mappings_are_refused(mapping, message):
    with pytest.raises(rp.errors.DomainError, match=message):
        Domain(mapping)


def test_names_that_are_unknown_repeated_or_one_text_are_refused():
    domain = Domain({"age": 85, "sex": 2})
    with pytest.raises(
        rp.errors.DomainError, match=r"unknown attribute 'race'; the domain has \['age', 'sex'\]"
    ) as caught:
        domain.positions(["race"])
    assert caught.value.attributes == ("race",)
    with pytest.raises(rp.errors.DomainError, match=r"attribute 'age' occurs twice"):
        domain.cells(["age", "sex", "age"])
    with pytest.raises(rp.errors.DomainError, match=r"write \('age',\)"):
        domain.positions("age")
    with pytest.raises(rp.errors.DomainError, match="unknown attribute"):
        domain["race"]


def item(**changes):
    return {"attributes": [{"name": "a", "size": 2, "unknown": "error", "missing": "error"} | changes]}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "domain: expected an object"),
        ({"attributes": [], "more": 1}, "domain: expected an object"),
        ({"attributes": {}}, "a list"),
        ({"attributes": [1]}, r"attributes\[0\]: expected an object"),
        (
            {"attributes": [{"name": "a", "size": 2}]},
            r"attributes\[0\]: the fields 'missing' and 'unknown' are missing",
        ),
        (item(sizes=2), r"attributes\[0\]: unknown field 'sizes'"),
        (item(size=True), r"attributes\[0\]: .* needs an integer"),
        (item(size=2.0), r"attributes\[0\]: .* needs an integer"),
        (item(size=None), "exactly one of size, labels, bins and numeric"),
        (item(labels=["x"]), "exactly one of size, labels, bins and numeric"),
        (item(size=None, labels="xy"), r"attributes\[0\]\.labels: expected a list"),
        (item(size=None, labels=["x", "x"]), "has a label twice"),
        (item(unknown="DROP"), r"attributes\[0\]\.unknown: expected"),
        (item(unknown={"into": 2}), "has unknown=2; write 'error', 'drop' or one of its values 0 .. 1"),
        (item(unknown={"into": []}), "has unknown="),
        (
            item(size=None, bins={"edges": [0, 1], "labels": "x"}),
            r"attributes\[0\]\.bins: edges and labels must be lists",
        ),
        (item(size=None, bins={"edges": [0, 1]}), r"attributes\[0\]\.bins: the field 'labels' is missing"),
        (
            item(size=None, bins={"edges": [0, "1"], "labels": ["x"]}),
            r"attributes\[0\]\.bins: bin edges must be numbers",
        ),
        (item(size=None, bins={"edges": [1, 0], "labels": ["x"]}), "strictly increasing"),
        ({"attributes": item()["attributes"] * 2}, r"attribute 'a' occurs twice"),
    ],
)
def test_json_that_is_no_domain_is_refused_where_it_is_wrong(value, message):
    with pytest.raises(rp.errors.DomainError, match=message):
        Domain.from_json(value)
