"""Where steps that are nearly linear in where they start would end: Anderson's method for fixed points."""

import math

import numpy as np

from residualplanner.ground.checks import FloatArray

#: From how many steps before it the next one is extrapolated; and how many times as long as the last one a step is that
#: is begun anew from.
_MEMORY, _WORSE = 10, 2.0
#: How far the logarithm of a weight moves in a step.
_FARTHEST = 5.0


class Extrapolation:
    """The steps of a search so far."""

    def __init__(self) -> None:
        self._past: list[FloatArray] = []
        self._left = math.inf
        self.highest = -math.inf  # of the values that `climb` was told
        self._best: tuple[FloatArray, FloatArray]

    def climb(self, value: float, weights: FloatArray, ratios: FloatArray, exponent: float) -> FloatArray:
        """`updated` weights (m,) that are to raise their ``value``: from those of the highest value so far.

        Where an extrapolation went too far, it is begun anew.
        """
        if value > self.highest:
            self.highest, self._best = value, (weights, ratios)
        else:
            self._past, self._left = [], math.inf
        weights, ratios = self._best
        # A weight that goes to 0 has a step that does not: it must count less than by its root.
        return self.updated(weights, ratios, exponent, weights**0.75)

    def updated(self, weights: FloatArray, ratios: FloatArray, exponent: float, scale: FloatArray) -> FloatArray:
        """The logarithms (m,) of weights times a power of their ``ratios`` (m,), extrapolated; `step` has the scale."""
        logs, step = np.log(weights), exponent * np.log(np.clip(ratios, 0.05, 20.0))
        return logs + np.clip(self.step(logs, step, scale), -_FARTHEST, _FARTHEST)

    def step(self, point: FloatArray, step: FloatArray, scale: FloatArray) -> FloatArray:
        """What to take for a step (m,) from a point (m,), whose coordinates count by their ``scale`` (m,)."""
        # More differences than there are coordinates have many answers, of which the least one is that of old steps.
        kept = min(_MEMORY, max(1, len(point) - 1))
        self._past = [*self._past[-kept:], np.stack([point, step])]
        before, self._left = self._left, float(np.linalg.norm(step * scale))
        if self._left > _WORSE * before:
            del self._past[:-2]
        return extrapolated(np.array(self._past), scale)


def extrapolated(past: FloatArray, scale: FloatArray) -> FloatArray:
    """The step to take from the last of some points with their steps (k, 2, m); coordinates count by scale (m,)."""
    step: FloatArray = past[-1, 1]
    if len(past) == 1:
        return step
    moves, changes = np.diff(past, axis=0).swapaxes(0, 1)
    shares = np.linalg.lstsq((changes * scale).T, step * scale, rcond=1e-8)[0]
    return np.asarray(step - shares @ (moves + changes))
