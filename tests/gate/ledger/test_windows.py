"""A ledger and whole files with the calls of Windows, as `windows.py` has them: no charge is lost, no lock stays."""

import errno
import multiprocessing
import os
import signal
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import residualplanner as rp
from inner_parts import atomic, checks, locks
from windows import MODES, Bytes, windows

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="locks of single open files are Linux's")

COST = Fraction(1, 64)
HASH = "0" * 64
FORK = multiprocessing.get_context("fork") if sys.platform == "linux" else None


@pytest.fixture
def place(tmp_path):
    (tmp_path / "locks").mkdir()
    return tmp_path / "locks"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger"


def begun(path):
    return rp.Ledger.create(path, budget=rp.pcost(1), data_set="d")


def charge(path):
    return rp.Ledger.open(path).charge(COST, HASH, neighbors="add-remove").sequence


def test_the_file_has_the_same_bytes_as_elsewhere(tmp_path, place, path):
    with windows(place):
        ledger = begun(path)
        assert [charge(path), charge(path)] == [1, 2]
        assert ledger.spent == 2 * COST
        with pytest.raises(FileExistsError, match="exists already; open it"):
            begun(path)
    begun(tmp_path / "here")
    for _ in range(2):
        charge(tmp_path / "here")
    assert path.read_bytes() == (tmp_path / "here").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["here", "ledger", "locks"]


def test_what_is_locked_is_behind_all_content_and_only_there_is_nobody_else(place, path):
    """Bytes that are locked cannot be read by others; a ledger can, while somebody charges it."""
    with windows(place):
        begun(path)
        one, other = os.open(path, os.O_RDWR), os.open(path, os.O_RDWR)
        with locks.locked(one, path, exclusive=True):
            system = locks.os
            assert system.read(other, 2**20) == path.read_bytes()
            system.lseek(other, locks.LOCKED_BYTE, os.SEEK_SET)
            with pytest.raises(PermissionError):
                system.read(other, 1)
        os.close(one)
        os.close(other)


def test_the_twin_of_windows_locks_as_its_manual_says(place, path):
    path.write_bytes(b"content")
    one, other, bytes_ = os.open(path, os.O_RDONLY), os.open(path, os.O_RDONLY), Bytes(place)
    bytes_.locking(one, MODES["LK_NBLCK"], 1)
    for mode, code in (("LK_NBLCK", errno.EACCES), ("LK_LOCK", errno.EDEADLK), ("LK_UNLCK", errno.EACCES)):
        with pytest.raises(OSError, match="locked") as caught:
            bytes_.locking(other, MODES[mode], 1)
        assert caught.value.errno == code
    bytes_.let_go(one)
    bytes_.locking(other, MODES["LK_LOCK"], 1)


def charge_often(path, times):
    for _ in range(times):
        charge(path)


def test_processes_that_charge_at_once_lose_no_charge(place, path):
    with windows(place):
        begun(path)
        working = [FORK.Process(target=charge_often, args=(path, 8), daemon=True) for _ in range(3)]
        for process in working:
            process.start()
        for process in working:
            process.join()
        assert [process.exitcode for process in working] == [0, 0, 0]
        assert [entry.sequence for entry in rp.Ledger.open(path).entries] == [*range(1, 25)]


def hold(path, connection):
    handle = os.open(path, os.O_RDWR)
    with locks.locked(handle, path, exclusive=True):
        connection.send("locked")
        signal.pause()


def test_a_charge_waits_for_who_holds_the_lock_and_goes_on_when_that_is_killed(place, path):
    with windows(place):
        begun(path)
        here, there = FORK.Pipe(duplex=False)
        holder = FORK.Process(target=hold, args=(path, there), daemon=True)
        holder.start()
        assert here.recv() == "locked"
        waiting = FORK.Process(target=charge, args=(path,), daemon=True)
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive(), "it was charged by two at once"
        holder.kill()
        waiting.join(30)
        assert waiting.exitcode == 0
        holder.join()
        assert charge(path) == 2


CALLS = ["open", "read", "write", "fsync", "fstat", "stat", "close", "ftruncate", "lseek", "locking", "link", "unlink"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("is_done", [False, True])
def test_whichever_call_fails_a_charge_is_said_to_count_if_it_does_and_the_next_goes_through(
    place, path, call, is_done
):
    said = {True: "The charge stays", False: "Nothing was charged"}

    def failing_at(number):
        made = iter(range(10**6))

        def wrap(real):
            def fail(*arguments, **options):
                is_now = next(made) == number
                if not is_now or is_done or call == "close":
                    result = real(*arguments, **options)
                    if not is_now:
                        return result
                raise OSError(errno.EIO, os.strerror(errno.EIO))

            return fail

        return {call: wrap}

    with windows(place):
        begun(path)
    for number in range(20):
        before = len(rp.Ledger.open(path).entries)
        with windows(place, **failing_at(number)):
            try:
                charge(path)
                break
            except OSError as error:
                notes = getattr(error, "__notes__", ())  # an error of opening has none: nothing was tried
        with windows(place):
            after = rp.Ledger.open(path).entries
            assert all(said[len(after) > before] in note for note in notes)
            assert charge(path) == len(after) + 1
    else:
        pytest.fail("every call failed")


@pytest.mark.parametrize("call", ["open", "write", "fsync", "close", "lseek", "locking", "link", "unlink"])
def test_whichever_call_fails_while_a_ledger_is_begun_it_is_whole_or_not_there(place, tmp_path, call):
    for number in range(8):
        path, made = tmp_path / str(number), iter(range(10**6))

        def wrap(real, number=number, made=made):
            def fail(*arguments, **options):
                result = real(*arguments, **options) if call == "close" else None
                if next(made) == number:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                return result if call == "close" else real(*arguments, **options)

            return fail

        with windows(place, **{call: wrap}):
            try:
                begun(path)
                notes = ()
            except OSError as error:
                notes = error.__notes__
        assert all(("There is a complete ledger" in note) == path.exists() for note in notes)
        with windows(place):
            assert (rp.Ledger.open(path) if path.exists() else begun(path)).spent == 0


def test_on_a_disk_without_hard_links_a_ledger_that_cannot_be_written_is_removed(place, tmp_path, path):
    """Windows says that an argument is wrong, and removes no open file."""

    def no_links(_real):
        def fail(*_arguments):
            raise OSError(errno.EINVAL, "Invalid argument")

        return fail

    written = []

    def full_the_second_time(real):
        def write(handle, data):
            written.append(data)
            if len(written) == 2:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(handle, data)

        return write

    with windows(place, link=no_links, write=full_the_second_time):
        with pytest.raises(OSError, match="No space left"):
            begun(path)
        assert os.listdir(tmp_path) == ["locks"]
        assert begun(path).spent == 0


def test_a_file_that_another_program_has_open_is_not_replaced_and_stays_whole(place, tmp_path):
    table = tmp_path / "table.csv"
    table.write_bytes(b"old")
    with windows(place):
        with (
            open(table, "rb"),
            pytest.raises(PermissionError, match="open in another program"),
            atomic.write_atomically(table) as file,
        ):
            file.write(b"new")
        assert table.read_bytes() == b"old"
        assert sorted(os.listdir(tmp_path)) == ["locks", "table.csv"]
        with atomic.write_atomically(table) as file:
            file.write(b"new")
        assert table.read_bytes() == b"new"


def test_a_file_that_is_open_for_a_moment_is_replaced_then(place, tmp_path):
    """As scanners read what is new."""
    failures = iter(range(5))

    def scanned_at_first(real):
        def replace(old, new):
            if next(failures, None) is not None:
                raise PermissionError(errno.EACCES, "Access is denied")
            return real(old, new)

        return replace

    with windows(place, replace=scanned_at_first), atomic.write_atomically(tmp_path / "scanned") as file:
        file.write(b"new")
    assert (tmp_path / "scanned").read_bytes() == b"new"


def test_a_folder_appears_whole_although_folders_cannot_be_opened(place, tmp_path):
    with windows(place):
        with atomic.write_folder_atomically(tmp_path / "release") as folder:
            (folder / "table.csv").write_bytes(b"1")
        with (
            pytest.raises(PermissionError, match="open in another program"),
            atomic.write_folder_atomically(tmp_path / "other") as folder,
        ):
            held = open(folder / "table.csv", "xb")  # noqa: SIM115 - open when the folder is renamed
        held.close()
        with pytest.raises(IsADirectoryError):
            checks.open_regular(tmp_path / "release")
    assert sorted(os.listdir(tmp_path)) == ["locks", "release"]
    assert Path(tmp_path / "release" / "table.csv").read_bytes() == b"1"
