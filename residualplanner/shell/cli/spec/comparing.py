"""The comparisons of a spec: checked against a plan before anything is measured, and made of its release."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from residualplanner.ground.errors import WorkloadError
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.query import QueryLike, WrittenQuery, written_query
from residualplanner.publish.saving import load_tables
from residualplanner.release import comparisons
from residualplanner.release.comparisons import ComparedTable, RankTable
from residualplanner.release.heading import Heading
from residualplanner.release.numbers import UNBIASED_NUMBERS
from residualplanner.release.product import UNBIASED, Provenance
from residualplanner.release.reconstruct import reconstruct
from residualplanner.release.regressions import correlation, correlation_queries, regression, regression_queries
from residualplanner.release.release import Release
from residualplanner.shell.cli.spec.file import SpecFile
from residualplanner.shell.cli.spec.objects import located, query_of_spec
from residualplanner.shell.cli.spec.output_tables import ComparisonTable


class _Maker(Protocol):
    """How a comparison is made."""

    def require_fit(self, plan: Plan) -> None:
        """Raise an error where it cannot be made of releases of the plan."""

    def of(self, release: Release, level: float) -> ComparedTable | RankTable:
        """The comparison, of the unbiased tables of a release."""


@dataclass(frozen=True, slots=True)
class _OfTables:
    """A table beside another one, or by itself."""

    make: Callable[..., ComparedTable | RankTable]
    query: QueryLike
    other: QueryLike | None = None  # that of the table that it is compared with, if any
    folder: Path | None = None  # of another release, which has that table
    options: Mapping[str, Any] = field(default_factory=dict)

    def require_fit(self, plan: Plan) -> None:
        one = _heading(plan, self.query)
        if self.other is None:
            comparisons.require_rankable(one)
        else:
            other = plan if self.folder is None else reconstruct(load_tables(self.folder)).plan
            comparisons.require_comparable(one, _heading(other, self.other))

    def of(self, release: Release, level: float) -> ComparedTable | RankTable:
        tables = [release.unbiased[self.query]]
        if self.other is not None:
            other = release.unbiased if self.folder is None else reconstruct(load_tables(self.folder))
            tables.append(other[self.other])
        return self.make(*tables, level=level, **self.options)


@dataclass(frozen=True, slots=True)
class _OfMoments:
    """A correlation or a regression."""

    make: Callable[..., ComparedTable]
    queries: Callable[..., list[dict[str, Kind]]]  # that it is made of
    arguments: tuple[Any, ...]  # of both, after the release or the domain

    def require_fit(self, plan: Plan) -> None:
        for query in self.queries(plan.domain, *self.arguments):
            _heading(plan, query)

    def of(self, release: Release, level: float) -> ComparedTable:
        return self.make(release.unbiased, *self.arguments, level=level)


@dataclass(frozen=True, slots=True)
class WantedComparison:
    """A comparison that a release is to have."""

    where: str  # in the spec
    name: str
    maker: _Maker

    def require_fit(self, plan: Plan) -> None:
        """Raise an error, which names the entry, where the comparison cannot be made of releases of the plan."""
        with located(self.where):
            self.maker.require_fit(plan)

    def of(self, release: Release, level: float) -> ComparedTable | RankTable:
        """The comparison, of the unbiased tables of a release."""
        with located(self.where):
            return self.maker.of(release, level)


def wanted_comparisons(spec: SpecFile) -> tuple[WantedComparison, ...]:
    """The comparisons of a spec, each with the queries that it is about; WorkloadError for two of one name."""
    tables = spec.output.comparisons
    names = [table.name.lower() for table in tables]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise WorkloadError(f"{_place(number)}: an earlier one is called {name!r}, too; names are those of files")
    return tuple(_wanted(table, _place(number), spec) for number, table in enumerate(tables))


def _place(number: int) -> str:
    return f"[[output.comparisons]] number {number + 1}"


def _wanted(table: ComparisonTable, where: str, spec: SpecFile) -> WantedComparison:
    return WantedComparison(where, table.name, _MAKERS[table.kind](table, where, spec))


def _correlation(table: ComparisonTable, where: str, spec: SpecFile) -> _Maker:
    assert table.of is not None  # so the table has been checked
    arguments = *table.of, query_of_spec(table.by or [], {}, where, spec=spec)
    return _OfMoments(correlation, correlation_queries, arguments)


def _regression(table: ComparisonTable, _where: str, _spec: SpecFile) -> _Maker:
    assert table.outcome is not None
    assert table.on is not None
    return _OfMoments(regression, regression_queries, (table.outcome, table.on))


def _tables(make: Callable[..., ComparedTable | RankTable]) -> "Callable[[ComparisonTable, str, SpecFile], _Maker]":
    def made(table: ComparisonTable, where: str, spec: SpecFile) -> _Maker:
        given = {"factor": table.factor, "simultaneous": table.simultaneous}
        options = {name: value for name, value in given.items() if value is not None}
        assert table.query is not None
        query = query_of_spec(table.query, {}, where, spec=spec, universe=table.where)
        if table.to is None:
            return _OfTables(make, query, options=options)
        to = table.to
        universe = to.where if to.query is not None or to.where else table.where
        other = query_of_spec(table.query if to.query is None else to.query, {}, where, spec=spec, universe=universe)
        folder = None if to.release is None else spec.path.parent / to.release
        return _OfTables(make, query, other, folder, options)

    return made


_MAKERS: Mapping[str, Callable[[ComparisonTable, str, SpecFile], _Maker]] = {
    "difference": _tables(comparisons.difference),
    "ratio": _tables(comparisons.ratio),
    "change": _tables(comparisons.change),
    "ranks": _tables(comparisons.ranks),
    "correlation": _correlation,
    "regression": _regression,
}


def _heading(plan: Plan, query: QueryLike) -> Heading:
    """What the table of a query is about; errors as of a release that does not answer it."""
    written: WrittenQuery = written_query(plan.domain, query)
    UNBIASED_NUMBERS.require(plan, written)
    return Heading(*written, Provenance(plan, UNBIASED))
