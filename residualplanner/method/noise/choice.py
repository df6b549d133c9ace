"""What a search gives: noise variances, the loss they reach and a proof of how good they are; and the closed form.

Source: eq. (14); paper section 6, Lemma 2.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, frozen, frozen_float_array, require_positive
from residualplanner.ground.errors import BudgetError
from residualplanner.method.strategy.strategy import Strategy


@dataclass(frozen=True, eq=False, slots=True)
class NoiseChoice:
    """Noise variances of all base mechanisms, with the loss they reach and a bound no other choice can pass."""

    noise_variance: FloatArray  # (m,), sigma squared of every base mechanism, in counts squared
    loss: float
    bound: float  # no choice of the same privacy cost has a lower loss; equal to the loss for a closed form
    status: str  # how the choice was found, in a few words
    weights: FloatArray | None = None  # (q,), with which a search ended; that for a similar problem may begin with them

    @property
    def gap(self) -> float:
        """How far the loss may be above the optimum, relative to the bound; 0 for a closed form."""
        if self.loss <= self.bound:
            return 0.0
        return (self.loss - self.bound) / self.bound if self.bound > 0 else math.inf


@dataclass(frozen=True, eq=False, slots=True)
class ChosenNoise:
    """What to measure, with how much noise, and what that reaches."""

    strategy: Strategy
    noise_variance: FloatArray  # (m,), sigma squared of every set, in counts squared
    loss: float
    gap: float  # how far it may be above the best, as a fraction
    status: str

    def at(self, pcost: float) -> "ChosenNoise":
        """The same at another privacy cost, from that at cost 1; for a loss in proportion to the noise.

        BudgetError where the noise is not positive and finite, or the loss at cost 1 is too large for a float.
        """
        with np.errstate(over="ignore", under="ignore"):
            noise_variance, loss = self.noise_variance / pcost, self.loss / pcost
        if not (np.isfinite(noise_variance) & (noise_variance > 0)).all():
            raise BudgetError("the budget or at_most is too small or too large for floating-point noise variances")
        if self.loss == math.inf:
            raise BudgetError("the loss is too large for a float; divide all weights by the same number")
        return ChosenNoise(self.strategy.scaled(pcost), noise_variance, loss, self.gap, self.status)


def minimize_weighted_variance(
    pcost_coefficient: ArrayLike, variance_weight: ArrayLike, *, pcost: float
) -> NoiseChoice:
    """Minimize ``sum_A v_A s_A`` over ``s > 0`` subject to ``sum_A p_A / s_A = pcost``.

    Args:
        pcost_coefficient (m,): p_A > 0, the privacy cost of base mechanism A at unit noise.
        variance_weight (m,): v_A > 0, the weight of A's noise in the loss.
        pcost: the privacy cost to spend in total, > 0; rho-zCDP has ``pcost = 2 * rho``.

    Raises:
        BudgetError: ``pcost`` is not a positive finite number.
        ValueError: the arrays differ in length or hold an entry that is not positive.

    Guarantees: the mechanism with this noise has privacy cost ``pcost`` up to rounding.
    Cost: O(m).
    Source: eq. (14); paper Lemma 2.

    Example:
        >>> minimize_weighted_variance([0.5, 0.25], [2.0, 1.0], pcost=1.0).noise_variance
        array([0.75, 0.75])
    """
    pcost = require_positive("pcost", pcost)
    p = frozen_float_array("pcost_coefficient", pcost_coefficient, ndim=1)
    v = frozen_float_array("variance_weight", variance_weight, ndim=1)
    if p.shape != v.shape:
        raise ValueError(f"one weight per base mechanism: got {p.size} coefficients and {v.size} weights")
    if not ((p > 0).all() and (v > 0).all()):
        raise ValueError("pcost_coefficient and variance_weight must be positive in every entry")

    # By Cauchy and Schwarz (sum v s)(sum p / s) >= (sum sqrt(v p))**2, with equality only where v s is in proportion to
    # p / s: so s_A = sqrt(p_A / v_A) times a constant, which the cost fixes, and the loss is the bound itself.
    root_sum = float(np.sqrt(v * p).sum())
    loss = root_sum * root_sum / pcost
    return NoiseChoice(frozen(np.sqrt(p / v) * (root_sum / pcost)), loss, loss, "closed form")
