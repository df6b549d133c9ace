"""How many threads the linear algebra libraries use.

threadpoolctl's home.
"""

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Inside, linear algebra uses one thread: for many small problems, for which several only wait for one another.

    Example:
        >>> with one_thread():
        ...     pass
    """
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
