"""Tables from residual answers, many of one shape at a time.

Reads: residual answers, sets of attributes.  Gives: stacks of estimates.  Nothing loops over tables.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, frozen
from residualplanner.kron import Scratch, tables_of_residuals
from residualplanner.measurement import BATCH_CELLS, IntegerAnswers, ResidualAnswers
from residualplanner.workload import Closure


@dataclass(frozen=True, eq=False, slots=True)
class Rebuilder:
    """What is needed to rebuild tables.

    Attributes:
        closure: the sets of attributes whose residuals are known.
        sizes (d,): how many values each attribute has.
        residuals: the answers.
    """

    closure: Closure
    sizes: NDArray[np.int64]
    residuals: IntegerAnswers | ResidualAnswers

    def stacks(self, attributes: NDArray[np.int32], scratch: Scratch) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
        """The tables over some sets of attributes, stacked by shape.

        Args:
            attributes (m, k): sets of the closure, ascending; attributes of a single value may be among them.
            scratch: memory to work in.

        Yields:
            Which rows these are, (b,), and their estimates (b, n_1, .., n_k), read-only.  Rows of one shape come in
            order; each row comes once.

        Source: spec eqs. (10) and (13).
        """
        trivial = self.closure.trivial[attributes]
        for pattern in _patterns(trivial):
            rows = np.flatnonzero((trivial == pattern).all(axis=1))
            yield from self._stacks_of_pattern(attributes, rows, ~pattern, scratch)

    def _stacks_of_pattern(
        self, attributes: NDArray[np.int32], rows: NDArray[np.int64], kept: NDArray[np.bool_], scratch: Scratch
    ) -> Iterator[tuple[NDArray[np.int64], FloatArray]]:
        """The tables of rows that have attributes of a single value at the same places, those not ``kept`` (k,)."""
        groups = self.residuals.groups
        subsets = self.closure.subset_positions(attributes[rows][:, kept])
        group, row = groups.group[subsets], groups.row[subsets]
        for same in _equal(group[:, -1]):
            numbers = group[same[0]].tolist()
            blocks = [self.residuals.stored(number) for number in numbers]
            divisors = [self.residuals.divisor(number) for number in numbers]
            shape = self.sizes[attributes[rows[same[0]]]].tolist()
            for part in np.array_split(same, max(1, round(len(same) * math.prod(shape) / BATCH_CELLS))):
                tables = tables_of_residuals(blocks, row[part], divisors=divisors, scratch=scratch)
                yield rows[part], frozen(tables.reshape(len(part), *shape))


def _patterns(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The distinct rows of ``flags`` (m, k)."""
    if not flags.any():
        return flags[:1]
    return np.unique(flags, axis=0)


def _equal(numbers: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The places of each distinct number, ascending."""
    if len(numbers) < 2 or (numbers == numbers[0]).all():
        return [np.arange(len(numbers))] if len(numbers) else []
    by_number = np.argsort(numbers, kind="stable")
    return np.split(by_number, np.flatnonzero(np.diff(numbers[by_number])) + 1)
