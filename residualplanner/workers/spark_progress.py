"""How many of Spark's tasks are done while it works.

Reads: Spark's own account of its stages.  Gives: calls of a report, in the thread that asked for it, where what the
report raises, and interrupts, end the work.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
Report = Callable[[int, int], None]
#: How many seconds lie between two looks at Spark's account.
_PAUSE = 0.25


def with_progress(session: Any, tag: str, collect: Callable[[], T], report: Report) -> T:
    """What ``collect`` returns, while ``report`` is called with the number of tasks done and their total.

    Args:
        session: classic, or over Spark Connect.
        tag: of what is collected.
        collect: does Spark's work; in another thread, so that this one can report.
        report: called only where one of the two numbers is another than before.
    """
    account = _accounts(session, tag)
    outcome: Future[T] = Future()
    threading.Thread(target=_in_thread(session, account, collect, outcome), daemon=True).start()
    last = (0, 0)
    while True:
        is_done = _has_ended(outcome)
        found = account.tasks()
        if found != last and found[1]:
            last = found
            report(*found)
        if is_done:
            return outcome.result()


def _has_ended(outcome: "Future[Any]") -> bool:
    """Whether it has ended, after a moment."""
    with suppress(TimeoutError):
        outcome.exception(_PAUSE)
    return outcome.done()


def _in_thread(
    session: Any, account: "_Tracker | _Handler", collect: Callable[[], T], outcome: "Future[T]"
) -> Callable[[], None]:
    """What a thread runs that has the settings of this one."""
    from pyspark import inheritable_thread_target

    def run() -> None:
        try:
            with account:
                outcome.set_result(collect())
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
            outcome.set_exception(error)

    target: Callable[[], None] = inheritable_thread_target(session)(run)
    return target


def _accounts(session: Any, tag: str) -> "_Tracker | _Handler":
    return _Handler(session) if hasattr(session, "client") else _Tracker(session.sparkContext, tag)


class _Tracker:
    """The account of a classic session: its tracker, by a tag that jobs of one thread have."""

    def __init__(self, context: Any, tag: str) -> None:
        self._context, self._tag = context, f"{tag}-progress"

    def __enter__(self) -> None:
        self._context.addJobTag(self._tag)

    def __exit__(self, *_: object) -> None:
        self._context.removeJobTag(self._tag)

    def tasks(self) -> tuple[int, int]:
        """How many tasks are done, and how many there are in the stages that Spark has begun."""
        tracker = self._context.statusTracker()
        jobs = self._context._jsc.sc().statusTracker().getJobIdsForTag(self._tag)
        infos = [tracker.getJobInfo(job) for job in jobs]
        stages = {stage for info in infos if info is not None for stage in info.stageIds}
        found = [stage for stage in map(tracker.getStageInfo, sorted(stages)) if stage is not None]
        begun = [stage for stage in found if stage.numCompletedTasks or stage.numActiveTasks]
        return sum(stage.numCompletedTasks for stage in begun), sum(stage.numTasks for stage in begun)


class _Handler:
    """The account of a session over Spark Connect: what its client is told of the operations of one thread."""

    def __init__(self, session: Any) -> None:
        self._session, self._tasks, self._thread = session, (0, 0), 0

    def __enter__(self) -> None:
        self._thread = threading.get_ident()
        self._session.registerProgressHandler(self._note)

    def __exit__(self, *_: object) -> None:
        self._session.removeProgressHandler(self._note)

    def _note(self, stages: Any, **_: Any) -> None:
        if stages and threading.get_ident() == self._thread:
            self._tasks = (
                sum(stage.num_completed_tasks for stage in stages),
                sum(stage.num_tasks for stage in stages),
            )

    def tasks(self) -> tuple[int, int]:
        """As of `_Tracker`."""
        return self._tasks
