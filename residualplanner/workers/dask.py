"""Dask's workers: those of the client that is active, or the threads or processes of this machine.

Reads: nothing.  Gives: DaskWorkers.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, final

from residualplanner.errors import ResourceError
from residualplanner.workers.workers import require_equal_versions, versions


@final
class DaskWorkers:
    """Dask's workers, wherever Dask computes: those of the active ``distributed.Client``, or this machine's.

    They need the version of Python and of this library that this process has.
    """

    def __repr__(self) -> str:
        return "DaskWorkers()"

    def require_ready(self) -> None:
        """Raise ResourceError if workers have other versions, or there are none."""
        client = _client()
        if client is None:
            return
        try:
            found = client.run(versions)
        except Exception:  # noqa: BLE001 - whatever the cause is, the remedy is the same
            raise ResourceError(
                "Dask's workers cannot run this library, or one was lost meanwhile; see that the library is installed "
                "there, for the same version of Python, and try again"
            ) from None
        if not found:
            raise ResourceError("Dask's client has no workers; start some")
        require_equal_versions(found.values(), "Dask")

    def require_single_attempts(self) -> None:
        """Dask starts a task again only if a worker is lost."""

    def run(self, function: Callable[[int], bytes], numbers: Sequence[int]) -> list[bytes]:
        """Call a function with each number; ResourceError if Dask fails."""
        from dask import delayed

        call, sent = delayed(_called, pure=False), delayed(function, pure=False, traverse=False)  # sent once
        try:
            return self.compute([call(sent, number) for number in numbers])
        except Exception as error:
            message = f"Dask failed: {type(error).__name__}; its logs say why.  Its workers need this library"
            raise ResourceError(message) from error

    def compute(self, tasks: Sequence[Any]) -> list[Any]:
        """The results of some tasks (``dask.delayed``)."""
        import dask

        return [*dask.compute(*tasks)]


def _called(function: Callable[[int], bytes], number: int) -> bytes:
    return function(number)


def _client() -> Any:
    """The active client; None where Dask computes on this machine without one."""
    distributed = sys.modules.get("distributed")
    if distributed is None:  # whoever has made a client has imported it
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None
