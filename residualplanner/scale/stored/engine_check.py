"""What keeps an engine from measuring into a store, found before anybody has records or a ledger at hand."""

from collections.abc import Callable
from dataclasses import dataclass

from residualplanner.gate.measurement.discrete import exact_noise
from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import ArgumentError, MissingExtraError, ResourceError, StoreError
from residualplanner.ground.stores import open_store, require_create_if_absent
from residualplanner.ground.words import bytes_text
from residualplanner.method.plan.plan import Plan
from residualplanner.scale.engines.engines import workers_of
from residualplanner.scale.stored.tasks import TASK_CELLS, tasks_within
from residualplanner.scale.workers import Room, Workers


@dataclass(frozen=True, slots=True)
class EngineCheck:
    """What was found at an engine's workers, true where they serve.

    Attributes:
        findings: what does not serve, a sentence or two each, with what to change.
        rooms: the memory for tasks that each worker has left; none where the workers do not serve.
    """

    findings: tuple[str, ...]
    rooms: tuple[Room, ...]

    def __bool__(self) -> bool:
        return not self.findings

    def __repr__(self) -> str:
        if self.findings:
            return "\n".join(["The engine does not serve:", *(f"- {finding}" for finding in self.findings)])
        if not self.rooms:
            return "The engine serves; how much memory it has left is not known."
        least = min(self.rooms, key=lambda room: room.left // room.tasks)
        tasks = "one task" if least.tasks == 1 else f"{least.tasks:,} tasks at a time"
        where = least.where.removesuffix(",")
        return f"The engine serves; least memory has {where}: {bytes_text(max(least.left, 0))} are left for {tasks}."


def check_engine(engine: object, store: object, *, plan: Plan | None = None) -> EngineCheck:
    """Check all that `measure_in_store` checks of an engine and a store before it charges: for who operates them.

    Args:
        engine: its workers, `SparkWorkers` or `DaskWorkers`; or a frame of Spark or Dask, of which no record is read.
        store: where answers are to be kept, as for `measure_in_store`; what is tried there is removed again.
        plan: whose tables the workers' memory must be enough for; if not given, memory is only reported.

    Returns:
        Everything that was found, not only the first; what a finding hides is found when it has been seen to.

    Raises:
        ArgumentError: ``engine`` is neither, or ``store`` is no store.

    Example:
        >>> from residualplanner.scale import DaskWorkers
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bool(check_engine(DaskWorkers(), folder))
        True
    """
    workers, objects = _workers(engine), open_store(store)
    rooms: list[Room] = []
    steps: list[Callable[[], object]] = [
        workers.require_single_attempts,
        lambda: require_create_if_absent(objects),
        lambda: rooms.extend(workers.require_ready(objects)),
    ]
    if plan is not None:
        steps.append(lambda: tasks_within(exact_noise(plan), TASK_CELLS, rooms))
    findings = [text for text in map(_finding, steps) if text]
    return EngineCheck(tuple(dict.fromkeys(findings)), tuple(rooms))


def _workers(engine: object) -> Workers:
    found = workers_of(engine)
    if found is None and hasattr(engine, "require_single_attempts"):
        return engine  # type: ignore[return-value]  # it has what workers have
    if found is None:
        raise ArgumentError(
            "check_engine: engine must be SparkWorkers(spark), DaskWorkers(), or a frame of Spark or Dask, got "
            f"{value_text(engine)}"
        )
    return found


def _finding(step: Callable[[], object]) -> str:
    """What a check refuses, without the words on a charge, as there is none to be made."""
    try:
        step()
    except (ResourceError, StoreError, MissingExtraError) as error:
        return str(error).replace("; nothing was charged or read", "").replace("  Nothing was charged or read.", "")
    return ""
