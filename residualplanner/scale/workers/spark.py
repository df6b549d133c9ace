"""The Python workers of a Spark session, classic or over Spark Connect."""

import logging
import re
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar, final

from residualplanner.ground.errors import ResourceError
from residualplanner.ground.notebooks import hides
from residualplanner.ground.stores import Mark, ObjectStore
from residualplanner.scale.workers import workers

T = TypeVar("T")
Report = Callable[[int, int], None]
Task = Callable[[Iterable[Any]], Iterator[Any]]

#: Spark's Python client writes its errors to these, and py4j what passes between Python and Java: all quote values.
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "pyspark.sql.connect.logging")
_LIMIT, _DEFAULT_LIMIT = "spark.driver.maxResultSize", "1g"
_SPECULATION = "spark.speculation"
_SIZE = re.compile(r"([0-9]+)\s*([kmgtp]?)b?")
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
#: What Spark says of workers and executors that were killed or lost.
_LOST = (
    "ExecutorLostFailure",
    "OutOfMemory",
    "MemoryError",
    "Python worker exited unexpectedly",
    "exit code 137",
    "exitCode 137",
)
ENGINE = workers.Engine(
    "Spark",
    library="PYSPARK_PYTHON names the Python that Spark starts there",
    variables="spark.executorEnv.NAME sets a variable for Spark's workers",
)
#: How often the executors are asked, until all have answered; and by how many seconds each time they wait longer.
_ATTEMPTS, _PAUSE = 5, 0.5
#: How many seconds lie between two looks at Spark's tasks, and how many Spark has to end work that was interrupted.
_LOOK, _END = 0.25, 60


@hides("collect", "were_lost")
@final
class SparkWorkers:
    """The Python workers of a Spark session.

    They need the version of Python and of this library that this process has; ``PYSPARK_PYTHON`` says which Python
    Spark starts.

    Args:
        session: a ``SparkSession``, classic or over Spark Connect.
    """

    def __init__(self, session: Any) -> None:
        self._session = session

    def __repr__(self) -> str:
        return f"SparkWorkers(<{type(self._session).__name__}>)"

    def require_ready(self, store: ObjectStore | None = None) -> list[workers.Room]:
        """As what every engine's workers are asked.

        Spark has as many tasks at a time as it has cores, and is given that many; over Spark Connect nobody can say
        how many executors there are, elsewhere it goes on until that many have answered.
        """
        return workers.ready_rooms(ENGINE, self._answers, store)

    def require_single_attempts(self) -> None:
        """Raise ResourceError if Spark is set to start slow tasks a second time."""
        if self._setting(_SPECULATION, "false").strip().lower() != "false":
            raise ResourceError(
                f"Spark is set to start slow tasks a second time ({_SPECULATION}), and then noise might be drawn "
                f"twice; start the session with {_SPECULATION}=false"
            )

    @property
    def result_bytes(self) -> int | None:
        """How many bytes the session sends to its driver at most; None for no limit, or one not known."""
        return size_of_text(self._setting(_LIMIT, _DEFAULT_LIMIT))

    def were_lost(self, error: BaseException) -> bool:
        """As that of every engine's workers."""
        with unlogged():  # to ask an error of Spark for its text logs it
            text = str(error)
        return any(mark in text for mark in _LOST)

    def map(self, function: Callable[[int], bytes], numbers: Sequence[int], /) -> Iterator[bytes]:
        """Call a function with each number, a run of consecutive ones at each worker; ResourceError if Spark fails."""
        if not numbers:
            return iter(())
        positions = self._session.range(len(numbers))
        frame = positions.mapInArrow(_calling(function, list(numbers)), "id long, result binary")
        try:
            table = self.collect(frame)
        except Exception as error:
            raise workers.failure_of(ENGINE, error, were_lost=self.were_lost(error)) from error
        found = dict(zip(table["id"].to_pylist(), table["result"].to_pylist(), strict=True))
        return iter([found[number] for number in range(len(numbers))])

    def collect(self, frame: Any, progress: Report | None = None) -> Any:
        """The rows of a frame as a ``pyarrow.Table``; nothing of them is logged, and failing ends the engine's work.

        ``progress`` is called with the number of Spark's tasks that are done and their total, as far as Spark knows it.
        """
        tag = f"residualplanner-{secrets.token_hex(16)}"
        try:
            with unlogged():
                collect = partial(_tagged, self._session, tag, frame)
                return collect() if progress is None else _with_progress(self._session, tag, collect, progress)
        except BaseException:
            with suppress(Exception):
                self._session.interruptTag(tag)
            raise

    def _answers(self, mark: Mark | None) -> list[workers.Answer]:
        """What each executor answers; ResourceError where Spark fails, or one does not answer."""
        from pyspark import cloudpickle

        ask = workers.sent_to_workers(mark, cloudpickle.dumps)
        found: dict[str, workers.Answer] = {}
        for attempt in range(_ATTEMPTS):
            try:
                rows = self._asked(_asking(ask, _PAUSE * attempt), 2**attempt)
            except Exception as error:  # noqa: BLE001 - whatever the cause is, the remedy is the same
                if workers.is_interrupt(error):
                    raise KeyboardInterrupt from None
                raise ResourceError(
                    f"Spark's workers cannot run Python ({type(error).__name__}); see that they have Python "
                    f"{workers.python_version()}, as this process: {ENGINE.library}"
                ) from None
            tasks = Counter(row["executor"] for row in rows)
            found |= {
                row["executor"]: (row["machine"], row["machine"], row["answer"], tasks[row["executor"]], None)
                for row in rows
            }
            if len(found) >= self._executors:
                return [*found.values()]
        raise ResourceError(
            f"of {self._executors} executors of Spark only {len(found)} have answered; wait until they have ended "
            "other work, or are removed if they were lost, and try again"
        )

    def _asked(self, task: Task, times: int) -> list[dict[str, Any]]:
        """What some tasks return: as many as Spark does at a time, several times."""
        slots = self._session.range(2**20).selectExpr("spark_partition_id() as slot").distinct().count()
        tasks = self._session.range(0, slots * times, 1, slots * times)
        answers = tasks.mapInArrow(task, "machine string, executor string, answer string")
        rows: list[dict[str, Any]] = self.collect(answers).to_pylist()
        return rows

    @property
    def _executors(self) -> int:
        """How many executors there are; 1 where that is not known."""
        try:
            infos = self._session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
        except Exception:  # noqa: BLE001 - a session over Spark Connect has no context, and says so in several ways
            return 1
        return max(1, len(infos) - 1)  # the driver is one of them

    def _setting(self, name: str, default: str) -> str:
        """A setting of the session, or the default where it is not set or cannot be read."""
        try:
            return str(self._session.conf.get(name, default))
        except Exception:  # noqa: BLE001 - a session without readable settings reports a limit itself, if it has one
            return default


def _tagged(session: Any, tag: str, frame: Any) -> Any:
    session.addTag(tag)
    try:
        return frame.toArrow()
    finally:
        session.removeTag(tag)


def size_of_text(text: str) -> int | None:
    """How many bytes a size is, as Spark writes it; None for 0, which means no limit, and for what is not a size.

    Example:
        >>> size_of_text("1g"), size_of_text("512MB"), size_of_text("100"), size_of_text("0")
        (1073741824, 536870912, 100, None)
    """
    found = _SIZE.fullmatch(text.strip().lower())
    return int(found[1]) * _UNITS[found[2]] or None if found else None


@contextmanager
def unlogged() -> Iterator[None]:
    """Spark's Python client logs nothing inside, in all threads."""
    from pyspark.logger import PySparkLogger  # its loggers accept keywords that others do not

    loggers = [*map(PySparkLogger.getLogger, _LOGGERS), logging.getLogger("py4j")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _asking(ask: Callable[[], str], pause: float) -> Task:
    """A task that asks its worker once, and then waits, so that others get to other executors."""

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        import os
        import socket
        import time

        import pyarrow as pa

        for _ in batches:
            machine = socket.gethostname()
            executor = f"{machine} {os.environ.get('SPARK_LOCAL_DIRS', os.getppid())}"
            answers = {"machine": [machine], "executor": [executor], "answer": [ask()]}
            time.sleep(pause)
            yield pa.RecordBatch.from_pydict(answers)

    return task


def _calling(function: Callable[[int], bytes], numbers: list[int]) -> Task:
    """A task that calls a function with the numbers at some positions."""

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            for position in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pydict({"id": [position], "result": [function(numbers[position])]})

    return task


def _with_progress(session: Any, tag: str, collect: Callable[[], T], progress: Report) -> T:
    """What ``collect`` returns; what ``progress`` raises in this thread, and interrupts, end the work."""
    last = (0, 0)

    def report(done: int, total: int) -> None:
        nonlocal last
        if total and (done, total) != last:
            last = done, total
            progress(done, total)

    how = _told_by_client if ".connect." in type(session).__module__ else _told_by_tracker
    return how(session, tag, collect, report)


def _told_by_client(session: Any, _tag: str, collect: Callable[[], T], report: Report) -> T:
    """Over Spark Connect the client tells, in this thread, while it collects."""
    thread, totals = threading.get_ident(), [0]

    def told(stages: Any, **_: Any) -> None:
        if threading.get_ident() == thread:
            totals.append(sum(stage.num_tasks for stage in stages or ()))
            report(sum(stage.num_completed_tasks for stage in stages or ()), totals[-1])

    session.registerProgressHandler(told)
    try:
        found = collect()
    finally:
        session.removeProgressHandler(told)
    all_done = max(1, *totals)  # the client is not told of what is done at once
    report(all_done, all_done)
    return found


def _told_by_tracker(session: Any, tag: str, collect: Callable[[], T], report: Report) -> T:
    """A classic session collects in another thread, so that this one can look at its tracker."""
    from pyspark import inheritable_thread_target

    context, outcome = session.sparkContext, Future[T]()

    def run() -> None:
        context.addJobTag(tag)
        try:
            outcome.set_result(collect())
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
            outcome.set_exception(error)
        finally:
            context.removeJobTag(tag)

    threading.Thread(target=inheritable_thread_target(session)(run), daemon=True).start()
    try:
        has_ended = False
        while not has_ended:
            with suppress(TimeoutError):
                outcome.exception(_LOOK)
            has_ended = outcome.done()
            report(*_tasks(context, tag))
    except BaseException:
        with suppress(Exception):
            session.interruptTag(tag)
            outcome.exception(_END)  # until then what it says is not to be logged
        raise
    return outcome.result()


def _tasks(context: Any, tag: str) -> tuple[int, int]:
    """How many tasks are done, and how many there are in the stages that Spark has begun."""
    tracker = context.statusTracker()
    infos = [tracker.getJobInfo(job) for job in context._jsc.sc().statusTracker().getJobIdsForTag(tag)]
    numbers = {stage for info in infos if info is not None for stage in info.stageIds}
    stages = [stage for stage in map(tracker.getStageInfo, sorted(numbers)) if stage is not None]
    begun = [stage for stage in stages if stage.numCompletedTasks or stage.numActiveTasks]
    return sum(stage.numCompletedTasks for stage in begun), sum(stage.numTasks for stage in begun)
