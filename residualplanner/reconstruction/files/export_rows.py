"""A table of a release as columns: one row per cell, text dictionary-encoded.

Reads: tables.  Gives: PyArrow tables.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import frozen
from residualplanner.domain import Attribute
from residualplanner.plan import Plan
from residualplanner.queries import Kind
from residualplanner.reconstruction.profiles import Profile
from residualplanner.reconstruction.table import Table, cell_words


@dataclass(frozen=True, eq=False, slots=True)
class TidyWriter:
    """What all tables of one release have in common when they are written.

    Attributes:
        plan: what was measured, with how much noise.
        profile: what stands beside the labels.
        level: the confidence level.
        labels: for each attribute and kind that has been written the labels: a PyArrow array of text, a NumPy array of
            anything else.
    """

    plan: Plan
    profile: Profile
    level: float
    labels: dict[tuple[int, Kind], Any] = field(default_factory=dict)

    def tidy(self, table: Table, average_variance: float) -> Any:
        """A table as a PyArrow table: one row per cell, text dictionary-encoded.

        Args:
            table: the table.
            average_variance: of its cells, and of each of them where they are alike.
        """
        import pyarrow as pa

        estimate = table.estimate.ravel()
        variance = average_variance if _are_alike(table) else table.variance.ravel()
        std_err = np.broadcast_to(np.sqrt(variance), estimate.shape)
        columns = [self._column(table, axis) for axis in range(len(table.positions))]
        if self.profile.is_described:
            columns.append(pa.array(cell_words(table.names, table.labels), type=pa.string()))
        numbers = self.profile.numbers(estimate, std_err, self.level)
        return pa.table([*columns, *map(pa.array, numbers)], names=[*table.names, *self.profile.value_names])

    def _column(self, table: Table, axis: int) -> Any:
        import pyarrow as pa

        key = (table.positions[axis], table.kinds[axis])
        if key not in self.labels:
            self.labels[key] = _label_array(self.plan.domain.attributes[key[0]], key[1])
        labels, codes = self.labels[key], places(table.estimate.shape, axis)
        if isinstance(labels, np.ndarray):
            return pa.array(labels[codes])
        return pa.DictionaryArray.from_arrays(codes, labels)


@lru_cache(maxsize=64)
def places(shape: tuple[int, ...], axis: int) -> NDArray[np.int32]:
    """Which value of one axis each cell of a table in C order has, (cells,)."""
    places = np.arange(shape[axis], dtype=np.int32).reshape(-1, *(1,) * (len(shape) - axis - 1))
    return frozen(np.broadcast_to(places, shape).ravel())


def _are_alike(table: Table) -> bool:
    """Whether all cells have one variance: those of a marginal have, with subtraction bases, by symmetry."""
    bases = table.plan.strategy.of_attributes
    return all(
        bases[position].has_equal_variances(kind) for position, kind in zip(table.positions, table.kinds, strict=True)
    )


def _label_array(attribute: Attribute, kind: Kind) -> Any:
    import pyarrow as pa

    labels = kind.labels(attribute)
    return pa.array(labels) if isinstance(labels[0], str) else np.array(labels)
