"""The memory that measuring needs, compared with the memory available before anything is charged or read.

Reads: the sizes of a plan's tables and answers, and the system's account of its memory.  Gives: ResourceError, or
nothing.  No record is involved: the same plan on the same machine is refused whatever the records are.
"""

from pathlib import Path

from residualplanner.gate.measurement.measuring_memory import measuring_bytes
from residualplanner.gate.measurement.resource_estimate import bytes_text
from residualplanner.ground.errors import ResourceError
from residualplanner.ground.memory import memory_left
from residualplanner.method.strategy.basis_groups import BasisGroups


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
        "block by block with memory= (--memory), or on a machine with more memory",
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
    room, where = min(memory_left(system), default=(needed, ""))
    if room < needed:
        held = purpose.format(needed=bytes_text(needed))
        raise ResourceError(f"too little memory: {held}, and {where} has {bytes_text(max(room, 0))} left; {remedy}")
