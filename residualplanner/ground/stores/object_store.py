"""Folders as stores, the check that a store keeps what is expected of it, and that others reach the same.

All that the protocol for drawing noise once rests on is that of several who create an object of one name at most one
succeeds, and that nobody sees a part of it.
"""

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from residualplanner.ground.atomic import force_name
from residualplanner.ground.errors import MissingExtraError, ResourceError, StoreError

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*(/[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*)*", re.ASCII)
#: Where objects stand for a moment that only try the store.
PROBES = "probes/"
#: Where a folder has objects before they have a name; no object's name starts so.
_UNFINISHED = ".unfinished"
#: Nobody but their owner reads objects or lists folders: what is in them is for the curator alone.
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600


def require_name(name: str) -> str:
    """Return ``name``, or raise ValueError unless it is one that every store holds, which leads out of none."""
    if not _NAME.fullmatch(name) or len(name) > 200:
        raise ValueError(f"names of objects are lower-case words joined by dots and slashes, got {name[:40]!r}")
    return name


def require_create_if_absent(store: Any) -> None:
    """ResourceError unless a store keeps the promise of `create_if_absent`, also to list and to read what it made."""
    name, first, second = f"{PROBES}{secrets.token_hex(8)}", secrets.token_bytes(32), secrets.token_bytes(32)
    made = store.create_if_absent(name, first)
    try:
        made_again = store.create_if_absent(name, second)
        if not made or made_again or store.read(name) != first or store.names(name) != [name]:
            raise ResourceError(
                f"{store} does not create an object only where none has its name (If-None-Match: * on object "
                "stores), so that noise could be drawn twice; use a folder, or an object store that does.  Nothing was "
                "charged or read"
            )
    finally:
        store.remove(name)


@dataclass(frozen=True, slots=True)
class Folder:
    """Objects as files in a folder, which is made when the first is; on workers it must be the same folder.

    Names are words of lower-case letters, digits, hyphens and underscores, joined by dots and slashes; ValueError for
    any other.  Several machines use a store at once, and it can be pickled; `Bucket` has the same methods.

    obstore's LocalStore links, too, but forces neither files nor names to the disk, so that a claim could be gone after
    a power failure and its noise be drawn again; and others may read its files.
    """

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def create_if_absent(self, name: str, content: bytes) -> bool:
        """Make an object that lasts, whole or not at all, and return whether it was made here; StoreError if it failed.

        False where an object of this name exists, whoever made it, and where that is uncertain, for example because
        the answer of a server was lost and a second request found the object there.
        """
        # A file beside the others is forced to the disk, and linked, which fails where a file has the name.
        unfinished = self.path / _UNFINISHED / secrets.token_hex(16)
        if not self.path.parent.exists():
            raise StoreError(f"{self.path} cannot be made: there is no {self.path.parent}; make it")
        with self._file(name) as target:
            for folder in (unfinished.parent, target.parent):
                self._make(folder)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
            try:
                with os.fdopen(os.open(unfinished, flags, _FILE_MODE), "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                os.link(unfinished, target)
            except FileExistsError:
                return False
            finally:
                with suppress(OSError):
                    unfinished.unlink(missing_ok=True)
            force_name(target)
        return True

    def read(self, name: str) -> bytes:
        """All bytes of an object; FileNotFoundError where there is none, StoreError where it cannot be read."""
        with self._file(name) as path:
            return path.read_bytes()

    def names(self, prefix: str) -> list[str]:
        """The names of all objects that start with ``prefix``, ascending; each that had been made is among them."""
        found: list[str] = []
        within = self.path / prefix.rpartition("/")[0]
        with _as_store_errors(within):
            for where, folders, files in os.walk(within, onerror=_unless_absent):
                folders[:] = [name for name in folders if not name.startswith(".")]
                found += [Path(where, name).relative_to(self.path).as_posix() for name in files]
        return sorted(name for name in found if name.startswith(prefix))

    def remove(self, name: str) -> None:
        """Remove an object, if it is there; StoreError where it cannot be removed."""
        with self._file(name) as path:
            path.unlink(missing_ok=True)

    def remove_unfinished(self) -> None:
        """Remove what writers that were killed left behind, and what those at work need; StoreError if that fails."""
        with _as_store_errors(self.path), suppress(FileNotFoundError):
            shutil.rmtree(self.path / _UNFINISHED)

    def free_bytes(self) -> int | None:
        """How many more bytes fit; None where that is not known."""
        there = next(folder for folder in (self.path, *self.path.parents) if folder.exists())
        return shutil.disk_usage(there).free

    @contextmanager
    def _file(self, name: str) -> Iterator[Path]:
        path = self.path / require_name(name)
        with _as_store_errors(path):
            yield path

    def _make(self, folder: Path) -> None:
        """Make a folder of the store, and those above it up to the store's, and force their names to the disk."""
        for each in reversed([folder, *folder.parents][: len(folder.relative_to(self.path).parts) + 1]):
            with suppress(FileExistsError):
                each.mkdir(_FOLDER_MODE)
                force_name(each)


def _unless_absent(error: OSError) -> None:
    """Raise the error, which ``os.walk`` would pass over, unless a folder is not there."""
    if not isinstance(error, FileNotFoundError):
        raise error


@contextmanager
def _as_store_errors(path: Path) -> Iterator[None]:
    """Raise StoreError for whatever the system raises, but for a file that is not there."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no {path}") from None
    except OSError as error:
        raise StoreError(f"{path} could not be read or written: {error.strerror or error}") from None


#: Says what keeps a process from a store, and nothing if nothing does; it can be sent to other machines.
Mark = Callable[[], str]


@contextmanager
def marked(store: Any) -> Iterator[Mark]:
    """An object is put into a store, for others to find, and removed in the end; StoreError where it cannot be."""
    name, content = f"{PROBES}{secrets.token_hex(8)}", secrets.token_bytes(32)
    store.create_if_absent(name, content)
    try:
        yield partial(_trouble, store, name, content)
    finally:
        store.remove(name)


def _trouble(store: Any, name: str, content: bytes) -> str:
    """What keeps this process from the store; nothing if it can read the mark, and write and read an object."""
    try:
        if store.read(name) != content:
            raise FileNotFoundError
        require_create_if_absent(store)
    except FileNotFoundError:
        return (
            "what this process has written there is not found there; a folder must be on a file system that all "
            "workers have under the same path, and a bucket's endpoint must be the same (AWS_ENDPOINT)"
        )
    except (StoreError, MissingExtraError, ResourceError) as error:
        return str(error)
    return ""
