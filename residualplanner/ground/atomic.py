"""Output that appears complete or not at all, whatever error or signal ends the process."""

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from residualplanner.ground.errors import UnforcedError

PathLike = str | os.PathLike[str]

#: On Windows, how often it is tried to rename what somebody has open, as scanners have new files, and seconds between.
_ATTEMPTS, _PAUSE = 20, 0.05


@contextmanager
def write_atomically(path: Any) -> Iterator[IO[bytes]]:
    """Open a file that replaces ``path`` when the block ends, and vanishes if the block raises.

    A killed process leaves the old file, or none, and a hidden ``.NAME.XXXXXXXX.partial`` beside it.  UnforcedError
    where the new file exists, complete, but may be gone after a power failure.  A path in a store has ``writing``.
    """
    if hasattr(path, "writing"):
        with path.writing() as file:
            yield file
        return
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file")
    partial = partial_path(target)
    try:
        with open(partial, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # before the file gets its name: a power failure leaves the old one or all of this
        rename(os.replace, partial, target)
    except BaseException:
        with suppress(OSError):  # the first error is the one to report
            partial.unlink(missing_ok=True)
        raise
    force_name(target)


@contextmanager
def write_folder_atomically(path: PathLike) -> Iterator[Path]:
    """Make a folder that becomes ``path`` when the block ends, and vanishes if the block raises.

    A killed process leaves no ``path`` and a hidden ``.NAME.XXXXXXXX.partial`` beside it.  The files in it are not
    forced to the disk one by one: after a power failure compare them with their manifest.
    """
    target = Path(path)
    require_free_folder(target)
    partial = partial_path(target)
    partial.mkdir()
    try:
        yield partial
        if target.is_dir():
            target.rmdir()
        rename(os.rename, partial, target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    force_name(target)


def require_free_folder(path: PathLike) -> None:
    """Raise FileExistsError unless ``path`` does not exist or is an empty folder."""
    target = Path(path)
    if target.is_dir():
        if any(target.iterdir()):
            raise FileExistsError(f"{target} is not empty; name a new folder, or empty this one first")
    elif target.exists() or target.is_symlink():
        raise FileExistsError(f"{target} is a file; name a new folder")


def rename(call: Callable[[Path, Path], None], old: Path, new: Path) -> None:
    """Rename by `os.rename` or `os.replace`; on Windows PermissionError where either stays open in another program."""
    is_windows = os.name == "nt"
    for _ in range(_ATTEMPTS if is_windows else 0):
        with suppress(PermissionError):
            return call(old, new)
        time.sleep(_PAUSE)
    try:
        call(old, new)
    except PermissionError as error:
        if not is_windows:
            raise
        words = "it is open in another program, or its folder may not be written to; close it there, or name another"
        raise PermissionError(error.errno, words, str(new)) from None
    return None


def force_name(path: Path) -> None:
    """Force the name of a new file or folder to the disk, where the system lets folders be opened, or UnforcedError."""
    if os.name != "posix":
        return  # Windows opens no folders; its file systems keep a journal of names
    try:
        handle = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        words = (
            f"it is written, complete, but its name could not be forced to the disk ({error.strerror or error}); "
            "after a power failure it may be gone"
        )
        raise UnforcedError(error.errno, words, str(path)) from None


def partial_path(target: Path) -> Path:
    """A hidden name beside ``target`` that nobody mistakes for output."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; make it first")
    with suppress(FileNotFoundError):
        os.lstat(target)  # a name that is too long is refused here, not after all the work
    return target.parent / f".{target.name[:50]}.{secrets.token_hex(4)}.partial"
