"""A spec with options in place of its entries, and what its [output] means for the numbers."""

import csv
import io
import itertools
import math
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative.facts import StatedTable, StatedZeros
from residualplanner.fits.nonnegative.nonnegative import Adjustments
from residualplanner.ground.checks import open_regular
from residualplanner.ground.errors import BudgetError, FileFormatError, ResidualPlannerError, WorkloadError
from residualplanner.ground.margins import require_level
from residualplanner.method.domain.domain import Domain
from residualplanner.method.losses import MaxVariance, SumOfVariances
from residualplanner.method.workload.query import QueryLike, written_query
from residualplanner.shell.cli.options import LossName, PlanOptions, TableOptions, budget_of_text
from residualplanner.shell.cli.output import Output, naming
from residualplanner.shell.cli.spec.comparing import WantedComparison, wanted_comparisons
from residualplanner.shell.cli.spec.file import SpecFile, read_spec
from residualplanner.shell.cli.spec.objects import file_beside, query_of_spec
from residualplanner.shell.cli.spec.output_tables import KnownTable, OutputTable

_LOSSES: Mapping[LossName, SumOfVariances | MaxVariance] = {
    "sum": SumOfVariances(),
    "max": MaxVariance(),
    "sqrt": SumOfVariances("sqrt"),
    "equal": SumOfVariances("equal"),
}


def given(group: PlanOptions | TableOptions) -> dict[str, Any]:
    """The options of a group that were typed, by name."""
    return {name: value for name, value in asdict(group).items() if value is not None}


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
    if given(tables):
        changes["output"] = _with_options(spec.output, tables)
    every = given(typed) | given(tables)
    if every:
        words = ", ".join(f"{name} {value}" for name, value in every.items())
        output.fact("Changed", f"{words}; all else as in {spec.path}", **every)
    return spec.model_copy(update=changes)


def _with_options(table: OutputTable, typed: TableOptions) -> OutputTable:
    if typed.level is not None:
        require_level(typed.level)
    return table.model_copy(update=given(typed))


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
        """The comparisons of tables that a release is to have."""
        return () if self.spec is None else wanted_comparisons(self.spec.model_copy(update={"output": self.table}))


def output_of(spec: Path | None, typed: TableOptions | None = None) -> WantedOutput:
    """What the [output] of a spec says of tables, with options in its place; what options say alone without a spec."""
    read = None if spec is None else read_spec(spec)
    return WantedOutput(_with_options(OutputTable() if read is None else read.output, typed or TableOptions()), read)


def _stated(table: KnownTable, where: str, domain: Domain, spec: SpecFile | None) -> StatedTable:
    query = query_of_spec(table.query, {}, where, spec=spec)
    counts: Any = table.counts
    if table.file is not None and spec is not None:  # only a spec names files
        try:
            counts = _counts_of_file(file_beside(spec, table.file), query, domain)
        except ResidualPlannerError as error:
            raise WorkloadError(f"{where}: {error}") from None
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
