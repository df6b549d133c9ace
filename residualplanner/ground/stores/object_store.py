"""The protocol of stores, and the check that a store keeps its promise.

Reads: names and bytes.  Gives: ObjectStore.

All that the protocol for drawing noise once rests on is that of several who create an object of one name at most one
succeeds, and that nobody sees a part of it.
"""

import re
import secrets
from typing import Protocol, runtime_checkable

from residualplanner.ground.errors import ResourceError

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*(/[a-z0-9][a-z0-9_-]*(\.[a-z0-9_-]+)*)*", re.ASCII)
_LONGEST = 200
#: Where objects stand for a moment that only try the store.
PROBES = "probes/"


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
        ...

    def read(self, name: str) -> bytes:
        """All bytes of an object.

        Raises:
            FileNotFoundError: there is no such object.
            StoreError: it cannot be read.
        """
        ...

    def names(self, prefix: str) -> list[str]:
        """The names of all objects that start with ``prefix``, ascending; StoreError where they cannot be listed.

        Each object that had been made before the call is among them.
        """
        ...

    def remove(self, name: str) -> None:
        """Remove an object, if it is there; StoreError where it cannot be removed."""
        ...

    def remove_unfinished(self) -> None:
        """Remove what writers that were killed left behind, which never was an object; StoreError if that fails.

        A writer that is at work then fails.
        """
        ...

    def free_bytes(self) -> int | None:
        """How many more bytes fit, where the store has a limit that is known."""
        ...


def require_name(name: str) -> str:
    """Return ``name``, or raise ValueError unless it is one that every store holds, and no path leads out of a store.

    Example:
        >>> require_name("answers/000012.000000")
        'answers/000012.000000'
        >>> require_name("../ledger")
        Traceback (most recent call last):
        ...
        ValueError: names of objects are lower-case words joined by dots and slashes, got '../ledger'
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise ValueError(f"names of objects are lower-case words joined by dots and slashes, got {name[:40]!r}")
    return name


def require_create_if_absent(store: ObjectStore) -> None:
    """Check that a store can be written, and that it keeps the promise of `ObjectStore.create_if_absent`.

    Raises:
        ResourceError: it made one object twice, or lost it, or does not list it.
        StoreError: it cannot be written or read.
    """
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
