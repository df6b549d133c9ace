"""What is expected of stores, the check that a store keeps it and that others reach the same, and folders, which do.

All that the protocol for drawing noise once rests on is that of several who create an object of one name at most one
succeeds, and that nobody sees a part of it.
"""

import os
import re
import secrets
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from residualplanner.ground.atomic import force_name
from residualplanner.ground.errors import MissingExtraError, ResourceError, StoreError

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*(/[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*)*", re.ASCII)
_LONGEST = 200
#: Where objects stand for a moment that only try the store.
PROBES = "probes/"
#: How many seconds a store may take to answer; one whose keys or endpoint are wrong may be tried for minutes.
PATIENCE = 60
#: Where a folder has objects before they have a name; no object's name starts so.
_UNFINISHED = ".unfinished"
#: Nobody but their owner reads objects or lists folders: what is in them is for the curator alone.
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600


@runtime_checkable
class ObjectStore(Protocol):
    """A flat collection of objects, which processes on several machines use at once; it can be pickled.

    Names are words of lower-case letters, digits, hyphens and underscores, joined by dots and slashes; ValueError for
    any other.
    """

    def create_if_absent(self, name: str, content: bytes) -> bool:
        """Make an object that lasts, whole or not at all, and return whether it was made here.

        False where an object of this name exists, whoever made it, and where that is uncertain, for example because
        the answer of a server was lost and a second request found the object there.

        Raises:
            StoreError: it could not be made, as far as is known; it may exist all the same.
        """

    def read(self, name: str) -> bytes:
        """All bytes of an object; FileNotFoundError where there is none, StoreError where it cannot be read."""

    def names(self, prefix: str) -> list[str]:
        """The names of all objects that start with ``prefix``, ascending; StoreError where they cannot be listed.

        Each object that had been made before the call is among them.
        """

    def remove(self, name: str) -> None:
        """Remove an object, if it is there; StoreError where it cannot be removed."""

    def remove_unfinished(self) -> None:
        """Remove what writers that were killed left behind, which never was an object; StoreError if that fails.

        A writer that is at work then fails.
        """

    def free_bytes(self) -> int | None:
        """How many more bytes fit, where the store has a limit that is known."""


def require_name(name: str) -> str:
    """Return ``name``, or raise ValueError unless it is one that every store holds, which leads out of none."""
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise ValueError(f"names of objects are lower-case words joined by dots and slashes, got {name[:40]!r}")
    return name


def require_create_if_absent(store: ObjectStore) -> None:
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

    obstore's LocalStore links, too, but forces neither files nor names to the disk, so that a claim could be gone after
    a power failure and its noise be drawn again; and others may read its files.
    """

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def create_if_absent(self, name: str, content: bytes) -> bool:
        """Write a file beside the others, force it to the disk, and link it, which fails where a file has the name."""
        target, unfinished = self._file(name), self.path / _UNFINISHED / secrets.token_hex(16)
        if not self.path.parent.exists():
            raise StoreError(f"{self.path} cannot be made: there is no {self.path.parent}; make it")
        with _as_store_errors(target):
            for folder in (unfinished.parent, target.parent):
                self._make(folder)
            try:
                _write(unfinished, content)
                os.link(unfinished, target)
            except FileExistsError:
                return False
            finally:
                with suppress(OSError):
                    unfinished.unlink(missing_ok=True)
            force_name(target)
        return True

    def read(self, name: str) -> bytes:
        """As `ObjectStore.read`."""
        path = self._file(name)
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no {path}") from None
        except OSError as error:
            raise _failed(path, error) from None

    def names(self, prefix: str) -> list[str]:
        """As `ObjectStore.names`; hidden folders hold no objects."""
        found: list[str] = []
        within = self.path / prefix.rpartition("/")[0]
        with _as_store_errors(within):
            for where, folders, files in os.walk(within, onerror=_unless_absent):
                folders[:] = [name for name in folders if not name.startswith(".")]
                found += [Path(where, name).relative_to(self.path).as_posix() for name in files]
        return sorted(name for name in found if name.startswith(prefix))

    def remove(self, name: str) -> None:
        """As `ObjectStore.remove`."""
        path = self._file(name)
        with _as_store_errors(path):
            path.unlink(missing_ok=True)

    def remove_unfinished(self) -> None:
        """As `ObjectStore.remove_unfinished`."""
        with _as_store_errors(self.path), suppress(FileNotFoundError):
            shutil.rmtree(self.path / _UNFINISHED)

    def free_bytes(self) -> int | None:
        """How many bytes the disk has left."""
        there = next(folder for folder in (self.path, *self.path.parents) if folder.exists())
        return shutil.disk_usage(there).free

    def _file(self, name: str) -> Path:
        return self.path / require_name(name)

    def _make(self, folder: Path) -> None:
        """Make a folder of the store, and those above it up to the store's, and force their names to the disk."""
        for each in reversed([folder, *folder.parents][: len(folder.relative_to(self.path).parts) + 1]):
            with suppress(FileExistsError):
                each.mkdir(_FOLDER_MODE)
                force_name(each)


def _write(path: Path, content: bytes) -> None:
    """Write a new file and force it to the disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), _FILE_MODE)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _unless_absent(error: OSError) -> None:
    """Raise the error, which ``os.walk`` would pass over, unless a folder is not there."""
    if not isinstance(error, FileNotFoundError):
        raise error


@contextmanager
def _as_store_errors(path: Path) -> Iterator[None]:
    """Raise StoreError for whatever the system raises."""
    try:
        yield
    except OSError as error:
        raise _failed(path, error) from None


def _failed(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path} could not be read or written: {error.strerror or error}")


@dataclass(frozen=True, slots=True)
class Mark:
    """An object that one process has put into a store, for others to find."""

    store: ObjectStore
    name: str
    content: bytes

    def trouble(self) -> str:
        """What keeps this process from the store; nothing if it can read the mark, and write and read an object.

        A store that does not answer for a minute is left alone.
        """
        found: list[str] = []
        work = threading.Thread(target=lambda: found.append(self._trouble()), daemon=True)
        work.start()
        work.join(PATIENCE)
        return found[0] if found else f"it has not answered for {PATIENCE} seconds"

    def _trouble(self) -> str:
        try:
            if self.store.read(self.name) != self.content:
                raise FileNotFoundError
            require_create_if_absent(self.store)
        except FileNotFoundError:
            return (
                "what this process has written there is not found there; a folder must be on a file system that all "
                "workers have under the same path, and a bucket's endpoint must be the same (AWS_ENDPOINT)"
            )
        except (StoreError, MissingExtraError, ResourceError) as error:
            return str(error)
        return ""


@contextmanager
def marked(store: ObjectStore) -> Iterator[Mark]:
    """A mark in a store, which is removed in the end; StoreError where it cannot be written."""
    mark = Mark(store, f"{PROBES}{secrets.token_hex(8)}", secrets.token_bytes(32))
    store.create_if_absent(mark.name, mark.content)
    try:
        yield mark
    finally:
        store.remove(mark.name)
