"""Which tables of a workload stand in which part of a release.

It depends on nothing but how many cells the tables have.
"""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from residualplanner.ground.checks import IntArray, frozen
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.workload.workload import Workload

#: The folder of the parts within that of the release, and the files that say which tables there are.
PARTS, TABLES, LABELS = "parts", "tables.parquet", "labels.parquet"
#: The lists of the parts and of their row groups, with their hashes.
PART_LIST, ROW_GROUP_LIST = "parts.csv", "row-groups.csv"
#: The columns of a part beside its numbers: the table's number in the order of the workload, the cell's in C order.
TABLE_ID, CELL = "table_id", "cell"
#: The column of unbiased estimates where they stand beside numbers that were made from them.
UNBIASED_COLUMN = "estimate_unbiased"
#: A part, and a row group in it, ends with the first table that brings the cells before and in it to such a multiple.
PART_CELLS = 2**20
ROW_GROUP_CELLS = 2**18


@dataclass(frozen=True, eq=False, slots=True)
class Layout:
    """How the tables of a workload, in its order, are divided into parts, and these into row groups.

    A table is never divided.

    Attributes:
        cells (q + 1,): how many cells come before each table, and how many there are in all.
        groups (g + 1,): the first table of each row group, and the number of tables.
        parts (p + 1,): the first table of each part, which is that of a row group, and the number of tables.
    """

    cells: IntArray
    groups: IntArray
    parts: IntArray

    def __len__(self) -> int:
        return len(self.parts) - 1

    def part_of(self, table: int) -> int:
        """The part in which a table stands."""
        return int(np.searchsorted(self.parts, table, side="right")) - 1

    def tables_of(self, parts: Sequence[int]) -> IntArray:
        """The tables that stand in some parts, in their order."""
        return np.concatenate([np.arange(*self.parts[part : part + 2]) for part in parts])

    def chosen(self, only: Iterable[int] | None) -> tuple[int, ...]:
        """The numbers of some parts, ascending, each once, or of all; WorkloadError where they are none."""
        if only is None:
            return tuple(range(len(self)))
        try:
            found = sorted({operator.index(part) for part in only})
        except TypeError:
            found = []
        if not found or found[0] < 0 or found[-1] >= len(self):
            raise WorkloadError(f"only must be numbers of parts, from 0 to {len(self) - 1:,}, such as only=range(1)")
        return tuple(found)

    def row_groups(self, part: int) -> IntArray:
        """The first table of each row group of a part, and the first table of the next part."""
        first, last = np.searchsorted(self.groups, self.parts[part : part + 2]).tolist()
        return self.groups[first : last + 1]

    def count_of(self, part: int) -> int:
        """How many tables a part has."""
        return int(self.parts[part + 1] - self.parts[part])

    def cells_of(self, part: int) -> int:
        """How many cells a part has."""
        first, last = self.parts[part : part + 2]
        return int(self.cells[last] - self.cells[first])


def part_name(part: int) -> str:
    """The file of a part within the folder of a release."""
    return f"{PARTS}/part-{part:06}.parquet"


def layout_of(workload: Workload) -> Layout:
    """The parts of a release of a workload."""
    cells = np.concatenate([[0], np.cumsum(workload.cells.astype(np.int64))])
    return Layout(frozen(cells), _firsts(cells, ROW_GROUP_CELLS), _firsts(cells, PART_CELLS))


def _firsts(cells: IntArray, size: int) -> IntArray:
    """Which tables are the first to start in a run of ``size`` cells, and at the end how many there are."""
    run = cells[:-1] // size
    return frozen(np.append(np.flatnonzero(np.diff(run, prepend=-1)), len(run)))
