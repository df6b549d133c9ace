"""Sets of attributes grouped by the shape of their tables, so that equal tables are worked on together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner._checks import frozen
from residualplanner.workload.attribute_sets import AttributeSets, PositionArray, row_numbers


@dataclass(frozen=True, eq=False, slots=True)
class ShapeGroups:
    """Which sets of attributes have tables of the same shape.

    Attributes:
        shapes: the shape of each group's tables; groups of lower order come first.
        group (m,): the group of every set.
        row (m,): its place within the group.
        members: for each group the numbers of its sets, ascending.
    """

    shapes: tuple[tuple[int, ...], ...]
    group: NDArray[np.int64]
    row: NDArray[np.int64]
    members: tuple[NDArray[np.int64], ...]


def shape_groups(sets: AttributeSets, sizes: ArrayLike) -> ShapeGroups:
    """Group ``sets`` by the sizes (d,) of their attributes, in order.

    Example:
        >>> groups = shape_groups(AttributeSets.of([(0,), (1,), (2,)], attribute_count=3), [4, 2, 4])
        >>> groups.shapes, groups.group.tolist(), groups.row.tolist()
        (((2,), (4,)), [1, 0, 1], [0, 0, 1])
    """
    size = np.asarray(sizes, dtype=np.int64)
    shapes: list[tuple[int, ...]] = []
    group = np.empty(len(sets), dtype=np.int64)
    for block, start in zip(sets.blocks, sets.offsets.tolist(), strict=False):
        block_shapes, numbers = distinct_shapes(block, size)
        group[start : start + len(block)] = numbers + len(shapes)
        shapes += block_shapes
    by_group = np.argsort(group, kind="stable")
    counts = np.bincount(group, minlength=len(shapes))
    starts = np.cumsum(counts) - counts
    row = np.empty(len(sets), dtype=np.int64)
    row[by_group] = np.arange(len(sets)) - np.repeat(starts, counts)
    members = tuple(frozen(part) for part in np.split(by_group, starts[1:])) if shapes else ()
    return ShapeGroups(tuple(shapes), frozen(group), frozen(row), members)


def distinct_shapes(rows: PositionArray, size: NDArray[np.int64]) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
    """The distinct shapes of the sets ``rows`` (m, k), and which of them each row has, (m,)."""
    numbers = row_numbers(np.unique(size, return_inverse=True)[1][rows])
    first = np.unique(numbers, return_index=True)[1]
    return [tuple(shape) for shape in size[rows[first]].tolist()], numbers
