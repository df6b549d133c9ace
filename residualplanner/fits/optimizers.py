"""Optimizers that several fits share: Adam and conjugate gradients.

Source: Kingma and Ba (2015), Algorithm 1; Hestenes and Stiefel, J. Res. Nat. Bur. Standards 49 (1952).
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Floats = NDArray[np.floating]
#: Adam's decay of the means of slopes and, by default, of their squares.
_FIRST, DECAY_OF_SQUARES = 0.9, 0.999
#: The last step is this part of the first.
_LAST = 0.01


def cosine_rate(first: float, step: int, steps: int) -> float:
    """The rate of a step, counted from 0, of so many: it falls to a hundredth of the first along a cosine."""
    return first * (_LAST + (1 - _LAST) * (1 + math.cos(math.pi * step / steps)) / 2)


class Adam:
    """Running means of slopes, and of their squares, to the roots of which ``small`` is added."""

    def __init__(self, like: Floats, small: float = 1e-8, decay: float = DECAY_OF_SQUARES) -> None:
        self._first, self._second, self._small = np.zeros_like(like), np.zeros_like(like), small
        self._count, self._decay = 0, decay  # of the squares

    def add(self, slope: Floats) -> None:
        """Add a slope, which is overwritten: arrays are large, and a step makes few new ones."""
        self._count += 1
        change = np.subtract(slope, self._first)
        change *= 1 - _FIRST
        self._first += change
        slope *= slope
        slope -= self._second
        slope *= 1 - self._decay
        self._second += slope

    @property
    def slope(self) -> Floats:
        """The mean slope, without the bias of its start at 0."""
        return np.asarray(self._first / (1 - _FIRST**self._count))

    def step(self, rate: float) -> Floats:
        """What to subtract from the parameters: mean slopes over the roots of mean squares, both without bias."""
        move = np.sqrt(self._second)
        move += self._small
        np.divide(self._first, move, out=move)
        move *= rate * math.sqrt(1 - self._decay**self._count) / (1 - _FIRST**self._count)
        return move


def conjugate_gradients(
    curvature: Callable[[Array], Array],
    residual: Array,
    scale: Array,
    *,
    most: int,
    is_enough: Callable[[Array, float], bool],
) -> Array:
    """About the x with ``curvature(x) = residual``, by at most so many steps from 0; ``residual`` is overwritten.

    The map is symmetric without a negative eigenvalue, and ``scale`` about one over its diagonal; what it gives is used
    before it is called again.  ``is_enough`` is called with the residual and its squared length at this scale.
    """
    found, scaled = np.zeros_like(residual), residual * scale
    direction, product = scaled.copy(), float(np.vdot(residual, scaled))
    for _ in range(most):
        if is_enough(residual, product):
            break
        image = curvature(direction)
        curved = float(np.vdot(direction, image))
        if not curved > 0:
            break
        found += (product / curved) * direction
        residual -= (product / curved) * image
        np.multiply(residual, scale, out=scaled)
        product, before = float(np.vdot(residual, scaled)), product
        direction *= product / before
        direction += scaled
    return found
