"""What the [output] of a spec means for the numbers: non-negative, in agreement with what is known, rounded.

Reads: OutputTable, a domain, CSV files of public tables.  Gives: Adjustments.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from residualplanner.fits.adjusted.adjustments import Adjustments
from residualplanner.fits.nonnegative.facts import StatedTable, StatedZeros
from residualplanner.ground.errors import ResidualPlannerError, WorkloadError
from residualplanner.method.domain.domain import Domain
from residualplanner.shell.cli.messages.failures import naming
from residualplanner.shell.cli.spec.facts import KnownTable
from residualplanner.shell.cli.spec.file import read_spec
from residualplanner.shell.cli.spec.hierarchies import NO_FILES, SpecHierarchies, hierarchies_of_spec
from residualplanner.shell.cli.spec.known_files import counts_of_file
from residualplanner.shell.cli.spec.objects import query_of_spec
from residualplanner.shell.cli.spec.output import OutputTable

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
        """What is done to the unbiased tables.

        Raises:
            DomainError: a known table is about an attribute that is not in the domain.
            FileFormatError: the file of a known table is not what it should be.
            OSError: it cannot be opened.
        """
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
    path = found.folder / table.file
    if not path.is_file():
        raise WorkloadError(f"{where}: there is no file {path}; it is looked for beside the spec")
    try:
        counts = counts_of_file(path, query, domain)
    except ResidualPlannerError as error:
        raise WorkloadError(f"{where}: {error}") from None
    return StatedTable(query, counts, where)
