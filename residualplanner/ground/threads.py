"""The number of threads that linear algebra libraries use.

The home of threadpoolctl.
"""

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """A context with one thread for linear algebra: for many small problems, which several threads only slow down.

    Example:
        >>> with one_thread():
        ...     pass
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
