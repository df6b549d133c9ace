"""Tables of integers that add up, table by table.

Reads: a release.  Gives: RoundedRelease.  Costs no privacy budget.

The integers of a set of attributes are made from those of smaller sets: of its first attribute alone, and of the others
together.  They agree with both.
Source: spec eq. (57).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner._atomic import PathLike
from residualplanner._checks import FloatArray, frozen, require_type, value_text
from residualplanner.errors import ArgumentError, WorkloadError, memory_for
from residualplanner.measurement import NoiseStatement, Progress
from residualplanner.plan import Plan
from residualplanner.postprocessing.cells import cell_kinds, determines_counts
from residualplanner.postprocessing.controlled import apportioned, rounded_matrix
from residualplanner.postprocessing.nonnegative import NonNegativeRelease
from residualplanner.postprocessing.published_errors import PublishedErrors
from residualplanner.postprocessing.saving import SavingOptions, save_made
from residualplanner.queries import Identity, Kind, answered_jointly
from residualplanner.reconstruction import (
    FormatName,
    Product,
    ProfileName,
    Publication,
    Quality,
    Release,
    Table,
    TableBatch,
    Tables,
    unlimited,
)
from residualplanner.workload import WrittenQuery, query_of, written_query

#: How many tables of integers are kept for others that must agree with them.
_KEPT = 4096
#: The largest base.
_LARGEST_BASE = 10**9


@dataclass(frozen=True, eq=False, repr=False)
class RoundedRelease(Tables):
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
    _kinds: tuple[Kind, ...] = field(init=False)
    _integers: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_kinds", cell_kinds(self.plan))
        object.__setattr__(self, "_integers", lru_cache(_KEPT)(self._new_integers))

    @property
    def plan(self) -> Plan:
        """What was measured, with how much noise."""
        return self.source.plan

    @property
    def noise(self) -> NoiseStatement:
        """How the noise was drawn."""
        return self.source.noise

    @property
    def product(self) -> Product:
        """What the numbers are."""
        return self.source.product.rounded_to(self.base)

    def __repr__(self) -> str:
        return f"<RoundedRelease of {len(self):,} tables: {self.product.name}>"

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
        for number, table in enumerate(self.tables()):
            numbers, positions = np.array([number]), np.array([table.positions], dtype=np.int32).reshape(1, -1)
            yield TableBatch(numbers, positions, table.kinds, table.estimate[None])

    def save(  # noqa: PLR0913
        self,
        folder: PathLike,
        format: FormatName = "parquet",
        *,
        profile: ProfileName = "default",
        level: float | None = None,
        with_unbiased: bool = False,
        errors: PublishedErrors | None = None,
        quality: Quality | None = None,
        publication: Publication | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Write all tables of the workload to a new folder, as `NonNegativeRelease.save` does.

        The column of estimates holds integers; its name ends with ``_rounded`` or ``_nonneg_rounded``.
        """
        chosen = SavingOptions(format, profile, level, quality, publication, with_unbiased, errors)
        save_made(self, self.tables(progress), folder, chosen)

    def _require(self, query: WrittenQuery) -> None:
        self.source._require(query)

    @memory_for("for a table of integers of this size; query a smaller one, or use a machine with more memory")
    def _table(self, query: WrittenQuery) -> Table:
        domain, (positions, kinds) = self.plan.domain, query.in_domain_order
        several = tuple(position for position in positions if domain.sizes[position] > 1)
        counts = self._by_value(several).reshape([domain.sizes[position] for position in positions])
        for axis, kind in enumerate(kinds):
            if not kind.is_identity:
                counts = kind.apply(counts, axis)
        counts = answered_jointly(counts, kinds)
        source = self.source._table(query)
        multiples = np.asarray(self.base * np.rint(counts))
        origin = source.origin or unlimited(source.estimate)
        return Table(self.plan, *query, frozen(multiples.transpose(query.axes)), self.product, origin)

    def _by_value(self, attributes: tuple[int, ...]) -> FloatArray:
        """The integers of a set by value; where only groups of values are known, all on the first of each group."""
        counts: FloatArray = self._integers(attributes)
        for axis, attribute in enumerate(attributes):
            kind, size = self._kinds[attribute], self.plan.domain.sizes[attribute]
            if kind != Identity():
                firsts = kind.matrix(size).argmax(axis=1)
                whole = np.zeros((*counts.shape[:axis], size, *counts.shape[axis + 1 :]))
                whole[(slice(None),) * axis + (firsts,)] = counts
                counts = whole
        return counts

    def _new_integers(self, attributes: tuple[int, ...]) -> FloatArray:
        """The numbers of the cells of a set of several values each, in units of the base.  Source: spec eq. (57)."""
        numbers = self._numbers(attributes) / self.base
        if not attributes:
            return frozen(np.asarray(np.rint(numbers)))
        if len(attributes) == 1:
            return frozen(apportioned(numbers, float(self._integers(()))))
        first, rest = self._integers(attributes[:1]), self._integers(attributes[1:])
        matrix = rounded_matrix(numbers.reshape(len(first), -1), first, rest.ravel())
        return frozen(matrix.reshape(numbers.shape))

    def _numbers(self, attributes: tuple[int, ...]) -> FloatArray:
        domain = self.plan.domain
        query = query_of(domain, attributes, [self._kinds[attribute] for attribute in attributes])
        numbers: NDArray[np.float64] = self.source._table(written_query(domain, query)).estimate
        return numbers


def rounded(release: Release | NonNegativeRelease, *, base: int = 1) -> RoundedRelease:
    """The tables of a release as integers that add up, table by table; see `RoundedRelease` for what agrees.

    Args:
        release: from `reconstruct` or `nonnegative`; the integers of the latter are non-negative.
        base: the integers are multiples of this, 1 or more: 5 is for numbers that end in 0 or 5.

    Returns:
        The tables, by the same queries.  Prefix sums, ranges and other sums are those of the integers.

    Raises:
        ArgumentError: ``release`` is neither, or ``base`` no positive integer.
        WorkloadError: what was measured of an attribute does not determine counts, only sums that overlap.

    Guarantees: post-processing; it costs no budget.  The same release gives the same integers, in any order of look-up.
    Cost: for a table of two attributes or more a linear program with a variable for each number that is no integer.
    Source: spec eq. (57).

    Example:
        >>> from residualplanner import Domain, Workload, measure, nonnegative, reconstruct, select, zcdp
        >>> plan = select(Workload(Domain({"a": 2, "b": 3}), [("a", "b")]), budget=zcdp(1))
        >>> tables = rounded(nonnegative(reconstruct(measure(plan, np.zeros((20, 2), dtype=int))), known={(): 20}))
        >>> int(tables["a", "b"].estimate.sum()), tables["a", "b"].product.name
        (20, 'non-negative rounded')
    """
    remedy = "write rounded(nonnegative(release)), or rounded(release)"
    require_type("rounded", "release", release, (Release, NonNegativeRelease), remedy)
    require_base(base)
    require_roundable(release.plan)
    return RoundedRelease(release, base)


def require_base(base: object) -> None:
    """Raise ArgumentError unless numbers can be rounded to multiples of ``base``."""
    if isinstance(base, bool) or not isinstance(base, int) or not 1 <= base <= _LARGEST_BASE:
        raise ArgumentError(
            f"rounded: base must be an integer from 1 to {_LARGEST_BASE:,}, got {value_text(base)}; write "
            "rounded(release, base=5)"
        )


def require_roundable(plan: Plan) -> None:
    """Raise WorkloadError where what a plan measures of an attribute determines no counts that could be rounded."""
    pairs = zip(plan.domain.names, plan.strategy.of_attributes, cell_kinds(plan), strict=True)
    vague = [name for name, basis, kind in pairs if not determines_counts(kind, basis)]
    if vague:
        raise WorkloadError(
            f"what was measured of {vague} determines no counts, only sums that overlap; add a query for its values to "
            "the workload, plan and measure again"
        )
