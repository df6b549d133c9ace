"""The kinds of query made of counts, sums and sums of squares: for correlations and regressions, and for deviations.

Source: eqs. (141) and (143).
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.more.amounts.amounts import OfBins, amounts_of
from residualplanner.more.amounts.statistics import COUNT, Statistic


@dataclass(frozen=True, slots=True, repr=False)
class Moments(OfBins):
    """The count of the amounts of an attribute, and the sums of t and t^2, t from -1 at the least amount to 1.

    In a query with several such attributes the answers are of all products: with two, the sum of t u for the amounts of
    both, of t^2 u, and so on.

    Attributes:
        edges: of the bins that it is tied to; None as long as there is no attribute.

    Raises:
        WorkloadError: once tied, the attribute has no amounts with squares.

    Source: eq. (143).

    Example:
        >>> from residualplanner import Numeric
        >>> pay = Attribute("pay", numeric=Numeric(0, 40, squares=True))
        >>> Moments().on(pay).matrix(3).tolist()
        [[1.0, 1.0, 1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 1.0]]
    """

    name = "moments"

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @property
    def written(self) -> Self:
        """The same without edges."""
        return type(self)()

    def to_json(self) -> dict[str, Any]:
        """The edges, or null."""
        return {"kind": self.name, "edges": self.edges_in_json}

    @property
    def middle(self) -> float:
        """Half of the way from the least to the largest amount, where t is 0."""
        return (self.tied_edges[0] + self.tied_edges[-1]) / 2

    @property
    def half(self) -> float:
        """How far the limits are from the middle."""
        return (self.tied_edges[-1] - self.tied_edges[0]) / 2

    def on(self, attribute: Attribute) -> Self:
        """The kind tied to an attribute's bins; WorkloadError where its amounts have no squares."""
        numeric = amounts_of(attribute, f"with {self.name}")
        if not numeric.squares:
            problem = f"the amounts of {attribute.name!r} have no squares, for {self.name}"
            raise WorkloadError(f"{problem}; declare Numeric(..., squares=True)")
        return type(self)(edges=numeric.amounts)

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """The three rows over the cells, (3, size); 0 for other labels.  Source: eqs. (140) and (143)."""
        return self._over(size, *self._of_cells)

    @property
    def _of_cells(self) -> tuple[NDArray[np.float64], ...]:
        """1, t and t^2 of each cell of the bins."""
        low, high = ((np.array([*pairwise(self.tied_edges)]) - self.middle) / self.half).T
        t = np.ravel(np.column_stack([low, (low + high) / 2, high]))
        return np.ones(len(t)), t, np.ravel(np.column_stack([low**2, low * high, high**2]))

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """``count``, and what the sums are of, (3,)."""
        middle = f"distance from {self.on(attribute).middle:.15g}"
        return COUNT, middle, f"squared {middle}"


@dataclass(frozen=True, slots=True, repr=False)
class StandardDeviation(Statistic, Moments):
    """The standard deviation of the amounts of an attribute, with their mean and count.

    With t from -1 to 1 for what an amount is from the middle of the limits, its six answers are the count and the sums
    of (1 + t) / 2, (1 - t) / 2, t^2, 1 - t^2 and (t + t^2) / 2: three, and three of which the variances tell the
    covariances of these.

    Attributes:
        edges: of the bins that it is tied to; None as long as there is no attribute.

    Raises:
        WorkloadError: once tied, the attribute has no amounts with squares.

    Source: eq. (141).

    Example:
        >>> from residualplanner import Numeric
        >>> pay = Attribute("pay", numeric=Numeric(0, 40, squares=True))
        >>> StandardDeviation().on(pay).matrix(3)[[0, 1, 3]].tolist()
        [[1.0, 1.0, 1.0], [0.0, 0.5, 1.0], [1.0, -1.0, 1.0]]
    """

    statistics: ClassVar[str] = "standard deviations"
    name = "standard deviation"

    @property
    def file_word(self) -> str:
        """The word for this kind in the names of files."""
        return "standard-deviation"

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """The six rows over the cells, (6, size); 0 for other labels.  Source: eqs. (140) and (141)."""
        count, t, squares = self._of_cells
        return self._over(size, count, (1 + t) / 2, (1 - t) / 2, squares, 1 - squares, (t + squares) / 2)

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """``count``, and what the sums are of, (6,)."""
        tied = self.on(attribute)
        low, high, middle = tied.tied_edges[0], tied.tied_edges[-1], f"{tied.middle:.15g}"
        squared = f"squared distance from {middle}"
        return COUNT, f"above {low:.15g}", f"below {high:.15g}", squared, f"count less {squared}", f"half of {squared}"
