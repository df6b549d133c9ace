"""--memory and --scratch: what they cost, and what they refuse."""

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


@pytest.mark.parametrize("options", [(), ("--memory", "4GB"), ("--memory", "2200", "--scratch", ".")])
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
        (("--scratch", "."), "--scratch is the folder for answers of --memory"),
        (("--memory", "1GB", "--scratch", "absent"), "--scratch absent is not a folder"),
        (("--memory", "1GB", "--scratch", "l"), "--scratch l is not a folder"),
        (("--memory", "much"), "--memory is a number of bytes, such as 4GB, 512MiB or 4000000000; got 'much'"),
        (("--memory", "0"), "--memory is a number of bytes"),
        (("--memory", "-1GB"), "--memory is a number of bytes"),
        (("--memory", "100"), "too little memory: the largest tables take"),
    ],
)
def test_options_that_mean_nothing_are_refused_before_anything_is_done(run, folder, command, options, word):
    before = listed(folder)
    for more in ((), ("--dry-run",)):
        refused = run(*command, *options, *more)
        assert (refused.exit_code in (1, 2), word in refused.stderr) == (True, True), refused.output
    assert entries() == ()
    assert listed(folder) == before
