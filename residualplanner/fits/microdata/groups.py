"""Groups of queries on one table of all attributes, as they are measured with noise.

Reads: names of attributes, or a matrix.  Gives: QueryGroup.
Protocol: a group says which sums of cells it has, and reads answers as they are written.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from residualplanner.fits.microdata.solvers.sums import MarginalSums, MatrixSums, ResidualSums, Sums
from residualplanner.ground.checks import FloatArray, frozen, require_numbers, value_text
from residualplanner.ground.completion import hides
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.domain import Domain

Array = NDArray[np.float64]


@hides("arranged", "sums")
class QueryGroup(ABC):
    """Queries on one data set that are measured together."""

    @abstractmethod
    def sums(self, domain: Domain) -> Sums:
        """Which sums of cells the queries are.

        Raises:
            DomainError: an attribute is not in the domain.
            WorkloadError: the group is not about cells of this domain.
        """

    @abstractmethod
    def shape(self, domain: Domain) -> tuple[int, ...]:
        """The shape in which answers are written."""

    def arranged(self, domain: Domain, values: Array) -> Array:
        """Answers (..., shape) in the order of `sums`, (..., k)."""
        return values.reshape(*values.shape[: values.ndim - len(self.shape(domain))], -1)


@dataclass(frozen=True, slots=True, init=False)
class Marginal(QueryGroup):
    """All cells of the marginal of some attributes: the total if there are none, single cells if all are named.

    Args:
        names: of the attributes, in the order of the axes of the answers.

    Example:
        >>> Marginal(["age", "sex"]).shape(Domain({"sex": 2, "race": 5, "age": 9}))
        (9, 2)
    """

    names: tuple[str, ...]

    def __init__(self, names: Iterable[str] = ()) -> None:
        if isinstance(names, Mapping):
            raise WorkloadError(
                f"a group of a marginal or residual is written by names alone, got {value_text(names)}; write "
                "CellSums(rows) for sums of other cells, and a group for each"
            )
        object.__setattr__(self, "names", (names,) if isinstance(names, str) else tuple(names))

    def sums(self, domain: Domain) -> Sums:
        """The cells of the marginal, in the order of the domain."""
        return MarginalSums(domain.sizes, domain.positions(self.names))

    def shape(self, domain: Domain) -> tuple[int, ...]:
        """The sizes of the attributes, in the order of the names."""
        return tuple(domain.sizes[position] for position in domain.positions_as_written(self.names))

    def arranged(self, domain: Domain, values: Array) -> Array:
        """Answers with their axes in the order of the domain, flat."""
        written = domain.positions_as_written(self.names)
        draws = values.ndim - len(written)
        order = [*range(draws), *(draws + written.index(position) for position in sorted(written))]
        return values.transpose(order).reshape(*values.shape[:draws], -1)


@dataclass(frozen=True, slots=True, init=False)
class Residual(Marginal):
    """The component of some attributes: their marginal less its means along each axis, as releases measure it.

    Args:
        names: of the attributes, in the order of the axes of the answers.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        Marginal.__init__(self, names)

    def sums(self, domain: Domain) -> Sums:
        """The component, in the order of the domain."""
        return ResidualSums(domain.sizes, domain.positions(self.names))


@dataclass(frozen=True, eq=False, slots=True)
class CellSums(QueryGroup):
    """Sums of any cells, none of which is in two of them.

    Attributes:
        rows (k, n_1 ... n_d): a row for each sum, 1 for the cells that are in it, else 0; cells in C order.

    Raises:
        WorkloadError: the entries are not 0 and 1, or a cell is in two sums.
    """

    rows: FloatArray

    def __init__(self, rows: ArrayLike) -> None:
        array = require_numbers("rows must be a matrix of zeros and ones", rows)
        if array.ndim != 2 or not np.isin(array, (0.0, 1.0)).all():
            raise WorkloadError(
                "rows must be a matrix of zeros and ones, a row for each sum and a column for each cell"
            )
        if not (array.sum(axis=0) <= 1).all():
            raise WorkloadError("rows must have no cell in two sums; write two groups")
        object.__setattr__(self, "rows", frozen(array.copy()))

    def sums(self, domain: Domain) -> Sums:
        """The rows, as they are."""
        cells = domain.cells(domain.names)
        if self.rows.shape[1] != cells:
            raise WorkloadError(f"rows must have a column for each of {cells:,} cells, got {self.rows.shape[1]:,}")
        return MatrixSums(domain.sizes, self.rows)

    def shape(self, domain: Domain) -> tuple[int, ...]:  # noqa: ARG002 - of any domain
        """One answer for each row."""
        return (len(self.rows),)
