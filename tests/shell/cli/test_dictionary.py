"""A data dictionary or a public schema becomes the domain it describes; a file of records is never read as one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import About, Attribute, Bins, Domain
from residualplanner.gate.sources.columns import codes_of_values
from residualplanner.shell.cli.spec.declared import of_values
from residualplanner.shell.cli.spec.described import HEADERS, is_dictionary_header, read_dictionary
from residualplanner.shell.cli.spec.file import read_spec
from residualplanner.shell.cli.spec.objects import domain_of_spec
from residualplanner.shell.cli.spec.starting import starting_spec

CANARY = "canary-3e77"


def domain_of(path, **options):
    """The domain of the starting spec, or the attributes that are still to be declared."""
    start = starting_spec(path, **options)
    written = path.with_name("made.toml")
    written.write_text(start.text, encoding="utf-8")
    return start.undeclared or domain_of_spec(read_spec(written))


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
def test_a_row_for_each_value(tmp_path, text):
    (tmp_path / "codes.csv").write_text(text, encoding="utf-8", newline="")
    bergen = "Bergen, with Askoey" if "Askoey" in text else "Bergen"
    assert domain_of(tmp_path / "codes.csv", is_dictionary=True) == long_domain(bergen)


def test_meanings_are_values_of_the_spec_that_end_nothing(tmp_path):
    meaning = "x\nb = 3 # [domain] \\ ' \x7f"
    (tmp_path / "codes.csv").write_text(f'name,value,label\na,1,"{meaning}"\na,2,' + "long " * 60 + "\na,3,\n")
    expected = {1: meaning, 2: ("long " * 60).strip(), 3: ""}
    assert domain_of(tmp_path / "codes.csv", is_dictionary=True) == Domain({"a": expected})


def test_words_about_a_column_reach_the_domain(tmp_path):
    (tmp_path / "codes.csv").write_text(
        "variable,size,label,units,note,source\nage,99,Age,years,at the last birthday,census\nsex,2,,,,\n"
    )
    about = About(title="Age", unit="years", note="at the last birthday", source="census")
    found = domain_of(tmp_path / "codes.csv", is_dictionary=True)
    assert found == Domain({"age": Attribute("age", 99, about=about), "sex": 2})
    (tmp_path / "long.csv").write_text("name,value,label,title\nsex,1,female,Sex\nsex,2,male,\n")
    sex = Attribute("sex", labels={1: "female", 2: "male"}, about=About(title="Sex"))
    assert domain_of(tmp_path / "long.csv", is_dictionary=True) == Domain({"sex": sex})


WIDE = """\
name,type,min,max,values,bins,size
age,integer,0,99,,,
year,integer,2019,2022,,,
sex,string,,,F;M,,
status,string,,,"1=single, never married | 2=married",,
choice,radio,,,"1, yes | 2, no",,
income,number,,,,"0, 10000; 50000".,
member,boolean,,,,,
code,,,,,,3200
""".replace('"0, 10000; 50000".', "0;10000;50000")


def test_a_row_for_each_variable(tmp_path):
    (tmp_path / "codes.csv").write_text(WIDE)
    assert domain_of(tmp_path / "codes.csv", is_dictionary=True) == Domain(
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
    start = starting_spec(tmp_path / "codes.csv", is_dictionary=True)
    assert start.undeclared == ("income",)
    assert f"\n{note}" in start.text
    assert '\nincome = "?"\nsex = ["F", "M"]\n' in start.text


def test_words_about_a_column_without_values_can_be_pasted_into_its_entry(tmp_path):
    row = 'income,number,The "gross" income,k$,before tax'
    (tmp_path / "codes.csv").write_text(f"variable,type,label,unit,note\n{row}\n")
    start = starting_spec(tmp_path / "codes.csv", is_dictionary=True)
    (words,) = [line.removeprefix("# ") for line in start.text.splitlines() if line.startswith("# title")]
    spec = tmp_path / "spec.toml"
    spec.write_text(start.text.replace('income = "?"', f"income = {{ bins = [0, 10, 20], {words} }}"))
    assert domain_of_spec(read_spec(spec))["income"].about == About(
        title='The "gross" income', unit="k$", note="before tax"
    )


@pytest.mark.parametrize("text", ["0-99", "0 - 99", "0..99", "0 to 99", "0–99"])
def test_a_range_in_place_of_a_list(tmp_path, text):
    (tmp_path / "codes.csv").write_text(f"variable,code\nage,{text}\n", encoding="utf-8")
    assert domain_of(tmp_path / "codes.csv", is_dictionary=True) == Domain({"age": 100})


@given(
    values=st.lists(
        st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=4), min_size=2, max_size=9
    )
)
def test_every_value_of_a_list_is_found_again_in_records_that_spell_it_so(values):
    attribute = of_values("a", values).attribute
    assert codes_of_values(attribute, list(dict.fromkeys(values))).tolist() == list(range(attribute.size))


# --- safety ---

RECORDS = f"age,sex,region\n30,{CANARY},01\n"


def test_a_value_that_is_listed_twice_keeps_its_meaning(tmp_path):
    (tmp_path / "a.csv").write_text("variable,value,label\nsex,1,female\nsex,2,male\nsex,1,\nsex,2,male\n")
    expected = Domain({"sex": {1: "female", 2: "male"}})
    assert domain_of(tmp_path / "a.csv", is_dictionary=True) == expected


def test_records_are_not_read_as_a_dictionary(tmp_path):
    (tmp_path / "records.csv").write_text(RECORDS)
    with pytest.raises(
        rp.errors.FileFormatError, match="a data dictionary needs a first line that names its columns"
    ) as told:
        starting_spec(tmp_path / "records.csv", is_dictionary=True)
    assert CANARY not in str(told.value)


@pytest.mark.parametrize("text", [f"{CANARY},1\n{CANARY},2\n", f"name,{CANARY}\nx,y\n", "", f'name,value\n"{CANARY}'])
def test_what_is_no_dictionary_is_refused_and_not_shown(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(rp.errors.FileFormatError) as told:
        read_dictionary(tmp_path / "a.csv")
    assert CANARY not in str(told.value)


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


@pytest.mark.parametrize("names", [["age", "sex"], ["name", "age"], ["value", "label"], ["type", "min", "max"], []])
def test_records_are_not_called_like_a_dictionary(names):
    assert not is_dictionary_header(names)


@pytest.mark.parametrize("word", HEADERS["name"])
@pytest.mark.parametrize("value", HEADERS["value"])
def test_every_declared_header_is_known(tmp_path, word, value):
    (tmp_path / "a.csv").write_text(f"{word.upper()},{value.title()}\nsex,F\nsex,M\n")
    assert domain_of(tmp_path / "a.csv", is_dictionary=True) == Domain({"sex": ["F", "M"]})


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ("variable,value\n,1\n", rp.errors.FileFormatError, "a.csv, line 2: there is no name, nor one above it"),
        ("variable,min,max\nage,low,9\n", rp.errors.FileFormatError, "a.csv, line 2: min must be a number, got 'low'"),
        ("variable,min,max\n,1,9\n", rp.errors.FileFormatError, "a.csv, line 2: there is no name"),
        ("variable,bins\nage,9;3\n", rp.errors.DomainError, "a.csv, age: "),
        ("variable,value\n", rp.errors.FileFormatError, "a.csv: there is no row below its first line"),
        (
            "variable,value,label\nsex,1,female\nsex,2,male\nsex,1,women\n",
            rp.errors.FileFormatError,
            "a.csv, sex: the value '1' has two meanings, 'female' and 'women'; leave one of them out",
        ),
        ("variable,size\nage,0\n", rp.errors.DomainError, "a.csv, age: "),
    ],
)
def test_a_row_that_does_not_fit_is_named(tmp_path, text, error, told):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(error) as raised:
        read_dictionary(tmp_path / "a.csv")
    assert told in str(raised.value)


# --- public schemas ---

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


@pytest.mark.parametrize(
    "schema",
    [
        {"fields": [{"name": "x", "title": "Grade", "description": "as given", "constraints": {"enum": [1, 2]}}]},
        {"type": "object", "properties": {"x": {"title": "Grade", "description": "as given", "enum": [1, 2]}}},
        {
            "tableSchema": {
                "columns": [
                    {
                        "titles": "x",
                        "dc:title": "Grade",
                        "dc:description": "as given",
                        "datatype": {"base": "integer", "minimum": 1, "maximum": 2},
                    }
                ]
            }
        },
    ],
)
def test_titles_and_descriptions_of_public_schemas_reach_the_domain(tmp_path, schema):
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    about = About(title="Grade", note="as given")
    assert domain_of(tmp_path / "schema.json") == Domain({"x": Attribute("x", labels=[1, 2], about=about)})


def test_one_of_several_tables_is_chosen(tmp_path, run, folder):
    resources = [
        {"name": name, "schema": {"fields": [{"name": name, "constraints": {"enum": [1, 2]}}]}} for name in "ab"
    ]
    (folder / "package.json").write_text(json.dumps({"resources": resources}))
    assert "it describes the tables a, b; choose one with --table" in run("init", "package.json").stderr
    assert "it describes no table 'c', only a, b" in run("init", "package.json", "--table", "c").stderr
    run("init", "package.json", "--table", "b", status=0)
    assert domain_of_spec(read_spec(folder / "package.toml")) == Domain({"b": [1, 2]})


@pytest.mark.parametrize(
    ("field", "note"),
    [
        (
            {"type": "date", "constraints": {"minimum": "2020-01-05"}},
            '# dates from 2020-01-05: write { months = ["2020-01", "..."] }, { years = [2020, ...] } or {',
        ),
        ({"type": "string"}, "# string: its values are not in the schema"),
        ({"type": "number", "constraints": {"minimum": 0, "maximum": 10}}, "# numbers from 0 to 10: write { bins"),
        ({"type": "number", "constraints": {"enum": [0.5, 1]}}, "# number: values that are not strings or integers"),
    ],
)
def test_what_a_schema_does_not_tell_is_left_to_its_user(run, folder, field, note):
    (folder / "s.json").write_text(json.dumps({"fields": [{"name": "x", **field}, {"name": "y", "type": "boolean"}]}))
    told = run("init", "s.json").stdout
    assert 'Not declared in s.json: x.  Write the values of each in place of "?".' in told
    assert note in (folder / "s.toml").read_text()


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"resources": [{"name": "a"}]}, "it describes no table with columns"),
        ({"properties": {}}, "its columns must have names, all different"),
        ({"fields": [{"name": "a"}, {"name": "a"}]}, "its columns must have names, all different"),
        ({"fields": [{"type": "integer"}]}, "its columns must have names, all different"),
    ],
)
def test_a_schema_without_columns_is_refused(run, folder, schema, told):
    (folder / "s.json").write_text(json.dumps(schema))
    result = run("init", "s.json", status=2)
    assert f"s.json: {told}" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("records.csv", "--table", "a"), "--table chooses a table of a schema (.json)"),
        (("d.json", "--table", "a"), "--table chooses a table of a schema of several"),
        (("d.json", "--dictionary"), "a data dictionary is a .csv file"),
    ],
)
def test_options_that_do_not_fit_the_file_are_refused(run, folder, arguments, told):
    (folder / "records.csv").write_text(RECORDS)
    (folder / "d.json").write_text('{"age": 85}')
    result = run("init", *arguments, status=2)
    assert told in result.stderr


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
        start = starting_spec(path)
    except (rp.errors.FileFormatError, rp.errors.DomainError):
        return
    path.with_name("made.toml").write_text(start.text, encoding="utf-8")
    read_spec(path.with_name("made.toml"))
