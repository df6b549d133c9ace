"""Probabilities of the values of an attribute from noisy counts of them.

Source: docs/mathematics.md section 13; of empirical Bayes Robbins (1956), and Kiefer and Wolfowitz (1956).
"""

import math

import numpy as np

from residualplanner.ground.checks import FloatArray

#: The weight of the logarithm of each probability; one would be a uniform prior of as many logits.
_PRIOR = 0.4
#: Halvings of the interval in which the multiplier is.
_HALVINGS = 60
#: From so many values on, how their counts are distributed is estimated from them.
_MANY = 8
#: How many counts such a distribution has besides 0, and the steps in which it is estimated.
_ATOMS, _STEPS = 40, 100
#: The least logarithm of a multiple of the masses of counts above 0.
_LEAST_POSITIVE = -30.0
#: So many standard errors above 0 a number is known to be positive anyway.
_FAR = 8.0
#: The least probability of a value, as a fraction of that of all values if they were equally probable.
_LEAST = 1e-6


def positive_mean(estimate: float, noise_scale: float) -> float:
    """The mean of a number that is known to be positive, from an unbiased estimate and its standard error; at least 1.

    It is the estimate where that is far above its error.  Source: the mean of a normal distribution truncated at 0.
    """
    if estimate > _FAR * noise_scale:
        return max(estimate, 1.0)
    from scipy.special import log_ndtr

    at = estimate / noise_scale
    ratio = math.exp(-0.5 * at**2 - 0.5 * math.log(2 * math.pi) - float(log_ndtr(at)))
    return max(estimate + noise_scale * ratio, 1.0)


def denoised(table: FloatArray, noise_scale: float) -> FloatArray:
    """Probabilities of an attribute's values, (n,), from noisy counts and their standard error; none is 0."""
    if len(table) >= _MANY and noise_scale > 0:
        return _by_empirical_bayes(table, noise_scale)
    return _most_probable(table, noise_scale)


def _by_empirical_bayes(table: FloatArray, noise_scale: float) -> FloatArray:
    """The mean probabilities if counts are from a mixture of normal distributions, which is estimated from all.

    Noise hides whether small counts are 0: as many are as it takes for the sum.  What it still has too much or too
    little is divided in proportion to how uncertain each count is.  Source: eq. (134).
    """
    size, total = len(table), max(float(table.sum()), 1.0)
    largest = max(min(max(float(table.max()), 2 * noise_scale), total), total / size, 1.0)  # none is above the total
    centers = np.concatenate([[0.0], np.geomspace(min(max(noise_scale / 20, 0.5), largest / 2), largest, _ATOMS)])
    widths = np.concatenate([[0.0, centers[1] / 2], np.diff(centers)[1:] / 2])
    variances = widths**2 + noise_scale**2
    away = (table[:, None] - centers) ** 2 / variances
    densities = np.exp(-0.5 * (away - away.min(axis=1, keepdims=True))) / np.sqrt(variances)
    masses = np.full(len(centers), 1 / len(centers))
    for _ in range(_STEPS):
        chances = densities * masses
        chances /= chances.sum(axis=1, keepdims=True)
        masses = (chances.sum(axis=0) + 1 / len(centers)) / (size + 1)
    means = centers + (table[:, None] - centers) * (widths**2 / variances)

    def posterior(positive: float) -> FloatArray:
        """The chances of all centers where those above 0 have this many times their masses."""
        chances = densities * masses * np.where(centers > 0, positive, 1.0)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def has_too_many(logarithm: float) -> bool:
        return float(np.maximum((posterior(math.exp(logarithm)) * means).sum(axis=1), 0).sum()) > total

    low, high = _LEAST_POSITIVE, 0.0
    for _ in range(_HALVINGS if has_too_many(high) else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if has_too_many(middle) else (middle, high)
    chances = posterior(math.exp(high))
    found = (chances * means).sum(axis=1)
    within = widths**2 * noise_scale**2 / variances
    uncertain = np.maximum((chances * (within + means**2)).sum(axis=1) - found**2, np.finfo(np.float64).tiny)
    found = np.maximum(found, 0.0)
    found += uncertain * ((total - found.sum()) / uncertain.sum())
    found = np.maximum(found, _LEAST * total / size)
    return np.asarray(found / found.sum())


def _most_probable(table: FloatArray, noise_scale: float) -> FloatArray:
    """Probabilities of an attribute's values, (n,), from noisy counts and their standard error.

    They are the most probable ones if the noise is Gaussian and the probabilities have a Dirichlet distribution of
    parameter 1.4: what noise makes of empty values is divided among them.  Source: docs/mathematics.md section 13.
    """
    total, mass = max(float(table.sum()), 1.0), _PRIOR * noise_scale**2
    low = float(table.min()) - total - table.size * noise_scale
    high = float(table.max()) + table.size * noise_scale
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _counts(table - middle, mass).sum() > total else (low, middle)
    counts = _counts(table - high, mass) + 1e-9 * total
    return np.asarray(counts / counts.sum())


def _counts(moved: FloatArray, mass: float) -> FloatArray:
    """The positive root x of ``x**2 - moved x - mass``, entry by entry, without cancellation."""
    root = np.sqrt(moved**2 + 4 * mass)
    below = root - np.minimum(moved, 0)  # 0 only where both terms are, as in a table that is known
    other = np.divide(2 * mass, below, out=np.zeros_like(root), where=below > 0)
    return np.where(moved > 0, (moved + root) / 2, other)
