"""The tables of a workload as arrays, a bounded number of cells at a time."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import memory_for
from residualplanner.method.kron.arrays import Array, Scratch, namespace, read_only, take
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.attribute_sets import QueryBlock
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.method.workload.workload import Workload
from residualplanner.release.devices import Device
from residualplanner.release.stacks import BATCH_CELLS, Reconstructor, Stack

#: What memory is needed for, and what to do where it is short.
A_TABLE = "for a table of this size; query a smaller one, or use a machine with more memory"
#: How many cells and how many tables of the workload are computed at a time, of all shapes together.
_CHUNK_CELLS = 4 * BATCH_CELLS
_CHUNK_TABLES = 4096


@dataclass(frozen=True, eq=False, slots=True)
class TableBatch:
    """Some tables of the same kinds of query and of one shape, with their axes as the queries were written.

    Attributes:
        queries (b,): their numbers in the order of the workload.
        attributes (b, k): the positions of their attributes in the domain, in the order written.
        kinds (k,): the kind of query on each attribute.
        estimates (b, q_1, .., q_k): in counts; on the host a read-only NumPy array.
    """

    queries: NDArray[np.int64]
    attributes: NDArray[np.int32]
    kinds: tuple[Kind, ...]
    estimates: Array

    def to_host(self, device: Device) -> "TableBatch":
        """The same tables with their estimates as a NumPy array, from the device that they are on."""
        return replace(self, estimates=read_only(device.to_host(self.estimates)))


@final
@dataclass(frozen=True, eq=False, slots=True)
class UnbiasedEstimates:
    """The unbiased estimates of one measurement."""

    reconstructor: Reconstructor  # of its answers, on the device where estimates are computed
    workload: Workload  # what `chunks` are of

    @memory_for(A_TABLE)
    def estimate(self, query: WrittenQuery) -> FloatArray:
        """The estimates of one table, on the host."""
        positions, kinds = query.in_domain_order
        rows, codes = np.array([positions], dtype=np.int32), np.arange(len(kinds), dtype=np.int16)[None]
        ((_, _, found),) = self.reconstructor.stacks(rows, codes, kinds, Scratch())
        estimates: FloatArray = frozen(self.reconstructor.device.to_host(found))[0]
        return estimates.transpose(query.axes)

    def chunks(self, first: int, last: int) -> Iterator[list[TableBatch]]:
        """The tables of the queries from one number on up to another, in runs of bounded size, on the device."""
        scratch, factor = Scratch(), self.reconstructor.device.batch_factor
        for numbers, block in self.workload.runs(first=first, last=last):
            cells = self.workload.cells[numbers]
            chunk = np.cumsum(cells) // (factor * _CHUNK_CELLS) + np.arange(len(cells)) // (factor * _CHUNK_TABLES)
            for before, after in pairwise([0, *(1 + np.flatnonzero(np.diff(chunk))).tolist(), len(cells)]):
                part = block.part(slice(before, after))
                with memory_for(A_TABLE):
                    stacks = list(self.reconstructor.stacks(part.attributes, part.kinds, self.workload.kinds, scratch))
                yield [batch for stack in stacks for batch in _batches_as_written(part, stack, numbers.start + before)]


def _batches_as_written(block: QueryBlock, stack: Stack, start: int) -> Iterator[TableBatch]:
    """Tables of a block that starts at a number as one batch for each order in which they were written."""
    rows, kinds, estimates = stack
    if block.axes is None:
        yield TableBatch(start + rows, block.attributes[rows], kinds, estimates)
        return
    queries = block.part(rows)
    for axes in np.unique(queries.every_axes, axis=0):
        same = np.flatnonzero((queries.every_axes == axes).all(axis=1))
        yield TableBatch(
            start + rows[same],
            queries.written_attributes[same],
            tuple(kinds[axis] for axis in axes.tolist()),
            read_only(namespace(estimates).permute_dims(take(estimates, same), (0, *(1 + axes).tolist()))),
        )
