"""Where a ledger is kept: in the memory of one process, or in a file that is read anew each time.

To the file one process at a time appends lines, each forced to the disk.
"""

import errno
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from residualplanner.gate.ledger import lines
from residualplanner.ground.atomic import force_name, partial_path
from residualplanner.ground.errors import BudgetError, FileFormatError
from residualplanner.ground.locks import locked
from residualplanner.ground.words import NOT_CHARGED, charged_text, decimal_text_up

_BINARY = getattr(os, "O_BINARY", 0)  # Windows writes line feeds as they are only if it is told to
#: What the system says of a disk that holds no hard links; the last is what Windows says.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EINVAL)

#: Makes the next line of an account, still without its hash, or refuses to.
NextLine = Callable[[lines.LedgerAccount], lines.Line]


class Memory:
    """An account in the memory of one process."""

    def __init__(self, terms: lines.LedgerTerms) -> None:
        self.terms = terms
        self._account = lines.LedgerAccount(terms, terms.head)
        self._lock, self._process = threading.Lock(), os.getpid()

    def account(self) -> lines.LedgerAccount:
        """The account as it is now."""
        return self._account

    def append(self, next_line: NextLine[lines.Line]) -> lines.Line:
        """Add the next line; BudgetError in a copy of the process, which would spend the same budget again."""
        # First of all, as a copy has the lock in whatever state it was when it was made.
        if os.getpid() != self._process:
            raise BudgetError(
                "a ledger in memory can be charged only by the process that made it, since others spend from copies; "
                "use one in a file, with Ledger.create(path, ...)"
            )
        with self._lock:
            line = self._account.following(next_line(self._account))
            self._account = self._account.with_line(line)
        return line


class File:
    """An account in a file, read anew each time, and refused if an entry that was seen is missing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = (0, "")
        self.terms = self.account().terms

    def account(self) -> lines.LedgerAccount:
        """The account as the file has it now."""
        try:
            with locked_file(self._path, exclusive=False) as (_, content):
                return self._checked(content)
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no ledger {self._path}; make it first, with Ledger.create") from None
        except FileFormatError as error:
            raise FileFormatError(f"{self._path}: {error}") from None

    def append(self, next_line: NextLine[lines.Line]) -> lines.Line:
        """Add the next line, under a lock and forced to the disk; a note of an OSError says whether it counts."""
        account = line = None
        try:
            with locked_file(self._path, exclusive=True) as (handle, content):
                account = self._checked(content)
                line = account.following(next_line(account))
                append_line(handle, content, account.bytes_of(line))
            self._seen = (len(account.lines) + 1, line.sha256)
        except FileFormatError as error:
            raise FileFormatError(f"{self._path}: {error}") from None
        except BaseException as error:
            if not isinstance(error, BudgetError):
                error.add_note(after_failed_charge(self._path, account, line))
            raise
        return line

    def _checked(self, content: bytes) -> lines.LedgerAccount:
        account = lines.read_account(content)
        number, seen = self._seen
        hashes = [account.terms.head, *(line.sha256 for line in account.lines)]
        # The hash of the last line that was seen covers all before it: the file still begins as it did.
        if seen and (number >= len(hashes) or hashes[number] != seen):
            raise FileFormatError("entries that were there before are missing; the file was replaced, or cut off")
        self._seen = (len(hashes) - 1, hashes[-1])
        return account


def after_failed_charge(
    path: Path, account: lines.LedgerAccount | None, entry: lines.LedgerEntry | lines.LedgerStage | None
) -> str:
    """Whether a charge counts although writing its entry raised an error, for an account as it was before.

    The file is read without its lock, which may be what failed.
    """
    if account is None or not isinstance(entry, lines.LedgerEntry):
        return NOT_CHARGED
    try:
        now = lines.read_account(path.read_bytes())
    except (OSError, FileFormatError):
        return (
            f"Whether pcost {decimal_text_up(entry.cost)} was charged is unknown, as {path} cannot be read now; "
            "it counts as charged until the ledger can be read and does not list it"
        )
    if entry.sha256 in (each.sha256 for each in now.entries[len(account.entries) :]):
        return charged_text(entry.cost, entry.sequence)
    if now.torn != account.torn and account.bytes_of(entry).startswith(now.torn.removeprefix(account.torn)):
        return (
            "A part of the charge's line is in the ledger, to which nothing more can be charged until you say what "
            "that line counts for, with Ledger.settle(cost) or residualplanner ledger FILE --settle COST"
        )
    return NOT_CHARGED


def after_failed_creation(path: Path) -> str:
    """Whether a ledger exists although its creation raised an error."""
    try:
        lines.read_account(path.read_bytes())
    except FileNotFoundError:
        return "No ledger was made."
    except (OSError, FileFormatError):
        return f"{path} is not a complete ledger; nothing is charged to it: remove it, and create the ledger again"
    return f"There is a complete ledger {path}, of this call or of another process: open it."


def append_line(handle: int, content: bytes, line: bytes) -> None:
    """Write ``line`` after the content of a locked file and force it to the disk: then the line is permanent.

    If the system refuses to write all of it (OSError), what is written is removed again; BudgetError if it is too much.
    """
    if len(content) + len(line) > lines.SIZE_LIMIT:
        raise BudgetError(f"the ledger is full: a file of {lines.SIZE_LIMIT:,} bytes; begin another with what is left")
    written = 0
    try:
        while written < len(line):
            written += os.write(handle, line[written:])
    except BaseException:
        os.ftruncate(handle, len(content))
        raise
    os.fsync(handle)


@contextmanager
def locked_file(path: Path, *, exclusive: bool) -> Iterator[tuple[int, bytes]]:
    """Open a file and lock it, exclusively to write, or together with other readers: its descriptor and its content.

    FileFormatError where it is not a regular file, OSError where this fails or it was replaced meanwhile.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FileFormatError("it is not a regular file")
    handle = os.open(path, (os.O_RDWR | os.O_APPEND if exclusive else os.O_RDONLY) | _BINARY)
    try:
        with locked(handle, path, exclusive=exclusive):
            # While this process waited for the lock, another may have given the name to another file.
            if not os.path.samestat(os.fstat(handle), os.stat(path)):
                raise OSError(errno.EBUSY, "it was replaced while it was being opened; try again", str(path))
            content = bytearray()  # all of the file, or a byte more than the largest may have
            while len(content) <= lines.SIZE_LIMIT and (
                piece := os.read(handle, min(2**20, lines.SIZE_LIMIT + 1 - len(content)))
            ):
                content += piece
            yield handle, bytes(content)
    finally:
        os.close(handle)


def create_file(path: Path, line: bytes) -> None:
    """Make a new file of one line, forced to the disk: nobody sees it without that line.

    A killed process leaves no file, and perhaps a hidden ``.NAME.XXXXXXXX.partial`` beside it; on a disk without hard
    links, perhaps a file without a complete line.  FileExistsError where the path exists, OSError where this fails.
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
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(shown)) from None
    try:
        with locked(handle, shown, exclusive=True):
            append_line(handle, b"", line)
    except BaseException:
        with suppress(OSError):
            os.close(handle)  # Windows removes no file that is open
        os.unlink(path)
        raise
    os.close(handle)
