"""What a table that is not unbiased was made from: its intervals follow from that.

Reads: estimates, margins.  Gives: Origin, and intervals; Provenance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.completion import hides
from residualplanner.method.plan.plan import Plan
from residualplanner.release.product import UNBIASED, Product


@hides("part", "raveled", "summed", "transposed")
@dataclass(frozen=True, eq=False, slots=True)
class Origin:
    """The unbiased estimates that the numbers of a table were made from, and the counts that are possible.

    Attributes:
        estimate (q_1, .., q_k): unbiased, in counts.
        least (q_1, .., q_k): no true count is smaller: 0, or what is known; minus infinity where nothing is.
        most (q_1, .., q_k): no true count is larger: what is known, or infinity.
    """

    estimate: FloatArray
    least: FloatArray
    most: FloatArray

    def interval(self, margin: FloatArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The intervals of the unbiased estimates, cut at the counts that are possible.

        An end that is impossible becomes the nearest possible count.  So every true count that the interval had is
        still in it.

        Args:
            margin (q_1, .., q_k): of error of the unbiased estimates.

        Example:
            >>> origin = Origin(np.array([-9.0, 3.0]), np.zeros(2), np.array([np.inf, 5.0]))
            >>> [end.tolist() for end in origin.interval(np.array([4.0, 4.0]))]
            [[0.0, 0.0], [0.0, 5.0]]
        """
        low, high = self.estimate - margin, self.estimate + margin
        return np.clip(low, self.least, self.most), np.clip(high, self.least, self.most)

    def summed(self, axes: tuple[int, ...]) -> "Origin":
        """Of the table with its cells summed along some axes."""
        return Origin(*(frozen(np.asarray(part.sum(axis=axes))) for part in self._parts))

    def transposed(self, axes: Sequence[int]) -> "Origin":
        """Of the table with its axes in another order."""
        return Origin(*(part.transpose(axes) for part in self._parts))

    def raveled(self) -> "Origin":
        """Of the cells in C order."""
        return Origin(*(part.ravel() for part in self._parts))

    def part(self, numbers: NDArray[np.int64]) -> "Origin":
        """Of some of its cells, along the first axis."""
        return Origin(*(frozen(part[numbers]) for part in self._parts))

    @property
    def _parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self.estimate, self.least, self.most


def unlimited(estimate: FloatArray) -> Origin:
    """The origin of numbers of which nothing else is known: any count is possible."""
    bound = np.broadcast_to(np.inf, estimate.shape)
    return Origin(estimate, -bound, bound)


@dataclass(frozen=True, eq=False, slots=True)
class Provenance:
    """Where the numbers of a table come from.

    Attributes:
        plan: what was measured, with how much noise.
        product: what they are.
        origin: what they were made from; None where they are unbiased, and where they come from a file.
        warning: what is said of their noise where privacy is not guaranteed; else empty.
    """

    plan: Plan
    product: Product = UNBIASED
    origin: Origin | None = None
    warning: str = ""
