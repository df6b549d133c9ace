"""A spec may ask more of an attribute than one count per value, in the library's own kinds."""

import re
from pathlib import Path

import numpy as np
import pytest

import residualplanner as rp
from residualplanner import Custom, Domain, Hierarchy, Identity, Prefix, Range, Threshold, Workload, marginals
from residualplanner.shell.cli.spec.file import read_spec, spec_schema
from residualplanner.shell.cli.spec.objects import domain_of_spec, workload_of_spec
from residualplanner.shell.cli.spec.starting import spec_text

HEAD = """\
budget = { zcdp = 1 }
[domain]
age = { bins = [0, 5, 18, 65, inf] }
grade = 3
state = ["CA", "TX", "WA"]
sex = ["F", "M"]
[[workload]]
"""


@pytest.fixture
def workload_of(tmp_path):
    def workload_of_text(text: str) -> Workload:
        (tmp_path / "spec.toml").write_text(HEAD + text)
        spec = read_spec(tmp_path / "spec.toml")
        return workload_of_spec(spec, domain_of_spec(spec))

    return workload_of_text


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('grade = "identity"', Identity()),
        ('grade = "prefix"', Prefix()),
        ('grade = { kind = "range" }', Range()),
        ('grade = { kind = "hierarchy", levels = [2] }', Hierarchy([2])),
        (
            'grade = { kind = "hierarchy", levels = [{ low = [0, 1], high = [2] }] }',
            Hierarchy([{"low": [0, 1], "high": [2]}]),
        ),
        (
            'grade = { kind = "hierarchy", levels = [2], total = "all", leaves = false }',
            Hierarchy([2], total="all", leaves=False),
        ),
        ('grade = { kind = "hierarchy", levels = [2], total = false }', Hierarchy([2], total=False)),
        ('grade = { kind = "custom", matrix = [[1, 1, 1], [0, 0.5, 1]] }', Custom([[1, 1, 1], [0, 0.5, 1]])),
        (
            'grade = { kind = "custom", matrix = [[1, 1, 1], [0, 1, 2]], labels = ["n", "sum"] }',
            Custom([[1, 1, 1], [0, 1, 2]], labels=["n", "sum"]),
        ),
    ],
)
def test_every_kind_is_the_librarys_own(workload_of, text, kind):
    expected = marginals(Domain({"age": 4, "grade": 3, "state": 3, "sex": 2}), order=1, kinds={"grade": kind})
    short = workload_of(f"order = 1\nkinds = {{ {text} }}\n")
    assert list(short)[1] == list(expected)[1]
    assert list(short) == list(workload_of(f"order = 1\n[workload.kinds]\n{text}\n"))
    assert list(short)[1] == next(iter(workload_of(f"queries = [{{ {text} }}]")))


def test_a_hierarchy_may_be_written_over_several_lines(workload_of):
    text = """up_to = 1
[workload.kinds]
age = "range"
[workload.kinds.state]
kind = "hierarchy"
total = "USA"
levels = [
    { Coast = ["West"], Inland = ["South"] },
    { West = ["CA", "WA"], South = ["TX"] },
]
"""
    workload = workload_of(text)
    state = workload.domain["state"]
    kind = list(workload)[3]["state"]
    assert kind.labels(state) == ("USA", "Coast", "Inland", "West", "South", "CA", "TX", "WA")
    np.testing.assert_array_equal(kind.matrix(3)[1], [1, 0, 1])
    assert list(workload)[1] == {"age": Range()}


def test_kinds_of_an_entry_hold_for_all_its_queries_and_for_no_others(workload_of):
    workload = workload_of(
        'queries = [["sex", "age"], ["age", "grade"], { age = "range", sex = "identity" }]\n'
        'kinds = { age = "prefix" }\n[[workload]]\nqueries = [["age"]]\n'
    )
    assert list(workload) == [
        ("age",),
        {"age": Prefix(), "grade": Identity()},
        {"age": Prefix(), "sex": Identity()},
        {"age": Range(), "sex": Identity()},
    ]


def test_weights_go_with_queries_of_every_kind(workload_of):
    workload = workload_of('order = 1\nweight = 3\nkinds = { age = "prefix" }\n[[workload]]\nqueries = [["age"]]\n')
    assert list(zip(map(str, workload), workload.weights, strict=True))[:2] == [
        ("{'age': Prefix()}", 3.0),
        ("('age',)", 1.0),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kinds = "prefix"', r"\[\[workload\]\] number 1, kinds: expected a table, got 'prefix'"),
        ("kinds = { age = 5 }", 'number 1, kinds, age: expected a kind of query such as "prefix", or a table, got 5'),
        ('kinds = { age = "prefx" }', "number 1, kinds, age, kind: expected 'identity', 'prefix', .*, got 'prefx'"),
        ("kinds = { age = {} }", "number 1, kinds, age: 'kind' is missing"),
        (
            'kinds = { age = { kind = "prefix", labls = [] } }',
            "number 1, kinds, age: unknown field 'labls'; did you mean 'labels'",
        ),
        (
            'kinds = { age = { kind = "prefix", levels = [2] } }',
            "number 1, kinds, age: 'levels' does not belong to the kind 'prefix'",
        ),
        ('kinds = { age = { kind = "custom", matrix = [[1]], total = true } }', "'total' does not belong to the kind"),
        ('kinds = { age = "custom" }', r"number 1, kinds, age: give the rows of the custom query: matrix = \[\["),
        (
            'kinds = { age = { kind = "hierarchy", levels = 2 } }',
            r"kinds, age, levels: expected a list in \[brackets\], got 2",
        ),
        (
            'kinds = { age = { kind = "hierarchy", levels = [2, "West"] } }',
            "kinds, age, levels, entry 2: expected an integer, or groups and their members such as .*, got 'West'",
        ),
        ('kinds = { age = { kind = "hierarchy", levels = [true] } }', "levels, entry 1: expected an integer"),
        ('kinds = { age = { kind = "hierarchy", levels = [{ a = 1 }] } }', "levels, entry 1: expected an integer"),
        ('kinds = { age = { kind = "hierarchy", levels = [{ a = [1.5] }] } }', "levels, entry 1: expected an integer"),
        (
            'kinds = { age = { kind = "hierarchy", levels = [2], total = 1 } }',
            "total: expected true, false or a string",
        ),
        ('kinds = { age = { kind = "hierarchy", levels = [2], leaves = "no" } }', "leaves: expected true or false"),
        (
            'kinds = { age = { kind = "custom", matrix = [[1, "x"]] } }',
            "kinds, age, matrix, entry 1, entry 2: expected a number without quotes, got 'x'",
        ),
        (
            'kinds = { age = { kind = "custom", matrix = [[1]], labels = [1] } }',
            "labels, entry 1: expected a string in",
        ),
    ],
)
def test_a_wrong_kind_is_refused_with_its_place(workload_of, text, message):
    with pytest.raises(rp.errors.FileFormatError, match=message):
        workload_of(f"order = 1\n{text}\n")
    query = text.replace("kinds = {", "queries = [{", 1).removesuffix("}") + "}]"
    if text != 'kinds = "prefix"':
        told = message.replace("kinds, age", "queries, entry 1, age")
        with pytest.raises(rp.errors.FileFormatError, match=told):
            workload_of(query + "\n")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ('order = 1\nkinds = { z = "prefix" }', rp.errors.DomainError, r"unknown attribute 'z'"),
        ('queries = [{ z = "prefix" }]', rp.errors.DomainError, r"unknown attribute 'z'"),
        (
            'queries = [["age", "age"]]\nkinds = { age = "prefix" }',
            rp.errors.DomainError,
            r"attribute 'age' occurs twice",
        ),
        (
            'queries = [["age"]]\nkinds = { sex = "prefix" }',
            rp.errors.WorkloadError,
            r"\[\[workload\]\] number 1, kinds: no query of this table has the attribute 'sex'; add each to a query",
        ),
        (
            'order = 1\n[[workload]]\nqueries = [["age"]]\nkinds = { age = { kind = "hierarchy", levels = [0] } }',
            rp.errors.WorkloadError,
            r"\[\[workload\]\] number 2, kinds, age: level 1 of the hierarchy must be a mapping",
        ),
        (
            'queries = [["sex"], { grade = { kind = "custom", matrix = [[1, nan, 1]] } }]',
            rp.errors.WorkloadError,
            "number 1, queries, entry 2, grade: the matrix of a custom query must be finite",
        ),
        (
            'queries = [{ grade = { kind = "custom", matrix = [[1, 1, 1]] } }]',
            rp.errors.WorkloadError,
            "gives nothing but the total of 'grade'; leave the attribute out",
        ),
        (
            'order = 1\nmax_cells = 4\nkinds = { age = "range", grade = "prefix" }',
            rp.errors.WorkloadError,
            r"number 1, kinds: no table of this entry has the attribute 'age': with these kinds .* raise max_cells",
        ),
        (
            'order = 0\nkinds = { grade = "prefix" }',
            rp.errors.WorkloadError,
            r"number 1, kinds: no table of this entry has the attribute 'grade'; include more attributes",
        ),
        (
            'order = 1\nkinds = { age = "hierarchy" }',
            rp.errors.WorkloadError,
            r"number 1, kinds, age: give the levels of the hierarchy, .*levels = \[...\]; or in \[domain\] the file",
        ),
        (
            'order = 1\nkinds = { state = { kind = "hierarchy", levels = [{ West = ["CA"] }] } }',
            rp.errors.WorkloadError,
            "the hierarchy on 'state': level 1: the values 'TX' and 'WA' are in no group",
        ),
    ],
)
def test_kinds_that_do_not_fit_the_domain_are_refused(workload_of, text, error, message):
    with pytest.raises(error, match=message):
        workload_of(text + "\n")


def test_the_schema_knows_the_kinds():
    definitions = spec_schema()["$defs"]
    assert definitions["KindTable"]["properties"]["kind"]["enum"] == [
        "identity",
        "prefix",
        "range",
        "sum",
        "mean",
        "quantiles",
        "hierarchy",
        "custom",
        "matching",
    ]
    short = definitions["QueriesTable"]["properties"]["kinds"]["additionalProperties"]["anyOf"]
    assert {"enum": ["identity", "prefix", "range", "sum", "mean", "quantiles", "hierarchy"], "type": "string"} in short
    assert {"$ref": "#/$defs/KindTable"} in short


def test_what_a_starting_spec_says_of_kinds_may_be_used_as_it_stands(tmp_path):
    domain = Domain({"age": 85, "income": 10, "county": ["Kern"], "sex": 2})
    text = spec_text(domain, up_to=1)
    (kinds,) = re.findall(r"^#   (kinds = .*)$", text, flags=re.MULTILINE)
    (queries,) = re.findall(r"^#   (queries = .*\{.*)$", text, flags=re.MULTILINE)
    path = tmp_path / "spec.toml"
    path.write_text(text.replace("\nup_to = 1\n", f"\nup_to = 1\n{kinds}\n[[workload]]\n{queries}\n"))
    found = list(workload_of_spec(read_spec(path), domain))
    assert {"age": Prefix()} in found
    assert {"income": Range()} in found
    assert {"age": Prefix(), "sex": Identity()} in found
    assert any(isinstance(query, dict) and isinstance(query.get("county"), Hierarchy) for query in found)


def test_the_spec_of_the_manual_is_one(tmp_path):
    page = (Path(__file__).resolve().parents[3] / "docs" / "queries.md").read_text(encoding="utf-8")
    (tmp_path / "kinds.toml").write_text(page.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    spec = read_spec(tmp_path / "kinds.toml")
    workload = workload_of_spec(spec, domain_of_spec(spec))
    assert {kind.name for kind in workload.kinds} == {"identity", "prefix", "range", "hierarchy", "custom"}
    assert ("age", "sex") in list(workload)


def test_thresholds_are_written_as_tables_of_which_some_attributes_must_match(workload_of):
    names, either = ("age", "sex"), Threshold(("age", "sex"), 1)
    assert list(workload_of('queries = [["age", "sex"]]\nat_least = 1\n')) == [either]
    assert list(workload_of('queries = [["age", "sex"]]\nat_least = 2\n')) == [names]
    matching = '{ kind = "matching", at_least = 1 }'
    assert list(workload_of(f"queries = [{{ age = {matching}, sex = {matching} }}]\n")) == [either]
    family = marginals(workload_of("order = 2\n").domain, order=2, at_least=1)
    assert list(workload_of("order = 2\nat_least = 1\n")) == list(family)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("up_to = 2\nat_least = 1", rp.errors.FileFormatError, "at_least goes with order, or with queries"),
        ('order = 2\nat_least = 1\nkinds = { age = "prefix" }', rp.errors.FileFormatError, "at_least goes with order"),
        ("order = 2\nat_least = 0", rp.errors.FileFormatError, "expected a number that is at least 1, got 0"),
        ("order = 2\nat_least = 3", rp.errors.WorkloadError, "at_least must be an integer from 1 to 2"),
        (
            'queries = [["age"]]\nat_least = 2',
            rp.errors.WorkloadError,
            "entry 1: at_least must be an integer from 1 to 1",
        ),
        (
            'queries = [{ age = "matching", sex = "matching" }]',
            rp.errors.FileFormatError,
            "give how many attributes of this",
        ),
        (
            'kinds = { age = { kind = "prefix", at_least = 1 } }\norder = 1',
            rp.errors.FileFormatError,
            "'at_least' does not",
        ),
    ],
)
def test_thresholds_that_cannot_be_are_refused(workload_of, text, error, message):
    with pytest.raises(error, match=message):
        workload_of(text + "\n")
