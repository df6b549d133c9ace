"""A ledger is begun, charged, shown and settled on the command line."""

import os
import re
from fractions import Fraction

import pytest

from residualplanner import Ledger, approx_dp, load_plan, pcost, zcdp
from shell.specs import plan_hash


@pytest.fixture
def ledger(run, folder):
    """A ledger with room for two releases of the spec."""
    run("ledger", "l", "--create", "census 2030", "--budget", "zcdp=1", status=0)
    return folder / "l"


@pytest.mark.parametrize(
    ("typed", "budget"),
    [
        ("zcdp=0.5", zcdp("0.5")),
        ("pcost=2", pcost("2")),
        ("epsilon=1,delta=1e-9", approx_dp("1", "1e-9")),
        ("epsilon = 1, delta = 1e-9", approx_dp("1", "1e-9")),
    ],
)
def test_a_ledger_is_begun_with_the_budget_that_was_typed(run, folder, typed, budget):
    result = run("ledger", "l", "--create", "census", "--budget", typed, "--neighbors", "replace", status=0)
    made = Ledger.open(folder / "l")
    assert (made.budget, made.data_set, made.neighbors, made.records_per_person) == (budget, "census", "replace", 1)
    assert "Neighbors   replace" in result.stdout


def test_measure_and_release_charge_the_ledger_until_it_is_spent(run, spec, records, folder, ledger, spoil):
    run("plan", spec, "-o", "p")
    first = run("measure", "p", records, "-o", "m", "--ledger", "l", status=0)
    assert "Charged     pcost 1, entry 1 of the ledger; 0.5-zCDP (pcost 1) is left" in first.stdout
    second = run("release", spec, records, "-o", "out", "--ledger", "l", "--again")
    assert "Ledger      l: 0.5-zCDP of 1-zCDP is spent, 0.5-zCDP is left" in second.stdout
    assert re.search(r"Charged     pcost 1, entry 2 of the ledger; \S+-zCDP \(pcost \S+\) is left", second.stdout)
    entries = Ledger.open(ledger).entries
    assert [entry.plan_sha256 for entry in entries] == [plan_hash(load_plan(folder / "p"))] * 2
    assert all(Fraction(999_999, 1_000_000) < entry.cost <= 1 for entry in entries)

    before = sorted(os.listdir(folder))
    spoil()
    for command in (("measure", "p", records, "-o", "m2"), ("release", spec, records, "-o", "out2")):
        refused = run(*command, "--ledger", "l", "--again", status=2)
        assert "Error: the ledger has next to nothing left of 1-zCDP" in refused.stderr
        assert "left of 1-zCDP; this costs" in refused.stderr
    assert sorted(os.listdir(folder)) == before


def test_a_ledger_is_shown_with_its_entries(run, spec, records, ledger):
    run("release", spec, records, "-o", "out", "--ledger", "l")
    told = run("ledger", "l").stdout
    assert "Data set    census 2030" in told
    assert "Budget      1-zCDP, pcost 2" in told
    assert "11 tables, planned for 0.5-zCDP" in told
    entry = Ledger.open(ledger).entries[0]
    assert entry.plan_sha256[:12] in told
    assert f"Last line   {entry.sha256}" in told
    assert "Spent       0.5-zCDP (pcost 1); 0.5-zCDP (pcost 1) is left" in told


def test_a_torn_line_is_shown_and_settled(run, spec, records, ledger):
    run("release", spec, records, "-o", "out", "--ledger", "l")
    ledger.write_bytes(ledger.read_bytes() + b'{"cost":"1')
    assert "nothing more can" in run("ledger", "l").stdout
    refused = run("release", spec, records, "-o", "out2", "--ledger", "l", status=2)
    assert "the last line is incomplete" in refused.stderr
    assert "residualplanner ledger FILE --settle COST" in refused.stderr
    settled = run("ledger", "l", "--settle", "0.5")
    assert "settled a torn line" in settled.stdout
    assert "Torn" not in settled.stdout
    assert Ledger.open(ledger).entries[1].cost == Fraction(1, 2)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (
            ("absent",),
            "there is no ledger absent; begin one for all releases from these records: residualplanner ledger ",
        ),
        (
            ("l", "--create", "census", "--budget", "zcdp=1"),
            "l exists already; look at it with residualplanner ledger l",
        ),
        (("new", "--create", "census"), "needs --budget such as zcdp=1, or --unlimited"),
        (("new", "--create", "census", "--budget", "zcdp=1", "--unlimited", "why"), "needs --budget such as"),
        (("new", "--create", "census", "--budget", "zcdp=0,5"), "with decimal points; got 'zcdp=0,5'"),
        (("new", "--create", "census", "--budget", "zcdp=-1"), "rho must be positive"),
        (("new", "--create", "two\nlines", "--budget", "zcdp=1"), "data_set must be one line"),
        (("nowhere/l", "--create", "census", "--budget", "zcdp=1"), "does not exist; make it first"),
        (("l", "--settle", "1"), "there is nothing to settle"),
        (("l", "--settle", "1e-9"), "a pcost is written as 1, 0.5 or 1/3"),
        (("l", "--settle", "0"), "a charge must be positive"),
        (("l", "--budget", "zcdp=1"), "belong to --create NAME"),
    ],
)
def test_what_cannot_be_is_refused_with_status_2(run, spec, ledger, folder, arguments, word):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = run("ledger", *arguments, status=2)
    assert word in result.stderr
    assert "Traceback" not in result.output
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("content", [None, b"x", b"{}\n"])
def test_a_run_with_a_ledger_that_cannot_be_used_reads_no_record(run, spec, records, folder, spoil, content):
    run("plan", spec, "-o", "p")
    if content is not None:
        (folder / "l").write_bytes(content)
    spoil()
    for command in (("measure", "p", records, "-o", "m"), ("release", spec, records, "-o", "out")):
        result = run(*command, "--ledger", "l", status=2)
        assert "l: line 1 " in result.stderr if content is not None else "there is no ledger" in result.stderr
