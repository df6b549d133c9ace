"""The domain's rules for unknown and missing values, applied to records."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources.counting import Codes, exact_total, products
from residualplanner.gate.sources.limited_records import NO_PERSONS, NumberedPersons
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.domain import Domain
from residualplanner.method.domain.families import MISSING, UNKNOWN
from residualplanner.method.domain.labels import Into
from residualplanner.more.amounts.weight import ABOVE, BETWEEN_UNITS, NEGATIVE

#: A column by its position, and which of its rules is broken.
Breach = tuple[int, str]

#: The problems of weights by their codes.
WEIGHTS = {
    UNKNOWN: "no weight",
    MISSING: "missing weight",
    NEGATIVE: "negative weight",
    ABOVE: "weight above the maximum",
    BETWEEN_UNITS: "weight between units",
}
RULES = ("unknown", "missing", *WEIGHTS.values(), "no person")
_PROBLEM = {
    "unknown": 'has values outside its schema; add them to the attribute, or declare unknown="Other" or "drop"',
    "missing": 'has missing values; fill them, or declare missing="Not stated" or "drop"',
    "no weight": "has weights that are not finite numbers; correct them, or leave these records out",
    "missing weight": "has missing weights; fill them, or leave these records out",
    "negative weight": "has negative weights; no record may count less than nothing",
    "weight above the maximum": 'has weights above the declared maximum; declare a larger one, or above="clip"',
    "weight between units": "has weights that are not multiples of the declared unit; round them, or declare a smaller "
    "unit",
    "no person": "does not say whose each record is: entries are missing, or neither integers nor text; name "
    "everybody, or leave these records out",
}
#: What else may be wrong where labels are not all ASCII, which the schema tells.
_UNREADABLE = "; in a CSV file that is not UTF-8, labels with letters such as é are not recognized: save it as UTF-8"


class Part(NamedTuple):
    """Some consecutive records of a stream, as they are given."""

    columns: Sequence[Any]  # the entries of each column that is read, in Arrow arrays or pandas columns
    records: int  # how many there are
    #: of lines of a CSV file, (records,): which have sound quotes, and which are records; only these have entries
    lines: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None

    @property
    def unknown(self) -> int:
        """How many more records there are than entries: lines of which no value is known."""
        return 0 if self.lines is None else int((~self.lines[1]).sum())


@dataclass(frozen=True, slots=True, eq=False)
class CodedBlock:
    """Some records, coded."""

    #: (d, records): valid codes; of amounts that of the low end of a bin; meaningless where there are breaches
    codes: Codes
    breaches: frozenset[Breach]  # the columns whose values break a rule that says "error"
    #: of amounts, by position, how many steps each record is above the low end of its bin, (records,) each
    above: Mapping[int, IntArray] = field(default_factory=dict)
    #: (2, records): the number of the person of each record, below 0 where it is not known, and that of the entry by
    #: which it is ordered, 0 where there is none; `NO_PERSONS` where persons play no part
    persons: IntArray = field(default_factory=lambda: NO_PERSONS)
    often: IntArray | None = None  # (records,): how often each record counts; once where there are no integers
    people: NumberedPersons | None = None  # who these persons are, where all records have been read

    @property
    def total(self) -> int:
        """How often all records count together."""
        return self.codes.shape[1] if self.often is None else exact_total(self.often)


def block_of_columns(
    domain: Domain, columns: Iterable[IntArray], records: int, persons: IntArray = NO_PERSONS
) -> CodedBlock:
    """Apply every attribute's rules to raw codes: the records that stay, in the narrowest type that holds all codes.

    Columns (records,) are those of the domain in order: codes, UNKNOWN or MISSING; of weights integers, or the code of
    what is wrong.  DataError where int64 does not hold the sum of the weights.
    """
    codes, often = np.empty((len(domain), records), dtype=code_type(domain)), None
    leaves = np.zeros(records, dtype=bool)
    breaches: set[Breach] = set()
    above: dict[int, IntArray] = {}
    given = iter(columns)
    for position, (attribute, raw) in enumerate(zip(domain.attributes, given, strict=False)):
        if attribute.numeric is not None:
            raw, above[position] = attribute.numeric.cells_of_codes(raw)  # noqa: PLW2901 - of ends
        codes[position], dropped, broken = _settle(attribute, raw)
        leaves |= dropped
        breaches.update((position, word) for word in broken)
    if persons.size and (nobody := (persons[0] < 0) & ~leaves).any():
        rules = [rule for each in domain.attributes for rule in (each.unknown, each.missing)]
        if rules and "error" not in rules:  # so no record is wrong
            leaves |= nobody
        else:
            breaches.add((len(domain.columns), "no person"))
    for position, weights in enumerate(given, start=len(domain)):
        weighed = np.where(leaves, 0, weights)  # what is left out may have any weight
        breaches.update((position, WEIGHTS[code]) for code in np.unique(weighed[weighed < 0]).tolist())
        often = products(often, np.maximum(weighed, 0))
    block = CodedBlock(codes, frozenset(breaches), above, persons, often)
    return of_records(block, ~leaves) if leaves.any() else block


def joined(blocks: Sequence[CodedBlock]) -> CodedBlock:
    """The records of all blocks, at least one, as one block, which no longer says whose they are."""
    if len(blocks) == 1:
        return blocks[0]
    breaches = frozenset[Breach]().union(*(block.breaches for block in blocks))
    weights = [block.often for block in blocks if block.often is not None]  # all blocks have them, or none
    above = {position: np.concatenate([block.above[position] for block in blocks]) for position in blocks[0].above}
    codes = np.concatenate([block.codes for block in blocks], axis=1)
    return CodedBlock(codes, breaches, above, often=np.concatenate(weights) if weights else None)


def of_records(block: CodedBlock, stay: NDArray[np.bool_]) -> CodedBlock:
    """Those of the records of a block that stay."""
    above = {position: of_all[stay] for position, of_all in block.above.items()}
    persons = block.persons[:, stay] if block.persons.size else NO_PERSONS
    often = None if block.often is None else block.often[stay]
    return CodedBlock(block.codes[:, stay], block.breaches, above, persons, often)


def code_type(domain: Domain) -> np.dtype[Any]:
    """The narrowest integer type that holds the codes of every attribute, and of which int64 is a superset."""
    largest = max(domain.sizes, default=1) - 1
    return np.min_scalar_type(largest) if largest < 2**32 else np.dtype(np.int64)


def data_error_of_breaches(domain: Domain, breaches: Iterable[Breach]) -> DataError:
    """The error that names every column that breaks a rule, and nothing about its values."""
    ordered = sorted(breaches)
    names = [column.name for column in domain.columns]
    columns = [f"column {name!r}" for name in names] + ["the column of persons"]
    lines = [f"{columns[position]} {problem_of(domain, position, word)}" for position, word in ordered]
    listing = "rp.check(domain, data), or residualplanner check, lists them for whoever holds the records"
    return DataError(f"{'; '.join(lines)}.  {listing}", column=[*names, ""][ordered[0][0]] or None)


def problem_of(domain: Domain, position: int, word: str) -> str:
    """What is wrong with the records that break a rule, and what to do about it after the first semicolon."""
    if word != "unknown":
        return _PROBLEM[word]
    attribute = domain.attributes[position]
    if attribute.bins is not None:
        remedy = f"widen its bins, or list labels in their place if it holds no {attribute.bins.scale.entries}"
        return f'has values outside its schema; {remedy}, or declare unknown="Other" or "drop"'
    if (numeric := attribute.numeric) is None:
        is_ascii = all(str(label).isascii() for label in attribute.labels or ())
        return _PROBLEM[word] + ("" if is_ascii else _UNREADABLE)
    problems, remedies = ["entries that are not finite numbers"], ['unknown="Other" or "drop"']
    if numeric.between_units == "refuse":
        problems.append("amounts between units")
        remedies.insert(0, 'a smaller unit or between_units="round"')
    if numeric.outside == "refuse":
        problems.append("amounts outside its limits")
        remedies.insert(0, 'wider limits or outside="clip"')
    return f"has {' or '.join(problems)}; declare {', or '.join(remedies)}"


def _settle(attribute: Attribute, raw: IntArray) -> tuple[IntArray, NDArray[np.bool_], Sequence[str]]:
    leaves = raw < 0
    broken: list[str] = []
    if not leaves.any():
        return raw, leaves, broken
    settled = np.where(leaves, 0, raw)
    for code, word, rule in ((UNKNOWN, "unknown", attribute.unknown), (MISSING, "missing", attribute.missing)):
        concerned = raw == code
        if isinstance(rule, Into):
            settled[concerned] = attribute.code_of_label(rule.label)
            leaves &= ~concerned
        elif rule == "error" and concerned.any():
            broken.append(word)
    return settled, leaves, broken
