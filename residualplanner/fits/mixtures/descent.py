"""Fitting one mixture: Adam on logits, slowed where noise explains the slope.

Reads: a loss, a start.  Gives: Fit.
Source: eqs. (70) to (72); Adam is Kingma and Ba (2015), Algorithm 1.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.blocks import Blocks
from residualplanner.fits.mixtures.loss import Loss
from residualplanner.fits.mixtures.mixture import Mixture, mixture_of
from residualplanner.ground.checks import float_of, is_integer, value_text
from residualplanner.ground.completion import hides
from residualplanner.ground.errors import ArgumentError

Floats = NDArray[np.floating]
#: Adam's decay of the means of slopes and of their squares.
_FIRST, _SECOND = 0.9, 0.999
#: The last step is this part of the first.
_LAST = 0.01
#: After how many steps it is looked anew which slopes noise explains.
_EVERY = 10
_TINY = 1e-30


@hides("rate_at")
@dataclass(frozen=True, slots=True)
class Descent:
    """How a mixture is fitted.

    Attributes:
        steps: the most steps, 0 or more.
        rate: how far a logit moves in a step, at most about; it falls to a hundredth along a cosine.
        caution: a slope whose square is this many times its noise variance moves its logit at half the rate, where
            the loss is what noise explains; where it is larger, caution is divided by its square; 0 or more.

    Raises:
        ArgumentError: ``steps`` is no integer from 0, or ``rate`` or ``caution`` no such number.
    """

    steps: int = 300
    rate: float = 0.4
    caution: float = 3.0

    def __post_init__(self) -> None:
        if not is_integer(self.steps):
            raise ArgumentError(f"steps must be an integer from 0, got {value_text(self.steps)}")
        for name in ("rate", "caution"):
            if not 0 <= float_of(getattr(self, name)) < math.inf:
                raise ArgumentError(f"{name} must be finite and at least 0, got {value_text(getattr(self, name))}")

    def rate_at(self, step: int) -> float:
        """The rate of a step, counted from 0."""
        return self.rate * (_LAST + (1 - _LAST) * (1 + math.cos(math.pi * step / self.steps)) / 2)


@dataclass(frozen=True, eq=False, slots=True)
class Start:
    """Where a fit starts.

    Attributes:
        logits (d', c): of the values in each class; minus infinity where a value cannot be.
        weights (c,): logits of the classes.
    """

    logits: Floats
    weights: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Fit:
    """A fitted mixture.

    Attributes:
        mixture: its tables are the model.
        loss: the last one.
        steps: how many there were.
    """

    mixture: Mixture
    loss: float
    steps: int


class _Means:
    """Adam's running means of the slopes of some parameters, and of their squares."""

    def __init__(self, parameters: Floats) -> None:
        self.parameters = parameters
        self.first, self.second = np.zeros_like(parameters), np.zeros_like(parameters)
        self.count = 0

    def add(self, slope: Floats) -> None:
        self.count += 1
        self.first += (1 - _FIRST) * (slope - self.first)
        self.second += (1 - _SECOND) * (slope * slope - self.second)

    @property
    def slope(self) -> Floats:
        """The mean slope, without the bias of its start at 0."""
        return np.asarray(self.first / (1 - _FIRST**self.count))

    def step(self, rate: float) -> Floats:
        """Adam's step."""
        scale = rate * math.sqrt(1 - _SECOND**self.count) / (1 - _FIRST**self.count)
        root = np.sqrt(self.second)
        root += _TINY
        return np.asarray(np.divide(self.first, root, out=root) * scale)


def fit(loss: Loss, start: Start, descent: Descent, *, enough: float | None = None) -> Fit:
    """A mixture of small loss.

    Args:
        loss: how far a mixture is from what was measured.
        start: where it begins; the number of classes is that of its columns.
        descent: steps, rate and caution.
        enough: the loss at which it stops; that of ``loss`` unless given.

    Returns:
        The mixture at the last step.

    Cost: for each step a few matrix products of all features with all classes.
    Source: eqs. (70) to (72).
    """
    blocks, least = loss.blocks, loss.enough if enough is None else enough
    logits = _Means(start.logits.astype(loss.dtype))
    class_weights = _Means(start.weights.astype(loss.dtype))
    trust: Floats = np.ones_like(logits.parameters)
    for step in range(descent.steps + 1):
        probabilities, weights = blocks.softmax(logits.parameters), _softmax(class_weights.parameters)
        value, slope = loss.evaluate(probabilities, weights)
        if value <= least or step == descent.steps:
            break
        logits.add(blocks.slope_of_logits(probabilities, slope.probabilities))
        class_weights.add(weights * (slope.weights - float(weights @ slope.weights)))
        if descent.caution and step % _EVERY == 0:
            variances = loss.slope_variances(probabilities, weights)
            caution = descent.caution * min(1.0, loss.freedom / value) ** 2
            trust = _trust(logits.slope, _logit_variances(blocks, probabilities, variances), caution)
        rate = descent.rate_at(step)
        logits.parameters -= trust * logits.step(rate)
        class_weights.parameters -= class_weights.step(rate)
    return Fit(mixture_of(blocks, weights, probabilities), value, step)


def _softmax(logits: Floats) -> Floats:
    found = np.exp(logits - logits.max())
    return np.asarray(found / found.sum())


def _trust(slope: Floats, variance: Floats, caution: float) -> Floats:
    """The part of each step that is made: ``g**2 / (g**2 + caution * variance)``.  Source: eq. (72)."""
    squared = slope * slope
    return np.asarray(squared / (squared + caution * variance + _TINY))


def _logit_variances(blocks: Blocks, probabilities: Floats, variances: Floats) -> Floats:
    """The variances of slopes in logits (d', c), from those of independent slopes in the probabilities."""
    squared = probabilities * probabilities
    together = blocks.repeated(blocks.sums(squared * variances))
    return np.asarray(squared * (variances * (1 - 2 * probabilities) + together))
