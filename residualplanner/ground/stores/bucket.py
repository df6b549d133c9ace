"""Buckets of object stores: Amazon S3 and what has its interface, Google Cloud Storage, Azure Blob Storage.

Reads: an address, settings.  Gives: ObjectStore, and paths within it.  The home of obstore.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import IO, Any, cast

from residualplanner.ground.errors import MissingExtraError, StoreError
from residualplanner.ground.stores.object_store import require_name

#: By the start of an address, the variables of the environment that say who asks, and where the bucket is.
VARIABLES = {
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and, for a server that is not Amazon's, AWS_ENDPOINT",
    "s3a": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and, for a server that is not Amazon's, AWS_ENDPOINT",
    "gs": "GOOGLE_SERVICE_ACCOUNT or GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_CLIENT_ID",
    "abfss": "AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_CLIENT_ID",
}
#: The variables that obstore takes an endpoint from, the one that goes before the others first.
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
#: How the variables start that obstore reads.
_PROVIDERS = ("AWS_", "AZURE_", "GOOGLE_")
#: What is written to an object is held in memory up to so many bytes, and then in a file without a name.
_SPOOL_BYTES = 2**26


@dataclass(frozen=True, slots=True)
class Bucket:
    """Objects in a bucket.

    Attributes:
        address: ``s3://bucket/prefix``, ``s3a://``, ``gs://``, or ``abfss://container@account.dfs.core.windows.net/``;
            the prefix is a folder, as it were.
        settings: of the connection, such as ``("endpoint", "https://..")`` and ``("region", "..")``.  Keys are better
            left out, and set in the environment of the driver and of the workers; see ``docs/engines.md``.

    Raises:
        MissingExtraError: obstore is not installed; raised when the bucket is first used.
        StoreError: there is no such address; raised then.
    """

    address: str
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return self.address

    def create_if_absent(self, name: str, content: bytes) -> bool:
        """As `ObjectStore.create_if_absent`: a request with ``If-None-Match: *``."""
        obstore, errors = _obstore()
        with _as_store_errors(self, name):
            try:
                obstore.put(self._client, require_name(name), content, mode="create", use_multipart=False)
            except (errors.AlreadyExistsError, errors.PreconditionError):
                return False
        return True

    def read(self, name: str) -> bytes:
        """As `ObjectStore.read`."""
        return self.content(require_name(name))

    def names(self, prefix: str) -> list[str]:
        """As `ObjectStore.names`."""
        obstore, _ = _obstore()
        folder = prefix.rpartition("/")[0]  # an object store lists by whole words between slashes
        with _as_store_errors(self, prefix):
            found = [each["path"] for batch in obstore.list(self._client, prefix=folder or None) for each in batch]
        return sorted(name for name in found if name.startswith(prefix))

    def names_in(self, folder: str) -> list[str]:
        """The names of all objects in a folder, and of all folders in it, ascending."""
        obstore, _ = _obstore()
        with _as_store_errors(self, folder):
            found = obstore.list_with_delimiter(self._client, prefix=folder or None)
        return sorted([*found["common_prefixes"], *(each["path"] for each in found["objects"])])

    def remove(self, name: str) -> None:
        """As `ObjectStore.remove`."""
        self.delete(require_name(name))

    def remove_unfinished(self) -> None:
        """Nothing: an object store shows no object before it is whole."""

    def free_bytes(self) -> int | None:
        """None: an object store states no limit."""
        return None

    def content(self, name: str) -> bytes:
        """All bytes of an object of any name."""
        obstore, _ = _obstore()
        with _as_store_errors(self, name):
            return bytes(obstore.get(self._client, name).bytes())

    def delete(self, name: str) -> None:
        """Remove an object of any name, if it is there."""
        obstore, _ = _obstore()
        with _as_store_errors(self, name):
            obstore.delete(self._client, name)

    def has(self, name: str) -> bool:
        """Whether there is an object of this name."""
        obstore, _ = _obstore()
        with _as_store_errors(self, name):
            try:
                obstore.head(self._client, name)
            except FileNotFoundError:
                return False
        return True

    def opened(self, name: str) -> IO[bytes]:
        """An object to be read from any byte on; FileNotFoundError where there is none."""
        obstore, _ = _obstore()
        with _as_store_errors(self, name):
            return cast(IO[bytes], obstore.open_reader(self._client, name))

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """A file whose content becomes the object, in the place of one that is there, if the block does not raise."""
        obstore, _ = _obstore()
        with tempfile.SpooledTemporaryFile(_SPOOL_BYTES) as file:
            yield cast(IO[bytes], file)
            file.seek(0)
            with _as_store_errors(self, name):
                obstore.put(self._client, name, file)

    @property
    def _client(self) -> Any:
        return _client(self.address, self.settings, tuple(environment().items()))


@dataclass(frozen=True, slots=True)
class BucketPath:
    """A file or folder in a bucket, with those methods of `pathlib.Path` that releases are written and read with.

    Attributes:
        bucket: where it is.
        key: its name there; "" for the folder that the bucket's address names.
    """

    bucket: Bucket
    key: str = ""

    def __str__(self) -> str:
        return "/".join(word for word in (str(self.bucket), self.key) if word)

    def __truediv__(self, name: str) -> "BucketPath":
        words = PurePosixPath(self.key, name)
        if ".." in words.parts or words.is_absolute():
            raise ValueError(f"a path within {self} is a name, got {name[:40]!r}")
        return BucketPath(self.bucket, str(words))

    @property
    def name(self) -> str:
        """The last word of it."""
        return str(self).rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """What its last word ends with, from the last dot on."""
        return PurePosixPath(self.key).suffix

    @property
    def parent(self) -> "BucketPath":
        """The folder that it is in."""
        return BucketPath(self.bucket, self.key.rpartition("/")[0])

    def is_file(self) -> bool:
        """Whether there is an object of this name."""
        return self.bucket.has(self.key)

    def read_bytes(self) -> bytes:
        """All bytes of the object."""
        return self.bucket.content(self.key)

    def open(self, mode: str = "rb") -> IO[bytes]:
        """The object, to be read from any byte on."""
        if mode != "rb":
            raise ValueError(f"an object is opened to be read ('rb'), got {mode!r}")
        return self.bucket.opened(self.key)

    def writing(self) -> Any:
        """A block that writes the object, whole or not at all, in the place of one that is there."""
        return self.bucket.writing(self.key)

    def iterdir(self) -> Iterator["BucketPath"]:
        """The objects in this folder, and the folders in it."""
        return (BucketPath(self.bucket, name) for name in self.bucket.names_in(self.key))

    def unlink(self) -> None:
        """Remove the object, if it is there."""
        self.bucket.delete(self.key)

    def download(self, file: IO[bytes]) -> None:
        """Copy the object to an open file."""
        source = self.open()
        try:
            shutil.copyfileobj(source, file, 2**24)
        finally:
            source.close()
            file.flush()


def environment() -> dict[str, str]:
    """The variables of this process's environment that obstore reads."""
    return {name: os.environ[name] for name in sorted(os.environ) if name.startswith(_PROVIDERS)}


@lru_cache(maxsize=16)
def _client(address: str, settings: tuple[tuple[str, str], ...], variables: tuple[tuple[str, str], ...]) -> Any:
    """The connections of this process to a bucket; others where the environment has changed."""
    _, errors = _obstore()
    from obstore.store import from_url

    config: Mapping[str, str] = dict(settings)
    endpoints = (config.get("endpoint"), *map(dict(variables).get, _ENDPOINTS))
    is_plain = next((each for each in endpoints if each), "").startswith("http://")
    try:
        return from_url(address, config=config or None, client_options={"allow_http": is_plain})
    except (errors.BaseError, ValueError) as error:
        raise _refused(address, type(error).__name__) from None


def _obstore() -> tuple[Any, Any]:
    """The package and its errors."""
    try:
        import obstore
        from obstore import exceptions
    except ImportError:
        message = "object stores need obstore: pip install 'residualplanner[s3]'"
        raise MissingExtraError(message, extra="s3") from None
    return obstore, exceptions


@contextmanager
def _as_store_errors(bucket: Bucket, name: str) -> Iterator[None]:
    """Raise StoreError for whatever the client raises, without the text of the server, which may quote keys."""
    _, errors = _obstore()
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no object {str(BucketPath(bucket, name))!r}") from None
    except errors.BaseError as error:
        raise _refused(str(bucket), f"{name!r}, {type(error).__name__}") from None


def _refused(address: str, what: str) -> StoreError:
    variables = VARIABLES.get(address.partition("://")[0], "the variables of its provider")
    return StoreError(
        f"{address} could not be read or written ({what}); see that the bucket is there, and that {variables} are "
        "right, here and on the workers"
    )
