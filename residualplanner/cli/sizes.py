"""What a workload will take, in time, memory and on disk, said before it is taken.

Reads: Workload.  Gives: lines for people, and a refusal of tables that no file can hold.
"""

import numpy as np

from residualplanner.cli.output import Output, number_text
from residualplanner.errors import WorkloadError
from residualplanner.queries import Identity
from residualplanner.workload import Workload

#: From how many sets of attributes, or cells, a plan says what it will take before it takes it.
LARGE_SETS, LARGE_CELLS = 100_000, 10_000_000
#: From how many values on choosing the basis of an attribute takes long.
LARGE_SIZE = 800
#: From how many cells in one table on, and up to how many: a table is made and written as a whole.
LARGE_TABLE, TABLE_LIMIT = 20_000_000, 2**28
#: Bytes for each number: to count and measure it; of a table while it is written; of a table on disk, as Parquet.
MEASURING, WRITING, ON_DISK = 24, 200, 30
_GIB = 2**30


def say_sizes(workload: Workload, output: Output) -> None:
    """Say what a workload will take where that is much."""
    cells, sets, largest = float(workload.cells.sum()), len(workload.closure), float(workload.cells.max())
    if sets > LARGE_SETS:
        output.say(f"Size        {sets:,} sets of attributes; {_planning_text(sets)}")
    basis_text = _bases_text(workload)
    if basis_text:
        output.say(f"Size        {basis_text}")
    counts = counted_cells(workload)
    if counts > LARGE_CELLS:
        output.say(
            f"Size        {number_text(counts)} counts; measuring takes some {bytes_text(counts * MEASURING)} of memory"
        )
    if largest > TABLE_LIMIT:
        output.say(f"Size        {_refusal(workload)}")
    elif max(cells / LARGE_CELLS, largest / LARGE_TABLE) > 1:
        output.say(
            f"Size        writing takes some {bytes_text(largest * WRITING)} of memory, for the largest table, and "
            f"{bytes_text(cells * ON_DISK)} of disk for all as Parquet"
        )


def counted_cells(workload: Workload) -> float:
    """How many counts the answers are made of: a query of kinds other than the identity takes one for each value.

    Example:
        >>> from residualplanner.domain import Domain
        >>> from residualplanner.queries import Range
        >>> workload = Workload(Domain({"age": 4, "sex": 2}), [("sex",), {"age": Range()}])
        >>> workload.cells.sum(), counted_cells(workload)
        (np.float64(12.0), 6.0)
    """
    sizes = np.array(workload.domain.sizes, dtype=np.float64)
    return sum(float(sizes[block.attributes].prod(axis=1).sum()) for block in workload.blocks)


def require_writable(workload: Workload) -> None:
    """Refuse a workload with a table too large to be written, before anything is spent on it.

    Raises:
        WorkloadError: a table has more than `TABLE_LIMIT` cells.
    """
    if workload.cells.max() > TABLE_LIMIT:
        raise WorkloadError(_refusal(workload))


def _refusal(workload: Workload) -> str:
    number = int(workload.cells.argmax())
    asked = list(next(iter(workload.take(np.array([number])))))
    return (
        f"the table of {', '.join(asked)} has {number_text(float(workload.cells[number]))} cells; no more than "
        f"{TABLE_LIMIT:,} can be written; ask for coarser bins, or for prefixes in place of ranges"
    )


def _bases_text(workload: Workload) -> str:
    """How long the choice of bases takes, where that is long: mostly a step in the cube of the number of values.

    Example:
        >>> from residualplanner.domain import Domain
        >>> from residualplanner.queries import Prefix
        >>> domain = Domain({"age": 100, "income": 2000, "county": 3200})
        >>> _bases_text(Workload(domain, [{"age": Prefix()}, {"income": Prefix()}, ("county",)]))
        'choosing bases for income (2,000 values) takes some 80 seconds or, with loss = "max", three times as long'
    """
    is_other = np.array([kind != Identity() for kind in workload.kinds])
    own = [workload.domain.attributes[place] for place in np.flatnonzero(workload.asked[:, is_other].any(axis=1))]
    large = [attribute for attribute in own if attribute.size >= LARGE_SIZE]
    # Measured at 1,000 to 2,000 values; above these there are fewer steps, each as long as n**3.
    seconds = sum(max(20 * (each.size / 1000) ** 2, 3 * (each.size / 1000) ** 3) for each in large)
    names = ", ".join(f"{each.name} ({each.size:,} values)" for each in large)
    taking = f'takes some {_seconds(seconds)} or, with loss = "max", three times as long'
    return f"choosing bases for {names} {taking}" if large else ""


def _planning_text(sets: int) -> str:
    return f"planning takes some {_seconds(sets * 5e-6)} and {bytes_text(sets * 400)} of memory"


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def bytes_text(size: float) -> str:
    """A number of bytes for people.

    Example:
        >>> bytes_text(3e9), bytes_text(5e6), bytes_text(70)
        ('2.8 GiB', '5 MiB', '1 KiB')
    """
    if size > 0.1 * _GIB:
        return f"{number_text(round(size / _GIB, 1))} GiB"
    return f"{size / 2**20:.0f} MiB" if size > 2**20 else f"{max(1, size / 2**10):.0f} KiB"
