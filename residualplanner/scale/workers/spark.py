"""The Python workers of a Spark session, classic or over Spark Connect."""

import json
import logging
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from sysconfig import get_python_version
from typing import Any, TypeVar, final

from residualplanner.ground.checks import Steps
from residualplanner.ground.errors import ResourceError
from residualplanner.ground.stores import Mark, ObjectStore
from residualplanner.scale.workers import workers

T = TypeVar("T")

#: Spark's Python client writes its errors to these, and py4j what passes between Python and Java: all quote values.
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger", "pyspark.sql.connect.logging")
#: What Spark says of workers and executors that were killed or lost.
_LOST = re.compile("ExecutorLostFailure|OutOfMemory|MemoryError|Python worker exited unexpectedly|exit( c|C)ode 137")
ENGINE = workers.Engine(
    "Spark",
    library="PYSPARK_PYTHON names the Python that Spark starts there",
    variables="spark.executorEnv.NAME sets a variable for Spark's workers",
)
#: How many seconds a task takes that asks its executor, so that others get to other executors.
_PAUSE = 0.25
#: How Spark has the results of calls.
_RESULTS = "id long, result binary"
#: How many seconds lie between two looks at Spark's tasks, and how many Spark has to end work that was interrupted.
_LOOK, _END = 0.25, 60


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
        """As what every engine's workers are asked: by as many tasks as Spark has at a time, one for each core."""
        return workers.ready_rooms(ENGINE, self._answers, store)

    def require_single_attempts(self) -> None:
        """Raise ResourceError if Spark is set to start slow tasks a second time."""
        setting = "false"
        with suppress(Exception):  # a session whose settings cannot be read
            setting = str(self._session.conf.get("spark.speculation", "false"))
        if setting.strip().lower() != "false":
            raise ResourceError(
                "Spark is set to start slow tasks a second time (spark.speculation), and then noise might be drawn "
                "twice; start the session with spark.speculation=false"
            )

    def were_lost(self, error: BaseException) -> bool:
        """As that of every engine's workers."""
        with unlogged():  # to ask an error of Spark for its text logs it
            text = str(error)
        return _LOST.search(text) is not None

    def map(self, function: Callable[[int], bytes], numbers: Sequence[int], /) -> Iterator[bytes]:
        """Call a function with each number, a run of consecutive ones at each worker; ResourceError if Spark fails."""
        if not numbers:
            return iter(())
        positions = self._session.range(len(numbers))
        frame = positions.mapInArrow(_calling(function, numbers), _RESULTS)
        try:
            table = self.collect(frame)
        except Exception as error:
            raise workers.failure_of(ENGINE, error, were_lost=self.were_lost(error)) from error
        found = dict(zip(table["id"].to_pylist(), table["result"].to_pylist(), strict=True))
        return iter([found[number] for number in range(len(numbers))])

    def collect(self, frame: Any, progress: Steps | None = None) -> Any:
        """The rows of a frame as a ``pyarrow.Table``; nothing of them is logged, and failing ends the engine's work.

        ``progress`` is called with the number of Spark's tasks that are done and their total, as far as Spark knows it.
        """
        tag = f"residualplanner-{secrets.token_hex(16)}"

        def collect() -> Any:
            self._session.addTag(tag)  # of the thread that collects
            try:
                return frame.toArrow()
            finally:
                self._session.removeTag(tag)

        try:
            with unlogged():
                if progress is None:
                    return collect()
                told = _told_by_client if ".connect." in type(self._session).__module__ else _told_by_tracker
                return told(self._session, tag, collect, progress)
        except BaseException:
            with suppress(Exception):
                self._session.interruptTag(tag)
            raise

    def _answers(self, mark: Mark | None) -> list[workers.Answer]:
        """What each executor answers; ResourceError where Spark fails."""
        try:
            cores = self._session.range(2**20).selectExpr("spark_partition_id() as core").distinct().count()
            task = _calling(partial(_answer, mark), range(cores))
            table = self.collect(self._session.range(0, cores, 1, cores).mapInArrow(task, _RESULTS))
        except Exception as error:  # noqa: BLE001 - whatever the cause is, the remedy is the same
            if workers.is_interrupt(error):
                raise KeyboardInterrupt from None
            raise ResourceError(
                f"Spark's workers cannot run Python with this library ({type(error).__name__}); see that they "
                f"have Python {get_python_version()} and all modules that this process has: {ENGINE.library}"
            ) from None
        # Each answer stands for a core: the memory of a machine is for as many tasks as its executors have cores.
        answers = map(json.loads, table["result"].to_pylist())
        return [(machine, machine, answer, 1, None) for machine, answer in answers]


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


def _answer(mark: Mark | None, _number: int) -> bytes:
    """A worker's machine and what it answers, as JSON, after a pause."""
    answer = json.dumps([socket.gethostname(), workers.answer_of_worker(mark)])
    time.sleep(_PAUSE)
    return answer.encode()


def _calling(function: Callable[[int], bytes], numbers: Sequence[int]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def task(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            for position in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pydict({"id": [position], "result": [function(numbers[position])]})

    return task


def _told_by_client(session: Any, _tag: str, collect: Callable[[], T], progress: Steps) -> T:
    """Over Spark Connect the client tells, in this thread, while it collects."""
    thread, most = threading.get_ident(), 1

    def told(stages: Any, **_: Any) -> None:
        nonlocal most
        total = sum(stage.num_tasks for stage in stages or ())
        if total and threading.get_ident() == thread:
            most = max(most, total)
            progress(sum(stage.num_completed_tasks for stage in stages), total)

    session.registerProgressHandler(told)
    try:
        found = collect()
    finally:
        session.removeProgressHandler(told)
    progress(most, most)  # the client is not told of what is done at once
    return found


def _told_by_tracker(session: Any, tag: str, collect: Callable[[], T], progress: Steps) -> T:
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
            has_ended = bool(wait([outcome], _LOOK).done)
            done, total = _tasks(context, tag)
            if total:
                progress(done, total)
    except BaseException:
        with suppress(Exception):
            session.interruptTag(tag)
            wait([outcome], _END)  # until then what it says is not to be logged
        raise
    return outcome.result()


def _tasks(context: Any, tag: str) -> tuple[int, int]:
    tracker = context.statusTracker()
    infos = [tracker.getJobInfo(job) for job in context._jsc.sc().statusTracker().getJobIdsForTag(tag)]
    numbers = {stage for info in infos if info is not None for stage in info.stageIds}
    stages = [stage for stage in map(tracker.getStageInfo, sorted(numbers)) if stage is not None]
    begun = [stage for stage in stages if stage.numCompletedTasks or stage.numActiveTasks]
    return sum(stage.numCompletedTasks for stage in begun), sum(stage.numTasks for stage in begun)
