"""The memory that measuring needs, compared with the memory available before anything is charged or read.

Reads: the sizes of a plan's tables and answers, and the system's account of its memory.  Gives: ResourceError, or
nothing.  No record is involved: the same plan on the same machine is refused whatever the records are.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from residualplanner.errors import ResourceError
from residualplanner.plan import bytes_text, measuring_bytes
from residualplanner.strategy import BasisGroups

#: A number in a control group's file from which on there is no limit.
_NO_LIMIT = 2**60


def require_memory(groups: BasisGroups, memory: int | None = None, *, system: Path = Path("/")) -> None:
    """Raise ResourceError where measuring needs more memory than this process can get.

    Args:
        groups: the sets to measure.
        memory: how many bytes of counts and answers may be held at once; by default all are.
        system: where ``proc`` and ``sys`` are; on systems without them only the process's own limit is checked.
    """
    require_room(
        measuring_bytes(groups, memory),
        "measuring holds {needed} of counts and answers at once",
        "nothing was charged or read.  Ask for fewer or smaller tables, with a lower up_to or with max_cells, measure "
        "block by block with memory=, or on a machine with more memory",
        system=system,
    )


def require_room(needed: float, purpose: str, remedy: str, *, system: Path = Path("/")) -> None:
    """Raise ResourceError where something needs more memory than this process can get.

    Args:
        needed: in bytes.
        purpose: what for, with ``{needed}`` where the size is to stand.
        remedy: what to do.
        system: as of `require_memory`.
    """
    room, where = min(_rooms(system), default=(needed, ""))
    if room < needed:
        held = purpose.format(needed=bytes_text(needed))
        raise ResourceError(f"too little memory: {held}, and {where} has {bytes_text(max(room, 0))} left; {remedy}")


def _rooms(system: Path) -> Iterator[tuple[int, str]]:
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
