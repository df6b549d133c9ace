"""The file of records that a command names, and how many records of each person in it count.

Only the names of its columns are read here, and types where they are stored; its records by `run_check` alone.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

from typer import Exit

from residualplanner.gate.checking import check
from residualplanner.gate.measurement.measure import require_countable
from residualplanner.gate.sources.csv_files import CsvFile
from residualplanner.gate.sources.limited_records import LimitedRecords
from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.errors import DataError
from residualplanner.ground.file_kinds import CSV, kind_of_name
from residualplanner.ground.words import count_text
from residualplanner.method.plan.plan import Plan
from residualplanner.shell.cli.output import Output, naming, typed_words
from residualplanner.shell.cli.spec.file import PeopleTable, SpecFile
from residualplanner.shell.cli.spec.objects import domain_of_spec


@dataclass(frozen=True, slots=True)
class RecordsFile:
    """A file of records, as a command reads it: CSV, Parquet, one of SPSS, Stata or SAS, or a folder of Parquet."""

    path: Path
    newlines_in_values: bool = False  # whether, in CSV, a newline between quotes belongs to the value
    people: PeopleTable | None = None  # whose each record is; None if no column says so

    @property
    def records(self) -> object:
        """The records, as `measure` takes them; DataError where the column of persons is also that of their order."""
        records = CsvFile(self.path, newlines_in_values=True) if self.newlines_in_values else self.path
        if self.people is None:
            return records
        people = self.people
        key = {} if people.key is None else {"key": bytes.fromhex(people.key)}
        return LimitedRecords(records, person=people.person, keep=people.keep, order=people.order, **key)

    @property
    def is_csv(self) -> bool:
        """Whether it is CSV, gzipped or not, by its name."""
        return kind_of_name(self.path) == CSV

    def require_readable(self, plan: Plan) -> None:
        """Refuse a file by its columns, and persons that do not fit the plan, before anything is spent."""
        records = self.records
        if self.newlines_in_values and not self.is_csv:
            raise DataError(f"--newlines-in-values is for CSV files; leave it out for {self.path}")
        try:
            require_countable(plan, records)  # the first line of CSV, the footers of Parquet
        except DataError as error:
            raise DataError(f"{self.path}: {error}", column=error.column) from None

    def say_people(self, plan: Plan, output: Output) -> None:
        """Say how many records of each person count, or that nothing checks it; nothing where each is protected."""
        most = plan.neighbors.records_per_person
        if self.people is not None:
            keep, order, person = self.people.keep or most, self.people.order, self.people.person
            chosen = "chosen at random" if order is None else f"the first by {order}"
            text = f"at most {count_text(keep, 'record')} of each {person} count{'s' * (keep == 1)}, {chosen}"
            output.fact("People", text, person=person, keep=keep, order=order)
        elif most > 1:
            output.fact(
                "People",
                f"that nobody has more than {most} records is a promise that nothing checks;",
                "a column that says whose each record is keeps it: --person COLUMN, or people in the spec",
                **dict.fromkeys(("person", "keep", "order")),
            )


def run_check(spec: SpecFile, file: RecordsFile, path: Path | None, output: Output) -> None:
    """Say what of the records does not fit a spec, also to a file if one is named; typer.Exit where any does not."""
    with naming(spec.path):
        domain = domain_of_spec(spec)
    found = check(domain, file.records, records_per_person=spec.most_records)
    if output.as_json:
        confidential, counts = str(found).partition("\n")[0], asdict(found) | {"findings": len(found.findings)}
        output.say(confidential, event="check", **counts)
        for finding in found.findings:
            output.say(typed_words(str(finding)), event="finding", **asdict(finding))
    else:
        output.say(typed_words(str(found)))
    if path is not None:
        with write_atomically(path) as text:
            text.write(typed_words(f"{found}\n").encode())
        output.wrote(path, ", which is confidential.")
    if not found:
        raise Exit(1)
