"""How much one record may change the answers that a round measures together.

Reads: how many cells of each table are measured.  Gives: the squared L2 sensitivity, an integer.
"""

from collections.abc import Mapping
from typing import Protocol, final

from residualplanner.fits.rap.threshold_table import ThresholdTable
from residualplanner.method.privacy import Neighbors


class Sensitivity(Protocol):
    """A way to bound how much one record changes cells that are measured together."""

    @property
    def name(self) -> str:
        """The word for it in a plan."""

    def squared(self, measured: Mapping[ThresholdTable, int], neighbors: Neighbors) -> int:
        """A bound on the squared L2 distance of the answers of neighbors that differ in one record.

        Args:
            measured: how many cells of each table are measured.
            neighbors: whether a record is added or replaced.
        """


@final
class Joint:
    """All cells together: a record counts in few cells of a table, however many are measured.

    Source: docs/adaptive-projection.md eq. (a).

    Example:
        >>> table = ThresholdTable((0, 1), (10, 10), 2)
        >>> Joint().squared({table: 50}, Neighbors()), Joint().squared({table: 50}, Neighbors("replace"))
        (1, 2)
    """

    name = "joint"

    def squared(self, measured: Mapping[ThresholdTable, int], neighbors: Neighbors) -> int:
        """The sum over tables of the cells measured, or of those that a record can change, if these are fewer."""
        return sum(min(cells, table.most_changed(neighbors)) for table, cells in measured.items())


@final
class PerCell:
    """Each cell on its own, as the papers charge: a record may change every one of them.

    Example:
        >>> PerCell().squared({ThresholdTable((0, 1), (10, 10), 2): 50}, Neighbors())
        50
    """

    name = "per-cell"

    def squared(self, measured: Mapping[ThresholdTable, int], neighbors: Neighbors) -> int:
        """The number of cells."""
        del neighbors
        return sum(measured.values())


SENSITIVITIES: dict[str, Sensitivity] = {each.name: each for each in (Joint(), PerCell())}
