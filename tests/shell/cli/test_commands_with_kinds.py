"""The commands on a spec that asks for prefixes, ranges and groups: what they say, what they write."""

import csv
import json
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from residualplanner import (
    Domain,
    Hierarchy,
    Identity,
    Prefix,
    Range,
    Workload,
    load_measurement,
    load_plan,
    load_tables,
    marginals,
    reconstruct,
    select,
    zcdp,
)
from residualplanner.gate.measurement.precision import PRECISION_RULE_VARYING
from residualplanner.method.plan.files import plan_hash
from residualplanner.publish.report import figures_folder
from residualplanner.shell.cli import sizes
from residualplanner.shell.cli.sizes import require_writable
from residualplanner.shell.cli.spec.file import read_spec, spec_schema
from residualplanner.shell.cli.spec.starting import spec_text
from slowness import slow

KINDS = """
[[workload]]
queries = [["age", "sex"], { grade = "prefix", sex = "identity" }]
kinds = { age = "range" }

[[workload]]
[[workload.queries]]
region = { kind = "hierarchy", levels = [{ states = ["01", "02"], other = ["NO", "?"] }], total = "all" }
"""
REGIONS = Hierarchy([{"states": ["01", "02"], "other": ["NO", "?"]}], total="all")
QUERIES = [{"age": Range(), "sex": Identity()}, {"grade": Prefix(), "sex": Identity()}, {"region": REGIONS}]


@pytest.fixture
def kinds(spec):
    """The spec of the other tests with kinds."""
    spec.write_text(spec.read_text().replace("[output]", KINDS + "\n[output]"))
    return spec


@pytest.mark.parametrize("word", ["optimal", "orthogonal"])
def test_plan_writes_the_plan_of_select_with_these_bases(run, kinds, folder, word):
    kinds.write_text(f'bases = "{word}"\n{kinds.read_text()}')
    result = run("plan", kinds, status=0)
    plan = load_plan(folder / "spec.plan")
    workload = marginals(plan.domain, up_to=2) + Workload(plan.domain, QUERIES)
    expected = select(workload, budget=zcdp("0.5"), bases=word)
    np.testing.assert_array_equal(plan.noise_variances, expected.noise_variances)
    errors = pd.read_csv(folder / "spec.plan.errors.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(errors, expected.errors(), check_dtype=False, check_categorical=False)
    assert f"Bases       {word} for age, region, grade; subtraction for sex" in result.stdout
    assert "(closed form); no noise of this cost does better with these bases" in result.stdout


#: Ages and grades are queried in two ways, each in tables of its own: there bases by set are better.
MIXED = """\
budget = { zcdp = "0.5" }
bases = "optimal_by_set"
[domain]
age = 8
grade = 6
sex = ["F", "M"]
[[workload]]
queries = [["age", "grade"], ["age", "sex"], { age = "prefix" }, { grade = "prefix" }]
[output]
format = "csv"
profile = "gls"
"""


@pytest.fixture
def mixed(folder):
    (folder / "mixed.toml").write_text(MIXED)
    draw = np.random.default_rng(1)
    frame = pd.DataFrame({"age": draw.integers(0, 8, 90), "grade": draw.integers(0, 6, 90), "sex": ["F", "M"] * 45})
    frame.to_csv(folder / "mixed.csv", index=False)
    return folder / "mixed.toml"


@pytest.mark.slow
def test_bases_by_set_are_planned_measured_and_released(run, mixed, folder):
    """The plan is that of select, and both ways to its tables write the same files."""
    run("plan", mixed, status=0)
    plan = load_plan(folder / "mixed.plan")
    expected = select(plan.workload, budget=zcdp("0.5"), bases="optimal_by_set")
    assert plan.strategy.varying.any()
    np.testing.assert_array_equal(plan.noise_variances, expected.noise_variances)
    assert plan.loss_value < 0.97 * select(plan.workload, budget=zcdp("0.5")).loss_value
    run("release", mixed, folder / "mixed.csv", "-o", "out", status=0)
    run("measure", folder / "mixed.plan", folder / "mixed.csv", "-o", "measured", status=0)
    run("reconstruct", "measured", "-o", "again", "--format", "csv", status=0)
    for name in ("out", "again"):
        manifest = json.loads((folder / name / "manifest.json").read_text())
        assert manifest["noise"]["precision"] == PRECISION_RULE_VARYING
        assert Fraction(manifest["noise"]["pcost"]) <= Fraction(plan.pcost) <= 1
        assert manifest["plan"]["sha256"] == plan_hash(plan)
    assert load_plan(folder / "out" / "release.plan").pcost == plan.pcost
    noise = pd.read_csv(folder / "out" / "noise.csv")["noise_variance"]
    np.testing.assert_array_equal(noise, plan.noise_variances)


@pytest.mark.parametrize(
    ("line", "reason"), [('loss = "max"', "not for the maximum variance"), ('neighbors = "replace"', "are replaced")]
)
def test_bases_by_set_are_refused_where_they_are_not_searched_for(run, mixed, line, reason):
    mixed.write_text(f"{line}\n{MIXED}")
    result = run("plan", mixed, status=2)
    assert reason in " ".join(result.stderr.split())


@pytest.mark.slow
def test_a_slow_search_for_bases_by_set_is_said_before_it_is_made(run, mixed, monkeypatch):
    assert "Size " not in run("plan", mixed).stdout
    monkeypatch.setattr(sizes, "LONG_SEARCH", 0.01)
    told = run("plan", mixed, "-o", "other.plan").stdout.partition("Budget ")[0]
    assert "Size        looking for bases by set takes less than a second" in told


@pytest.mark.slow
def test_where_an_attribute_is_queried_in_several_kinds_bases_by_set_are_named(run, mixed):
    mixed.write_text(MIXED.replace('bases = "optimal_by_set"', ""))
    hint = 'age, grade: several kinds of query; bases = "optimal_by_set" may be more accurate, and takes longer'
    assert hint in run("plan", mixed).stdout
    mixed.write_text("\n".join(['loss = "max"', MIXED.replace('bases = "optimal_by_set"', "")]))
    assert hint not in run("plan", mixed, "-o", "other.plan").stdout


def test_bases_are_optimal_unless_the_spec_says_otherwise(run, kinds):
    assert read_spec(kinds).bases == "optimal"
    assert "Bases       optimal for" in run("plan", kinds).stdout


def test_a_spec_of_single_values_says_nothing_of_bases(run, spec):
    told = run("plan", spec).stdout
    assert "Bases" not in told
    assert "with these bases" not in told
    assert "worst cell" not in told.partition("Accuracy of a cell")[2]


def test_other_bases_are_refused_with_the_words_there_are(run, spec):
    spec.write_text(f'bases = "best"\n{spec.read_text()}')
    result = run("plan", spec)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "spec.toml: bases: expected 'optimal', 'optimal_by_set' or 'orthogonal', got 'best'" in result.stderr


def test_the_schema_knows_the_bases():
    assert spec_schema()["properties"]["bases"]["enum"] == ["optimal", "optimal_by_set", "orthogonal"]


@pytest.mark.parametrize("word", ["optimal_by_set", "orthogonal"])
def test_what_a_starting_spec_says_of_bases_may_be_used_as_it_stands(tmp_path, word):
    text = spec_text(Domain({"age": 3}), up_to=1)
    assert text.count(f'\n# bases = "{word}"\n') == 1
    (tmp_path / "spec.toml").write_text(text.replace(f'# bases = "{word}"', f'bases = "{word}"'))
    assert read_spec(tmp_path / "spec.toml").bases == word


def test_the_error_table_tells_kinds_and_the_worst_cell(run, kinds, folder):
    told = run("plan", kinds).stdout.partition("Accuracy of a cell")[2]
    assert "(10 of 14 tables)" in told
    assert "of the worst cell" in told
    errors = pd.read_csv(folder / "spec.plan.errors.csv").set_index(["query", "kinds"])
    for shown, key in {
        "age (range) × sex": ("age × sex", "range × identity"),
        "grade (prefix) × sex": ("grade × sex", "prefix × identity"),
        "region (hierarchy)": ("region", "hierarchy"),
    }.items():
        row = errors.loc[key]
        (line,) = [line.split() for line in told.splitlines() if line.startswith(f" {shown} ")]
        cells, std_err, _, moe, _, worst = line[-6:]
        assert float(cells) == row["cells"]
        assert float(std_err) == pytest.approx(row["std_err"], rel=1e-3)
        assert float(moe) == pytest.approx(row["moe"], rel=1e-3)
        assert float(worst) == pytest.approx(row["moe"] * row["max_std_err"] / row["std_err"], rel=1e-3)


def test_tables_of_kinds_get_files_that_say_so(run, kinds, records, folder):
    run("plan", kinds, status=0)
    run("measure", "spec.plan", records, "-o", "m", status=0)
    run("reconstruct", "m", "-o", "out", "--format", "csv", status=0)
    with open(folder / "out" / "index.csv", newline="") as file:
        files = {(row["query"], row["kinds"]): row["file"] for row in csv.DictReader(file)}
    assert files["age × sex", "range × identity"] == "tables/age@range.sex.csv"
    assert files["age × sex", "identity × identity"] == "tables/age.sex.csv"
    assert files["region", "hierarchy"] == "tables/region@hierarchy.csv"
    release = reconstruct(load_measurement(folder / "m"))
    for query, file in zip(QUERIES, ("age@range.sex", "grade@prefix.sex", "region@hierarchy"), strict=True):
        found = pd.read_csv(folder / "out" / "tables" / f"{file}.csv", dtype={"region": str})
        pd.testing.assert_frame_equal(found, release[query].to_frame(), check_dtype=False)


def test_release_makes_the_tables_of_kinds_in_one_go(run, kinds, records, folder):
    run("release", kinds, records, "-o", "out", status=0)
    assert (folder / "out" / "tables" / "age@range.sex.csv").exists()


def test_a_table_too_large_to_write_is_refused_before_anything_is_spent(run, kinds, records, folder, monkeypatch):
    monkeypatch.setattr(sizes, "TABLE_LIMIT", 19)
    message = "the table of sex, grade has 20 cells; no more than 19 can be written; choose coarser bins"
    spec = re.sub(r"\[\[workload\]\].*", '[[workload]]\nqueries = [["sex", "grade"]]', kinds.read_text(), flags=re.S)
    kinds.write_text(spec.replace("grade = 5", "grade = 10"))
    result = run("release", kinds, records, "-o", "out")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"Error: {kinds}: {message}" in result.stderr
    assert not (folder / "out").exists()
    told = run("plan", kinds, status=0)
    assert message in told.stdout.partition("Budget ")[0]


def test_a_table_at_the_limit_can_be_written(monkeypatch):
    workload = Workload(Domain({"age": 5}), [{"age": Range()}])
    monkeypatch.setattr(sizes, "TABLE_LIMIT", 15)
    require_writable(workload)
    monkeypatch.setattr(sizes, "TABLE_LIMIT", 14)
    with pytest.raises(rp.errors.WorkloadError, match="the table of age has 15 cells; no more than 14 can be written"):
        require_writable(workload)


def test_a_large_table_says_what_writing_it_takes(run, kinds, monkeypatch):
    monkeypatch.setattr(sizes, "LARGE_TABLE", 19)
    told = run("plan", kinds).stdout
    assert re.search(
        r"Size        writing takes less than a second, \d+ KiB of memory and \d+ KiB of disk as Parquet", told
    )
    monkeypatch.setattr(sizes, "LARGE_TABLE", 20)
    assert "Size " not in run("plan", kinds, "-o", "other.plan").stdout


def test_a_slow_choice_of_bases_is_said_before_it_is_made(run, kinds, monkeypatch):
    monkeypatch.setattr(sizes, "LARGE_SIZE", 4)
    told = run("plan", kinds).stdout.partition("Budget ")[0]
    assert "Size        choosing bases for region (4 values), grade (5 values) takes less than a second" in told


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["csv", slow("parquet")])
def test_tables_files_and_reports_have_the_order_of_the_spec(run, spec, records, folder, file_format):
    queries = '[["sex", "age"], { grade = "prefix", sex = "identity" }, ["region", "age"]]'
    text = re.sub(r"\[\[workload\]\].*", f"[[workload]]\nqueries = {queries}", spec.read_text(), flags=re.S)
    spec.write_text(f'{text}\n[output]\nformat = "{file_format}"\n')
    told = run("plan", spec).stdout
    assert all(name in told for name in ("sex × age", "grade (prefix) × sex", "region × age"))
    run("release", spec, records, "-o", "out", status=0)
    files = sorted(path.name for path in (folder / "out" / "tables").glob(f"*.{file_format}"))
    assert files == [f"{name}.{file_format}" for name in ("grade@prefix.sex", "region.age", "sex.age")]
    tables = load_tables(folder / "out")
    assert list(tables.numbers.frame(("age", "sex")).columns[:2]) == ["sex", "age"]
    assert [tables[names].names for names in (("sex", "age"), ("age", "sex"))] == [("sex", "age"), ("age", "sex")]
    for source in ("spec.plan", "out"):
        run("report", source, "-o", f"{source}.html", status=0)
        errors = pd.read_csv(figures_folder(folder / f"{source}.html") / "errors.csv")
        assert sorted(errors["query"]) == ["grade × sex", "region × age", "sex × age"]
        assert "region × age" in (folder / f"{source}.html").read_text(encoding="utf-8")
