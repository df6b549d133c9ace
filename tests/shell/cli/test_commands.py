"""Every command reads files, calls one function, writes files whole, and tells what it did."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from residualplanner import Prefix, Workload, load_plan, load_tables, marginals, select, zcdp
from shell.specs import domain_of

KINDS = """
[[workload]]
queries = [["age", "sex"], { grade = "prefix", sex = "identity" }]
kinds = { age = "range" }

[[workload]]
[[workload.queries]]
region = { kind = "hierarchy", levels = [{ states = ["01", "02"], other = ["NO", "?"] }], total = "all" }
"""
REGIONS = rp.Hierarchy([{"states": ["01", "02"], "other": ["NO", "?"]}], total="all")
QUERIES = [{"age": rp.Range(), "sex": rp.Identity()}, {"grade": Prefix(), "sex": rp.Identity()}, {"region": REGIONS}]


@pytest.fixture
def kinds(spec):
    """The spec of the other tests with kinds."""
    spec.write_text(spec.read_text().replace("[output]", KINDS + "\n[output]"))
    return spec


def assert_planned(folder, queries, **options):
    plan = load_plan(folder / "spec.plan")
    expected = select(Workload(plan.domain, queries), **options)
    np.testing.assert_array_equal(plan.noise_variances, expected.noise_variances)
    errors = pd.read_csv(folder / "spec.plan.errors.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(errors, expected.errors(), check_dtype=False, check_categorical=False)
    return plan


def test_plan_writes_the_plan_of_select_and_its_errors_and_tells_both(run, spec, folder):
    told = run("plan", spec, status=0).stdout
    assert_planned(folder, marginals(domain_of(spec), up_to=2), budget=zcdp("0.5"))
    assert "0.5-zCDP: rho 0.5, epsilon 5.222 at delta 1e-6, under adding or removing one record" in told
    assert "no linear mechanism has smaller errors" in told
    assert "first 10 of 11 tables" in told
    assert "age × region" in told
    for word in ("Bases", "Changed", "with these bases"):
        assert word not in told
    assert "worst cell" not in told.partition("Accuracy of a cell")[2]
    spec.write_text(spec.read_text().replace('loss = "sum"', 'loss = "max"'))
    assert "of the best of all mechanisms" in run("plan", spec, "-o", "max.plan").stdout


@pytest.mark.parametrize("word", ["optimal", "orthogonal"])
def test_kinds_are_planned_with_the_bases_of_the_spec_and_told_with_their_worst_cells(run, kinds, folder, word):
    kinds.write_text(("" if word == "optimal" else f'bases = "{word}"\n') + kinds.read_text())
    told = run("plan", kinds, status=0).stdout
    both = [*marginals(domain_of(kinds), up_to=2), *QUERIES]
    assert_planned(folder, both, budget=zcdp("0.5"), bases=word)
    assert f"Bases       {word} for age, region, grade; subtraction for sex" in told
    assert re.search(r"within [.\d]+% of the best of all mechanisms", told)
    shown_table = told.partition("Accuracy of a cell")[2]
    assert "(10 of 14 tables)" in shown_table
    assert "of the worst cell" in shown_table
    errors = pd.read_csv(folder / "spec.plan.errors.csv").set_index(["query", "kinds"])
    for shown, key in {
        "age (range) × sex": ("age × sex", "range × identity"),
        "grade (prefix) × sex": ("grade × sex", "prefix × identity"),
        "region (hierarchy)": ("region", "hierarchy"),
    }.items():
        row = errors.loc[key]
        (line,) = [line.split() for line in shown_table.splitlines() if line.startswith(f" {shown} ")]
        cells, std_err, _, moe, _, worst = line[-6:]
        expected = (row["cells"], row["std_err"], row["moe"], row["moe"] * row["max_std_err"] / row["std_err"])
        assert [float(number) for number in (cells, std_err, moe, worst)] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("line", "told"), [("", "smaller than without it"), ("time = 0", "better bases were not searched for")]
)
def test_the_time_of_a_spec_is_that_of_the_search_for_bases_by_set(run, folder, line, told):
    domain = "[domain]\nage = 8\ngrade = 6\n[[workload]]"
    queries = 'queries = [["age", "grade"], { age = "prefix" }, { grade = "prefix" }]'
    (folder / "spec.toml").write_text(f'budget = {{ zcdp = "0.5" }}\n{line}\n{domain}\n{queries}\n')
    assert told in run("plan", "spec.toml").stdout


def test_plan_and_release_tell_which_change_their_numbers_are_about(run, spec, records, folder):
    spec.write_text('neighbors = "replace"\nrecords_per_person = 3\n' + spec.read_text())
    told = run("plan", spec, "-o", "p").stdout
    assert "at delta 1e-6, under replacing up to 3 records" in told
    words = "replacing up to 3 records changes the probability of any set of outcomes by at most a factor of e^5.222"
    assert words in told
    assert load_plan(folder / "p").neighbors == rp.privacy.Neighbors("replace", 3)
    told = run("release", spec, records, "-o", "out").stdout
    assert "under replacing up to 3 records; measuring again spends it again" in told
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    assert manifest["plan"]["protected_change"] == "replacing up to 3 records"


def test_a_starting_spec_of_records_can_be_planned_once_it_is_filled_in(run, records, folder):
    run("init", records, "--header", "-o", "s.toml", status=0)
    refusal = run("plan", "s.toml", status=2).stderr
    assert "s.toml: [domain] the values of these attributes are still to be declared: age, sex, region" in refusal
    text = (folder / "s.toml").read_text()
    for name, values in {"age": 90, "sex": '["F", "M"]', "region": '["01", "02", "NO"]', "grade": 5}.items():
        text = text.replace(f'\n{name} = "?"', f"\n{name} = {values}")
    (folder / "s.toml").write_text(text)
    run("release", "s.toml", records, "-o", "out", status=0)
    (folder / "domain.json").write_text(json.dumps({"age": 85, "sex": ["F", "M"]}))
    assert "Next: look through it, then run  residualplanner plan domain.toml" in run("init", "domain.json").stdout


def test_a_table_too_large_to_write_is_refused_before_anything_is_spent_and_planned_for(run, folder, spec, spoil):
    domain = '[domain]\na = 16384\nb = 16385\n[[workload]]\nqueries = [["a", "b"]]\n'
    spec.write_text(f"budget = {{ zcdp = 1 }}\n{domain}")
    spoil()
    message = "the table of a, b has 268,451,840 cells; no more than 268,435,456 can be written; choose coarser bins"
    result = run("release", spec, "records.csv", "-o", "out", status=2)
    assert f"Error: {spec}: {message}" in result.stderr
    assert not (folder / "out").exists()
    assert message in run("plan", spec, status=0).stdout.partition("Budget ")[0]


def test_a_plan_for_targets_says_which_budget_they_need_and_whether_they_are_met(run, folder):
    text = '[domain]\na = 3\nb = 2\n[[workload]]\nup_to = 2\n[[targets]]\nqueries = [["a", "b"]]\nmoe = 5\n'
    (folder / "spec.toml").write_text(text)
    told = run("plan", "spec.toml").stdout
    assert "Targets     met by the table that has one, at level 0.95" in told
    rho = re.search(r"rho ([0-9.]+)", told)[1]
    assert re.search(r"Minimized   largest margin of error \(0.95\) relative to its target: 1 \(certified\)", told)
    assert "± 5" in told
    assert "target" in (folder / "spec.plan.errors.csv").read_text().splitlines()[0]
    told = run("plan", "spec.toml", "--budget", "zcdp=0.05", "-o", "less").stdout
    assert re.search(rf"missed by the table that has one, .* factor of up to [0-9.]+; rho {rho} would do", told)


# Formats, profiles and levels.


def test_options_take_the_place_of_what_the_spec_says_of_tables(run, spec, records, folder):
    spec.write_text(spec.read_text() + 'profile = "acs"\n')
    run("release", spec, records, "-o", "out", "--format", "parquet", "--profile", "gls", status=0)
    tables = load_tables(folder / "out")
    assert tables.numbers.manifest["tables"]["format"] == "parquet"
    assert tables.numbers.frame("sex")["query"].tolist() == ["sex=F", "sex=M"]
    for level, expected in (((), 0.9), (("--level", "0.5"), 0.5)):
        run("reconstruct", "out", "-o", f"at-{expected}", "--profile", "acs", *level, status=0)
        assert load_tables(folder / f"at-{expected}").numbers.metadata["tables"]["conf_level"] == expected
    run("plan", spec, "-o", "p", status=0)
    assert ",0.9," in (folder / "p.errors.csv").read_text().splitlines()[1]  # that of the spec's profile


def test_what_this_machine_cannot_write_is_planned_and_refused_before_the_charge(run, spec, records, folder):
    run("ledger", "l", "--create", "survey", "--budget", "zcdp=1", status=0)
    before = (folder / "l").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "xlsxwriter", None)
        spec.write_text(spec.read_text().replace('"csv"', '"xlsx"'))
        run("plan", spec, status=0)
        result = run("release", spec, records, "-o", "out", "--ledger", "l", status=1)
    assert "pip install 'residualplanner[report]'" in result.stderr
    spec.write_text(spec.read_text().replace("grade = 5", "E = 5"))
    result = run("release", spec, records, "-o", "out", "--ledger", "l", "--profile", "acs", status=2)
    assert "attribute 'E' has the name of a column of estimates" in result.stderr
    assert (folder / "l").read_bytes() == before
    assert not (folder / "out").exists()


PUBLISHED = """round_to = 5
quality = { reliable = 0.1, usable = 0.2, suppress = true }
[output.publication]
title = "Ages & sexes"
author = "An office"
date = 2026-11-22
"""


def test_a_spec_says_how_tables_and_reports_are_published(run, spec, records, folder):
    spec.write_text(spec.read_text() + PUBLISHED)
    run("release", spec, records, "-o", "out", status=0)
    tables = load_tables(folder / "out")
    assert (tables.product.name, tables.product.base) == ("rounded", 5)
    assert tables.numbers.quality == rp.publish.Quality(reliable=0.1, usable=0.2, suppress=True)
    publication = rp.publish.Publication(title="Ages & sexes", author="An office", date="2026-11-22")
    assert tables.numbers.publication == publication
    run("reconstruct", "out", "--spec", spec, "-o", "same", status=0)
    for path in (folder / "out" / "tables").iterdir():
        assert path.read_bytes() == (folder / "same" / "tables" / path.name).read_bytes()
    run("reconstruct", "out", "--spec", spec, "--format", "workbook", "-o", "book", status=0)
    assert (folder / "book" / "tables.xlsx").is_file()
    assert load_tables(folder / "book").numbers.publication.author == "An office"


# Processes.


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_files_are_written_even_if_nobody_reads_what_is_printed(spec, folder, form):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "residualplanner", "plan", str(spec), *form]
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (result.returncode, result.stderr) == (0, b"")
    assert (folder / "spec.plan").exists()


@pytest.mark.slow
def test_help_loads_nothing_heavy(folder):
    heavy = ["numpy", "scipy", "pandas", "pyarrow", "duckdb", "cvxpy", "pydantic", "narwhals"]
    code = (
        "import sys, residualplanner.shell.cli as cli\nsys.argv = ['residualplanner', '--help']\n"
        f"try:\n    cli.main()\nfinally:\n    print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Usage: residualplanner" in result.stdout
    assert result.stderr == "[]\n"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the console script is found beside the interpreter on POSIX")
def test_the_script_is_installed(folder):
    script = os.path.join(os.path.dirname(sys.executable), "residualplanner")
    result = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"residualplanner {rp.__version__}\n"
