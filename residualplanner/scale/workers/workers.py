"""What is expected of workers, and what an engine's workers say of themselves: versions, the store, memory."""

import json
import multiprocessing
import os
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from sysconfig import get_python_version
from typing import NamedTuple, Protocol, final

from residualplanner.ground.errors import ResourceError
from residualplanner.ground.process import GUARD, memory_left, require_guarded_main
from residualplanner.ground.stores import Mark, ObjectStore
from residualplanner.ground.stores.object_store import marked
from residualplanner.ground.version import __version__


class Room(NamedTuple):
    """Memory for tasks."""

    left: int  # bytes
    tasks: int  # how many they are for, at a time
    where: str  # whose they are, in words


class Workers(Protocol):
    """Processes that call functions sent to them: a `concurrent.futures.Executor` that can be asked before."""

    def require_ready(self, store: ObjectStore | None = None) -> list[Room]:
        """Ask every worker that there is whether it serves; it reads no record.

        Args:
            store: each of them must find there what this process writes, and must write and read an object.

        Returns:
            The memory for tasks that they have left.

        Raises:
            ResourceError: one has other versions of Python or this library, or does not reach the store; it is named.
            StoreError: this process does not reach the store.
        """

    def require_single_attempts(self) -> None:
        """Raise ResourceError if the engine is set to start a task again that has not failed."""

    def were_lost(self, error: BaseException) -> bool:
        """Whether the engine failed with this error because workers were killed or lost, as where memory runs out."""

    def map(self, function: Callable[[int], bytes], numbers: Sequence[int], /) -> Iterator[bytes]:
        """Call a function with each number, as `concurrent.futures.Executor.map` does: the work begins at once.

        Args:
            function: it is pickled, and may be called several times with one number.
            numbers: its arguments.

        Returns:
            What it returned for each number, in their order: no more than some hundred bytes each.  Where results come
            one by one it is a generator, which ends the work when it is closed.

        Raises:
            ResourceError: the engine failed; raised here, or where a result is asked for.
        """


class Engine(NamedTuple):
    """How an engine is spoken of."""

    name: str
    library: str  # how its workers get Python and this library
    variables: str  # how they get variables of the environment


#: What a worker answers: its address; its machine; what `answer_of_worker` gives there; how many tasks it does at a
#: time; bytes of memory that the engine still lets it have, where the engine says so.
Answer = tuple[str, str, str, int, int | None]


def rooms_of_process() -> list[Room]:
    """The memory that this process can still get, for one task at a time."""
    return [Room(left, 1, whose) for left, whose in memory_left()]


def answer_of_worker(mark: Mark | None) -> str:
    """As JSON: the versions here, memory left under each limit, and what is wrong with the store."""
    facts = {"python": get_python_version(), "library": __version__, "memory": [*memory_left()]}
    return json.dumps(facts | {"trouble": "" if mark is None else mark()})


def ready_rooms(engine: Engine, ask: Callable[[Mark | None], list[Answer]], store: ObjectStore | None) -> list[Room]:
    """The memory of an engine's workers, which ``ask`` has answer; errors as of `Workers.require_ready`."""
    with nullcontext() if store is None else marked(store) as mark:
        answers = ask(mark)
    on_machine = Counter[str]()
    rooms: list[Room] = []
    for _, machine, _, tasks, _ in answers:
        on_machine[machine] += tasks
    for address, machine, text, tasks, own in answers:
        worker, facts = f"{engine.name}'s worker {address}", json.loads(text)
        if (facts["python"], facts["library"]) != (get_python_version(), __version__):
            raise ResourceError(
                f"{worker} has Python {facts['python']} with residualplanner {facts['library']}; install there what "
                f"this process has, Python {get_python_version()} with residualplanner {__version__}: {engine.library}"
            )
        if facts["trouble"]:
            raise ResourceError(
                f"{worker} does not reach {store}: {facts['trouble']}; variables must be set there as here: "
                f"{engine.variables}"
            )
        # What a machine or a container has is shared by all of its workers; what an engine lets a worker have is not.
        rooms += [Room(left, on_machine[machine], f"{worker}, {whose},") for left, whose in facts["memory"]]
        rooms += [] if own is None else [Room(own, tasks, worker)]
    return rooms


def is_interrupt(error: BaseException) -> bool:
    """Whether somebody interrupted this process, and the error was raised while that was dealt with."""
    while not isinstance(error, KeyboardInterrupt):
        if error.__context__ is None:
            return False
        error = error.__context__
    return True


def failure_of(engine: Engine, error: BaseException, *, were_lost: bool) -> BaseException:
    """The error to raise where an engine failed that called functions which read no record."""
    if is_interrupt(error):
        return KeyboardInterrupt()
    lost = ": workers were killed or lost, as where memory runs out" if were_lost else ""
    return ResourceError(f"{engine.name} failed: {type(error).__name__}{lost}; its logs say why")


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
        try:
            results = pool.map(_call, numbers)
        except (OSError, RuntimeError) as error:
            raise ResourceError(
                f"processes to work along could not be started: {error}; take fewer, or see how many processes and "
                "threads the system allows (ulimit -u)"
            ) from None
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


#: What a process of the pool was sent when it started: once, however many numbers it is called with.
_sent: list[Callable[[int], bytes]] = []


def _start_process(function: Callable[[int], bytes]) -> None:
    _sent.append(function)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _call(number: int) -> bytes:
    return _sent[0](number)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
