"""How much memory this process can still get, its threads, and whether it runs a script a second time."""

import multiprocessing
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from residualplanner.ground.errors import ArgumentError

#: What a script has to do whose main part is not guarded, so that processes that it starts run it a second time.
GUARD = 'put the main part of the script into a function, and call it under  if __name__ == "__main__":'


def memory_left(system: Path = Path("/")) -> Iterator[tuple[int, str]]:
    """How many bytes are left under each limit that can be read, and whose limit it is.

    psutil would say the first of them, and knows no control groups: in a container it has the machine's memory.
    """
    with suppress(OSError, ValueError, KeyError):
        facts = _facts(system / "proc/meminfo")
        yield 1024 * (facts["MemAvailable"] + facts.get("SwapFree", 0)), "the machine"
    for folder in _control_groups(system):
        for limit, usage in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            with suppress(OSError, ValueError):  # no such file, or "max": no limit
                most = int((folder / limit).read_text())
                if most < 2**60:  # from so much on there is no limit
                    used = int((folder / usage).read_text()) - _reclaimable(folder)
                    yield most - used, "this container (its control group)"
    with suppress(ImportError, OSError, ValueError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            pages = int((system / "proc/self/statm").read_text().split()[0])
            yield most - pages * resource.getpagesize(), "this process (its limit of address space)"


def _control_groups(system: Path) -> Iterator[Path]:
    """The folders of this process's control groups and of the groups that contain them, whose limits hold as well."""
    with suppress(OSError):
        for line in (system / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers not in ("", "memory") and "memory" not in controllers.split(","):
                continue
            root = system / "sys/fs/cgroup" / ("memory" if controllers else "")
            inner = root / path.lstrip("/")
            yield from (folder for folder in (inner, *inner.parents) if folder.is_relative_to(root))


def _reclaimable(folder: Path) -> int:
    """Bytes of file cache that a control group gives up when it needs more memory."""
    with suppress(OSError, ValueError):
        facts = _facts(folder / "memory.stat")
        return facts.get("total_inactive_file", facts.get("inactive_file", 0))
    return 0


def _facts(path: Path) -> dict[str, int]:
    """Numbers by name, from lines such as ``MemFree:  12 kB`` or ``file 12``."""
    rows = (line.replace(":", " ").split() for line in path.read_text().splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1}


def one_thread() -> AbstractContextManager[Any]:
    """A context with one thread for linear algebra: for many small problems, which several threads only slow down."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


@lru_cache(maxsize=1)
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def require_guarded_main(step: str) -> None:
    """Raise ArgumentError in a process that is still importing the main module of the one that started it.

    New processes import the script that starts them.  What is not guarded there runs again, in each of them: it would
    measure, and spend the budget, once more.  ``step`` is what would be done a second time.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # as multiprocessing itself asks
        where = "in a process that this script has started, which imports the script anew"
        raise ArgumentError(f"{step} was reached {where}; {GUARD}")
