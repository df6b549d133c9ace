"""Fitting mixtures: Adam on logits, slowed where noise explains the slope, and the mean of several fits.

Source: eqs. (70) to (73).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from residualplanner.fits.mixtures.loss import MixtureLoss
from residualplanner.fits.mixtures.mixture import Mixture, averaged, mixture_of
from residualplanner.fits.optimizers import DECAY_OF_SQUARES, Adam, Floats, cosine_rate
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import FloatArray, float_of, is_integer, require_type, untold, value_text, within
from residualplanner.ground.errors import ArgumentError

#: After how many steps it is looked anew which slopes noise explains.
_EVERY = 10
_TINY = 1e-30
#: Quasi-Newton steps of mixtures of very many records at most, and how many of them are kept.
_SETTLING, _KEPT = 1000, 20
#: A mean that ends more than so many times as far from the answers as the truth takes so many times its steps more.
_FAR, _MORE = 1.2, 2


@dataclass(frozen=True, slots=True)
class Descent:
    """How a mixture is fitted.

    Attributes:
        steps: the most steps, 0 or more.
        rate: how far a logit moves in a step, at most about; it falls to a hundredth along a cosine.
        caution: a slope whose square is this many times its noise variance moves its logit at half the rate; 0 or
            more.
        decay: what is kept of the mean of squared slopes in each step, below 1: the less, the sooner steps grow where
            slopes fall.

    Raises:
        ArgumentError: ``steps`` is no integer from 0, or ``rate``, ``caution`` or ``decay`` no such number.
    """

    steps: int = 300
    rate: float = 0.4
    caution: float = 3.0
    decay: float = DECAY_OF_SQUARES

    def __post_init__(self) -> None:
        if not is_integer(self.steps):
            raise ArgumentError(f"steps must be an integer from 0, got {value_text(self.steps)}")
        for name, limit in (("rate", math.inf), ("caution", math.inf), ("decay", 1)):
            if not 0 <= float_of(getattr(self, name)) < limit:
                words = "finite" if limit == math.inf else "below 1"
                raise ArgumentError(f"{name} must be {words} and at least 0, got {value_text(getattr(self, name))}")


#: Where a fit starts: logits (d', c) of the values in each class, minus infinity where a value cannot be; and logits
#: (c,) of the classes.
StartLogits = tuple[Floats, Floats]


def fit(loss: MixtureLoss, start: StartLogits, descent: Descent, *, report: Progress = untold) -> Mixture:
    """A mixture of small loss: of the last step, or the first that is near enough."""
    blocks = loss.features.blocks
    logits, class_weights = (each.astype(loss.dtype) for each in start)
    of_logits, of_weights = Adam(logits, _TINY, descent.decay), Adam(class_weights, _TINY, descent.decay)
    trust: Floats = np.ones_like(logits)
    for step in range(descent.steps + 1):
        probabilities, weights = blocks.softmax(logits), _softmax(class_weights)
        value, _, slope, slope_of_weights = loss.evaluate(probabilities, weights)
        if value <= loss.enough or step == descent.steps:
            break
        if step % _EVERY == 0:
            report(step, descent.steps)
        of_logits.add(blocks.slope_of_logits(probabilities, slope))
        of_weights.add(weights * (slope_of_weights - float(weights @ slope_of_weights)))
        if descent.caution and step % _EVERY == 0:
            trust = _trust(loss, of_logits.slope, probabilities, weights, descent.caution)
        rate = cosine_rate(descent.rate, step, descent.steps)
        logits -= trust * of_logits.step(rate)
        class_weights -= of_weights.step(rate)
    return mixture_of(blocks, weights, probabilities)


def settled(loss: MixtureLoss, mixture: Mixture, report: Progress = untold) -> Mixture:
    """A fitted mixture of very many records, brought as near to the answers as their noise is.

    The last steps of Adam move probabilities by a thousandth or so.  Where records are so many that single precision
    would not do, that is far more than the noise; any other mixture, and one that fits, is given back as it is.
    """
    if loss.dtype != np.float64 or _distance(loss, mixture) <= loss.enough:
        return mixture
    from scipy.optimize import minimize  # takes a fifth of the time to import the package

    blocks, (start, classes) = loss.features.blocks, start_at(mixture)
    numbers = np.concatenate([start.ravel(), classes])
    may_move = np.isfinite(numbers)  # a value that cannot be keeps its logit of minus infinity

    def at(free: FloatArray) -> tuple[Floats, Floats]:
        numbers[may_move] = free
        logits, weights = np.split(numbers, [start.size])
        return blocks.softmax(logits.reshape(start.shape)), _softmax(weights)

    def value_and_slope(free: FloatArray) -> tuple[float, FloatArray]:
        probabilities, weights = at(free)
        distance, pull, slope, slope_of_weights = loss.evaluate(probabilities, weights)
        of_logits = blocks.slope_of_logits(probabilities, slope)
        of_weights = weights * (slope_of_weights - float(weights @ slope_of_weights))
        return distance + pull, np.concatenate([of_logits.ravel(), of_weights]).astype(np.float64, copy=False)[may_move]

    steps = iter(range(_SETTLING))

    def stop_at_noise(intermediate_result: Any) -> None:
        report(next(steps), _SETTLING)
        if intermediate_result.fun <= loss.enough:
            raise StopIteration

    found = minimize(
        value_and_slope,
        numbers[may_move],
        jac=True,
        method="L-BFGS-B",
        callback=stop_at_noise,
        options={"maxiter": _SETTLING, "maxcor": _KEPT, "ftol": 0.0, "gtol": 0.0},
    )
    probabilities, weights = at(found.x)
    return mixture_of(blocks, weights, probabilities)


def _distance(loss: MixtureLoss, mixture: Mixture) -> float:
    return loss.evaluate(mixture.probabilities.astype(loss.dtype), mixture.weights.astype(loss.dtype)).distance


def _softmax(logits: Floats) -> Floats:
    found = np.exp(logits - logits.max())
    return np.asarray(found / found.sum())


def _trust(loss: MixtureLoss, slope: Floats, probabilities: Floats, weights: Floats, caution: float) -> Floats:
    """The part of each step that is made: ``g**2 / (g**2 + caution * variance)``.  Source: eq. (72)."""
    blocks, variances = loss.features.blocks, loss.slope_variances(probabilities, weights)
    # Slopes in probabilities have independent noise; a logit's slope is p (g - sum p g), so its variance is this.
    squared = probabilities * probabilities
    together = blocks.repeated(blocks.sums(squared * variances))
    variance = squared * (variances * (1 - 2 * probabilities) + together)
    slope = slope * slope
    return np.asarray(slope / (slope + caution * variance + _TINY))


def start_near(
    tables: Sequence[FloatArray], classes: int, spread: float | Sequence[float], generator: np.random.Generator
) -> StartLogits:
    """Logits of classes around the same probabilities, of one standard deviation, or one for each attribute."""
    center: FloatArray = np.log(np.concatenate(tables))
    spreads = np.repeat(np.broadcast_to(spread, len(tables)), [len(table) for table in tables])
    logits = center[:, None] + spreads[:, None] * generator.standard_normal((len(center), classes))
    return logits, np.zeros(classes)


def start_at(mixture: Mixture) -> StartLogits:
    """The logits of a mixture; minus infinity where a value has probability 0."""
    with np.errstate(divide="ignore"):
        return np.log(mixture.probabilities), np.log(mixture.weights)


@dataclass(frozen=True, slots=True)
class Ensemble:
    """How many mixtures are fitted, and how large each is.

    Attributes:
        members: mixtures, each from a start of its own.
        classes: products in each.
        descent: how each is fitted.
        together: how their mean is then fitted further, as one mixture; by default it is left as it is.  Where it ends
            farther from the answers than noise explains, it takes twice as many steps more.

    Raises:
        ArgumentError: there is no mixture, or no class, or a descent is not one.
    """

    members: int = 8
    classes: int = 50
    descent: Descent = field(default_factory=Descent)
    together: Descent = field(default_factory=lambda: Descent(steps=0))

    def __post_init__(self) -> None:
        if not (is_integer(self.members, least=1) and is_integer(self.classes, least=1)):
            raise ArgumentError(
                "an ensemble needs 1 or more mixtures of 1 or more classes, got "
                f"{value_text(self.members)} of {value_text(self.classes)}"
            )
        for name in ("descent", "together"):
            require_type("Ensemble", name, getattr(self, name), Descent, f"write {name}=Descent(steps=100)")


def fit_ensemble(
    loss: MixtureLoss,
    start: Callable[[int, np.random.Generator], StartLogits],
    ensemble: Ensemble,
    *,
    seed: int = 0,
    report: Progress = untold,
) -> Mixture:
    """The mean of several mixtures of small loss, fitted further as one, from a start for so many classes each.

    What only one of them has learned of the noise counts less in it.  Source: eq. (73).
    """
    # The mean takes as long as some members: it counts as three, one for each of its fits.
    ends = [100 * number // (ensemble.members + 3) for number in range(ensemble.members + 4)]
    parts = [within(report, *each) for each in pairwise(ends)]
    seeds = np.random.default_rng(seed).spawn(ensemble.members)
    mean = averaged(
        [
            fit(loss, start(ensemble.classes, generator), ensemble.descent, report=part)
            for generator, part in zip(seeds, parts, strict=False)
        ]
    )
    together = ensemble.together
    if together.steps:
        mean = fit(loss, start_at(mean), together, report=parts[-3])
        if _distance(loss, mean) > _FAR * loss.freedom:
            mean = fit(loss, start_at(mean), replace(together, steps=_MORE * together.steps), report=parts[-2])
    if ensemble.descent.steps:
        mean = settled(loss, mean, parts[-1])
    report(100, 100)
    return mean
