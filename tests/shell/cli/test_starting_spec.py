"""A starting spec says again what it was made of, and takes from records nothing but the names of their columns."""

import csv
import datetime as dt
import gzip
import json
import math
import re

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import About, Attribute, Bins, Domain, Numeric
from residualplanner.method.domain.labels import Into
from residualplanner.shell.cli.records import require_columns
from shell.specs import domain_of, read_spec, spec_text, starting_spec

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
names = texts.filter(bool)


@st.composite
def attributes(draw, name):
    kind = draw(st.sampled_from(["size", "text", "integer", "truth", "bins", "dates", "date bins", "months", "years"]))
    about = draw(st.builds(About, title=texts, unit=texts, source=texts, note=texts))
    own = {word: draw(st.sampled_from(["error", "drop", "Other", Into("drop")])) for word in ("unknown", "missing")}
    if kind == "dates":
        return Attribute(name, labels=draw(st.lists(st.dates(), min_size=1, max_size=20, unique=True)), **own)
    if kind == "date bins":
        edges = [*sorted(draw(st.lists(st.dates(), min_size=1, max_size=5, unique=True))), math.inf]
        return Attribute(name, bins=Bins(edges), **own, about=about)
    if kind == "months":
        return Attribute(
            name, bins=Bins.months("2019-12", draw(st.dates(dt.date(2019, 12, 1), dt.date(2100, 1, 1)))), **own
        )
    if kind == "years":
        return Attribute(name, bins=Bins.years(draw(st.integers(1, 2000)), 2000), **own)
    if kind == "size":
        return Attribute(name, draw(st.integers(1, 2**62)), missing=draw(st.sampled_from(["error", "drop"])))
    if kind == "bins":
        numbers = st.floats(allow_nan=False) | st.integers(-(10**20), 10**20).map(float)
        edges = sorted(draw(st.lists(numbers, min_size=2, max_size=5, unique=True)))
        return Attribute(name, bins=Bins(edges))
    if kind == "truth":
        return Attribute(name, labels=[True, False], unknown="drop")
    one = texts if kind == "text" else st.integers(-(2**63), 2**63 - 1)
    labels = draw(st.lists(one, min_size=1, max_size=40, unique=True))
    meanings = dict(zip(labels, draw(st.lists(texts, min_size=40, max_size=40)), strict=False))
    rules = st.sampled_from(["error", "drop", *map(Into, labels)])
    given = draw(st.sampled_from([labels, meanings]))
    return Attribute(name, labels=given, unknown=draw(rules), missing=draw(rules), about=about)


@st.composite
def domains(draw):
    chosen = draw(st.lists(names, max_size=4, unique=True))
    return Domain({name: draw(attributes(name)) for name in chosen})


@given(domain=domains())
def test_the_domain_of_a_starting_spec_is_the_one_it_was_made_of(domain, tmp_path_factory):
    path = tmp_path_factory.mktemp("spec") / "spec.toml"
    path.write_text(spec_text(domain, up_to=1), encoding="utf-8", newline="\n")
    assert domain_of(path) == domain


def test_rules_that_are_labels_too_infinite_edges_amounts_and_weights_survive(tmp_path):
    hours = Attribute("hours", numeric=Numeric("-0.5", 60, unit="0.25", bins=[7, "8.25"], outside="clip"))
    attributes = {
        "a": Attribute("a", labels=["drop", "error"], unknown=Into("drop"), missing="drop"),
        "b": Bins([-math.inf, 0, math.inf]),
        "hours": hours,
    }
    weight = rp.Weight("w", maximum=60, unit=0.5, above="clip")
    for domain in (Domain(attributes), Domain({"job": 3}, weight=weight)):
        (tmp_path / "spec.toml").write_text(spec_text(domain))
        assert domain_of(tmp_path / "spec.toml") == domain


def test_a_starting_spec_states_a_budget_and_a_workload(tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(spec_text(Domain({"a": 2}), up_to=3, max_cells=100))
    spec = read_spec(path)
    assert spec.budget.budget == rp.zcdp("0.5")
    assert [(table.up_to, table.max_cells) for table in spec.workload] == [(3, 100)]


@pytest.mark.parametrize(
    "value", [{"age": 85, "sex": ["F", "M"]}, Domain({"age": 85, "sex": ["F", "M"]}).to_json(), {"attributes": 7}]
)
def test_a_json_schema_and_another_spec_give_their_domain(tmp_path, value):
    (tmp_path / "domain.json").write_text(json.dumps(value))
    text, undeclared, _ = starting_spec(tmp_path / "domain.json")
    (tmp_path / "spec.toml").write_text(text)
    expected = Domain({"attributes": 7} if value == {"attributes": 7} else {"age": 85, "sex": ["F", "M"]})
    assert undeclared == ()
    assert domain_of(tmp_path / "spec.toml") == expected
    (tmp_path / "spec.toml").write_text(spec_text(expected, up_to=1))
    assert starting_spec(tmp_path / "spec.toml") == (spec_text(expected), (), "schema")


CANARY = "canary-7c1e"


def _csv(path):
    path.write_text(f'age,"odd, name"\n{CANARY},{CANARY}\n')


def _gzipped(path):
    path.write_bytes(gzip.compress(f'\ufeffage,"odd, name"\r\n{CANARY},{CANARY}\r\n'.encode()))


def _parquet(path):
    table = pa.table({"age": [CANARY], "odd, name": pa.array([CANARY]).dictionary_encode()})
    pq.write_table(table, path)


@pytest.mark.parametrize(("name", "write"), [("r.csv", _csv), ("r.csv.gz", _gzipped), ("r.PARQUET", _parquet)])
def test_of_records_only_the_names_of_columns_are_taken(tmp_path, name, write):
    write(tmp_path / name)
    text, undeclared, _ = starting_spec(tmp_path / name, has_header=True)
    (tmp_path / "spec.toml").write_text(text)
    assert undeclared == ("age", "odd, name")
    assert CANARY not in text
    with pytest.raises(rp.errors.DomainError, match="still to be declared: age, odd, name; write"):
        domain_of(tmp_path / "spec.toml")


@pytest.mark.parametrize("other", ["1,2\n3,4\n" * 500, "", "only the header"])
def test_a_starting_spec_does_not_depend_on_the_records(tmp_path, other):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,y\n" + other)
    left, right = (starting_spec(tmp_path / name, has_header=True) for name in ("a.csv", "b.csv"))
    assert left == right


@pytest.mark.parametrize("first", [f"{CANARY},39", f"{CANARY},{CANARY}", f"{CANARY},", "", f'"{CANARY}', "nan,b"])
def test_a_first_line_that_is_no_header_is_refused_and_not_shown(tmp_path, first):
    (tmp_path / "records.csv").write_text(f"{first}\n")
    with pytest.raises(rp.errors.FileFormatError, match="first line") as told:
        starting_spec(tmp_path / "records.csv", has_header=True)
    assert CANARY not in str(told.value)


@pytest.mark.parametrize("first", [f"{CANARY},Boston,M", f"{CANARY}", "age,sex", f'"{CANARY}","b"'])
def test_a_first_line_that_may_be_a_record_is_shown_only_if_it_is_said_to_be_a_header(tmp_path, first):
    (tmp_path / "records.csv").write_text(f"{first}\n{CANARY},Paris,F\n")
    with pytest.raises(rp.errors.FileFormatError, match="not the first record, add --header") as told:
        starting_spec(tmp_path / "records.csv")
    assert CANARY not in str(told.value)
    assert starting_spec(tmp_path / "records.csv", has_header=True)[2] == "records"


@pytest.mark.parametrize(
    ("first", "word"),
    [
        (f"{CANARY};sex;age", "semicolons"),
        (f'"{CANARY}";"sex, or gender"', "semicolons"),
        (f"{CANARY};name, first;sex", "semicolons"),
        (f"{CANARY}\tsex", "tabs"),
        (f"{CANARY}|sex", "vertical bars"),
    ],
)
def test_another_delimiter_is_told_with_what_to_write_and_without_the_line(tmp_path, first, word):
    (tmp_path / "records.csv").write_text(f"{first}\n1;2;3\n")
    message = f"its columns are separated by {word}; .*pandas.read_csv"
    with pytest.raises(rp.errors.FileFormatError, match=message) as told:
        starting_spec(tmp_path / "records.csv", has_header=True)
    assert CANARY not in str(told.value)
    with pytest.raises(rp.errors.FileFormatError, match=message):
        require_columns(tmp_path / "records.csv", ["sex"])


@pytest.mark.parametrize("first", ["a;b,c", '"a","b;c;d","e"', "a|b,c", '"x;y;z",b'])
def test_other_signs_in_names_do_no_harm(tmp_path, first):
    (tmp_path / "records.csv").write_text(f"{first}\n")
    names = next(csv.reader([first]))
    assert starting_spec(tmp_path / "records.csv", has_header=True)[1] == tuple(names)


def test_the_advice_on_another_delimiter_works(tmp_path):
    (tmp_path / "s.csv").write_text('id;note\n01;"a,b"\n;NA\n')
    pd.read_csv(tmp_path / "s.csv", sep=";", dtype=str, keep_default_na=False).to_csv(tmp_path / "c.csv", index=False)
    assert (tmp_path / "c.csv").read_text() == 'id,note\n01,"a,b"\n,NA\n'
    assert starting_spec(tmp_path / "c.csv", has_header=True)[1] == ("id", "note")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"x", r"a schema \(.json or .toml\) or records \(.csv, .csv.gz or .parquet\) are needed"),
        ("a.json", b"[1]", "expected an object from attribute name to size"),
        ("a.json", b'{"a": 1, "a": 2}', "the name 'a' occurs twice"),
        ("a.json", b"{", "not valid JSON"),
        ("a.csv", b"\xff\n", "first line is not a line of column names"),
        ("a.csv.gz", b"x,y\n", "is not gzipped, or damaged or cut off; copy or write it again"),
        ("a.csv.gz", gzip.compress(b"x,y\n", mtime=0)[:12], "is not gzipped, or damaged or cut off"),
        ("a.csv.gz", gzip.compress(b"\xff\n", mtime=0), "first line is not a line of column names"),
        ("a.parquet", b"PAR1", "this is not a Parquet file, or it is damaged"),
        ("a.toml", b"x", "is not TOML"),
    ],
)
def test_what_is_neither_schema_nor_records_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(rp.errors.FileFormatError, match=message):
        starting_spec(tmp_path / name)


def test_parquet_columns_of_one_name_are_refused(tmp_path):
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "a.parquet")
    with pytest.raises(rp.errors.FileFormatError, match="its columns must have names, all different"):
        starting_spec(tmp_path / "a.parquet")


def test_a_json_schema_that_cannot_be_is_refused(tmp_path):
    for value, message in ((0, "at least 1 value"), ("x", "'a' needs"), (None, "'a' needs"), (1.5, "'a' needs")):
        (tmp_path / "domain.json").write_text(json.dumps({"a": value}))
        with pytest.raises(rp.errors.DomainError, match=f"domain.json: .*{message}"):
            starting_spec(tmp_path / "domain.json")


def test_every_entry_of_the_output_is_shown_and_can_be_uncommented_together_with_all_others(tmp_path):
    text = spec_text(Domain({"age": 3, "sex": ["F", "M"]}))
    start, end = text.index("[output]"), text.index("# The columns and the values")
    path = tmp_path / "spec.toml"
    path.write_text(text[:start] + re.sub(r"^# (?=\w+ = )", "", text[start:end], flags=re.MULTILINE) + text[end:])
    output = read_spec(path).output
    assert output.model_fields_set == set(type(output).model_fields)
