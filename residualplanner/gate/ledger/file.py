"""A file to which one process at a time appends lines, each forced to the disk: the home of POSIX locks."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from residualplanner.ground.atomic import force_name, partial_path
from residualplanner.ground.errors import BudgetError, FileFormatError

#: The largest file, in bytes.
SIZE_LIMIT = 2**26
_CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class LockedFile:
    """A file while it is locked."""

    handle: int  # its descriptor
    content: bytes  # what it held when it was locked

    def append(self, line: bytes) -> None:
        """Write ``line`` at the end and force it to the disk: when this returns, the line is permanent.

        If the system refuses to write all of it (OSError), the part that is written is removed again; BudgetError where
        the file would become too large.
        """
        if len(self.content) + len(line) > SIZE_LIMIT:
            raise BudgetError(f"the ledger is full: a file of {SIZE_LIMIT:,} bytes; begin another with what is left")
        written = 0
        try:
            while written < len(line):
                written += os.write(self.handle, line[written:])
        except BaseException:
            os.ftruncate(self.handle, len(self.content))
            raise
        os.fsync(self.handle)


@contextmanager
def locked_file(path: Path, *, exclusive: bool) -> Iterator[LockedFile]:
    """Open a file and lock it, exclusively to write, or together with other readers.

    FileFormatError: it is not a regular file.  OSError: it cannot be opened, read, or locked; or it was replaced
    meanwhile.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FileFormatError("it is not a regular file")
    handle = os.open(path, (os.O_RDWR | os.O_APPEND if exclusive else os.O_RDONLY) | _CLOSED_ON_EXEC)
    try:
        with _lock(handle, path, exclusive=exclusive):
            if not os.path.samestat(os.fstat(handle), os.stat(path)):
                raise OSError(errno.EBUSY, "it was replaced while it was being opened; try again", str(path))
            yield LockedFile(handle, _content(handle))
    finally:
        os.close(handle)


def create_file(path: Path, line: bytes) -> None:
    """Make a new file of one line, forced to the disk: nobody sees it without that line.

    A killed process leaves no file, and perhaps a hidden ``.NAME.XXXXXXXX.partial`` beside it; on a disk without hard
    links, perhaps a file without a complete line.

    Raises:
        FileExistsError: the path exists already.
        OSError: it cannot be made or locked.
    """
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, "it exists already", str(path))
    partial = partial_path(path)
    _write_new(partial, path, line)
    try:
        os.link(partial, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _write_new(path, path, line)
    finally:
        with suppress(OSError):
            os.unlink(partial)
    force_name(path)


def _write_new(path: Path, shown: Path, line: bytes) -> None:
    """Make a new file of one line, forced to the disk, or none; messages call it ``shown``."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CLOSED_ON_EXEC, 0o666)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(shown)) from None
    try:
        with _lock(handle, shown, exclusive=True):
            LockedFile(handle, b"").append(line)
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(handle)


_CLOSED_ON_EXEC = getattr(os, "O_CLOEXEC", 0)
#: What the system says of a disk that holds no hard links.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


@contextmanager
def _lock(handle: int, path: Path, *, exclusive: bool) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:
        message = "ledgers in files need the file locks of a POSIX system; use one there"
        raise OSError(errno.ENOTSUP, message, str(path)) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
    except OSError as error:
        raise OSError(error.errno, "cannot be locked; keep the ledger on a local disk", str(path)) from None
    try:
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)  # closing is not enough if the process was forked meanwhile


def _content(handle: int) -> bytes:
    """All of a file, or a byte more than the largest may have."""
    content = bytearray()
    while len(content) <= SIZE_LIMIT and (piece := os.read(handle, min(_CHUNK, SIZE_LIMIT + 1 - len(content)))):
        content += piece
    return bytes(content)
