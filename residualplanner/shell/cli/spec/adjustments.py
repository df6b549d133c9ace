"""What the [output] of a spec means for the numbers: non-negative, in agreement with what is known, rounded."""

import csv
import io
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.adjusted.adjustments import Adjustments
from residualplanner.fits.nonnegative.facts import StatedTable, StatedZeros
from residualplanner.ground.checks import open_regular
from residualplanner.ground.errors import FileFormatError, ResidualPlannerError, WorkloadError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.workload.query import QueryLike, written_query
from residualplanner.shell.cli.failures import naming
from residualplanner.shell.cli.spec.file import read_spec
from residualplanner.shell.cli.spec.hierarchies import NO_FILES, SpecHierarchies, file_beside, hierarchies_of_spec
from residualplanner.shell.cli.spec.kinds import KnownTable
from residualplanner.shell.cli.spec.objects import query_of_spec
from residualplanner.shell.cli.spec.output import OutputTable

#: The column of the counts.
COUNT = "count"
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
    """What tables are to look like, and the spec that says so.

    Attributes:
        table: the [output] of the spec, with options in its place.
        spec: the path of the spec; None where there is none.
    """

    table: OutputTable = field(default_factory=OutputTable)
    spec: Path | None = None

    def __post_init__(self) -> None:
        if problem := self.table.problem:
            raise WorkloadError(problem if self.spec is None else f"[output], with the options in its place: {problem}")

    @property
    def options(self) -> tuple[str, ...]:
        """The options with which reconstruct makes tables of the same numbers: none for unbiased ones."""
        if self.spec is None or not self.table.is_adjusted:
            return ()
        own = read_spec(self.spec).output
        values = {name: getattr(self.table, name) for name in _WORDS}
        typed = [_WORDS[name](value) for name, value in values.items() if value != getattr(own, name)]
        return ("--spec", str(self.spec), *itertools.chain.from_iterable(typed))

    @property
    def report_options(self) -> tuple[str, ...]:
        """The options with which report draws the maps of the spec: none where it has no maps."""
        return () if self.spec is None or not self.table.maps else ("--spec", str(self.spec))

    def naming(self) -> AbstractContextManager[None]:
        """Name the spec, if there is one, in errors of the block's library calls."""
        return nullcontext() if self.spec is None else naming(self.spec)

    def adjustments(self, domain: Domain) -> Adjustments:
        """What is done to the unbiased tables, with what the files of known tables hold."""
        found = NO_FILES if self.spec is None else hierarchies_of_spec(read_spec(self.spec))
        return Adjustments(
            is_nonnegative=self.table.nonnegative,
            known=tuple(
                _stated(table, f"[[output.known]] number {number}", domain, found)
                for number, table in enumerate(self.table.known, 1)
            ),
            impossible=tuple(
                StatedZeros(cells, f"[[output.impossible]] number {number}")
                for number, cells in enumerate(self.table.impossible, 1)
            ),
            base=self.table.round_to,
        )


def _stated(table: KnownTable, where: str, domain: Domain, found: SpecHierarchies) -> StatedTable:
    query = query_of_spec(table.query, {}, where, hierarchies=found)
    if table.file is None:
        counts: Any = table.counts
        return StatedTable(query, counts, where)
    try:
        counts = _counts_of_file(file_beside(found.folder, table.file), query, domain)
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
    with io.TextIOWrapper(open_regular(path), encoding="utf-8-sig", newline="") as file:
        for line, row in _rows(path, file, [*names, COUNT], most=found.size):
            cell, count = _cell(row, names, codes), _number(row[COUNT])
            if cell is None:
                raise FileFormatError(
                    f"{path}, line {line}: these are not the labels of a cell of the table of {names}"
                )
            if not math.isnan(found[cell]):
                raise FileFormatError(f"{path}, line {line}: this cell has had a line before")
            if not math.isfinite(count):
                raise FileFormatError(f'{path}, line {line}: in the column "{COUNT}" there is no number')
            found[cell] = count
    if np.isnan(found).any():
        raise FileFormatError(f"{path} lacks a line for some cells; write one for each, with 0 where there is nobody")
    return found


def _rows(
    path: Path, file: Iterator[str], columns: Sequence[str], *, most: int
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The lines of a file as mappings, with their numbers; no more than ``most`` and one."""
    reader = csv.reader(file, strict=True)
    try:
        header = next(reader, [])
        if sorted(header) != sorted(columns):
            raise FileFormatError(f"{path}: its first line must name the columns {', '.join(columns)}, and no others")
        for row in itertools.islice(reader, most + 1):
            if len(row) != len(header):
                raise FileFormatError(f"{path}, line {reader.line_num}: expected {len(header)} values")
            yield reader.line_num, dict(zip(header, row, strict=True))
    except (csv.Error, UnicodeDecodeError):
        raise FileFormatError(f"{path} is not CSV in UTF-8") from None


def _cell(row: Mapping[str, str], names: Sequence[str], codes: Sequence[Mapping[str, int]]) -> tuple[int, ...] | None:
    """The cell that a line is about; None where its labels are none of the table's."""
    found = [axis.get(row[name]) for name, axis in zip(names, codes, strict=True)]
    return None if None in found else tuple(code for code in found if code is not None)


def _number(text: str) -> float:
    try:
        return math.nan if "_" in text else float(text)  # Python would read 1_0 as 10
    except ValueError:
        return math.nan
