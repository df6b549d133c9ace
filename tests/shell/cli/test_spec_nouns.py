"""A spec says what the library's own nouns say."""

import datetime as dt
import json
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import residualplanner as rp
from residualplanner import Among, Attribute, Bins, Domain, Hierarchy, Identity, Prefix, Range, Threshold, Workload
from shell.specs import Into, domain_of, read_spec, starting_spec, targets_of, workload_of

HEAD = """\
budget = { zcdp = 1 }
[domain]
age = { bins = [0, 18, 65, inf] }
grade = 3
state = ["CA", "TX", "WA"]
sex = ["F", "M"]
works = [true, false]
pay = { numeric = { low = 0, high = 100, bins = [50] } }
[[workload]]
"""
COUNTS = re.sub("pay = .*\n", "", HEAD)
UP_TO_1 = "[[workload]]\nup_to = 1\n"


@pytest.fixture
def spec(tmp_path):
    def write(text):
        (tmp_path / "spec.toml").write_text(text)
        return tmp_path / "spec.toml"

    return write


ATTRIBUTES = {
    "n = 3": 3,
    'm = { size = 4, missing = "drop" }': Attribute("m", 4, missing="drop"),
    'l = ["x", "y"]': ["x", "y"],
    "i = [7, 9]": [7, 9],
    "t = [true, false]": [True, False],
    'r = { labels = ["drop", "z"], unknown = { into = "drop" }, missing = "z" }': Attribute(
        "r", labels=["drop", "z"], unknown=Into("drop"), missing="z"
    ),
    "b = { bins = [0, 1.5, inf] }": Bins([0, 1.5, math.inf]),
    'c = { bins = [0, 1, 2], labels = ["low", "high"] }': Bins([0, 1, 2], labels=["low", "high"]),
    '"odd name" = 1': 1,
    'mm = { months = ["2020-11", 2021-02-28] }': Bins.months("2020-11", "2021-02"),
    'y = { years = [2019, 2021], missing = "Not stated" }': Attribute(
        "y", bins=Bins.years(2019, 2021), missing="Not stated"
    ),
    'e = { bins = [-inf, 2020-01-01, 2021-07-01], labels = ["before", "since"] }': Bins(
        [-math.inf, "2020-01-01", "2021-07-01"], labels=["before", "since"]
    ),
    "d = [2020-02-29, 2020-03-01]": [dt.date(2020, 2, 29), dt.date(2020, 3, 1)],
    's = [[1, "female"], [2, "male"], 9]': {1: "female", 2: "male", 9: ""},
    'tt = { labels = [[true, "yes"], false], unknown = "Other" }': Attribute(
        "tt", labels={True: "yes", False: ""}, unknown="Other"
    ),
    'ii = { bins = [0, 9], title = "Income", unit = "dollars", source = "survey", note = "before tax" }': Attribute(
        "ii", bins=Bins([0, 9]), about=rp.About(title="Income", unit="dollars", source="survey", note="before tax")
    ),
    'pay = { numeric = { low = 0, high = 200000, unit = 100, bins = [50000], outside = "clip" }, missing = "none" }': (
        Attribute("pay", numeric=rp.Numeric(0, 200_000, unit=100, bins=[50_000], outside="clip"), missing="none")
    ),
}


def test_every_way_to_write_an_attribute_is_the_librarys_own(spec):
    names = [text.partition(" = ")[0].strip('"') for text in ATTRIBUTES]
    path = spec("budget = { zcdp = 1 }\n[domain]\n" + "\n".join(ATTRIBUTES) + "\n" + UP_TO_1)
    assert domain_of(path) == Domain(dict(zip(names, ATTRIBUTES.values(), strict=True)))


def test_budgets_and_losses_are_the_librarys_own(spec):
    rest = f"[domain]\na = 3\n{UP_TO_1}"
    for text, budget in {
        '{ zcdp = "0.1" }': rp.zcdp("0.1"),
        "{ zcdp = 0.1 }": rp.zcdp(0.1),
        '{ pcost = "1/3" }': rp.pcost(Fraction(1, 3)),
        '{ approx_dp = { epsilon = "1", delta = "1e-9" } }': rp.approx_dp("1", "1e-9"),
    }.items():
        assert read_spec(spec(f"budget = {text}\n{rest}")).budget.pcost_exact == budget.pcost_exact
    for text, words in {
        '"sum"': rp.losses.SumOfVariances("cells").words,
        '{ sum = "equal" }': rp.losses.SumOfVariances("equal").words,
        '{ sum = "sqrt" }': rp.losses.SumOfVariances("sqrt").words,
        '"max"': rp.losses.MaxVariance().words,
    }.items():
        assert read_spec(spec(f"loss = {text}\nat_most = 2\n{rest}")).loss.words == words


KINDS = {
    '"identity"': Identity(),
    '"prefix"': Prefix(),
    '{ kind = "range" }': Range(),
    '{ kind = "hierarchy", levels = [2] }': Hierarchy([2]),
    '{ kind = "hierarchy", levels = [{ low = [0, 1], high = [2] }] }': Hierarchy([{"low": [0, 1], "high": [2]}]),
    '{ kind = "hierarchy", levels = [2], total = "all", leaves = false }': Hierarchy([2], total="all", leaves=False),
    '{ kind = "hierarchy", levels = [2], total = false }': Hierarchy([2], total=False),
    '{ kind = "custom", matrix = [[1, 1, 1], [0, 0.5, 1]] }': rp.Custom([[1, 1, 1], [0, 0.5, 1]]),
    '{ kind = "custom", matrix = [[1, 1, 1], [0, 1, 2]], labels = ["n", "sum"] }': rp.Custom(
        [[1, 1, 1], [0, 1, 2]], labels=["n", "sum"]
    ),
}


@pytest.mark.parametrize(("text", "kind"), KINDS.items())
def test_every_kind_is_the_librarys_own_wherever_it_stands(spec, text, kind):
    short = workload_of(spec(f"{HEAD}order = 1\nkinds = {{ grade = {text} }}\n"))
    assert list(short) == list(rp.marginals(short.domain, order=1, kinds={"grade": kind}))
    assert list(short) == list(workload_of(spec(f"{HEAD}order = 1\n[workload.kinds]\ngrade = {text}\n")))
    assert list(workload_of(spec(f"{HEAD}queries = [{{ grade = {text} }}]"))) == list(
        Workload(short.domain, [{"grade": kind}])
    )


BOTH = ("age", "sex")
MATCHING = '{ kind = "matching", at_least = 1 }'
QUERIES = {
    'queries = [["sex", "age"]]\nweight = 3\n[[workload]]\nqueries = [[], ["sex"]]\nweight = 0.5': {
        (): 0.5, ("sex",): 0.5, ("sex", "age"): 3,
    },
    'queries = [["sex", "age"], ["age", "grade"], { age = "range", sex = "identity" }]\nkinds = { age = "prefix" }\n'
    '[[workload]]\nqueries = [["age"]]': [
        ("age",), {"age": Prefix(), "grade": Identity()}, {"age": Prefix(), "sex": Identity()},
        {"age": Range(), "sex": Identity()},
    ],
    'queries = [["age", "sex"]]\nat_least = 2': [BOTH],
    f"queries = [{{ age = {MATCHING}, sex = {MATCHING} }}]": [Threshold(BOTH, 1)],
    'queries = [{ age = "prefix" }]\nwhere = { works = true }': [Among({"age": Prefix()}, {"works": True})],
    'queries = [["age", "sex"]]\nkinds = { age = "prefix" }\nwhere.works = [true]': [
        Among({"age": Prefix(), "sex": Identity()}, {"works": True})
    ],
    'queries = [["age", "sex"]]\nwhere = { age = "[0, 65)", sex = ["F", "M"] }': [
        Among(BOTH, {"age": ["[0, 18)", "[18, 65)"]})
    ],
    'queries = [{ pay = { kind = "mean", between = [20, 90] } }, { sex = "identity", pay = "quantiles" }]': [
        {"pay": rp.Mean((20, 90))}, {"sex": Identity(), "pay": rp.Quantiles()},
    ],
}  # fmt: skip
FAMILIES = {
    "order = 1": {"order": 1},
    "max_cells = 3": {"max_cells": 3},
    "up_to = 2\nmax_cells = 5": {"up_to": 2, "max_cells": 5},
    "order = 2\nat_least = 1": {"order": 2, "at_least": 1},
    'up_to = 1\nwhere = { works = true }\nkinds = { age = "prefix" }': {
        "up_to": 1, "where": {"works": True}, "kinds": {"age": Prefix()},
    },
    "order = 2\nat_least = 1\nwhere.works = true": {"order": 2, "at_least": 1, "where": {"works": True}},
}  # fmt: skip


def test_queries_and_families_are_the_librarys_own(spec):
    for text, queries in QUERIES.items():
        found = workload_of(spec(HEAD + text))
        weights = list(queries.values()) if isinstance(queries, dict) else [1.0] * len(queries)
        expected = Workload(found.domain, list(queries), weights=weights)
        assert (list(found), found.weights.tolist()) == (list(expected), expected.weights.tolist()), text
    for text, options in FAMILIES.items():
        found = workload_of(spec(f"{COUNTS}{text}\nweight = 3"))
        expected = rp.marginals(found.domain, **options)
        assert (list(found), set(found.weights.tolist())) == (list(expected), {3.0}), text


def test_targets_are_the_librarys_own_at_the_level_of_the_output(spec):
    mixed = {"a": Prefix(), "b": Identity()}
    domain = Domain({"a": 3, "b": 2})
    workload = rp.marginals(domain, up_to=2) + Workload(domain, [mixed, Among("b", {"a": 0})])
    text = """
reserve = 0.05
[domain]
a = 3
b = 2
[[workload]]
up_to = 2
[[workload]]
queries = [{ a = "prefix", b = "identity" }]
[[workload]]
queries = [["b"]]
where.a = 0
[output]
level = 0.9
[[targets]]
queries = [["b"], ["a"]]
moe = 5
[[targets]]
queries = [{ a = "prefix", b = "identity" }]
moe = 9.5
[[targets]]
queries = [["b"]]
where.a = 0
moe = 7
"""
    margins = [(("a",), 5), (("b",), 5), (mixed, 9.5), (Among("b", {"a": 0}), 7)]
    for head in ("", "budget = { zcdp = 1 }"):
        found = targets_of(spec(head + text))
        expected = rp.losses.Targets(margins, 0.9, 0.05)
        np.testing.assert_array_equal(found.in_order(workload), expected.in_order(workload))
        assert (found.level, found.reserve) == (0.9, 0.05)


def test_what_a_starting_spec_says_of_kinds_and_bases_may_be_used_as_it_stands(spec):
    path = spec("").with_name("domain.json")
    path.write_text(json.dumps({"age": 85, "income": 10, "county": ["Kern"], "sex": 2, "region": 3, "vote": 2}))
    text = starting_spec(path).text.replace("\nup_to = 2\n", "\nup_to = 1\n")
    (kinds,) = re.findall(r"^#   (kinds = .*)$", text, flags=re.MULTILINE)
    queries = re.findall(r"^#   (queries = .*\{.*)$", text, flags=re.MULTILINE)
    entries = "".join(f"[[workload]]\n{each}\n" for each in queries)
    found = list(workload_of(spec(text.replace("\nup_to = 1\n", f"\nup_to = 1\n{kinds}\n{entries}"))))
    assert len(queries) == 2
    assert {"region": Identity(), "vote": rp.Proportions()} in found
    assert {"age": Prefix()} in found
    assert {"income": Range()} in found
    assert {"age": Prefix(), "sex": Identity()} in found
    assert any(isinstance(query, dict) and isinstance(query.get("county"), Hierarchy) for query in found)
    assert read_spec(spec(text)).bases is None
    assert text.count("\n# time = 10\n") == 1
    assert read_spec(spec(text.replace("# time = 10", "time = 3"))).time == 3


def test_the_spec_of_the_manual_is_one(spec):
    page = (Path(__file__).resolve().parents[3] / "docs" / "queries.md").read_text(encoding="utf-8")
    workload = workload_of(spec(page.split("```toml\n")[1].split("```")[0]))
    assert {kind.name for kind in workload.kinds} == {"identity", "prefix", "range", "hierarchy", "custom"}
    assert ("age", "sex") in list(workload)
