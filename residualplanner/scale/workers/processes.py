"""Processes of this machine, which end when this one does."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from typing import final

from residualplanner.ground.errors import ResourceError
from residualplanner.ground.process import GUARD, require_guarded_main
from residualplanner.ground.stores import ObjectStore
from residualplanner.scale.workers.workers import Room, rooms_of_process


@final
@dataclass(frozen=True, slots=True)
class ProcessWorkers:
    """So many processes of this machine; they import the main module anew, so its main part must be guarded."""

    count: int

    def require_ready(self, store: ObjectStore | None = None) -> list[Room]:
        """They have what this process has; ArgumentError in one of them, as of a script without a guard."""
        del store  # the same as here
        require_guarded_main("starting processes")
        return [Room(left, self.count, whose) for left, _, whose in rooms_of_process()]

    def require_single_attempts(self) -> None:
        """Nothing is tried a second time."""

    def were_lost(self, error: BaseException) -> bool:
        """As of all workers."""
        return isinstance(error, BrokenProcessPool)

    def map(self, function: Callable[[int], bytes], numbers: Sequence[int], /) -> Generator[bytes, None, None]:
        """The processes are at work when this returns; each result is given as soon as it and those before are there.

        ResourceError where a process ends on its own.
        """
        results = _results(self.count, function, numbers)
        next(results)  # up to where the work has begun
        return results


def _results(count: int, function: Callable[[int], bytes], numbers: Sequence[int]) -> Generator[bytes, None, None]:
    """Nothing once the work has begun, then the result for each number."""
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _start_process, (function,))
    try:
        results = _begun(pool, numbers)
        yield b""
        yield from results
    except BrokenProcessPool:
        raise ResourceError(
            "a process that was started to work along has ended: killed, as where memory runs out; or this script has "
            f"no guard, as a message above then says: {GUARD}"
        ) from None
    finally:
        with suppress(RuntimeError):  # a thread of the pool that could not be started cannot be joined
            pool.shutdown(cancel_futures=True)


def _begun(pool: ProcessPoolExecutor, numbers: Sequence[int]) -> Iterator[bytes]:
    try:
        return pool.map(_call, numbers)
    except (OSError, RuntimeError) as error:
        raise ResourceError(
            f"processes to work along could not be started: {error}; take fewer, or see how many processes and threads "
            "the system allows (ulimit -u)"
        ) from None


#: What a process of the pool was sent when it started: once, however many numbers it is called with.
_sent: list[Callable[[int], bytes]] = []


def _start_process(function: Callable[[int], bytes]) -> None:
    _sent.append(function)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _call(number: int) -> bytes:
    return _sent[0](number)


def _end_with_parent() -> None:
    """End this process when its parent has ended, however it did."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
