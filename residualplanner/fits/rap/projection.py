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

from residualplanner.fits.mixtures.mixture import OneHot
from residualplanner.fits.optimizers import Adam, cosine_rate
from residualplanner.fits.rap.relaxation import RELAXATIONS, Relaxation, Relaxed
from residualplanner.fits.rap.targets import NoisyTargets
from residualplanner.ground.checks import IntArray, entry_named, float_of, require_integer, value_text
from residualplanner.ground.completion import hides
from residualplanner.ground.errors import WorkloadError

#: What Adam adds to the roots of mean squares.
_SMALL = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class FittedRows:
    """Rows of the parameters that are fitted; of each block the others are fitted as one, their logarithmic sum.

    Values that no measured cell mentions have no influence on the loss but through their sum, so the optimum is the
    same, and the work does not depend on how many values an attribute has.
    """

    rows: IntArray  # (f,): the rows that are fitted, ascending
    blocks: OneHot  # of the fitted rows, with the sums behind them
    index: IntArray  # (f,): where each fitted row stands
    rest: tuple[tuple[IntArray, int], ...]  # for each block with others, their rows, and where their sum stands

    @classmethod
    def of(cls, mentioned: NDArray[np.bool_], blocks: OneHot, *, merges: bool) -> Self:
        """The rows to fit, from those mentioned (d',); all rows of their blocks where ``merges`` is False."""
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
        return cls(np.concatenate(rows), OneHot(tuple(sizes)), np.concatenate(index), tuple(rest))

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
        return cosine_rate(first, step, self.steps)


@dataclass(frozen=True, slots=True)
class Projection:
    """Relaxed records after a projection."""

    parameters: Relaxed  # (d', n'): of the relaxed records
    losses: tuple[float, ...]  # the weighted sum of squared errors before each step, and after the last
    steps: int  # how many the optimizer made


def relaxed_projection(
    parameters: Relaxed, blocks: OneHot, targets: Sequence[NoisyTargets], settings: ProjectionSettings
) -> Projection:
    """Fit relaxed records (d', n') until the last step, or until answers fit as well as their noise allows.

    Cost: for each step 4 k multiplications for each listed cell and relaxed record, and for each cell of whole tables
    three times as many as for the table itself.  Source: docs/adaptive-projection.md eq. (e); Adam is Kingma and Ba
    2015.
    """
    kind = settings.kind
    mentioned = np.zeros(len(parameters), dtype=np.bool_)
    for each in targets:
        mentioned[each.rows] = True
    if not mentioned.any():  # the number of records alone, which fractions say nothing about
        values = kind.values(parameters, blocks)
        return Projection(parameters, (sum(each.add_slopes(values, np.zeros_like(values)) for each in targets),), 0)
    part = FittedRows.of(mentioned, blocks, merges=kind.merges)
    where = np.zeros(len(parameters), dtype=np.int64)
    where[part.rows] = part.index
    local = [each.moved(where) for each in targets]
    enough = sum(each.enough for each in targets) if settings.stops_at_noise else -math.inf

    fitted, losses = part.fitted(parameters), []
    adam, values = Adam(fitted, _SMALL), kind.values(fitted, part.blocks)
    for step in range(settings.steps + 1):
        slopes = np.zeros_like(values)
        losses.append(sum(each.add_slopes(values, slopes) for each in local))
        if losses[-1] <= enough or step == settings.steps:
            break
        adam.add(kind.slopes(values, slopes, part.blocks))
        fitted -= adam.step(settings.rate_at(step))
        fitted = kind.kept(fitted, part.blocks)
        values = kind.values(fitted, part.blocks)
    return Projection(part.put_back(fitted, parameters), tuple(losses), step)
