"""From what people write to a store, or to a folder that may be in one; and whether other processes reach the same."""

import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from residualplanner.ground.atomic import require_free_folder, write_folder_atomically
from residualplanner.ground.checks import require_path, value_text
from residualplanner.ground.errors import ArgumentError, MissingExtraError, StoreError
from residualplanner.ground.stores.bucket import VARIABLES, Bucket, BucketPath, environment
from residualplanner.ground.stores.object_store import PROBES, Folder, ObjectStore

#: A file or folder, on a disk or in a bucket.
AnyPath = Path | BucketPath

#: What a folder holds as soon as it is whole.
LAST = "manifest.json"
#: How many seconds a store may take to answer; one whose keys or endpoint are wrong may be tried for minutes.
PATIENCE = 60

_ACCEPTED = (
    "the path of a folder, or an address such as s3://bucket/prefix, s3a://.., gs://.., "
    "abfss://container@account.dfs.core.windows.net/prefix or file:///folder"
)


def open_store(where: object) -> ObjectStore:
    """The store at a path or address, or which it is; nothing is read or written yet.

    A folder is made if it is not there; for an address, the environment holds keys, region and endpoint.
    """
    if isinstance(where, ObjectStore):
        return where
    path = path_at(where)
    return path.bucket if isinstance(path, BucketPath) else Folder(path.absolute())


def path_given(call: str, where: object, example: str) -> AnyPath:
    """As `path_at`, of the argument ``path`` of a call, of which ``example`` is a correct one."""
    if not isinstance(where, Bucket | BucketPath):
        require_path(call, where, example)
    return path_at(where)


def path_at(where: object) -> AnyPath:
    """The file or folder at a path or address; nothing is read or written yet, ArgumentError where it is neither."""
    match where:
        case BucketPath():
            return where
        case Bucket():
            return BucketPath(where)
        case str() if "://" in where:
            address = urlsplit(where.rstrip("/"))
            if address.scheme == "file" and address.netloc in ("", "localhost") and address.path:
                return Path(unquote(address.path))
            if address.scheme in VARIABLES and address.netloc:
                return BucketPath(Bucket(where.rstrip("/")))
        case os.PathLike():
            return Path(where)
        case str() if where:
            return Path(where)
    raise ArgumentError(f"a store must be {_ACCEPTED}, or a Bucket, got {value_text(where)}")


@contextmanager
def local_file(path: AnyPath) -> Iterator[Path]:
    """The same file on a disk of this machine: itself, or a copy that has a name while the block runs."""
    if isinstance(path, Path):
        yield path
        return
    with tempfile.NamedTemporaryFile() as copy:
        path.download(copy)
        yield Path(copy.name)


@contextmanager
def new_folder(path: AnyPath) -> Iterator[Path]:
    """A folder on a disk that appears at ``path`` when the block ends, whole or not at all.

    In a bucket what has no ``manifest.json`` is no release, so that is the last object to be made.  FileExistsError
    where there is something already.
    """
    if isinstance(path, Path):
        with write_folder_atomically(path) as folder:
            yield folder
        return
    require_free(path)
    with tempfile.TemporaryDirectory() as scratch:
        yield Path(scratch)
        files = sorted(each for each in Path(scratch).rglob("*") if each.is_file())
        for file in sorted(files, key=lambda each: each.name == LAST):
            with file.open("rb") as source, (path / file.relative_to(scratch).as_posix()).writing() as target:
                shutil.copyfileobj(source, target)


def require_free(path: AnyPath) -> None:
    """Raise FileExistsError unless there is nothing at ``path``, or an empty folder."""
    if isinstance(path, Path):
        require_free_folder(path)
    elif any(path.iterdir()):
        raise FileExistsError(f"{path} is not empty; name a new prefix, or empty this one first")


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
        store, own = self.store, _new_mark(self.store)
        try:
            if store.read(self.name) != self.content:
                raise FileNotFoundError
            try:
                is_kept = store.create_if_absent(own.name, own.content) and store.read(own.name) == own.content
            finally:
                store.remove(own.name)
        except FileNotFoundError:
            return (
                "what this process has written there is not found there; a folder must be on a file system that all "
                "workers have under the same path, and a bucket's endpoint must be the same (AWS_ENDPOINT)"
            )
        except (StoreError, MissingExtraError) as error:
            return str(error)
        return "" if is_kept else "what is written there is not kept"


def _new_mark(store: ObjectStore) -> Mark:
    return Mark(store, f"{PROBES}{secrets.token_hex(8)}", secrets.token_bytes(32))


@contextmanager
def marked(store: ObjectStore) -> Iterator[Mark]:
    """A mark in a store, which is removed in the end; StoreError where it cannot be written."""
    mark = _new_mark(store)
    store.create_if_absent(mark.name, mark.content)
    try:
        yield mark
    finally:
        store.remove(mark.name)


def variables_of(store: ObjectStore) -> list[str]:
    """The names of the variables of this process's environment that have to do with a store."""
    return [*environment()] if isinstance(store, Bucket) else []
