"""The lines of a ledger, chained by hashes, and what they say together.

Each line is canonical JSON and ends in a line feed: first the terms, then one line for each charge, and one for each
stage of a release in a store, which costs nothing.  ``sha256`` of a line covers that of the line before.  Bytes after
the last line feed are a torn line: its writer was killed.  A torn line is never removed: the next line is appended
after a tab, completes it, and has a hash that covers all of it.  Where a charge was torn, that is its settlement.
"""

import hashlib
import io
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from residualplanner.ground.checks import is_sha256, value_text
from residualplanner.ground.errors import BudgetError, FileFormatError
from residualplanner.ground.format_version import FORMAT_VERSION, require_version
from residualplanner.ground.json import json_text, parse_json
from residualplanner.ground.words import TEXT_LIMIT, fraction_text
from residualplanner.method import privacy

#: The largest file and the longest line, in bytes.
SIZE_LIMIT, LINE_LIMIT = 2**26, 2**15
#: Fractions with longer numerators or denominators are rounded up to `KEPT_BITS` significant bits.
LONG_BITS, KEPT_BITS = 8192, 1024

_FORMAT = {"format": "residualplanner/ledger", "version": FORMAT_VERSION}
_FIRST = {"budget", "data_set", "format", "neighbors", "reason", "records_per_person", "sha256", "version"}
_ENTRY = {"cost", "label", "plan_sha256", "sequence", "sha256"}
_STAGE = {"digest", "release", "sha256", "stage"}
_COST = re.compile(r"[1-9][0-9]{0,2999}/[1-9][0-9]{0,2999}")
_STAGE_NAME, _RELEASE = re.compile(r"generation (0|[1-9][0-9]{0,8})|answers"), re.compile(r"[0-9a-f]{32}")
#: What completes a torn line; and what a line starts with that costs nothing.
TAB, _FREE = b"\t", b'{"digest'


@dataclass(frozen=True, slots=True)
class LedgerTerms:
    """The terms of a ledger, which never change; BudgetError where one of these is invalid."""

    budget: privacy.Budget | None  # the most that all charges may cost together; None for no limit
    reason: str  # why there is no limit; empty where there is one
    data_set: str  # the name its curator gave the data set; never anything computed from the data
    neighbors: privacy.Neighbors  # which data sets count as neighbors, for all charges

    def __post_init__(self) -> None:
        if self.budget is not None and not isinstance(self.budget, privacy.Budget):
            raise BudgetError(
                f"a ledger's budget must be a Budget such as zcdp(1), got {value_text(self.budget)}; a ledger's file "
                "is opened by Ledger.open"
            )
        if self.budget is not None:
            privacy.require_discrete(self.budget)
        require_text("reason", self.reason)
        require_text("data_set", self.data_set)
        if (self.budget is None) != bool(self.reason.strip()):
            raise BudgetError("a ledger has either a budget or a reason for having none; give one of them")

    @property
    def head(self) -> str:
        """The hash of the first line."""
        return hashlib.sha256(json_text(self._fields)).hexdigest()

    @property
    def line(self) -> bytes:
        """The first line of the ledger."""
        return json_text(self._fields | {"sha256": self.head}) + b"\n"

    @property
    def _fields(self) -> dict[str, Any]:
        return {
            **_FORMAT,
            "budget": None if self.budget is None else self.budget.to_json(),
            "data_set": self.data_set,
            "neighbors": self.neighbors.notion,
            "reason": self.reason,
            "records_per_person": self.neighbors.records_per_person,
        }


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One charge.

    Attributes:
        sequence: its number, from 1.
        cost: the privacy cost (pcost) that it counts for, exact; rho-zCDP has pcost 2 * rho.
        plan_sha256: the hash of the plan that was measured; empty where a torn line was settled.
        label: its purpose, in words.
        sha256: the hash of this line and all lines before it.
    """

    sequence: int
    cost: Fraction
    plan_sha256: str
    label: str
    sha256: str

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the entry's line but its hash."""
        cost = fraction_text(self.cost)
        return {"cost": cost, "label": self.label, "plan_sha256": self.plan_sha256, "sequence": self.sequence}


@dataclass(frozen=True, slots=True)
class LedgerStage:
    """A stage that a release in a store has reached; it costs nothing, and tells a copy of the store.

    BudgetError where one of these is not what a stored release has.
    """

    release: str  # the identifier of the release in its store
    stage: str  # "generation 0" and so on, or "answers", when all of them are there
    digest: str  # the SHA-256 of what the store holds of it
    sha256: str = ""

    def __post_init__(self) -> None:
        texts = (self.release, self.stage, self.digest)
        is_sound = all(isinstance(text, str) for text in texts) and is_sha256(self.digest)
        if not (is_sound and _RELEASE.fullmatch(self.release) and _STAGE_NAME.fullmatch(self.stage)):
            raise BudgetError("a stage of a release has its identifier, a generation or answers, and a SHA-256")

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the line but its hash."""
        return {"digest": self.digest, "release": self.release, "stage": self.stage}


Line = TypeVar("Line", bound=LedgerEntry | LedgerStage)


def chained(line: Line, head: str, torn: bytes) -> Line:
    """The line with its hash, after a line with the hash ``head`` and the bytes of a torn one."""
    return replace(line, sha256=hashlib.sha256(head.encode("ascii") + torn + json_text(line.fields)).hexdigest())


def _text_of_line(line: LedgerEntry | LedgerStage) -> bytes:
    return json_text(line.fields | {"sha256": line.sha256}) + b"\n"


def shortened(exact: Fraction) -> Fraction:
    """The number itself, or a number not below it with fewer digits where it has thousands.

    Example:
        >>> shortened(Fraction(1, 3))
        Fraction(1, 3)
        >>> third = Fraction(10**4000 // 3, 10**4000)
        >>> 0 <= shortened(third) - third < Fraction(1, 2**1000)
        True
    """
    numerator, denominator = exact.numerator, exact.denominator
    if max(numerator.bit_length(), denominator.bit_length()) <= LONG_BITS:
        return exact
    shift = max(min(KEPT_BITS + denominator.bit_length() - numerator.bit_length(), LONG_BITS // 2), 0)
    return Fraction(-((-numerator << shift) // denominator), 1 << shift)


def require_text(name: str, value: object) -> str:
    """Return a short printable string, or raise BudgetError."""
    if not isinstance(value, str) or len(value) > TEXT_LIMIT or not value.isprintable():
        raise BudgetError(f"a ledger's {name} must be one line of printable text, at most {TEXT_LIMIT} characters")
    return value


def require_hash(value: object) -> str:
    """Return a SHA-256 as 64 hexadecimal digits, or raise BudgetError."""
    if not is_sha256(value):
        raise BudgetError("a plan is charged by its SHA-256, as 64 hexadecimal digits in lower case")
    return value


def require_cost(cost: object) -> Fraction:
    """Return an exact positive cost, rounded up if it has thousands of digits; or raise BudgetError."""
    if isinstance(cost, bool) or not isinstance(cost, int | Fraction):
        raise BudgetError(f"a charge must be exact, a Fraction or an int; got {type(cost).__name__}")
    if not 0 < cost <= sys.float_info.max:
        raise BudgetError("a charge must be positive, and at most 1.79e308")
    return shortened(Fraction(cost))


@dataclass(frozen=True, slots=True)
class LedgerAccount:
    """A ledger at one moment."""

    terms: LedgerTerms  # of the ledger
    head: str  # the hash of its last complete line
    lines: tuple[LedgerEntry | LedgerStage, ...] = ()  # its charges, and the stages of releases in stores
    spent: Fraction = Fraction(0)  # by all charges: exact, or rounded up where that has thousands of digits
    torn: bytes = b""  # the bytes after the last complete line

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Its charges."""
        return tuple(line for line in self.lines if isinstance(line, LedgerEntry))

    @property
    def is_torn(self) -> bool:
        """Whether the last line is incomplete, and may have been a charge."""
        return bool(self.torn) and not self.torn.startswith(_FREE)

    def require_whole(self) -> None:
        """Raise FileFormatError if the last line may have been a charge, and is incomplete."""
        if self.is_torn:
            raise FileFormatError(
                "the last line is incomplete: a run was killed while it was charged; say what it counts for, with "
                "Ledger.settle(cost) or residualplanner ledger FILE --settle COST"
            )

    def require_new(self, plan_sha256: str, cost: Fraction) -> None:
        """Raise BudgetError if a plan was charged before; ``cost`` is what it would be charged again."""
        entry = next((entry for entry in self.entries if entry.plan_sha256 == plan_sha256), None)
        if entry is None:
            return
        budget = self.terms.budget
        if budget is not None and cost > budget.pcost_exact - self.spent:
            anew = "The ledger has too little left to measure it anew"
        else:
            anew = "To measure anew, at the full cost, as where that run has left nothing, write again=True, or --again"
        raise BudgetError(
            f"entry {entry.sequence} of the ledger is for this plan already ({entry.label}).  What was measured "
            "then gives every product, such as non-negative tables, at no further cost: reconstruct the folder of "
            f"that release, or its measurement.  {anew}"
        )

    def require_stages(self, release: str, known: Mapping[str, str]) -> None:
        """Raise BudgetError unless all stages recorded of a release are those of its store, by their digests."""
        for line in self.lines:
            if isinstance(line, LedgerStage) and line.release == release and known.get(line.stage) != line.digest:
                raise BudgetError(
                    f"this store is a copy: the ledger has {line.stage} of its release from another one, which was, or "
                    "can be, completed there; or what was drawn here is missing.  Noise is not drawn twice for one "
                    "charge: go on with the other one, and give this one up (abort_measuring, for stored measurements)"
                )

    def following(self, line: Line) -> Line:
        """The next line, with its hash."""
        return chained(line, self.head, self.torn and self.torn + TAB)

    def bytes_of(self, line: LedgerEntry | LedgerStage) -> bytes:
        """The bytes to append for the next line."""
        return (TAB if self.torn else b"") + _text_of_line(line)

    def with_line(self, line: LedgerEntry | LedgerStage) -> "LedgerAccount":
        """The ledger with its next line."""
        spent = shortened(self.spent + line.cost) if isinstance(line, LedgerEntry) else self.spent
        return LedgerAccount(self.terms, line.sha256, (*self.lines, line), spent)


def read_account(content: bytes) -> LedgerAccount:
    """Read a ledger; FileFormatError where it is too large, any line is not as it was written, or it is overspent."""
    if len(content) > SIZE_LIMIT:
        raise FileFormatError(f"a ledger is at most {SIZE_LIMIT:,} bytes long; this file is longer")
    end = content.find(b"\n")
    if end < 0:
        message = "line 1 is incomplete: not a ledger, or one to which nothing was charged; create it again"
        raise FileFormatError(message)
    terms, whole = _terms_of_line(content[:end]), content.rfind(b"\n") + 1
    lines: list[LedgerEntry | LedgerStage] = []
    head, spent, charges = terms.head, Fraction(0), 0
    # One line at a time: a file may have 64 million empty lines, and is refused at the first.
    for number, line in enumerate(io.BytesIO(content[end + 1 : whole]), start=2):
        found = _line_of_text(line[:-1], number, head, charges + 1)
        lines.append(found)
        head = found.sha256
        if isinstance(found, LedgerEntry):
            charges, spent = charges + 1, shortened(spent + found.cost)
        if terms.budget is not None and not spent <= terms.budget.pcost_exact:
            message = f"line {number} spends more than the budget: the ledger was not written by this library"
            raise FileFormatError(message)
    return LedgerAccount(terms, head, tuple(lines), spent, content[whole:])


def _fields_of(line: bytes, number: int, *names: set[str]) -> dict[str, Any]:
    """The fields of a line, which are one of these sets, still unchecked."""
    if len(line) > LINE_LIMIT:
        raise FileFormatError(f"line {number} is longer than any that this library writes")
    try:
        fields = parse_json(line.decode("ascii"))
    except (FileFormatError, UnicodeDecodeError):
        raise FileFormatError(f"line {number} is not a line of a ledger: damaged, or edited") from None
    if isinstance(fields, dict) and fields.get("format") == _FORMAT["format"]:
        require_version(fields.get("version"), None, kind="ledger", where=f"line {number}: ")
    if not isinstance(fields, dict) or set(fields) not in names:
        raise FileFormatError(f"line {number} does not have the fields {sorted(names[0])}")
    return fields


def _terms_of_line(line: bytes) -> LedgerTerms:
    """The terms in the first line, without its line feed; FileFormatError unless it was written just so."""
    fields = _fields_of(line, 1, _FIRST)
    if {name: fields[name] for name in _FORMAT} != _FORMAT:
        raise FileFormatError("line 1 is not that of a ledger")
    try:
        budget = None if fields["budget"] is None else privacy.Budget.from_json(fields["budget"])
        neighbors = privacy.Neighbors(fields["neighbors"], fields["records_per_person"])
        terms = LedgerTerms(budget, fields["reason"], fields["data_set"], neighbors)
    except (BudgetError, FileFormatError) as error:
        raise FileFormatError(f"line 1: {error}") from None
    if terms.line != line + b"\n":
        raise FileFormatError("line 1 was edited: it does not fit its hash")
    return terms


def _line_of_text(line: bytes, number: int, head: str, sequence: int) -> LedgerEntry | LedgerStage:
    """A line after the first, as `_terms_of_line`; the part before a tab was torn."""
    prefix, tab, text = line.rpartition(TAB)
    fields = _fields_of(text, number, _ENTRY, _STAGE)
    try:
        found: LedgerEntry | LedgerStage
        if set(fields) == _STAGE:
            found = LedgerStage(fields["release"], fields["stage"], fields["digest"])
        else:
            if type(fields["sequence"]) is not int or fields["sequence"] != sequence:
                raise FileFormatError(f"line {number} is not entry {sequence}: lines were removed, repeated or edited")
            cost, plan = fields["cost"], fields["plan_sha256"]
            if not isinstance(cost, str) or not _COST.fullmatch(cost):
                raise FileFormatError(f"line {number} has no cost written as 'num/den'")
            label = require_text("label", fields["label"])
            if plan != "" or not tab:  # only what settles a torn line has no plan
                require_hash(plan)
            found = LedgerEntry(sequence, require_cost(Fraction(cost)), plan, label, "")
    except BudgetError as error:
        raise FileFormatError(f"line {number}: {error}") from None
    found = chained(found, head, prefix + tab)
    if _text_of_line(found) != text + b"\n":
        raise FileFormatError(f"line {number} was edited, or one before it was: it does not fit its hash")
    return found
