"""Tables of integers that add up, table by table.

Reads: a release.  Gives: RoundedRelease.  Costs no privacy budget.
Source: eq. (57).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from residualplanner.fits.adjusted.drawing import Simulation, unbiased_simulation
from residualplanner.fits.adjusted.integers import Integers, RoundedNumbers
from residualplanner.fits.adjusted.numbers import LookedUp, UnbiasedLookup
from residualplanner.fits.adjusted.release import AdjustedRelease
from residualplanner.fits.nonnegative.components import cell_kinds, determines_counts
from residualplanner.fits.nonnegative.nonnegative import NonNegativeRelease
from residualplanner.gate.measurement.combined import NoisyAnswers
from residualplanner.gate.measurement.noise_record import warning_of
from residualplanner.gate.sources.source import Progress
from residualplanner.ground.checks import is_integer, require_type, value_text
from residualplanner.ground.completion import hides
from residualplanner.ground.errors import ArgumentError, WorkloadError
from residualplanner.ground.words import count_text
from residualplanner.method.plan.plan import Plan
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.publish.files.reading import SavedTables
from residualplanner.publish.parts.reading import SavedParts
from residualplanner.release.batches import TableBatch
from residualplanner.release.origin import unlimited
from residualplanner.release.product import Product
from residualplanner.release.reconstruct import reconstruct
from residualplanner.release.release import Release
from residualplanner.release.table import Table

#: The largest base.
_LARGEST_BASE = 10**9


class Source(Protocol):
    """What integers are made from: the tables of a release, unbiased or adjusted."""

    @property
    def part_numbers(self) -> LookedUp:
        """Its numbers as parts hold them."""
        ...

    def simulation(self) -> Simulation[Release] | Simulation[NonNegativeRelease]:
        """The same made again from noise around its tables."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class UnbiasedSource:
    """The tables of an unbiased release, which is of an earlier room and knows neither of these two."""

    release: Release

    @property
    def part_numbers(self) -> LookedUp:
        """Its numbers as parts hold them."""
        return UnbiasedLookup()

    def simulation(self) -> Simulation[Release]:
        """The same with other noise."""
        return unbiased_simulation(self.release)


@hides("part_numbers", "simulation")
@dataclass(frozen=True, eq=False, repr=False)
class RoundedRelease(AdjustedRelease):
    """A mapping from queries to tables of integers that add up.

    A table agrees with the total, with the table of each of its attributes alone, and with the table of all of them but
    the first, in the order of the domain.  Tables of two attributes therefore agree with all that they have in common
    with others.  Tables of three or more attributes that share two need not agree on these.

    Every cell is one of the two integers next to the number that it was made from, unless the tables that it must agree
    with leave none such.

    Attributes:
        source: the release that it was made from.
        base: all numbers are multiples of it; the two next to a number are meant where this says integers.
    """

    source: Release | NonNegativeRelease
    base: int = 1
    _integers: Integers = field(init=False)

    def __post_init__(self) -> None:
        is_nonnegative = self.source.product.is_nonnegative
        numbers = Integers(self.plan, lambda query: self.source._table(query).estimate, self.base, is_nonnegative)
        object.__setattr__(self, "_integers", numbers)

    @property
    def measurement(self) -> NoisyAnswers:
        """The noisy answers that the unbiased tables follow from."""
        return self.source.measurement

    @property
    def part_numbers(self) -> RoundedNumbers:
        """Its numbers as parts hold them."""
        return RoundedNumbers(self._source.part_numbers, self.base)

    @property
    def _source(self) -> Source:
        return UnbiasedSource(self.source) if isinstance(self.source, Release) else self.source

    @property
    def product(self) -> Product:
        """What the numbers are."""
        return self.source.product.rounded_to(self.base)

    def __repr__(self) -> str:
        tables = count_text(len(self), "table")
        return f"<RoundedRelease of {tables}: {self.product.name}{warning_of(self.measurement.noise)}>"

    def tables(self, progress: Progress | None = None) -> Iterator[Table]:
        """The tables of all queries of the workload, in its order.

        Args:
            progress: called with the number of tables done and their total, after each.
        """
        for done, query in enumerate(self, start=1):
            yield self[query]
            if progress is not None:
                progress(done, len(self))

    def batches(self) -> Iterator[TableBatch]:
        """The tables of all queries of the workload as arrays, one at a time."""
        return map(self._integers.batch, range(len(self)))

    def simulation(self) -> "Simulation[RoundedRelease]":
        """Integers made again from noise around the tables before rounding, which serve as the truth."""
        inner = self._source.simulation()
        return Simulation(inner.center, lambda generator: replace(self, source=inner.draw(generator)))

    def _require(self, query: WrittenQuery) -> None:
        self.source._require(query)

    def _table(self, query: WrittenQuery) -> Table:
        source = self.source._table(query)
        origin = source.origin or unlimited(source.estimate)
        provenance = replace(source.provenance, product=self.product, origin=origin)
        return Table.of_answers(provenance, query, self._integers.table(query))


def rounded(release: Release | NonNegativeRelease | SavedTables | SavedParts, *, base: int = 1) -> RoundedRelease:
    """The tables of a release as integers that add up, table by table; see `RoundedRelease` for what agrees.

    Args:
        release: from `reconstruct` or `nonnegative`; the integers of the latter are non-negative.  Or the folder of
            unbiased tables, as `load_tables` opens it, whose measurement is used.
        base: the integers are multiples of this, 1 or more: 5 is for numbers that end in 0 or 5.

    Returns:
        The tables, by the same queries.  Prefix sums, ranges and other sums are those of the integers.

    Raises:
        ArgumentError: ``release`` is none of these, or ``base`` no positive integer.
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
    remedy = "write rounded(nonnegative(release)), or rounded(release)"
    if isinstance(release, SavedTables | SavedParts):
        release = _of_unbiased(release)
    require_type("rounded", "release", release, (Release, NonNegativeRelease), remedy)
    require_base(base)
    require_roundable(release.plan)
    return RoundedRelease(release, int(base))


def _of_unbiased(tables: SavedTables | SavedParts) -> Release:
    """The release of a folder whose tables are unbiased; others may be meant to be rounded as they are."""
    if not tables.product.is_unbiased:
        raise WorkloadError(
            f"the tables of {tables.folder} are {tables.product.name}; write rounded(nonnegative(tables)) for "
            "non-negative integers, or rounded(reconstruct(tables))"
        )
    return reconstruct(tables)


def require_base(base: object) -> None:
    """Raise ArgumentError unless numbers can be rounded to multiples of ``base``."""
    if not is_integer(base, least=1) or base > _LARGEST_BASE:
        raise ArgumentError(
            f"rounded: base must be an integer from 1 to {_LARGEST_BASE:,}, got {value_text(base)}; write "
            "rounded(release, base=5)"
        )


def require_roundable(plan: Plan) -> None:
    """Raise WorkloadError where what a plan measures of an attribute determines no counts that could be rounded.

    DomainError where the values of an attribute are amounts, which would be rounded to the ends of their bins.
    """
    plan.domain.require_no_amounts("rounded tables are of integers")
    pairs = zip(plan.domain.names, plan.strategy.of_attributes, cell_kinds(plan), strict=True)
    vague = [name for name, basis, kind in pairs if not determines_counts(kind, basis)]
    if vague:
        raise WorkloadError(
            f"what was measured of {vague} determines no counts, only sums that overlap; add a query for its values to "
            "the workload, plan and measure again"
        )
