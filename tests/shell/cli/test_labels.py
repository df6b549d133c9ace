"""No record is left out silently: which ones are in no table is told by every command, file and page."""

import pytest

from html_pages import read_page
from residualplanner import load_tables

SPEC = """\
budget = { zcdp = "50000" }
[domain]
race = { labels = [[1, "White alone"], [9, "Two or More Races"]], title = "Race", source = "ACS" }
income = { bins = [0, 20000, inf], missing = "drop", unit = "US dollars" }
[[workload]]
up_to = 1
"""


@pytest.mark.slow
def test_what_is_left_out_is_told_by_every_command_and_file(folder, run):
    (folder / "survey.toml").write_text(SPEC)
    (folder / "people.csv").write_text("race,income\n" + "1,\n" * 30 + "9,19999.99\n" * 20 + "1,1e6\n" * 15)
    sentence = "Records without a value of 'income' are left out of every table, the total included"
    for command in (("plan", "survey.toml"), ("release", "survey.toml", "people.csv", "-o", "tables")):
        told = " ".join(run(*command, status=0).stdout.split())
        assert sentence in told
        assert 'write a label in place of "drop", such as missing = "Not stated"' in told
    for name in ("manifest.json", "metadata.json"):
        assert sentence in (folder / "tables" / name).read_text()
    assert round(float(load_tables(folder / "tables")[()].estimate)) == 35
    for source, page in (("survey.plan", "plan.html"), ("tables", "tables.html")):
        run("report", source, "-o", page, status=0)
        text = read_page(folder / page).text
        assert f"What is counted: {sentence}" in text
        assert text.count(sentence) >= 2  # at the top, and with the guarantee
    assert "Records that are not left out (estimate)" in text
    assert "1 (White alone)" in text
    assert "race: Race (source: ACS)" in text
