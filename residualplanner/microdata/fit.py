"""Microdata that were fitted to noisy answers: how many records each cell has.

Reads: cells from the solvers.  Gives: Fit.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import FloatArray, frozen
from residualplanner.domain import Domain
from residualplanner.errors import SolverError
from residualplanner.microdata.groups import Marginal
from residualplanner.microdata.noisy_groups import NoisyGroups

#: The largest gap of a fit, and by how much exact sums may be off, relative to the largest answer.
_GAP, _OFF = 1e-6, 1e-6

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Fit:
    """The weights of the records that a fit gives to every cell of a domain, for each draw of the noise.

    Attributes:
        domain: of the data set.
        estimate (..., n_1, .., n_d): the cells, in counts.
        objective (...): half the sum of squared errors of the answers, each divided by its variance.
        gap (...): the objective is proved to be at most this fraction (of itself plus 1) above the least one.
        violation (...): by how much sums are off that the fit keeps equal to others, at most, in counts.
    """

    domain: Domain
    estimate: FloatArray
    objective: FloatArray
    gap: FloatArray
    violation: FloatArray

    def __repr__(self) -> str:
        draws = "" if not self.gap.shape else f" in {self.gap.size:,} draws of the noise"
        return f"<Fit of {self.domain.cells(self.domain.names):,} cells{draws}: gap {self.gap.max(initial=0.0):.1e}>"

    def table(self, names: Iterable[str] = ()) -> Array:
        """The marginal of some attributes, (..., n_1, .., n_k), its axes in the order of the names.

        Raises:
            DomainError: an attribute is not in the domain, or occurs twice.
        """
        draws = self.gap.ndim
        group = Marginal(names)
        written = self.domain.positions_as_written(group.names)
        others = tuple(draws + axis for axis in range(len(self.domain)) if axis not in written)
        kept = sorted(written)
        summed: Array = self.estimate.sum(axis=others)
        return summed.transpose([*range(draws), *(draws + kept.index(position) for position in written)])


def fit_of(noisy: NoisyGroups, cells: Array, objective: Array, *, gap: Array, violation: Array | None = None) -> Fit:
    """A fit in the shape of the answers.

    Args:
        noisy: what was fitted.
        cells (b, n): of every draw.
        objective (b,): as in `Fit`.
        gap (b,): as in `Fit`.
        violation (b,): as in `Fit`; None where no sums are kept.

    Raises:
        SolverError: the gap, or the violation, is too large for a draw.
    """
    off = np.zeros(len(cells)) if violation is None else violation
    scale = 1 + max(float(np.abs(values).max(initial=0.0)) for values in noisy.values)
    if not ((gap <= _GAP).all() and (off <= _OFF * scale).all()):
        raise SolverError(
            "a fit was not found to the accuracy that is promised: answers are too large beside their noise, or "
            "contradict one another by far more than it; choose another fit, or state more noise",
            status="inexact",
        )
    draws, domain = noisy.draws, noisy.domain
    parts = (objective, gap, off)
    return Fit(
        domain, frozen(cells.reshape(*draws, *domain.sizes)), *(frozen(np.array(each).reshape(draws)) for each in parts)
    )
