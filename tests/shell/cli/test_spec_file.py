"""A spec says what the library's own nouns say, and the message on a wrong entry says where it is."""

import datetime as dt
import math
from fractions import Fraction

import numpy as np
import pytest

import residualplanner as rp
from residualplanner import (
    About,
    Attribute,
    Bins,
    Domain,
    Identity,
    Prefix,
    Workload,
    approx_dp,
    marginals,
    pcost,
    select,
    zcdp,
)
from residualplanner.method.domain.labels import Into
from residualplanner.shell.cli.spec.file import SIZE_LIMIT, read_spec, spec_schema
from residualplanner.shell.cli.spec.objects import domain_of_spec, plan_of_spec, workload_of_spec

BUDGET = "budget = { zcdp = 1 }\n"
DOMAIN = "[domain]\na = 3\nb = 2\n"
WORKLOAD = "[[workload]]\nup_to = 1\n"


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        (tmp_path / "spec.toml").write_bytes(text.encode() if isinstance(text, str) else text)
        return read_spec(tmp_path / "spec.toml")

    return read_text


def test_every_way_to_write_an_attribute_is_the_librarys_own(read):
    spec = read(
        BUDGET
        + '[domain]\nn = 3\nm = { size = 4, missing = "drop" }\nl = ["x", "y"]\ni = [7, 9]\nt = [true, false]\n'
        + 'r = { labels = ["drop", "z"], unknown = { into = "drop" }, missing = "z" }\n'
        + 'b = { bins = [0, 1.5, inf] }\nc = { bins = [0, 1, 2], labels = ["low", "high"] }\n"odd name" = 1\n'
        + WORKLOAD
    )
    assert domain_of_spec(spec) == Domain(
        {
            "n": 3,
            "m": Attribute("m", 4, missing="drop"),
            "l": ["x", "y"],
            "i": [7, 9],
            "t": [True, False],
            "r": Attribute("r", labels=["drop", "z"], unknown=Into("drop"), missing="z"),
            "b": Bins([0, 1.5, float("inf")]),
            "c": Bins([0, 1, 2], labels=["low", "high"]),
            "odd name": 1,
        }
    )


def test_every_way_to_write_dates_meanings_and_words_is_the_librarys_own(read):
    spec = read(
        BUDGET
        + '[domain]\nm = { months = ["2020-11", 2021-02-28] }\ny = { years = [2019, 2021], missing = "Not stated" }\n'
        + "e = { bins = [-inf, 2020-01-01, 2021-07-01], labels = ['before', 'since'] }\n"
        + "d = [2020-02-29, 2020-03-01]\n"
        + 's = [[1, "female"], [2, "male"], 9]\nt = { labels = [[true, "yes"], false], unknown = "Other" }\n'
        + 'i = { bins = [0, 9], title = "Income", unit = "dollars", source = "survey", note = "before tax" }\n'
        + WORKLOAD
    )
    about = About(title="Income", unit="dollars", source="survey", note="before tax")
    assert domain_of_spec(spec) == Domain(
        {
            "m": Bins.months("2020-11", "2021-02"),
            "y": Attribute("y", bins=Bins.years(2019, 2021), missing="Not stated"),
            "e": Bins([-math.inf, "2020-01-01", "2021-07-01"], labels=["before", "since"]),
            "d": [dt.date(2020, 2, 29), dt.date(2020, 3, 1)],
            "s": {1: "female", 2: "male", 9: ""},
            "t": Attribute("t", labels={True: "yes", False: ""}, unknown="Other"),
            "i": Attribute("i", bins=Bins([0, 9]), about=about),
        }
    )


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ('{ zcdp = "0.1" }', zcdp("0.1")),
        ("{ zcdp = 0.1 }", zcdp(0.1)),
        ('{ pcost = "1/3" }', pcost(Fraction(1, 3))),
        ('{ approx_dp = { epsilon = "1", delta = "1e-9" } }', approx_dp("1", "1e-9")),
    ],
)
def test_a_budget_is_the_librarys_own(read, text, budget):
    assert read(f"budget = {text}\n{DOMAIN}{WORKLOAD}").budget.budget.pcost_exact == budget.pcost_exact


@pytest.mark.parametrize(
    ("text", "weights"), [('"sum"', "cells"), ('{ sum = "equal" }', "equal"), ('{ sum = "sqrt" }', "sqrt")]
)
def test_a_sum_is_the_librarys_own(read, text, weights):
    loss = read(f"loss = {text}\n{BUDGET}{DOMAIN}{WORKLOAD}").loss
    assert isinstance(loss, rp.losses.SumOfVariances)
    assert loss.weights == weights


def test_the_maximum_is_the_librarys_own(read):
    assert isinstance(read(f'loss = "max"\n{BUDGET}{DOMAIN}{WORKLOAD}').loss, rp.losses.MaxVariance)


def test_tables_of_several_entries_are_joined_with_their_weights(read):
    spec = read(
        BUDGET + DOMAIN + '[[workload]]\nqueries = [["b", "a"]]\nweight = 3\n[[workload]]\nup_to = 1\nweight = 0.5\n'
    )
    domain = domain_of_spec(spec)
    expected = Workload(domain, [("b", "a")], [3]) + Workload(domain, [(), ("a",), ("b",)], [0.5] * 3)
    workload = workload_of_spec(spec, domain)
    assert list(workload) == list(expected)
    assert workload.weights.tolist() == expected.weights.tolist()


@pytest.mark.parametrize(
    ("entry", "family"),
    [("order = 1", {"order": 1}), ("max_cells = 3", {"max_cells": 3}), ("up_to = 2\nmax_cells = 5", {"up_to": 2})],
)
def test_families_are_the_librarys_own(read, entry, family):
    spec = read(f"{BUDGET}{DOMAIN}[[workload]]\n{entry}\n")
    domain = domain_of_spec(spec)
    if "\n" in entry:
        family = {**family, "max_cells": 5}
    assert list(workload_of_spec(spec, domain)) == list(marginals(domain, **family))


def test_a_plan_of_a_spec_is_what_select_gives(read):
    domain = Domain({"a": 3, "b": 2})
    expected = select(marginals(domain, up_to=1), at_most=2.0, loss="max")
    plan = plan_of_spec(spec := read(f'at_most = 2\nloss = "max"\n{DOMAIN}{WORKLOAD}'), workload_of_spec(spec, domain))
    np.testing.assert_array_equal(plan.noise_variances, expected.noise_variances)


@pytest.mark.slow
def test_targets_are_the_librarys_own_at_the_level_of_the_output(read):
    domain = Domain({"a": 3, "b": 2})
    workload = marginals(domain, up_to=2) + Workload(domain, [{"a": Prefix(), "b": Identity()}])
    text = (
        '[[workload]]\nup_to = 2\n[[workload]]\nqueries = [{ a = "prefix", b = "identity" }]\n[output]\nlevel = 0.9\n'
    )
    targets = '[[targets]]\nqueries = [["b"], ["a"]]\nmoe = 5\n'
    targets += '[[targets]]\nqueries = [{ a = "prefix", b = "identity" }]\nmoe = 9.5\n'
    loss = rp.losses.Targets([(("a",), 5), (("b",), 5), ({"a": Prefix(), "b": Identity()}, 9.5)], 0.9, 0.05)
    for budget, expected in (("", select(workload, loss=loss)), (BUDGET, select(workload, loss=loss, budget=zcdp(1)))):
        spec = read(f"reserve = 0.05\n{budget}{DOMAIN}{text}{targets}")
        plan = plan_of_spec(spec, workload_of_spec(spec, domain_of_spec(spec)))
        np.testing.assert_array_equal(plan.noise_variances, expected.noise_variances)
        assert plan.targets.level == 0.9


def test_a_target_for_another_table_is_refused(read):
    spec = read(DOMAIN + WORKLOAD + '[[targets]]\nqueries = [["b", "a"]]\nmoe = 5\n')
    with pytest.raises(
        rp.errors.WorkloadError, match=r"the target of \('b', 'a'\) is for a query that is not in the workload"
    ):
        plan_of_spec(spec, workload_of_spec(spec, domain_of_spec(spec)))


GOOD = BUDGET + DOMAIN + WORKLOAD
TARGETS = DOMAIN + WORKLOAD + '[[targets]]\nqueries = [["a"]]\nmoe = 5\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("budget = { zcdp = 1 }\n[domain\n", r"is not TOML: .*line 2.*strings need quotes"),
        ("budget = zcdp\n", "is not TOML: .*line 1"),
        ("a = 1\na = 2\n", "is not TOML: .*line 2"),
        (f"x = {'[' * 5000}", "is not TOML"),
        (f"x = {'9' * 5000}", "is not TOML"),
        ("a." * 200_000 + "a = 1", "has a name or string with more than 100 dots"),
        (b"\xff\xfe", "is not UTF-8 text"),
        ("#" * (SIZE_LIMIT + 1), "is too large: the limit is 1,048,576 bytes"),
        ("", r"the table \[domain\] is missing"),
        (DOMAIN + WORKLOAD, r"give exactly one of budget = \{ zcdp = \"0.5\" \} and at_most"),
        ("at_most = 1\n" + GOOD, r"give exactly one of budget = \{ zcdp = \"0.5\" \} and at_most"),
        (BUDGET + WORKLOAD, r"the table \[domain\] is missing"),
        ("loss = 'max'\n" + TARGETS, r"loss and \[\[targets\]\] both say what to reach; leave one of them out"),
        ("at_most = 3\n" + TARGETS, r"at_most and \[\[targets\]\] both say what to reach"),
        ("reserve = 0.5\n" + GOOD, r"reserve = ... belongs to \[\[targets\]\]; there are none"),
        ("reserve = 1\n" + TARGETS, "reserve: expected a number between 0 and 1, got 1"),
        (TARGETS + "mo = 5\n", r"\[\[targets\]\] number 1: unknown field 'mo'; did you mean 'moe'"),
        (TARGETS.replace("5", "'5'"), r"\[\[targets\]\] number 1, moe: expected a number without quotes, got '5'"),
        (TARGETS.replace('["a"]', ""), r"\[\[targets\]\] number 1, queries: the list is too short"),
        (TARGETS.replace("moe = 5", ""), r"\[\[targets\]\] number 1: 'moe' is missing"),
        (BUDGET + DOMAIN, r"a table \[\[workload\]\] is missing; .* up_to = 2"),
        ("budgt = 1\n" + GOOD, "unknown field 'budgt'; did you mean 'budget'"),
        ("xyz = 1\n" + GOOD, "unknown field 'xyz'; the fields here are budget, at_most, loss"),
        ("budget = 1\n" + DOMAIN + WORKLOAD, r'budget: expected a table such as \{ zcdp = "0.5" \}, got 1'),
        (
            GOOD + "[domain.pay]\nnumeric = [0, 5]\n",
            r"\[domain\] pay, numeric: expected a table with fields such as low, high, unit, .*; got \[0, 5\]",
        ),
        (
            "budget = { epsilon = 1 }\n" + DOMAIN + WORKLOAD,
            r"budget: epsilon and delta stand together: \{ approx_dp = ",
        ),
        (BUDGET + DOMAIN + "[workload]\nup_to = 1\n", r"\[workload\] is written in double brackets, \[\[workload\]\]"),
        ("budget = { zdp = 1 }\n" + DOMAIN + WORKLOAD, "budget: unknown field 'zdp'; did you mean 'zcdp'"),
        ("budget = { zcdp = 1, pcost = 1 }\n" + DOMAIN + WORKLOAD, "budget: give exactly one of zcdp, approx_dp and"),
        ("budget = { zcdp = 1, gdp = 1 }\n" + DOMAIN + WORKLOAD, "budget: a budget of 1-GDP for continuous noise"),
        ("budget = { gdp = '0.3' }\n" + DOMAIN + WORKLOAD, 'hold for discrete noise; write { zcdp = "0.045" } for the'),
        ("budget = { gdp = inf }\n" + DOMAIN + WORKLOAD, "budget: mu must be positive and finite"),
        ("budget = { gdp = [1] }\n" + DOMAIN + WORKLOAD, "budget: mu must be a number"),
        ("budget = { zcdp = true }\n" + DOMAIN + WORKLOAD, "budget, zcdp: expected a number, .*got true"),
        ("budget = { approx_dp = { epsilon = 1 } }\n" + DOMAIN + WORKLOAD, "budget, approx_dp: 'delta' is missing"),
        ("at_most = '5'\n" + DOMAIN + WORKLOAD, "at_most: expected a number without quotes, got '5'"),
        ("loss = 'mx'\n" + GOOD, 'loss: expected "sum", "max" or .*, got \'mx\''),
        ("loss = { sum = 'cell' }\n" + GOOD, "loss: expected .*, got {'sum': 'cell'}"),
        ("loss = { sum = ['cells'] }\n" + GOOD, "loss: expected"),
        ("neighbors = 'replace-one'\n" + GOOD, "neighbors: expected 'add-remove' or 'replace', got 'replace-one'"),
        ("records_per_person = 0\n" + GOOD, "records_per_person: expected a number that is at least 1, got 0"),
        ("records_per_person = 1000001\n" + GOOD, "records_per_person: expected a number that is at most 1000000, got"),
        ("records_per_person = 1.5\n" + GOOD, "records_per_person: expected an integer without quotes, got 1.5"),
        ("noise = 'gaussian'\n" + GOOD, "noise: expected 'discrete', got 'gaussian'"),
        (BUDGET + "[domain]\na = 0\n" + WORKLOAD, r"\[domain\] a, size: expected a number that is at least 1, got 0"),
        (BUDGET + "[domain]\na = true\n" + WORKLOAD, r"\[domain\] a: expected a size, a list of labels, or a table"),
        (BUDGET + "[domain]\na = 1.5\n" + WORKLOAD, r"\[domain\] a: expected a size, a list of labels, or a table"),
        (BUDGET + "[domain]\na = 'x'\n" + WORKLOAD, r"\[domain\] a: expected a size, .*got 'x'"),
        (BUDGET + "[domain]\na = []\n" + WORKLOAD, r"\[domain\] a, labels: the list is too short"),
        (BUDGET + "[domain]\na = ['x', 1.5]\n" + WORKLOAD, r"\[domain\] a, labels, entry 2: expected a string"),
        (BUDGET + "[domain]\na = { siz = 3 }\n" + WORKLOAD, r"\[domain\] a: unknown field 'siz'; did you mean 'size'"),
        (BUDGET + "[domain]\na = { missing = 'drop' }\n" + WORKLOAD, r"\[domain\] a: give exactly one of size, labels"),
        (BUDGET + "[domain]\na = { size = 2, bins = [0, 1] }\n" + WORKLOAD, r"\[domain\] a: give exactly one of size"),
        (BUDGET + "[domain]\na = { bins = [0, '1'] }\n" + WORKLOAD, r"\[domain\] a, bins, entry 2: expected a number"),
        (BUDGET + "[domain]\na = [[1, 2]]\n" + WORKLOAD, r"\[domain\] a, labels, entry 1: .* or a pair of one and its"),
        (BUDGET + "[domain]\na = [[1, 'x', 'y']]\n" + WORKLOAD, r"\[domain\] a, labels, entry 1: expected a string"),
        (BUDGET + "[domain]\na = { years = [2020] }\n" + WORKLOAD, r"\[domain\] a, years: the list is too short"),
        (BUDGET + "[domain]\na = { months = [1, 2] }\n" + WORKLOAD, r"months, entry 1: expected a month in quotes"),
        (BUDGET + "[domain]\na = { size = 3, years = [1, 2] }\n" + WORKLOAD, r"\[domain\] a: give exactly one of"),
        (BUDGET + "[domain]\na = { size = 3, title = 1 }\n" + WORKLOAD, r"\[domain\] a, title: expected a string in"),
        (
            BUDGET + "[domain]\na = { size = 2, unknown = 1.5 }\n" + WORKLOAD,
            r"\[domain\] a, unknown: expected \"error\"",
        ),
        (
            BUDGET + "[domain]\na = { size = 2, missing = 2020-01-31 }\n" + WORKLOAD,
            r"\[domain\] a, missing: .*got 2020-01-31$",
        ),
        (
            BUDGET + "[domain]\na = { numeric = { low = 0, high = 9, bins = [[3]] } }\n" + WORKLOAD,
            r"\[domain\] a, numeric, bins: expected a number of bins, or a list of their edges .*, got \[\[3\]\]",
        ),
        (
            BUDGET + "[domain]\na = { hierarchy = 'a.csv', levels = [] }\n" + WORKLOAD,
            r"\[domain\] a, levels: expected levels from coarse to fine .*, got \[\]",
        ),
        (
            BUDGET + "[domain]\na = { hierarchy = 'a.csv', levels = { b = { code = 'c' } } }\n" + WORKLOAD,
            r"\[domain\] a, levels, b: expected a column of codes, or a pair",
        ),
        (
            GOOD + "[output]\npublication = { date = 7 }\n",
            r"\[output\] publication, date: expected a date, or a string",
        ),
        (GOOD + "up_too = 1\n", r"\[\[workload\]\] number 1: unknown field 'up_too'; did you mean 'up_to'"),
        (GOOD + "order = 1\n", r"\[\[workload\]\] number 1: give order or up_to, not both"),
        (GOOD + "[[workload]]\nweight = 1\n", r"\[\[workload\]\] number 2: give queries"),
        (GOOD + "[[workload]]\nqueries = [['a', 1]]\n", r"number 2, queries, entry 1, entry 2: expected a string"),
        (GOOD + "[[workload]]\nqueries = ['a']\n", r"number 2, queries, entry 1: expected a list in \[brackets\]"),
        (GOOD + "[[workload]]\norder = '1'\n", r"number 2, order: expected an integer without quotes, got '1'"),
        (BUDGET + DOMAIN + 1001 * WORKLOAD, "workload: the list is too long"),
        (
            GOOD + "[output]\nformat = 'xls'\n",
            r"\[output\] format: expected 'parquet', 'csv', 'xlsx', 'workbook' or 'parts', got 'xls'",
        ),
        (GOOD + "[output]\nround_to = 1_000_000_001\n", "round_to: expected a number that is at most 1000000000, got"),
        (GOOD + "[output]\nlevel = 95\n", r"\[output\] level: expected a number between 0 and 1, got 95"),
        (GOOD + "[output]\nlevel = nan\n", r"\[output\] level: expected a number between 0 and 1, got nan"),
    ],
)
def test_a_wrong_spec_is_refused_with_its_place(read, text, message):
    with pytest.raises(rp.errors.FileFormatError, match=message):
        read(text)


def test_everything_that_is_wrong_is_told_a_line_each(read):
    with pytest.raises(rp.errors.FileFormatError) as told:
        read("loss = 'mx'\nbudgt = 1\n" + DOMAIN + "c = 'x'\n" + WORKLOAD)
    assert len(str(told.value).splitlines()) == 3
    assert all("spec.toml: " in line for line in str(told.value).splitlines())


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            BUDGET + "[domain]\na = '?'\nb = 2\nc = '?'\n" + WORKLOAD,
            rp.errors.DomainError,
            "still to be declared: a, c; write",
        ),
        (BUDGET + "[domain]\na = ['x', 'x']\n" + WORKLOAD, rp.errors.DomainError, "'a' has a label twice"),
        (
            BUDGET + "[domain]\na = { bins = [1, 0] }\n" + WORKLOAD,
            rp.errors.DomainError,
            r"\[domain\] a: bin edges must be",
        ),
        (BUDGET + "[domain]\na = [[1, 'x'], [1, 'y']]\n" + WORKLOAD, rp.errors.DomainError, "'a' has a label twice"),
        (
            BUDGET + "[domain]\na = { months = ['x', 'y'] }\n" + WORKLOAD,
            rp.errors.DomainError,
            r"\[domain\] a: a month is",
        ),
        (
            BUDGET + "[domain]\na = { bins = [1, 2020-01-01] }\n" + WORKLOAD,
            rp.errors.DomainError,
            "must be numbers, or else all",
        ),
        (
            BUDGET + "[domain]\na = { labels = ['Other'], unknown = 'Othr' }\n" + WORKLOAD,
            rp.errors.DomainError,
            "hard to tell from",
        ),
        (
            BUDGET + "[domain]\na = { size = 2, unknown = 7 }\n" + WORKLOAD,
            rp.errors.DomainError,
            "'a' has unknown=7; write",
        ),
        (
            BUDGET + DOMAIN + "[[workload]]\nqueries = [['z']]\n",
            rp.errors.DomainError,
            r"^\[\[workload\]\] number 1: unknown attribute 'z'",
        ),
        (BUDGET + DOMAIN + "[[workload]]\norder = 3\n", rp.errors.WorkloadError, "only 2 attributes"),
        (
            BUDGET + DOMAIN + "[[workload]]\nup_to = 1\nweight = -1\n",
            rp.errors.WorkloadError,
            "weights must be finite and at",
        ),
        (
            BUDGET + DOMAIN + "[[workload]]\nup_to = 1\nweight = nan\n",
            rp.errors.WorkloadError,
            "weights must be finite and at",
        ),
        ("budget = { zcdp = 0 }\n" + DOMAIN + WORKLOAD, rp.errors.BudgetError, "rho must be positive and finite"),
        ("budget = { zcdp = nan }\n" + DOMAIN + WORKLOAD, rp.errors.BudgetError, "rho must be positive and finite"),
        ("budget = { zcdp = 'much' }\n" + DOMAIN + WORKLOAD, rp.errors.BudgetError, "rho must be positive and finite"),
        ("budget = { pcost = inf }\n" + DOMAIN + WORKLOAD, rp.errors.BudgetError, "pcost must be positive and finite"),
        ("budget = { approx_dp = { epsilon = 1, delta = 1 } }\n" + DOMAIN + WORKLOAD, rp.errors.BudgetError, "delta"),
        ("at_most = -1\n" + DOMAIN + WORKLOAD, rp.errors.BudgetError, "at_most must be positive and finite"),
        ("gap = nan\n" + GOOD, rp.errors.BudgetError, "gap must be positive and finite"),
    ],
)
def test_what_does_not_fit_together_is_refused(read, text, error, message):
    spec = read(text)
    with pytest.raises(error, match=message):
        plan_of_spec(spec, workload_of_spec(spec, domain_of_spec(spec)))


def test_the_schema_names_every_field_and_resolves_its_references():
    schema = spec_schema()
    assert {"budget", "at_most", "loss", "domain", "workload", "output"} <= set(schema["properties"])
    assert schema["additionalProperties"] is False
    references = _references(schema)
    assert references
    assert {reference.removeprefix("#/$defs/") for reference in references} <= set(schema["$defs"])


def _references(value):
    if isinstance(value, dict):
        found = {value["$ref"]} if "$ref" in value else set()
        return found.union(*map(_references, value.values()))
    return set().union(*map(_references, value)) if isinstance(value, list) else set()
