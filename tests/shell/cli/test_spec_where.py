"""A spec can ask for tables about some of the records."""

import re

import pytest

import residualplanner as rp
from residualplanner import errors
from residualplanner.shell.cli.spec.file import read_spec
from residualplanner.shell.cli.spec.objects import domain_of_spec, targets_of_spec, workload_of_spec

HEAD = """\
budget = { zcdp = 1 }
[domain]
age = { bins = [0, 18, 65, inf] }
sex = ["F", "M"]
works = [true, false]
[[workload]]
"""


@pytest.fixture
def spec_of(tmp_path):
    def read(text):
        (tmp_path / "spec.toml").write_text(HEAD + text)
        return read_spec(tmp_path / "spec.toml")

    return read


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("up_to = 1\nwhere = { works = true }", [(), ("age",), ("sex",)]),
        ('queries = [["sex", "age"]]\nwhere = { works = [true] }', [("sex", "age")]),
        ('queries = [{ age = "prefix" }]\nwhere = { works = true }', [{"age": rp.Prefix()}]),
        ('queries = [["age", "sex"]]\nkinds = { age = "prefix" }\nwhere.works = true',
         [{"age": rp.Prefix(), "sex": rp.Identity()}]),
        ('queries = [["age", "sex"]]\nat_least = 1\nwhere.works = true', [rp.Threshold(("age", "sex"), 1)]),
        ("order = 2\nat_least = 1\nwhere.works = true", [rp.Threshold(("age", "sex"), 1)]),
    ],
)  # fmt: skip
def test_all_tables_of_an_entry_are_about_the_records_of_where(spec_of, text, queries):
    spec = spec_of(text)
    workload = workload_of_spec(spec, domain_of_spec(spec))
    assert list(workload) == [rp.Among(query, where={"works": True}) for query in queries]


def test_labels_of_the_table_and_runs_of_bins_are_selected(spec_of):
    spec = spec_of('queries = [["age", "sex"]]\nwhere = { age = "[0, 65)", sex = ["F", "M"] }')
    assert list(workload_of_spec(spec, domain_of_spec(spec))) == [
        rp.Among(("age", "sex"), where={"age": ["[0, 18)", "[18, 65)"]})
    ]


def test_targets_are_for_tables_about_some_records(spec_of):
    spec = spec_of(
        'queries = [["sex"]]\nwhere.works = true\n[[targets]]\nqueries = [["sex"]]\nwhere.works = true\nmoe = 5'
    )
    workload = workload_of_spec(spec, domain_of_spec(spec))
    assert targets_of_spec(spec).in_order(workload).tolist() == [5.0]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("up_to = 1\nwhere = { works = [] }", errors.FileFormatError, "expected a label, or a list of labels such as"),
        ("up_to = 1\nwhere = { works = 0.5 }", errors.FileFormatError, "expected a label, or a list of labels such as"),
        ("up_to = 1\nwhere = true", errors.FileFormatError, "where"),
        ("up_to = 1\nwhere = { works = 1 }", errors.DomainError,
         "'works' has no value 1 to select; its labels are 'true'"),
        ("up_to = 1\nwhere = { work = true }", errors.DomainError, "'work'"),
        ('queries = [["age", "sex"]]\nat_least = 1\nwhere.sex = "F"', errors.WorkloadError,
         r"\[\[workload\]\] number 1, queries, entry 1: an attribute that a threshold matches cannot be selected from"),
        ("order = 3\nwhere.works = true", errors.WorkloadError,
         "order=3, but where leaves only 2 attributes for tables"),
    ],
)  # fmt: skip
def test_what_selects_nothing_is_refused(spec_of, text, error, message):
    def read():
        spec = spec_of(text)
        return workload_of_spec(spec, domain_of_spec(spec))

    with pytest.raises(error, match=message):
        read()


def test_the_commands_show_and_file_tables_about_some_records(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(
        HEAD + 'queries = [["sex"]]\n[[workload]]\nqueries = [["sex"]]\nwhere.works = true\n'
    )
    (tmp_path / "people.csv").write_text("age,sex,works\n" + "30,F,true\n20,M,false\n" * 9)
    assert re.search(r"sex among works: true +2 ", run("plan", "spec.toml").output)
    run("release", "spec.toml", "people.csv", "-o", "out", status=0)
    assert (tmp_path / "out" / "tables" / "sex.works@among-true.parquet").is_file()
