"""Whenever a release is killed, its folder is complete or absent, what was charged is on record, and one can go on."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from fractions import Fraction
from types import SimpleNamespace

import pandas as pd
import pytest

from residualplanner import Ledger, load_measurement
from shell.specs import plan_hash

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL elsewhere")

LEFT = re.compile(r"\.out(\.measurement)?\.[0-9a-f]{8}\.partial")
#: Of a release and its ledger, with room for a release that is killed and another one.
COMMAND = ["release", "spec.toml", "records.csv", "-o", "out", "--ledger", "ledger"]


def is_complete(out):
    """Whether a folder of tables holds every file it should, with the content it should have."""

    def has(name, sha256):
        return hashlib.sha256((out / name).read_bytes()).hexdigest() == sha256

    manifest = json.loads((out / "manifest.json").read_text())
    index = pd.read_csv(out / "index.csv")
    wanted = manifest["files"] | dict(zip(index["file"], index["sha256"], strict=True))
    found = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    return (
        found == {"manifest.json", *wanted}
        and len(index) == manifest["tables"]["count"]
        and all(has(name, sha256) for name, sha256 in wanted.items())
    )


def check_what_is_left(folder, given):
    """Check all that must hold after a kill, and how far the run had come: charges, measurement, tables."""
    out, measured, ledger = folder / "out", folder / "out.measurement", Ledger.open(folder / "ledger")
    assert not out.exists() or is_complete(out)
    for name in set(os.listdir(folder)) - given - {"out", "out.measurement"}:
        assert LEFT.fullmatch(name), name
    assert len(ledger.entries) <= 1
    assert not ledger.is_torn, "the line of a charge is written at once; a machine that stops may tear it"
    if measured.exists():
        assert [entry.plan_sha256 for entry in ledger.entries] == [plan_hash(load_measurement(measured).plan)]
    assert ledger.entries or not (out.exists() or measured.exists()), "an output without its charge"
    return SimpleNamespace(charges=len(ledger.entries), is_measured=measured.exists(), is_written=out.exists())


def check_that_one_can_go_on(run, folder, left, monkeypatch):
    """Run what comes next: the tables of what has been paid for, or all again; no leftover hinders it."""
    monkeypatch.chdir(folder)
    if left.is_written:
        return
    is_lost = left.charges and not left.is_measured
    again = run(*COMMAND, *(["--again"] if is_lost else []))
    if left.is_measured:
        assert again.exit_code == 2
        (command,) = re.findall(r"residualplanner (reconstruct .*)", again.stderr)
        again = run(*command.split())
    assert again.exit_code == 0, again.output
    assert is_complete(folder / "out")
    ledger = Ledger.open(folder / "ledger")
    assert len(ledger.entries) == left.charges + (not left.is_measured)
    assert ledger.spent == sum((entry.cost for entry in ledger.entries), Fraction(0))


def prepare(folder, text, records):
    folder.mkdir()
    (folder / "spec.toml").write_text(text)
    os.link(records, folder / "records.csv")
    Ledger.create(folder / "ledger", budget=None, reason="made-up records", data_set="d")
    return set(os.listdir(folder))


RELEASES = """
import os, signal, sys
import pandas, pyarrow.csv, pyarrow.parquet, scipy.optimize  # as much as can be before the fork
import residualplanner.shell.cli.app, residualplanner.shell.cli.releasing, residualplanner.shell.cli.planning
import residualplanner.shell.cli.spec.wanted
from residualplanner.shell.cli import main
from steps import CountDown

noise = sys.modules["residualplanner.gate.measurement.discrete"]
draw_flat = noise.draw_flat
folder, steps = os.fsencode(sys.argv[1]), {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"}

def count_down(event, arguments):
    if event in steps and isinstance(arguments[0], str | bytes | os.PathLike):
        path = os.path.abspath(os.fsencode(arguments[0]))
        if path.startswith(folder) and not path.endswith((b"spec.toml", b"records.csv", b"log")):
            if kinds.is_over(event, sys._getframe()):
                os.kill(os.getpid(), signal.SIGKILL)

def drawing(*arguments, **options):
    os.pwrite(log, b"drawing", 0)
    return draw_flat(*arguments, **options)

for number in range(10**6):
    where = os.path.join(sys.argv[1], str(number))
    sys.stdin.readline()  # the folder is there
    child = os.fork()
    if child == 0:
        os.chdir(where)
        log = os.open("log", os.O_CREAT | os.O_WRONLY)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        noise.draw_flat, kinds, sys.argv = drawing, CountDown(number), ["residualplanner", *sys.argv[2:]]
        sys.addaudithook(count_down)
        try:
            main()
        except SystemExit as end:
            os._exit(end.code or 0)
        os._exit(3)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


def releases(base):
    """A process that begins a release whenever it is told to, and tells its number and then how it has ended."""
    command = [sys.executable, "-c", RELEASES, str(base), *COMMAND]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def begin(process):
    """Have the next release begin, and return the number of its process."""
    process.stdin.write("\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def test_killed_at_any_step_on_the_disk(run, spec, records, tmp_path, monkeypatch):
    base, seen = tmp_path / "base", set()
    base.mkdir()
    text = spec.read_text().replace("up_to = 2", "up_to = 1")
    with releases(base) as process:
        for number in range(200):
            folder = base / str(number)
            given = prepare(folder, text, records) | {"log"}
            begin(process)
            ended = int(process.stdout.readline())
            left = check_what_is_left(folder, given)
            has_drawn = (folder / "log").read_text() == "drawing"
            assert left.charges or not has_drawn, "noise was drawn before the charge"
            seen.add((left.charges, has_drawn, left.is_measured, left.is_written))
            if ended == 0:
                break
            assert ended == signal.SIGKILL
            if number % 5 == 0:
                check_that_one_can_go_on(run, folder, left, monkeypatch)
        process.kill()
    assert number > 20, "there were hardly any steps to be killed at: the test has shown nothing"
    assert (left.charges, left.is_measured, left.is_written) == (1, False, True)
    always = {(0, False, False, False), (1, True, False, False), (1, True, True, False), (1, True, True, True)}
    assert always <= seen <= always | {(1, False, False, False), (1, True, False, True)}
