"""The kind of query for standard deviations of amounts, by group.

Source: eq. (141).
"""

from dataclasses import dataclass
from typing import ClassVar

from scipy import sparse

from residualplanner.method.domain.attribute import Attribute
from residualplanner.more.amounts.moments import Moments
from residualplanner.more.amounts.statistics import COUNT, Statistic


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
