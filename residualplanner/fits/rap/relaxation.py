"""Relaxed records: how each attribute's block of numbers is kept in its domain while it is fitted.

Source: docs/adaptive-projection.md eq. (f).
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.mixture import OneHot

#: A row for each value of each attribute, a column for each relaxed record; single precision.
Relaxed = NDArray[np.float32]
#: Steps of Newton's method for the threshold of docs/adaptive-projection.md eq. (f); it ends where nothing changes.
_NEWTON_STEPS = 100


class Relaxation(ABC):
    """How parameters become values, and stay in their domain: the values themselves, projected after each step.

    Attributes:
        learning_rate: the size of the first step of the optimizer.
        merges: whether values of an attribute that no measured cell mentions may be fitted together.
        sums_to_one: whether the values of each attribute add up to 1.
    """

    name: str  # the word for it in a plan
    learning_rate = 0.001
    merges = False
    sums_to_one = True

    def start(self, blocks: OneHot, records: int, generator: np.random.Generator) -> Relaxed:
        """Parameters (rows, records) to begin with."""
        return self.kept(generator.random((blocks.count, records), dtype=np.float32), blocks)

    def values(self, parameters: Relaxed, blocks: OneHot) -> Relaxed:
        """The values (rows, records) that the parameters stand for."""
        del blocks
        return parameters

    def slopes(self, values: Relaxed, slopes: Relaxed, blocks: OneHot) -> Relaxed:
        """The gradient by the parameters (rows, records), from that by the values, which may be overwritten."""
        del values, blocks
        return slopes

    @abstractmethod
    def kept(self, parameters: Relaxed, blocks: OneHot) -> Relaxed:
        """The nearest parameters (rows, records) in their domain."""


class Softmax(Relaxation):
    """Every block is the softmax of free parameters."""

    name = "softmax"
    learning_rate = 0.1
    merges = True

    def start(self, blocks: OneHot, records: int, generator: np.random.Generator) -> Relaxed:
        """Standard normal logits."""
        return generator.standard_normal((blocks.count, records), dtype=np.float32)

    def values(self, parameters: Relaxed, blocks: OneHot) -> Relaxed:
        """The softmax of every block."""
        return blocks.softmax(parameters).astype(np.float32, copy=False)

    def slopes(self, values: Relaxed, slopes: Relaxed, blocks: OneHot) -> Relaxed:
        """``p (g - sum p g)``, where p are the values and g the slopes."""
        return blocks.slope_of_logits(values, slopes).astype(np.float32, copy=False)

    def kept(self, parameters: Relaxed, blocks: OneHot) -> Relaxed:
        """As they are."""
        del blocks
        return parameters


class Sparsemax(Relaxation):
    """Every block is the nearest point of the simplex, many of whose entries are 0; as published."""

    name = "sparsemax"

    def kept(self, parameters: Relaxed, blocks: OneHot) -> Relaxed:
        """The nearest points of the simplices."""
        return sparsemax(parameters, blocks)


class Clip(Relaxation):
    """Every number lies between 0 and 1 on its own; blocks need not sum to 1, so there are no records to sample."""

    name = "clip"
    sums_to_one = False

    def kept(self, parameters: Relaxed, blocks: OneHot) -> Relaxed:
        """Numbers beyond 0 or 1 are set to these."""
        del blocks
        return np.clip(parameters, 0, 1)


RELAXATIONS: dict[str, Relaxation] = {each.name: each for each in (Softmax(), Sparsemax(), Clip())}


def equal_weights(values: Relaxed) -> Relaxed:
    """The weight of every relaxed record, (records,): one over their number."""
    records = values.shape[1]
    return np.full(records, 1 / records, dtype=np.float32)


def sparsemax(points: Relaxed, blocks: OneHot) -> Relaxed:
    """Project every block of every column (rows, records) on the simplex, by Newton's method and without sorting.

    The nearest points are ``max(0, z - tau)`` with sum 1 in each block.  Source: docs/adaptive-projection.md eq. (f).

    Example:
        >>> sparsemax(np.array([[1], [0.5], [0.1]], dtype=np.float32), OneHot((3,))).ravel().tolist()
        [0.75, 0.25, 0.0]
    """
    shifted = points - blocks.repeated(np.maximum.reduceat(points, blocks.offsets[:-1], axis=0))
    sizes = np.array(blocks.sizes, dtype=np.float32)[:, None]
    threshold = np.maximum((blocks.sums(shifted) - 1) / sizes, np.float32(-1))
    for _ in range(_NEWTON_STEPS):
        is_above = shifted > blocks.repeated(threshold)
        counts = blocks.sums(is_above.astype(np.float32))
        risen = np.maximum((blocks.sums(np.where(is_above, shifted, np.float32(0))) - 1) / counts, threshold)
        if np.array_equal(risen, threshold):
            break
        threshold = risen
    return np.asarray(np.maximum(shifted - blocks.repeated(threshold), 0), dtype=np.float32)
