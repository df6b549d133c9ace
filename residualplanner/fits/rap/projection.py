"""Relaxed projection: relaxed records whose answers are nearest to noisy ones.

Source: docs/adaptive-projection.md eq. (e).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.mixture import Blocks
from residualplanner.fits.rap.relaxation import RELAXATIONS, Relaxation, Relaxed
from residualplanner.fits.rap.targets import Targets
from residualplanner.ground.checks import IntArray, entry_named, float_of, require_integer, value_text
from residualplanner.ground.completion import hides
from residualplanner.ground.errors import WorkloadError

#: Of Adam: how slowly the means of slopes and of their squares follow, and what is added to the root of the latter.
_SLOPE_DECAY, _SQUARE_DECAY, _SMALL = 0.9, 0.999, 1e-8
#: The last step is so many times as large as the first.
_LAST_STEP = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class FittedRows:
    """Rows of the parameters that are fitted; of each block the others are fitted as one, their logarithmic sum.

    Values that no measured cell mentions have no influence on the loss but through their sum, so the optimum is the
    same, and the work does not depend on how many values an attribute has.

    Attributes:
        rows (f,): the rows that are fitted, ascending.
        blocks: of the fitted rows, with the sums behind them.
        index (f,): where each fitted row stands.
        rest: for each block with others, their rows, and where their sum stands.
    """

    rows: IntArray
    blocks: Blocks
    index: IntArray
    rest: tuple[tuple[IntArray, int], ...]

    @classmethod
    def of(cls, mentioned: NDArray[np.bool_], blocks: Blocks, *, merges: bool) -> Self:
        """The rows to fit.

        Args:
            mentioned (d',): which rows measured cells mention.
            blocks: of all rows.
            merges: whether the others of a block may be fitted as one; else all rows of its block are fitted.
        """
        rows, index, rest, sizes, here = [], [], [], [], 0
        for first, last in pairwise(blocks.offsets.tolist()):
            used = mentioned[first:last]
            if not used.any():
                continue
            wanted = np.flatnonzero(used) + first if merges else np.arange(first, last)
            others = np.setdiff1d(np.arange(first, last), wanted)
            rows.append(wanted)
            index.append(np.arange(here, here + len(wanted)))
            here += len(wanted)
            if len(others):
                rest.append((others, here))
                here += 1
            sizes.append(len(wanted) + bool(len(others)))
        return cls(np.concatenate(rows), Blocks(tuple(sizes)), np.concatenate(index), tuple(rest))

    def fitted(self, parameters: Relaxed) -> Relaxed:
        """The parameters to fit (rows, records), from all parameters (d', records)."""
        found = np.empty((self.blocks.count, parameters.shape[1]), dtype=np.float32)
        found[self.index] = parameters[self.rows]
        for others, here in self.rest:
            found[here] = np.logaddexp.reduce(parameters[others], axis=0)
        return found

    def put_back(self, fitted: Relaxed, parameters: Relaxed) -> Relaxed:
        """All parameters (d', records), with the fitted ones in place and the others in their old proportions."""
        found = parameters.copy()
        found[self.rows] = fitted[self.index]
        for others, here in self.rest:
            found[others] += fitted[here] - np.logaddexp.reduce(parameters[others], axis=0)
        return found


@hides("rate_at")
@dataclass(frozen=True, slots=True)
class ProjectionSettings:
    """How relaxed records are fitted to noisy answers.

    Attributes:
        relaxed_records: how many there are; fewer are faster and coarser.
        relaxation: "softmax", "sparsemax" (as published) or "clip".
        steps: of the optimizer in each fit, at most.
        learning_rate: of its first step; None for that of the relaxation.  Rates fall to a hundredth along a cosine.
        stops_at_noise: whether a fit ends once listed cells fit as well as their noise allows.

    Raises:
        WorkloadError: one of these is invalid.
    """

    relaxed_records: int = 1000
    relaxation: str = "softmax"
    steps: int = 300
    learning_rate: float | None = None
    stops_at_noise: bool = True

    def __post_init__(self) -> None:
        for name in ("relaxed_records", "steps"):
            object.__setattr__(self, name, require_integer(name, getattr(self, name)))
        entry_named("relaxation", self.relaxation, RELAXATIONS)
        if self.learning_rate is not None and not 0 < float_of(self.learning_rate) < math.inf:
            raise WorkloadError(f"learning_rate must be positive and finite, got {value_text(self.learning_rate)}")
        if not isinstance(self.stops_at_noise, bool):
            raise WorkloadError(f"stops_at_noise must be True or False, got {value_text(self.stops_at_noise)}")

    @property
    def kind(self) -> Relaxation:
        """The relaxation itself."""
        return RELAXATIONS[self.relaxation]

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, from 0 on."""
        first = self.kind.learning_rate if self.learning_rate is None else self.learning_rate
        part = (1 + math.cos(math.pi * step / self.steps)) / 2
        return first * (_LAST_STEP + (1 - _LAST_STEP) * part)


@dataclass(frozen=True, slots=True)
class Fit:
    """Relaxed records after a projection.

    Attributes:
        parameters (d', n'): of the relaxed records.
        losses: the weighted sum of squared errors before each step, and after the last.
        steps: how many the optimizer made.
    """

    parameters: Relaxed
    losses: tuple[float, ...]
    steps: int


def relaxed_projection(
    parameters: Relaxed, blocks: Blocks, targets: Sequence[Targets], settings: ProjectionSettings
) -> Fit:
    """Fit relaxed records to noisy answers.

    Args:
        parameters (d', n'): to begin with.
        blocks: which rows belong to which attribute.
        targets: the noisy answers.
        settings: of the optimizer.

    Returns:
        The relaxed records after the last step, or where the answers fit as well as their noise allows.

    Cost: for each step 4 k multiplications for each listed cell and relaxed record, and for each cell of whole tables
        three times as many as for the table itself.
    Source: docs/adaptive-projection.md eq. (e); Adam is Kingma and Ba 2015.
    """
    kind = settings.kind
    mentioned = np.zeros(len(parameters), dtype=np.bool_)
    for each in targets:
        mentioned[each.rows] = True
    if not mentioned.any():  # the number of records alone, which fractions say nothing about
        values = kind.values(parameters, blocks)
        return Fit(parameters, (sum(each.add_slopes(values, np.zeros_like(values)) for each in targets),), 0)
    part = FittedRows.of(mentioned, blocks, merges=kind.merges)
    where = np.zeros(len(parameters), dtype=np.int64)
    where[part.rows] = part.index
    local = [each.moved(where) for each in targets]
    enough = sum(each.enough for each in targets) if settings.stops_at_noise else -math.inf

    adam, losses = Adam(part.fitted(parameters), kind, part.blocks, settings), []
    for step in range(settings.steps + 1):
        slopes = np.zeros_like(adam.values)
        losses.append(sum(each.add_slopes(adam.values, slopes) for each in local))
        if losses[-1] <= enough or step == settings.steps:
            break
        adam.step(slopes)
    return Fit(part.put_back(adam.parameters, parameters), tuple(losses), step)


class Adam:
    """The optimizer: steps along means of slopes, over the roots of means of their squares."""

    def __init__(self, parameters: Relaxed, kind: Relaxation, blocks: Blocks, settings: ProjectionSettings) -> None:
        self.parameters = parameters
        self._kind, self._blocks, self._settings = kind, blocks, settings
        self._mean, self._square, self._count = np.zeros_like(parameters), np.zeros_like(parameters), 0
        self.values = kind.values(parameters, blocks)

    def step(self, slopes_of_values: Relaxed) -> None:
        """One step downhill, given the gradient by the values."""
        slopes = self._kind.slopes(self.values, slopes_of_values, self._blocks)
        rate = self._settings.rate_at(self._count)
        self._count += 1
        _decay(self._mean, slopes, _SLOPE_DECAY)
        slopes *= slopes
        _decay(self._square, slopes, _SQUARE_DECAY)
        corrected = rate * math.sqrt(1 - _SQUARE_DECAY**self._count) / (1 - _SLOPE_DECAY**self._count)
        root = np.sqrt(self._square, out=slopes)
        root += _SMALL
        move = np.divide(self._mean, root, out=root)
        move *= np.float32(corrected)
        self.parameters -= move
        self.parameters = self._kind.kept(self.parameters, self._blocks)
        self.values = self._kind.values(self.parameters, self._blocks)


def _decay(mean: Relaxed, values: Relaxed, decay: float) -> None:
    """Move a running mean towards some values, in place."""
    mean *= np.float32(decay)
    mean += np.float32(1 - decay) * values
