"""Dask's workers: those of the client that is active, or the threads or processes of this machine."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from sysconfig import get_python_version
from typing import Any, final
from urllib.parse import urlsplit

from residualplanner.ground.checks import Steps, untold
from residualplanner.ground.errors import ResourceError
from residualplanner.ground.stores import Mark, ObjectStore
from residualplanner.scale.workers import workers

#: What Dask raises where a worker was killed, restarted or lost too often, or memory ran out in threads.
_LOST = ("KilledWorker", "NoWorkerError", "MemoryError")
ENGINE = workers.Engine(
    "Dask",
    library="where its scheduler and workers are started",
    variables="where Dask's workers are started (export them before  dask worker, or the env= of the cluster)",
)


@final
class DaskWorkers:
    """Dask's workers, wherever Dask computes: those of the active ``distributed.Client``, or this machine's.

    They need the version of Python and of this library that this process has.
    """

    def __repr__(self) -> str:
        return "DaskWorkers()"

    def require_ready(self, store: ObjectStore | None = None) -> list[workers.Room]:
        """As what every engine's workers are asked; without a client this process is the only worker."""
        client = _client()
        if client is None:
            return workers.rooms_of_process()
        return workers.ready_rooms(ENGINE, partial(_answers, client), store)

    def require_single_attempts(self) -> None:
        """Dask starts a task again only if a worker is lost."""

    def were_lost(self, error: BaseException) -> bool:
        """As that of every engine's workers."""
        return type(error).__name__ in _LOST

    def map(self, function: Callable[[int], bytes], numbers: Sequence[int], /) -> Iterator[bytes]:
        """Call a function with each number; ResourceError if Dask fails."""
        from dask import delayed

        sent = delayed(function, pure=False, traverse=False)  # once
        try:
            return iter(self.compute([sent(number, pure=False) for number in numbers]))
        except Exception as error:
            raise workers.failure_of(ENGINE, error, were_lost=self.were_lost(error)) from error

    def compute(self, tasks: Sequence[Any], progress: Steps | None = None) -> list[Any]:
        """The results of some tasks (``dask.delayed``), with the number of those done, and their total, reported.

        What ``progress`` raises ends the work, as interrupts do.
        """
        client, report = _client(), progress or untold
        if client is None:
            import dask
            from dask.callbacks import Callback

            last, done = {task.key for task in tasks}, set()

            def after(key: Any, *_: Any) -> None:
                if key in last:
                    done.add(key)
                    report(len(done), len(last))

            with Callback(posttask=after):
                return [*dask.compute(*tasks)]
        from distributed import as_completed

        futures, results = client.compute([*tasks]), {}
        try:
            for future, result in as_completed(futures, with_results=True):
                results[future.key] = result
                report(len(results), len(futures))
        except BaseException:
            with suppress(Exception):
                client.cancel(futures, force=True)
            raise
        return [results[future.key] for future in futures]


def _answers(client: Any, mark: Mark | None) -> list[workers.Answer]:
    def asking(dask_worker: Any) -> tuple[str, int, int | None]:
        limit = dask_worker.memory_manager.memory_limit
        left = limit and int(0.95 * limit) - dask_worker.monitor.get_process_memory()  # from 95% on its nanny ends it
        return workers.answer_of_worker(mark), dask_worker.state.nthreads, left

    found = client.run(asking, on_error="return")
    if not found:
        raise ResourceError("Dask's client has no workers; start some")
    for worker, answer in found.items():
        if isinstance(answer, BaseException):
            raise ResourceError(
                f"Dask's worker {worker} does not answer ({type(answer).__name__}); see that it has Python "
                f"{get_python_version()} with this library, as this process, and was not lost: {ENGINE.library}"
            )
    return [(worker, urlsplit(worker).hostname or worker, *answer) for worker, answer in found.items()]


def _client() -> Any:
    """The active client; None where Dask computes on this machine without one."""
    distributed = sys.modules.get("distributed")
    if distributed is None:  # whoever has made a client has imported it
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None
