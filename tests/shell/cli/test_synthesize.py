"""The command makes the records that `synthesize` makes, says how well they fit, and writes all or nothing."""

import json

import pandas as pd
import pytest

import residualplanner as rp
from residualplanner.fits import synthesis
from shell.specs import told

FACTS = """
nonnegative = true
known = [{ query = [], counts = 500 }]
impossible = [{ sex = "F", grade = [3, 4] }]
"""


@pytest.fixture(autouse=True)
def small_model(monkeypatch):
    small = rp.fits.Ensemble(2, 20, rp.fits.Descent(steps=60), rp.fits.Descent(steps=30, rate=0.1))
    monkeypatch.setattr(synthesis.fitted_mixture, "ensemble_for", lambda _doublings: small)


@pytest.fixture
def measured(run, spec, records, folder):
    run("plan", spec, "-o", "p", status=0)
    run("measure", "p", records, "-o", "m", status=0)
    return folder / "m"


@pytest.mark.parametrize(("name", "read"), [("people.csv", pd.read_csv), ("people.parquet", pd.read_parquet)])
def test_the_records_are_those_of_synthesize(run, measured, folder, name, read):
    run("synthesize", measured, "-o", name, "--records", 60, "--seed", 3, "--method", "sobol", status=0)
    expected = rp.synthesize(rp.reconstruct(rp.load_measurement(measured)), 60, seed=3, method="sobol").to_frame()
    assert read(folder / name).astype(str).equals(expected.astype(str))
    about = json.loads((folder / f"{name}.json").read_text())
    assert (about["rows"], about["seed"], about["method"]) == (60, 3, "sobol")
    assert about["fit"]["freedom"] == 45  # 2 + 1 + 3 + 4 for single attributes, and for pairs the products of these


def test_records_that_no_machine_holds_are_refused(run, measured):
    found = run("synthesize", measured, "-o", "w.csv", "--records", 10**9, "--dry-run", status=1)
    assert "too little memory" in found.output


def test_facts_come_from_the_output_of_a_spec(run, measured, spec, folder):
    spec.write_text(spec.read_text() + FACTS)
    found = run("synthesize", measured, "-o", "people.csv", "--spec", spec, status=0)
    people = pd.read_csv(folder / "people.csv")
    assert len(people) == 500
    assert not ((people["sex"] == "F") & (people["grade"] >= 3)).any()
    assert "the number of records; that there is no record in which sex is F and grade is 3 or 4" in found.stdout


def test_it_says_what_records_are_and_how_well_they_fit(run, measured):
    said = told(run("synthesize", measured, "-o", "people.csv", "--json"))
    assert said["records"]["text"].startswith("synthetic: none is that of a person")
    assert said["guarantee"]["text"].startswith("This release satisfies rho-zCDP")
    assert 0 < said["fit"]["distance"] < 3 * said["fit"]["freedom"]
    assert said["fit"]["worse"] == 0
    assert said["wrote"]["also"] == ["people.csv.json"]


def test_tables_that_fit_worse_than_noise_explains_are_named(run, measured, spec, folder):
    spec.write_text(spec.read_text() + 'nonnegative = true\nimpossible = [{ sex = "F", region = ["01", "02"] }]\n')
    found = run("synthesize", measured, "-o", "people.csv", "--spec", spec)
    assert "sets of attributes fit worse than noise explains" in found.stdout
    assert "sex × region" in found.stdout
    assert ["sex", "region"] in json.loads((folder / "people.csv.json").read_text())["fit"]["worse"]


def test_attributes_that_nothing_was_measured_of_are_named(run, spec, records, folder):
    spec.write_text(spec.read_text().replace("up_to = 2", 'queries = [["age", "sex"]]'))
    run("plan", spec, "-o", "p", status=0)
    run("measure", "p", records, "-o", "m", status=0)
    said = told(run("synthesize", "m", "-o", "people.csv", "--records", "200", "--json"))
    assert said["uniform"]["attributes"] == ["region", "grade"]
    assert json.loads((folder / "people.csv.json").read_text())["unmeasured"] == ["region", "grade"]
    counts = pd.read_csv(folder / "people.csv")["grade"].value_counts()
    assert len(counts) == 5
    assert counts.min() > 20


def test_a_dry_run_writes_nothing_and_refuses_what_the_run_would(run, measured, spec, folder):
    before = sorted(path.name for path in folder.iterdir())
    found = run("synthesize", measured, "-o", "people.csv", "--dry-run", status=0)
    assert "Would write people.csv, and people.csv.json" in found.stdout
    assert sorted(path.name for path in folder.iterdir()) == before
    spec.write_text(spec.read_text() + 'nonnegative = true\nknown = [{ query = ["sex"], counts = [1, 2, 3] }]\n')
    dry, real = (run("synthesize", measured, "-o", "x.csv", "--spec", spec, *more) for more in ([], ["--dry-run"]))
    assert (dry.exit_code, dry.stderr) == (real.exit_code, real.stderr) == (2, dry.stderr)


WRONG = [
    (("m", "-o", "people.txt"), "must end with"),
    (("m", "-o", "people.csv", "--records", "-1"), "--records"),
    (("m", "-o", "people.csv", "--method", "random"), "--method"),
    (("m", "-o", "records.csv"), "records.csv exists already and is not overwritten"),
    (("p", "-o", "people.csv"), "p is a plan"),
    (("m", "tables", "-o", "people.csv"), "a measurement is there twice"),
    (("m", "m", "-o", "people.csv"), "a measurement is there twice"),
]


def test_what_is_wrong_is_refused_and_nothing_is_written(run, measured, folder):
    run("reconstruct", measured, "-o", "tables", status=0)
    before = sorted(path.name for path in folder.iterdir())
    for arguments, words in WRONG:
        found = run("synthesize", *arguments, status=2)
        assert words in " ".join(found.stderr.split())
        assert sorted(path.name for path in folder.iterdir()) == before


def test_the_file_beside_records_is_replaced_only_if_it_was_left_by_a_run_that_was_killed(run, measured, folder):
    (folder / "people.csv.json").write_text('{"my": "notes"}')
    run("synthesize", measured, "-o", "people.csv", status=2)
    (folder / "people.csv.json").unlink()
    run("synthesize", measured, "-o", "people.csv", "--records", 10, status=0)
    (folder / "people.csv").unlink()
    run("synthesize", measured, "-o", "people.csv", "--records", 20, status=0)
    assert json.loads((folder / "people.csv.json").read_text())["rows"] == 20


def test_a_spec_and_records_are_measured_in_stages_that_give_records_again(run, spec, records, folder):
    run("synthesize", spec, records, "--budget", "zcdp=1", "-o", "p.csv", "--records", 40, "--dry-run", status=0)
    assert not (folder / "p.csv.stages").exists()
    found = run("synthesize", spec, records, "--budget", "zcdp=1", "-o", "p.csv", "--records", 40, status=0)
    assert "satisfies rho-zCDP" in found.output
    assert len(pd.read_csv(folder / "p.csv")) == 40
    run("synthesize", folder / "p.csv.stages", "-o", "q.csv", "--records", 40, status=0)
    assert (folder / "q.csv").read_text() == (folder / "p.csv").read_text()
    other = run("synthesize", spec, records, "--budget", "zcdp=2", "-o", "p2.csv", "--records", 3, status=0)
    assert "3 synthetic records" in other.output
