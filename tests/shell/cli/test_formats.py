"""Formats and profiles on the command line: from the spec or an option, and refused before anything is spent."""

import sys

import pytest

from residualplanner import load_tables
from residualplanner.publish import style


def test_a_release_is_written_as_its_spec_says(run, spec, records, folder):
    spec.write_text(spec.read_text().replace('format = "csv"', 'format = "xlsx"\nprofile = "acs"'))
    run("release", spec, records, "-o", "out", status=0)
    tables = load_tables(folder / "out")
    assert tables.numbers.frame("sex").columns.tolist() == ["sex", "E", "M"]
    assert tables.numbers.frame("region")["region"].tolist() == ["01", "02", "NO", "?"]
    assert tables.numbers.manifest["tables"] == {"count": 11, "format": "xlsx", "profile": "acs", "conf_level": 0.9}


def test_options_take_the_place_of_the_spec(run, spec, records, folder):
    run("release", spec, records, "-o", "out", "--format", "parquet", "--profile", "gls", status=0)
    assert load_tables(folder / "out").numbers.manifest["tables"]["format"] == "parquet"
    assert load_tables(folder / "out").numbers.frame("sex")["query"].tolist() == ["sex=F", "sex=M"]


@pytest.mark.parametrize(("level", "expected"), [((), 0.9), (("--level", "0.5"), 0.5)])
def test_a_measurement_is_reconstructed_in_any_profile(run, spec, records, folder, level, expected):
    run("plan", spec, "-o", "p", status=0)
    run("measure", "p", records, "-o", "m", status=0)
    run("reconstruct", "m", "-o", "out", "--profile", "acs", *level, status=0)
    assert load_tables(folder / "out").numbers.metadata["tables"]["conf_level"] == expected


def test_the_plans_margins_are_at_the_level_of_the_profile(run, spec, folder):
    spec.write_text(spec.read_text() + 'profile = "acs"\n')
    run("plan", spec, "-o", "p", status=0)
    assert ",0.9," in (folder / "p.errors.csv").read_text().splitlines()[1]


def test_what_cannot_be_written_is_refused_before_the_ledger_is_charged(run, spec, records, folder, monkeypatch):
    run("ledger", "l", "--create", "survey", "--budget", "zcdp=1", status=0)
    before = (folder / "l").read_bytes()
    spec.write_text(spec.read_text().replace("grade = 5", "E = 5"))
    result = run("release", spec, records, "-o", "out", "--ledger", "l", "--profile", "acs", status=2)
    assert "attribute 'E' has the name of a column of estimates" in result.stderr
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    result = run("release", spec, records, "-o", "out", "--ledger", "l", "--format", "xlsx", status=1)
    assert "pip install 'residualplanner[report]'" in result.stderr
    assert (folder / "l").read_bytes() == before
    assert not (folder / "out").exists()


@pytest.mark.parametrize(("options", "expected"), [((), "parts"), (("--format", "csv"), "csv")])
def test_very_many_tables_are_in_parts_and_it_is_said(run, spec, records, folder, monkeypatch, options, expected):
    monkeypatch.setattr(style, "MOST_FILES", 5)
    spec.write_text(spec.read_text().replace('format = "csv"', ""))
    result = run("release", spec, records, "-o", "out", *options, status=0)
    assert run("reconstruct", "out", "-o", "again", *options).output.count("Format") == (expected == "parts")
    assert ("--format parquet writes a file for each" in result.output) == (expected == "parts")
    for name in ("out", "again"):
        assert load_tables(folder / name).numbers.manifest["tables"]["format"] == expected
    rehearsal = run("reconstruct", "out", "-o", "third", "--dry-run", *options)
    assert f"11 tables as {expected}" in rehearsal.output
