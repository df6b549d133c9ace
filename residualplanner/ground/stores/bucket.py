"""Buckets of object stores, and what users write for a store, or for a path that may be in one: the home of obstore.

They are Amazon S3 and what has its interface, Google Cloud Storage, and Azure Blob Storage.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast
from urllib.parse import unquote, urlsplit

from residualplanner.ground.atomic import write_folder_atomically
from residualplanner.ground.checks import require_path, value_text
from residualplanner.ground.errors import ArgumentError, StoreError, needing
from residualplanner.ground.stores.object_store import Folder, require_name

_OF_AMAZON = "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and, for a server that is not Amazon's, AWS_ENDPOINT"
#: By the start of an address, the variables of the environment that say who asks, and where the bucket is.
VARIABLES = {
    **dict.fromkeys(("s3", "s3a"), _OF_AMAZON),
    "gs": "GOOGLE_SERVICE_ACCOUNT or GOOGLE_APPLICATION_CREDENTIALS",
    **dict.fromkeys(("abfs", "abfss"), "AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_CLIENT_ID"),
}
#: The variables that obstore takes an endpoint from, the one that goes before the others first.
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
#: How the variables start that obstore reads.
_PROVIDERS = ("AWS_", "AZURE_", "GOOGLE_")
#: What a folder holds as soon as it is whole.
LAST = "manifest.json"
_ACCEPTED = (
    "the path of a folder, or an address such as s3://bucket/prefix, s3a://.., gs://.., "
    "abfss://container@account.dfs.core.windows.net/prefix or file:///folder"
)


@dataclass(frozen=True, slots=True)
class Bucket:
    """Objects in a bucket: a store, and a path with what releases need of the methods of `pathlib.Path`.

    Attributes:
        address: ``s3://bucket/prefix``, ``s3a://``, ``gs://``, or ``abfss://container@account.dfs.core.windows.net/``;
            the prefix is a folder, as it were.
        settings: of the connection, such as ``("endpoint", "https://..")`` and ``("region", "..")``.  Keys are better
            left out, and set in the environment of the driver and of the workers; see ``docs/engines.md``.
        key: the name of a file or folder there; empty for the folder that the address names.

    Raises:
        MissingExtraError: obstore is not installed; raised when the bucket is first used.
        StoreError: there is no such address; raised then.
    """

    address: str
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    key: str = ""

    def __str__(self) -> str:
        return "/".join(word for word in (self.address, self.key) if word)

    def __truediv__(self, name: str) -> "Bucket":
        words = PurePosixPath(self.key, name)
        if ".." in words.parts or words.is_absolute():
            raise ValueError(f"a path within {self} is a name, got {name[:40]!r}")
        return replace(self, key=str(words))

    def create_if_absent(self, name: str, content: bytes) -> bool:
        """As `Folder.create_if_absent`: a request with ``If-None-Match: *``."""
        made = self / require_name(name)
        with made._reached() as (obstore, client):
            try:
                obstore.put(client, made.key, content, mode="create", use_multipart=False)
            except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError):
                return False
        return True

    def read(self, name: str) -> bytes:
        """As `Folder.read`."""
        return (self / require_name(name)).read_bytes()

    def names(self, prefix: str) -> list[str]:
        """As `Folder.names`."""
        above = f"{self.key}/" if self.key else ""
        folder = (above + prefix).rpartition("/")[0]  # an object store lists by whole words between slashes
        with self._reached() as (obstore, client):
            keys = [each["path"] for batch in obstore.list(client, prefix=folder or None) for each in batch]
        return sorted(key.removeprefix(above) for key in keys if key.startswith(above + prefix))

    def remove(self, name: str) -> None:
        """As `Folder.remove`."""
        (self / require_name(name)).unlink()

    def remove_unfinished(self) -> None:
        """Nothing: an object store shows no object before it is whole."""

    def free_bytes(self) -> int | None:
        """None: an object store states no limit."""
        return None

    @property
    def name(self) -> str:
        """The last word of it."""
        return str(self).rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """What its last word ends with, from the last dot on."""
        return PurePosixPath(self.key).suffix

    def is_file(self) -> bool:
        """Whether there is an object of this name."""
        try:
            with self._reached() as (obstore, client):
                obstore.head(client, self.key)
        except FileNotFoundError:
            return False
        return True

    def read_bytes(self) -> bytes:
        """All bytes of the object; FileNotFoundError where there is none."""
        with self._reached() as (obstore, client):
            return bytes(obstore.get(client, self.key).bytes())

    def open(self, mode: str = "rb") -> IO[bytes]:
        """The object, to be read from any byte on; FileNotFoundError where there is none."""
        assert mode == "rb"
        with self._reached() as (obstore, client):
            return cast(IO[bytes], obstore.open_reader(client, self.key))

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """A file whose content becomes the object, in the place of one that is there, if the block does not raise."""
        with tempfile.SpooledTemporaryFile(2**26) as file:  # in memory up to so many bytes, then without a name
            yield file
            file.seek(0)
            with self._reached() as (obstore, client):
                obstore.put(client, self.key, file)

    def iterdir(self) -> Iterator["Bucket"]:
        """The objects in this folder, and the folders in it."""
        with self._reached() as (obstore, client):
            found = obstore.list_with_delimiter(client, prefix=self.key or None)
        keys = sorted([*found["common_prefixes"], *(each["path"] for each in found["objects"])])
        return (replace(self, key=key) for key in keys)

    def unlink(self) -> None:
        """Remove the object, if it is there."""
        with self._reached() as (obstore, client):
            obstore.delete(client, self.key)

    @contextmanager
    def _reached(self) -> Iterator[tuple[Any, Any]]:
        """The package, and this process's connections to the bucket.

        Whatever the client raises becomes a StoreError without the text of the server, which may quote keys.
        """
        with needing("object stores need obstore", "s3"):
            import obstore
            import obstore.exceptions
        variables = {name: os.environ[name] for name in sorted(os.environ) if name.startswith(_PROVIDERS)}
        client = _client(self.address, self.settings, tuple(variables.items()))
        try:
            yield obstore, client
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no object {str(self)!r}") from None
        except obstore.exceptions.BaseError as error:
            raise _refused(str(self), type(error).__name__) from None


AnyPath = Path | Bucket
ObjectStore = Folder | Bucket


def open_store(where: object) -> ObjectStore:
    """The store at a path or address, or which it is; nothing is read or written yet.

    A folder is made if it is not there; for an address, the environment holds keys, region and endpoint.
    """
    if hasattr(where, "create_if_absent"):
        return cast(ObjectStore, where)
    path = path_at(where)
    return path if isinstance(path, Bucket) else Folder(path.absolute())


def path_given(call: str, where: object, example: str) -> AnyPath:
    """As `path_at`, of the argument ``path`` of a call, of which ``example`` is a correct one."""
    if not isinstance(where, Bucket):
        require_path(call, where, example)
    return path_at(where)


def path_at(where: object) -> AnyPath:
    """The file or folder at a path or address; nothing is read or written yet, ArgumentError where it is neither."""
    match where:
        case Bucket():
            return where
        case str() if "://" in where:
            address = urlsplit(where.rstrip("/"))
            if address.scheme == "file" and address.netloc in ("", "localhost") and address.path:
                return Path(unquote(address.path))
            if address.scheme in VARIABLES and address.netloc:
                return Bucket(where.rstrip("/"))
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
    # In a folder of its own: Windows opens no temporary file a second time, and keeps what is mapped into memory.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        copy = Path(scratch) / "copy"
        with closing(path.open()) as source, copy.open("xb") as target:
            shutil.copyfileobj(source, target, 2**24)
        yield copy


@contextmanager
def new_folder(path: AnyPath) -> Iterator[Path]:
    """A folder on a disk that appears at ``path`` when the block ends, whole or not at all.

    In a bucket what has no ``manifest.json`` is no release, so it is last.  FileExistsError where something is there.
    """
    if isinstance(path, Path):
        with write_folder_atomically(path) as folder:
            yield folder
        return
    if any(path.iterdir()):
        raise FileExistsError(f"{path} is not empty; name a new prefix, or empty this one first")
    with tempfile.TemporaryDirectory() as scratch:
        yield Path(scratch)
        files = sorted(each for each in Path(scratch).rglob("*") if each.is_file())
        for file in sorted(files, key=lambda each: each.name == LAST):
            with file.open("rb") as source, (path / file.relative_to(scratch).as_posix()).writing() as target:
                shutil.copyfileobj(source, target)


@lru_cache(maxsize=16)
def _client(address: str, settings: tuple[tuple[str, str], ...], variables: tuple[tuple[str, str], ...]) -> Any:
    """The connections of this process to a bucket; others where the environment has changed."""
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    config: Mapping[str, str] = dict(settings)
    endpoints = (config.get("endpoint"), *map(dict(variables).get, _ENDPOINTS))
    is_plain = next((each for each in endpoints if each), "").startswith("http://")
    try:
        retry = {"retry_timeout": timedelta(minutes=1)}  # a request with wrong keys or a wrong endpoint would take more
        return from_url(address, config=config or None, client_options={"allow_http": is_plain}, retry_config=retry)
    except (BaseError, ValueError) as error:
        raise _refused(address, type(error).__name__) from None


def _refused(address: str, what: str) -> StoreError:
    variables = VARIABLES.get(address.partition("://")[0], "the variables of its provider")
    return StoreError(
        f"{address} could not be read or written ({what}); see that the bucket is there, and that {variables} are "
        "right, here and on the workers"
    )
