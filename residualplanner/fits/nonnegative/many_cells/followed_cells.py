"""The cells that may be positive, once most cells are surely 0: what follows from potentials needs no others.

Reads: margins, unbiased cells.  Gives: FollowedCells.
Source: eq. (63).
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from residualplanner.fits.nonnegative.many_cells.blocks import Array, Block, Single
from residualplanner.fits.nonnegative.potentials import cell_columns


@dataclass(frozen=True, eq=False, slots=True)
class FollowedCells:
    """Cells that may be positive.

    Attributes:
        unbiased (f,): their estimates.
        freedoms (f,): of their tables.
        margins (f, p): a row for each: 1 for each margin that it is part of.
    """

    unbiased: Array
    freedoms: Array
    margins: sparse.csr_matrix

    def cut(self, raised_by: Array) -> Array:
        """What is positive of them, raised by numbers for margins (p,)."""
        found: Array = self.margins @ raised_by
        found += self.unbiased
        return np.maximum(found, 0, out=found)


def followed_cells(blocks: tuple[Block, ...], unbiased: Single, raised_by: Single) -> FollowedCells:
    """The cells that are positive where margins raise them so far.

    Args:
        blocks: all tables.
        unbiased (y,): their cells.
        raised_by (p,): by how much each margin raises its cells.
    """
    cells, freedoms, columns, orders = [], [], [], []
    for block in blocks:
        raised = block.raised(unbiased, raised_by).ravel()
        numbers = np.flatnonzero(raised > 0)
        cells.append(block.of(unbiased).ravel()[numbers])
        freedoms.append(block.freedom.ravel()[numbers // (raised.size // len(block.freedom))])
        starts = tuple(margin.start for margin in block.margins)
        columns.append(cell_columns(block.shape, starts, numbers).ravel().astype(np.int32))
        orders.append(np.full(len(numbers), len(starts)))
    entries = np.concatenate(columns)
    rows = np.concatenate([[0], np.cumsum(np.concatenate(orders))]).astype(np.int32)
    matrix = sparse.csr_matrix((np.ones(len(entries)), entries, rows), shape=(len(rows) - 1, len(raised_by)))
    return FollowedCells(np.concatenate(cells).astype(np.float64), np.concatenate(freedoms), matrix)
