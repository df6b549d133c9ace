"""Every command reads files, calls one function, writes files whole, and tells what it did."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import residualplanner
import residualplanner as rp
from residualplanner import Bins, Domain, load_measurement, load_plan, marginals, reconstruct, select, zcdp
from residualplanner.shell.cli import output as output_module
from residualplanner.shell.cli.output import Output

DOMAIN = Domain({"age": Bins([0, 18, 65, float("inf")]), "sex": ["F", "M"]})


def test_plan_writes_the_plan_of_select_and_its_errors(run, spec, folder):
    run("plan", spec, status=0)
    plan = load_plan(folder / "spec.plan")
    expected = select(marginals(plan.domain, up_to=2), budget=zcdp("0.5"))
    np.testing.assert_array_equal(plan.noise_variances, expected.noise_variances)
    errors = pd.read_csv(folder / "spec.plan.errors.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(errors, expected.errors(), check_dtype=False, check_categorical=False)


def test_plan_tells_budget_cost_and_accuracy(run, spec):
    told = run("plan", spec).stdout
    assert "0.5-zCDP: rho 0.5, epsilon 5.222 at delta 1e-6" in told
    assert "no noise of this cost does better" in told
    assert "first 10 of 11 tables" in told
    assert "age × region" in told


def test_plan_tells_which_change_its_numbers_are_about(run, spec, records, folder):
    assert "at delta 1e-6, under adding or removing one record" in run("plan", spec).stdout
    spec.write_text('neighbors = "replace"\nrecords_per_person = 3\n' + spec.read_text())
    told = run("plan", spec, "-o", "p").stdout
    assert "at delta 1e-6, under replacing up to 3 records" in told
    assert (
        "replacing up to 3 records changes the probability of any set of outcomes by at most a factor of e^5.222"
        in told
    )
    assert load_plan(folder / "p").neighbors == rp.privacy.Neighbors("replace", 3)
    told = run("release", spec, records, "-o", "out").stdout
    assert "under replacing up to 3 records; measuring again spends it again" in told
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    assert manifest["plan"]["protected_change"] == "replacing up to 3 records"


def test_plan_tells_the_certified_gap_of_a_maximum(run, spec):
    spec.write_text(spec.read_text().replace('loss = "sum"', 'loss = "max"'))
    assert "proved to be within" in run("plan", spec).stdout


def test_the_three_steps_write_what_the_library_makes(run, spec, records, folder):
    run("plan", spec, "-o", "p", status=0)
    run("measure", "p", records, "-o", "m", status=0)
    run("reconstruct", "m", "-o", "tables", "--format", "csv", "--level", "0.9", status=0)
    expected = reconstruct(load_measurement(folder / "m"))["sex", "region"].to_frame(level=0.9)
    index = pd.read_csv(folder / "tables" / "index.csv").set_index("query")
    found = pd.read_csv(folder / "tables" / index.loc["sex × region", "file"], dtype={"region": str})
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert (folder / "tables" / "errors.csv").exists()
    assert json.loads((folder / "tables" / "manifest.json").read_text())["plan"]["budget"]["given"] == ["0.5"]


def test_release_writes_the_tables_of_its_spec_and_holds_what_was_measured(run, spec, records, folder):
    result = run("release", spec, records, "-o", "out", status=0)
    assert "measuring again spends it again" in result.stdout
    index = pd.read_csv(folder / "out" / "index.csv").set_index("query")
    assert len(index) == 11
    found = pd.read_csv(folder / "out" / index.loc["sex", "file"])
    expected = reconstruct(load_measurement(folder / "out" / "release.measurement"))["sex"].to_frame()
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_release_writes_parquet_where_the_spec_says_so(run, spec, records, folder):
    spec.write_text(spec.read_text().replace('"csv"', '"parquet"'))
    run("release", spec, records, "-o", "out", status=0)
    index = pd.read_csv(folder / "out" / "index.csv").set_index("query")
    assert pq.read_table(folder / "out" / index.loc["age", "file"]).column_names[:3] == ["age", "estimate", "std_err"]


def test_an_estimate_is_near_its_count(run, spec, records, folder):
    spec.write_text(spec.read_text().replace('zcdp = "0.5"', 'zcdp = "5000"'))
    run("release", spec, records, "-o", "out")
    index = pd.read_csv(folder / "out" / "index.csv").set_index("query")
    found = pd.read_csv(folder / "out" / index.loc["sex", "file"]).set_index("sex")
    expected = pd.read_csv(records)["sex"].value_counts()
    assert (found["estimate"] - expected).abs().max() < 6 * found["std_err"].max() < 1


def test_a_starting_spec_of_a_schema_can_be_planned(run, folder):
    (folder / "domain.json").write_text(json.dumps({"age": 85, "sex": ["F", "M"]}))
    assert "Next: look through it, then run  residualplanner plan domain.toml" in run("init", "domain.json").stdout
    run("plan", "domain.toml", status=0)
    assert load_plan(folder / "domain.plan").domain == Domain({"age": 85, "sex": ["F", "M"]})


def test_a_starting_spec_of_records_can_be_planned_once_it_is_filled_in(run, records, folder):
    run("init", records, "--header", "-o", "s.toml", status=0)
    refusal = run("plan", "s.toml", status=2)
    assert (
        "s.toml: [domain] the values of these attributes are still to be declared: age, sex, region" in refusal.stderr
    )
    text = (folder / "s.toml").read_text()
    for name, values in {"age": 90, "sex": '["F", "M"]', "region": '["01", "02", "NO"]', "grade": 5}.items():
        text = text.replace(f'\n{name} = "?"', f"\n{name} = {values}")
    (folder / "s.toml").write_text(text)
    run("release", "s.toml", records, "-o", "out", status=0)


def test_quiet_commands_say_nothing(run, spec, records, folder):
    commands = [
        ("plan", spec, "-o", "p"),
        ("measure", "p", records, "-o", "m"),
        ("reconstruct", "m", "-o", "t"),
        ("release", spec, records, "-o", "out"),
        ("init", records, "--header", "-o", "s.toml"),
    ]
    for command in commands:
        result = run(*command, "--quiet")
        assert (result.exit_code, result.output) == (0, "")


def test_schema_prints_json(run):
    assert json.loads(run("schema").stdout)["title"] == "residualplanner spec"


@pytest.mark.parametrize("command", ["demo", "init", "plan", "measure", "reconstruct", "release", "schema"])
def test_every_command_has_a_help_text(run, command):
    assert command in run("--help").stdout
    assert "Usage: " in run(command, "--help").stdout


def test_the_same_plan_tells_the_same_whatever_the_records(run, spec, records, folder):
    run("plan", spec, "-o", "p")
    (folder / "none.csv").write_text("age,sex,region,grade\n")
    told = [run("measure", "p", data, "-o", f"m{n}").stdout for n, data in enumerate((records, folder / "none.csv"))]
    assert told[0].replace("m0", "m1") == told[1]
    assert (folder / "m0").stat().st_size == (folder / "m1").stat().st_size


def test_a_bar_appears_on_a_terminal_only(monkeypatch, capsys):
    monkeypatch.setattr(output_module, "PATIENCE", 0.0)
    for forced, expected in (("", False), ("1", True)):
        monkeypatch.setenv("FORCE_COLOR", forced)
        with Output().progress("counting things") as progress:
            for done in range(40):
                progress(done, 40)
                _wait()
        assert ("counting things" in capsys.readouterr().err) is expected


def _wait():
    import time

    time.sleep(0.005)


def test_short_work_shows_no_bar(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Output().progress("counting things") as progress:
        progress(1, 2)
    assert capsys.readouterr().err == ""


def test_a_large_plan_says_first_what_it_takes(run, folder, monkeypatch):
    monkeypatch.setattr("residualplanner.shell.cli.sizes.LARGE_SETS", 2)
    monkeypatch.setattr("residualplanner.shell.cli.sizes.LARGE_CELLS", 100)
    (folder / "domain.json").write_text(json.dumps({"a": 30, "b": 40}))
    run("init", "domain.json")
    told = run("plan", "domain.toml").stdout
    assert told.index("4 sets of attributes; planning takes") < told.index("Budget ")
    assert told.index("counts; measuring takes") < told.index("Budget ")


def test_a_plan_for_targets_says_which_budget_they_need_and_whether_they_are_met(run, folder):
    (folder / "spec.toml").write_text(
        '[domain]\na = 3\nb = 2\n[[workload]]\nup_to = 2\n[[targets]]\nqueries = [["a", "b"]]\nmoe = 5\n'
    )
    told = run("plan", "spec.toml").stdout
    assert "Targets     met by the table that has one, at level 0.95" in told
    rho = re.search(r"rho ([0-9.]+)", told)[1]
    assert re.search(r"Minimized   largest margin of error \(0.95\) relative to its target: 1 \(certified\)", told)
    assert "± 5" in told
    assert "target" in (folder / "spec.plan.errors.csv").read_text().splitlines()[0]
    (folder / "less.toml").write_text(f'budget = {{ zcdp = "0.05" }}\n{(folder / "spec.toml").read_text()}')
    told = run("plan", "less.toml").stdout
    assert re.search(rf"missed by the table that has one, .* factor of up to [0-9.]+; rho {rho} would do", told)


def _process(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_module_is_the_command(folder):
    result = _process("-m", "residualplanner", "--version")
    assert (result.returncode, result.stdout) == (0, f"residualplanner {residualplanner.__version__}\n")


@pytest.mark.slow
def test_files_are_written_even_if_nobody_reads_what_is_printed(spec, folder):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "residualplanner", "plan", str(spec)]
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (result.returncode, result.stderr) == (0, b"")
    assert (folder / "spec.plan").exists()


@pytest.mark.slow
def test_help_loads_nothing_heavy(folder):
    heavy = ["pandas", "pyarrow", "duckdb", "cvxpy", "pydantic", "narwhals"]
    code = (
        "import sys, residualplanner.shell.cli as cli\nsys.argv = ['residualplanner', '--help']\n"
        f"try:\n    cli.main()\nfinally:\n    print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    result = _process("-c", code)
    assert "Usage: residualplanner" in result.stdout
    assert result.stderr == "[]\n"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the console script is found beside the interpreter on POSIX")
def test_the_script_is_installed(folder):
    script = os.path.join(os.path.dirname(sys.executable), "residualplanner")
    result = subprocess.run([script, "schema"], capture_output=True, text=True, check=True)
    assert json.loads(result.stdout)["type"] == "object"
