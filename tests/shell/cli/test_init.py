"""A starting spec has the domain that a file or a dictionary describes, and of records only the names of columns."""

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
from shell.specs import Into, domain_of, read_spec, starting_spec

CANARY = "canary-7c1e"
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def described(path, **options):
    """The domain of the starting spec, or the attributes that are still to be declared."""
    start = starting_spec(path, **options)
    path.with_name("made.toml").write_text(start.text, encoding="utf-8", newline="\n")
    return start.undeclared or domain_of(path.with_name("made.toml"))


@pytest.fixture
def dictionary(tmp_path):
    def dictionary(text):
        (tmp_path / "codes.csv").write_text(text, encoding="utf-8", newline="")
        return described(tmp_path / "codes.csv", is_dictionary=True)

    return dictionary


@pytest.fixture
def schema(tmp_path):
    def schema(value):
        (tmp_path / "schema.json").write_text(json.dumps(value))
        return described(tmp_path / "schema.json")

    return schema


# Domains and other specs.


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
        last = draw(st.dates(dt.date(2019, 12, 1), dt.date(2100, 1, 1)))
        return Attribute(name, bins=Bins.months("2019-12", last), **own)
    if kind == "years":
        return Attribute(name, bins=Bins.years(draw(st.integers(1, 2000)), 2000), **own)
    if kind == "size":
        return Attribute(name, draw(st.integers(1, 2**62)), missing=draw(st.sampled_from(["error", "drop"])))
    if kind == "bins":
        numbers = st.floats(allow_nan=False) | st.integers(-(10**20), 10**20).map(float)
        return Attribute(name, bins=Bins(sorted(draw(st.lists(numbers, min_size=2, max_size=5, unique=True)))))
    if kind == "truth":
        return Attribute(name, labels=[True, False], unknown="drop")
    one = texts if kind == "text" else st.integers(-(2**63), 2**63 - 1)
    labels = draw(st.lists(one, min_size=1, max_size=40, unique=True))
    meanings = dict(zip(labels, draw(st.lists(texts, min_size=40, max_size=40)), strict=False))
    rules = st.sampled_from(["error", "drop", *map(Into, labels)])
    given = draw(st.sampled_from([labels, meanings]))
    return Attribute(name, labels=given, unknown=draw(rules), missing=draw(rules), about=about)


@given(data=st.data())
def test_the_domain_of_a_starting_spec_is_the_one_it_was_made_of(data, tmp_path_factory):
    names = data.draw(st.lists(texts.filter(bool), max_size=4, unique=True))
    domain = Domain({name: data.draw(attributes(name)) for name in names})
    path = tmp_path_factory.mktemp("spec") / "domain.json"
    path.write_text(json.dumps(domain.to_json()))
    assert described(path) == domain
    assert described(path.with_name("made.toml")) == domain  # another spec


@pytest.mark.parametrize(
    ("bins", "entry"),
    [
        (Bins.months("2019-12", "2020-03"), 'months = ["2019-12", "2020-03"]'),
        (Bins.years(1999, 2003), "years = [1999, 2003]"),
    ],
)
def test_periods_are_written_by_their_first_and_last(bins, entry, tmp_path):
    path = tmp_path / "domain.json"
    path.write_text(json.dumps(Domain({"born": bins}).to_json()))
    described(path)
    assert entry in path.with_name("made.toml").read_text()


HOURS = Attribute("hours", numeric=Numeric("-0.5", 60, unit="0.25", bins=[7, "8.25"], outside="clip"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"age": 85, "sex": ["F", "M"]}, Domain({"age": 85, "sex": ["F", "M"]})),
        ({"attributes": 7}, Domain({"attributes": 7})),
        (Domain({"b": Bins([-math.inf, 0, math.inf]), "hours": HOURS}).to_json(), None),
        (Domain({"a": Attribute("a", labels=["drop", "error"], unknown=Into("drop"), missing="drop")}).to_json(), None),
        (Domain({"job": 3}, weight=rp.Weight("w", maximum=60, unit=0.5, above="clip")).to_json(), None),
    ],
)
def test_json_with_sizes_or_a_whole_domain_is_one(schema, value, expected):
    assert schema(value) == (expected or Domain.from_json(value))


def test_a_starting_spec_states_a_budget_and_a_workload_and_every_entry_of_the_output_can_be_uncommented(tmp_path):
    (tmp_path / "d.json").write_text('{"age": 3, "sex": ["F", "M"]}')
    text = starting_spec(tmp_path / "d.json").text
    start, end = text.index("[output]"), text.index("# The columns and the values")
    path = tmp_path / "spec.toml"
    path.write_text(text[:start] + re.sub(r"^# (?=\w+ = )", "", text[start:end], flags=re.MULTILINE) + text[end:])
    spec = read_spec(path)
    assert spec.budget == rp.zcdp("0.5")
    assert [table.up_to for table in spec.workload] == [2]
    assert spec.output.model_fields_set == set(type(spec.output).model_fields)


# Data dictionaries.

LONG = """\
Variable,Value,Value label
sex,1,female
sex,2,male
region,01,Oslo
region,02,"Bergen, with Askoey"
employed,false,
employed,true,
grade,0,
grade,1,
"""


@pytest.mark.parametrize(
    "text",
    [
        LONG,
        LONG.replace("Variable,Value,Value label", "field_name,CODE,meaning"),
        LONG.replace("sex,2", ",2").replace("region,02", ",02"),  # a name that is left out is the one above
        LONG + "sex,1,\n",  # a value that is listed twice keeps its meaning
        "\ufeff" + LONG.replace("\n", "\r\n"),
        LONG.replace('"Bergen, with Askoey"', "Bergen").replace(",", ";"),
        "\n".join(f"x,{line}" for line in LONG.splitlines()),
    ],
)
def test_a_row_for_each_value(dictionary, text):
    bergen = "Bergen, with Askoey" if "Askoey" in text else "Bergen"
    regions = {"01": "Oslo", "02": bergen}
    expected = {"sex": {1: "female", 2: "male"}, "region": regions, "employed": [False, True], "grade": 2}
    assert dictionary(text) == Domain(expected)


def test_meanings_and_words_about_columns_reach_the_domain_and_end_nothing(dictionary):
    meaning = "x\nb = 3 # [domain] \\ ' \x7f"
    found = dictionary(f'name,value,label\na,1,"{meaning}"\na,2,' + "long " * 60 + "\na,3,\n")
    assert found == Domain({"a": {1: meaning, 2: ("long " * 60).strip(), 3: ""}})
    text = "variable,size,label,units,note,source\nage,99,Age,years,at the last birthday,census\nsex,2,,,,\n"
    about = About(title="Age", unit="years", note="at the last birthday", source="census")
    assert dictionary(text) == Domain({"age": Attribute("age", 99, about=about), "sex": 2})
    sex = Attribute("sex", labels={1: "female", 2: "male"}, about=About(title="Sex"))
    assert dictionary("name,value,label,title\nsex,1,female,Sex\nsex,2,male,\n") == Domain({"sex": sex})


WIDE = """\
name,type,min,max,values,bins,size
age,integer,0,99,,,
year,integer,2019,2022,,,
sex,string,,,F;M,,
status,string,,,"1=single, never married | 2=married",,
choice,radio,,,"1, yes | 2, no",,
income,number,,,,0;10000;50000,
code,,,,,,3200
"""


def test_a_row_for_each_variable(dictionary):
    assert dictionary(WIDE) == Domain(
        {
            "age": 100,
            "year": [2019, 2020, 2021, 2022],
            "sex": ["F", "M"],
            "status": {1: "single, never married", 2: "married"},
            "choice": {1: "yes", 2: "no"},
            "income": Bins([0, 10000, 50000]),
            "code": 3200,
        }
    )


@pytest.mark.parametrize(
    ("row", "note"),
    [
        ("income,number,0,99,", "# numbers from 0 to 99: write { bins = [0, ..., 99] }"),
        ("income,number,0,1e6,", "# numbers from 0 to 1e6: write { bins = [0, ..., 1e6] }"),
        ("income,integer,0,1000000,", "# numbers from 0 to 1000000: write { bins = [0, ..., 1000000] }"),
        ("income,number,0,,", "# in the dictionary: type number min 0"),
        ("income,date,2019-12-01,,", "# in the dictionary: type date min 2019-12-01"),
        ("income,text,,,", "# in the dictionary: type text"),
        ("income,text,,,see appendix", "# in the dictionary: see appendix"),
    ],
)
def test_what_a_dictionary_does_not_tell_is_left_to_its_user(tmp_path, row, note):
    (tmp_path / "codes.csv").write_text(f"variable,type,min,max,values\n{row}\nsex,text,,,F|M\n")
    text, undeclared, *_ = starting_spec(tmp_path / "codes.csv", is_dictionary=True)
    assert undeclared == ("income",)
    assert f"\n{note}" in text
    assert '\nincome = "?"\nsex = ["F", "M"]\n' in text


@pytest.mark.parametrize("text", ["0-99", "0 - 99", "0..99", "0 to 99", "0–99"])
def test_a_range_in_place_of_a_list(dictionary, text):
    assert dictionary(f"variable,code\nage,{text}\n") == Domain({"age": 100})


letters = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="\"',;|="), min_size=1, max_size=4)


@given(values=st.lists(letters, min_size=2, max_size=9, unique=True))
def test_every_value_of_a_list_is_found_again_in_records_that_spell_it_so(values, tmp_path_factory):
    path = tmp_path_factory.mktemp("list") / "codes.csv"
    pd.DataFrame({"variable": "a", "value": values}).to_csv(path, index=False)
    domain = described(path, is_dictionary=True)
    plan = rp.select(rp.marginals(domain, order=1), budget=rp.zcdp(10**9))
    counts = rp.reconstruct(rp.measure(plan, pd.DataFrame({"a": values}, dtype=object)))["a"].estimate
    assert counts.round().tolist() == [1] * len(values)


NO_DICTIONARY = "a data dictionary needs a first line that names its columns"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"age,sex,region\n30,{CANARY},01\n", NO_DICTIONARY),
        (f"{CANARY},1\n{CANARY},2\n", NO_DICTIONARY),
        ("\n", NO_DICTIONARY),
        (f'name,value\n"{CANARY}', "line 2: this is not CSV; check its quotes"),
        ("variable,value\n,1\n", "a.csv, line 2: there is no name, nor one above it"),
        ("variable,size\nage,many\n", "a.csv, age: "),
        ("variable,bins\nage,9;3\n", "a.csv, age: "),
        ("variable,value\n", "a.csv: there is no row below its first line"),
        (
            "variable,value,label\nsex,1,female\nsex,2,male\nsex,1,women\n",
            "a.csv, sex: the value '1' has two meanings, 'female' and 'women'; leave one of them out",
        ),
    ],
)
def test_what_is_no_dictionary_or_a_wrong_row_is_named_and_records_are_not_shown(run, folder, text, told):
    (folder / "a.csv").write_text(text)
    refused = run("init", "a.csv", "--dictionary", status=2)
    assert told in refused.stderr
    assert CANARY not in refused.output
    assert not (folder / "a.toml").exists()


NO_DOMAINS = [
    [1],
    {"type": "object", "properties": {"age": {"type": "integer", "maximum": 84}}},
    {"properties": {"age": {"type": "integer"}}},
    {"fields": [{"name": "age", "type": "integer"}]},
    {"@context": "http://www.w3.org/ns/csvw", "tableSchema": {"columns": [{"name": "age"}]}},
]


@pytest.mark.parametrize(
    ("value", "options", "told"),
    [
        ({"age": 85}, ("--dictionary",), "a data dictionary is a .csv file"),
        ({"age": 0}, (), "at least 1 value"),
        *(
            (value, (), "s.json: this is not a domain; write a size or labels for each attribute, as {")
            for value in NO_DOMAINS
        ),
    ],
)
def test_a_domain_that_is_none_and_options_that_do_not_fit_are_refused(run, folder, value, options, told):
    (folder / "s.json").write_text(json.dumps(value))
    assert told in run("init", "s.json", *options, status=2).stderr


# Records.

RECORDS = {
    "r.csv": lambda path: path.write_text(f'age,"odd, name"\n{CANARY},{CANARY}\n'),
    "r.csv.gz": lambda path: path.write_bytes(gzip.compress(f'\ufeffage,"odd, name"\r\n{CANARY},1\r\n'.encode())),
    "r.PARQUET": lambda path: pq.write_table(pa.table({"age": [CANARY], "odd, name": [CANARY]}), path),
}


@pytest.mark.parametrize("name", RECORDS)
def test_of_records_only_the_names_of_columns_are_taken(tmp_path, name):
    RECORDS[name](tmp_path / name)
    text, undeclared, is_of_records, _ = starting_spec(tmp_path / name, has_header=True)
    (tmp_path / "spec.toml").write_text(text)
    assert (undeclared, is_of_records) == (("age", "odd, name"), True)
    assert CANARY not in text
    with pytest.raises(rp.errors.DomainError, match="still to be declared: age, odd, name; write"):
        domain_of(tmp_path / "spec.toml")


@pytest.mark.parametrize(
    "first",
    [f"{CANARY},39", f"{CANARY},{CANARY}", f"{CANARY},", "", f'"{CANARY}', "nan,b", f"{CANARY};sex", f"{CANARY}\tsex"],
)
def test_a_first_line_that_is_no_header_is_refused_and_not_shown(tmp_path, first):
    (tmp_path / "records.csv").write_text(f"{first}\n")
    with pytest.raises(rp.errors.FileFormatError, match="first line") as told:
        starting_spec(tmp_path / "records.csv", has_header=True)
    assert CANARY not in str(told.value)


@pytest.mark.parametrize("first", [f"{CANARY},Boston,M", f"{CANARY}", "variable,value", f'"{CANARY}","b"'])
def test_a_first_line_that_may_be_a_record_is_shown_only_if_it_is_said_to_be_a_header(tmp_path, first):
    (tmp_path / "records.csv").write_text(f"{first}\n{CANARY},Paris,F\n")
    with pytest.raises(rp.errors.FileFormatError, match=r"add --header; .* add --dictionary") as told:
        starting_spec(tmp_path / "records.csv")
    assert CANARY not in str(told.value)
    assert starting_spec(tmp_path / "records.csv", has_header=True).is_of_records


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"x", r"a domain \(.json or .toml\) or records \(.csv, .csv.gz, .parquet, .sav, .dta\) are needed"),
        ("a.json", b'{"a": 1, "a": 2}', "the name 'a' occurs twice"),
        ("a.json", b"{", "not valid JSON"),
        ("a.csv", b"\xff\n", "is not a line of column names"),
        ("a.csv.gz", b"x,y\n", "is not gzipped, or damaged or cut off; copy or write it again"),
        ("a.csv.gz", gzip.compress(b"x,y\n", mtime=0)[:12], "is not gzipped, or damaged or cut off"),
        ("a.parquet", b"PAR1", "this is not a Parquet file, or it is damaged"),
        ("a.toml", b"x", "is not TOML"),
    ],
)
def test_what_is_neither_schema_nor_records_is_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(rp.errors.FileFormatError, match=message):
        starting_spec(tmp_path / name, has_header=True)
