"""How well tables fit what was measured: each beside its noise.

Reads: components of tables, what was measured.  Gives: FitQuality.
Source: eq. (77).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative.cells import components_of_counts
from residualplanner.fits.nonnegative.mixture.answers import MeasuredTables
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.html import frame_html
from residualplanner.ground.words import count_text

if TYPE_CHECKING:
    import pandas as pd

#: If noise alone kept tables from fitting, one or more would be called worse than that this often.
_LEVEL = 0.05


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class FitQuality:
    """How far tables are from what was measured, in units of its noise, set of attributes by set.

    Attributes:
        names: of the attributes of each set, in the order of the closure, without the empty set.
        distances (m,): squared, in units of the noise; of the truth the expected value is the degrees of freedom.
        freedoms (m,): the degrees of freedom; 0 where a table is known.

    Source: eq. (77).
    """

    names: tuple[tuple[str, ...], ...]
    distances: FloatArray
    freedoms: IntArray

    @property
    def p_values(self) -> FloatArray:
        """How probable it is that noise alone puts the truth so far away, (m,); 1 where a table is known."""
        from scipy.special import gammaincc

        halves = np.maximum(self.freedoms, 1) / 2
        found: FloatArray = np.where(self.freedoms > 0, gammaincc(halves, self.distances / 2), 1.0)
        return found

    @property
    def is_worse(self) -> NDArray[np.bool_]:
        """Which sets fit worse than noise explains, (m,): the truth would have one or more such sets in 5% of cases."""
        found: NDArray[np.bool_] = self.p_values < _LEVEL / max(int((self.freedoms > 0).sum()), 1)
        return found

    @property
    def worse(self) -> list[tuple[str, ...]]:
        """The sets that fit worse than noise explains, the worst first by distance to freedom."""
        ratios = self.distances / np.maximum(self.freedoms, 1)
        chosen = np.flatnonzero(self.is_worse)
        return [self.names[number] for number in chosen[np.argsort(-ratios[chosen], kind="stable")].tolist()]

    def __repr__(self) -> str:
        ratio = float(self.distances[self.freedoms > 0].sum()) / max(int(self.freedoms.sum()), 1)
        return (
            f"<FitQuality of {count_text(len(self.names), 'table')}: {ratio:.2f} of the noise, "
            f"{len(self.worse):,} worse than it>"
        )

    def _repr_html_(self) -> str:
        return frame_html(self.to_frame())

    def to_frame(self) -> "pd.DataFrame":
        """A row for each set: ``table``, ``distance``, ``freedom``, ``ratio``, ``p_value``, ``is_worse``."""
        import pandas as pd

        columns = {
            "table": [" × ".join(names) for names in self.names],
            "distance": self.distances,
            "freedom": self.freedoms,
            "ratio": self.distances / np.maximum(self.freedoms, 1),
            "p_value": self.p_values,
            "is_worse": self.is_worse,
        }
        return pd.DataFrame(columns)


def fit_quality(measured: MeasuredTables, components: Sequence[FloatArray]) -> FitQuality:
    """How well tables fit what was measured.

    Args:
        measured: what was measured.
        components: of the tables of each set, in the order of ``measured.tables``.
    """
    distances = [
        table.precision * float(((values - table.values) ** 2).sum()) if table.freedom else 0.0
        for table, values in zip(measured.tables, components, strict=True)
    ]
    names = measured.plan.domain.names
    sets = tuple(tuple(names[attribute] for attribute in members) for members in measured.plan.closure if members)
    freedoms = np.array([table.freedom for table in measured.tables], dtype=np.int64)
    return FitQuality(sets, frozen(np.array(distances)), frozen(freedoms))


def quality_of_records(measured: MeasuredTables, codes: IntArray, weights: FloatArray) -> FitQuality:
    """How well the tables of records fit what was measured.

    Args:
        measured: what was measured.
        codes (n, d): of the records' values.
        weights (n,): of the records.
    """
    layout, sizes = measured.layout, measured.plan.domain.sizes
    components = []
    for number, members in enumerate(measured.plan.closure):
        if members:
            shape = [sizes[attribute] for attribute in members]
            cells = np.ravel_multi_index([codes[:, attribute] for attribute in members], shape)
            table = np.bincount(cells, weights, int(np.prod(shape))).reshape(1, *shape)
            bases = layout.groups.bases[int(layout.groups.group[number])]
            components.append(components_of_counts(bases).apply(table)[0])
    return fit_quality(measured, components)
