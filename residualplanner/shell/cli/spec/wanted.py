"""A spec with options in place of its entries, and what its [output] means: for the numbers, and for comparisons."""

import csv
import io
import itertools
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative.facts import StatedTable, StatedZeros
from residualplanner.fits.nonnegative.nonnegative import Adjustments
from residualplanner.ground.checks import open_regular
from residualplanner.ground.errors import BudgetError, FileFormatError, WorkloadError
from residualplanner.ground.margins import require_level
from residualplanner.method.domain.domain import Domain
from residualplanner.method.losses import MaxVariance, SumOfVariances
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
from residualplanner.shell.cli.budgets import budget_of_text
from residualplanner.shell.cli.options import LossName, PlanOptions, TableOptions
from residualplanner.shell.cli.output import Output, naming
from residualplanner.shell.cli.spec.file import SpecFile, read_spec
from residualplanner.shell.cli.spec.objects import file_beside, located, query_of_spec
from residualplanner.shell.cli.spec.output_tables import ComparisonTable, KnownTable, OutputTable
from residualplanner.shell.session import given

_Fit = Callable[[Plan], None]
_Make = Callable[[Release, float], ComparedTable | RankTable]


class WantedComparison(NamedTuple):
    """A comparison that a release is to have; errors name its entry."""

    name: str
    require_fit: _Fit  # raises an error where it cannot be made of releases of a plan
    of: _Make  # makes it, of the unbiased tables of a release, at a level


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
    options = table.model_dump(include={"factor", "simultaneous"}, exclude_none=True)
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
    "correlation": lambda table, where, spec: _moments(
        correlation, correlation_queries, *(table.of or ()), query_of_spec(table.by or [], {}, where, spec=spec)
    ),
    "regression": lambda table, _where, _spec: _moments(regression, regression_queries, table.outcome, table.on),
}


def _heading(plan: Plan, query: QueryLike) -> Heading:
    """What the table of a query is about; errors as of a release that does not answer it."""
    written: WrittenQuery = written_query(plan.domain, query)
    UNBIASED_NUMBERS.require(plan, written)
    return Heading(*written, Provenance(plan, UNBIASED))


_LOSSES: Mapping[LossName, SumOfVariances | MaxVariance] = {
    "sum": SumOfVariances(),
    "max": MaxVariance(),
    "sqrt": SumOfVariances("sqrt"),
    "equal": SumOfVariances("equal"),
}


def overridden(spec: SpecFile, typed: PlanOptions, tables: TableOptions, output: Output) -> SpecFile:
    """A spec with options in place of its entries, which is said."""
    _require_one_limit(spec, typed)
    changes: dict[str, Any] = {}
    if typed.budget is not None:
        try:
            budget = budget_of_text(typed.budget)
        except BudgetError as error:
            raise BudgetError(f"--budget: {error}") from None
        changes |= {"budget": budget, "at_most": None}
    if typed.at_most is not None:
        if not 0 < typed.at_most < math.inf:
            loss = "the largest loss allowed is a number above 0, in counts squared"
            raise BudgetError(f"--at-most: {loss}; got {typed.at_most}")
        changes |= {"budget": None, "at_most": typed.at_most}
    if typed.loss is not None:
        changes |= {"loss": _LOSSES[typed.loss], "targets": []}
    if given(**asdict(tables)):
        changes["output"] = _with_options(spec.output, tables)
    every = given(**asdict(typed), **asdict(tables))
    if every:
        words = ", ".join(f"{name} {value}" for name, value in every.items())
        output.fact("Changed", f"{words}; all else as in {spec.path}", **every)
    return spec.model_copy(update=changes)


def _with_options(table: OutputTable, typed: TableOptions) -> OutputTable:
    if typed.level is not None:
        require_level(typed.level)
    return table.model_copy(update=given(**asdict(typed)))


def _require_one_limit(spec: SpecFile, typed: PlanOptions) -> None:
    if typed.budget is not None and typed.at_most is not None:
        raise BudgetError(
            "--budget and --at-most exclude each other: --budget zcdp=0.5 limits what is spent, and --at-most 25 the "
            "loss that is left; give one of them"
        )
    has_limit = typed.budget is not None or typed.at_most is not None
    # at_most of the spec limits the spec's own loss, and targets stand in place of a loss and of a limit
    lacks_loss = bool(spec.targets) and typed.at_most is not None and typed.loss is None
    lacks_limit = typed.loss is not None and not has_limit and spec.budget is None
    if lacks_loss or lacks_limit:
        added = "--loss" if lacks_loss else "--budget or --at-most"
        raise BudgetError(f"{spec.path} has no {'loss' if lacks_loss else 'limit for that loss'}; add {added}")


#: How entries are typed that are true in a spec and not to be.
_NEGATED = {"nonnegative": "--no-nonnegative", "with_unbiased": "--without-unbiased"}


@dataclass(frozen=True, slots=True)
class WantedOutput:
    """What tables are to look like: the [output] of a spec, if there is one, with options in its place."""

    table: OutputTable = field(default_factory=OutputTable)
    spec: SpecFile | None = None

    def __post_init__(self) -> None:
        if problem := self.table.problem:
            raise WorkloadError(problem if self.spec is None else f"[output], with the options in its place: {problem}")

    @property
    def options(self) -> tuple[str, ...]:
        """The options with which reconstruct makes tables of the same numbers: none for unbiased ones."""
        if self.spec is None or not self.table.is_adjusted:
            return ()
        own = read_spec(self.spec.path).output
        words = ["--spec", str(self.spec.path)]
        for name in (option.name for option in fields(TableOptions)):
            value = getattr(self.table, name)
            if value != getattr(own, name):
                words.append(_NEGATED[name] if value is False else f"--{name.replace('_', '-')}")
                words += [] if isinstance(value, bool) else [str(value)]
        return tuple(words)

    def naming(self) -> AbstractContextManager[None]:
        """Name the spec, if there is one, in errors of the block's library calls."""
        return nullcontext() if self.spec is None else naming(self.spec.path)

    def adjustments(self, domain: Domain) -> Adjustments:
        """What is done to the unbiased tables, with what the files of known tables hold."""
        known, zeros = enumerate(self.table.known, 1), enumerate(self.table.impossible, 1)
        return Adjustments(
            is_nonnegative=self.table.nonnegative,
            known=tuple(_stated(each, f"[[output.known]] number {i}", domain, self.spec) for i, each in known),
            impossible=tuple(StatedZeros(cells, f"[[output.impossible]] number {i}") for i, cells in zeros),
            base=self.table.round_to,
        )

    @property
    def comparisons(self) -> tuple[WantedComparison, ...]:
        """The comparisons that a release is to have, each with its queries; WorkloadError for two of one name."""
        if self.spec is None:
            return ()
        found: dict[str, WantedComparison] = {}
        for number, table in enumerate(self.table.comparisons, 1):
            where, name = f"[[output.comparisons]] number {number}", table.name.lower()
            if name in found:
                raise WorkloadError(f"{where}: an earlier one is called {name!r}, too; names are those of files")
            fit, make = _MAKERS[table.kind](table, where, self.spec)
            found[name] = WantedComparison(table.name, located(where)(fit), located(where)(make))
        return tuple(found.values())


def output_of(spec: Path | None, typed: TableOptions | None = None) -> WantedOutput:
    """What the [output] of a spec says of tables, with options in its place; what options say alone without a spec."""
    read = None if spec is None else read_spec(spec)
    return WantedOutput(_with_options(OutputTable() if read is None else read.output, typed or TableOptions()), read)


def _stated(table: KnownTable, where: str, domain: Domain, spec: SpecFile | None) -> StatedTable:
    assert spec is not None  # options alone name no tables
    query = query_of_spec(table.query, {}, where, spec=spec)
    counts: Any = table.counts
    if table.file is not None:
        with located(where):
            counts = _counts_of_file(file_beside(spec, table.file), query, domain)
    return StatedTable(query, counts, where)


def _counts_of_file(path: Path, query: QueryLike, domain: Domain) -> NDArray[np.float64]:
    written = written_query(domain, query)
    names = [domain.names[position] for position in written.positions]
    kinds = zip(names, written.kinds, strict=True)
    labels = [[str(label) for label in kind.labels(domain[name])] for name, kind in kinds]
    cells = list(itertools.product(*labels))
    with io.TextIOWrapper(open_regular(path), encoding="utf-8-sig", newline="") as file:
        try:
            reader = csv.DictReader(file, strict=True)
            rows = list(itertools.islice(reader, len(cells) + 1))
        except (csv.Error, UnicodeDecodeError):
            raise FileFormatError(f"{path} is not CSV in UTF-8") from None
    if sorted(reader.fieldnames or ()) != sorted([*names, "count"]):
        text = f"its first line must name the columns {', '.join([*names, 'count'])}, and no others"
        raise FileFormatError(f"{path}: {text}")
    counts = {tuple(row[name] for name in names): _count(row["count"]) for row in rows}
    if len(rows) != len(cells) or counts.keys() != set(cells) or any(None in row for row in rows):
        raise FileFormatError(f"{path} must have one line for each cell of the table, with its labels and its count")
    if not all(map(math.isfinite, counts.values())):
        raise FileFormatError(f'{path}: in the column "count" of a line there is no number')
    return np.array([counts[cell] for cell in cells]).reshape([len(axis) for axis in labels])


def _count(text: str | None) -> float:
    try:
        return math.nan if "_" in (text or "_") else float(text or "")  # Python would read 1_0 as 10
    except ValueError:
        return math.nan
