"""Non-negative numbers, and integers made from these or from unbiased ones: as a release has them, and at workers."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from residualplanner.fits.nonnegative.components import answers_of, cell_kinds, measured_components, noise_like
from residualplanner.fits.nonnegative.facts import Facts, origin_of
from residualplanner.fits.nonnegative.integers import IntegerTables
from residualplanner.fits.nonnegative.table_map import reference_map
from residualplanner.gate.measurement.answers import Residuals
from residualplanner.gate.measurement.measurement import NoisyAnswers
from residualplanner.gate.measurement.noise_record import NoiseRecord, warning_of
from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.checks import FloatArray, frozen, is_integer, require_type, value_text
from residualplanner.ground.errors import ArgumentError, FileFormatError, WorkloadError
from residualplanner.ground.stores import AnyPath, local_file
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.release.batches import TableBatch
from residualplanner.release.devices import HOST, Device
from residualplanner.release.numbers import SENT, UNBIASED_NUMBERS, Estimates, Numbers, Simulation
from residualplanner.release.product import Origin, Product, unlimited
from residualplanner.release.reconstruct import reconstruct
from residualplanner.release.release import Release
from residualplanner.release.table import Table

#: What gives, from noisy answers and published ones, the tables of each draw of the noise around the latter, and how
#: far from 0 those are that are 0 but for rounding.
Draws = Callable[[NoisyAnswers, NoisyAnswers], Callable[[np.random.Generator], tuple[Estimates, float]]]
_REMEDY = "write rounded(nonnegative(release)), or rounded(release)"
#: The largest base.
_LARGEST_BASE = 10**9


@final
@dataclass(frozen=True, eq=False, slots=True)
class NonNegative(Numbers):
    """Numbers of which none is negative, and which agree with one another; they are biased.

    Standard errors of their tables are those of the unbiased estimates; intervals are those of them, too, cut at the
    counts that are possible.

    Attributes:
        gap: the tables are proved to be within this fraction of the nearest possible ones, in squared distance.
        steps: how many steps of the ascent were made after its start; 0 where that was the solution already.
        facts: the public facts from other sources that they were made with.
        residuals: the answers that their tables follow from.
        least: numbers no further than this from 0 are 0, in counts.
        draws: makes them again with other noise.
    """

    gap: float
    steps: int
    facts: Facts
    residuals: Residuals
    least: float
    draws: Draws

    @property
    def product(self) -> Product:
        """Non-negative numbers."""
        return Product(is_nonnegative=True, facts=self.facts.statements)

    def of(self, measurement: NoisyAnswers, device: Device = HOST) -> "Cleared":
        """Those that follow from the answers."""
        del device
        return Cleared(UNBIASED_NUMBERS.of(measurement.with_residuals(self.residuals)), self.least)

    @property
    def about(self) -> Mapping[str, Any]:
        """What they are, and the hash of the answers."""
        return {"numbers": self.product.to_json(), "adjusted_sha256": _hash_of(self.residuals.values)}

    def sent(self, folder: AnyPath) -> "SentNumbers":
        """The same with the answers in a file."""
        values, path = self.residuals.values, folder / f"adjusted{SENT}"
        with write_atomically(path) as file:
            np.save(file, values, allow_pickle=False)
        return SentNumbers(self.product, path, _hash_of(values), self.least)

    def origin(self, unbiased: Table) -> Origin:
        """The unbiased estimates, and which counts the facts leave possible."""
        return origin_of(unbiased, self.facts)

    def simulation(self, measurement: NoisyAnswers) -> Simulation:
        """Non-negative tables made again from noise around these."""
        drawn = self.draws(measurement, measurement.with_residuals(self.residuals))
        return Simulation(self.of(measurement), lambda generator: Cleared(*drawn(generator)))

    def words(self, noise: NoiseRecord) -> str:
        """How near they are to the nearest ones."""
        return f": non-negative, gap {self.gap:.1e}{warning_of(noise)}"


@final
@dataclass(frozen=True, slots=True)
class SentNumbers(Numbers):
    """Non-negative numbers at a worker: their answers are in a file of this library's own."""

    sort: Product  # what they are
    path: AnyPath  # of the answers
    sha256: str  # of their bytes; a worker that finds others stops
    least: float  # as of `NonNegative`

    @property
    def product(self) -> Product:
        """What they are."""
        return self.sort

    def of(self, measurement: NoisyAnswers, device: Device = HOST) -> "Cleared":
        """Those that follow from the answers, which are mapped; FileFormatError where they were altered."""
        del device
        with local_file(self.path) as file:
            values: FloatArray = np.load(file, mmap_mode="r", allow_pickle=False)
        if _hash_of(values) != self.sha256:
            raise FileFormatError(f"{self.path} was altered while parts were written; save the release again")
        residuals = Residuals(measurement.residuals.groups, values)
        return Cleared(UNBIASED_NUMBERS.of(measurement.with_residuals(residuals)), self.least)


@final
@dataclass(frozen=True, eq=False, slots=True)
class Cleared:
    """Estimates, of which those that are 0 but for rounding, no further than ``least`` from it, are 0."""

    made: Estimates
    least: float

    def estimate(self, query: WrittenQuery) -> FloatArray:
        """The numbers of one table."""
        return self._cleared(self.made.estimate(query))

    def chunks(self, first: int, last: int) -> Iterator[list[TableBatch]]:
        """The tables of the queries from one number on up to another, in runs of these."""
        for batches in self.made.chunks(first, last):
            yield [replace(batch, estimates=self._cleared(batch.estimates)) for batch in batches]

    def _cleared(self, estimates: FloatArray) -> FloatArray:
        return frozen(np.where(np.abs(estimates) <= self.least, 0.0, estimates))


@final
@dataclass(frozen=True, slots=True)
class Rounded(Numbers):
    """Integers that add up, made from other numbers table by table.

    A table agrees with the total, with the table of each of its attributes alone, and with the table of all of them but
    the first, in the order of the domain.  Tables of two attributes therefore agree with all that they have in common
    with others.  Tables of three or more attributes that share two need not agree on these.

    Every cell is one of the two integers next to the number that it was made from, unless the tables that it must agree
    with leave none such.

    Attributes:
        source: what they are made from, unbiased or non-negative.
        base: all are multiples of it; the two next to a number are meant where this says integers.
    """

    source: Numbers
    base: int = 1

    @property
    def product(self) -> Product:
        """Integers, or multiples of the base."""
        made = self.source.product
        return made if made.is_rounded else replace(made, is_rounded=True, base=self.base)

    def of(self, measurement: NoisyAnswers, device: Device = HOST) -> IntegerTables:
        """Those that follow from the numbers of a measurement."""
        return self._made_from(self.source.of(measurement, device), measurement)

    @property
    def about(self) -> Mapping[str, Any]:
        """What they are, and what they are made from."""
        return {**self.source.about, "numbers": self.product.to_json()}

    def sent(self, folder: AnyPath) -> "Rounded":
        """The same, made from numbers that can be sent."""
        return replace(self, source=self.source.sent(folder))

    def origin(self, unbiased: Table) -> Origin:
        """That of the numbers that they are made from; of unbiased ones these themselves."""
        return self.source.origin(unbiased) or unlimited(unbiased.estimate)

    def simulation(self, measurement: NoisyAnswers) -> Simulation:
        """Integers made again from noise around the tables before rounding, which serve as the truth."""
        is_first = self.source.product.is_unbiased
        center, draw = unbiased_simulation(measurement) if is_first else self.source.simulation(measurement)
        return Simulation(center, lambda generator: self._made_from(draw(generator), measurement))

    def _made_from(self, source: Estimates, measurement: NoisyAnswers) -> IntegerTables:
        return IntegerTables(measurement.plan, source.estimate, self.base, self.product.is_nonnegative)


def _hash_of(values: FloatArray) -> str:
    return hashlib.sha256(values.view(np.uint8).data).hexdigest()  # tobytes() would copy what is mapped


def unbiased_simulation(measurement: NoisyAnswers) -> Simulation:
    """Unbiased tables with other noise."""
    layout = reference_map(measurement.plan).own
    center, variances = measured_components(layout, measurement), measurement.plan.noise_variances

    def draw(generator: np.random.Generator) -> Estimates:
        noisy = answers_of(layout, center + noise_like(layout, variances, generator))
        return Release(measurement.with_residuals(noisy)).estimates

    return Simulation(UNBIASED_NUMBERS.of(measurement), draw)


def rounded(release: Release, *, base: int = 1) -> Release:
    """The tables of a release as integers that add up, table by table; see `Rounded` for what agrees.

    Args:
        release: from `reconstruct` or `nonnegative`; the integers of the latter are non-negative.  Or the folder of
            unbiased tables, as `load_tables` opens it, whose measurement is used.
        base: the integers are multiples of this, 1 or more: 5 is for numbers that end in 0 or 5.

    Returns:
        The tables, by the same queries.  Prefix sums, ranges and other sums are those of the integers.

    Raises:
        ArgumentError: ``release`` is none of these, or rounded already, or ``base`` no positive integer.
        FileFormatError: the measurement in the folder is missing or was altered.
        WorkloadError: the tables of the folder are not unbiased; or what was measured of an attribute does not
            determine counts, only sums that overlap.

    Guarantees: post-processing; it costs no budget.  The same release gives the same integers, in any order of look-up.
    Cost: for a table of two attributes or more a linear program with a variable for each number that is no integer.
    Source: eq. (57).

    Example:
        >>> import numpy as np
        >>> from residualplanner import Domain, Workload, measure, nonnegative, reconstruct, select, zcdp
        >>> plan = select(Workload(Domain({"a": 2, "b": 3}), [("a", "b")]), budget=zcdp(1))
        >>> tables = rounded(nonnegative(reconstruct(measure(plan, np.zeros((20, 2), dtype=int))), known={(): 20}))
        >>> int(tables["a", "b"].estimate.sum()), tables["a", "b"].product.name
        (20, 'non-negative rounded')
    """
    require_type("rounded", "release", release, Release, _REMEDY)
    if release.numbers.folder is not None:
        if not release.product.is_unbiased:  # others may be meant to be rounded as they are
            raise WorkloadError(
                f"the tables of {release.numbers.folder} are {release.product.name}; write "
                "rounded(nonnegative(tables)) for non-negative integers, or rounded(reconstruct(tables))"
            )
        release = reconstruct(release)
    if release.product.is_rounded:
        raise ArgumentError(f"rounded: release is {release.product.name} already; {_REMEDY}")
    require_base(base)
    require_roundable(release.plan)
    return Release(release.measurement, Rounded(release.numbers, int(base)))


def require_base(base: object) -> None:
    """Raise ArgumentError unless numbers can be rounded to multiples of ``base``."""
    if not is_integer(base, least=1) or base > _LARGEST_BASE:
        raise ArgumentError(
            f"rounded: base must be an integer from 1 to {_LARGEST_BASE:,}, got {value_text(base)}; write "
            "rounded(release, base=5)"
        )


def require_roundable(plan: Plan) -> None:
    """Raise WorkloadError where what is measured of an attribute determines no counts, DomainError where of amounts."""
    plan.domain.require_no_amounts("rounded tables are of integers")
    pairs = zip(plan.domain.names, plan.strategy.of_attributes, cell_kinds(plan), strict=True)
    # With the total, q answers determine q + 1 cells, which are counts of groups if each value is in just one of them.
    vague = [
        name
        for name, basis, kind in pairs
        if kind.rows(basis.size) != basis.answers + 1 or not (kind.sparse_rows(basis.size).sum(axis=0) == 1).all()
    ]
    if vague:
        raise WorkloadError(
            f"what was measured of {vague} determines no counts, only sums that overlap; add a query for its values to "
            "the workload, plan and measure again"
        )
