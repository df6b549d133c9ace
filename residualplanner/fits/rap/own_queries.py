"""Query classes of one's own: a function of some attributes that is differentiable in relaxed records.

Exact answers follow from the counts of all combinations of values, which the gate counts as it does a marginal: what a
user's function does never sees a record.
Source: docs/adaptive-projection.md eq. (h); Aydore and others 2021, sections 3 and 4.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from residualplanner.ground.checks import FloatArray, require_integer
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.privacy import Neighbors

Columns = Sequence[NDArray[Any]]
#: Of how many different combinations of values all pairs are compared.
_PAIRS = 2_000


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
    order: tuple[int, ...]  # of each attribute that the class names, where it stands among them in the domain's order
    matrix: csr_array  # (m, cells): 1 where a query holds for a combination of values, attributes in the domain's order

    @classmethod
    def of(cls, query: QueryClass, domain: Domain) -> Self:
        """Ask every combination of values; WorkloadError where an answer is neither 0 nor 1."""
        require_integer("sensitivity", query.sensitivity)
        positions = domain.positions(query.names)
        order = tuple(positions.index(domain.names.index(name)) for name in query.names)
        sizes = [domain.sizes[position] for position in positions]
        codes = np.indices(sizes).reshape(len(sizes), -1)
        found = np.asarray(query.answers([np.eye(sizes[own])[:, codes[own]] for own in order]), dtype=np.float64)
        if found.ndim != 2 or found.shape[1] != codes.shape[1] or not np.isin(found, (0, 1)).all():
            raise WorkloadError("answers must give (m, c) numbers, 0 or 1 for every combination of values")
        return cls(query, order, csr_array(found.astype(np.int64)))

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

    def means(self, columns: Columns) -> FloatArray:
        """The fractions (m,) of relaxed records, from each attribute's values (t_i, c) in the domain's order."""
        found = np.asarray(self.query.answers([columns[own] for own in self.order]), dtype=np.float64)
        return np.asarray(found.mean(axis=1))

    def slopes(self, columns: Columns, weights: NDArray[Any]) -> Columns:
        """Of each column the gradient (t_i, c) of a weighted sum (m,) of these fractions."""
        found = self.query.slopes([columns[own] for own in self.order], weights / columns[0].shape[1])
        return [found[self.order.index(place)] for place in range(len(columns))]
