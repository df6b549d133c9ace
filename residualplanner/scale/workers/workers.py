"""What is expected of workers.

Reads: nothing.  Gives: Workers.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from residualplanner.ground.errors import ResourceError
from residualplanner.ground.stores import ObjectStore
from residualplanner.scale.workers.readiness import Room


class Workers(Protocol):
    """Processes that call a function which is sent to them."""

    def require_ready(self, store: ObjectStore | None = None) -> list[Room]:
        """Ask every worker that there is whether it serves; it reads no record.

        Args:
            store: each of them must find there what this process writes, and must write and read an object.

        Returns:
            The memory for tasks that they have left.

        Raises:
            ResourceError: one has not the versions of Python and this library that are here, or does not reach the
                store; the message names it, and says what to set there.
            StoreError: this process does not reach the store.
        """
        ...

    def require_single_attempts(self) -> None:
        """Raise ResourceError if the engine is set to start a task again that has not failed."""
        ...

    def were_lost(self, error: BaseException) -> bool:
        """Whether the engine failed with this error because workers were killed or lost, as where memory runs out."""
        ...

    def run(self, function: Callable[[int], bytes], numbers: Sequence[int]) -> Iterable[bytes]:
        """Call a function with each number.

        Args:
            function: it is pickled, and may be called several times with one number.
            numbers: its arguments.

        Returns:
            What it returned for each number, in their order: no more than some hundred bytes each.  A list; or, where
            results come one by one, a generator, which ends the work when it is closed.

        Raises:
            ResourceError: the engine failed.
        """
        ...


def is_interrupt(error: BaseException) -> bool:
    """Whether somebody interrupted this process, and the error was raised while that was dealt with."""
    while not isinstance(error, KeyboardInterrupt):
        if error.__context__ is None:
            return False
        error = error.__context__
    return True


def failure_of(engine: str, error: BaseException, *, were_lost: bool) -> BaseException:
    """The error to raise where an engine failed that called functions which read no record."""
    if is_interrupt(error):
        return KeyboardInterrupt()
    lost = ": workers were killed or lost, as where memory runs out" if were_lost else ""
    return ResourceError(f"{engine} failed: {type(error).__name__}{lost}; its logs say why")
