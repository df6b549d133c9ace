"""A bucket of an object store with the interface of Amazon S3.

Reads: the name of a bucket, settings.  Gives: ObjectStore.  The home of obstore.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from residualplanner.errors import MissingExtraError, StoreError
from residualplanner.stores.object_store import require_name

#: The variables of the environment that obstore takes an endpoint from, the one that goes before the others first.
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AWS_ENDPOINT_URL")


@dataclass(frozen=True, slots=True)
class Bucket:
    """Objects in a bucket.

    Attributes:
        bucket: its name.
        prefix: what all names there start with; a folder, as it were.
        settings: of the connection, such as ``("endpoint", "https://..")`` and ``("region", "..")``.  Keys are better
            left out, and set in the environment of the driver and of the workers (``AWS_ACCESS_KEY_ID``).

    Raises:
        MissingExtraError: obstore is not installed; raised when the bucket is first used.
    """

    bucket: str
    prefix: str = ""
    settings: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"

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
        obstore, _ = _obstore()
        with _as_store_errors(self, name):
            return bytes(obstore.get(self._client, require_name(name)).bytes())

    def names(self, prefix: str) -> list[str]:
        """As `ObjectStore.names`."""
        obstore, _ = _obstore()
        folder = prefix.rpartition("/")[0]  # an object store lists by whole words between slashes
        with _as_store_errors(self, prefix):
            found = [each["path"] for batch in obstore.list(self._client, prefix=folder or None) for each in batch]
        return sorted(name for name in found if name.startswith(prefix))

    def remove(self, name: str) -> None:
        """As `ObjectStore.remove`."""
        obstore, _ = _obstore()
        with _as_store_errors(self, name):
            obstore.delete(self._client, require_name(name))

    def remove_unfinished(self) -> None:
        """Nothing: an object store shows no object before it is whole."""

    def free_bytes(self) -> int | None:
        """None: an object store states no limit."""
        return None

    @property
    def _client(self) -> Any:
        return _client(self.bucket, self.prefix, self.settings)


@lru_cache(maxsize=16)
def _client(bucket: str, prefix: str, settings: tuple[tuple[str, str], ...]) -> Any:
    """The connections of this process to a bucket."""
    _obstore()
    from obstore.store import S3Store

    config: Mapping[str, str] = dict(settings)
    endpoints = (config.get("endpoint"), *map(os.environ.get, _ENDPOINTS))
    is_plain = next((each for each in endpoints if each), "").startswith("http://")
    return S3Store(bucket, prefix=prefix or None, config=config, client_options={"allow_http": is_plain})


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
        raise FileNotFoundError(f"{bucket} has no object {name!r}") from None
    except errors.BaseError as error:
        raise StoreError(
            f"{bucket}: {name!r} could not be read or written ({type(error).__name__}); see that the bucket is "
            "there, and that AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and, for a server that is not "
            "Amazon's, AWS_ENDPOINT are right, here and on the workers"
        ) from None
