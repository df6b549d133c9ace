"""From a codebook and records to tables: codes keep their meanings, and no record is left out silently."""

import csv
import json

import pytest

from html_pages import read_page
from residualplanner import load_tables

#: The first codes of two variables of the American Community Survey, whose microdata have a dictionary like this.
CODEBOOK = """\
variable,value,label,title,source
RAC1P,1,White alone,Race,ACS
RAC1P,2,Black or African American alone,,
RAC1P,9,Two or More Races,,
HISP,01,Not Spanish/Hispanic/Latino,Hispanic origin,ACS
HISP,02,Mexican,,
HISP,24,All Other Spanish/Hispanic/Latino,,
sex,1,male,,
sex,2,female,,
"""
MORE = """\
income = { bins = [0, 20000, inf], missing = "Not stated", unit = "US dollars" }
admitted = { months = ["2020-01", "2020-03"], missing = "Not stated", unknown = "Other" }
"""
#: Race, origin, sex, income, admission; and how many such people there are.
PEOPLE = {
    ("1", "01", "1", "", "2020-01-31"): 300,
    ("2", "02", "2", "19999.99", "2020-02-29 23:59:59"): 200,
    ("9", "24", "1", "20000", ""): 100,
    ("9", "02", "2", "1e6", "2019-12-31"): 50,
}


@pytest.fixture
def survey(folder, run):
    """A spec made of a codebook, with two columns added by hand; and records."""
    (folder / "codebook.csv").write_text(CODEBOOK)
    run("init", "codebook.csv", "--dictionary", "-o", "survey.toml", status=0)
    text = (folder / "survey.toml").read_text().replace('{ zcdp = "0.5" }', '{ zcdp = "50000" }')
    text = text.replace('budget = { zcdp = "1" }', 'budget = { zcdp = "1e6" }')  # of the ledger
    workload = '\nup_to = 1\n[[workload]]\nqueries = [["sex", "RAC1P"]]\n'
    (folder / "survey.toml").write_text(text.replace("\nup_to = 2\n", workload) + MORE)
    with open(folder / "people.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["RAC1P", "HISP", "sex", "income", "admitted"])
        writer.writerows(row for row, count in PEOPLE.items() for _ in range(count))
    return folder


@pytest.mark.slow
def test_what_is_left_out_is_told_by_every_command_and_file(survey, run):
    spec = (survey / "survey.toml").read_text().replace('missing = "Not stated", unit', 'missing = "drop", unit')
    (survey / "survey.toml").write_text(spec)
    sentence = "Records without a value of 'income' are left out of every table, the total included"
    for command in (("plan", "survey.toml"), ("release", "survey.toml", "people.csv", "-o", "tables")):
        told = " ".join(run(*command).stdout.split())
        assert sentence in told
        assert 'write a label in place of "drop", such as missing = "Not stated"' in told
    for name in ("manifest.json", "metadata.json"):
        assert sentence in (survey / "tables" / name).read_text()
    total = round(float(load_tables(survey / "tables")[()].estimate))
    assert total == sum(count for row, count in PEOPLE.items() if row[3])
    for source, page in (("survey.plan", "plan.html"), ("tables", "tables.html")):
        run("report", source, "-o", page, status=0)
        text = read_page(survey / page).text
        assert f"Not all records are counted: {sentence}" in text
        assert text.count(sentence) >= 2  # at the top, and with the guarantee
    assert "Records that are not left out (estimate)" in text
    assert "1 (male)" in text
    assert "RAC1P: Race (source: ACS)" in text
    assert "350" not in json.dumps(json.loads((survey / "tables" / "manifest.json").read_text())["noise"])
