"""Output that appears whole or not at all, whatever raises or kills the process.

Reads: a path, and what a block writes.  Gives: a complete file or folder at that path, or nothing.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PathLike = str | os.PathLike[str]


@contextmanager
def write_whole(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when the block ends, and vanishes if the block raises.

    A killed process leaves the old file, or none, and a hidden ``.NAME.XXXXXXXX.partial`` beside it.

    Raises:
        OSError: the folder does not exist or cannot be written.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file")
    partial = _partial(target)
    try:
        with open(partial, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


@contextmanager
def write_whole_folder(path: PathLike) -> Iterator[Path]:
    """Make a folder that becomes ``path`` when the block ends, and vanishes if the block raises.

    A killed process leaves no ``path`` and a hidden ``.NAME.XXXXXXXX.partial`` beside it.  What the block wrote is not
    forced to the disk file by file: after a power failure compare the files with their manifest.

    Raises:
        FileExistsError: ``path`` exists and is not an empty folder; nothing has been done.
        OSError: the folder around it does not exist or cannot be written.
    """
    target = Path(path)
    require_free_folder(target)
    partial = _partial(target)
    partial.mkdir()
    try:
        yield partial
        if target.is_dir():
            target.rmdir()
        os.rename(partial, target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    _sync_folder(target.parent)


def require_free_folder(path: PathLike) -> None:
    """Raise FileExistsError unless ``path`` does not exist or is an empty folder."""
    target = Path(path)
    if target.is_dir():
        if any(target.iterdir()):
            raise FileExistsError(f"{target} is not empty; name a new folder, or empty this one first")
    elif target.exists() or target.is_symlink():
        raise FileExistsError(f"{target} is a file; name a new folder")


def _partial(target: Path) -> Path:
    """A hidden name beside ``target`` that nobody takes for output."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist; make it first")
    return target.parent / f".{target.name[:100]}.{secrets.token_hex(4)}.partial"


def _sync_folder(folder: Path) -> None:
    """Force the folder's entries to the disk, where the system lets folders be opened."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
