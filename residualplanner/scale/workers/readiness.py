"""What an engine's workers say of themselves, and whether they serve: versions, the store, memory.

Reads: a store, the answers of workers.  Gives: reports, or ResourceError that says what to change at which worker.

What is sent to a worker does not need this library until it runs there, so that a worker without it can say so.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from residualplanner.ground.errors import ResourceError
from residualplanner.ground.memory import memory_left
from residualplanner.ground.stores import Mark, ObjectStore, marked, variables_of
from residualplanner.ground.version import __version__
from residualplanner.ground.words import listed


@dataclass(frozen=True, slots=True)
class Engine:
    """How an engine is spoken of.

    Attributes:
        name: of the engine.
        library: how its workers get Python and this library.
        variables: how its workers get variables of the environment.
    """

    name: str
    library: str
    variables: str


class Answer(NamedTuple):
    """What a worker answers.

    Attributes:
        worker: its address.
        machine: where it is.
        text: what `sent_to_workers` gives there.
        tasks: how many tasks it does at a time.
        left: bytes of memory that the engine still lets it have; None where the engine does not say.
    """

    worker: str
    machine: str
    text: str
    tasks: int
    left: int | None = None


class Room(NamedTuple):
    """Memory for tasks.

    Attributes:
        left: how many bytes.
        tasks: how many tasks they are for, at a time.
        where: whose they are.
    """

    left: int
    tasks: int
    where: str


def rooms_of_process() -> list[Room]:
    """The memory that this process can still get, for one task at a time."""
    return [Room(left, 1, whose) for left, whose in memory_left()]


def answer_of_worker(mark: Mark | None) -> str:
    """As JSON: the version here, memory left under each limit, what is wrong with the store, and its variables."""
    facts = {"library": __version__, "memory": [*memory_left()]}
    if mark is not None:
        facts |= {"trouble": mark.trouble(), "variables": variables_of(mark.store)}
    return json.dumps(facts)


def sent_to_workers(mark: Mark | None, dumps: Callable[[Any], bytes]) -> Callable[[], str]:
    """What calls `answer_of_worker` in any Python; an error there becomes an answer, too.

    Args:
        mark: of the store that is tried.
        dumps: the engine's own pickle.
    """
    content = dumps((answer_of_worker, mark))

    def ask() -> str:
        import json
        import pickle
        import sys

        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        try:
            function, argument = pickle.loads(content)  # noqa: S301 - the driver's own
            return json.dumps({"python": python, **json.loads(function(argument))})
        except Exception as error:  # noqa: BLE001 - it reads no record
            lacks = f"lacks the module {error.name}" if isinstance(error, ImportError) else ""
            return json.dumps({"python": python, "failed": lacks or f"cannot run Python ({type(error).__name__})"})

    return ask


def ready_rooms(
    engine: Engine, ask: Callable[[Mark | None], Sequence[Answer]], store: ObjectStore | None
) -> list[Room]:
    """The memory of an engine's workers, if all of them serve.

    Args:
        engine: whose they are.
        ask: has each worker answer.
        store: they must reach it.

    Raises:
        ResourceError: one cannot run this library, has another version, or does not reach the store.
        StoreError: this process does not reach the store.
    """
    with nullcontext() if store is None else marked(store) as mark:
        answers = ask(mark)
    found = [(answer, json.loads(answer.text)) for answer in answers]
    for answer, facts in found:
        _require_library(engine, answer.worker, facts)
    require_equal_versions(((facts["python"], facts["library"]) for _, facts in found), engine.name)
    for answer, facts in found:
        if store is not None and facts["trouble"]:
            raise _without_store(engine, answer.worker, store, facts)
    on_machine = Counter[str]()
    for answer in answers:
        on_machine[answer.machine] += answer.tasks
    rooms = []
    for answer, facts in found:
        where = f"{engine.name}'s worker {answer.worker}"
        rooms += [Room(left, on_machine[answer.machine], f"{where}, {whose},") for left, whose in facts["memory"]]
        rooms += [] if answer.left is None else [Room(answer.left, answer.tasks, f"{where}")]
    return rooms


def _require_library(engine: Engine, worker: str, facts: dict[str, Any]) -> None:
    if "failed" in facts:
        raise ResourceError(
            f"{engine.name}'s worker {worker}, with Python {facts['python']}, {facts['failed']}; install there what "
            f"this process has, for Python {python_version()}: {engine.library}"
        )


def _without_store(engine: Engine, worker: str, store: ObjectStore, facts: dict[str, Any]) -> ResourceError:
    missing = sorted({*variables_of(store)} - {*facts["variables"]})
    set_there = "" if not missing else f"; {listed(missing, 9)} must be set there as here: {engine.variables}"
    return ResourceError(f"{engine.name}'s worker {worker} does not reach {store}: {facts['trouble']}{set_there}")


def python_version() -> str:
    """The version of Python here, such as 3.12."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def require_equal_versions(found: Iterable[tuple[str, str]], engine: str) -> None:
    """Raise ResourceError unless all workers of an engine have the versions of this process.

    Args:
        found: versions of Python and of this library.
        engine: its name.
    """
    own = python_version(), __version__
    others = sorted({theirs for theirs in found if theirs != own})
    if others:
        theirs = " and ".join(f"Python {python} with residualplanner {library}" for python, library in others)
        raise ResourceError(
            f"{engine}'s workers have {theirs}; this process has Python {own[0]} with residualplanner {own[1]}.  "
            "Install the same there"
        )
