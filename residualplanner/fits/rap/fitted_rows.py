"""The part of relaxed records that a fit works on: the values that measured cells mention, and one for all others.

Reads: parameters of all values, the rows that are mentioned.  Gives: FittedRows, and back.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures import Blocks
from residualplanner.fits.rap.relaxation import Relaxed
from residualplanner.ground.checks import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class FittedRows:
    """Rows of the parameters that are fitted; of each block the others are fitted as one, their logarithmic sum.

    Values that no measured cell mentions have no influence on the loss but through their sum, so the optimum is the
    same, and the work does not depend on how many values an attribute has.

    Attributes:
        rows (f,): the rows that are fitted, ascending.
        blocks: of the fitted rows, with the sums behind them.
        index (f,): where each fitted row stands.
        rest: for each block with others, their rows, and where their sum stands.
    """

    rows: IntArray
    blocks: Blocks
    index: IntArray
    rest: tuple[tuple[IntArray, int], ...]

    @classmethod
    def of(cls, mentioned: NDArray[np.bool_], blocks: Blocks, *, merges: bool) -> Self:
        """The rows to fit.

        Args:
            mentioned (d',): which rows measured cells mention.
            blocks: of all rows.
            merges: whether the others of a block may be fitted as one; else all rows of its block are fitted.
        """
        rows, index, rest, sizes, here = [], [], [], [], 0
        for first, last in pairwise(blocks.offsets.tolist()):
            used = mentioned[first:last]
            if not used.any():
                continue
            wanted = np.flatnonzero(used) + first if merges else np.arange(first, last)
            others = np.setdiff1d(np.arange(first, last), wanted)
            rows.append(wanted)
            index.append(np.arange(here, here + len(wanted)))
            here += len(wanted)
            if len(others):
                rest.append((others, here))
                here += 1
            sizes.append(len(wanted) + bool(len(others)))
        return cls(np.concatenate(rows), Blocks(tuple(sizes)), np.concatenate(index), tuple(rest))

    def fitted(self, parameters: Relaxed) -> Relaxed:
        """The parameters to fit (rows, records), from all parameters (d', records)."""
        found = np.empty((self.blocks.count, parameters.shape[1]), dtype=np.float32)
        found[self.index] = parameters[self.rows]
        for others, here in self.rest:
            found[here] = np.logaddexp.reduce(parameters[others], axis=0)
        return found

    def put_back(self, fitted: Relaxed, parameters: Relaxed) -> Relaxed:
        """All parameters (d', records), with the fitted ones in place and the others in their old proportions."""
        found = parameters.copy()
        found[self.rows] = fitted[self.index]
        for others, here in self.rest:
            found[others] += fitted[here] - np.logaddexp.reduce(parameters[others], axis=0)
        return found
