"""What of some records does not fit a schema: for whoever holds them, before anything is measured.

The readers and rules are those of measuring.  It costs nothing, holds values of records and exact counts, and must not
be published: nothing else here takes it.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from residualplanner.gate.sources.csv_files import CsvFile
from residualplanner.gate.sources.limited_records import LimitedRecords, unlimited
from residualplanner.gate.sources.opening import columns_of, engines, open_source
from residualplanner.gate.sources.rules import WEIGHTS, problem_of
from residualplanner.gate.sources.source import Source, guarded
from residualplanner.gate.sources.tally import Offenders, Tally
from residualplanner.ground.checks import require_type
from residualplanner.ground.errors import DataError
from residualplanner.ground.words import count_text, listed
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.domain import Domain
from residualplanner.method.domain.entries import number_of
from residualplanner.method.domain.families import UNKNOWN
from residualplanner.method.domain.labels import Into, Label, label_text
from residualplanner.more.amounts.weight import Weight

if TYPE_CHECKING:
    import pandas as pd

_CONFIDENTIAL = "Confidential: this shows values of records and exact counts.  It cost nothing; do not publish it."
REFUSED, DROPPED, LAST = "refused", "left out of every table", "come last"
_RULES = {"unknown": "value outside the schema", "missing": "missing value"}
_YEARS = "the column holds years as numbers, and the schema wants dates; declare integers, as labels=range(1984, 1989)"
#: What to do about integers that pandas wrote with a decimal point, before how the first of them is written.
_DECIMALS = '; write the column as integers (in pandas of type "Int64", which has gaps), or declare labels such as'
#: What stands for no entry in many files.
_EMPTY = ("", "na", "n/a", "nan", "null", "none", ".", "-", "?", "#n/a", "<na>", "missing")
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
        hint: what is likely meant, or what to do; may be empty.
    """

    column: str
    problem: str
    records: int | None
    outcome: str
    values: tuple[tuple[str, int], ...] = ()
    hint: str = ""

    def __str__(self) -> str:
        if not self.column and self.records is None:  # of the whole file, in a sentence
            return "\n".join(filter(None, [self.problem, self.hint and f"  {self.hint}"]))
        where = f"column {self.column!r}: " if self.column else ""
        count = "" if self.records is None else f"{count_text(self.records, 'record')}, "
        shown = ", ".join(f"{value} ({number:,})" for value, number in self.values)
        more = (f"  {text}" for text in (shown, self.hint) if text)
        return "\n".join([f"{where}{self.problem}: {count}{self.outcome}", *more])


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
            said = "The records do not fit the schema: measure refuses them."
            said += f"  Read: {read}." if self.records else ""
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
    if engines().workers_of(data) is not None:
        raise DataError(
            "records are checked in this process, and these are an engine's: give a frame that it collects (of Dask "
            "frame.compute(), of PySpark frame.toPandas()), a part of it if it is large, or the Parquet files that it "
            "reads"
        )
    limited = data if isinstance(data, LimitedRecords) else None
    most = records_per_person or (None if limited is None else limited.keep) or _ALL

    def opened(part: Domain, watch: Tally | None = None, *, with_people: bool = False) -> Source | DataError:
        watch = watch or Tally(part)
        return guarded(open_source, data, part, records_per_person=most, watch=watch, with_people=with_people)

    # Each column is opened alone, so that all that cannot be read are told; then the others are read.
    columns = {each.name: Domain({each.name: each}) for each in domain.attributes}
    columns |= {each.name: Domain({}, weight=each) for each in domain.weight.columns if isinstance(each, Weight)}
    alone = ((name, opened(part)) for name, part in columns.items())
    refused = {name: found for name, found in alone if isinstance(found, DataError) and found.column == name}
    of_people = None if limited is None else opened(Domain({}), with_people=True)
    readable = [each for each in domain.columns if each.name not in refused]
    weight = next((each for each in readable if isinstance(each, Weight)), None)
    some = Domain({each.name: each for each in readable if isinstance(each, Attribute)}, weight=weight)
    tally = Tally(some)
    source = opened(some, tally, with_people=limited is not None and not isinstance(of_people, DataError))
    amounts = [i for i, each in enumerate(some.attributes) if each.numeric is not None]
    groups = [np.empty((1, 0), dtype=np.int64), *(np.array([[i]]) for i in amounts)]
    outcome = source if isinstance(source, DataError) else guarded(source.count, groups)
    whole = guarded(open_source, data, domain, records_per_person=most)
    error = next((each for each in (whole, outcome) if isinstance(each, DataError)), None)
    if limited is not None and isinstance(of_people, DataError):
        refused.setdefault(of_people.column or limited.person, of_people)
    findings = [*_of_columns(domain, data, refused), *_of_entries(domain, data, tally), *_of_limits(tally)]
    if error is not None and all(each.outcome != REFUSED for each in findings):
        findings.insert(0, Finding(error.column or "", str(error), None, REFUSED))
    left_out = 0 if error is not None else tally.records - tally.dropped - tally.counted
    return RecordsCheck(error is None, tally.records, tally.dropped, left_out, tuple(findings))


def _of_columns(domain: Domain, data: object, refused: Mapping[str, DataError]) -> Iterator[Finding]:
    columns = guarded(columns_of, data)
    names = [] if isinstance(columns, DataError) else [*map(str, columns)]
    for name, error in refused.items():
        is_years = name in domain.names and domain[name].values.holds("dates") and "holds numbers" in str(error)
        problem, hint = str(error).removeprefix(f"column {name!r} "), _YEARS if is_years else ""
        if names and name not in names:
            folded = {each.strip().casefold(): each for each in names}
            near = difflib.get_close_matches(name.strip().casefold(), folded, n=3, cutoff=0.6)
            every = " or ".join(repr(folded[each]) for each in near)
            meant = f"did you mean {every}?  Columns are matched by exact name"
            problem, hint = "missing column", meant if near else f"the columns are {listed(map(repr, names), 20)}"
        yield Finding(name, problem, None, REFUSED, hint=hint)


def _of_entries(domain: Domain, data: object, tally: Tally) -> Iterator[Finding]:
    """Lines that are no records, entries that are no values, and records that are nobody's."""
    lines, are_refused = tally.unsound + tally.unequal, False
    if lines:
        is_strict, file = any(each.unknown == "error" for each in domain.attributes), unlimited(data)
        joins = isinstance(file, CsvFile) and file.newlines_in_values and tally.unsound > 0
        are_refused = is_strict or joins
        outcome = REFUSED if are_refused else "their values are unknown"
        first = f"the first: {', '.join(map(str, tally.numbers))}"
        first += " (numbers of records where values contain newlines)" * joins
        first += "; see that quotes close, and that there are as many fields as in line 1"
        yield Finding("", "lines that are not records", lines, outcome, hint=first)
    for (position, code), offenders in sorted(tally.offenders.items(), key=lambda item: (item[0][0], -item[0][1])):
        column, word, outcome, hint = tally.domain.columns[position], WEIGHTS.get(code, ""), REFUSED, ""
        if isinstance(column, Attribute):
            word, rule = ("unknown", column.unknown) if code == UNKNOWN else ("missing", column.missing)
            counted = f"counted under {rule.label!r}" if isinstance(rule, Into) else DROPPED
            outcome, hint = REFUSED if rule == "error" else counted, _hint(column, offenders)
        records = offenders.records
        if outcome == REFUSED:
            records -= offenders.lines * are_refused  # which are told once, and not for every column
            hint = hint or _remedy(tally.domain, position, word)
        if records:
            yield Finding(column.name, _RULES.get(word, word), records, outcome, _shown(offenders), hint)
    if isinstance(data, LimitedRecords):
        if nobodys := tally.nobody.records - tally.nobody.lines * are_refused:
            hint = _remedy(tally.domain, len(tally.domain.columns), "no person")
            yield Finding(data.person, "no person", nobodys, REFUSED, _shown(tally.nobody), hint)
        if tally.last.records:
            yield Finding(data.order or "", "no entry to order by", tally.last.records, LAST, _shown(tally.last))


def _of_limits(tally: Tally) -> Iterator[Finding]:
    """Amounts that are a limit of their column, or count as one."""
    for position, records in tally.limits.items():
        attribute = tally.domain.attributes[position]
        if records and attribute.numeric is not None:
            problem = f"amount at a limit or beyond it ({attribute.numeric.clipping})"
            yield Finding(attribute.name, problem, records, "counted as the limit")


def _remedy(domain: Domain, position: int, word: str) -> str:
    return problem_of(domain, position, word).partition("; ")[2]


def _shown(offenders: Offenders) -> tuple[tuple[str, int], ...]:
    return tuple((text[:80], number) for (text, _), number in offenders.values.most_common(5))


def _hint(attribute: Attribute, offenders: Offenders) -> str:
    """What entries that are no values are likely to mean: years, integers, labels in other letters or without zeros."""
    texts = [str(offenders.examples[key]) for key, _ in offenders.values.most_common() if key in offenders.examples]
    if attribute.values.holds("dates"):
        return _YEARS if texts and all(re.fullmatch(r"[12][0-9]{3}(\.0)?", text) for text in texts) else ""
    folded = {_folded(label_text(label)): label for label in attribute.labels or ()}
    near = next((text for text in texts if _folded(text) in folded), None)
    if near is not None:
        return f"{near!r} may be meant for the label {folded[_folded(near)]!r}; values are matched letter by letter"
    for text in texts:
        whole = re.fullmatch(r"(-?[0-9]+)\.0+", text)
        if whole and attribute.values.code_of(whole[1]) != UNKNOWN:
            return f"{text!r} may be meant for {whole[1]}{_DECIMALS} {text!r}"
    has_bytes = any(isinstance(example, bytes) for example in offenders.examples.values())
    unreadable = "some entries are not UTF-8; save the file with that encoding" if has_bytes else ""
    return "; ".join(filter(None, [unreadable, _no_entry(texts), _near(texts, folded)])) or _no_number(attribute, texts)


def _no_entry(texts: Sequence[str]) -> str:
    """The question whether an entry, such as NA, stands for none."""
    found = next((text for text in texts if text.strip().casefold() in _EMPTY), None)
    if found is None:
        return ""
    remedy = 'empty it, declare it as a value, or declare unknown="Other" or "drop"'
    return f"is {found!r} a missing value?  Only empty fields and nulls are: {remedy}"


def _no_number(attribute: Attribute, texts: Sequence[str]) -> str:
    """What to do about an entry that is no number, where bins or amounts want numbers."""
    found = next((text for text in texts if number_of(text) is None), None)
    if found is None or (attribute.bins is None and attribute.numeric is None):
        return ""
    remedy = f"list labels in place of {attribute.values.words}"
    return f'{found!r} is no number: correct such entries, {remedy}, or declare unknown="Other" or "drop"'


def _near(texts: Sequence[str], folded: Mapping[str, Label]) -> str:
    """Which label is likely meant by an entry that is nearly one."""
    for text in texts:
        if close := difflib.get_close_matches(_folded(text), folded, n=1, cutoff=0.8):
            return f"{text!r}: did you mean the label {folded[close[0]]!r}?"
    return ""


def _folded(text: str) -> str:
    return re.sub("^0+(?=.)", "", text.strip()).casefold()
