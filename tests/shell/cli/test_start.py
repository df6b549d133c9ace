"""Being led to a spec, a plan and its page: by answers, by options, and with nobody to ask."""

import math
import tomllib

import pyreadstat
import pytest
from pandas import DataFrame
from typer.testing import CliRunner

import residualplanner as rp
from command_line import outcome
from shell.specs import app, read_spec

ALL = ["--values", "age=85", "--values", "sex=F,M", "--values", "name="]


@pytest.fixture
def records(tmp_path):
    DataFrame({"age": [30, 70], "sex": ["F", "M"], "name": ["x", "y"]}).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def answered(lines, *arguments):
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(app.app, words, input="".join(f"{line}\n" for line in lines))


def test_answers_lead_to_a_spec_a_plan_and_a_page(records):
    spec = records.with_name("spec.toml")
    lines = [
        "x",
        "h",
        "0 < 18 < y",
        "0 < 18 < 120",
        "F=Women, M=Men",
        "",
        "sax=x",
        "sex",
        "two",
        "2",
        "3",
        "x=1",
        "epsilon=1,delta=1e-9",
        "zcdp=0.01",
        "zcdp=0.05",
        "y",
    ]
    result = answered(lines, "start", records, "-o", spec)
    assert result.exit_code == 0, result.output
    for told in ("write d for a data", "edges of bins are numbers", "an integer of 1 or more", "a budget is written"):
        assert told in result.output
    for told in (
        "sex: 2 labels: F (Women), M (Men).",
        "age: 2 bins: [0, 18), [18, 120].",
        "name: left out of the spec and of all tables.",
        "no column 'sax' has values (age, sex); did you mean 'sex'?",
        "sex: records without an entry are counted under 'Not stated'.",
        "has no room for a release of epsilon=1,delta=1e-9",
        "Ledger: zcdp=0.05 in all allows 3 releases of epsilon=1,delta=1e-9.",
    ):
        assert told in result.output
    assert result.output.count("Press Enter to leave the column out.") == 1
    assert 'in place of "?"' not in spec.read_text()
    read = tomllib.loads(spec.read_text())
    assert read["budget"] == {"approx_dp": {"epsilon": "1", "delta": "1e-9"}}
    assert (read["records_per_person"], read["workload"]) == (3, [{"up_to": 2}])
    assert read["domain"]["age"]["bins"] == [0, 18, 120]
    assert read["domain"]["sex"] == {"labels": [["F", "Women"], ["M", "Men"]], "missing": "Not stated"}
    assert read["ledger"]["budget"] == {"zcdp": "0.05"}
    assert "name" not in read["domain"]
    assert (read["output"]["nonnegative"], read["output"]["round_to"]) == (True, 1)
    assert rp.load_plan(spec.with_suffix(".plan")).neighbors.records_per_person == 3
    assert "<html" in spec.with_suffix(".html").read_text(encoding="utf-8")
    assert read_spec(spec).ledger.file == "spec.ledger"


@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_options_take_the_place_of_answers(records, option):
    words = ["--header", "--values", "age=85", "--values", "sex=1, 2", "--values", "name=", "--up-to", 1]
    words += ["--budget", "zcdp=3", "--records-per-person", 2, "--nonnegative", "--format", "xlsx", option]
    result = outcome("start", records, *words, "-o", records.with_name("spec.toml"))
    assert result.exit_code == 0, result.output
    read = tomllib.loads(records.with_name("spec.toml").read_text())
    assert read["domain"] == {"age": 85, "sex": [1, 2]}
    assert read["budget"] == read["ledger"]["budget"] == {"zcdp": "3"}
    assert read["output"]["format"] == "xlsx"
    released = outcome("release", records.with_name("spec.toml"), records, "--dry-run", "-o", records.with_name("out"))
    assert "column 'sex' has values outside its schema" not in released.output


def test_a_label_in_quotes_may_have_a_comma_and_bins_have_the_labels_that_are_told(records):
    words = ["--header", "--values", "age=0 < 18 < 65 < 120", "--values", 'sex=a, "b, c"', "--values", "name= "]
    spec = records.with_name("spec.toml")
    result = outcome("start", records, *words, "--quiet", "-o", spec)
    assert result.exit_code == 0, result.output
    read = tomllib.loads(spec.read_text())["domain"]
    assert (read["sex"], read["age"]["labels"]) == (["a", "b, c"], ["[0, 18)", "[18, 65)", "[65, 120]"])
    assert "name" not in read


def test_what_is_given_is_not_asked_for_and_a_codebook_needs_no_values(tmp_path):
    frame = DataFrame({"sex": [1.0, 2.0]})
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"), variable_value_labels={"sex": {1: "female", 2: "male"}})
    options = ["--budget", "zcdp=0.1", "--up-to", 1, "-o", tmp_path / "a.toml"]
    result = answered(["", "1", "", "n"], "start", tmp_path / "a.sav", *options)
    assert result.exit_code == 0, result.output
    assert "Values of" not in result.output
    assert "Columns of a table" not in result.output
    assert tomllib.loads((tmp_path / "a.toml").read_text())["domain"]["sex"] == [[1, "female"], [2, "male"]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--quiet"], "add --header; if there is no such line"),
        (
            ["--header", "--quiet", "--values", "age=85"],
            "columns 'sex' and 'name' have no declared values, and there is nobody to ask; add for each --values sex",
        ),
        (["--header", "--quiet", "--values", "sax=2"], "no column 'sax' is without declared values (age, sex, name)"),
        (["--header", "--quiet", "--values", "nam=2"], "; did you mean 'name'?"),
        (["--header", "--quiet", "--ledger-budget", "zcdp=0.1", *ALL], "no room for a release of zcdp=0.5"),
        (["--header", "--quiet", "--missing", "sax=drop", *ALL], "did you mean 'sex'?"),
        (["--header", "--quiet", "--values", "age"], "--values is NAME=VALUES"),
        (["--header", "--quiet", "--budget", "zcdp=-1", *ALL], "rho must be positive"),
        (
            ["--header", "--quiet", "--values", "age=1,2,1"],
            "'age' has the label 1 twice; a label with a comma is put in",
        ),
        (["--header", "--quiet", "--values", "sex=F, M,"], "a label of 'sex' is empty"),
        (
            ["--header", "--quiet", "--values", 'sex=F, "M'],
            "do not match; a label with a comma is put in double quotes",
        ),
        (["--header", "--quiet", "--values", "sex=US=USA, Canada"], "'US=USA' has a meaning after =, and 'Canada' has"),
        *(
            (
                ["--header", "--quiet", "--values", f"sex={text}"],
                f"{text!r} is a single value, and a column of one tells",
            )
            for text in ("F; M", "0 to 100000", "1")
        ),
        (["--header", "--quiet", "--values", "age=0 < 5k < inf"], "as in 0 < 18 < 65 < inf; '5k' is none"),
        (["--header", "--quiet", "--values", "age=0 < 9 < 8"], "none of them NaN; edge 3 is not above edge 2"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(records, words, message):
    result = outcome("start", records, *words, "-o", records.with_name("spec.toml"))
    assert result.exit_code == 2
    assert message in result.output
    assert not records.with_name("spec.toml").exists()


def test_labels_with_commas_are_put_in_quotes_and_the_ends_of_bins_may_be_infinite(records):
    words = ["--values", 'sex="F=Women, girls", M=Men', "--budget", "zcdp=1", "--ledger-budget", "zcdp=1"]
    lines = ["-inf < 18 < inf", 'a, "b, c", "<d"', "sex=Not stated", "2", "1", "n"]
    result = answered(lines, "start", records, "--header", *words, "-o", records.with_name("spec.toml"))
    assert result.exit_code == 0, result.output
    assert 'name: 3 labels: a, "b, c", <d.' in result.output
    domain = tomllib.loads(records.with_name("spec.toml").read_text())["domain"]
    assert domain["age"]["bins"] == [-math.inf, 18, math.inf]
    assert domain["sex"]["labels"] == [["F", "Women, girls"], ["M", "Men"]]
    assert domain["name"] == ["a", "b, c", "<d"]


def test_a_spec_with_columns_to_be_declared_leads_to_one_with_their_values(records):
    draft, spec = records.with_name("draft.toml"), records.with_name("spec.toml")
    outcome("init", records, "--header", "-o", draft)
    draft.write_text(draft.read_text().replace('sex = "?"', 'sex = ["F", "M"]'))
    again = outcome("init", draft, "-o", records.with_name("again.toml"))
    assert "Not declared in" in again.output
    result = outcome("start", draft, "--quiet", "--values", "age=85", "--values", "name=a,b", "-o", spec)
    assert result.exit_code == 0, result.output
    read = tomllib.loads(spec.read_text())["domain"]
    assert list(read.items()) == [("age", 85), ("sex", ["F", "M"]), ("name", ["a", "b"])]


def test_the_plan_can_be_made_again_with_the_command_that_is_named(records):
    spec = records.with_name("spec.toml")
    lines = ["85", "F, M", "", "", "2", "1", "zcdp=1", "zcdp=1", "n"]
    shown = " ".join(answered(lines, "start", records, "--header", "-o", spec).output.split())
    assert f"as often as you like, with residualplanner plan {spec} --force" in shown
    assert outcome("plan", spec, "--force").exit_code == 0


def test_a_release_of_its_own_budget_is_what_the_ledger_allows_where_nobody_is_asked(records):
    words = ["--header", "--quiet", "--budget", "epsilon=1,delta=1e-9", "--missing", "sex=drop", *ALL]
    assert outcome("start", records, *words, "-o", records.with_name("spec.toml")).exit_code == 0
    read = tomllib.loads(records.with_name("spec.toml").read_text())
    assert read["ledger"]["budget"] == read["budget"]
    assert read["domain"]["sex"]["missing"] == "drop"


def test_a_row_of_a_codebook_without_a_value_is_for_missing_entries(tmp_path, monkeypatch):
    (tmp_path / "books").mkdir()
    book = tmp_path / "books" / "book.csv"
    rows = ["variable,value,label,missing", "edu,a,low,", "edu,b,high,", "edu,,Not stated,", "sex,,Sex at birth,"]
    book.write_text("\n".join([*rows, "sex,1,f,9", "sex,2,m,", "pay,,thousands,"]))
    monkeypatch.chdir(tmp_path)
    result = outcome("init", book, "--dictionary")
    assert f"Wrote book.toml, in the folder {tmp_path}: a spec" in result.output
    text = (tmp_path / "book.toml").read_text()
    assert 'edu = { labels = [["a", "low"], ["b", "high"]], missing = "Not stated" }' in text
    assert "# a row of the dictionary without a value: Sex at birth; missing entries, in the dictionary: 9;" in text
    assert outcome("start", book, "--dictionary", "--quiet", "--values", "pay=2", "-o", "b.toml").exit_code == 0
    assert tomllib.loads((tmp_path / "b.toml").read_text())["domain"]["pay"] == 2


def test_no_existing_file_is_replaced_and_an_end_of_answers_writes_nothing(records):
    records.with_name("spec.plan").write_text("mine")
    refused = outcome("start", records, "--header", "-o", records.with_name("spec.toml"))
    assert "spec.plan exists already" in refused.output
    ended = answered(["h"], "start", records, "-o", records.with_name("other.toml"))
    assert ended.exit_code == 1
    assert not records.with_name("other.toml").exists()
