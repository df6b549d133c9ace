"""A data dictionary or a public schema becomes the domain it describes; a file of records is never read as one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import About, Attribute, Bins, Domain
from residualplanner.gate.sources.columns import codes_of_values
from residualplanner.shell.cli.spec.declared import of_values
from residualplanner.shell.cli.spec.described import HEADERS, is_dictionary_header
from shell import specs
from shell.specs import read_spec, starting_spec

CANARY = "canary-3e77"


def domain_of(path, **options):
    """The domain of the starting spec, or the attributes that are still to be declared."""
    text, undeclared, _ = starting_spec(path, **options)
    path.with_name("made.toml").write_text(text, encoding="utf-8")
    return undeclared or specs.domain_of(path.with_name("made.toml"))


@pytest.fixture
def described(tmp_path):
    """The domain that a data dictionary describes."""

    def described(text):
        (tmp_path / "codes.csv").write_text(text, encoding="utf-8", newline="")
        return domain_of(tmp_path / "codes.csv", is_dictionary=True)

    return described


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
LONG_DOMAIN = {"sex": {1: "female", 2: "male"}, "employed": [False, True], "grade": 2}


def long_domain(bergen):
    regions = {"region": {"01": "Oslo", "02": bergen}}
    return Domain({name: (LONG_DOMAIN | regions)[name] for name in ("sex", "region", "employed", "grade")})


@pytest.mark.parametrize(
    "text",
    [
        LONG,
        LONG.replace("Variable,Value,Value label", "field_name,CODE,meaning"),
        LONG.replace("sex,2", ",2").replace("region,02", ",02"),  # a name that is left out is the one above
        "\ufeff" + LONG.replace("\n", "\r\n"),
        LONG.replace('"Bergen, with Askoey"', "Bergen").replace(",", ";"),
        LONG.replace('"Bergen, with Askoey"', "Bergen").replace(",", "\t"),
        "\n".join(f"x,{line}" for line in LONG.splitlines()),
    ],
)
def test_a_row_for_each_value(described, text):
    assert described(text) == long_domain("Bergen, with Askoey" if "Askoey" in text else "Bergen")


def test_meanings_are_values_of_the_spec_that_end_nothing(described):
    meaning = "x\nb = 3 # [domain] \\ ' \x7f"
    found = described(f'name,value,label\na,1,"{meaning}"\na,2,' + "long " * 60 + "\na,3,\n")
    assert found == Domain({"a": {1: meaning, 2: ("long " * 60).strip(), 3: ""}})


def test_words_about_a_column_reach_the_domain(described):
    text = "variable,size,label,units,note,source\nage,99,Age,years,at the last birthday,census\nsex,2,,,,\n"
    about = About(title="Age", unit="years", note="at the last birthday", source="census")
    assert described(text) == Domain({"age": Attribute("age", 99, about=about), "sex": 2})
    sex = Attribute("sex", labels={1: "female", 2: "male"}, about=About(title="Sex"))
    assert described("name,value,label,title\nsex,1,female,Sex\nsex,2,male,\n") == Domain({"sex": sex})


WIDE = """\
name,type,min,max,values,bins,size
age,integer,0,99,,,
year,integer,2019,2022,,,
sex,string,,,F;M,,
status,string,,,"1=single, never married | 2=married",,
choice,radio,,,"1, yes | 2, no",,
income,number,,,,0;10000;50000,
member,boolean,,,,,
code,,,,,,3200
"""


def test_a_row_for_each_variable(described):
    assert described(WIDE) == Domain(
        {
            "age": 100,
            "year": [2019, 2020, 2021, 2022],
            "sex": ["F", "M"],
            "status": {1: "single, never married", 2: "married"},
            "choice": {1: "yes", 2: "no"},
            "income": Bins([0, 10000, 50000]),
            "member": [True, False],
            "code": 3200,
        }
    )


@pytest.mark.parametrize(
    ("row", "note"),
    [
        ("income,number,0,1e6,", "# numbers from 0 to 1000000: write { bins = [0, ..., 1000000] }"),
        ("income,integer,0,1000000,", "# integers from 0 to 1000000: write { bins = [0, ..., 1000000] }"),
        ("income,number,0,,", "# numbers from 0: write { bins = [...] }"),
        ("income,date,2019-12-01,,", '# dates from 2019-12-01: write { months = ["2019-12", "..."] }'),
        ("income,text,,,", "# text: its values are not in the dictionary"),
        ("income,text,,,see appendix", "# in the dictionary: see appendix"),
    ],
)
def test_what_a_dictionary_does_not_tell_is_left_to_its_user(tmp_path, row, note):
    (tmp_path / "codes.csv").write_text(f"variable,type,min,max,values\n{row}\nsex,text,,,F|M\n")
    text, undeclared, _ = starting_spec(tmp_path / "codes.csv", is_dictionary=True)
    assert undeclared == ("income",)
    assert f"\n{note}" in text
    assert '\nincome = "?"\nsex = ["F", "M"]\n' in text


def test_words_about_a_column_without_values_can_be_pasted_into_its_entry(tmp_path):
    row = 'income,number,The "gross" income,k$,before tax'
    (tmp_path / "codes.csv").write_text(f"variable,type,label,unit,note\n{row}\n")
    text = starting_spec(tmp_path / "codes.csv", is_dictionary=True)[0]
    (words,) = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# title")]
    (tmp_path / "spec.toml").write_text(text.replace('income = "?"', f"income = {{ bins = [0, 10, 20], {words} }}"))
    about = About(title='The "gross" income', unit="k$", note="before tax")
    assert specs.domain_of(tmp_path / "spec.toml")["income"].about == about


@pytest.mark.parametrize("text", ["0-99", "0 - 99", "0..99", "0 to 99", "0–99"])
def test_a_range_in_place_of_a_list(described, text):
    assert described(f"variable,code\nage,{text}\n") == Domain({"age": 100})


@given(
    values=st.lists(
        st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=4), min_size=2, max_size=9
    )
)
def test_every_value_of_a_list_is_found_again_in_records_that_spell_it_so(values):
    attribute = of_values("a", values).attribute
    assert codes_of_values(attribute, list(dict.fromkeys(values))).tolist() == list(range(attribute.size))


RECORDS = f"age,sex,region\n30,{CANARY},01\n"


def test_a_value_that_is_listed_twice_keeps_its_meaning(described):
    text = "variable,value,label\nsex,1,female\nsex,2,male\nsex,1,\nsex,2,male\n"
    assert described(text) == Domain({"sex": {1: "female", 2: "male"}})


def test_a_dictionary_is_read_only_if_its_user_says_it_is_one(run, folder):
    (folder / "codes.csv").write_text(f"variable,value\nsex,{CANARY}\n")
    told = run("init", "codes.csv", status=0)
    assert CANARY not in (folder / "codes.toml").read_text()
    assert 'variable = "?"' in (folder / "codes.toml").read_text()
    assert "are named like those of a data dictionary" in told.stdout
    (folder / "codes.toml").unlink()
    assert "init codes.csv --dictionary -o codes.toml" in told.stdout
    run("init", "codes.csv", "--dictionary", "-o", "codes.toml", status=0)
    assert CANARY in (folder / "codes.toml").read_text()


def test_records_are_not_called_like_a_dictionary_and_every_declared_header_is_known(described):
    for names in (["age", "sex"], ["name", "age"], ["value", "label"], ["type", "min", "max"], []):
        assert not is_dictionary_header(names)
    for word in HEADERS["name"]:
        for value in HEADERS["value"]:
            assert described(f"{word.upper()},{value.title()}\nsex,F\nsex,M\n") == Domain({"sex": ["F", "M"]})


NO_DICTIONARY = "a data dictionary needs a first line that names its columns"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (RECORDS, NO_DICTIONARY),
        (f"{CANARY},1\n{CANARY},2\n", NO_DICTIONARY),
        (f"name,{CANARY}\nx,y\n", NO_DICTIONARY),
        ("\n", NO_DICTIONARY),
        (f'name,value\n"{CANARY}', "line 2: this is not CSV; check its quotes"),
        ("variable,value\n,1\n", "a.csv, line 2: there is no name, nor one above it"),
        ("variable,min,max\nage,low,9\n", "a.csv, line 2: min must be a number, got 'low'"),
        ("variable,min,max\n,1,9\n", "a.csv, line 2: there is no name"),
        ("variable,bins\nage,9;3\n", "a.csv, age: "),
        ("variable,size\nage,0\n", "a.csv, age: "),
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


FIELDS = [
    {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"], "required": True}},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
    {"name": "grade", "type": "integer", "categories": [{"value": 1, "label": "low"}, {"value": 2, "label": "high"}]},
    {"name": "member", "type": "boolean"},
    {"name": "voted", "type": "boolean", "trueValues": ["yes"], "falseValues": ["no"]},
]
EXPECTED = {"sex": ["F", "M"], "age": 100, "grade": [1, 2], "member": [True, False], "voted": ["yes", "no"]}
MEANT = EXPECTED | {"grade": {1: "low", 2: "high"}}
PROPERTIES = {
    "sex": {"$ref": "#/$defs/sex"},
    "age": {"type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 100},
    "grade": {"oneOf": [{"const": 1, "title": "low"}, {"const": 2, "title": "high"}]},
    "member": {"type": "boolean"},
    "voted": {"enum": ["yes", "no", None]},
}
DEFS = {"sex": {"enum": ["F", "M"]}}
CSVW = [
    {"titles": "sex", "datatype": {"base": "string", "format": "^(F|M)$"}},
    {"name": "age", "datatype": {"base": "integer", "minimum": "0", "maxInclusive": 99}},
    {"titles": {"en": ["grade", "Grade"]}, "datatype": {"base": "integer", "minimum": 1, "maximum": 2}},
    {"name": "member", "datatype": "boolean"},
    {"name": "voted", "datatype": {"base": "boolean", "format": "yes|no"}},
]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"fields": FIELDS}, MEANT),
        ({"name": "p", "resources": [{"name": "people", "schema": {"fields": FIELDS}}, {"name": "notes"}]}, MEANT),
        ({"$schema": "x", "type": "object", "properties": PROPERTIES, "$defs": DEFS}, MEANT),
        ({"type": "array", "items": {"type": "object", "properties": PROPERTIES}, "$defs": DEFS}, MEANT),
        ({"items": {"$ref": "#/$defs/row"}, "$defs": DEFS | {"row": {"properties": PROPERTIES}}}, MEANT),
        ({"@context": "http://www.w3.org/ns/csvw", "url": "p.csv", "tableSchema": {"columns": CSVW}}, EXPECTED),
        (
            {"@context": ["http://www.w3.org/ns/csvw"], "tables": [{"url": "p", "tableSchema": {"columns": CSVW}}]},
            EXPECTED,
        ),
    ],
)
def test_public_schemas_give_their_domain(tmp_path, schema, expected):
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    assert domain_of(tmp_path / "schema.json") == Domain(expected)


def test_titles_and_descriptions_of_public_schemas_reach_the_domain(tmp_path):
    about = {"title": "Grade", "description": "as given"}
    csvw = {f"dc:{name}": text for name, text in about.items()} | {"titles": "x"}
    for schema in (
        {"fields": [{"name": "x", "constraints": {"enum": [1, 2]}} | about]},
        {"type": "object", "properties": {"x": {"enum": [1, 2]} | about}},
        {"tableSchema": {"columns": [csvw | {"datatype": {"base": "integer", "minimum": 1, "maximum": 2}}]}},
    ):
        (tmp_path / "schema.json").write_text(json.dumps(schema))
        expected = Attribute("x", labels=[1, 2], about=About(title="Grade", note="as given"))
        assert domain_of(tmp_path / "schema.json") == Domain({"x": expected})


def test_one_of_several_tables_is_chosen(run, folder):
    resources = [
        {"name": name, "schema": {"fields": [{"name": name, "constraints": {"enum": [1, 2]}}]}} for name in "ab"
    ]
    (folder / "package.json").write_text(json.dumps({"resources": resources}))
    assert "it describes the tables a, b; choose one with --table" in run("init", "package.json").stderr
    assert "it describes no table 'c', only a, b" in run("init", "package.json", "--table", "c").stderr
    run("init", "package.json", "--table", "b", status=0)
    assert specs.domain_of(folder / "package.toml") == Domain({"b": [1, 2]})


def test_what_a_schema_does_not_tell_is_left_to_its_user(run, folder):
    notes = {
        '# dates from 2020-01-05: write { months = ["2020-01", "..."] }, { years = [2020, ...] } or {': {
            "type": "date",
            "constraints": {"minimum": "2020-01-05"},
        },
        "# string: its values are not in the schema": {"type": "string"},
        "# numbers from 0 to 10: write { bins": {"type": "number", "constraints": {"minimum": 0, "maximum": 10}},
        "# number: values that are not strings or integers": {"type": "number", "constraints": {"enum": [0.5, 1]}},
    }
    fields = [{"name": f"x{number}", **field} for number, field in enumerate(notes.values())]
    (folder / "s.json").write_text(json.dumps({"fields": [*fields, {"name": "y", "type": "boolean"}]}))
    told = run("init", "s.json").stdout
    assert 'Not declared in s.json: x0, x1, x2, x3.  Write the values of each in place of "?".' in told
    assert all(note in (folder / "s.toml").read_text() for note in notes)


@pytest.mark.parametrize(
    ("schema", "options", "told"),
    [
        ({"resources": [{"name": "a"}]}, (), "s.json: it describes no table with columns"),
        ({"properties": {}}, (), "s.json: its columns must have names, all different"),
        ({"fields": [{"name": "a"}, {"name": "a"}]}, (), "s.json: its columns must have names, all different"),
        ({"fields": [{"type": "integer"}]}, (), "s.json: its columns must have names, all different"),
        ({"age": 85}, ("--table", "a"), "--table chooses a table of a schema of several"),
        ({"age": 85}, ("--dictionary",), "a data dictionary is a .csv file"),
    ],
)
def test_a_schema_without_columns_and_options_that_do_not_fit_are_refused(run, folder, schema, options, told):
    (folder / "s.json").write_text(json.dumps(schema))
    assert told in run("init", "s.json", *options, status=2).stderr
    (folder / "records.csv").write_text(RECORDS)
    assert "--table chooses a table of a schema (.json)" in run("init", "records.csv", "--table", "a").stderr


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 300) | st.sampled_from(["boolean", "integer", "a|b", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["fields", "name", "type", "enum", "properties", "items", "columns", "resources", "schema"])
            | st.sampled_from(
                ["tableSchema", "tables", "constraints", "minimum", "datatype", "titles", "$ref", "const"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(value=st.dictionaries(st.sampled_from(["fields", "resources", "properties", "tables", "items"]), json_values))
def test_whatever_stands_in_a_schema_ends_in_a_spec_or_a_clean_refusal(value, tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "s.json"
    path.write_text(json.dumps(value))
    try:
        text, *_ = starting_spec(path)
    except (rp.errors.FileFormatError, rp.errors.DomainError):
        return
    path.with_name("made.toml").write_text(text, encoding="utf-8")
    read_spec(path.with_name("made.toml"))
