"""The command report: a page from a plan or from a folder, and clean refusals."""

import sys

import pytest

from shell.specs import events


@pytest.fixture
def tables(folder, spec, records, run):
    """A release folder."""
    run("release", spec, records, "-o", "tables", "--quiet", status=0)
    return folder / "tables"


@pytest.mark.slow
def test_a_release_folder_becomes_a_page(folder, tables, run):
    result = run("report", "tables", status=0)
    assert "Wrote report.html: the tables, how accurate each is, how they were made" in result.output
    assert "report-figures" in result.output
    assert "Next: open report.html" in result.output
    assert (folder / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert (folder / "report-figures" / "fairness.svg").is_file()
    again = run("report", "tables", status=2)
    assert "report.html exists already and is not overwritten" in again.output
    assert "--force replaces a report and its figures" in again.output


@pytest.mark.slow
def test_a_report_is_replaced_by_force_and_other_files_are_not(folder, spec, run):
    run("plan", spec, "-o", "small.plan", "--quiet", status=0)
    run("report", "small.plan", "--quiet", status=0)
    old = (folder / "report.html").read_text()
    (folder / "report-figures" / "errors.csv").write_text("old")
    run("report", "small.plan", "--level", "0.9", "--force", "--quiet", status=0)
    assert (folder / "report.html").read_text() != old
    assert (folder / "report-figures" / "errors.csv").read_text() != "old"
    assert not list(folder.glob(".*"))
    (folder / "report-figures" / "mine.txt").write_text("mine")
    refused = run("report", "small.plan", "--force", status=2)
    assert "report-figures holds more than figures, so it is not replaced" in refused.output
    assert (folder / "report-figures" / "mine.txt").read_text() == "mine"
    (folder / "page.html").write_text("<html>mine</html>")
    refused = run("report", "small.plan", "-o", "page.html", "--force", status=2)
    assert "page.html exists already and is not a report, so it is not replaced" in refused.output


@pytest.mark.slow
def test_a_report_that_fails_leaves_the_old_one(folder, spec, run, failing):
    run("plan", spec, "-o", "small.plan", "--quiet", status=0)
    run("report", "small.plan", "--quiet", status=0)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    with failing("write figures"):
        run("report", "small.plan", "--level", "0.9", "--force", status=1)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_plan_becomes_a_page(folder, spec, run):
    run("plan", spec, "-o", "small.plan", "--quiet", status=0)
    found = events(run("report", "small.plan", "-o", "page.html", "--level", "0.9", "--json", status=0))
    assert [event["path"] for event in found if event["event"] == "wrote"] == ["page.html", "page-figures"]
    text = (folder / "page.html").read_text()
    assert "Accuracy and privacy of small.plan" in text
    assert "90% margin of error" in text


def test_what_cannot_be_reported_is_refused_in_one_line(folder, spec, run):
    (folder / "damaged").write_bytes(b"PK\xff")
    for arguments, words in (
        (["nothing"], "there is no file nothing"),
        ([spec], "spec.toml is a spec"),
        (["."], ". is a folder; report wants a plan, the folder of a release, or a ledger"),
        (["damaged"], "this is not a residualplanner file, or it is damaged"),
        (["damaged", "-o", "no/where.html"], "the folder no does not exist"),
    ):
        result = run("report", *arguments, status=2)
        assert words in " ".join(result.output.split())
    assert sorted(path.name for path in folder.iterdir()) == ["damaged", "spec.toml"]


def test_a_missing_extra_is_named(folder, spec, run, monkeypatch):
    run("plan", spec, "-o", "small.plan", "--quiet", status=0)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = run("report", "small.plan", status=1)
    assert "pip install 'residualplanner[report]'" in result.output
    assert not (folder / "report.html").exists()
