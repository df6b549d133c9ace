"""What a search gives: noise variances, the loss they reach and a proof of how good they are; and the closed form.

Source: eq. (14); paper section 6, Lemma 2.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, frozen
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

    def or_better(self, other: "NoiseChoice | None") -> "NoiseChoice":
        """The one of the smaller loss of it and another one for the same problem, with the larger of their bounds."""
        if other is None:
            return self
        best = min(self, other, key=lambda choice: choice.loss)
        return replace(best, bound=max(self.bound, other.bound))


@dataclass(frozen=True, eq=False, slots=True)
class ChosenNoise:
    """What to measure, with how much noise, and what that reaches."""

    strategy: Strategy
    noise_variance: FloatArray  # (m,), sigma squared of every set, in counts squared
    loss: float
    gap: float  # how far it may be above the best, as a fraction
    status: str
    dual_weights: FloatArray | None = None  # (q,), of queries, sum 1: by (16) they prove the gap, where they are kept

    def at(self, pcost: float) -> "ChosenNoise":
        """The same at another privacy cost, from that at cost 1; for a loss in proportion to the noise."""
        # The cost is a sum of p / s, and variances are sums of s: noise of 1/c times the size costs c times as much.
        with np.errstate(over="ignore", under="ignore"):
            noise_variance, loss = self.noise_variance / pcost, self.loss / pcost
        if not (np.isfinite(noise_variance) & (noise_variance > 0)).all():
            raise BudgetError("the budget or at_most is too small or too large for floating-point noise variances")
        if self.loss == math.inf:
            raise BudgetError("the loss is too large for a float; divide all weights by the same number")
        strategy = self.strategy.scaled(pcost)
        return ChosenNoise(strategy, noise_variance, loss, self.gap, self.status, self.dual_weights)


def minimize_weighted_variance(
    pcost_coefficient: ArrayLike, variance_weight: ArrayLike, *, pcost: float
) -> NoiseChoice:
    """Minimize ``sum_A v_A s_A`` over ``s > 0`` subject to ``sum_A p_A / s_A = pcost``, for p and v (m,), positive.

    Source: eq. (14); paper Lemma 2.
    """
    p, v = np.asarray(pcost_coefficient, dtype=np.float64), np.asarray(variance_weight, dtype=np.float64)
    # By Cauchy and Schwarz (sum v s)(sum p / s) >= (sum sqrt(v p))**2, with equality only where v s is in proportion to
    # p / s: so s_A = sqrt(p_A / v_A) times a constant, which the cost fixes, and the loss is the bound itself.
    root_sum = float(np.sqrt(v * p).sum())
    loss = root_sum * root_sum / pcost
    return NoiseChoice(frozen(np.sqrt(p / v) * (root_sum / pcost)), loss, loss, "closed form")
