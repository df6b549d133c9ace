"""A dry run checks what the run would check, tells what it would do, and does none of it."""

import os
from fractions import Fraction

import pandas as pd
import pytest

from residualplanner import Ledger, load_plan
from shell.specs import steps, told

COMMANDS = {
    "measure": ("measure", "p", "records.csv", "-o", "new", "--ledger", "l"),
    "release": ("release", "spec.toml", "records.csv", "-o", "new", "--ledger", "l"),
    "reconstruct": ("reconstruct", "m", "-o", "new"),
}


@pytest.fixture
def ready(run, spec, records, folder):
    """A plan, a measurement, and a ledger with room for one release."""
    run("plan", spec, "-o", "p")
    run("measure", "p", records, "-o", "m")
    run("ledger", "l", "--create", "census", "--budget", "zcdp=0.5")
    return folder


def _content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_nothing_is_read_spent_or_written_and_then_the_run_itself_works(run, ready, command, options):
    """Of the records the first line alone is read: no other one can be."""
    whole = (ready / "records.csv").read_bytes()
    (ready / "records.csv").write_bytes(b"age,sex,region,grade\n\xff\xff no records at all")
    before = _content(ready)
    told = run(*COMMANDS[command], "--dry-run", *options, status=0)
    assert _content(ready) == before
    assert "No record was read, and nothing was spent or written." in told.stdout
    (ready / "records.csv").write_bytes(whole)
    run(*COMMANDS[command], status=0)


def test_what_is_told_is_what_happens(run, ready):
    found = told(run(*COMMANDS["release"], "--dry-run", "--json"))
    assert found["would-read"]["columns"] == ["age", "sex", "region", "grade"]
    run(*COMMANDS["release"], status=0)
    entry, ledger = Ledger.open(ready / "l").entries[0], Ledger.open(ready / "l")
    assert Fraction(found["would-spend"]["pcost"]) == entry.cost
    assert Fraction(found["would-spend"]["left"]) == ledger.remaining


def test_what_would_be_written_is_named_with_its_size(run, ready):
    found = told(run(*COMMANDS["measure"], "--dry-run", "--json"))
    assert found["would-write"]["path"] == "new"
    assert found["would-write"]["bytes"] == steps.measurement_bytes(load_plan(ready / "p"))
    assert found["would-take"]["bytes"] > 0
    words = run(*COMMANDS["release"], "--dry-run").stdout
    assert "Would write new.measurement: the noisy answers, some " in words
    assert "Would write new: 11 tables as csv, some " in words


@pytest.mark.parametrize("command", ["measure", "release"])
def test_a_ledger_without_room_for_other_neighbors_or_with_a_torn_line_is_found(run, ready, command):
    def refused(word, ledger="l"):
        before = _content(ready)
        assert word in run(*COMMANDS[command][:-1], ledger, "--dry-run", status=2).stderr
        assert _content(ready) == before

    run("ledger", "other", "--create", "census", "--budget", "zcdp=5", "--neighbors", "replace")
    refused("costs for different neighbors do not add up", "other")
    Ledger.open(ready / "l").charge(Fraction(1, 100), "0" * 64, neighbors="add-remove")
    refused("the ledger has pcost 0.99 left of 0.5-zCDP; this costs")
    (ready / "l").write_bytes((ready / "l").read_bytes() + b'{"cost"')
    refused("the last line is incomplete")


@pytest.mark.parametrize("command", COMMANDS)
def test_what_the_run_refuses_the_dry_run_refuses_in_the_same_words(run, ready, command):
    (ready / "new").mkdir()
    (ready / "new" / "mine").write_text("mine")
    told = [run(*COMMANDS[command], *options) for options in ((), ("--dry-run",))]
    assert told[0].exit_code == told[1].exit_code == 2
    assert told[0].stderr == told[1].stderr


def parquet_of(folder, **columns):
    pd.DataFrame({"age": [1], "sex": ["F"], "grade": [1], "region": ["01"]} | columns).to_parquet(folder)


@pytest.mark.parametrize(
    ("name", "make", "options", "message"),
    [
        ("twice.csv", lambda path: path.write_text("age,sex,grade,region,age\n"), (), "'age' occurs more than once"),
        ("typed.parquet", lambda path: parquet_of(path, age=[True]), (), "'age' is of a type that holds truth values"),
        ("mixed", lambda path: (path.mkdir(), parquet_of(path / "a.parquet"), (path / "b.csv").touch()), (), "not .pa"),
        ("pipe.csv", os.mkfifo, (), "is a pipe, a folder or the like; write the records to a file"),
        ("r.parquet", parquet_of, ("--newlines-in-values",), "--newlines-in-values is for CSV files; leave it out for"),
    ],
)
def test_records_that_the_run_refuses_by_their_names_and_types_the_dry_run_refuses(
    run, ready, name, make, options, message
):
    make(ready / name)
    assert message in run("measure", "p", name, "-o", "new", *options, "--dry-run", status=2).stderr


def test_a_disk_that_is_too_small_is_told(run, ready, small_disk):
    small_disk(5000)
    said = run(*COMMANDS["measure"], "--dry-run").stdout
    size = steps.measurement_bytes(load_plan(ready / "p"))
    assert f"Warning: the disk has 5 KiB free, and some {size / 2**10:.0f} KiB are to be written." in said
    assert "is in order, except for the disk." in said
