"""A lock on an open file, of which the system lets go when whoever holds it ends, in whatever way.

The one module that knows how a system locks: POSIX a file by `flock`, Windows ranges of its bytes.
"""

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

#: The byte that stands for a file on Windows, where nobody else can read or write what is locked: behind all content.
LOCKED_BYTE = 2**30
#: Seconds between attempts on Windows, whose own waiting makes ten, one a second, and gives up.
_PAUSE = 0.01


@contextmanager
def locked(handle: int, path: Path, *, exclusive: bool) -> Iterator[None]:
    """Hold a lock on an open file, alone or, unless ``exclusive``, perhaps with others; wait for whoever holds it.

    On Windows a lock is always exclusive, and the file, shorter than `LOCKED_BYTE`, is read and written from its
    begin.  OSError where the file cannot be locked: it names ``path``.
    """
    lock, unlock = _calls(handle, path, exclusive=exclusive)
    try:
        lock()
    except OSError as error:
        raise OSError(error.errno, "cannot be locked; keep the ledger on a local disk", str(path)) from None
    try:
        yield
    finally:
        unlock()


def _calls(handle: int, path: Path, *, exclusive: bool) -> tuple[Callable[[], object], Callable[[], object]]:
    """What locks the file on this system, and what unlocks it."""
    # Looked up by name: a checker of types knows the one of its own system only.
    with suppress(ImportError):
        posix: Any = import_module("fcntl")
        kind = posix.LOCK_EX if exclusive else posix.LOCK_SH
        # Closing would not be enough to unlock it if the process was forked meanwhile.
        return partial(posix.flock, handle, kind), partial(posix.flock, handle, posix.LOCK_UN)
    with suppress(ImportError):
        windows: Any = import_module("msvcrt")
        return partial(_wait_for_byte, windows, handle), partial(_at_byte, windows, handle, windows.LK_UNLCK)
    raise OSError(errno.ENOTSUP, "ledgers in files need the file locks of POSIX or of Windows", str(path))


def _wait_for_byte(windows: Any, handle: int) -> None:
    while True:
        try:
            return _at_byte(windows, handle, windows.LK_NBLCK)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EDEADLK):  # of bytes that somebody else has locked
                raise
        time.sleep(_PAUSE)


def _at_byte(windows: Any, handle: int, mode: int) -> None:
    os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)  # what is locked begins where the file is
    try:
        windows.locking(handle, mode, 1)
    finally:
        os.lseek(handle, 0, os.SEEK_SET)
