"""How tables lie in the shared memory of a block of threads, and which tables fit into it.

Reads: the maps of the tables' axes and the limits of a device.  Gives: Layout.  Needs neither a device nor CuPy.
"""

import math
from dataclasses import dataclass
from itertools import accumulate

from residualplanner.kron.axis_maps import AxisMap, ProductMap, keeping
from residualplanner.kron.residuals import rebuilding

#: Bytes of a number in shared memory.
_NUMBER = 8
#: Threads that run in step.
WARP = 32
#: Tables of fewer cells share a block, until together they have about so many.
_CELLS_OF_BLOCK = 1024
#: Entries of an axis that one thread adds up, at most.
_LONGEST = 1024
#: Entries of a matrix, which all blocks read through the cache, at most.
_LARGEST_MATRIX = 2**14
#: Numbers in shared memory, at most: up to here the kernel's quotients are exact.
MOST_NUMBERS = 2**15


@dataclass(frozen=True, slots=True)
class Limits:
    """What one block of threads of a device may use.

    Attributes:
        threads: how many threads a block has at most.
        shared_bytes: how much shared memory a block can ask for.

    The number of blocks, at most 2**31 - 1, is no limit in practice: each makes some hundreds of cells or more, and so
    many of them need terabytes.
    """

    threads: int
    shared_bytes: int


#: Devices of compute capability 8.0, such as A100, and 9.0, such as H100: CUDA C++ Programming Guide, table of
#: technical specifications per compute capability.
SM_80 = Limits(threads=1024, shared_bytes=163 * 1024)
SM_90 = Limits(threads=1024, shared_bytes=227 * 1024)


@dataclass(frozen=True, slots=True)
class Pass:
    """One axis mapped, in shared memory.

    Attributes:
        axis: the map.
        outer: the product of the lengths of the axes before it, as they are after their passes.
        inner: the product of the lengths of the axes after it, the last one padded.
        span: how far apart neighbors along the axis before it are, before this pass.
        result_span: after it.
    """

    axis: AxisMap
    outer: int
    inner: int
    span: int
    result_span: int

    @property
    def has_closed_form(self) -> bool:
        """Whether the axis has the subtraction basis and single values, and is mapped in place without a matrix."""
        return has_closed_form(self.axis)

    @property
    def lines(self) -> int:
        """What the threads share out: lines in closed form, single entries of a product."""
        return self.outer * self.inner * (1 if self.has_closed_form else self.axis.rows)


@dataclass(frozen=True, eq=False, slots=True)
class Layout:
    """Tables of the same maps in shared memory.

    Attributes:
        columns (k,): the lengths of the tensor's axes; one axis of length 1 for a table of no attributes.
        rows (k,): the lengths of the table's axes.
        pitch: the distance of neighbors along the last axis but one: odd, and no less than the last axis is long.
        cells: numbers of a padded tensor.
        tables: tables of one block of threads.
        numbers: numbers of shared memory of one tensor of all these tables, at its largest.
        passes: the axes that are mapped.
    """

    columns: tuple[int, ...]
    rows: tuple[int, ...]
    pitch: int
    cells: int
    tables: int
    numbers: int
    passes: tuple[Pass, ...]

    @property
    def estimates(self) -> int:
        """How many cells a table has."""
        return math.prod(self.rows)

    @property
    def buffers(self) -> int:
        """1 where all axes are mapped in place, else 2."""
        return 1 if all(step.has_closed_form for step in self.passes) else 2

    @property
    def shared_bytes(self) -> int:
        """How much shared memory a block needs."""
        return _NUMBER * self.numbers * self.buffers

    @property
    def threads(self) -> int:
        """How many threads a block gets: one for each line of the widest pass and for every eight cells."""
        widest = max((step.lines for step in self.passes), default=0)
        wanted = max(self.tables * widest, -(-self.tables * self.cells // 8))
        return min(SM_90.threads, WARP * -(-wanted // WARP))

    def fits(self, limits: Limits) -> bool:
        """Whether a block of a device with these limits can make these tables."""
        return (
            self.threads <= limits.threads
            and self.shared_bytes <= limits.shared_bytes
            and self.numbers <= MOST_NUMBERS
            and all(_is_short(step) for step in self.passes)
        )


def layout_of(maps: ProductMap) -> Layout:
    """How the tables of ``maps`` lie in shared memory, whether or not they fit.

    Small tables are taken together, until they have about a thousand cells.

    Example:
        >>> layout = layout_of(ProductMap([rebuilding(10)] * 3))
        >>> layout.tables, layout.threads, layout.shared_bytes
        (1, 160, 8800)
    """
    columns, rows = maps.columns or (1,), maps.rows or (1,)
    pitch = max(columns[-1], rows[-1]) | 1
    sizes = [math.prod(rows[:done]) * math.prod(columns[done:-1]) * pitch for done in range(len(rows))]
    tables = max(1, _CELLS_OF_BLOCK // max(sizes))
    return Layout(columns, rows, pitch, sizes[0], tables, tables * max(sizes), _passes(maps, pitch))


def fits(maps: ProductMap, limits: Limits = SM_90) -> bool:
    """Whether the fused kernel makes the tables of ``maps``; others are left to products of matrices.

    It does if a padded table is within the shared memory of one block (two of them where an axis has a matrix), no axis
    that is mapped has more than 1,024 entries, and no matrix more than 16,384.

    Args:
        maps: from tensors to tables, as for `tables_of_residuals`.
        limits: of the device.

    Example:
        >>> fits(ProductMap([rebuilding(30)] * 3)), fits(ProductMap([rebuilding(31)] * 3))
        (True, False)
    """
    return layout_of(maps).fits(limits)


def has_closed_form(axis: AxisMap) -> bool:
    """Whether a map is that of `rebuilding`."""
    return axis.direct is rebuilding(axis.columns).direct


def _passes(maps: ProductMap, pitch: int) -> tuple[Pass, ...]:
    columns = [*maps.columns[:-1], pitch]
    outer = accumulate(maps.rows, initial=1, func=lambda product, rows: product * rows)
    last = len(maps.axes) - 1
    passes = []
    for number, (axis, before) in enumerate(zip(maps.axes, outer, strict=False)):
        inner = math.prod(columns[number + 1 :])
        spans = (pitch, pitch) if number == last else (axis.columns * inner, axis.rows * inner)
        if axis.direct is not keeping(axis.columns).direct:
            passes.append(Pass(axis, before, inner, *spans))
    return tuple(passes)


def _is_short(step: Pass) -> bool:
    axis = step.axis
    return axis.columns <= _LONGEST and (step.has_closed_form or axis.columns * axis.rows <= _LARGEST_MATRIX)
