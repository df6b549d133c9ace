"""Differences among values that can be exchanged, in the problem of the best basis.

Source: eqs. (113) and (114).
"""

from typing import NamedTuple

import numpy as np

from residualplanner.ground.checks import FloatArray


class Contrasts(NamedTuple):
    """What the queries weigh of the differences among the values of each group, where values are merged in groups.

    Values that can be exchanged are merged; the best basis is invariant, so all contrasts among them have one scale.

    Attributes:
        width (n,): how many values each group has.
        freedom (n,): the number of contrasts that are measured: ``width - 1``, or 0.
        weight (n,): the eigenvalue of V_t on them.

    Source: eqs. (113) and (114).
    """

    width: FloatArray
    freedom: FloatArray
    weight: FloatArray

    @classmethod
    def none(cls, size: int) -> "Contrasts":
        """Of values that are not merged."""
        return cls(np.ones(size), np.zeros(size), np.zeros(size))

    def trace(self, multipliers: FloatArray) -> float:
        """The trace of Y in these directions, for multipliers (n,) of the groups."""
        return float(self.freedom @ np.sqrt(self.weight / self.width * multipliers))

    def scales(self, multipliers: FloatArray) -> FloatArray:
        """The squared scale of what is measured of each group's contrasts, (n,); 0 where nothing is."""
        scales: FloatArray = np.sqrt(self.width * self.weight / multipliers)
        return np.where(self.freedom > 0, scales, 0.0)

    def lengths(self, scales: FloatArray) -> FloatArray:
        """What contrasts of these scales (n,) add to the squared length of the columns of each group, (n,)."""
        added: FloatArray = self.freedom / self.width * scales
        return added
