"""--memory, --scratch and --store: what they cost, what they refuse, and how a killed command is typed again."""

import os
import shutil
import signal
import subprocess
import sys
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv
import pytest

import residualplanner as rp
from residualplanner import Ledger, load_measurement, load_plan, measure
from shell.specs import told

#: Bytes that are enough for the largest table, and not for all.
SEVERAL_BLOCKS = 2200

#: By command: its plan or spec, its output.
INPUTS = {"measure": ("p", "out.measurement"), "release": ("spec.toml", "out")}


@pytest.fixture(params=INPUTS)
def command(request, run, spec, records):
    """A command with a ledger that has room for one release."""
    run("plan", spec, "-o", "p")
    run("ledger", "l", "--create", "made up", "--budget", "zcdp=0.5")
    given, out = INPUTS[request.param]
    return (request.param, given, records, "-o", out, "--ledger", "l")


def measured(folder):
    """The measurement that either command leaves."""
    found = [path for path in (folder / "out.measurement", folder / "out" / "release.measurement") if path.exists()]
    return load_measurement(found[0])


def entries():
    return Ledger.open("l").entries


def listed(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def numbers(folder):
    return measured(folder).residuals.integers.tolist()


@pytest.mark.parametrize(
    "options", [(), ("--memory", "4GB"), ("--memory", "2200", "--scratch", "."), ("--store", "s", "--scratch", ".")]
)
def test_whatever_measures_the_charge_is_the_plans_and_so_is_what_is_stated(run, folder, command, options):
    run(*command, *options, status=0)
    (entry,) = entries()
    assert entry.cost == measured(folder).noise.pcost
    assert 1 - Fraction(1, 10**6) < entry.cost <= 1
    assert sum(1 for name in listed(folder) if "unfinished" in name or name.startswith("tmp")) == 0


def test_in_several_blocks_the_charge_and_what_is_stated_are_the_same(run, folder, command, records):
    """The library says of a stream, which can be read once, that it would be read once for each of several blocks."""
    stream = pa.csv.open_csv(records)
    with pytest.raises(rp.errors.ResourceError, match=r"several times: once for each of [2-9] blocks"):
        measure(load_plan(folder / "p"), stream, memory=SEVERAL_BLOCKS, ledger=Ledger.open("l"))
    run("measure", "p", records, "-o", "at-once")
    rehearsed = told(run(*command, "--memory", SEVERAL_BLOCKS, "--scratch", ".", "--dry-run", "--json"))
    assert Fraction(rehearsed["would-spend"]["pcost"]) == load_measurement("at-once").noise.pcost
    assert rehearsed["would-take"]["bytes"] < 2**28 + 2**26
    run(*command, "--memory", SEVERAL_BLOCKS, "--scratch", ".", status=0)
    assert [entry.cost for entry in entries()] == [load_measurement("at-once").noise.pcost]
    assert measured(folder).noise.guarantee == load_measurement("at-once").noise.guarantee


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--memory", "4GB", "--store", "s"), "--memory and --store exclude each other"),
        (("--scratch", "."), "--scratch is the folder for answers of --memory or --store"),
        (("--memory", "1GB", "--scratch", "absent"), "--scratch absent is not a folder"),
        (("--memory", "1GB", "--scratch", "l"), "--scratch l is not a folder"),
        (("--memory", "much"), "--memory is a number of bytes, such as 4GB, 512MiB or 4000000000; got 'much'"),
        (("--memory", "0"), "--memory is a number of bytes"),
        (("--memory", "-1GB"), "--memory is a number of bytes"),
        (("--memory", "100"), "too little memory: the largest tables take"),
        (("--store", "ftp://bucket/s"), "a store must be the path of a folder, or an address such as s3://bucket"),
        (("--store", "absent/s"), "the folder absent does not exist; make it first"),
        (("--store", "l"), "l would be two things at once"),
    ],
)
def test_options_that_mean_nothing_are_refused_before_anything_is_done(run, folder, command, options, word):
    before = listed(folder)
    for more in ((), ("--dry-run",)):
        refused = run(*command, *options, *more)
        assert (refused.exit_code in (1, 2), word in refused.stderr) == (True, True), refused.output
    assert entries() == ()
    assert listed(folder) == before


#: Kills the command that follows when it is about to publish answers, which are drawn by then.
KILLED = """
import os, signal, sys
from residualplanner.shell.cli import main

def watch(event, arguments):
    if event == "os.link" and "answers" in os.fspath(arguments[1]):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
main()
"""


@pytest.fixture
def killed(run, command):
    """A command that was killed after its charge, when its noise was drawn."""
    command = (*command, "--store", "s")
    ended = subprocess.run([sys.executable, "-c", KILLED, *map(str, command)], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert len(entries()) == 1
    assert not os.path.exists(command[4])
    return command


@pytest.mark.slow
def test_a_command_that_was_killed_after_its_charge_is_completed_for_its_own_plan_and_ledger(run, folder, killed):
    name, given, records, *others = killed
    before, entry = listed(folder), entries()
    rehearsed = told(run(*killed, "--dry-run", "--json"))
    assert rehearsed["would-spend"]["pcost"] == "0/1"
    assert rehearsed["would-spend"]["text"] == "pcost 0; entry 1 of the ledger is for the release in the store"
    assert listed(folder) == before
    run("ledger", "other", "--create", "other", "--budget", "zcdp=9")
    run("plan", "spec.toml", "-o", "more", "--budget", "zcdp=0.25")
    changed = {"measure": ("more", ()), "release": (given, ("--budget", "zcdp=0.25"))}[name]
    refusals = {
        "s holds a release of another plan; name another store": (name, changed[0], records, *others, *changed[1]),
        "this release was charged to another ledger, which has an entry for it": (*killed, "--ledger", "other"),
        "s holds a release of this plan already; to go on with it leave out --again": (*killed, "--again"),
        "this release is charged to a ledger; give the same one again": [
            word for word in killed if word not in ("--ledger", "l")
        ],
    }
    for words, arguments in refusals.items():
        for dry in ((), ("--dry-run",)):
            refused = run(*arguments, *dry)
            assert (refused.exit_code, words in refused.stderr) == (2, True), refused.output
    assert Ledger.open("other").entries == ()
    assert set(before) <= set(listed(folder)) | {name for name in before if "unfinished" in name}
    shutil.copytree("s", "given-up")
    again = run(*killed, status=0)
    assert "Store       s: a release of this plan, not complete; what is missing is drawn" in again.stdout
    assert "Charged     nothing now: what is in the store was charged before" in again.stdout
    assert measured(folder).noise.pcost == entry[0].cost
    rp.scale.abort_measuring("given-up")
    refused = run(*killed[:4], "again", *killed[5:-1], "given-up", status=2)
    assert "was given up; its charge stays" in refused.stderr
    assert "Name another store" in refused.stderr
    assert entries() == entry


def test_a_store_that_is_complete_is_read_and_no_record_is(run, folder, command):
    run(*command, "--store", "s", status=0)
    first, entry = numbers(folder), entries()
    shutil.rmtree(folder / command[4]) if command[0] == "release" else os.remove(folder / command[4])
    (folder / "records.csv").write_bytes(b"age,sex,region,grade\n\xff\xff no records at all")
    assert told(run(*command, "--store", "s", "--dry-run", "--json"))["would-read"]["columns"] == []
    again = run(*command, "--store", "s", status=0)
    assert "complete; no record is read" in again.stdout
    assert "measuring again spends" not in again.stdout
    assert "the same command again reads the answers from s, and spends nothing" in again.stdout.replace("\n", " ")
    assert (numbers(folder), entries()) == (first, entry)


def test_a_measurement_that_cannot_be_written_is_in_the_store(run, folder, command, failing):
    with failing("measurement"):
        failed = run(*command, "--store", "s")
    kept = "What was drawn is in s: the same command again goes on from there, for the same charge."
    assert (failed.exit_code, kept in failed.stderr) == (1, True)
    assert "lost" not in failed.stderr
    assert "Nothing was written" not in failed.stderr
    run(*command, "--store", "s", status=0)
    assert len(entries()) == 1
