"""What a release has paid for is never lost: it is on the disk before tables are made, and the user is told so."""

import errno
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from residualplanner import Domain, Ledger, load_measurement, load_plan, marginals, measure, reconstruct, select, zcdp
from shell.specs import steps


@pytest.fixture
def ledger(run, folder):
    """A ledger with room for two releases of the spec."""
    run("ledger", "l", "--create", "census 2030", "--budget", "zcdp=1")
    return folder / "l"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(28, "No space left on device", "out"), "out: No space left on device"),
        (MemoryError(), "there was not enough memory to write these tables"),
        (KeyboardInterrupt(), "interrupted"),
        (ZeroDivisionError("canary"), "unexpected ZeroDivisionError"),
    ],
)
def test_the_command_that_a_failed_release_tells_makes_its_tables(
    run, spec, records, folder, ledger, failing, error, told
):
    before = os.listdir(folder)
    with failing("tables", error):
        failed = run("release", spec, records, "-o", "out", "--ledger", ledger)
    assert failed.exit_code == 1
    lines = failed.stderr.splitlines()
    assert lines[0].startswith(f"Error: {told}")
    assert "nothing was written" not in failed.stderr
    assert lines[1] == "The measurement, which has been paid for, is safe in out.measurement; no tables were written."
    assert lines[2] == "Next: residualplanner reconstruct out.measurement -o out"
    assert sorted(os.listdir(folder)) == sorted([*before, "out.measurement"])
    assert len(Ledger.open(ledger).entries) == 1

    run(*lines[2].split()[2:], "--format", "csv", status=0)
    expected = reconstruct(load_measurement(folder / "out.measurement"))["sex"].to_frame()
    index = pd.read_csv(folder / "out" / "index.csv").set_index("query")
    found = pd.read_csv(folder / "out" / index.loc["sex", "file"])
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert len(Ledger.open(ledger).entries) == 1


def test_a_measurement_that_waits_for_its_tables_is_not_paid_for_twice(
    run, spec, records, folder, ledger, failing, spoil
):
    with failing("tables", MemoryError()):
        run("release", spec, records, "-o", "out")
    assert load_measurement(folder / "out.measurement").plan.pcost <= 1
    spoil()
    refused = run("release", spec, records, "-o", "out", "--ledger", ledger, status=2)
    assert "out.measurement exists already" in refused.stderr
    assert "residualplanner reconstruct out.measurement -o out\n" in refused.stderr
    assert Ledger.open(ledger).spent == 0


@pytest.mark.parametrize("charge", ["counted", "first"])
def test_records_that_do_not_fit_cost_nothing_unless_the_charge_comes_first(run, spec, folder, ledger, paying, charge):
    (folder / "bad.csv").write_text("age,sex,region,grade\n30,X,01,0\n")
    told = run(*paying, "bad.csv", "-o", "out", "--ledger", ledger, "--charge", charge, status=2)
    is_charged = charge == "first"
    assert ("The charge stays: pcost 1, entry 1 of the ledger." in told.stderr) == is_charged
    assert ("Nothing was charged to the ledger." in told.stderr) != is_charged
    assert "Nothing was written." in told.stderr
    assert len(Ledger.open(ledger).entries) == is_charged


@pytest.mark.parametrize("name", ["bad.csv", "bad.parquet"])
def test_a_missing_column_is_found_before_the_charge(run, spec, folder, ledger, paying, name):
    records = pd.DataFrame({"age": [3], "sex": ["F"], "canary": ["01"]})
    records.to_csv(folder / "bad.csv", index=False)
    records.to_parquet(folder / "bad.parquet")
    for dry in ((), ("--dry-run",)):
        told = run(*paying, name, "-o", "out", "--ledger", ledger, *dry, status=2)
        assert f"{name}: columns 'region' and 'grade' are missing from the data" in told.stderr
        assert 'to see those of the file, run "residualplanner check SPEC FILE"' in told.stderr
        assert "canary" not in told.output
        assert "charge" not in told.stderr
    assert Ledger.open(ledger).spent == 0


FULL = """
import resource, sys
sys.dont_write_bytecode = True  # a compiled module that is cut off would stop all later tests
from residualplanner.shell.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
main()
"""


@pytest.mark.cases(1)
@pytest.mark.slow
def test_where_there_is_no_space_for_what_is_measured_nothing_is_spent(run, spec, records, folder, ledger, paying):
    before = sorted(os.listdir(folder))
    arguments = [*paying, "records.csv", "-o", "out", "--ledger", "l"]
    result = subprocess.run(
        [sys.executable, "-c", FULL, "4000", *arguments], capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert "File too large\nNothing was written." in result.stderr
    assert Ledger.open(ledger).spent == 0
    assert sorted(os.listdir(folder)) == before


def test_the_space_set_aside_is_what_a_measurement_takes(run, spec, records, folder):
    (folder / "domain.json").write_text(json.dumps({f"a{n}": 2 + n % 7 for n in range(30)}))
    run("init", "domain.json")
    text = (folder / "domain.toml").read_text().replace("\nup_to = 2\n", "\nup_to = 3\n")
    (folder / "domain.toml").write_text(text)
    for name, data in (("domain.toml", "none.csv"), (spec, records)):
        (folder / "none.csv").write_text(",".join(f"a{n}" for n in range(30)) + "\n")
        run("plan", name, "-o", f"{name}.p", status=0)
        run("measure", f"{name}.p", data, "-o", f"{name}.m", status=0)
        written, expected = (folder / f"{name}.m").stat().st_size, steps.measurement_bytes(load_plan(f"{name}.p"))
        assert written <= expected <= 1.5 * written + 2**17


@pytest.mark.parametrize("code", [95, 22, 38])
def test_a_file_system_that_cannot_set_space_aside_is_taken_at_its_word(tmp_path, failing, code):
    with failing("set space aside", OSError(code, "not here")):
        steps.require_space(tmp_path / "out", 10**15)
    assert os.listdir(tmp_path) == []


def test_lines_that_are_no_records_are_told_before_the_charge_and_newlines_in_values_read_on_request(
    run, spec, folder, ledger, paying
):
    (folder / "notes.csv").write_text('age,sex,region,grade,note\n30,F,01,0,"two\nlines"\n')
    told = run(*paying, "notes.csv", "-o", "out", "--ledger", ledger, status=2)
    assert "has lines in which a quote does not close" in told.stderr
    assert "--newlines-in-values" in told.stderr
    assert "Nothing was charged to the ledger." in told.stderr
    assert Ledger.open(ledger).spent == 0
    run(*paying, "notes.csv", "-o", "out", "--ledger", ledger, "--newlines-in-values", status=0)
    assert len(Ledger.open(ledger).entries) == 1


@pytest.mark.parametrize("form", ["csv", "parquet", "xlsx"])
def test_a_disk_that_cannot_take_the_tables_is_found_before_the_charge(
    run, spec, ledger, failing, small_disk, spoil, form
):
    def refused(message):
        result = run("release", spec, "records.csv", "-o", "out", "--ledger", ledger, "--format", form, status=1)
        assert message in result.stderr
        assert "Nothing was written." in result.stderr

    spoil()
    with failing("make a folder", PermissionError(errno.EACCES, "Permission denied", ".out.partial")):
        refused("Permission denied")
    small_disk(1000)
    refused("the disk has 1,000 bytes free, and the tables take at least")
    assert Ledger.open(ledger).spent == 0


@pytest.mark.slow
def test_what_tables_take_at_least_is_not_more_than_what_they_take(tmp_path):
    domain = Domain({"a": 30, "b": 40, "c": 3})
    release = reconstruct(measure(select(marginals(domain, up_to=3), budget=zcdp(1)), np.zeros((9, 3), dtype=np.int64)))
    for form, (per_cell, per_table) in steps._LEAST.items():
        for profile in ("default",) if form == "parts" else ("default", "acs"):
            (tmp_path / form).mkdir(exist_ok=True)
            folder = tmp_path / form / profile
            release.save(folder, form, profile=profile)
            files = [file for name in ("tables", "parts") for file in (folder / name).glob("*.*")]
            written = sum(file.stat().st_size for file in [*files, *folder.glob("tables.xlsx")])
            least = per_cell * release.plan.workload.cells.sum() + per_table * len(release)
            assert 0.1 * written < least < written, (form, profile)
