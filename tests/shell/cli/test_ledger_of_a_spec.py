"""A spec names the ledger of its releases: the first begins it, each is charged, and what is left is told."""

import json
from fractions import Fraction

import pytest

from residualplanner import Ledger, approx_dp, zcdp
from residualplanner.shell.cli.spec.file import read_spec

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


def test_a_release_that_does_not_fit_is_refused_before_records_are_read(run, counted, records, folder, spoil):
    run("release", counted, records, "-o", "one")
    spoil()
    refused = run("release", counted, records, "-o", "two", "--again", status=2)
    assert "left of 0.8-zCDP; this costs" in refused.stderr
    assert "a plan for 0.3" in refused.stderr
    assert not (folder / "two").exists()


def test_a_ledger_that_the_first_release_does_not_fit_is_not_begun(run, counted, records, folder):
    refused = run("release", counted, records, "-o", "one", "--budget", "zcdp=0.9", status=2)
    assert "a plan for 0.8-zCDP would fit" in refused.stderr
    assert not (folder / "census.ledger").exists()


@pytest.mark.parametrize("command", ["plan", "release", "dry run"])
def test_a_ledgers_budget_that_is_none_is_refused_with_its_place_before_anything_is_written(
    run, spec, records, folder, command
):
    spec.write_text(LEDGER.replace("0.8", "much") + spec.read_text())
    before = sorted(folder.iterdir())
    options = {"plan": [], "release": [records, "-o", "one"], "dry run": [records, "-o", "one", "--dry-run"]}[command]
    refused = run("plan" if command == "plan" else "release", spec, *options, status=2)
    assert f"{spec.name}: ledger, budget: rho must be positive and finite, got 'much'" in refused.stderr
    assert sorted(folder.iterdir()) == before


def test_a_dry_run_begins_no_ledger_and_tells_what_would_be_left(run, counted, records, folder):
    told = run("release", counted, records, "-o", "one", "--dry-run", "--json", status=0)
    events = {event["event"]: event for event in map(json.loads, told.stdout.splitlines())}
    assert "to be begun" in events["ledger"]["text"]
    assert not (folder / "census.ledger").exists()
    run("release", counted, records, "-o", "one")
    remaining = Ledger.open(folder / "census.ledger").remaining
    assert Fraction(events["would-spend"]["left"]) == remaining


def test_the_ledger_that_is_typed_goes_before_that_of_the_spec(run, counted, records, folder):
    run("ledger", "other", "--create", "census 2030", "--budget", "epsilon=8,delta=1e-9")
    done = run("release", counted, records, "-o", "one", "--ledger", "other", status=0)
    assert not (folder / "census.ledger").exists()
    assert "of (8, 1e-9)-DP is spent" in done.stdout
    assert Ledger.open(folder / "other").budget == approx_dp("8", "1e-9")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ('zcdp = "0.8"', "begun with budget zcdp(0.9), which never changes; got zcdp(0.8)"),
        ("neighbors", "begun with neighbors 'add-remove', which never changes; got 'replace'"),
    ],
)
def test_a_ledger_that_was_begun_otherwise_is_refused(run, counted, records, folder, change, word):
    budget = "0.9" if "zcdp" in change else "0.8"
    Ledger.create(folder / "census.ledger", budget=zcdp(budget), data_set="census")
    text = counted.read_text()
    if change == "neighbors":
        text = 'neighbors = "replace"\n' + text
    counted.write_text(text.replace('unknown = "?", missing = "?"', 'unknown = "?", missing = "?"'))
    refused = run("release", counted, records, "-o", "one", status=2)
    assert word in refused.stderr


def test_a_ledger_without_a_budget_must_exist(run, spec, records):
    spec.write_text('ledger = { file = "census.ledger" }\n' + spec.read_text())
    refused = run("release", spec, records, "-o", "one", status=2)
    assert "there is no ledger" in refused.stderr


def test_plan_names_the_ledger_for_what_comes_next(run, counted, records, folder, monkeypatch):
    monkeypatch.chdir(folder)
    told = run("plan", "spec.toml").stdout
    commands = [line.removeprefix("Next: ").split("   (")[0].split() for line in told.splitlines()]
    typed = [command[1:] for command in commands if command[:1] == ["residualplanner"] and command[1] != "report"]
    assert [command[0] for command in typed] == ["ledger", "measure"]
    for command in typed:
        run(*("records.csv" if word == "DATA" else word for word in command), status=0)
    assert len(Ledger.open("census.ledger").entries) == 1
    assert "--create" not in run("plan", "spec.toml", "--force").stdout


def test_init_writes_a_ledger_into_the_spec(run, folder):
    (folder / "domain.json").write_text('{"sex": ["F", "M"]}')
    run("init", "domain.json", "-o", "my census.toml")
    ledger = read_spec(folder / "my census.toml").ledger
    assert (ledger.file, ledger.budget.zcdp) == ("my census.ledger", "1")


def test_measuring_without_a_ledger_says_that_nothing_adds_up(run, spec, records):
    told = run("release", spec, records, "-o", "one")
    assert "Ledger      none: nothing adds up what is spent" in told.stdout
    assert "NoLedgerWarning" not in told.output
