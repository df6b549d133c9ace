"""What Linux says of processes: which there are, and the seconds and the memory that they take."""

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def tree_of(root: int) -> list[int]:
    """A process and all that it has started, itself first."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    tree = [root]
    for process in tree:
        tree += [child for child, parent in parents.items() if parent == process]
    return tree


def own_children() -> list[int]:
    """The processes that the main thread of this one has started; far quicker than `tree_of`."""
    found = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(number) for number in found.read_text().split()]


def processor_seconds(process: int) -> float:
    try:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / TICKS


def memory_of(process: int) -> float:
    """MiB, pages that processes share split among them."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(text.split()[1]) / 1024 for text in lines if text.startswith("Pss:")), 0.0)


def anonymous_bytes(process: int | None = None) -> int:
    """The memory of a process, this one if none is given, that is no file's."""
    try:
        lines = Path(f"/proc/{process or os.getpid()}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0)


def name_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def words_of(process: int) -> list[str]:
    """The command that a process runs, word by word."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []
