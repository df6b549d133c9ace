"""The kind of query for standard deviations of amounts, by group.

Source: eq. (141).
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.more.amounts.amounts import OfBins, amounts_of
from residualplanner.more.amounts.statistics import COUNT, Statistic


@dataclass(frozen=True, slots=True, repr=False)
class StandardDeviation(Statistic, OfBins):
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

    name = "standard deviation"

    edges: tuple[float, ...] | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return "StandardDeviation()"

    @property
    def file_word(self) -> str:
        """The word for this kind in the names of files."""
        return "standard-deviation"

    @property
    def written(self) -> "StandardDeviation":
        """The same without edges."""
        return StandardDeviation()

    def to_json(self) -> dict[str, Any]:
        """The edges, or null."""
        return {"kind": self.name, "edges": self.edges_in_json}

    @property
    def middle(self) -> float:
        """Half of the way from the least to the largest amount."""
        return (self.tied_edges[0] + self.tied_edges[-1]) / 2

    @property
    def half(self) -> float:
        """How far the limits are from the middle."""
        return (self.tied_edges[-1] - self.tied_edges[0]) / 2

    def on(self, attribute: Attribute) -> "StandardDeviation":
        """The kind tied to an attribute's bins; WorkloadError where its amounts have no squares."""
        numeric = amounts_of(attribute, "with a standard deviation")
        if not numeric.squares:
            raise WorkloadError(
                f"the amounts of {attribute.name!r} have no squares, for standard deviations; declare "
                "Numeric(..., squares=True)"
            )
        return StandardDeviation(edges=numeric.amounts)

    def sparse_rows(self, size: int) -> sparse.csr_array:
        """The six rows over the cells, (6, size); 0 for other labels.  Source: eqs. (140) and (141)."""
        pairs = np.array([*pairwise(self.tied_edges)])
        low, high = ((pairs - self.middle) / self.half).T
        t = np.ravel(np.column_stack([low, (low + high) / 2, high]))
        squares = np.ravel(np.column_stack([low**2, low * high, high**2]))
        rows = np.zeros((6, size))
        rows[:, : len(t)] = np.ones(len(t)), (1 + t) / 2, (1 - t) / 2, squares, 1 - squares, (t + squares) / 2
        return sparse.csr_array(rows)

    def labels(self, attribute: Attribute) -> tuple[object, ...]:
        """``count``, and what the sums are of, (6,)."""
        low, high = self.on(attribute).tied_edges[:: len(self.on(attribute).tied_edges) - 1]
        middle = f"{(low + high) / 2:.15g}"
        squared = f"squared distance from {middle}"
        return COUNT, f"above {low:.15g}", f"below {high:.15g}", squared, f"count less {squared}", f"half of {squared}"
