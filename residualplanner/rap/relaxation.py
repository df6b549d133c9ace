"""Relaxed records: how each attribute's block of numbers is kept in its domain while it is fitted.

Reads: parameters, one column for each relaxed record.  Gives: values, which are probabilities but for "clip".
Source: rap-and-microdata (A1) and its table of relaxations.
"""

from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import IntArray

#: A row for each value of each attribute, a column for each relaxed record; single precision.
Relaxed = NDArray[np.float32]
#: Steps of Newton's method for the threshold of (A1), which ends earlier where nothing changes any more.
_NEWTON_STEPS = 100


class Relaxation(Protocol):
    """How parameters become values, and stay in their domain."""

    @property
    def name(self) -> str:
        """The word for it in a plan."""

    @property
    def learning_rate(self) -> float:
        """The size of the first step of the optimizer."""

    @property
    def merges(self) -> bool:
        """Whether values of an attribute that no measured cell mentions may be fitted together."""

    def start(self, starts: IntArray, rows: int, records: int, generator: np.random.Generator) -> Relaxed:
        """Parameters (rows, records) to begin with; block i begins at row ``starts[i]``."""

    def values(self, parameters: Relaxed, starts: IntArray) -> Relaxed:
        """The values (rows, records) that the parameters stand for."""

    def slopes(self, values: Relaxed, slopes: Relaxed, starts: IntArray) -> Relaxed:
        """The gradient by the parameters (rows, records), from that by the values, which may be overwritten."""

    def kept(self, parameters: Relaxed, starts: IntArray) -> Relaxed:
        """The parameters (rows, records) after a step, back in their domain."""


@final
class Softmax:
    """Every block is the softmax of free parameters."""

    name = "softmax"
    learning_rate = 0.1
    merges = True

    def start(self, starts: IntArray, rows: int, records: int, generator: np.random.Generator) -> Relaxed:
        """Standard normal logits."""
        del starts
        return generator.standard_normal((rows, records), dtype=np.float32)

    def values(self, parameters: Relaxed, starts: IntArray) -> Relaxed:
        """The softmax of every block."""
        lengths = block_lengths(starts, len(parameters))
        values = np.exp(parameters - np.repeat(np.maximum.reduceat(parameters, starts, axis=0), lengths, axis=0))
        values /= np.repeat(np.add.reduceat(values, starts, axis=0), lengths, axis=0)
        return values

    def slopes(self, values: Relaxed, slopes: Relaxed, starts: IntArray) -> Relaxed:
        """``p (g - sum p g)``, where p are the values and g the slopes."""
        slopes *= values
        sums = np.add.reduceat(slopes, starts, axis=0)
        slopes -= values * np.repeat(sums, block_lengths(starts, len(values)), axis=0)
        return slopes

    def kept(self, parameters: Relaxed, starts: IntArray) -> Relaxed:
        """As they are."""
        del starts
        return parameters


@final
class Sparsemax:
    """Every block is the nearest point of the simplex, many of whose entries are 0; as published."""

    name = "sparsemax"
    learning_rate = 0.001
    merges = False

    def start(self, starts: IntArray, rows: int, records: int, generator: np.random.Generator) -> Relaxed:
        """Uniform numbers, projected."""
        return sparsemax(generator.random((rows, records), dtype=np.float32), starts)

    def values(self, parameters: Relaxed, starts: IntArray) -> Relaxed:
        """The parameters themselves."""
        del starts
        return parameters

    def slopes(self, values: Relaxed, slopes: Relaxed, starts: IntArray) -> Relaxed:
        """As they are."""
        del values, starts
        return slopes

    def kept(self, parameters: Relaxed, starts: IntArray) -> Relaxed:
        """The nearest points of the simplices."""
        return sparsemax(parameters, starts)


@final
class Clip:
    """Every number lies between 0 and 1 on its own; blocks need not sum to 1, so there are no records to sample."""

    name = "clip"
    learning_rate = 0.001
    merges = False

    def start(self, starts: IntArray, rows: int, records: int, generator: np.random.Generator) -> Relaxed:
        """Uniform numbers."""
        del starts
        return generator.random((rows, records), dtype=np.float32)

    def values(self, parameters: Relaxed, starts: IntArray) -> Relaxed:
        """The parameters themselves."""
        del starts
        return parameters

    def slopes(self, values: Relaxed, slopes: Relaxed, starts: IntArray) -> Relaxed:
        """As they are."""
        del values, starts
        return slopes

    def kept(self, parameters: Relaxed, starts: IntArray) -> Relaxed:
        """Numbers beyond 0 or 1 are set to these."""
        del starts
        return np.clip(parameters, 0, 1)


RELAXATIONS: dict[str, Relaxation] = {each.name: each for each in (Softmax(), Sparsemax(), Clip())}


def block_starts(sizes: IntArray) -> IntArray:
    """The first row of each attribute's block.

    Args:
        sizes (d,): how many values each attribute has.
    """
    return np.cumsum(sizes) - sizes


def block_lengths(starts: IntArray, rows: int) -> IntArray:
    """How many rows each block has.

    Args:
        starts (d,): the first row of each block.
        rows: in all.
    """
    return np.diff(starts, append=rows)


def sparsemax(points: Relaxed, starts: IntArray) -> Relaxed:
    """Project every block of every column on the simplex, by Newton's method and without sorting.

    Args:
        points (rows, records): any numbers.
        starts (d,): the first row of each block.

    Returns:
        The nearest points (rows, records): ``max(0, z - tau)`` with sum 1 in each block.

    Source: rap-and-microdata (A1).

    Example:
        >>> sparsemax(np.array([[1, 0], [0.5, 0], [0.1, 0]], dtype=np.float32), np.array([0])).T.tolist()[0]
        [0.75, 0.25, 0.0]
    """
    lengths = block_lengths(starts, len(points))
    shifted = points - np.repeat(np.maximum.reduceat(points, starts, axis=0), lengths, axis=0)
    sums = np.add.reduceat(shifted, starts, axis=0)
    threshold = np.maximum((sums - 1) / lengths[:, None].astype(np.float32), np.float32(-1))
    for _ in range(_NEWTON_STEPS):
        is_above = shifted > np.repeat(threshold, lengths, axis=0)
        sums = np.add.reduceat(np.where(is_above, shifted, 0), starts, axis=0)
        counts = np.add.reduceat(is_above.astype(np.float32), starts, axis=0)
        risen = np.maximum((sums - 1) / counts, threshold)
        if np.array_equal(risen, threshold):
            break
        threshold = risen
    return np.maximum(shifted - np.repeat(threshold, lengths, axis=0), 0)
