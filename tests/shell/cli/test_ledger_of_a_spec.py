"""A spec names the ledger of its releases: the first begins it, each is charged, and what is left is told."""

from fractions import Fraction

import pytest

from residualplanner import Ledger, zcdp
from shell.specs import told

LEDGER = 'ledger = { file = "census.ledger", budget = { zcdp = "0.8" } }\n'


@pytest.fixture
def counted(spec):
    """The spec, with a ledger that has room for one release and a half."""
    spec.write_text(LEDGER + spec.read_text())
    return spec


def test_the_first_release_begins_the_ledger_and_every_one_is_charged(run, counted, records, folder):
    first = run("release", counted, records, "-o", "one", status=0)
    assert "census.ledger, begun now: 0-zCDP of 0.8-zCDP is spent, 0.8-zCDP is left" in first.stdout
    made = Ledger.open(folder / "census.ledger")
    assert (made.data_set, made.budget, made.neighbors, made.records_per_person, len(made.entries)) == (
        "census",
        zcdp("0.8"),
        "add-remove",
        1,
        1,
    )
    assert "Charged     pcost 1, entry 1 of the ledger; 0.3" in first.stdout
    second = run("release", counted, records, "-o", "two", "--budget", "zcdp=0.25", status=0)
    assert "census.ledger: 0.5-zCDP of 0.8-zCDP is spent, 0.3" in second.stdout
    assert len(made.entries) == 2


def test_a_ledger_that_a_failed_run_has_begun_is_told(run, counted, records, folder):
    records.write_text(f"{records.read_text().splitlines()[0]}\n" + "x,x,x,x\n")
    failed = run("release", counted, records, "-o", "one", status=2)
    assert (folder / "census.ledger").exists()
    ledger = counted.with_name("census.ledger")
    assert f"Nothing was written but the ledger {ledger}, which this run has begun." in failed.stderr
    again = run("release", counted, records, "-o", "one", status=2)
    assert again.stderr.endswith("Nothing was written.\n")
    assert 'write in the spec unknown = "Other" or "drop"' in failed.stderr
    assert "rp.check" not in failed.stderr


def test_a_plan_that_is_measured_again_is_told_of_the_option_alone(run, counted, records):
    run("release", counted, records, "-o", "one", "--budget", "zcdp=0.1", status=0)
    refused = run("release", counted, records, "-o", "two", "--budget", "zcdp=0.1", status=2)
    assert "add --again" in refused.stderr
    assert "again=True" not in refused.stderr


def test_a_release_that_does_not_fit_is_refused_before_records_are_read(run, counted, records, folder, spoil):
    refused = run("release", counted, records, "-o", "one", "--budget", "zcdp=0.9", status=2)
    assert "a plan for 0.8-zCDP would fit" in refused.stderr
    assert not (folder / "census.ledger").exists()
    run("release", counted, records, "-o", "one")
    spoil()
    refused = run("release", counted, records, "-o", "two", "--again", status=2)
    assert "left of 0.8-zCDP; this costs" in refused.stderr
    assert "a plan for 0.3" in refused.stderr
    assert not (folder / "two").exists()


def test_a_dry_run_begins_no_ledger_and_tells_what_would_be_left(run, counted, records, folder):
    events = told(run("release", counted, records, "-o", "one", "--dry-run", "--json", status=0))
    assert "to be begun" in events["ledger"]["text"]
    assert not (folder / "census.ledger").exists()
    run("release", counted, records, "-o", "one")
    remaining = Ledger.open(folder / "census.ledger").remaining
    assert Fraction(events["would-spend"]["left"]) == remaining


@pytest.mark.parametrize(
    ("budget", "head", "word"),
    [
        ("0.9", "", "begun with budget zcdp(0.9), which never changes; got zcdp(0.8)"),
        ("0.8", 'neighbors = "replace"\n', "begun with neighbors 'add-remove', which never changes; got 'replace'"),
    ],
)
def test_a_ledger_that_was_begun_otherwise_is_refused(run, counted, records, folder, budget, head, word):
    Ledger.create(folder / "census.ledger", budget=zcdp(budget), data_set="census")
    counted.write_text(head + counted.read_text())
    assert word in run("release", counted, records, "-o", "one", status=2).stderr


def test_a_ledger_without_a_budget_must_exist_and_without_one_nothing_adds_up(run, spec, records):
    done = run("release", spec, records, "-o", "one", status=0)
    assert "Ledger      none: nothing adds up what is spent" in done.stdout
    assert "NoLedgerWarning" not in done.output
    spec.write_text('ledger = { file = "census.ledger" }\n' + spec.read_text())
    assert "there is no ledger" in run("release", spec, records, "-o", "two", status=2).stderr
