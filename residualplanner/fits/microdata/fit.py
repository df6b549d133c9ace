"""Microdata that were fitted to noisy answers: how many records each cell has.

Reads: cells from the solvers.  Gives: Fit.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.microdata.noisy_groups import NoisyGroups
from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import SolverError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.workload.query import QueryLike, written_query

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

    def table(self, query: QueryLike = ()) -> Array:
        """The answers to a query, (..., q_1, .., q_k), with its axes as it is written; the total unless given.

        Args:
            query: as in a workload: names, a mapping from name to kind of query, a `Threshold`, or one `Among` others.

        Raises:
            DomainError: an attribute is not in the domain, or occurs twice.
            WorkloadError: a kind of query does not fit its attribute.
        """
        draws, written = self.gap.ndim, written_query(self.domain, query)
        others = tuple(draws + axis for axis in range(len(self.domain)) if axis not in written.positions)
        found = self.estimate.sum(axis=others).transpose([*range(draws), *(draws + axis for axis in written.axes)])
        for axis, kind in enumerate(written.kinds):
            found = kind.apply(found, draws + axis)
        return written.put_together(self.domain, found, first_axis=draws)


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
