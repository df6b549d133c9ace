"""How much memory this process can still get: the system's account of it."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

#: A number in a control group's file from which on there is no limit.
_NO_LIMIT = 2**60


def memory_left(system: Path = Path("/")) -> Iterator[tuple[int, str]]:
    """How many bytes are left under each limit that can be read, and whose limit it is."""
    with suppress(OSError, ValueError, KeyError):
        facts = _facts(system / "proc/meminfo")
        yield 1024 * (facts["MemAvailable"] + facts.get("SwapFree", 0)), "the machine"
    for folder in _control_groups(system):
        for limit, usage in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            with suppress(OSError, ValueError):  # no such file, or "max": no limit
                most = int((folder / limit).read_text())
                if most < _NO_LIMIT:
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
