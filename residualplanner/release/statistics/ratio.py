"""The ratio of two estimates whose errors are correlated: its standard error, and Fieller's interval."""

from dataclasses import dataclass

import numpy as np

from residualplanner.ground.checks import FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class Ratio:
    """Ratios D / C of estimates, entry by entry; all arrays have one shape.

    Attributes:
        above: D.
        below: C.
        above_variance: of D.
        below_variance: of C.
        covariance: of D and C.
    """

    above: FloatArray
    below: FloatArray
    above_variance: FloatArray
    below_variance: FloatArray
    covariance: FloatArray

    @property
    def estimate(self) -> FloatArray:
        """D / C, or NaN where C is not above 0."""
        return self.above / np.where(self.below > 0, self.below, np.nan)

    @property
    def std_err(self) -> FloatArray:
        """By the delta method, to first order in the errors; NaN where C is not above 0.

        Source: eq. (118).
        """
        return np.sqrt(self._variance_of_difference(self.estimate)) / np.where(self.below > 0, self.below, np.nan)

    def is_clear(self, margin: float) -> np.ndarray:
        """Whether C is more than ``margin`` standard errors above 0, so that one can divide by it."""
        found: np.ndarray = self.below > margin * np.sqrt(self.below_variance)
        return found

    def interval(self, margin: float, limit: float) -> tuple[FloatArray, FloatArray]:
        """The least and the largest t, up to ``limit`` in size, with ``|D - t C| <= margin`` standard errors of it.

        The ratio of what is estimated is in it as often as a normal variable is within ``margin`` standard deviations,
        however small C is, if it is in that range.

        Source: eq. (119); Fieller 1954.
        """
        square = margin**2
        a = self.below**2 - square * self.below_variance
        b = self.above * self.below - square * self.covariance
        c = self.above**2 - square * self.above_variance
        with np.errstate(all="ignore"):
            root = np.sqrt(np.maximum(b**2 - a * c, 0))
            far = np.where(b < 0, b - root, b + root)  # without cancellation
            first, second = far / a, c / far
        between = np.sort(np.stack([first, second]), axis=0)
        # With a >= 0 these are the ends.  Otherwise all ratios but those between them: the range is cut where one lies
        # beyond it, and is all of it where both do not, or where no ratio is excluded.
        inside = a >= 0
        is_cut = ~inside & (b**2 > a * c)
        low = np.where(is_cut & (between[0] < -limit) & (between[1] > -limit), between[1], -limit)
        high = np.where(is_cut & (between[1] > limit) & (between[0] < limit), between[0], limit)
        low, high = np.where(inside, between[0], low), np.where(inside, between[1], high)
        # Nothing of the range is left, or the ends are 0 / 0: the whole of it, which claims the least.
        is_lost = ~(low <= high)
        low, high = np.where(is_lost, -limit, low), np.where(is_lost, limit, high)
        return np.clip(low, -limit, limit), np.clip(high, -limit, limit)

    def _variance_of_difference(self, ratio: FloatArray) -> FloatArray:
        """Of D - t C."""
        found = self.above_variance - 2 * ratio * self.covariance + ratio**2 * self.below_variance
        return np.maximum(found, 0)
