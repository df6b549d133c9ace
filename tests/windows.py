"""Windows as its manual has it, on Linux, whose own locks stand behind it: what a ledger and whole files rely on.

- There is no `fcntl`.  `msvcrt.locking` locks bytes from where an open file is, for that open file alone; nobody else
  can lock, read or write them until it is closed, or its process ends.
- A file that is open is not removed, replaced or renamed, nor is a folder that it is in; a folder is not opened.
- What is written to a file that was not opened as binary has a carriage return before each line feed.

Whether Windows does as its manual says is not tested.
"""

import errno
import fcntl
import os
import struct
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from inner_parts import atomic, checks, locks
from inner_parts import file as ledger_file

#: Not on Windows.
_ABSENT = {"O_CLOEXEC", "O_NONBLOCK", "posix_fallocate", "fork"}
_BINARY = 1 << 40
_ATTEMPTS, _PAUSE = 10, 0.01  # it pauses for a second


class Bytes:
    """Which bytes of which files are locked: of each file those of another, in a folder, which Linux unlocks."""

    def __init__(self, folder):
        self.folder, self.held = folder, {}

    def _ask(self, handle, command, kind, start, count):
        status = os.fstat(handle)
        other = self.held.get(handle)
        if other is None:
            other = os.open(self.folder / f"{status.st_dev}-{status.st_ino}", os.O_RDWR | os.O_CREAT)
        try:
            answer = fcntl.fcntl(other, command, struct.pack("hhqqi", kind, os.SEEK_SET, start, count, 0))
        except BaseException:
            if handle not in self.held:
                os.close(other)
            raise
        return other, struct.unpack_from("h", answer)[0]

    def locking(self, handle, mode, count):
        start = os.lseek(handle, 0, os.SEEK_CUR)
        if mode == MODES["LK_UNLCK"]:
            if handle not in self.held:
                raise PermissionError(errno.EACCES, "it is not locked")
            self._ask(handle, fcntl.F_OFD_SETLK, fcntl.F_UNLCK, start, count)
            self.let_go(handle)
            return
        for left in reversed(range(_ATTEMPTS if mode == MODES["LK_LOCK"] else 1)):
            try:
                self.held[handle] = self._ask(handle, fcntl.F_OFD_SETLK, fcntl.F_WRLCK, start, count)[0]
                return
            except BlockingIOError:
                time.sleep(_PAUSE if left else 0)
        raise OSError(errno.EDEADLK if mode == MODES["LK_LOCK"] else errno.EACCES, "it is locked")

    def let_go(self, handle):
        if handle in self.held:
            os.close(self.held.pop(handle))

    def require_free(self, handle, start, count):
        """PermissionError where another open file has locked some of the bytes."""
        other, kind = self._ask(handle, fcntl.F_OFD_GETLK, fcntl.F_WRLCK, start, count)
        if handle not in self.held:
            os.close(other)
        if kind != fcntl.F_UNLCK:
            raise PermissionError(errno.EACCES, "another process has locked a part of the file")


MODES = {"LK_UNLCK": 0, "LK_LOCK": 1, "LK_NBLCK": 2, "LK_RLCK": 3, "LK_NBRLCK": 4}


def is_open(path):
    """Whether this process has a file open, or one in a folder."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(Path(os.readlink(f"/proc/self/fd/{name}")))
        except OSError:
            continue
    return any(each.is_relative_to(Path(path).absolute()) for each in found)


class Calls:
    """The calls of the module `os` that are not as on Linux."""

    def __init__(self, locked):
        self.locked, self.text = locked, set()

    def open(self, path, flags, mode=0o777):
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        handle = os.open(path, flags & ~_BINARY, mode)
        self.text.discard(handle)
        if not flags & _BINARY:
            self.text.add(handle)
        return handle

    def close(self, handle):
        self.locked.let_go(handle)
        os.close(handle)

    def read(self, handle, count):
        self.locked.require_free(handle, os.lseek(handle, 0, os.SEEK_CUR), count)
        return os.read(handle, count)

    def write(self, handle, data):
        self.locked.require_free(handle, os.fstat(handle).st_size, len(data))
        if handle not in self.text:
            return os.write(handle, data)
        os.write(handle, bytes(data).replace(b"\n", b"\r\n"))
        return len(data)

    def fsync(self, handle):
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "Bad file descriptor")
        os.fsync(handle)


def of_closed_files(call):
    def checked(*paths):
        if any(is_open(path) for path in paths):
            raise PermissionError(errno.EACCES, "The process cannot access the file", str(paths[0]))
        return call(*paths)

    return checked


@contextmanager
def windows(folder, **calls):
    """Within the block the modules of files and locks are on Windows; ``calls`` are wrapped around its own."""
    locked = Bytes(folder)
    own = Calls(locked)
    system = {name: value for name, value in vars(os).items() if name not in _ABSENT}
    system |= {name: of_closed_files(system[name]) for name in ("unlink", "replace", "rename")}
    system |= {"name": "nt", "O_BINARY": _BINARY}
    system |= {name: getattr(own, name) for name in ("open", "close", "read", "write", "fsync")}
    found = {"locking": locked.locking, **system}
    found |= {name: wrap(found[name]) for name, wrap in calls.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "fcntl", None)
        patch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=found.pop("locking"), **MODES))
        for module in (locks, ledger_file, atomic, checks):
            patch.setattr(module, "os", SimpleNamespace(**found))
        patch.setattr(ledger_file, "_BINARY", system["O_BINARY"])
        patch.setattr(atomic, "_PAUSE", 0.001)
        yield
