"""Relaxed records: what a run of RAP gives, which answers every query and has seen none but noisy answers.

Reads: values of relaxed records, a total.  Gives: RelaxedRecords.
"""

from dataclasses import dataclass

import numpy as np

from residualplanner._checks import FloatArray, IntArray
from residualplanner.rap.relaxation import Relaxed, block_starts
from residualplanner.rap.threshold_table import ThresholdTable
from residualplanner.rap.whole_tables import mixture_table


@dataclass(frozen=True, slots=True, eq=False)
class RelaxedRecords:
    """A mixture of products: every relaxed record says how probable each value of each attribute is.

    Attributes:
        sizes (d,): how many values each attribute has.
        values (d', n'): the probabilities, a row for each value of each attribute and a column for each record.
    """

    sizes: IntArray
    values: Relaxed

    @property
    def starts(self) -> IntArray:
        """The first row of each attribute's block, (d,)."""
        return block_starts(self.sizes)

    def fractions(self, threshold: ThresholdTable) -> FloatArray:
        """The table of a threshold, as fractions of all records.

        Example:
            >>> records = RelaxedRecords(np.array([2, 2]), np.full((4, 10), 0.5, dtype=np.float32))
            >>> records.fractions(ThresholdTable((0, 1), (2, 2), 1)).tolist()
            [[0.75, 0.75], [0.75, 0.75]]
        """
        blocks = zip(threshold.positions, threshold.shape, strict=True)
        table = mixture_table([self.values[self.starts[i] : self.starts[i] + size] for i, size in blocks])
        return np.asarray(threshold.answers(table), dtype=np.float64)

    def rounded_counts(self, threshold: ThresholdTable, total: int) -> IntArray:
        """The same as integer counts of so many records, flat: the public grid on which scores are exact."""
        counts = np.rint(np.clip(self.fractions(threshold), 0, 1) * total)
        return counts.astype(np.int64).ravel()
