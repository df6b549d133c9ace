"""From what people write to a store, or to a folder that may be in one.

Reads: a path, or an address such as ``s3://bucket/prefix``.  Gives: ObjectStore; or a path to write to or read from.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from residualplanner.ground.atomic import require_free_folder, write_folder_atomically
from residualplanner.ground.checks import require_path, value_text
from residualplanner.ground.errors import ArgumentError
from residualplanner.ground.stores.bucket import VARIABLES, Bucket, BucketPath
from residualplanner.ground.stores.folder import Folder
from residualplanner.ground.stores.object_store import ObjectStore

#: A file or folder, on a disk or in a bucket.
AnyPath = Path | BucketPath

#: What a folder holds as soon as it is whole.
LAST = "manifest.json"

_ACCEPTED = (
    "the path of a folder, or an address such as s3://bucket/prefix, s3a://.., gs://.., "
    "abfss://container@account.dfs.core.windows.net/prefix or file:///folder"
)


def open_store(where: object) -> ObjectStore:
    """The store at a path or address; nothing is read or written yet.

    Args:
        where: the path of a folder, which is made if it is not there; ``s3://bucket/prefix`` or another address, for
            which the environment holds keys, region and endpoint; or a store.

    Raises:
        ArgumentError: it is none of these.

    Example:
        >>> open_store("s3://survey/release-1")
        Bucket(address='s3://survey/release-1')
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
    """The file or folder at a path or address; nothing is read or written yet.

    Raises:
        ArgumentError: it is neither.

    Example:
        >>> str(path_at("gs://survey/release-1") / "manifest.json")
        'gs://survey/release-1/manifest.json'
    """
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

    In a bucket what has no ``manifest.json`` is no release, so that is the last object to be made.

    Raises:
        FileExistsError: there is something already.
        OSError, StoreError: it cannot be written.
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
