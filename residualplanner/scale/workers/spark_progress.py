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
#: How many seconds Spark has to end work that was interrupted.
_END = 60


def with_progress(session: Any, tag: str, collect: Callable[[], T], report: Report) -> T:
    """What ``collect`` returns, while ``report`` is called with the number of tasks done and their total.

    Args:
        session: classic, or over Spark Connect.
        tag: of what is collected.
        collect: does Spark's work.
        report: called only where one of the two numbers is another than before.
    """
    how = _told_by_client if ".connect." in type(session).__module__ else _told_by_tracker
    return how(session, tag, collect, _of_changes(report))


def _of_changes(report: Report) -> Report:
    last = [(0, 0)]

    def changed(done: int, total: int) -> None:
        if total and (done, total) != last[0]:
            last[0] = done, total
            report(done, total)

    return changed


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
        while not _has_ended(outcome):
            report(*_tasks(context, tag))
        report(*_tasks(context, tag))
    except BaseException:
        with suppress(Exception):
            session.interruptTag(tag)
            outcome.exception(_END)  # until then what it says is not to be logged
        raise
    return outcome.result()


def _has_ended(outcome: "Future[Any]") -> bool:
    """Whether it has ended, after a moment."""
    with suppress(TimeoutError):
        outcome.exception(_PAUSE)
    return outcome.done()


def _tasks(context: Any, tag: str) -> tuple[int, int]:
    """How many tasks are done, and how many there are in the stages that Spark has begun."""
    tracker = context.statusTracker()
    infos = [tracker.getJobInfo(job) for job in context._jsc.sc().statusTracker().getJobIdsForTag(tag)]
    numbers = {stage for info in infos if info is not None for stage in info.stageIds}
    stages = [stage for stage in map(tracker.getStageInfo, sorted(numbers)) if stage is not None]
    begun = [stage for stage in stages if stage.numCompletedTasks or stage.numActiveTasks]
    return sum(stage.numCompletedTasks for stage in begun), sum(stage.numTasks for stage in begun)
