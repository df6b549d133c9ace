"""Planes below a convex loss, and what they prove about every noise there is.

Reads: numbers only.  Gives: Tangents.
Source: spec eqs. (14) and (18).

Each plane touches the loss at one point with a subgradient of the loss there, so by convexity the loss is nowhere below
it; nor is it below an average of such planes.  For a plane the best noise is known in closed form.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner._checks import FloatArray
from residualplanner.optimize.noise.loss_function import ConvexLossFunction

#: How far evaluating the loss and its slopes may be off by rounding, relative to the terms; planes are lowered by it.
_ROUNDING = 2.0**-43
#: A plane that is above the loss by more than this anywhere is none: the gradient or the convexity was wrong.
_CONTRADICTION = 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class Tangents:
    """Planes ``intercept + slope @ variance`` below a loss, and the points at which it was seen.

    Attributes:
        intercept (k,): the planes' heights at variance 0, less what rounding may have added.
        slope (k, q): the planes' slopes, one per query.
        points (n, q): variances at which the loss was evaluated.
        values (n,): the loss there.
        are_wrong: whether a plane was seen above the loss, which is then not convex, or whose slopes CVXPY gets wrong.
    """

    intercept: FloatArray
    slope: FloatArray
    points: FloatArray
    values: FloatArray
    are_wrong: bool = False

    def joined(self, loss: ConvexLossFunction, points: FloatArray) -> "Tangents":
        """These and the tangents at more points (n, q), where the loss and its slopes are finite."""
        values = np.array([loss.value(point) for point in points])
        slope = np.array([loss.subgradient(point) for point in points]).reshape(points.shape)
        with np.errstate(all="ignore"):
            reach, rise = (np.abs(slope) * points).sum(axis=1), (slope * points).sum(axis=1)
            intercept = values - rise - _ROUNDING * (np.abs(values) + reach)
        is_plane = np.isfinite(slope).all(axis=1) & np.isfinite(intercept)
        seen = ~np.isnan(values)
        joined = Tangents(
            np.concatenate([self.intercept, intercept[is_plane]]),
            np.vstack([self.slope, slope[is_plane]]),
            np.vstack([self.points, points[seen]]),
            np.concatenate([self.values, values[seen]]),
        )
        return replace(joined, are_wrong=self.are_wrong or joined._are_above())

    def of(self, counts: NDArray[np.bool_]) -> "Tangents":
        """Some of the planes, and all of the points."""
        return replace(self, intercept=self.intercept[counts], slope=self.slope[counts])

    def _are_above(self) -> bool:
        """Whether a plane is above the loss at a point, beyond rounding."""
        with np.errstate(all="ignore"):
            heights = self.points @ self.slope.T + self.intercept
            size = self.points @ np.abs(self.slope).T + np.abs(self.intercept) + np.abs(self.values)[:, None]
            return bool((heights > self.values[:, None] + _CONTRADICTION * size).any())


def no_tangents(queries: int) -> Tangents:
    """No planes, for so many queries."""
    return Tangents(np.zeros(0), np.zeros((0, queries)), np.zeros((0, queries)), np.zeros(0))


@dataclass(frozen=True, eq=False, slots=True)
class Plane:
    """One plane below the loss, in the noise of the base mechanisms.

    Attributes:
        intercept: its height where there is no noise.
        rise: ``(sum_A sqrt(p_A (M^T slope)_A))**2``: times 1/c, how far above the intercept it is at best for cost c.
    """

    intercept: float
    rise: float

    def least_loss(self, pcost: float) -> float:
        """No noise of this privacy cost has a smaller loss.  Source: spec eq. (18)."""
        return self.intercept + self.rise / pcost

    def least_cost(self, at_most: float) -> float:
        """No noise of a smaller privacy cost has a loss of at most this; inf if none has.  Source: spec eq. (18)."""
        room = at_most - self.intercept + _ROUNDING * abs(at_most)
        if room > 0:
            return self.rise / room
        return np.inf if room < 0 or self.rise > 0 else 0.0


def plane_of(M: sparse.csr_array, intercept: float, slope: FloatArray, cost: FloatArray) -> Plane | None:
    """A plane of slopes (q,), for costs (m,) at unit noise; None where it falls without end as some noise grows."""
    weights = M.T @ slope
    if not (weights >= 0).all():
        return None
    rise = float(np.sqrt(cost * weights).sum()) ** 2
    return Plane(intercept, rise) if np.isfinite(rise) else None
