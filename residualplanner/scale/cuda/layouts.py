"""How tables lie in the shared memory of a block of threads, and which tables fit into it.

Reads: the maps of the tables' axes and the limits of a device.  Gives: SlabLayout.  Needs neither a device nor CuPy.
"""

import math
from dataclasses import dataclass

from residualplanner.method.kron.axis_maps import AxisMap, ProductMap, keeping, rebuilding

#: Bytes of a number in shared memory.
_NUMBER = 8
#: Threads that run in step.
WARP = 32
#: Numbers that say where the answers of one subset of a slab start, and their divisor.
_SOURCE = 2
#: Slabs of fewer cells share a block, until together they have about so many.
_CELLS_OF_BLOCK = 1024
#: Entries of an axis that one thread adds up, at most.
_LONGEST = 1024
#: Entries of a matrix, which all blocks read through the cache, at most.
_LARGEST_MATRIX = 2**14
#: Numbers of the tensors in shared memory, at most: up to here the kernel's quotients are exact.
MOST_NUMBERS = 2**15
#: Axes of a slab, at most: those for which the kernel has room.
MOST_AXES = 16


@dataclass(frozen=True, slots=True)
class Limits:
    """What one block of threads of a device may use.

    Attributes:
        threads: how many threads a block has at most.
        shared_bytes: how much shared memory a block can ask for.
    """

    threads: int
    shared_bytes: int


#: Devices of compute capability 8.0, such as A100, and 9.0, such as H100: CUDA C++ Programming Guide, table of
#: technical specifications per compute capability.
SM_80 = Limits(threads=1024, shared_bytes=163 * 1024)
SM_90 = Limits(threads=1024, shared_bytes=227 * 1024)


@dataclass(frozen=True, slots=True)
class Pass:
    """One axis of a stack (outer, columns, inner) mapped, to (outer, rows, inner).

    Attributes:
        axis: the map.
        outer: the product of the lengths of the axes before it, of one slab or table, after their passes.
        inner: the product of the lengths of the axes after it.
        span: how many numbers one of ``outer`` takes before the pass, padding of the last axis included.
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
        return self.axis.direct is rebuilding(self.axis.columns).direct

    @property
    def lines(self) -> int:
        """The work that is divided among threads: lines in closed form, single entries of a product."""
        return self.outer * self.inner * (1 if self.has_closed_form else self.axis.rows)

    @property
    def is_short(self) -> bool:
        """Whether one thread may map a line of it."""
        entries = 0 if self.has_closed_form else self.axis.columns * self.axis.rows
        return self.axis.columns <= _LONGEST and entries <= _LARGEST_MATRIX


@dataclass(frozen=True, eq=False, slots=True)
class SlabLayout:
    """Tables of the same maps, cut into slabs along their first axes, in shared memory.

    Attributes:
        columns (k,): the lengths of the tensor's axes; one axis of length 1 for a table of no attributes.
        cut: how many axes, the first ones, are not in shared memory.
        rows (k - cut,): the lengths of the axes of a finished slab.
        pitch: the distance of neighbors along the last axis but one: odd, and no less than the last axis is long.
        cells: numbers of the padded tensor of a slab.
        slabs: slabs of one block of threads.
        numbers: numbers of shared memory of one tensor of all these slabs, at its largest.
        passes: the axes that are mapped in shared memory.
        later_passes: the axes that are mapped in device memory afterwards.
    """

    columns: tuple[int, ...]
    cut: int
    rows: tuple[int, ...]
    pitch: int
    cells: int
    slabs: int
    numbers: int
    passes: tuple[Pass, ...]
    later_passes: tuple[Pass, ...]

    @property
    def slabs_of_table(self) -> int:
        """Into how many slabs a table is cut."""
        return math.prod(self.columns[: self.cut])

    @property
    def estimates(self) -> int:
        """How many cells a finished slab has."""
        return math.prod(self.rows)

    @property
    def sources(self) -> int:
        """How many subsets the axes of a slab have that have residual answers."""
        return 1 << sum(columns > 1 for columns in self.columns[self.cut :])

    @property
    def tensor_start(self) -> int:
        """Where in shared memory, in numbers, the tensors start, behind the sources."""
        return _SOURCE * self.slabs * self.sources

    @property
    def shared_bytes(self) -> int:
        """How much shared memory a block needs: a second tensor only where an axis has a matrix."""
        buffers = 1 if all(step.has_closed_form for step in self.passes) else 2
        return _NUMBER * (self.tensor_start + self.numbers * buffers)

    @property
    def threads(self) -> int:
        """How many threads a block gets: one for each line of the widest pass and for every eight cells."""
        widest = max((step.lines for step in self.passes), default=0)
        wanted = max(self.slabs * widest, -(-self.slabs * self.cells // 8))
        return min(SM_90.threads, WARP * -(-wanted // WARP))

    def fits(self, limits: Limits) -> bool:
        """Whether a block of a device with these limits can make these slabs."""
        return (
            self.threads <= limits.threads
            and self.shared_bytes <= limits.shared_bytes
            and self.numbers <= MOST_NUMBERS
            and len(self.rows) <= MOST_AXES
            and all(step.is_short for step in (*self.passes, *self.later_passes))
        )


def layout_of(maps: ProductMap, limits: Limits = SM_90) -> SlabLayout:
    """How the tables of ``maps`` lie in shared memory.

    Small tables are put together, until they have about a thousand cells; large ones are cut into slabs along as few
    axes as possible.

    Args:
        maps: from tensors to tables, as for `tables_of_residuals`.
        limits: of the device.

    Raises:
        ValueError: they do not fit.

    Example:
        >>> layout = layout_of(ProductMap([rebuilding(10)] * 3))
        >>> layout.slabs, layout.threads, layout.shared_bytes
        (1, 160, 8928)
        >>> large = layout_of(ProductMap([rebuilding(100)] * 3))
        >>> large.cut, large.slabs_of_table, large.shared_bytes
        (1, 100, 80864)
    """
    for cut in range(max(1, len(maps.axes))):
        layout = cut_layout(maps, cut)
        if layout.fits(limits):
            return layout
    raise ValueError(f"tables of shape {maps.rows} are not for the fused kernel; ask fits() before")


def fits(maps: ProductMap, limits: Limits = SM_90) -> bool:
    """Whether the fused kernel makes the tables of ``maps``; others are left to products of matrices.

    It does if no axis that is mapped has more than 1,024 entries, no matrix more than 16,384, and the last axis, with
    as many before it as there is room for, is within the shared memory of one block, twice if one of them has a matrix.

    Args:
        maps: from tensors to tables, as for `tables_of_residuals`.
        limits: of the device.

    Example:
        >>> fits(ProductMap([rebuilding(1000)] * 2)), fits(ProductMap([rebuilding(2000)]))
        (True, False)
    """
    return any(cut_layout(maps, cut).fits(limits) for cut in range(max(1, len(maps.axes))))


def cut_layout(maps: ProductMap, cut: int) -> SlabLayout:
    """The layout in which the first ``cut`` axes are cut, whether or not it fits; the last axis never is."""
    columns, rows = maps.columns[cut:] or (1,), maps.rows[cut:] or (1,)
    pitch = max(columns[-1], rows[-1]) | 1
    sizes = [math.prod(rows[:done]) * math.prod(columns[done:-1]) * pitch for done in range(len(rows))]
    slabs = max(1, _CELLS_OF_BLOCK // max(sizes))
    return SlabLayout(
        columns=maps.columns or (1,),
        cut=cut,
        rows=rows,
        pitch=pitch,
        cells=sizes[0],
        slabs=slabs,
        numbers=slabs * max(sizes),
        passes=_passes(maps.axes[cut:], behind=1, pitch=pitch),
        later_passes=_passes(maps.axes[:cut], behind=math.prod(rows)),
    )


def _passes(axes: tuple[AxisMap, ...], behind: int, pitch: int = 0) -> tuple[Pass, ...]:
    """The passes over some axes in order, with ``behind`` numbers behind the last, which is padded to ``pitch``."""
    last = len(axes) - 1
    before = [pitch if pitch and number == last else axis.columns for number, axis in enumerate(axes)]
    after = [pitch if pitch and number == last else axis.rows for number, axis in enumerate(axes)]
    passes = []
    for number, axis in enumerate(axes):
        outer, inner = math.prod(after[:number]), math.prod(before[number + 1 :]) * behind
        spans = (before[number] * inner, after[number] * inner)
        if axis.direct is not keeping(axis.columns).direct:
            passes.append(Pass(axis, outer, inner, *spans))
    return tuple(passes)
