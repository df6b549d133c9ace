"""--memory, --scratch and --store: what they cost, what they refuse, and how a killed command is typed again."""

import json
import os
import signal
import subprocess
import sys
from fractions import Fraction

import pytest

from residualplanner.ledger import Ledger
from residualplanner.measurement import abort_measuring, load_measurement
from slowness import slow

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
    "options", [(), ("--memory", "4GB"), ("--memory", "20000", "--scratch", "."), ("--store", "s", "--scratch", ".")]
)
def test_whatever_measures_the_charge_is_the_plans_and_so_is_what_is_stated(run, folder, command, options):
    told = run(*command, *options)
    assert told.exit_code == 0, told.output
    (entry,) = entries()
    assert entry.cost == measured(folder).noise.pcost
    assert 1 - Fraction(1, 10**6) < entry.cost <= 1
    assert sum(1 for name in listed(folder) if "unfinished" in name or name.startswith("tmp")) == 0


def test_little_memory_is_kept_to_by_reading_the_records_once_for_each_block(run, folder, command):
    """A pipe can be read once: it is enough for all tables at once, and refused for several blocks."""
    told = run(*command, "--memory", "15000", "--dry-run")
    assert told.exit_code == 2
    assert "too little memory: the largest tables take" in told.stderr
    assert run(*command, "--memory", "15000").stderr == told.stderr
    assert entries() == ()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--memory", "4GB", "--store", "s"), "--memory and --store exclude each other"),
        (("--scratch", "."), "--scratch is the folder for answers that are kept on disk, with --memory or --store"),
        (("--memory", "1GB", "--scratch", "absent"), "--scratch absent is not a folder"),
        (("--memory", "1GB", "--scratch", "l"), "--scratch l is not a folder"),
        (("--memory", "much"), "--memory is a number of bytes, such as 4GB, 512MiB or 4000000000; got 'much'"),
        (("--memory", "0"), "--memory is a number of bytes"),
        (("--memory", "-1GB"), "--memory is a number of bytes"),
        (("--memory", "1000EB"), "too little memory"),
        (("--memory", "100"), "too little memory: the largest tables take"),
        (("--store", "ftp://bucket/s"), "a store must be the path of a folder, or an address such as s3://bucket"),
        (("--store", "absent/s"), "the folder absent does not exist; make it first"),
        (("--store", "l"), "l would be two things at once"),
    ],
)
def test_options_that_mean_nothing_are_refused_before_anything_is_done(run, folder, command, options, word):
    before = listed(folder)
    for more in ((), ("--dry-run",)):
        told = run(*command, *options, *more)
        if word == "too little memory" and told.exit_code == 0:  # there is no more than that to hold
            continue
        assert (told.exit_code, word in told.stderr) in [(2, True), (1, True)], told.output
    assert entries() == () or word == "too little memory"
    assert listed(folder) == before or word == "too little memory"
