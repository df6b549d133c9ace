"""Where fits start: near the tables of single attributes, with the noise taken out of them.

Reads: noisy one-way tables.  Gives: logits.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray
from residualplanner.mixtures.descent import Start
from residualplanner.mixtures.mixture import Mixture

#: What a value has at least, in standard errors of its count.
_FLOOR = 0.3


def denoised(table: FloatArray, noise_scale: float) -> FloatArray:
    """Probabilities of an attribute's values, (n,), from noisy counts; none is 0.

    The counts are projected on those without a negative one that have the same total, and a part of a standard error is
    added to each.

    Args:
        table (n,): noisy counts.
        noise_scale: their standard error, above 0.

    Example:
        >>> denoised(np.array([90.0, 13.0, -3.0]), 10.0).round(3).tolist()
        [0.839, 0.133, 0.028]
    """
    ordered, total = np.sort(table)[::-1], max(float(table.sum()), 0.0)
    over = (np.cumsum(ordered) - total) / np.arange(1, table.size + 1)
    above = np.flatnonzero(ordered > over)
    counts = np.maximum(table - over[above[-1]], 0) if above.size else np.zeros_like(table)
    counts += _FLOOR * noise_scale + 1e-9 * max(total, 1.0)
    found: FloatArray = counts / counts.sum()
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
