"""What a search gives: noise variances, the loss they reach, and a proof of how good they are."""

import math
from dataclasses import dataclass

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import BudgetError
from residualplanner.method.strategy.strategy import Strategy


@dataclass(frozen=True, eq=False, slots=True)
class NoiseChoice:
    """Noise variances of all base mechanisms, with the loss they reach and a bound no other choice can pass.

    Attributes:
        noise_variance (m,): sigma squared of every base mechanism, in counts squared.
        loss: the loss of this choice.
        bound: no choice of the same privacy cost has a lower loss; equal to ``loss`` for a closed form.
        status: how the choice was found, in a few words.
        weights (q,): the weights of the queries with which a search ended; a similar problem may begin with them.
    """

    noise_variance: FloatArray
    loss: float
    bound: float
    status: str
    weights: FloatArray | None = None

    @property
    def gap(self) -> float:
        """How far the loss may be above the optimum, relative to the bound; 0 for a closed form."""
        if self.loss <= self.bound:
            return 0.0
        return (self.loss - self.bound) / self.bound if self.bound > 0 else math.inf


@dataclass(frozen=True, eq=False, slots=True)
class ChosenNoise:
    """What to measure, with how much noise, and what that reaches.

    Attributes:
        strategy: what is measured.
        noise_variance (m,): sigma squared of every set, in counts squared.
        loss: the loss of this noise.
        gap: how far it may be above the best, as a fraction.
        status: how it was found, in a few words.
    """

    strategy: Strategy
    noise_variance: FloatArray
    loss: float
    gap: float
    status: str

    def at(self, pcost: float) -> "ChosenNoise":
        """The same at another privacy cost, from that at cost 1; for a loss in proportion to the noise.

        Raises:
            BudgetError: the noise is not positive and finite, or the loss at cost 1 is too large for a float.
        """
        with np.errstate(over="ignore", under="ignore"):
            noise_variance, loss = self.noise_variance / pcost, self.loss / pcost
        if not (np.isfinite(noise_variance) & (noise_variance > 0)).all():
            raise BudgetError("the budget or at_most is too small or too large for floating-point noise variances")
        if self.loss == math.inf:
            raise BudgetError("the loss is too large for a float; divide all weights by the same number")
        return ChosenNoise(self.strategy.scaled(pcost), noise_variance, loss, self.gap, self.status)
