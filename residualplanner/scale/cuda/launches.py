"""What the fused kernel is given: its launch, and the description that it reads.  Needs neither a device nor CuPy."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.scale.cuda.layouts import Pass, SlabLayout

#: How many blocks of threads a launch has at most, on every device.
_MOST_BLOCKS = 2**31 - 1
#: Where an axis has no matrix.
_CLOSED_FORM = -1


class SubsetAnswers(NamedTuple):
    """The answers of one subset of the tables' attributes."""

    address: int  # of the first answer of the first set of attributes, in the memory of the device
    divisor: int  # what they are divided by, if they are int64; 0 if they are float64, and are not divided


@dataclass(frozen=True, eq=False, slots=True)
class Launch:
    """One launch of the fused kernel."""

    blocks: int
    threads: int  # of each block
    shared_bytes: int  # of each block
    slabs: int  # how many all blocks make
    description: NDArray[np.int64]  # (w,), what the kernel reads: see its source


#: Threads of a block that maps an axis in device memory.
AXIS_THREADS = 256


@dataclass(frozen=True, eq=False, slots=True)
class AxisLaunch:
    """One launch of the kernel that maps an axis in device memory."""

    matrix: NDArray[np.int64]  # (w,), the bits of the transposed matrix; nothing in closed form
    columns: int  # the length of the axis
    rows: int  # its length afterwards
    inner: int  # how many numbers are behind each entry of the axis
    outer: int  # how many axes there are to map, of all tables

    @property
    def is_in_place(self) -> bool:
        """Whether the result takes the place of what is mapped."""
        return not self.matrix.size

    @property
    def lines(self) -> int:
        """The work that is divided among threads, one piece each: lines in place, else single entries of the result."""
        return self.outer * self.inner * (1 if self.is_in_place else self.rows)

    @property
    def blocks(self) -> int:
        """How many blocks of threads."""
        return _blocks(self.lines, AXIS_THREADS)


def launch_of(layout: SlabLayout, sources: Sequence[SubsetAnswers], tables: int) -> Launch:
    """The launch that makes so many tables from the answers of their subsets, in the order of `tables_of_residuals`.

    Raises:
        ValueError: so many tables at once take more than 2**31 - 1 blocks.
    """
    matrices = [_entries(step) for step in layout.passes]
    starts = accumulate((len(matrix) for matrix in matrices), initial=0)
    words = [
        *_header(layout, len(sources)),
        *(word for axis in _axes(layout) for word in axis),
        *(word for at, by in sources for word in (at, int(np.array(float(by)).view(np.int64)))),  # a double's bits
        *(word for step, start in zip(layout.passes, starts, strict=False) for word in _pass(step, start)),
    ]
    description = np.concatenate([np.array(words, dtype=np.int64), *matrices])
    slabs = tables * layout.slabs_of_table
    return Launch(_blocks(slabs, layout.slabs), layout.threads, layout.shared_bytes, slabs, description)


def axis_launches_of(layout: SlabLayout, tables: int) -> list[AxisLaunch]:
    """The launches that follow that of `launch_of` where tables are cut: one for each axis that is."""
    return [
        AxisLaunch(
            matrix=_entries(step),
            columns=step.axis.columns,
            rows=step.axis.rows,
            inner=step.inner,
            outer=tables * step.outer,
        )
        for step in layout.later_passes
    ]


def require_answers(layout: SlabLayout, blocks: Sequence[tuple[int, ...]], rows: tuple[int, ...]) -> None:
    """Check the shapes of the answers of single sets, subset by subset, and of the tables' rows, as the kernel cannot.

    Raises:
        ValueError: there is not one block for each subset of the axes that have residual answers, one has another
            shape, or there is not a row of each block for each table.
    """
    answers = [columns - 1 for columns in layout.columns if columns > 1]
    subsets = [tuple(compress(answers, map(int, f"{subset:b}"[::-1]))) for subset in range(2 ** len(answers))]
    if list(blocks) != subsets:
        raise ValueError(f"tables of {layout.columns} entries need blocks of shapes {subsets}, got {list(blocks)}")
    if len(rows) != 2 or rows[1] != len(subsets):
        raise ValueError(f"rows must have {len(subsets)} columns, one for each block, got the shape {rows}")


def _blocks(parts: int, together: int) -> int:
    """How many blocks make so many parts, as many ``together`` in each."""
    blocks = -(-parts // together)
    if blocks > _MOST_BLOCKS:
        raise ValueError(
            f"one launch has at most {_MOST_BLOCKS:,} blocks of threads, got {blocks:,}; take fewer tables"
        )
    return blocks


def inverse(divisor: int) -> int:
    """By which the kernel multiplies instead of dividing: exact for numbers below ``2**31 / divisor``."""
    return -(-(2**31) // divisor)


def _header(layout: SlabLayout, subsets: int) -> list[int]:
    return [
        len(layout.columns),
        layout.cut,
        sum(columns > 1 for columns in layout.columns[: layout.cut]),
        subsets,
        len(layout.passes),
        layout.slabs,
        layout.sources,
        layout.cells,
        layout.estimates,
        layout.pitch,
        inverse(layout.pitch),
        layout.rows[-1],
        inverse(layout.rows[-1]),
        layout.tensor_start,
        layout.tensor_start + layout.numbers,
    ]


def _axes(layout: SlabLayout) -> list[tuple[int, int, int]]:
    """Of each axis its length and its bit among the attributes that have residual answers, 0 if it has none."""
    before = accumulate((columns > 1 for columns in layout.columns), initial=0)
    return [
        (columns, inverse(columns), 1 << bit if columns > 1 else 0)
        for columns, bit in zip(layout.columns, before, strict=False)
    ]


def _pass(step: Pass, start: int) -> tuple[int, ...]:
    rows, inner = step.axis.rows, step.inner
    return (
        step.axis.columns,
        rows,
        step.outer,
        inner,
        inverse(inner),
        inverse(rows * inner),
        step.span,
        step.result_span,
        _CLOSED_FORM if step.has_closed_form else start,
    )


def _entries(step: Pass) -> NDArray[np.int64]:
    """The transposed matrix of a pass as words, none in closed form."""
    if step.has_closed_form:
        return np.zeros(0, dtype=np.int64)
    return np.ascontiguousarray(step.axis.matrix.T, dtype=np.float64).view(np.int64).ravel()
