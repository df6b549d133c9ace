"""The page that compares this library with others has the figures of the results, and links to what others say."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import records_compared

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = (ROOT / "docs" / "compared.md").read_text(encoding="utf-8")
FLAT = " ".join(PAGE.split())
#: Where each other software is on the page, and what its own pages are called.
SOURCES = {
    "OpenDP": "github.com/opendp/opendp",
    "Tumult Analytics": "docs.tmlt.dev",
    "SmartNoise": "github.com/opendp/smartnoise-sdk",
    "Private-PGM, AIM and MST": "private-pgm.readthedocs.io",
    "HDMM": "github.com/dpcomp-org/hdmm",
    "The Census Bureau's Disclosure Avoidance System": "doi.org/10.1162/99608f92.529e3cb9",
}


def result(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("title", SOURCES)
def test_each_other_software_has_what_it_does_better_first_and_its_own_pages(title):
    (part,) = re.findall(rf"^## {title}$(.*?)(?=^## )", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert SOURCES[title] in part
    theirs, ours = (part.index(f"**What {what} better") for what in ("it does", "is"))
    assert theirs < ours


def test_rows_beside_hdmm_are_those_of_the_results():
    rows = re.findall(r"^\| (\d+), of (\d+) \| (\d+) \| (.*?) \|$", PAGE, flags=re.MULTILINE)
    found = {each["workload"]: each for each in result("generalized") if each["table"] == "k-way prefix RMSE"}
    assert f"all {len(result('generalized'))} such figures" in FLAT
    assert len(rows) == 4
    for attributes, size, order, shown in rows:
        row = found[f"{size}^{attributes}, k = {order}"]
        hdmm, paper = row["others"][:2]
        ours, *theirs = (float(number.replace(",", "")) for number in shown.split(" | "))
        assert ours == pytest.approx(row["ours"], abs=0.0005001)
        assert theirs == [paper, hdmm]
        assert row["ours"] <= min(hdmm, paper)


def test_draws_a_second_are_those_of_the_results():
    found = {row["name"]: row["draws_per_second"] for row in result("sampler")["samplers"]}
    theirs = [name for name in found if name.startswith("OpenDP") and name.endswith("gamma = 10")]
    assert len(theirs) == 1
    words = f"{found['ours, gamma = 10'] / 1e6:.1f} million numbers a second on one core, where"
    assert f"at scale 10, with {words} {theirs[0].split(',')[0]} has {found[theirs[0]] / 1e6:.4f} million" in FLAT


def test_the_budget_that_targets_take_is_that_of_the_results():
    assert f"with {result('means')['rho_of_targets']['plan']:.4f}-zCDP" in FLAT
    assert f"With {result('means')['rho']}-zCDP for counts" in FLAT


def test_cells_of_synthetic_records_are_those_of_the_results():
    rows = [line.strip("| ").split(" | ") for line in records_compared.table()]
    once = {row[2]: row for row in rows if row[:2] == ["opened once", "all others"]}
    assert len({row[3] for row in once.values()}) == 1
    assert f"of {once['coefficients'][3]} cells on data that were opened once, ours are the nearest in" in FLAT
    assert f"ours are the nearest in {once['coefficients'][4]}." in FLAT
    assert (
        f"they are so in {once['accuracy'][4]}, and within 3% of the nearest in {once['accuracy'][5].split()[0]}."
        in FLAT
    )
    assert f"of two attributes are the nearest in {once['pairs'][4]}, of three in {once['triples'][4]}," in FLAT
    (time,) = [row[2] for row in rows if row[:2] == ["opened once", "AIM of dpmm"]]
    assert f"is, in the median, {re.search(r'median (1/[0-9]+)', time)[1]} of that of the smaller AIM" in FLAT


def test_commands_on_the_page_exist():
    commands = re.findall(r"python -m benchmarks\.(\w+)", FLAT)
    assert {"means", "sampler", "generalized", "records_compared"} <= set(commands)
    assert [name for name in commands if not (ROOT / "benchmarks" / f"{name}.py").exists()] == []
