"""A folder as a store: on a disk, or on a file system that several machines share.

Reads: a path.  Gives: ObjectStore.

An object is written to a file of its own beside the others, forced to the disk, and linked to its name, which the
system does only where no file has that name; then the folder is forced to the disk.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from residualplanner.ground.atomic import force_name
from residualplanner.ground.errors import StoreError
from residualplanner.ground.stores.object_store import require_name

#: Where objects are written before they have a name; no object's name starts so.
_UNFINISHED = ".unfinished"
#: Nobody but their owner reads objects or lists folders: what is in them is for the curator alone.
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600


@dataclass(frozen=True, slots=True)
class Folder:
    """Objects as files in a folder, which is made when the first is.

    Attributes:
        path: of the folder; on workers of an engine it must be the same folder.
    """

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def create_if_absent(self, name: str, content: bytes) -> bool:
        """As `ObjectStore.create_if_absent`."""
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
        """As `ObjectStore.names`."""
        within = self.path / prefix.rpartition("/")[0]
        with _as_store_errors(within):
            found = [path.relative_to(self.path).as_posix() for path in _files(within)]
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


def _files(folder: Path) -> Iterator[Path]:
    """The files in a folder, if it exists, and in the folders within it that are not hidden."""
    for where, folders, files in os.walk(folder, onerror=_unless_absent):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(where, name) for name in files)


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
