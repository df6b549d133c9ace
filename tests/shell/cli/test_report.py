"""The command report replaces a page and its figures, and no other file."""

import pytest


@pytest.mark.slow
def test_a_report_is_replaced_by_force_and_other_files_are_not(folder, spec, run):
    run("plan", spec, "-o", "small.plan", "--quiet", status=0)
    run("report", "small.plan", "--quiet", status=0)
    assert "--force replaces a report and its figures" in run("report", "small.plan", status=2).output
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


def test_a_page_has_the_name_of_one(spec, run):
    run("plan", spec, "-o", "small.plan", "--quiet", status=0)
    refused = run("report", "small.plan", "-o", "codes.txt", status=2)
    assert "codes.txt is not the name of a web page; end the name of a page in .html" in refused.stderr
