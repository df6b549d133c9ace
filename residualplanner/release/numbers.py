"""What the numbers of a release are, and how its tables follow from noisy answers: here, and at workers.

Unbiased estimates are here; those that are made from them, and those that stand in files, come from later rings.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, final

import numpy as np

from residualplanner.gate.measurement.measurement import NoisyAnswers
from residualplanner.gate.measurement.noise_record import NoiseRecord, warning_of
from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import ArgumentError, WorkloadError
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.method.workload.workload import Workload
from residualplanner.release.batches import TableBatch, UnbiasedEstimates
from residualplanner.release.devices import HOST, Device
from residualplanner.release.product import UNBIASED, Origin, Product
from residualplanner.release.stacks import Reconstructor
from residualplanner.release.table import Table

if TYPE_CHECKING:
    from residualplanner.ground.stores import AnyPath

#: What the names of files for workers end with; they are removed before a release is complete.
SENT = ".sent"


class Estimates(Protocol):
    """The numbers of the tables of one measurement."""

    def estimate(self, query: WrittenQuery) -> FloatArray:
        """The numbers of one table, with an axis for each attribute, in the order in which the query is written."""

    def chunks(self, first: int, last: int) -> Iterator[list[TableBatch]]:
        """The tables of the queries from one number on up to another, in runs of these."""


class Simulation(NamedTuple):
    """Numbers made again from noise around published ones."""

    center: Estimates  # the numbers that serve as the truth
    draw: Callable[[np.random.Generator], Estimates]  # gives the numbers that one draw of the noise leads to


class Numbers(ABC):
    """What the numbers of a release are: unbiased, made from unbiased ones, or saved in a folder."""

    @property
    @abstractmethod
    def product(self) -> Product:
        """What they are, and what their errors are known from."""

    @abstractmethod
    def of(self, measurement: NoisyAnswers, device: Device = HOST) -> Estimates:
        """Those that follow from a measurement; unbiased ones are computed on the device."""

    @property
    def about(self) -> Mapping[str, Any]:
        """What tells them from other numbers of the same measurement, as JSON values."""
        return {}

    def sent(self, folder: "AnyPath") -> "Numbers":
        """The same to be pickled, whose arrays are in files in a folder that workers see; these end in `SENT`."""
        del folder
        return self

    def origin(self, unbiased: Table) -> Origin | None:
        """What a table of them was made from, given that of the unbiased estimates; None where it is not known."""
        del unbiased
        return None

    def simulation(self, measurement: NoisyAnswers) -> Simulation:
        """Numbers made again, as these were, from noise around them; ArgumentError for others."""
        del measurement
        where = "" if self.folder is None else f", from {self.folder}"
        what = f"errors are simulated for numbers that were made here from unbiased ones, and not {self.product.name}"
        raise ArgumentError(f"{what}{where}; write published_errors(nonnegative(release)), or release.plan.errors()")

    def words(self, noise: NoiseRecord) -> str:
        """What a console shows of a release of them, after how many tables it has."""
        return f": {self.product.name}{warning_of(noise)}"

    def require(self, plan: Plan, query: WrittenQuery) -> None:
        """Raise WorkloadError unless there is a table for the query."""
        positions, kinds = query
        if plan.closure.position_of(sorted(positions)) < 0:
            names = tuple(plan.domain.names[position] for position in positions)
            raise WorkloadError(
                f"the release does not answer {names!r}: it is not part of a query of the workload; add it, plan and "
                "measure again"
            )
        for position, kind in zip(positions, kinds, strict=True):
            if not plan.strategy.of_attributes[position].spans(kind):
                raise WorkloadError(
                    f"what was measured of {plan.domain.names[position]!r} does not answer {kind.name}; add a "
                    "query of this kind to the workload, plan and measure again"
                )

    @property
    def folder(self) -> "AnyPath | None":
        """Where they are saved."""
        return None

    @property
    def parts(self) -> Sequence[int] | None:
        """The numbers of the parts that are in the folder, where it has not all of them."""
        return None


@final
@dataclass(frozen=True, slots=True)
class Unbiased(Numbers):
    """Unbiased estimates, as they follow from the answers.  Source: eqs. (13) and (25)."""

    @property
    def product(self) -> Product:
        """Unbiased estimates."""
        return UNBIASED

    def of(self, measurement: NoisyAnswers, device: Device = HOST) -> "UnbiasedEstimates":
        """Those of a measurement."""
        return UnbiasedEstimates(Reconstructor(measurement, device), measurement.plan.workload)

    def words(self, noise: NoiseRecord) -> str:
        """How the noise was drawn."""
        return f": {noise.kind}, {noise.randomness}"


UNBIASED_NUMBERS = Unbiased()


def one_by_one(
    workload: Workload, estimate: Callable[[WrittenQuery], FloatArray], first: int, last: int
) -> Iterator[list[TableBatch]]:
    """The tables of a run of queries, each as a batch of its own, for numbers that are made or read one by one."""
    for number in range(first, last):
        query = workload.query_at(number)
        positions = np.array([query.positions], dtype=np.int32).reshape(1, -1)
        yield [TableBatch(np.array([number]), positions, query.kinds, estimate(query)[None])]
