"""The noise of a plan, by attribute names."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import BudgetError, DomainError
from residualplanner.ground.html import ROWS, caption_of, html_table, rest_note
from residualplanner.ground.words import JOIN, TOTAL, number_text
from residualplanner.method.domain.domain import Domain
from residualplanner.method.workload.closure import Closure


def checked_noise(values: ArrayLike, sets: int) -> FloatArray:
    """The noise variances of so many sets, (m,), read-only.

    Raises:
        BudgetError: there are more or fewer, or one is not positive and finite.
    """
    noise = frozen(np.array(values, dtype=np.float64))
    if noise.shape != (sets,):
        raise BudgetError(f"one noise variance for each of {sets} sets, got shape {noise.shape}")
    if not (np.isfinite(noise) & (noise > 0)).all():
        raise BudgetError("noise variances must be positive and finite; the budget or the loss is out of range")
    return noise


@dataclass(frozen=True, eq=False)
class NoiseVariances(Mapping[tuple[str, ...], float]):
    """The noise variance of every base mechanism: a mapping from attribute names, in any order, to counts squared.

    Attributes:
        domain: the schema.
        closure: the attribute sets.
        array (m,): their noise variances, in the closure's order.
    """

    domain: Domain
    closure: Closure
    array: FloatArray

    def __getitem__(self, names: str | Iterable[str]) -> float:
        if not isinstance(names, Iterable):
            raise KeyError(names)
        positions = self.domain.positions((names,) if isinstance(names, str) else names)
        found = self.closure.position_of(positions)
        if found < 0 or len(self.closure[found]) != len(positions):
            raise KeyError(names)
        return float(self.array[found])

    def __contains__(self, names: object) -> bool:
        try:
            self[names]  # type: ignore[index]
        except (KeyError, DomainError):
            return False
        return True

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        for members in self.closure:
            yield tuple(self.domain.names[position] for position in members)

    def __len__(self) -> int:
        return len(self.closure)

    def __repr__(self) -> str:
        return f"<noise variances of {len(self):,} attribute sets>"

    def _repr_html_(self) -> str:
        rows = [(JOIN.join(names) or TOTAL, number_text(value)) for names, value in islice(self._pairs, ROWS)]
        note = rest_note(len(self) - len(rows), "iterate over it for all")
        return html_table(caption_of(self), ["attribute set", "noise variance"], rows, note=note)

    @property
    def _pairs(self) -> Iterator[tuple[tuple[str, ...], float]]:
        return zip(self, map(float, self.array), strict=True)
