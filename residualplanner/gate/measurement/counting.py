"""Exact counts of every set of attributes, of which as few as possible are counted from the records.

Only sets that are contained in no other are counted.  Every other table is the sum of a larger one over one attribute.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources.source import Progress, Source
from residualplanner.ground.checks import IntArray, frozen
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.margins import LARGEST_DENOMINATOR
from residualplanner.method.strategy.basis_groups import BasisGroups
from residualplanner.method.workload.closure import Closure

CELL_LIMIT = 2**31
#: How many cells of larger tables are summed at a time.
_CHUNK = 2**20
#: In the place of counts that are not known yet, or no longer needed.
NOTHING: IntArray = frozen(np.empty(0, dtype=np.int64))


@dataclass(frozen=True, eq=False, slots=True)
class Parents:
    """For every set of a closure another that is larger by one attribute."""

    parent: NDArray[np.int64]  # (m,): the number of the larger set; -1 where there is none, and the set is maximal
    axis: NDArray[np.int64]  # (m,): the index of the additional attribute in the larger set

    @property
    def is_maximal(self) -> NDArray[np.bool_]:
        """Which sets are contained in no other, (m,)."""
        return self.parent < 0


def parents(closure: Closure) -> Parents:
    """A larger set for every set of ``closure`` that has one; a binary search for each set and attribute."""
    parent = np.full(len(closure), -1, dtype=np.int64)
    axis = np.full(len(closure), -1, dtype=np.int64)
    for order, rows in enumerate(closure.blocks):
        numbers = np.arange(closure.offsets[order], closure.offsets[order + 1])
        for column in range(order):
            children = closure.positions_of(np.delete(rows, column, axis=1))
            parent[children] = numbers
            axis[children] = column
    return Parents(frozen(parent), frozen(axis))


def count_tables(
    source: Source,
    closure: Closure,
    groups: BasisGroups,
    family: Parents,
    *,
    progress: Progress | None = None,
    later: Sequence[IntArray] = (),
) -> list[IntArray]:
    """The counts of every set of some groups, or of all of ``closure``: for each group (g, n_1, .., n_k) in its order.

    Maximal sets are counted, the others summed down from them; ``later`` is as of `Source.count`, and so are errors.
    """
    rows = rows_to_count(closure, groups, family)
    return with_sums(source.count(rows, progress=progress, later=later), groups, family)


def rows_to_count(closure: Closure, groups: BasisGroups, family: Parents) -> list[IntArray]:
    """The attributes (g, k) of the maximal sets of each of the groups that has some, as `Source.count` takes them."""
    found = []
    for numbers in _maximal(groups, family):
        if len(numbers):
            order = int(np.searchsorted(closure.offsets, numbers[0], side="right")) - 1
            found.append(closure.blocks[order][numbers - closure.offsets[order]].astype(np.int64))
    return found


def with_sums(found: list[IntArray], groups: BasisGroups, family: Parents) -> list[IntArray]:
    """The counts of every set of ``groups``, (g, n_1, .., n_k) for each of them, from those of the maximal sets.

    The counts ``found`` are those of `rows_to_count`, and are released on the way, since they are large.
    """
    counted = _maximal(groups, family)
    tables = [found.pop(0) if len(members) else NOTHING for members in counted]
    for number, members in enumerate(groups.members):
        if len(counted[number]) < len(members):
            every = np.empty((len(members), *groups.shapes[number]), dtype=np.int64)
            if len(counted[number]):
                every[groups.row[counted[number]]] = tables[number]
            tables[number] = every
    _sum_down(tables, groups, family)
    return tables


def _maximal(groups: BasisGroups, family: Parents) -> list[IntArray]:
    return [members[family.is_maximal[members]] for members in groups.members]


def denominator_of_group(groups: BasisGroups, group: int) -> int:
    """D: how often a record counts in all in a table of a group.  Source: eq. (104)."""
    return math.prod(basis.denominator for basis in groups.bases[group])


def require_size(groups: BasisGroups) -> None:
    """WorkloadError where all tables have more cells than `CELL_LIMIT`, or int64 cannot count parts of records."""
    cells = sum(math.prod(shape) * len(members) for shape, members in zip(groups.shapes, groups.members, strict=True))
    if cells > CELL_LIMIT:
        raise WorkloadError(
            f"too large: the tables to measure have {cells:,} cells, the limit is {CELL_LIMIT:,}; "
            "choose a lower order, or only small tables with max_cells="
        )
    for group, bases in enumerate(groups.bases):
        if denominator_of_group(groups, group) > LARGEST_DENOMINATOR:
            raise WorkloadError(
                f"a table of {len(bases)} attributes counts in 1/{denominator_of_group(groups, group):,} of a record, "
                f"the limit is 1/{LARGEST_DENOMINATOR:,}: choose coarser units for its amounts, or bins of equal widths"
            )


def _sum_down(tables: list[IntArray], groups: BasisGroups, family: Parents) -> None:
    """Fill in the tables that were not counted, those of the highest order first.  Source: eq. (104)."""
    children = np.flatnonzero(~family.is_maximal & (groups.group >= 0))
    orders = int(family.axis.max(initial=0)) + 1
    keys = groups.group[family.parent[children]] * orders + family.axis[children]
    by_key = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[by_key], prepend=-1))
    for same in reversed(np.split(children[by_key], starts[1:]) if len(children) else []):
        larger = family.parent[same]
        target, group, axis = tables[groups.group[same[0]]], int(groups.group[larger[0]]), int(family.axis[same[0]])
        # every record counts as often as the denominator of that axis says, and then once: eq. (104)
        denominator, step = groups.bases[group][axis].denominator, max(1, _CHUNK // math.prod(tables[group].shape[1:]))
        for start in range(0, len(same), step):
            part = slice(start, start + step)
            summed = tables[group][groups.row[larger[part]]].sum(axis=1 + axis)
            target[groups.row[same[part]]] = summed // denominator if denominator > 1 else summed
