"""How records are made of a mixture: controlled, spread evenly, as weighted copies, or independent of one another.

Source: docs/mathematics.md section 13; eq. (75); iterative proportional fitting, Deming and Stephan (1940).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from residualplanner.fits.mixtures.controlling import controlled_records
from residualplanner.fits.mixtures.mixture import Mixture
from residualplanner.fits.mixtures.records import even_records, independent_records, unreported
from residualplanner.fits.nonnegative.facts import Fact
from residualplanner.gate.measurement.blocks import require_room
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import FloatArray, IntArray, entry_named

#: Rounds over all tables, at most, and the largest error of a count, relative to all records, at which they end.
_ROUNDS, _EXACT = 200, 1e-12
#: The names of methods.
RoundingName = Literal["controlled", "sobol", "weighted", "independent"]


def raked_weights(codes: IntArray, weights: FloatArray, known: Sequence[Fact]) -> FloatArray:
    """The weights (n,) nearest to given ones in relative entropy with which records (n, d) have known tables of counts.

    A cell that no record is in stays empty.
    """
    cells, found = [], weights.copy()  # which cell of each known table each record is in
    for fact in known:
        own = np.zeros(len(codes), dtype=np.int64)
        for attribute, size in zip(fact.attributes, fact.counts.shape, strict=True):
            own = own * size + codes[:, attribute]
        cells.append(own)
    for _ in range(_ROUNDS):
        away = 0.0
        for fact, own in zip(known, cells, strict=True):
            wanted = fact.counts.ravel()
            now = np.bincount(own, found, len(wanted))
            away = max(away, float(np.abs(now - wanted)[now > 0].max(initial=0.0)))
            found *= np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)[own]
        if away <= _EXACT * max(float(weights.sum()), 1.0):
            break
    return found


@dataclass(frozen=True, slots=True)
class Rounding:
    """A way to make records of a mixture: their expected tables are the mixture's, unless they are controlled."""

    codes: Callable[..., IntArray]  # gives so many records (n, d) of a mixture, and reports how much is done
    entry_bytes: int  # about how many bytes each entry takes while so many records are made, or a little less
    copies: int = 1  # how many records are made for each that is wanted, each of a fraction of weight 1
    has_order: bool = False  # whether tables of three attributes can be controlled besides pairs

    @property
    def is_weighted(self) -> bool:
        """Whether records have weights other than 1."""
        return self.copies > 1

    def require_room(self, records: int, attributes: int) -> None:
        """Raise ResourceError where there is too little memory to make so many records of so many attributes."""
        require_room(
            float(records) * (attributes + 1) * self.copies * self.entry_bytes,
            f"{records:,} synthetic records take {{needed}} while they are made",
            "ask for fewer, or use a machine with more memory",
        )

    def draw(
        self, mixture: Mixture, records: int, generator: np.random.Generator, *, report: Progress = unreported
    ) -> tuple[IntArray, FloatArray]:
        """Codes (n, d) and weights (n,), which add up to ``records``."""
        count = self.copies * records
        return self.codes(mixture, count, generator, report=report), np.full(count, 1 / self.copies)

    def of_order(self, order: int) -> "Rounding":
        """The method for a mixture fitted to tables of so many attributes; of three are controlled where measured."""
        if not self.has_order:
            return self
        return replace(self, codes=partial(controlled_records, order=min(max(order, 2), 3)))


ROUNDINGS: dict[str, Rounding] = {
    "controlled": Rounding(controlled_records, 30, has_order=True),
    "sobol": Rounding(even_records, 18),
    "weighted": Rounding(even_records, 18, copies=4),
    "independent": Rounding(independent_records, 15),
}


def rounding_named(name: object) -> Rounding:
    """The method of this name, or WorkloadError."""
    return entry_named("method", name, ROUNDINGS)
