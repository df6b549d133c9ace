"""Relaxed records: what a run of RAP gives, which answers every query and has seen none but noisy answers.

Reads: values of relaxed records, a total.  Gives: RelaxedRecords.
"""

from dataclasses import dataclass

import numpy as np

from residualplanner._checks import FloatArray, IntArray
from residualplanner.errors import WorkloadError
from residualplanner.mixtures import Blocks, Mixture, mixture_of, product_sums
from residualplanner.relaxed_projection.relaxation import Relaxed, equal_weights
from residualplanner.relaxed_projection.threshold_products import threshold_means
from residualplanner.relaxed_projection.threshold_table import ThresholdTable


@dataclass(frozen=True, slots=True, eq=False)
class RelaxedRecords:
    """Records that say of each value of each attribute how probable it is.

    Attributes:
        blocks: which rows belong to which attribute.
        values (d', n'): a row for each value of each attribute and a column for each record.
    """

    blocks: Blocks
    values: Relaxed

    def fractions(self, threshold: ThresholdTable) -> FloatArray:
        """The table of a threshold, as fractions of all records.

        Where the values of each attribute add up to 1, it is a linear map of the marginal (A9); elsewhere, as under
        the relaxation "clip", it is the polynomial (A3) that is fitted, by (A8).

        Example:
            >>> records = RelaxedRecords(Blocks((2, 2)), np.full((4, 8), 0.5, dtype=np.float32))
            >>> records.fractions(ThresholdTable((0, 1), (2, 2), 1)).tolist()
            [[0.75, 0.75], [0.75, 0.75]]
        """
        columns = [self.values[self.blocks.rows(position)] for position in threshold.positions]
        if threshold.at_least < len(columns) and not self._are_distributions:
            return threshold_means(columns, threshold.at_least).astype(np.float64)
        table = product_sums(columns, equal_weights(self.values))
        return np.asarray(threshold.answers(table), dtype=np.float64)

    def rounded_counts(self, threshold: ThresholdTable, total: int) -> IntArray:
        """The same as integer counts of so many records, flat: the public grid on which scores are exact."""
        counts = np.rint(np.clip(self.fractions(threshold), 0, 1) * total)
        return counts.astype(np.int64).ravel()

    @property
    def mixture(self) -> Mixture:
        """The distribution of one record, drawn from any relaxed record: what integer records are sampled from.

        Raises:
            WorkloadError: the values of an attribute do not add up to 1, as under the relaxation "clip".
        """
        if not self._are_distributions:
            raise WorkloadError('relaxed records of the relaxation "clip" are no distribution; fit with "softmax"')
        return mixture_of(self.blocks, equal_weights(self.values), self.values)

    @property
    def _are_distributions(self) -> bool:
        """Whether the values of every attribute add up to 1 in every relaxed record."""
        return bool(np.allclose(self.blocks.sums(self.values), 1, atol=1e-3))
