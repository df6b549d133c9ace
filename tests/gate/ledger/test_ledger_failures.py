"""Whichever call to the system fails, what was released has been charged, is said so, and the next run works."""

import errno
import fcntl
import os
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import residualplanner as rp
from residualplanner import Domain, Ledger, marginals, measure, pcost, select

HASH = "0" * 64
ADD_REMOVE = {"neighbors": "add-remove"}
PLAN = select(marginals(Domain({"a": 2, "b": 3}), up_to=2), budget=pcost("1/64"))
CODES = np.array([[0, 0], [1, 2], [1, 1]])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger"


@pytest.fixture
def ledger(path):
    return begun(path)


def begun(path):
    return Ledger.create(path, budget=pcost(1), data_set="d")


def failing(code):
    def fail(*_arguments):
        raise OSError(code, os.strerror(code))

    return fail


def in_part(*sizes):
    """A write that takes so many bytes of what it is given, and then fails."""
    left = list(sizes)

    def write(handle, data):
        if not left:
            failing(errno.ENOSPC)()
        return os.write(handle, data[: left.pop(0)])

    return write


CALLS = ["open", "read", "write", "fsync", "fstat", "stat", "close", "ftruncate", "flock"]


class Failing:
    """One of the system's calls, which fails at that number: before it has done its work, or after."""

    def __init__(self, call, number, failure, *, is_done=False):
        self.count, self.made, self.failure = number, 0, failure
        self.is_done = is_done or call == "close"
        self.real = getattr(fcntl if call == "flock" else os, call)

    def __call__(self, *arguments):
        self.made += 1
        if self.made - 1 == self.count:
            if self.is_done:
                self.real(*arguments)
            raise self.failure
        return self.real(*arguments)


def release(path, outputs):
    try:
        measure(PLAN, CODES, ledger=Ledger.open(path), again=True)
    except OSError as error:
        return error
    outputs.append(1)
    return None


@pytest.mark.parametrize("call", CALLS)
def test_whichever_call_fails_every_output_has_its_charge_and_the_next_run_works(path, ledger, replaced, call):
    outputs, failures = [], 0
    for number in range(12):
        system = Failing(call, number, OSError(errno.EIO, os.strerror(errno.EIO)))
        with replaced(**{call: system}):
            before = len(outputs)
            error = release(path, outputs)
        assert (error is None) == (len(outputs) > before)
        if error is None:
            assert system.made <= number, "a failure was passed over"
            break
        failures += 1
        assert len(ledger.entries) >= len(outputs)
        assert release(path, outputs) is None
    assert failures > 0 or call == "ftruncate"
    assert len(ledger.entries) >= len(outputs) > 0
    assert ledger.spent <= 1


STATEMENTS = {
    "charged": "The charge stays: pcost 0.015625, entry",
    "nothing": "Nothing was charged to the ledger.",
    "torn": "A part of the charge's line is in the ledger",
}


def what_is_there(path, before):
    ledger = Ledger.open(path)
    if ledger.is_torn:
        return "torn"
    return "charged" if len(ledger.entries) > before else "nothing"


def what_is_said(error):
    told = [word for word, text in STATEMENTS.items() if any(text in note for note in error.__notes__)]
    assert len(told) == len(error.__notes__) == 1
    return told[0]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("failure", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
def test_whichever_call_fails_a_charge_is_said_to_count_if_it_does(path, ledger, replaced, call, is_done, failure):
    """Also where the call has done its work before it fails, and where an interrupt comes in its place."""
    met = set()
    for number in range(12):
        ledger = Ledger.open(path)
        before, failure.__notes__ = len(ledger.entries), []
        system = Failing(call, number, failure, is_done=is_done)
        with replaced(**{call: system}):
            try:
                ledger.charge(Fraction(1, 64), HASH, **ADD_REMOVE)
            except (OSError, KeyboardInterrupt) as error:
                said = what_is_said(error)
            else:
                assert system.made <= number
                break
        assert said == what_is_there(path, before)
        met.add(said)
    assert met or call == "ftruncate"
    assert call != "fsync" or met == {"charged"}


@pytest.mark.parametrize("written", [0, 1, 40, -1])
@pytest.mark.parametrize("can_take_back", [True, False])
def test_a_line_that_is_written_in_part_is_taken_back_or_stops_all_spending(
    path, ledger, replaced, written, can_take_back
):
    before = path.read_bytes()
    other = {} if can_take_back else {"ftruncate": failing(errno.EIO)}
    writing = in_part(written) if written else failing(errno.ENOSPC)
    with replaced(write=writing, **other), pytest.raises(OSError, match=r"Input/output error|No space left") as caught:
        ledger.charge(Fraction(1, 64), HASH, **ADD_REMOVE)
    expected = "nothing" if can_take_back or not written else "torn"
    assert what_is_said(caught.value) == what_is_there(path, 0) == expected
    if expected == "nothing":
        assert path.read_bytes() == before
        assert ledger.charge(Fraction(1, 2), HASH, **ADD_REMOVE).sequence == 1
    else:
        with pytest.raises(rp.errors.FileFormatError, match="the last line is incomplete"):
            ledger.charge(Fraction(1, 2), HASH, **ADD_REMOVE)
        assert ledger.settle(Fraction(1, 2)).sequence == 1


@pytest.mark.parametrize("call", ["open", "write", "fsync", "close", "flock", "link", "unlink"])
def test_whichever_call_fails_while_a_ledger_is_begun_what_is_there_is_told_and_it_can_be_begun(
    tmp_path, replaced, call
):
    words = {True: "There is a complete ledger", False: "No ledger was made."}
    for number in range(3):
        path = tmp_path / str(number)
        with replaced(**{call: Failing(call, number, OSError(errno.EIO, os.strerror(errno.EIO)))}):
            try:
                begun(path)
            except OSError as error:
                (note,) = error.__notes__
                assert words[path.exists()] in note
        assert (Ledger.open(path) if path.exists() else begun(path)).spent == 0


def test_a_charge_is_forced_to_the_disk_while_the_file_is_locked(ledger, replaced):
    order = []

    def told(name, real):
        return lambda *arguments: (
            order.append(name if name != "flock" else f"flock {arguments[1]}"),
            real(*arguments),
        )[1]

    names = {name: getattr(os, name) for name in ("open", "read", "write", "fsync", "close")}
    with replaced(**{name: told(name, real) for name, real in {**names, "flock": fcntl.flock}.items()}):
        ledger.charge(Fraction(1, 2), HASH, **ADD_REMOVE)
    exclusive, unlock = f"flock {fcntl.LOCK_EX}", f"flock {fcntl.LOCK_UN}"
    assert order == ["open", exclusive, "read", "read", "write", "fsync", unlock, "close"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors have names on Linux")
def test_a_new_ledger_is_forced_to_the_disk_and_so_is_its_name(path, replaced):
    forced = []
    with replaced(fsync=lambda handle: (forced.append(os.readlink(f"/proc/self/fd/{handle}")), os.fsync(handle))):
        begun(path)
    partial, folder = forced
    assert Path(partial).name.startswith(".ledger.")
    assert folder == str(path.parent)


def test_whoever_sees_the_file_of_a_new_ledger_can_open_it(path, replaced):
    """What another process would have read of it at each call to the system."""
    seen = []

    def watched(call):
        def look(*arguments, **options):
            seen.append(path.read_bytes() if path.exists() else None)
            return call(*arguments, **options)

        return look

    names = ("open", "write", "fsync", "close", "link", "unlink")
    with replaced(**{name: watched(getattr(os, name)) for name in names}):
        begun(path)
    assert set(seen) == {None, path.read_bytes()}
    assert os.listdir(path.parent) == ["ledger"]


def test_on_a_disk_without_hard_links_a_ledger_can_be_begun_once(path, replaced):
    with replaced(link=failing(errno.EPERM)):
        assert begun(path).spent == 0
        with pytest.raises(FileExistsError, match="exists already; open it"):
            begun(path)
    assert os.listdir(path.parent) == ["ledger"]


def test_of_two_who_begin_a_ledger_at_the_same_moment_one_finds_that_of_the_other(path, replaced):
    def another_first(*arguments):
        with replaced():
            begun(path).charge(1, HASH, **ADD_REMOVE)
        return os.link(*arguments)

    with replaced(link=another_first), pytest.raises(FileExistsError, match="exists already; open it"):
        begun(path)
    assert Ledger.open(path).spent == 1
    assert os.listdir(path.parent) == ["ledger"]


def test_systems_without_locks_are_refused(path, tmp_path, ledger, replaced, monkeypatch):
    with replaced(flock=failing(errno.ENOLCK)):
        for use in (
            lambda: ledger.charge(1, HASH, **ADD_REMOVE),
            lambda: ledger.spent,
            lambda: begun(tmp_path / "other"),
        ):
            with pytest.raises(OSError, match="cannot be locked; keep the ledger on a local disk"):
                use()
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    with pytest.raises(OSError, match="need the file locks of POSIX or of Windows"):
        begun(tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_file_that_is_replaced_while_its_lock_is_waited_for_is_not_written_to(path, tmp_path, ledger, replaced):
    lock = fcntl.flock

    def replace_and_lock(handle, operation):
        if operation == fcntl.LOCK_EX:
            (tmp_path / "copy").write_bytes(path.read_bytes())
            os.replace(tmp_path / "copy", path)
        lock(handle, operation)

    with replaced(flock=replace_and_lock), pytest.raises(OSError, match="it was replaced while it was being opened"):
        ledger.charge(1, HASH, **ADD_REMOVE)
    assert ledger.charge(1, HASH, **ADD_REMOVE).sequence == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every file")
@pytest.mark.usefixtures("ledger")
def test_a_ledger_that_may_only_be_read_can_be_shown_but_not_charged(path):
    os.chmod(path, 0o444)
    ledger = Ledger.open(path)
    assert ledger.spent == 0
    with pytest.raises(PermissionError):
        ledger.charge(1, HASH, **ADD_REMOVE)
