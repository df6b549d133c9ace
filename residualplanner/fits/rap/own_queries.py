"""Query classes of one's own: a function of some attributes that is differentiable in relaxed records.

Exact answers follow from the counts of all combinations of values, which the gate counts as it does a marginal: what a
user's function does never sees a record.
Source: docs/adaptive-projection.md eq. (h); Aydore and others 2021, sections 3 and 4.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from residualplanner.fits.mixtures.mixture import OneHot
from residualplanner.ground.checks import FloatArray, IntArray, require_integer
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.privacy import Neighbors

#: As in `relaxed_records`, which imports tables, and these this.
Relaxed = NDArray[np.float32]
Columns = Sequence[NDArray[Any]]
#: Of how many different combinations of values all pairs are compared.
_PAIRS = 2_000


def is_uncut(targets: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Which noisy fractions are between 0 and 1 where those beyond have been put at the ends."""
    return np.asarray((targets > 0) & (targets < 1))


@dataclass(frozen=True, slots=True, eq=False)
class QueryClass:
    """Queries about some attributes, each true or false of a record: their answers are how many records they hold for.

    Attributes:
        names: of the attributes.
        answers: gives the answers (m, c) of c relaxed records, from the values (t_i, c) of each attribute; 0 or 1 where
            a record has one value of each.
        slopes: gives, from the same values and weights (m,), for each attribute the gradient (t_i, c) of the weighted
            sum of the answers of each relaxed record.
        sensitivity: in how many answers at most two neighboring data sets differ, for the plan's neighbors.  All
            measured answers are charged for it, and a plan refuses less than what all combinations of values show.

    Example:
        >>> from residualplanner import Domain, marginals, zcdp
        >>> from residualplanner.fits.rap import RapPlan, rap
        >>> exactly_one = QueryClass(
        ...     ("smokes", "drinks"),
        ...     lambda values: (values[0] * values[1][::-1]).sum(axis=0)[None],
        ...     lambda values, weights: (weights[0] * values[1][::-1], weights[0] * values[0][::-1]),
        ...     sensitivity=1,
        ... )
        >>> ones = marginals(Domain({"smokes": 2, "drinks": 2}), order=1)
        >>> plan = RapPlan(ones, budget=zcdp(50), own_queries=[exactly_one], choices=5, rounds=1)
        >>> abs(rap(plan, np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 100)).answers(exactly_one)[0] - 200) < 20
        np.True_
    """

    names: Sequence[str]
    answers: Callable[[Columns], NDArray[Any]]
    slopes: Callable[[Columns, FloatArray], Columns]
    sensitivity: int


@dataclass(frozen=True, slots=True, eq=False)
class OwnAnswers:
    """A query class on a domain, with its answers to every combination of values."""

    query: QueryClass
    positions: tuple[int, ...]  # of the attributes in the domain, as the class names them
    matrix: csr_array  # (m, cells): 1 where a query holds for a combination of values, attributes in the domain's order

    @classmethod
    def of(cls, query: QueryClass, domain: Domain) -> Self:
        """Ask every combination of values; WorkloadError where an answer is neither 0 nor 1."""
        require_integer("sensitivity", query.sensitivity)
        order = domain.positions(query.names)
        positions = tuple(domain.names.index(name) for name in query.names)
        codes = np.indices([domain.sizes[position] for position in order]).reshape(len(order), -1)
        certain = [np.eye(domain.sizes[position])[:, codes[order.index(position)]] for position in positions]
        found = np.asarray(query.answers(certain), dtype=np.float64)
        if found.ndim != 2 or found.shape[1] != codes.shape[1] or not np.isin(found, (0, 1)).all():
            raise WorkloadError("answers must give (m, c) numbers, 0 or 1 for every combination of values")
        return cls(query, positions, csr_array(found.astype(np.int64)))

    def require_sensitivity(self, neighbors: Neighbors) -> None:
        """WorkloadError where it is stated as less than of the worst pair; of too many to compare, as it may be."""
        different = np.unique(self.matrix.toarray().T, axis=0)
        held = different.sum(axis=1)
        most = int(held.max())
        if neighbors.has_public_total:
            is_few = len(different) <= _PAIRS
            apart = held[:, None] + held - 2 * different @ different.T if is_few else np.array(2 * most)
            most = min(int(apart.max()), self.count)
        if self.query.sensitivity < most:
            stated = f"its sensitivity is stated as {self.query.sensitivity}; state at least {most}"
            raise WorkloadError(f"one record can change {most} answers of a query class, and {stated}")

    @property
    def count(self) -> int:
        """How many answers it has, m."""
        return int(self.matrix.shape[0])

    def of_marginal(self, marginal: IntArray) -> IntArray:
        """The answers (m,) from the counts of all combinations of values."""
        return np.asarray(self.matrix @ marginal.ravel())

    def means(self, values: Relaxed, blocks: OneHot) -> FloatArray:
        """The answers (m,) of relaxed records (d', n'), as fractions of them."""
        columns = [values[blocks.rows(position)] for position in self.positions]
        found: FloatArray = np.asarray(self.query.answers(columns), dtype=np.float64).mean(axis=1)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class OwnTargets:
    """Noisy answers (q,) to some queries of a class, as fractions of all records."""

    own: OwnAnswers
    rows: tuple[IntArray, ...]  # of each of its attributes the rows of the relaxed records
    numbers: IntArray  # (q,): of the queries in the class
    targets: FloatArray
    precision: float

    @classmethod
    def of(cls, own: OwnAnswers, blocks: OneHot, numbers: IntArray, targets: FloatArray, precision: float) -> Self:
        """The answers put between 0 and 1, as published."""
        rows = tuple(np.arange(blocks.count)[blocks.rows(position)] for position in own.positions)
        return cls(own, rows, numbers, np.clip(targets, 0, 1), precision)

    @property
    def enough(self) -> float:
        """The loss of the truth, as of `ListedCells`."""
        return float(is_uncut(self.targets).sum())

    def mentioned(self) -> IntArray:
        """The rows of its attributes."""
        return np.concatenate(self.rows)

    def moved(self, where: IntArray) -> Self:
        """The same of moved rows, ``where`` (d',)."""
        return replace(self, rows=tuple(where[rows] for rows in self.rows))

    def add_slopes(self, values: Relaxed, slopes: Relaxed) -> float:
        """The loss; its gradient by the values (rows, records) is added to ``slopes`` (rows, records)."""
        columns, query = [values[rows] for rows in self.rows], self.own.query
        found = np.asarray(query.answers(columns)).mean(axis=1)
        errors = found[self.numbers] - self.targets
        weights = np.zeros(len(found))
        weights[self.numbers] = 2 * self.precision * errors / values.shape[1]
        for rows, slope in zip(self.rows, query.slopes(columns, weights), strict=True):
            slopes[rows] += slope
        return self.precision * float(errors @ errors)
