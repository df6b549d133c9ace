"""The second derivative of a concave function from the last few steps: quasi-Newton directions in limited memory.

Reads: steps, and by how much they lowered the gradient.  Gives: directions.
Source: the formula of Broyden, Fletcher, Goldfarb and Shanno as in Nocedal, Math. Comp. 35 (1980).
"""

import numpy as np

from residualplanner.fits.nonnegative.many_cells.blocks import Array

#: How many steps are kept.
_KEPT = 5
#: A step is kept whose change of the gradient is not lost in rounding, as a part of the product of both lengths.
_LEAST = 1e-10


class LimitedMemory:
    """The last steps (p,), with the change of the gradient over each.

    Example:
        >>> memory = LimitedMemory()
        >>> memory.keep(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
        >>> memory.direction(np.array([4.0, 6.0]), np.array([2.0, 3.0])).tolist()
        [2.0, 2.0]
    """

    def __init__(self) -> None:
        self._pairs: list[tuple[Array, Array, float]] = []

    def keep(self, step: Array, lowered: Array) -> None:
        """Keep a step, and by how much it lowered the gradient; the oldest of too many is forgotten."""
        curved = float(step @ lowered)
        if curved > _LEAST * float(np.linalg.norm(step)) * float(np.linalg.norm(lowered)):
            self._pairs = [*self._pairs[1 - _KEPT :], (step, lowered, curved)]

    def direction(self, gradient: Array, diagonal: Array) -> Array:
        """The step to the top, as far as is known; where no step is kept, ``gradient / diagonal``.

        Args:
            gradient (p,): where the step starts.
            diagonal (p,): about that of the second derivative, with the sign changed.
        """
        found, parts = gradient.copy(), []
        for step, lowered, curved in reversed(self._pairs):
            parts.append(float(step @ found) / curved)
            found -= parts[-1] * lowered
        found /= diagonal
        if self._pairs:
            _, lowered, curved = self._pairs[-1]
            found *= curved / float(lowered @ (lowered / diagonal))
        for (step, lowered, curved), part in zip(self._pairs, reversed(parts), strict=True):
            found += (part - float(lowered @ found) / curved) * step
        return found
