"""What the numbers in parts are, and how they follow from noisy answers: here, and at workers.

Reads: noisy answers.  Gives: PartNumbers, of which the unbiased estimates are one sort; others come from later rooms.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Protocol, Self

from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.ground.stores import AnyPath
from residualplanner.release.batches import TableBatch, chunks
from residualplanner.release.product import UNBIASED, Product
from residualplanner.release.stacks import Reconstructor

#: Gives the tables of the queries from one number on up to another, as arrays.
RunOfTables = Callable[[int, int], Iterator[TableBatch]]


class PartNumbers(Protocol):
    """The numbers of the tables of a measurement; sent to workers, which make their parts with it."""

    @property
    def product(self) -> Product:
        """What the numbers are."""
        ...

    @property
    def with_unbiased(self) -> bool:
        """Whether the unbiased estimates of the measurement stand in a column beside them."""
        ...

    @property
    def about(self) -> Mapping[str, Any]:
        """What tells them from other numbers of the same measurement, as JSON values."""
        ...

    def tables_of(self, measurement: NoisyAnswers) -> RunOfTables:
        """The tables of a run of queries, from the measurement."""
        ...

    def sent(self, folder: AnyPath) -> "PartNumbers":
        """The same to be pickled, whose arrays are in files in a folder that workers see; these end in `SENT`."""
        ...


#: What the names of files for workers end with; they are removed before a release is complete.
SENT = ".sent"


@dataclass(frozen=True, slots=True)
class UnbiasedNumbers:
    """Unbiased estimates, as they follow from the answers."""

    @property
    def product(self) -> Product:
        """Unbiased estimates."""
        return UNBIASED

    @property
    def with_unbiased(self) -> bool:
        """They are these themselves."""
        return False

    @property
    def about(self) -> Mapping[str, Any]:
        """Nothing: they are those of the measurement."""
        return {}

    def tables_of(self, measurement: NoisyAnswers) -> RunOfTables:
        """The tables of a run of queries, from the measurement.  Source: eqs. (13) and (25)."""
        reconstructor, workload = Reconstructor(measurement), measurement.plan.workload
        return lambda first, last: chain.from_iterable(chunks(reconstructor, workload, first, last))

    def sent(self, folder: AnyPath) -> Self:
        """Itself: there is nothing to send but the measurement."""
        del folder
        return self


UNBIASED_NUMBERS = UnbiasedNumbers()


@dataclass(frozen=True, slots=True)
class BesideUnbiased:
    """Numbers made from unbiased estimates, with these in a column beside them.

    Attributes:
        numbers: the numbers by themselves.
    """

    numbers: PartNumbers

    @property
    def product(self) -> Product:
        """What the numbers are."""
        return self.numbers.product

    @property
    def with_unbiased(self) -> bool:
        """That is what this adds."""
        return True

    @property
    def about(self) -> Mapping[str, Any]:
        """That of the numbers, and that another column stands beside them."""
        return {**self.numbers.about, "with_unbiased": True}

    def tables_of(self, measurement: NoisyAnswers) -> RunOfTables:
        """The tables of the numbers, from the measurement."""
        return self.numbers.tables_of(measurement)

    def sent(self, folder: AnyPath) -> "BesideUnbiased":
        """The same with the arrays of the numbers in files."""
        return replace(self, numbers=self.numbers.sent(folder))
