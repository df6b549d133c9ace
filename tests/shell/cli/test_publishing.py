"""The [output] of a spec: quality, rounding, one workbook, publication; and the page on a ledger."""

import numpy as np
import pytest

import residualplanner as rp

SPEC = """
budget = {{ zcdp = "0.5" }}
[domain]
age = {{ bins = [0, 18, 65, 120] }}
sex = {{ labels = [["1", "female"], ["2", "male"]] }}
[[workload]]
up_to = 2
[output]
format = "csv"
{output}
"""
OUTPUT = """round_to = 5
quality = { reliable = 0.1, usable = 0.2, suppress = true }
[output.publication]
title = "Ages & sexes"
author = "An office"
date = 2026-11-22
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "spec.toml").write_text(SPEC.format(output=OUTPUT))
    ages = np.random.default_rng(0).integers(0, 110, 60)
    (tmp_path / "records.csv").write_text("age,sex\n" + "".join(f"{age},{1 + age % 2}\n" for age in ages))
    return tmp_path


def test_a_spec_says_how_tables_are_published(run, files):
    run("release", files / "spec.toml", files / "records.csv", "-o", files / "out")
    tables = rp.load_tables(files / "out")
    assert tables.product.name == "rounded"
    assert tables.product.base == 5
    assert tables.numbers.quality == rp.publish.Quality(reliable=0.1, usable=0.2, suppress=True)
    assert tables.numbers.publication == rp.publish.Publication(
        title="Ages & sexes", author="An office", date="2026-11-22"
    )
    estimate = tables["age", "sex"].estimate
    assert (estimate[~np.isnan(estimate)] % 5 == 0).all()


def test_other_tables_of_a_measurement_take_the_output_of_a_spec(run, files):
    run("release", files / "spec.toml", files / "records.csv", "-o", files / "out")
    run("reconstruct", files / "out", "--spec", files / "spec.toml", "-o", files / "same")
    for path in (files / "out" / "tables").iterdir():
        assert path.read_bytes() == (files / "same" / "tables" / path.name).read_bytes()
    run("reconstruct", files / "out", "--spec", files / "spec.toml", "--format", "workbook", "-o", files / "book")
    assert (files / "book" / "tables.xlsx").is_file()
    assert rp.load_tables(files / "book").numbers.publication.author == "An office"


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("round_to = 0", "round_to"),
        ("quality = { reliable = 0.4 }", "must not be above usable"),
        ("quality = { reliable = -1 }", "reliable must be a positive number"),
        ("[output.publication]\ntitle = 7", "title"),
    ],
)
def test_what_cannot_be_published_is_refused_before_records_are_opened(run, files, output, message):
    (files / "spec.toml").write_text(SPEC.format(output=output))
    found = run("release", files / "spec.toml", files / "records.csv", "-o", files / "out", status=2)
    assert message in found.stderr
    assert not (files / "out").exists()


def test_a_report_is_written_on_a_ledger_and_takes_its_publication_from_a_spec(run, files):
    rp.Ledger.create(files / "a.ledger", data_set="people", budget=rp.zcdp(1))
    run("report", files / "a.ledger", "-o", files / "page.html", "--spec", files / "spec.toml")
    page = (files / "page.html").read_text()
    assert "<h1>Ages &amp; sexes</h1>" in page
    assert "An office" in page
    assert not (files / "page-figures").exists()
