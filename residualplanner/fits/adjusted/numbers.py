"""The numbers of adjusted tables as they go to parts, here and at workers.

Reads: noisy answers, adjusted answers.  Gives: numbers of whole runs of tables, and of single ones.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

import numpy as np

from residualplanner.gate.measurement.answers import FloatResiduals
from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.ground.errors import FileFormatError
from residualplanner.ground.stores import AnyPath, local_file
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.publish.parts.numbers import SENT, UNBIASED_NUMBERS, PartNumbers, RunOfTables, UnbiasedNumbers
from residualplanner.release.batches import TableBatch
from residualplanner.release.product import Product
from residualplanner.release.release import Release

#: Gives the estimates of a query's table, its axes in the order in which the query is written.
Lookup = Callable[[WrittenQuery], FloatArray]


class LookedUp(PartNumbers, Protocol):
    """Numbers of which single tables can be looked up, for others that are made from them."""

    def lookup(self, measurement: NoisyAnswers) -> Lookup:
        """The estimates of single tables, from the measurement."""
        ...

    def sent(self, folder: AnyPath) -> "LookedUp":
        """As `PartNumbers.sent`."""
        ...


@final
@dataclass(frozen=True, slots=True)
class UnbiasedLookup(UnbiasedNumbers):
    """Unbiased estimates, of which single tables can be looked up."""

    def lookup(self, measurement: NoisyAnswers) -> Lookup:
        """The estimates of single tables."""
        release = Release(measurement)
        return lambda query: release._table(query).estimate


class Answers(Protocol):
    """Residual answers, in memory or in a file."""

    @property
    def sha256(self) -> str:
        """The hash of their bytes."""
        ...

    def read(self) -> FloatArray:
        """The answers (r,)."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class AdjustedAnswers:
    """Adjusted answers in memory.

    Attributes:
        values (r,): in counts.
    """

    values: FloatArray

    @property
    def sha256(self) -> str:
        """The hash of their bytes."""
        return _hash_of(self.values)

    def read(self) -> FloatArray:
        """The answers (r,)."""
        return self.values


@dataclass(frozen=True, slots=True)
class AdjustedAnswersFile:
    """Adjusted answers in a file of this library's own, for its workers.

    Attributes:
        path: where they are.
        sha256: of their bytes; a worker that finds others stops.
    """

    path: AnyPath
    sha256: str

    def read(self) -> FloatArray:
        """The answers (r,), mapped.

        Raises:
            FileFormatError: they are not the ones that were written.
        """
        with local_file(self.path) as file:
            values: FloatArray = np.load(file, mmap_mode="r", allow_pickle=False)
        if _hash_of(values) != self.sha256:
            raise FileFormatError(f"{self.path} was altered while parts were written; save the release again")
        return values


@dataclass(frozen=True, slots=True)
class AdjustedNumbers:
    """Numbers that follow from adjusted answers, of which those that are 0 but for rounding are 0.

    Attributes:
        product: what they are.
        answers: all residual answers, adjusted.
        least: numbers no further than this from 0 are 0, in counts.
    """

    product: Product
    answers: Answers
    least: float

    @property
    def with_unbiased(self) -> bool:
        """They stand alone."""
        return False

    @property
    def about(self) -> Mapping[str, Any]:
        """What they are, and the hash of the answers."""
        return {"numbers": self.product.to_json(), "adjusted_sha256": self.answers.sha256}

    def tables_of(self, measurement: NoisyAnswers) -> RunOfTables:
        """The tables of a run of queries, from the measurement.  Source: eqs. (13) and (25)."""
        run = UNBIASED_NUMBERS.tables_of(self._adjusted(measurement))

        def finished(first: int, last: int) -> Iterator[TableBatch]:
            return (replace(batch, estimates=cleared(batch.estimates, self.least)) for batch in run(first, last))

        return finished

    def lookup(self, measurement: NoisyAnswers) -> Lookup:
        """The estimates of single tables, from the measurement."""
        release = Release(self._adjusted(measurement))
        return lambda query: cleared(release._table(query).estimate, self.least)

    def sent(self, folder: AnyPath) -> "AdjustedNumbers":
        """The same with its answers in a file."""
        found = AdjustedAnswersFile(folder / f"adjusted{SENT}", self.answers.sha256)
        with write_atomically(found.path) as file:
            np.save(file, self.answers.read(), allow_pickle=False)
        return replace(self, answers=found)

    def _adjusted(self, measurement: NoisyAnswers) -> NoisyAnswers:
        return measurement.with_residuals(FloatResiduals(measurement.residuals.groups, self.answers.read()))


def cleared(estimates: FloatArray, least: float) -> FloatArray:
    """Estimates, of which those that are 0 but for rounding, no further than ``least`` from it, are 0."""
    return frozen(np.where(np.abs(estimates) <= least, 0.0, estimates))


def _hash_of(values: FloatArray) -> str:
    return hashlib.sha256(values.view(np.uint8).data).hexdigest()
