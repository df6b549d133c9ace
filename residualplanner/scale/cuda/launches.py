"""How tables lie in the shared memory of a block of threads, which fit into it, and what the fused kernel is given.

It follows from the maps of the tables' axes and the limits of a device; needs neither a device nor CuPy.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, compress

import numpy as np
from numpy.typing import NDArray

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
#: How many blocks of threads a launch has at most, on every device.
_MOST_BLOCKS = 2**31 - 1
#: Where an axis has no matrix.
_CLOSED_FORM = -1
#: Threads of a block that maps an axis in device memory.
AXIS_THREADS = 256


@dataclass(frozen=True, slots=True)
class Limits:
    """What one block of threads of a device may use."""

    threads: int  # how many a block has at most
    shared_bytes: int  # how much shared memory a block can ask for


#: Devices of compute capability 8.0, such as A100, and 9.0, such as H100: CUDA C++ Programming Guide, table of
#: technical specifications per compute capability.
SM_80 = Limits(threads=1024, shared_bytes=163 * 1024)
SM_90 = Limits(threads=1024, shared_bytes=227 * 1024)


@dataclass(frozen=True, slots=True)
class Pass:
    """One axis of a stack (outer, columns, inner) mapped, to (outer, rows, inner)."""

    axis: AxisMap
    has_closed_form: bool  # whether it has the subtraction basis and single values: it is mapped in place, by no matrix
    outer: int  # the product of the lengths of the axes before it, of one slab or table, after their passes
    inner: int  # the product of the lengths of the axes after it
    span: int  # how many numbers one of ``outer`` takes before the pass, padding of the last axis included
    result_span: int  # after it

    @property
    def lines(self) -> int:
        """The work that is divided among threads: lines in closed form, single entries of a product."""
        return self.outer * self.inner * (1 if self.has_closed_form else self.axis.rows)


@dataclass(frozen=True, eq=False, slots=True)
class SlabLayout:
    """Tables of the same maps, cut into slabs along their first axes, in shared memory."""

    columns: tuple[int, ...]  # (k,): the lengths of the tensor's axes; one of length 1 for a table of no attributes
    cut: int  # how many axes, the first ones, are not in shared memory
    rows: tuple[int, ...]  # (k - cut,): the lengths of the axes of a finished slab
    pitch: int  # the distance of neighbors along the last axis but one: odd, and no less than the last axis is long
    cells: int  # numbers of the padded tensor of a slab
    estimates: int  # how many cells a finished slab has
    slabs_of_table: int  # into how many slabs a table is cut
    slabs: int  # of one block of threads
    sources: int  # how many subsets the axes of a slab have that have residual answers
    numbers: int  # of shared memory that one tensor of all these slabs takes, at its largest
    shared_bytes: int  # of shared memory that a block needs: for a second tensor only where an axis has a matrix
    threads: int  # of a block: one for each line of the widest pass and for every eight cells
    passes: tuple[Pass, ...]  # the axes that are mapped in shared memory
    later_passes: tuple[Pass, ...]  # those that are mapped in device memory afterwards

    def fits(self, limits: Limits) -> bool:
        """Whether a block of a device with these limits can make these slabs, and a thread map a line of each pass."""
        steps = (*self.passes, *self.later_passes)
        matrices = [step.axis.columns * step.axis.rows for step in steps if not step.has_closed_form]
        return (
            self.threads <= limits.threads
            and self.shared_bytes <= limits.shared_bytes
            and self.numbers <= MOST_NUMBERS
            and len(self.rows) <= MOST_AXES
            and max((step.axis.columns for step in steps), default=0) <= _LONGEST
            and max(matrices, default=0) <= _LARGEST_MATRIX
        )


def layout_of(maps: ProductMap, limits: Limits = SM_90) -> SlabLayout:
    """How the tables of ``maps``, as of `tables_of_residuals`, lie in shared memory; ValueError where they do not fit.

    Small tables are put together, until they have about a thousand cells; large ones are cut into slabs along as few
    axes as possible.
    """
    for cut in range(max(1, len(maps.axes))):
        layout = cut_layout(maps, cut)
        if layout.fits(limits):
            return layout
    raise ValueError(f"tables of shape {maps.rows} are not for the fused kernel; ask fits() before")


def fits(maps: ProductMap, limits: Limits = SM_90) -> bool:
    """Whether the fused kernel makes the tables of ``maps``; others are left to products of matrices."""
    return any(cut_layout(maps, cut).fits(limits) for cut in range(max(1, len(maps.axes))))


def cut_layout(maps: ProductMap, cut: int) -> SlabLayout:
    """The layout in which the first ``cut`` axes are cut, whether or not it fits; the last axis never is."""
    columns, rows = maps.columns[cut:] or (1,), maps.rows[cut:] or (1,)
    pitch = max(columns[-1], rows[-1]) | 1
    sizes = [math.prod(rows[:done]) * math.prod(columns[done:-1]) * pitch for done in range(len(rows))]
    slabs, sources = max(1, _CELLS_OF_BLOCK // max(sizes)), 1 << sum(length > 1 for length in columns)
    passes = _passes(maps.axes[cut:], behind=1, pitch=pitch)
    tensors = slabs * max(sizes) * (1 if all(step.has_closed_form for step in passes) else 2)
    wanted = max([-(-slabs * sizes[0] // 8), *(slabs * step.lines for step in passes)])
    return SlabLayout(
        columns=maps.columns or (1,),
        cut=cut,
        rows=rows,
        pitch=pitch,
        cells=sizes[0],
        estimates=math.prod(rows),
        slabs_of_table=math.prod(maps.columns[:cut]),
        slabs=slabs,
        sources=sources,
        numbers=slabs * max(sizes),
        shared_bytes=_NUMBER * (_SOURCE * slabs * sources + tensors),
        threads=min(SM_90.threads, WARP * -(-wanted // WARP)),
        passes=passes,
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
        if axis.direct is not keeping(axis.columns).direct:
            has_closed_form = axis.direct is rebuilding(axis.columns).direct
            passes.append(Pass(axis, has_closed_form, outer, inner, before[number] * inner, after[number] * inner))
    return tuple(passes)


#: The answers of one subset of the tables' attributes: the address of the first one of the first set, in the memory of
#: the device; what they are divided by if they are int64, 0 if they are float64, which are not divided.
SubsetAnswers = tuple[int, int]


@dataclass(frozen=True, eq=False, slots=True)
class Launch:
    """One launch of the fused kernel."""

    blocks: int
    threads: int  # of each block
    shared_bytes: int  # of each block
    slabs: int  # how many all blocks make
    description: NDArray[np.int64]  # (w,), what the kernel reads: see its source


def launch_of(layout: SlabLayout, sources: Sequence[SubsetAnswers], tables: int) -> Launch:
    """The launch that makes so many tables from the answers of their subsets, ordered as of `tables_of_residuals`."""
    # of each axis its length and its bit among the attributes that have residual answers, 0 if it has none
    before = accumulate((columns > 1 for columns in layout.columns), initial=0)
    pairs = zip(layout.columns, before, strict=False)
    axes = [(columns, inverse(columns), 1 << bit if columns > 1 else 0) for columns, bit in pairs]
    matrices = [entries(step) for step in layout.passes]
    starts = accumulate((len(matrix) for matrix in matrices), initial=0)
    passes = [
        (
            *(step.axis.columns, step.axis.rows, step.outer, step.inner),
            *(inverse(step.inner), inverse(step.axis.rows * step.inner), step.span, step.result_span),
            _CLOSED_FORM if step.has_closed_form else start,
        )
        for step, start in zip(layout.passes, starts, strict=False)
    ]
    tensor_start = _SOURCE * layout.slabs * layout.sources  # in shared memory, in numbers, behind the sources
    words = [
        *(len(layout.columns), layout.cut, sum(columns > 1 for columns in layout.columns[: layout.cut])),
        *(len(sources), len(layout.passes), layout.slabs, layout.sources, layout.cells, layout.estimates),
        *(layout.pitch, inverse(layout.pitch), layout.rows[-1], inverse(layout.rows[-1])),
        *(tensor_start, tensor_start + layout.numbers),
        *(word for axis in axes for word in axis),
        *(word for at, by in sources for word in (at, int(np.array(float(by)).view(np.int64)))),  # a double's bits
        *(word for step in passes for word in step),
    ]
    description = np.concatenate([np.array(words, dtype=np.int64), *matrices])
    slabs = tables * layout.slabs_of_table
    return Launch(blocks_of(slabs, layout.slabs), layout.threads, layout.shared_bytes, slabs, description)


def require_answers(layout: SlabLayout, blocks: Sequence[tuple[int, ...]], rows: tuple[int, ...]) -> None:
    """Check the shapes of the answers of single sets, subset by subset, and of the tables' rows, as the kernel cannot.

    ValueError unless there is one block for each subset of the axes that have residual answers, and a row of each block
    for each table.
    """
    answers = [columns - 1 for columns in layout.columns if columns > 1]
    subsets = [tuple(compress(answers, map(int, f"{subset:b}"[::-1]))) for subset in range(2 ** len(answers))]
    if list(blocks) != subsets:
        raise ValueError(f"tables of {layout.columns} entries need blocks of shapes {subsets}, got {list(blocks)}")
    if len(rows) != 2 or rows[1] != len(subsets):
        raise ValueError(f"rows must have {len(subsets)} columns, one for each block, got the shape {rows}")


def blocks_of(parts: int, together: int) -> int:
    """How many blocks make so many parts, as many ``together`` in each."""
    blocks = -(-parts // together)
    if blocks > _MOST_BLOCKS:
        message = f"one launch has at most {_MOST_BLOCKS:,} blocks of threads, got {blocks:,}; take fewer tables"
        raise ValueError(message)
    return blocks


def inverse(divisor: int) -> int:
    """By which the kernel multiplies instead of dividing: exact for numbers below ``2**31 / divisor``."""
    return -(-(2**31) // divisor)


def entries(step: Pass) -> NDArray[np.int64]:
    """The transposed matrix of a pass as words, none in closed form."""
    if step.has_closed_form:
        return np.zeros(0, dtype=np.int64)
    return np.ascontiguousarray(step.axis.matrix.T, dtype=np.float64).view(np.int64).ravel()
