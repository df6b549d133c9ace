"""What is wrong with a spec is refused with its place, by plan and by release, before anything is read or written."""

import itertools
import json
import re

import pytest

from geographies import csv_text, leaf_rows
from residualplanner.shell.cli.spec import values

BUDGET = "budget = { zcdp = 1 }\n"
DOMAIN = """\
[domain]
age = { bins = [0, 5, 18, 65, inf] }
grade = 3
state = ["CA", "TX", "WA"]
sex = ["F", "M"]
works = [true, false]
"""
WORKLOAD = "[[workload]]\nup_to = 1\n"
REST = DOMAIN + WORKLOAD
COUNTY = 'county = { hierarchy = "counties.csv", levels = ["state", "county"] }'
DISTRICTS = '{ kind = "hierarchy", leaves = false, crosswalk = { file = "cd.csv", leaf = "county", group = "cd" } }'
POINTS = [[0, 0], [1, 0], [1, 1], [0, 0]]
FEATURE = {"type": "Feature", "properties": {"c": "x"}, "geometry": {"type": "Polygon", "coordinates": [POINTS]}}
SCHEMA = r"\[domain\] x"
KIND = r"\[\[workload\]\] number 1, kinds, age"
TARGET = '[[targets]]\nqueries = [["age"]]\nmoe = 5\n'


def head(text):
    return f"{text}\n{REST}"


def column(text):
    return f"{BUDGET}{DOMAIN}x = {text}\n{WORKLOAD}"


def entry(text):
    return f"{BUDGET}{DOMAIN}[[workload]]\n{text}\n"


def county(domain, kind):
    return f'{BUDGET}[domain]\n{domain}\n[[workload]]\nqueries = [["county"]]\nkinds = {{ county = {kind} }}\n'


def pay(kind):
    domain = "[domain]\npay = { numeric = { low = 0, high = 200, bins = [50] } }\n"
    return f"{BUDGET}{domain}[[workload]]\nqueries = [{{ pay = {kind} }}]\n"


def output(text, more=""):
    domain = '[domain]\nage = ["0-11", "12-64", "65+"]\nmarital = ["single", "married"]\nsex = [[1, "f"], [2, "m"]]\n'
    return f"{BUDGET}{domain}{more}\n[[workload]]\norder = 2\n[output]\n{text}\n"


def facts(text):
    return output(f"nonnegative = true\n{text}")


WHOLE = [
    (f"{BUDGET}[domain\n", "is not TOML: .*line 2.*strings need quotes"),
    (f"x = {'[' * 5000}", "is not TOML"),
    (f"x = {'9' * 5000}", "is not TOML"),
    ("a." * 200_000 + "a = 1", "has a name or string with more than 100 dots"),
    (b"\xff\xfe", "is not UTF-8 text"),
    ("#" * (2**20 + 1), "is too large: the limit is 1,048,576 bytes"),
    (BUDGET + WORKLOAD, r"the table \[domain\] is missing"),
    (BUDGET + DOMAIN, r"a table \[\[workload\]\] is missing; .* up_to = 2"),
    (BUDGET + DOMAIN + "[workload]\nup_to = 1\n", r"\[workload\] is written in double brackets, \[\[workload\]\]"),
    (BUDGET + DOMAIN + 1001 * WORKLOAD, "workload: the list is too long"),
]
HEADS = [
    ("", r"give exactly one of budget = \{ zcdp = \"0.5\" \} and at_most"),
    (f"at_most = 1\n{BUDGET}", r"give exactly one of budget = \{ zcdp = \"0.5\" \} and at_most"),
    (f"reserve = 0.5\n{BUDGET}", r"reserve = ... belongs to \[\[targets\]\]; there are none"),
    (f"budgt = 1\n{BUDGET}", "unknown field 'budgt'; did you mean 'budget'"),
    (f"level = 0.9\n{BUDGET}", r"unknown field 'level'; it belongs below \[output\]"),
    (f"tables = 1\n{BUDGET}", r"unknown field 'tables'; write \[\[workload\]\]"),
    (f"qqq = 1\n{BUDGET}", r"unknown field 'qqq'; docs/files\.md in the manual lists those of every table"),
    ("budget = 1", r'budget: expected one of \{ zcdp = "0.5" \}, .*, got 1'),
    *(
        (f"budget = {{ {wrong} }}", "budget: expected one of")
        for wrong in ("epsilon = 1", "zcdp = 1, pcost = 1", "approx_dp = { epsilon = 1 }")
    ),
    ("budget = { gdp = '0.3' }", 'hold for discrete noise; write { zcdp = "0.045" } for the'),
    ("budget = 'zcdp=0.5'", r'budget: .* in a spec write it as the table \{ zcdp = "0.5" \}'),
    (
        "budget = 'epsilon=1, delta=1e-9'",
        r'write it as the table \{ approx_dp = \{ epsilon = "1", delta = "1e-9" \} \}',
    ),
    ("budget = 'zcdp=x'", "budget: expected one of .*, got 'zcdp=x'"),
    ("budget = { zcdp = '0,5' }", "budget: rho must be a number, with a decimal point such as 0.5, got '0,5'"),
    ("budget = { zcdp = 'inf' }", "budget: rho must be positive and finite, got 'inf'"),
    (
        f"statistics = []\n{BUDGET}",
        r"unknown field 'statistics'; statistics are kinds of query: .*\"proportions\" for sh",
    ),
    ("budget = { zcdp = true }", "budget: rho must be a number, got True"),
    ("at_most = '5'", "at_most: expected a number without quotes, got '5'"),
    (f"gap = nan\n{BUDGET}", "gap must be positive and finite"),
    (f"loss = 'mx'\n{BUDGET}", 'loss: expected "sum", "max" or .*, got \'mx\''),
    (f"loss = {{ sum = 'cell' }}\n{BUDGET}", "loss: expected .*, got {'sum': 'cell'}"),
    (f"bases = 'best'\n{BUDGET}", "bases: expected 'optimal', 'optimal_by_set' or 'orthogonal', got 'best'"),
    (f"records_per_person = 0\n{BUDGET}", "records_per_person: expected a number that is at least 1, got 0"),
    (f"noise = 'gaussian'\n{BUDGET}", "noise: expected 'discrete', got 'gaussian'"),
    (
        f"ledger = {{ file = 'l', budget = {{ zcdp = 'much' }} }}\n{BUDGET}",
        "ledger, budget: rho must be a number, with",
    ),
    (f"people = {{ person = 'id', keep = 2 }}\nrecords_per_person = 3\n{BUDGET}", r"people\.keep and records_per_pers"),
    (f"people = {{ person = 'id' }}\nneighbors = 'replace'\n{BUDGET}", "of all persons are kept is not"),
    (
        f"people = {{ person = 'id', order = 'w' }}\nweight = {{ column = 'w', maximum = 2 }}\n{BUDGET}",
        "the column of weights is neither that of persons nor their order",
    ),
]
TARGETS = [
    (f"loss = 'max'\n{REST}{TARGET}", r"loss and \[\[targets\]\] both say what to reach; leave one of them out"),
    (f"at_most = 3\n{REST}{TARGET}", r"at_most and \[\[targets\]\] both say what to reach"),
    (f"reserve = 1\n{REST}{TARGET}", "reserve: expected a number between 0 and 1, got 1"),
    (f"{REST}{TARGET}mo = 5\n", r"\[\[targets\]\] number 1: unknown field 'mo'; did you mean 'moe'"),
    (REST + TARGET.replace("moe = 5", ""), r"\[\[targets\]\] number 1: 'moe' is missing"),
    (REST + TARGET.replace("age", 'sex", "age'), r"targets name \['sex', 'age'\], a query that is not in the workload"),
]
COLUMNS = [
    ("0", f"{SCHEMA}, size: expected a number that is at least 1, got 0"),
    ("1.5", f"{SCHEMA}: expected a size, a list of labels, or a table"),
    ("'?'\ny = '?'", "still to be declared: x, y; write"),
    ("['x', 1.5]", f"{SCHEMA}, labels, entry 2: expected a string"),
    ("['x', 'x']", "'x' has a label twice: labels 1 and 2 are the same"),
    ("[[2020-01-01, 'a'], [2020-01-01, 'b']]", "'x' has a label twice: '2020-01-01'"),
    ("[[1, 'a'], [true, 'b']]", "'x' has a label twice: '1'"),
    ("[[1, 2]]", f"{SCHEMA}, labels, entry 1: .* or a pair of one and its"),
    ("{ missing = 'drop' }", f"{SCHEMA}: give exactly one of size, labels"),
    ("{ size = 2, unknown = 1.5 }", rf"{SCHEMA}, unknown: expected \"error\""),
    ("{ size = 2, unknown = 7 }", "'x' has unknown=7; write"),
    ("{ bins = [0, '1'] }", f"{SCHEMA}, bins, entry 2: expected a number"),
    ("{ bins = [1, 0] }", f"{SCHEMA}: bin edges must be .*; edge 2 is not above edge 1"),
    ("{ months = [1, 2] }", f"{SCHEMA}, months, entry 1: expected a month in quotes"),
    ("{ numeric = [0, 5] }", rf"{SCHEMA}, numeric: expected a table such as numeric = \{{ low = 0, .*, got \[0, 5\]"),
    (
        "{ numeric = { low = 0, high = 5 }, outside = 'clip' }",
        rf"{SCHEMA}: unknown field 'outside'; it belongs inside numeric = \{{ ... \}}\n",
    ),
    (
        "{ low = 0, high = 5 }",
        rf"{SCHEMA}: .*'low'; it belongs inside numeric = .*\n.*'high'; it belongs inside numeric",
    ),
    ("{ numeric = { low = 0, high = 9, bins = [[3]] } }", r"numeric, bins: expected a number of bins, or .*got \[\[3"),
    ("{ numeric = { low = 0, high = 5, outside = 'clp' } }", f"{SCHEMA}, numeric, outside: expected 'refuse' or"),
    ("{ numeric = { low = 0, high = 5, bins = 2 } }", f"{SCHEMA}: .*cannot be cut into 2 bins"),
    ("{ hierarchy = 'a.csv', levels = [] }", rf"{SCHEMA}, levels: expected levels from coarse to fine .*, got \[\]"),
    ("{ hierarchy = 'a.csv', levels = { b = { code = 'c' } } }", f"{SCHEMA}, levels, b: expected a column of codes"),
]
ENTRIES = [
    ("up_to = 1\nup_too = 1", r"\[\[workload\]\] number 1: unknown field 'up_too'; did you mean 'up_to'"),
    ("up_to = 1\norder = 1", r"\[\[workload\]\] number 1: give order or up_to, not both"),
    ("up_to = 1\n[[workload]]\nweight = 1", r"\[\[workload\]\] number 2: give queries"),
    ("queries = [['a', 1]]", "number 1, queries, entry 1, entry 2: expected a string"),
    ("queries = ['a']", r"number 1, queries, entry 1: expected a list in \[brackets\]"),
    ("queries = [['z']]", r"spec.toml: \[\[workload\]\] number 1: unknown attribute 'z'"),
    ("up_to = 1\nweight = -1", "weights must be finite and at"),
    ("up_to = 2\nat_least = 1", "at_least goes with order, or with queries"),
    ('order = 2\nat_least = 1\nkinds = { age = "prefix" }', "at_least goes with order"),
    ('queries = [["age"]]\nat_least = 2', "entry 1: at_least must be an integer from 1 to 1"),
    (
        'queries = [{ age = "proportions", sex = "proportions" }]',
        r"only one column of a query can be 'proportions'; the other columns make the groups",
    ),
    ('queries = [{ age = "matching", sex = "matching" }]', "give how many attributes of this"),
    ("up_to = 1\nwhere = { works = [] }", "expected a label, or a list of labels such as"),
    ("up_to = 1\nwhere = { works = 1 }", "'works' has no value 1; its values are"),
    ('queries = [["age"]]\nkinds = { sex = "prefix" }', "kinds: no table of this entry has the attribute 'sex'; add"),
    (
        'order = 1\n[[workload]]\nqueries = [["age"]]\nkinds = { age = { kind = "hierarchy", levels = [0] } }',
        r"\[\[workload\]\] number 2, kinds, age: level 1 of the hierarchy must be a mapping",
    ),
    (
        'queries = [["sex"], { grade = { kind = "custom", matrix = [[1, nan, 1]] } }]',
        "number 1, queries, entry 2, grade: the matrix of a custom query must be finite",
    ),
    (
        'order = 1\nmax_cells = 4\nkinds = { age = "range", grade = "prefix" }',
        "number 1, kinds: no table of this entry has the attribute 'age'; include .* raise max_cells",
    ),
]
#: Of the kind of query on ages, where it stands for a whole entry and where it stands in a query.
KINDS = [
    ("5", f'{KIND}: expected a kind of query such as "prefix", or a table, got 5'),
    ('"prefx"', f"{KIND}, kind: expected 'identity', 'prefix', .*, got 'prefx'"),
    ('"proportion"', f"{KIND}, kind: .*, got 'proportion'; did you mean 'proportions'"),
    ('"shares"', f"{KIND}, kind: .*, got 'shares'; did you mean 'proportions'"),
    ('"median"', rf"{KIND}, .*; did you mean \{{ kind = \"quantiles\", probabilities = \[0.5\] \}}\?"),
    ('"mean"', "no amounts to average; write { numeric = { low = 0, high = 100000 } } in place of inter"),
    ("{}", f"{KIND}: 'kind' is missing"),
    ('"custom"', rf"{KIND}: give the rows of the custom query: matrix = \[\["),
    ('"hierarchy"', rf"{KIND}: give the levels of the hierarchy, .*levels = \[...\]; or in \[domain\] the file"),
    ('{ kind = "prefix", levels = [2] }', f"{KIND}: 'levels' does not belong to the kind 'prefix'"),
    ('{ kind = "custom", matrix = [[1]], total = true }', f"{KIND}: 'total' does not belong to the kind"),
    ('{ kind = "custom", matrix = [[1, "x"]] }', f"{KIND}, matrix, entry 1, entry 2: expected a number wi.*, got 'x'"),
    ('{ kind = "hierarchy", levels = 2 }', rf"{KIND}, levels: expected a list in \[brackets\], got 2"),
    ('{ kind = "hierarchy", levels = [2, "West"] }', f"{KIND}, levels, entry 2: expected an integer, .*, got 'West'"),
    ('{ kind = "hierarchy", levels = [2], total = 1 }', f"{KIND}, total: expected true, false or a string"),
]
AMOUNTS = [
    ('{ kind = "mean", by = "bin" }', "'by' does not belong to the kind 'mean'"),
    ('{ kind = "mean", between = [2, 1] }', "between= must be two increasing numbers"),
    ('{ kind = "quantiles", probabilities = [2] }', "need different numbers between 0 and 1"),
    ('"moments"', r"'pay' have no squares, for moments; write squares = true inside numeric = \{ ... \}"),
]
COUNTIES = [
    ('county = { hierarchy = "no.csv", levels = ["county"] }', '"prefix"',
     r"\[domain\] county: there is no file .*no.csv; it is looked for beside the spec"),
    (COUNTY.replace('"state", ', '"town", '), '"prefix"', r"\[domain\] county: counties.csv lacks the level 'town'"),
    (COUNTY.replace(" }", ', encoding = "utf-32" }'), '"prefix"',
     r"\[domain\] county: counties.csv is not CSV in the encoding .utf-32"),
    ('county = ["01001"]', '"hierarchy"',
     r"number 1, kinds, county: give the levels of the hierarchy.*county = \{ hierarchy = \"county.csv\""),
    (COUNTY, DISTRICTS.replace('"cd" }', '"dc" }'), "number 1, kinds, county: cd.csv has no column 'dc'"),
    ('county = { hierarchy = "counties.csv" }', '"prefix"', "a hierarchy is a file and its levels"),
    ('county = { size = 3, hierarchy = "c.csv", levels = ["a"] }', '"prefix"', "exactly one of size, .*hierarchy"),
    ('county = { size = 3, encoding = "x" }', '"prefix"', "'encoding' belongs to a hierarchy; there is none"),
    (COUNTY.replace(" }", ", code_lengths = { county = 0 } }"), '"prefix"', "expected a number of characters"),
    (COUNTY.replace('["state", "county"]', "{ county = [1] }"), '"prefix"', "expected a column of codes, or"),
    (COUNTY, DISTRICTS.replace("leaves = false", "levels = [2]"), "give levels or a crosswalk, not both"),
    (COUNTY, DISTRICTS.replace("hierarchy", "prefix"), "does not belong to the kind 'prefix'"),
]  # fmt: skip
OUTPUTS = [
    ("format = 'xls'", r"\[output\] format: expected 'parquet', 'csv', 'xlsx', 'workbook' or 'parts', got 'xls'"),
    ("level = 95", r"\[output\] level: expected a number between 0 and 1, got 95"),
    ("round_to = 0", r"\[output\] round_to: expected a number that is at least 1"),
    ("round_to = 1\npublished_errors = 5", "published_errors: expected a number that is at least 10"),
    ("impossible = [{ age = '65+' }]", "known and impossible are for non-negative tables"),
    ("shares = true", r"\[output\]: unknown field 'shares'; statistics are kinds of query: .*vote = \"proportions\""),
    ("with_unbiased = true", r"\[output\]: with_unbiased is for other numbers than unbiased ones"),
    ("published_errors = 50", "published_errors is for other numbers than unbiased ones"),
    ("quality = { reliable = 0.4 }", "must not be above usable"),
    ('format = "parts"\nquality = { reliable = 0.1 }', "quality"),
    ("publication = { title = 7 }", r"\[output\] publication, title: expected a string"),
    ("maps = { sex = { geojson = 'no.json', code = 'c' } }", r"\[output.maps\] sex: there is no file"),
    (
        "maps = { sex = { geojson = 'g.json', code = 'c' } }",
        "of 'sex' has areas with a shape: its .* '1', .* such as 'x'",
    ),
    ("maps = { sexx = { geojson = 'g.json', code = 'c' } }", "no attribute 'sexx'; did you mean 'sex'?"),
    ("maps = { sex = 'g.json' }", r"\[output\] maps, sex: expected a table such as maps = \{ county = \{ geojson = "),
]
FACTS = [
    ('known = [{ query = ["county"], counts = [1] }]', r"\[\[output.known\]\] number 1: .*county"),
    ('known = [{ query = ["sex"], counts = [1, 2, 3] }]', r"number 1 must be finite counts of shape \(2,\), got sh"),
    ('known = [{ query = ["age"] }]', r"\[\[output.known\]\] number 1: give counts = \[...\], or file ="),
    ('known = [{ query = [], counts = "60" }]', r"\[\[output.known\]\] number 1, counts: expected a number, or li"),
    ("known = [{ query = ['age'], file = 'sex.csv' }]", r"\[\[output.known\]\] number 1: sex.csv: its first line must"),
    ('impossible = [{ age = "65+", sex = 1 }, { age = "child" }]', r"impossible\]\] number 2: .*has no value 'child'"),
    ("impossible = [{ age = 1.5 }]", r"\[\[output.impossible\]\] number 1, age: expected a label"),
    (
        'known = [{ query = ["sex"], counts = [1, 2] }, { query = [], counts = 4 }]',
        r"\[\[output.known\]\] number 1 and \[\[output.known\]\] number 2 contradict each other about the total; corr",
    ),
    (
        'known = [{ query = ["age", "sex"], counts = [[1, 2], [3, 4], [5, 6]] }]\nimpossible = [{ age = "65+" }]',
        r"\[\[output.known\]\] number 1 and \[\[output.impossible\]\] number 1 contradict each other; correct one of",
    ),
    (
        'known = [{ query = ["age"], counts = [5, 5, 5] }]\n'
        'impossible = [{ age = "65+", sex = 1 }, { age = "65+", sex = [2] }]',
        r"no non-negative tables that agree with all of these were found in 5,000 steps: \[\[output.known\]\] number 1"
        r", \[\[output.impossible\]\] number 1, \[\[output.impossible\]\] number 2; they contradict one another",
    ),
]
CASES = [
    *WHOLE,
    *TARGETS,
    *((head(text), message) for text, message in HEADS),
    *((column(text), message) for text, message in COLUMNS),
    *((entry(text), message) for text, message in ENTRIES),
    *((entry(f"order = 1\nkinds = {{ age = {text} }}"), message) for text, message in KINDS),
    *((entry(f"queries = [{{ age = {text} }}]"), said.replace("kinds", "queries, entry 1")) for text, said in KINDS),
    *((pay(text), message) for text, message in AMOUNTS),
    *((county(domain, kind), message) for domain, kind, message in COUNTIES),
    *((output(text), message) for text, message in OUTPUTS),
    *((facts(text), message) for text, message in FACTS),
    (output("round_to = 1", "pay = { numeric = { low = 0, high = 9, bins = 3 } }"), "write bins = .* in place of num"),
    (output("", "pay = { numeric = { low = 0, high = 9 } }"), '; write "sum" for it, .*or write more bins, as'),
    (output('format = "csv"', "estimate = 2"), "attribute 'estimate' has the name of a column of estimates"),
]  # fmt: skip


FILES = {
    "records.csv": "\udcff no records",
    "sex.csv": "sex,count\n1,1\n2,2\n",
    "g.json": json.dumps({"type": "FeatureCollection", "features": [FEATURE]}),
    "counties.csv": csv_text(leaf_rows()),
    "cd.csv": "county,cd\n01001,1\n01003,2\n02013,2\n",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with the files that specs name, and records that nobody can read."""
    folder = tmp_path_factory.mktemp("specs")
    for name, text in FILES.items():
        (folder / name).write_text(text, errors="surrogateescape")
    return folder


@pytest.mark.cases(106)
@pytest.mark.parametrize(("text", "message"), CASES, ids=itertools.count())
def test_a_wrong_spec_is_refused_with_its_place_and_nothing_is_read_or_written(files, run, monkeypatch, text, message):
    (files / "spec.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    monkeypatch.chdir(files)
    for command in (("plan", "spec.toml"), ("release", "spec.toml", "records.csv", "-o", "out")):
        refused = run(*command, status=2)
        assert refused.stderr.startswith("Error: spec.toml")
        assert re.search(message, refused.stderr)
    assert {path.name for path in files.iterdir()} == {*FILES, "spec.toml"}


def test_an_unknown_field_can_be_told_for_every_table():
    """Where each field of a spec belongs is said, and none is suggested in place of itself."""
    for table in values.SpecTable.__subclasses__():
        for name in set(table.model_fields) - {*values._ELSEWHERE}:
            assert values._remedy(("x", name)).startswith("it belongs ")


def test_everything_that_is_wrong_is_told_a_line_each(folder, run):
    (folder / "spec.toml").write_text(f"loss = 'mx'\nbudgt = 1\n{DOMAIN}c = 'x'\n{WORKLOAD}")
    lines = run("plan", "spec.toml", status=2).stderr.splitlines()
    assert len(lines) == 3
    assert all("spec.toml: " in line for line in lines)
