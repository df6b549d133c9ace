"""Where fits start: near the tables of single attributes, with the noise taken out of them.

Reads: noisy one-way tables.  Gives: logits.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.descent import Start
from residualplanner.fits.mixtures.mixture import Mixture
from residualplanner.ground.checks import FloatArray

#: The weight of the logarithm of each probability; one would be a uniform prior of as many logits.
_PRIOR = 0.2
#: Halvings of the interval in which the multiplier is.
_HALVINGS = 100


def denoised(table: FloatArray, noise_scale: float) -> FloatArray:
    """Probabilities of an attribute's values, (n,), from noisy counts; none is 0.

    They are the most probable ones if the noise is Gaussian and the probabilities have a Dirichlet distribution of
    parameter 1.2: what noise makes of empty values is divided among them, and none is taken for impossible.

    Args:
        table (n,): noisy counts.
        noise_scale: their standard error; 0 if the counts are known.

    Source: docs/mathematics.md section 13.

    Example:
        >>> denoised(np.array([90.0, 13.0, -3.0]), 10.0).round(3).tolist()
        [0.866, 0.112, 0.023]
    """
    total, mass = max(float(table.sum()), 1.0), _PRIOR * noise_scale**2
    low = float(table.min()) - total - table.size * noise_scale
    high = float(table.max()) + table.size * noise_scale
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _counts(table - middle, mass).sum() > total:
            low = middle
        else:
            high = middle
    counts = _counts(table - high, mass) + 1e-9 * total
    found: FloatArray = counts / counts.sum()
    return found


def _counts(moved: FloatArray, mass: float) -> FloatArray:
    """The positive root x of ``x**2 - moved x - mass``, entry by entry, without cancellation."""
    root = np.sqrt(moved**2 + 4 * mass)
    below = root - np.minimum(moved, 0)  # 0 only where both terms are, as in a table that is known
    other = np.divide(2 * mass, below, out=np.zeros_like(root), where=below > 0)
    found: FloatArray = np.where(moved > 0, (moved + root) / 2, other)
    return found


def start_near(
    tables: Sequence[FloatArray], classes: int, spread: float | Sequence[float], generator: np.random.Generator
) -> Start:
    """Logits of ``classes`` classes near the same probabilities.

    Args:
        tables: the probabilities of every attribute's values.
        classes: how many.
        spread: the standard deviation of the logits around those of the tables; or one for each attribute.
        generator: of normal variates.
    """
    center: NDArray[np.float64] = np.log(np.concatenate(tables))
    spreads = np.repeat(np.broadcast_to(spread, len(tables)), [len(table) for table in tables])
    logits = center[:, None] + spreads[:, None] * generator.standard_normal((len(center), classes))
    return Start(logits, np.zeros(classes))


def start_at(mixture: Mixture) -> Start:
    """The logits of a mixture; minus infinity where a value has probability 0."""
    with np.errstate(divide="ignore"):
        return Start(np.log(mixture.probabilities), np.log(mixture.weights))
