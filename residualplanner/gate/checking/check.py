"""The check: the same readers and rules as measuring, and a list of what they find."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from residualplanner.gate.sources.csv_files import CsvFile
from residualplanner.gate.sources.limited_records import LimitedRecords
from residualplanner.gate.sources.opening import columns_of, open_source, require_here
from residualplanner.gate.sources.rules import WEIGHTS
from residualplanner.gate.sources.source import Source, guarded
from residualplanner.gate.sources.tally import Offenders, Tally
from residualplanner.ground.checks import require_type
from residualplanner.ground.errors import DataError
from residualplanner.ground.words import count_text, listed
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.domain import Domain
from residualplanner.method.domain.families import UNKNOWN
from residualplanner.method.domain.labels import Into, label_text
from residualplanner.more.amounts.weight import Weight

if TYPE_CHECKING:
    import pandas as pd

_CONFIDENTIAL = "Confidential: this shows values of records and exact counts.  It cost nothing; do not publish it."
#: How many values of a column are shown.
_SHOWN = 5
#: What becomes of records.
REFUSED, DROPPED, LAST = "refused", "left out of every table", "come last"
_YEARS = "the column holds years as numbers, and the schema wants dates; declare integers, as labels=range(1984, 1989)"
#: So many records of a person count where neither the rule nor a plan says how many.
_ALL = 2**31


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not fit, in one column or in the file.

    Attributes:
        column: its name; empty for lines of a file, and for what concerns all columns.
        problem: what it is, in words.
        records: how many records; None where none was read for it.
        outcome: what measuring makes of them: "refused", "left out of every table", "come last", or "counted under"
            and the label.
        values: the most frequent values, as they are written, and how often each comes.
        hint: what is likely meant; may be empty.
    """

    column: str
    problem: str
    records: int | None
    outcome: str
    values: tuple[tuple[str, int], ...] = ()
    hint: str = ""

    def __str__(self) -> str:
        where = f"column {self.column!r}: " if self.column else ""
        count = "" if self.records is None else f"{count_text(self.records, 'record')}, "
        shown = ", ".join(f"{value} ({number:,})" for value, number in self.values)
        lines = [
            f"{where}{self.problem}: {count}{self.outcome}",
            shown and f"  {shown}",
            self.hint and f"  {self.hint}",
        ]
        return "\n".join(filter(None, lines))


@dataclass(frozen=True, slots=True, repr=False)
class RecordsCheck:
    """What of some records does not fit a schema.  It is true where they fit.

    Attributes:
        fits: whether `measure` would count the records; it refuses them otherwise.
        records: how many records were read.
        dropped: how many of them a rule leaves out of every table.
        left_out: how many more, since only some records of each person count; 0 where the records do not fit.
        findings: all that does not fit, refused or not.

    Example:
        >>> import pandas as pd
        >>> domain = Domain({"sex": Attribute("sex", labels=["F", "M"], missing="drop")})
        >>> print(check(domain, pd.DataFrame({"sex": ["F", "m", "m", None]})))
        Confidential: this shows values of records and exact counts.  It cost nothing; do not publish it.
        The records do not fit the schema: measure refuses them.  Read: 4 records.
        column 'sex': value outside the schema: 2 records, refused
          'm' (2)
          'm' may be meant for the label 'M'; values are matched letter by letter
        column 'sex': missing value: 1 record, left out of every table
    """

    fits: bool
    records: int
    dropped: int
    left_out: int
    findings: tuple[Finding, ...]

    def __bool__(self) -> bool:
        return self.fits

    def __repr__(self) -> str:
        read = count_text(self.records, "record")
        if self.fits:
            counted = self.records - self.dropped - self.left_out
            said = f"The records fit the schema.  Read: {read}; counted: {counted:,}"
            said += f"; left out by rules: {self.dropped:,}" * (self.dropped > 0)
            said += f"; left out since their person has more than count: {self.left_out:,}" * (self.left_out > 0) + "."
        else:
            said = f"The records do not fit the schema: measure refuses them.  Read: {read}."
        return "\n".join([_CONFIDENTIAL, said, *map(str, self.findings)])

    def to_frame(self) -> "pd.DataFrame":
        """One row for each finding: column, problem, records, outcome, values as one text, hint."""
        import pandas as pd

        rows = [
            (each.column, each.problem, each.records, each.outcome, "; ".join(v for v, _ in each.values), each.hint)
            for each in self.findings
        ]
        frame = pd.DataFrame(rows, columns=["column", "problem", "records", "outcome", "values", "hint"])
        return frame.astype({"records": "Int64"})


def check(domain: Domain, data: object, *, records_per_person: int | None = None) -> RecordsCheck:
    """Read the records as `measure` does, and list all that does not fit the schema, instead of measuring.

    It is for whoever holds the records: the result shows values of them and exact counts, so it must not be published.
    It charges no ledger, and nothing of it goes into a release.

    Args:
        domain: the schema.
        data: the records, as for `measure`, but no engine's frame.
        records_per_person: how many records of a person a plan protects, where `LimitedRecords` does not say how many
            are kept.

    Returns:
        Whether the records fit, how many rules leave out, and what does not fit, column by column.  ``fits`` is true
        exactly where `measure` refuses nothing of the records.

    Raises:
        ArgumentError: ``domain`` is not a domain.
        DataError: the data are an engine's.

    Example:
        >>> import pandas as pd
        >>> bool(check(Domain({"sex": ["F", "M"]}), pd.DataFrame({"sex": ["F", "M", "F"]})))
        True
    """
    require_type("check", "domain", domain, Domain, "write check(domain, records)")
    require_here(data)
    most = records_per_person or (data.keep if isinstance(data, LimitedRecords) else None) or _ALL
    names = guarded(columns_of, data)
    opened = guarded(open_source, data, domain, records_per_person=most)
    read = _Reading(domain, data, most, () if isinstance(names, DataError) else tuple(map(str, names)))
    findings = [*read.columns(), *read.entries()]
    error = opened if isinstance(opened, DataError) else read.error
    if error is not None and all(each.outcome != REFUSED for each in findings):
        findings.insert(0, Finding(error.column or "", str(error), None, REFUSED))
    tally = read.tally
    left_out = 0 if error is not None else tally.records - tally.dropped - tally.counted
    return RecordsCheck(error is None, tally.records, tally.dropped, left_out, tuple(findings))


class _Reading:
    """One pass over those columns that can be read."""

    def __init__(self, domain: Domain, data: object, most: int, names: Sequence[str]) -> None:
        self._domain, self._data, self._most, self._names = domain, data, most, names
        self._people = [data.person, *filter(None, [data.order])] if isinstance(data, LimitedRecords) else []
        self._refused = {column.name: error for column in domain.columns if (error := self._refusal(column.name))}
        people = self._opened(Domain({}), with_people=True) if self._people else None
        self._people_error = people if isinstance(people, DataError) else None
        kept = {each.name: each for each in domain.attributes if each.name not in self._refused}
        weights = [each for each in _weights(domain) if each.name not in self._refused]
        self._readable = Domain(kept, weight=weights[0] if weights else None)
        self.tally = Tally(self._readable)
        self.error = self._count()

    def columns(self) -> Iterator[Finding]:
        """Columns that are missing or of an impossible type."""
        for name, error in self._refused.items():
            yield self._column_finding(name, error)
        if self._people_error is not None:
            for name in [name for name in self._people if self._names and name not in self._names] or [self._people[0]]:
                if name not in self._refused:
                    yield self._column_finding(self._people_error.column or name, self._people_error)

    def entries(self) -> Iterator[Finding]:
        tally, people = self.tally, self._people
        lines = tally.unsound + tally.unequal
        if lines:
            is_strict = any(each.unknown == "error" for each in self._domain.attributes)
            file = self._data.data if isinstance(self._data, LimitedRecords) else self._data
            joins = isinstance(file, CsvFile) and file.newlines_in_values and tally.unsound > 0
            outcome = REFUSED if is_strict or joins else "their values are unknown"
            first = f"the first: {', '.join(map(str, tally.numbers))}"
            first += " (numbers of records where values contain newlines)" * joins
            yield Finding("", "lines that are not records", lines, outcome, hint=first)
        for (position, code), offenders in sorted(tally.offenders.items(), key=lambda item: (item[0][0], -item[0][1])):
            yield self._entry_finding(position, code, offenders)
        if tally.nobody.records and people:
            yield Finding(people[0], "no person", tally.nobody.records, REFUSED, _shown(tally.nobody))
        if tally.last.records:
            yield Finding(people[1], "no entry to order by", tally.last.records, LAST, _shown(tally.last))

    def _refusal(self, name: str) -> DataError | None:
        """Why a column of the domain cannot be read, whatever its records are."""
        weight = next((each for each in _weights(self._domain) if each.name == name), None)
        alone = Domain({name: self._domain[name]} if weight is None else {}, weight=weight)
        opened = self._opened(alone, with_people=False)
        return opened if isinstance(opened, DataError) and opened.column == name else None

    def _opened(self, domain: Domain, watch: Tally | None = None, *, with_people: bool) -> Source | DataError:
        watch, most = watch or Tally(domain), self._most
        return guarded(open_source, self._data, domain, records_per_person=most, watch=watch, with_people=with_people)

    def _count(self) -> DataError | None:
        """Read the records; the error that measuring would end with, of the columns that can be read."""
        source = self._opened(self._readable, self.tally, with_people=self._people_error is None)
        if isinstance(source, DataError):
            return source
        amounts = [i for i, each in enumerate(self._readable.attributes) if each.numeric is not None]
        outcome = guarded(source.count, [np.empty((1, 0), dtype=np.int64), *(np.array([[i]]) for i in amounts)])
        return outcome if isinstance(outcome, DataError) else None

    def _column_finding(self, name: str, error: DataError) -> Finding:
        if self._names and name not in self._names:
            return Finding(name, "missing column", None, REFUSED, hint=_near_names(name, self._names))
        is_years = name in self._domain.names and self._domain[name].values.holds("dates")
        hint = _YEARS if is_years and "holds numbers" in str(error) else ""
        return Finding(name, str(error).removeprefix(f"column {name!r} "), None, REFUSED, hint=hint)

    def _entry_finding(self, position: int, code: int, offenders: Offenders) -> Finding:
        column, values = self._readable.columns[position], _shown(offenders)
        if position >= len(self._readable):
            return Finding(column.name, WEIGHTS[code], offenders.records, REFUSED, values)
        attribute, is_unknown = self._readable.attributes[position], code == UNKNOWN
        problem = "value outside the schema" if is_unknown else "missing value"
        rule = attribute.unknown if is_unknown else attribute.missing
        outcome = f"counted under {rule.label!r}" if isinstance(rule, Into) else REFUSED if rule == "error" else DROPPED
        entries = [offenders.examples[key] for key, _ in offenders.values.most_common()]
        return Finding(column.name, problem, offenders.records, outcome, values, _hint(attribute, [*map(str, entries)]))


def _weights(domain: Domain) -> list[Weight]:
    return [column for column in domain.weight.columns if isinstance(column, Weight)]


def _shown(offenders: Offenders) -> tuple[tuple[str, int], ...]:
    return tuple((text[:80], number) for (text, _), number in offenders.values.most_common(_SHOWN))


def _near_names(name: str, names: Sequence[str]) -> str:
    """Which column may be meant by one that is missing."""
    folded = {each.strip().casefold(): each for each in names}
    near = difflib.get_close_matches(name.strip().casefold(), folded, n=3, cutoff=0.6)
    if not near:
        return f"the columns are {listed(map(repr, names), 20)}"
    return f"did you mean {' or '.join(repr(folded[each]) for each in near)}?  Columns are matched by exact name"


def _hint(attribute: Attribute, texts: Sequence[str]) -> str:
    """What is likely meant by entries that are no values: years, or labels in other letters, or without zeros."""
    if attribute.values.holds("dates"):
        return _YEARS if texts and all(re.fullmatch(r"[12][0-9]{3}(\.0)?", text) for text in texts) else ""
    folded = {_folded(label_text(label)): label for label in attribute.labels or ()}
    near = next((text for text in texts if _folded(text) in folded), None)
    if near is None:
        return ""
    return f"{near!r} may be meant for the label {folded[_folded(near)]!r}; values are matched letter by letter"


def _folded(text: str) -> str:
    return re.sub("^0+(?=.)", "", text.strip()).casefold()
