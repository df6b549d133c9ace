"""Classes of numbers on a map: a few, each with a color and its range in words.

Reads: numbers.  Gives: ColorClasses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.words import number_text
from residualplanner.publish.pictures.drawing import BLUES, ORANGES

#: Two significant digits tell limits of classes apart that are not nearly the same.
_DIGITS = 2


@dataclass(frozen=True, slots=True)
class ColorClasses:
    """Classes of numbers: below the first limit, between two limits, and from the last limit on.

    Attributes:
        limits (m,): ascending.
        colors (m + 1,): of the classes, of one hue, from pale to deep.
        texts (m + 1,): their ranges in words.
    """

    limits: tuple[float, ...]
    colors: tuple[str, ...]
    texts: tuple[str, ...]

    def of(self, numbers: FloatArray) -> NDArray[np.int64]:
        """The class of each number, (n,); -1 for nan.

        Example:
            >>> classes_of_variation((0.15, 0.30)).of(np.array([0.15, 0.01, np.nan])).tolist()
            [2, 0, -1]
        """
        found = np.searchsorted(np.array(self.limits), numbers, side="right")
        return np.where(np.isnan(numbers), -1, found)


def classes_of_estimates(numbers: FloatArray) -> ColorClasses:
    """Five classes of about as many numbers each, (n,), or fewer where these hardly differ; limits are round.

    Example:
        >>> classes_of_estimates(np.array([12.0, 55, 118, 260, 990, 4100])).texts
        ('below 55', '55 to 120', '120 to 260', '260 to 990', '990 or more')
    """
    known = numbers[np.isfinite(numbers)]
    inner = np.quantile(known, [0.2, 0.4, 0.6, 0.8]) if known.size else np.empty(0)
    limits = sorted({float(f"{limit:.{_DIGITS}g}") for limit in inner.tolist()})
    kept = tuple(limit for limit in limits if known.min() < limit <= known.max())
    return _classes(kept, BLUES, [number_text(limit) for limit in kept])


def classes_of_variation(grades: tuple[float, float]) -> ColorClasses:
    """Five classes of coefficients of variation, around the limits of their grades.

    Args:
        grades: below the first estimates are reliable, below the second usable; fractions.

    Example:
        >>> classes_of_variation((0.15, 0.30)).texts
        ('below 5%', '5% to 15%', '15% to 30%', '30% to 60%', '60% or more')
    """
    reliable, usable = grades
    limits = tuple(sorted({reliable / 3, reliable, usable, 2 * usable}))
    return _classes(limits, ORANGES, [f"{100 * limit:.3g}%" for limit in limits])


def _classes(limits: tuple[float, ...], colors: Sequence[str], texts: Sequence[str]) -> ColorClasses:
    """The classes between limits; where these are few, colors that are far apart."""
    if not limits:
        return ColorClasses((), (colors[len(colors) // 2],), ("all areas",))
    between = [f"{low} to {high}" for low, high in pairwise(texts)]
    chosen = np.linspace(0, len(colors) - 1, len(limits) + 1).round().astype(int)
    ranges = (f"below {texts[0]}", *between, f"{texts[-1]} or more")
    return ColorClasses(limits, tuple(colors[number] for number in chosen), ranges)
