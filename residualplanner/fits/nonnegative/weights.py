"""How freely each residual may move while tables are made non-negative.

Reads: the noise of a plan.  Gives: Weights, by name.
Source: docs/mathematics.md section 11.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, entry_named

#: The names of weights.
WeightsName = Literal["protect-margins", "variance", "order"]
#: Noise is without a limit where its variance, in that of independent counts, is so many times the least of a plan's.
_UNLIMITED = 1e9


@dataclass(frozen=True, slots=True)
class Weights:
    """Freedoms v_A: the noise variance of a set, or that of independent counts, times a factor for each attribute.

    A residual whose noise is without a limit, as some of thresholds have, moves by its noise in either case: it is no
    number to keep to, and all others would be bent to it.

    Attributes:
        has_variance: whether noise variances count.
        factor: how much more freely the residual of a set may move than that of a set with one attribute less.
    """

    has_variance: bool
    factor: float

    def freedoms(self, noise_variances: FloatArray, units: FloatArray, orders: NDArray[np.int64]) -> FloatArray:
        """v_A of every set, (m,).

        Args:
            noise_variances (m,): in counts squared.
            units (m,): the variances that components have where counts are independent of variance 1.
            orders (m,): how many attributes each set has.

        Source: eq. (52).

        Example:
            >>> variances, units, orders = np.array([1.0, 2.0]), np.ones(2), np.array([0, 1])
            >>> [weights.freedoms(variances, units, orders).tolist() for weights in WEIGHTS.values()]
            [[1.0, 60.0], [1.0, 2.0], [1.0, 4.0]]
        """
        own = noise_variances if self.has_variance else units * unlimited(noise_variances, units)
        return own * self.factor**orders


def unlimited(noise_variances: FloatArray, units: FloatArray) -> FloatArray:
    """How much more noise each set (m,) has than the one with least where it is without a limit; else 1.

    Args:
        noise_variances (m,): in counts squared.
        units (m,): the variances that components have where counts are independent of variance 1.

    Example:
        >>> unlimited(np.array([1.0, 10.0, 6e17]), np.ones(3)).tolist()
        [1.0, 1.0, 6e+17]
    """
    excess = noise_variances / units
    excess /= excess.min()
    return np.where(excess > _UNLIMITED, excess, 1.0)


#: By name: large tables move first and small ones hardly; all by their noise alone; all by their order alone.
WEIGHTS: dict[str, Weights] = {
    "protect-margins": Weights(has_variance=True, factor=30.0),
    "variance": Weights(has_variance=True, factor=1.0),
    "order": Weights(has_variance=False, factor=4.0),
}


def weights_named(name: object) -> Weights:
    """The weights of this name.

    Raises:
        WorkloadError: there are none.
    """
    return entry_named("weights", name, WEIGHTS)
