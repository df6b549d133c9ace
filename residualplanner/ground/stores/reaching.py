"""Whether another process reaches the same store: it finds there what this one has put, and can write and read.

Reads: a store, names of variables of the environment.  Gives: what is wrong, in words; no record is involved.
"""

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from residualplanner.ground.errors import MissingExtraError, StoreError
from residualplanner.ground.stores.bucket import Bucket, environment
from residualplanner.ground.stores.object_store import PROBES, ObjectStore

#: How many seconds a store may take to answer; one whose keys or endpoint are wrong may be tried for minutes.
PATIENCE = 60


@dataclass(frozen=True, slots=True)
class Mark:
    """An object that one process has put into a store, for others to find.

    Attributes:
        store: where it is.
        name: of the object.
        content: its bytes.
    """

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
        store, name, content = self.store, f"{PROBES}{secrets.token_hex(8)}", secrets.token_bytes(32)
        try:
            if store.read(self.name) != self.content:
                raise FileNotFoundError
            try:
                is_kept = store.create_if_absent(name, content) and store.read(name) == content
            finally:
                store.remove(name)
        except FileNotFoundError:
            return (
                "what this process has written there is not found there; a folder must be on a file system that all "
                "workers have under the same path, and a bucket's endpoint must be the same (AWS_ENDPOINT)"
            )
        except (StoreError, MissingExtraError) as error:
            return str(error)
        return "" if is_kept else "what is written there is not kept"


@contextmanager
def marked(store: ObjectStore) -> Iterator[Mark]:
    """A mark in a store, which is removed in the end; StoreError where it cannot be written."""
    mark = Mark(store, f"{PROBES}{secrets.token_hex(8)}", secrets.token_bytes(32))
    store.create_if_absent(mark.name, mark.content)
    try:
        yield mark
    finally:
        store.remove(mark.name)


def variables_of(store: ObjectStore) -> list[str]:
    """The names of the variables of this process's environment that have to do with a store."""
    return [*environment()] if isinstance(store, Bucket) else []
