"""Whatever fails while a measurement is paid for and written: what is told of it is what is on the disk."""

import errno
import fcntl
import os
import sys

import pytest

from residualplanner import Ledger, load_measurement
from shell.specs import ledger_file
from slowness import slow

CALLS = {
    "measure": ["open", "write", "fsync", "replace", "stat", "close", "flock", "lstat"],
    "release": ["rename", "unlink", "mkdir", "fsync", "replace"],
}
OURS = ("residualplanner", "pathlib", "contextlib")
SAFE, TABLES = "is safe in out.measurement", "All tables are in out, whole"
CHARGED = ("The charge stays: pcost", "has been paid for", "and stays charged to the ledger", TABLES)


class Failing:
    """One of the system's calls, which fails once: before it has done its work, or after."""

    def __init__(self, patch, call, number, failure, *, is_done):
        self.left, self.failure, self.is_done, self.has_failed = number, failure, is_done, False
        module = fcntl if call == "flock" else os
        self.real = getattr(module, call)
        patch.setattr(module, call, self)

    def __call__(self, *arguments, **options):
        if not sys._getframe(1).f_globals["__name__"].startswith(OURS) or self.has_failed:
            return self.real(*arguments, **options)
        self.left -= 1
        if self.left >= 0:
            return self.real(*arguments, **options)
        self.has_failed = True
        if self.is_done:
            self.real(*arguments, **options)
        raise self.failure


def is_measured(folder):
    try:
        load_measurement(folder / "out.measurement")
    except FileNotFoundError:
        return False
    return True


def check_what_is_told(folder, result, charges):
    """Compare messages with the disk; the number of charges there."""
    told = result.stderr
    entries = len(Ledger.open(folder / "l").entries)
    has_tables = (folder / "out" / "manifest.json").exists()
    assert (SAFE in told) == is_measured(folder), told
    assert (TABLES in told) == has_tables, told
    assert any(words in told for words in CHARGED) == (entries > charges), told
    assert ("Nothing was written." in told) <= (not is_measured(folder) and not has_tables), told
    assert ("Nothing was charged" in told) <= (entries == charges), told
    assert "nothing was written" not in told
    assert "defect" not in told, told
    return entries


def clear(folder):
    for name in ("out.measurement", "out.tables"):
        (folder / name).unlink(missing_ok=True)
    if (folder / "out").exists():
        (folder / "out").rename(folder / f"out{len(os.listdir(folder))}")


@pytest.fixture
def ledger(run, spec, folder):
    spec.write_text(spec.read_text().replace("up_to = 2", "up_to = 1"))
    run("plan", spec, "-o", "p")
    run("ledger", "l", "--create", "made up", "--unlimited", "made-up records")
    return folder / "l"


def commands(spec, records):
    return {
        "measure": ("measure", "p", records, "-o", "out.measurement", "--ledger", "l", "--again"),
        "release": ("release", spec, records, "-o", "out", "--ledger", "l", "--again"),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",  # the failure, whether the call has done its work before, and how many calls further each time
    [(OSError(errno.EIO, "Input/output error"), False, 1), slow((KeyboardInterrupt(), True, 2))],
)
@pytest.mark.parametrize("command", CALLS)
@pytest.mark.cases(1)
def test_whichever_call_fails_what_is_told_is_what_is_there(run, spec, records, folder, ledger, fault, command):
    (failure, is_done, stride), charges, met = fault, 0, set()
    for call in CALLS[command]:
        for number in range(0, 100, stride):
            with pytest.MonkeyPatch.context() as patch:
                failure.__notes__ = []
                failing = Failing(patch, call, number, failure, is_done=is_done)
                result = run(*commands(spec, records)[command])
            if not failing.has_failed:
                assert result.exit_code == 0, result.stderr
            if result.exit_code == 0:  # the call was not needed, as where a lock ends with its file
                charges += 1
            else:
                charges = check_what_is_told(folder, result, charges)
                met.add((SAFE in result.stderr, TABLES in result.stderr, "charge" in result.stderr))
            clear(folder)
            if not failing.has_failed:
                break
    assert not failing.has_failed
    assert len(met) > 2, "all failures were told in the same words: the test has shown nothing"


@pytest.mark.parametrize(
    ("step", "command"),
    [
        ("told what is spent", "measure"),
        ("told what is spent", "release"),
        ("told what is charged", "measure"),
        ("told what is charged", "release"),
        ("told what is written", "release"),
    ],
)
def test_where_nothing_can_be_printed_any_more_what_is_there_is_told(
    run, spec, records, folder, ledger, failing, step, command
):
    with failing(step):
        result = run(*commands(spec, records)[command], status=1)
    assert check_what_is_told(folder, result, 0) == 1


def test_a_ledger_that_can_be_read_no_more_counts_as_charged(run, spec, records, folder, ledger, monkeypatch):
    append = ledger_file.append_line

    def gone(*arguments):
        append(*arguments)
        monkeypatch.setattr(fcntl, "flock", refused)
        ledger.rename(folder / "away")
        raise OSError(errno.EIO, "Input/output error")

    def refused(_handle, _operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(ledger_file, "append_line", gone)
    told = run(*commands(spec, records)["measure"]).stderr
    assert "Whether pcost 1 was charged is unknown" in told
    assert "it counts as charged until the ledger can be read and does not list it" in told
    monkeypatch.undo()
    (folder / "away").rename(ledger)
    assert len(Ledger.open(ledger).entries) == 1


REAL_FSYNC = os.fsync


def forced(handle):
    """Fail for a folder, when the name is there."""
    REAL_FSYNC(handle)
    if os.path.isdir(f"/proc/self/fd/{handle}"):
        raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("command", ["plan", "reconstruct", "init", "compare"])
def test_what_other_commands_wrote_is_told_when_they_fail_behind_it(
    run, spec, records, folder, monkeypatch, failing, command
):
    run("plan", spec, "-o", "p")
    run("plan", spec, "-o", "q", "--budget", "zcdp=1")
    run("measure", "p", records, "-o", "m")
    arguments = {
        "plan": ("plan", spec, "-o", "out"),
        "reconstruct": ("reconstruct", "m", "-o", "out"),
        "init": ("init", records, "--header", "-o", "out"),
        "compare": ("compare", "p", "q", "-o", "out"),
    }[command]
    monkeypatch.setattr(os, "fsync", forced)
    failed = run(*arguments, status=1)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert "is written, complete, but its name could not be forced to the disk (Input/output error)" in failed.stderr
    assert "Written all the same, and whole: out" in failed.stderr
    assert (folder / "out").exists()
    with failing("replace" if command != "reconstruct" else "rename", OSError(errno.EIO, "Input/output error")):
        failed = run(*(word if word != "out" else "other" for word in arguments))
    assert failed.stderr == "Error: Input/output error\nNothing was written.\n"
    assert not (folder / "other").exists()
