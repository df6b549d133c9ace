"""Whatever kills a process or fails under it, what was released has been charged, and the next run works."""

import errno
import fcntl
import os
import subprocess
import sys
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import residualplanner as rp
from residualplanner import Domain, Ledger, marginals, measure, pcost, select
from residualplanner.gate.ledger import file as ledger_file
from residualplanner.ground import atomic as _atomic

HASH = "0" * 64
ADD_REMOVE = {"neighbors": "add-remove"}
PLAN = select(marginals(Domain({"a": 2, "b": 3}), up_to=2), budget=pcost("1/64"))
CODES = np.array([[0, 0], [1, 2], [1, 1]])
gate = sys.modules[measure.__module__]

KILLED = """
import os, random, signal, sys, time
from fractions import Fraction
from residualplanner.gate.ledger import Ledger
from residualplanner.gate.ledger import file as ledger_file
from residualplanner.method.privacy import pcost

class Bits:
    '''The system, but that it writes a few bytes at a time, as it may, and kills the process after so many writes.'''
    def __init__(self, writes):
        self.writes = writes
    def __getattr__(self, name):
        return getattr(os, name)
    def write(self, handle, data):
        self.writes -= 1
        if self.writes < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return os.write(handle, data[:8])

kills, seed, whole = int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "whole"
chance, torn, after = random.Random(seed), 0, set()

def charge_on_and_on(path, pipe):
    ledger = Ledger.open(path)
    for number in range(1, 10**6):
        entry = ledger.charge(Fraction(1, 2**20), "0" * 64, neighbors="add-remove")
        os.write(pipe, b"%d\\n" % entry.sequence)

for kill in range(kills):
    if kill % 5 == 0:
        path = os.path.join(sys.argv[1], str(kill))
        Ledger.create(path, budget=pcost(1), data_set="d")
    before = len(Ledger.open(path).entries)
    reader, writer = os.pipe()
    writes, outputs = chance.randrange(200), chance.randrange(10)
    child = os.fork()
    if child == 0:
        try:
            if not whole:
                ledger_file.os = Bits(writes)
            charge_on_and_on(path, writer)
        finally:
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader) as file:
        if whole:
            released = [int(file.readline()) for _ in range(outputs)]
            time.sleep(chance.uniform(0.0, 0.003))
            os.kill(child, signal.SIGKILL)
        else:
            released = []
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        released += [int(line) for line in file]
    assert released == list(range(before + 1, before + 1 + len(released)))
    ledger = Ledger.open(path)
    charged = len(ledger.entries) - before
    assert len(released) <= charged + ledger.is_torn <= len(released) + 1, "an output without its charge"
    assert charged >= len(released)
    if ledger.is_torn:
        torn += 1
        ledger.settle(Fraction(1, 2**20))
    after.add(len(released))
    ledger.charge(Fraction(1, 2**20), "0" * 64, neighbors="add-remove")
    assert ledger.spent == Fraction(len(ledger.entries), 2**20)
print(torn, len(after))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["whole", "piecewise"])
def test_of_a_killed_process_every_output_has_its_charge(tmp_path, kind):
    command = [sys.executable, "-c", KILLED, str(tmp_path), "50", "1", kind]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    torn, moments = map(int, result.stdout.split())
    assert moments > 3, "all kills fell at the same moment: the test has shown nothing"
    assert kind == "whole" or torn > 25, "few kills fell into a write: the test has shown nothing"


CALLS = ["open", "read", "write", "fsync", "fstat", "stat", "close", "ftruncate", "flock"]
ERRORS = [errno.ENOSPC, errno.EIO, errno.EACCES, errno.ENOLCK]


class FailingSystem:
    """The operating system as the ledger's file sees it, but that one call fails."""

    def __init__(self, patch, call, number, failure, *, is_done=None):
        self.count, self.made, self.failure = number, 0, failure
        self.is_done = call == "close" if is_done is None else is_done
        self.real = getattr(fcntl if call == "flock" else os, call)
        if call == "flock":
            patch.setattr(fcntl, "flock", self.fail)
        else:
            for module in (ledger_file, _atomic):
                patch.setattr(module, "os", SimpleNamespace(**{**vars(os), call: self.fail}))

    def fail(self, *arguments):
        self.made += 1
        if self.made - 1 == self.count:
            if self.is_done:
                self.real(*arguments)
            raise self.failure
        return self.real(*arguments)


def release(ledger, outputs):
    """What a run does: count, charge, release."""
    try:
        measure(PLAN, CODES, ledger=ledger(), again=True)
    except OSError as error:
        return error
    outputs.append(1)
    return None


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("code", ERRORS)
def test_whichever_call_fails_every_output_has_its_charge_and_the_next_run_works(tmp_path, call, code):
    path, outputs, failures = tmp_path / "ledger", [], 0
    Ledger.create(path, budget=pcost(1), data_set="d")
    for number in range(12):
        with pytest.MonkeyPatch.context() as patch:
            system = FailingSystem(patch, call, number, OSError(code, os.strerror(code)))
            before = len(outputs)
            error = release(lambda: Ledger.open(path), outputs)
            assert (error is None) == (len(outputs) > before)
            if error is None:
                assert system.made <= number, "a failure was passed over"
                break
            failures += 1
        assert len(Ledger.open(path).entries) >= len(outputs)
        assert release(lambda: Ledger.open(path), outputs) is None
    assert failures > 0 or call == "ftruncate"
    assert len(Ledger.open(path).entries) >= len(outputs) > 0
    assert Ledger.open(path).spent <= 1


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
def test_whichever_call_fails_a_charge_is_said_to_count_if_it_does(tmp_path, call, is_done, failure):
    """Also where the call has done its work before it fails, and where an interrupt comes in its place."""
    path, met = tmp_path / "ledger", set()
    Ledger.create(path, budget=pcost(1), data_set="d")
    for number in range(12):
        ledger = Ledger.open(path)
        before, failure.__notes__ = len(ledger.entries), []
        with pytest.MonkeyPatch.context() as patch:
            system = FailingSystem(patch, call, number, failure, is_done=is_done or call == "close")
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
def test_a_line_that_is_written_in_part_is_said_to_be_so(tmp_path, monkeypatch, written, can_take_back):
    ledger, calls = Ledger.create(tmp_path / "ledger", budget=pcost(1), data_set="d"), []

    def part(handle, data):
        calls.append(data)
        if len(calls) > 1 or not written:
            raise OSError(errno.ENOSPC, "No space left on device")
        return os.write(handle, data[:written])

    def kept(*_arguments):
        raise OSError(errno.EIO, "Input/output error")

    replaced = {"write": part} | ({} if can_take_back else {"ftruncate": kept})
    monkeypatch.setattr(ledger_file, "os", SimpleNamespace(**{**vars(os), **replaced}))
    with pytest.raises(OSError, match=r"Input/output error|No space left") as caught:
        ledger.charge(Fraction(1, 64), HASH, **ADD_REMOVE)
    monkeypatch.undo()
    expected = "nothing" if can_take_back or not written else "torn"
    assert what_is_said(caught.value) == what_is_there(tmp_path / "ledger", 0) == expected


@pytest.mark.parametrize("call", ["open", "write", "fsync", "close", "flock", "link", "unlink"])
def test_whichever_call_fails_while_a_ledger_is_begun_what_is_there_is_told(tmp_path, call):
    words = {True: "exists, complete, and nothing is charged to it: open it.", False: "No ledger was made."}
    for number in range(3):
        path = tmp_path / str(number)
        with pytest.MonkeyPatch.context() as patch:
            FailingSystem(patch, call, number, OSError(errno.EIO, "Input/output error"))
            try:
                Ledger.create(path, budget=pcost(1), data_set="d")
            except OSError as error:
                (note,) = error.__notes__
                assert words[path.exists()] in note


@pytest.mark.parametrize("call", ["open", "write", "fsync", "close", "flock", "link"])
def test_whichever_call_fails_while_a_ledger_is_begun_it_can_be_begun_again(tmp_path, call):
    for number in range(3):
        path = tmp_path / str(number)
        with pytest.MonkeyPatch.context() as patch:
            FailingSystem(patch, call, number, OSError(errno.EIO, os.strerror(errno.EIO)))
            with suppress(OSError):
                Ledger.create(path, budget=pcost(1), data_set="d")
        if path.exists():
            assert Ledger.open(path).spent == 0
        else:
            assert Ledger.create(path, budget=pcost(1), data_set="d").spent == 0


def test_a_write_that_fails_half_way_is_taken_back(tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger", budget=pcost(1), data_set="d")
    before, calls = (tmp_path / "ledger").read_bytes(), []

    def half(handle, data):
        calls.append(data)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.write(handle, data[: len(data) // 2])

    monkeypatch.setattr(ledger_file, "os", SimpleNamespace(**{**vars(os), "write": half}))
    with pytest.raises(OSError, match="No space left"):
        ledger.charge(Fraction(1, 2), HASH, **ADD_REMOVE)
    monkeypatch.undo()
    assert (tmp_path / "ledger").read_bytes() == before
    assert ledger.charge(Fraction(1, 2), HASH, **ADD_REMOVE).sequence == 1


def test_a_write_that_can_not_be_taken_back_leaves_a_torn_line_that_stops_all_spending(tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger", budget=pcost(1), data_set="d")

    def broken(*_arguments):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def half(handle, data):
        if data.startswith(b"{"):
            return os.write(handle, data[: len(data) // 2])
        return broken()

    monkeypatch.setattr(ledger_file, "os", SimpleNamespace(**{**vars(os), "write": half, "ftruncate": broken}))
    with pytest.raises(OSError, match="Input/output error"):
        ledger.charge(Fraction(1, 2), HASH, **ADD_REMOVE)
    monkeypatch.undo()
    with pytest.raises(rp.errors.FileFormatError, match="the last line is incomplete"):
        ledger.charge(Fraction(1, 2), HASH, **ADD_REMOVE)
    assert ledger.settle(Fraction(1, 2)).sequence == 1


def test_a_charge_is_forced_to_the_disk_while_the_file_is_locked(tmp_path, monkeypatch):
    ledger, order = Ledger.create(tmp_path / "ledger", budget=pcost(1), data_set="d"), []

    def told(name, real):
        return lambda *arguments: (
            order.append(name if name != "flock" else f"flock {arguments[1]}"),
            real(*arguments),
        )[1]

    monkeypatch.setattr(fcntl, "flock", told("flock", fcntl.flock))
    names = ["open", "read", "write", "fsync", "close"]
    replaced = {name: told(name, getattr(os, name)) for name in names}
    monkeypatch.setattr(ledger_file, "os", SimpleNamespace(**{**vars(os), **replaced}))
    ledger.charge(Fraction(1, 2), HASH, **ADD_REMOVE)
    exclusive, unlock = f"flock {fcntl.LOCK_EX}", f"flock {fcntl.LOCK_UN}"
    assert order == ["open", exclusive, "read", "read", "write", "fsync", unlock, "close"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="descriptors have names on Linux")
def test_a_new_ledger_is_forced_to_the_disk_and_so_is_its_name(tmp_path, monkeypatch):
    forced = []

    def fsync(handle):
        forced.append(os.readlink(f"/proc/self/fd/{handle}"))
        os.fsync(handle)

    for module in (ledger_file, _atomic):
        monkeypatch.setattr(module, "os", SimpleNamespace(**{**vars(os), "fsync": fsync}))
    Ledger.create(tmp_path / "ledger", budget=pcost(1), data_set="d")
    partial, folder = forced
    assert Path(partial).name.startswith(".ledger.")
    assert folder == str(tmp_path)


def seen_while_begun(monkeypatch, path):
    """Begin a ledger and return what another process would have read of its file at each call to the system."""
    seen = []

    def watched(call):
        def look(*arguments, **options):
            seen.append(path.read_bytes() if path.exists() else None)
            return call(*arguments, **options)

        return look

    calls = {name: watched(getattr(os, name)) for name in ("open", "write", "fsync", "close", "link", "unlink")}
    monkeypatch.setattr(ledger_file, "os", SimpleNamespace(**(vars(os) | vars(ledger_file.os) | calls)))
    Ledger.create(path, budget=pcost(1), data_set="d")
    return seen


def test_whoever_sees_the_file_of_a_new_ledger_can_open_it(tmp_path, monkeypatch):
    path = tmp_path / "ledger"
    seen = seen_while_begun(monkeypatch, path)
    assert set(seen) == {None, path.read_bytes()}
    assert os.listdir(tmp_path) == ["ledger"]


def test_on_a_disk_without_hard_links_a_ledger_can_be_begun_once(tmp_path, monkeypatch):
    def no_links(*_arguments):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    assert Ledger.create(tmp_path / "ledger", budget=pcost(1), data_set="d").spent == 0
    with pytest.raises(FileExistsError, match="exists already; open it"):
        Ledger.create(tmp_path / "ledger", budget=pcost(1), data_set="d")
    assert os.listdir(tmp_path) == ["ledger"]


def test_a_ledger_that_cannot_be_made_is_called_by_its_own_name(tmp_path, monkeypatch):
    FailingSystem(monkeypatch, "open", 0, PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    with pytest.raises(PermissionError, match=r"/ledger'\nNo ledger was made\.$"):
        Ledger.create(tmp_path / "ledger", budget=pcost(1), data_set="d")


def test_a_ledger_that_another_process_has_charged_is_never_said_to_be_worth_nothing(tmp_path, monkeypatch):
    path, link = tmp_path / "ledger", os.link

    def charged_by_another(*arguments):
        link(*arguments)
        Ledger.open(path).charge(1, HASH, **ADD_REMOVE)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "link", charged_by_another)
    with pytest.raises(KeyboardInterrupt) as caught:
        Ledger.create(path, budget=pcost(2), data_set="d")
    assert caught.value.__notes__ == [f"There is a ledger {path}, which another process has begun or charged: open it."]


def test_of_two_who_begin_a_ledger_at_the_same_moment_one_finds_that_of_the_other(tmp_path, monkeypatch):
    path, link = tmp_path / "ledger", os.link

    def another_first(*arguments):
        with monkeypatch.context() as patch:
            patch.setattr(os, "link", link)
            Ledger.create(path, budget=pcost(2), data_set="d").charge(1, HASH, **ADD_REMOVE)
        return link(*arguments)

    monkeypatch.setattr(os, "link", another_first)
    with pytest.raises(FileExistsError, match="exists already; open it"):
        Ledger.create(path, budget=pcost(2), data_set="d")
    assert Ledger.open(path).spent == 1
    assert os.listdir(tmp_path) == ["ledger"]


def test_a_file_system_without_locks_is_refused(tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger", budget=pcost(1), data_set="d")

    def no_locks(*_arguments):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    for use in (
        lambda: ledger.charge(1, HASH, **ADD_REMOVE),
        lambda: ledger.spent,
        lambda: Ledger.create(tmp_path / "other", budget=pcost(1), data_set="d"),
    ):
        with pytest.raises(OSError, match="cannot be locked; keep the ledger on a local disk"):
            use()
    assert not (tmp_path / "other").exists()


def test_a_system_without_locks_is_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(OSError, match="need the file locks of a POSIX system"):
        Ledger.create(tmp_path / "ledger", budget=pcost(1), data_set="d")
    assert not (tmp_path / "ledger").exists()


def test_a_file_that_is_replaced_while_its_lock_is_waited_for_is_not_written_to(tmp_path, monkeypatch):
    path = tmp_path / "ledger"
    ledger, lock = Ledger.create(path, budget=pcost(1), data_set="d"), fcntl.flock

    def replace_and_lock(handle, operation):
        if operation == fcntl.LOCK_EX:
            (tmp_path / "copy").write_bytes(path.read_bytes())
            os.replace(tmp_path / "copy", path)
        lock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", replace_and_lock)
    with pytest.raises(OSError, match="it was replaced while it was being opened"):
        ledger.charge(1, HASH, **ADD_REMOVE)
    monkeypatch.undo()
    assert ledger.charge(1, HASH, **ADD_REMOVE).sequence == 1


LIMITED = """
import resource, signal, sys
from fractions import Fraction
from residualplanner.gate.ledger import Ledger
ledger = Ledger.open(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
size = len(open(sys.argv[1], "rb").read())
for more in range(0, 200, 20):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + more, resource.RLIM_INFINITY))
    try:
        ledger.charge(Fraction(1, 2), "0" * 64, neighbors="add-remove")
    except OSError as error:
        print(error.strerror)
"""


def test_a_full_disk_refuses_the_charge_and_leaves_the_ledger_as_it_was(tmp_path):
    path = tmp_path / "ledger"
    Ledger.create(path, budget=pcost(1), data_set="d")
    before = path.read_bytes()
    result = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == ["File too large"] * 10
    assert path.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every file")
def test_a_ledger_that_may_only_be_read_can_be_shown_but_not_charged(tmp_path):
    Ledger.create(tmp_path / "ledger", budget=pcost(1), data_set="d")
    os.chmod(tmp_path / "ledger", 0o444)
    ledger = Ledger.open(tmp_path / "ledger")
    assert ledger.spent == 0
    with pytest.raises(PermissionError):
        ledger.charge(1, HASH, **ADD_REMOVE)


@pytest.mark.parametrize("charge", ["counted", "first"])
def test_an_interrupt_of_the_count_keeps_the_charge_only_where_that_came_first(tmp_path, monkeypatch, charge):
    ledger = Ledger.create(tmp_path / "ledger", budget=pcost(1), data_set="d")

    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(gate, "count_tables", interrupted)
    with pytest.raises(KeyboardInterrupt):
        measure(PLAN, CODES, ledger=ledger, charge=charge)
    assert len(ledger.entries) == (charge == "first")


def test_the_next_run_is_refused_only_by_the_budget(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", budget=pcost("1/50"), data_set="d")
    measure(PLAN, CODES, ledger=ledger)
    with pytest.raises(rp.errors.BudgetError, match="left of pcost 1/50"):
        measure(PLAN, CODES, ledger=ledger, again=True)
