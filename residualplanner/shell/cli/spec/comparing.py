"""The comparisons of a spec: checked against a plan before anything is measured, and made of its release."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

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

#: Raises an error where a comparison cannot be made of releases of a plan.
_Fit = Callable[[Plan], None]
#: Makes it, of the unbiased tables of a release, at a level.
_Make = Callable[[Release, float], ComparedTable | RankTable]


@dataclass(frozen=True, slots=True)
class WantedComparison:
    """A comparison that a release is to have."""

    where: str  # in the spec
    name: str
    fit: _Fit
    make: _Make

    def require_fit(self, plan: Plan) -> None:
        """Raise an error, which names the entry, where the comparison cannot be made of releases of the plan."""
        with located(self.where):
            self.fit(plan)

    def of(self, release: Release, level: float) -> ComparedTable | RankTable:
        """The comparison, of the unbiased tables of a release."""
        with located(self.where):
            return self.make(release, level)


def wanted_comparisons(spec: SpecFile) -> tuple[WantedComparison, ...]:
    """The comparisons of a spec, each with the queries that it is about; WorkloadError for two of one name."""
    tables = spec.output.comparisons
    names = [table.name.lower() for table in tables]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise WorkloadError(f"{_place(number)}: an earlier one is called {name!r}, too; names are those of files")
    return tuple(
        WantedComparison(_place(number), table.name, *_MAKERS[table.kind](table, _place(number), spec))
        for number, table in enumerate(tables)
    )


def _place(number: int) -> str:
    return f"[[output.comparisons]] number {number + 1}"


def _correlation(table: ComparisonTable, where: str, spec: SpecFile) -> tuple[_Fit, _Make]:
    assert table.of is not None  # so the table has been checked
    arguments = *table.of, query_of_spec(table.by or [], {}, where, spec=spec)
    return _moments(correlation, correlation_queries, *arguments)


def _regression(table: ComparisonTable, _where: str, _spec: SpecFile) -> tuple[_Fit, _Make]:
    return _moments(regression, regression_queries, table.outcome, table.on)


def _moments(
    make: Callable[..., ComparedTable], queries: Callable[..., list[dict[str, Kind]]], *arguments: Any
) -> tuple[_Fit, _Make]:
    """What is made of the tables of some queries, with arguments after the domain or the release."""

    def fit(plan: Plan) -> None:
        for query in queries(plan.domain, *arguments):
            _heading(plan, query)

    return fit, lambda release, level: make(release.unbiased, *arguments, level=level)


def _tables(
    make: Callable[..., ComparedTable | RankTable], table: ComparisonTable, where: str, spec: SpecFile
) -> tuple[_Fit, _Make]:
    """A table beside another one, which may be in the folder of another release, or by itself."""
    given = {"factor": table.factor, "simultaneous": table.simultaneous}
    options = {name: value for name, value in given.items() if value is not None}
    assert table.query is not None
    query, to = query_of_spec(table.query, {}, where, spec=spec, universe=table.where), table.to
    if to is None:
        return (
            lambda plan: comparisons.require_rankable(_heading(plan, query)),
            lambda release, level: make(release.unbiased[query], level=level, **options),
        )
    universe = to.where if to.query is not None or to.where else table.where
    other = query_of_spec(table.query if to.query is None else to.query, {}, where, spec=spec, universe=universe)
    folder = None if to.release is None else spec.path.parent / to.release

    def fit(plan: Plan) -> None:
        compared = plan if folder is None else reconstruct(load_tables(folder)).plan
        comparisons.require_comparable(_heading(plan, query), _heading(compared, other))

    def made(release: Release, level: float) -> ComparedTable | RankTable:
        compared = release.unbiased if folder is None else reconstruct(load_tables(folder))
        return make(release.unbiased[query], compared[other], level=level, **options)

    return fit, made


_MAKERS: Mapping[str, Callable[[ComparisonTable, str, SpecFile], tuple[_Fit, _Make]]] = {
    "difference": partial(_tables, comparisons.difference),
    "ratio": partial(_tables, comparisons.ratio),
    "change": partial(_tables, comparisons.change),
    "ranks": partial(_tables, comparisons.ranks),
    "correlation": _correlation,
    "regression": _regression,
}


def _heading(plan: Plan, query: QueryLike) -> Heading:
    """What the table of a query is about; errors as of a release that does not answer it."""
    written: WrittenQuery = written_query(plan.domain, query)
    UNBIASED_NUMBERS.require(plan, written)
    return Heading(*written, Provenance(plan, UNBIASED))
