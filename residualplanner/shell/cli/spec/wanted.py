"""A spec with options in place of its entries, and what its [output] means for the numbers."""

import csv
import io
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.adjusted.adjustments import Adjustments
from residualplanner.fits.nonnegative.facts import StatedTable, StatedZeros
from residualplanner.ground.checks import open_regular
from residualplanner.ground.errors import BudgetError, FileFormatError, ResidualPlannerError, WorkloadError
from residualplanner.ground.margins import require_level
from residualplanner.method.domain.domain import Domain
from residualplanner.method.losses import MaxVariance, SumOfVariances
from residualplanner.method.workload.query import QueryLike, written_query
from residualplanner.shell.cli.options import NumberOptions, PlanOptions
from residualplanner.shell.cli.output import Output, naming
from residualplanner.shell.cli.spec.budgets import LossName, budget_of_text, numbers_by_name
from residualplanner.shell.cli.spec.file import BudgetTable, SpecFile, read_spec
from residualplanner.shell.cli.spec.objects import file_beside, query_of_spec
from residualplanner.shell.cli.spec.output import OutputTable
from residualplanner.shell.cli.spec.tables import KnownTable

_LOSSES: Mapping[LossName, SumOfVariances | MaxVariance] = {
    "sum": SumOfVariances(),
    "max": MaxVariance(),
    "sqrt": SumOfVariances("sqrt"),
    "equal": SumOfVariances("equal"),
}


def typed_output(level: float | None, numbers: NumberOptions | None = None, **words: str | None) -> dict[str, Any]:
    """The options that were typed in place of entries of a spec's [output], by name."""
    if level is not None:
        require_level(level)
    typed = {"level": level} | words | ({} if numbers is None else asdict(numbers))
    return {name: value for name, value in typed.items() if value is not None}


def overridden(spec: SpecFile, typed: PlanOptions, in_output: Mapping[str, Any], output: Output) -> SpecFile:
    """A spec with options in place of its entries, which is said."""
    _require_one_limit(spec, typed)
    changes: dict[str, Any] = {}
    if typed.budget is not None:
        try:
            budget = budget_of_text(typed.budget)
        except BudgetError as error:
            raise BudgetError(f"--budget: {error}") from None
        numbers = numbers_by_name(budget)
        table = BudgetTable.model_validate(numbers if budget.notion in numbers else {budget.notion: numbers})
        changes |= {"budget": table, "at_most": None}
    if typed.at_most is not None:
        if not 0 < typed.at_most < math.inf:
            loss = "the largest loss allowed is a number above 0, in counts squared"
            raise BudgetError(f"--at-most: {loss}; got {typed.at_most}")
        changes |= {"budget": None, "at_most": typed.at_most}
    if typed.loss is not None:
        changes |= {"loss": _LOSSES[typed.loss], "targets": []}
    if in_output:
        changes["output"] = spec.output.model_copy(update=in_output)
    given = {name: value for name, value in asdict(typed).items() if value is not None} | dict(in_output)
    if given:
        words = ", ".join(f"{name} {value}" for name, value in given.items())
        output.say(f"{'Changed':<11} {words}; all else as in {spec.path}", event="changed", **given)
    return spec.model_copy(update=changes)


def _require_one_limit(spec: SpecFile, typed: PlanOptions) -> None:
    path = spec.path
    if typed.budget is not None and typed.at_most is not None:
        raise BudgetError(
            "--budget and --at-most exclude each other: --budget zcdp=0.5 limits what is spent, and --at-most 25 the "
            "loss that is left; give one of them"
        )
    if spec.targets and typed.at_most is not None and typed.loss is None:
        raise BudgetError(f"{path} has [[targets]] in place of a loss; say with --loss what --at-most is to limit")
    if spec.targets and typed.loss is not None and (typed.budget or spec.budget or typed.at_most) is None:
        raise BudgetError(f"{path} has [[targets]] in place of a budget; add --budget or --at-most to --loss")
    if typed.loss is not None and typed.budget is None and typed.at_most is None and spec.at_most is not None:
        raise BudgetError(
            f"{path} limits its own loss by at_most, which does not apply to --loss {typed.loss}; add --at-most with a "
            "limit for that loss, in counts squared, or a --budget"
        )


#: How entries are typed as options.
_WORDS: Mapping[str, Callable[[Any], Sequence[str]]] = {
    "nonnegative": lambda value: ["--nonnegative" if value else "--no-nonnegative"],
    "round_to": lambda value: ["--round-to", str(value)],
    "with_unbiased": lambda value: ["--with-unbiased" if value else "--without-unbiased"],
    "published_errors": lambda value: ["--published-errors", str(value)],
    "format": lambda value: ["--format", value],
    "profile": lambda value: ["--profile", value],
    "level": lambda value: ["--level", str(value)],
}


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
        values = {name: getattr(self.table, name) for name in _WORDS}
        typed = [_WORDS[name](value) for name, value in values.items() if value != getattr(own, name)]
        return ("--spec", str(self.spec.path), *itertools.chain.from_iterable(typed))

    @property
    def report_options(self) -> tuple[str, ...]:
        """The options with which report draws the maps of the spec: none where it has no maps."""
        return () if self.spec is None or not self.table.maps else ("--spec", str(self.spec.path))

    def naming(self) -> AbstractContextManager[None]:
        """Name the spec, if there is one, in errors of the block's library calls."""
        return nullcontext() if self.spec is None else naming(self.spec.path)

    def adjustments(self, domain: Domain) -> Adjustments:
        """What is done to the unbiased tables, with what the files of known tables hold."""
        return Adjustments(
            is_nonnegative=self.table.nonnegative,
            known=tuple(
                _stated(table, f"[[output.known]] number {number}", domain, self.spec)
                for number, table in enumerate(self.table.known, 1)
            ),
            impossible=tuple(
                StatedZeros(cells, f"[[output.impossible]] number {number}")
                for number, cells in enumerate(self.table.impossible, 1)
            ),
            base=self.table.round_to,
        )


def _stated(table: KnownTable, where: str, domain: Domain, spec: SpecFile | None) -> StatedTable:
    query = query_of_spec(table.query, {}, where, spec=spec)
    if table.file is None or spec is None:  # only a spec names files
        counts: Any = table.counts
        return StatedTable(query, counts, where)
    try:
        counts = _counts_of_file(file_beside(spec, table.file), query, domain)
    except ResidualPlannerError as error:
        raise WorkloadError(f"{where}: {error}") from None
    return StatedTable(query, counts, where)


def _counts_of_file(path: Path, query: QueryLike, domain: Domain) -> NDArray[np.float64]:
    """The counts of a query's table, in its shape.

    The file has a column for each attribute of the query, which holds labels as tables show them, and a column "count",
    in any order; a line for each cell, in any order.  No message shows what it holds: another could have been meant.
    """
    written = written_query(domain, query)
    names = [domain.names[position] for position in written.positions]
    pairs = zip(names, written.kinds, strict=True)
    codes = [{str(label): code for code, label in enumerate(kind.labels(domain[name]))} for name, kind in pairs]
    found = np.full([len(axis) for axis in codes], np.nan)
    columns = [*names, "count"]
    with io.TextIOWrapper(open_regular(path), encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            header = next(reader, [])
            if sorted(header) != sorted(columns):
                text = f"its first line must name the columns {', '.join(columns)}, and no others"
                raise FileFormatError(f"{path}: {text}")
            for row in itertools.islice(reader, found.size + 1):
                if len(row) != len(header):
                    raise FileFormatError(f"{path}, line {reader.line_num}: expected {len(header)} values")
                by_name = dict(zip(header, row, strict=True))
                cell = tuple(axis.get(by_name[name]) for name, axis in zip(names, codes, strict=True))
                found[cell] = _count(f"{path}, line {reader.line_num}", by_name["count"], names, cell, found)
        except (csv.Error, UnicodeDecodeError):
            raise FileFormatError(f"{path} is not CSV in UTF-8") from None
    if np.isnan(found).any():
        raise FileFormatError(f"{path} lacks a line for some cells; write one for each, with 0 where there is nobody")
    return found


def _count(
    where: str, text: str, names: Sequence[str], cell: tuple[int | None, ...], found: NDArray[np.float64]
) -> float:
    """The count of a line, which has to be the first one about a cell of the table."""
    if None in cell:
        raise FileFormatError(f"{where}: these are not the labels of a cell of the table of {names}")
    if not math.isnan(found[cell]):
        raise FileFormatError(f"{where}: this cell has had a line before")
    try:
        count = math.nan if "_" in text else float(text)  # Python would read 1_0 as 10
    except ValueError:
        count = math.nan
    if not math.isfinite(count):
        raise FileFormatError(f'{where}: in the column "count" there is no number')
    return count
