"""What a pass over the records finds, for the holder of the records alone: which entries fit no value, and how many."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources.columns import python_entries
from residualplanner.gate.sources.rules import CodedBlock, Part
from residualplanner.ground.checks import IntArray
from residualplanner.method.domain.domain import Domain
from residualplanner.method.domain.families import MISSING, UNKNOWN


@dataclass(slots=True)
class Offenders:
    """Entries of a column under one rule."""

    records: int = 0  # how many
    lines: int = 0  # how many of these are lines that are no records, and have no entries
    #: how often each value comes, by the value as it is written and its type's name; at most a thousand
    values: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], Any] = field(default_factory=dict)  # one entry for each

    def add(self, concerned: NDArray[np.bool_], of_column: Any, entries: Sequence[Any]) -> None:
        """The records that are concerned, with their entries in a column as far as they are to be shown."""
        self.records += int(concerned.sum())
        self.lines += int(concerned[len(of_column) :].sum())
        for entry in entries:
            key = (str(entry) if isinstance(entry, np.generic) else repr(entry), type(entry).__name__)
            if key in self.values or len(self.values) < 1_000:
                self.values[key] += 1
                self.examples.setdefault(key, entry)


class Tally:
    """Counts what does not fit a domain, while its records are read in this process.

    Of the records that were read a rule leaves some, ``dropped``, out of every table, and of the others those are
    counted that count of each person.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.records = self.dropped = self.counted = 0
        #: by a column's position and the code of what is wrong with its entries
        self.offenders: dict[tuple[int, int], Offenders] = {}
        self.limits: Counter[int] = Counter()  # by a column's position how many amounts are, or count as, a limit
        self.nobody, self.last = Offenders(), Offenders()  # records without a person, and with nothing to order by
        #: lines with misplaced quotes and the like; with more or fewer fields than the first; the numbers of the first
        self.unsound, self.unequal, self.numbers = 0, 0, list[int]()

    def note(self, part: Part, codes: Sequence[IntArray], people: Sequence[int], persons: IntArray) -> None:
        """Note some records: the codes of the first columns, and what was read of those at positions ``people``."""
        if part.lines is not None:
            is_sound, fits = part.lines
            unsound = int((~is_sound).sum())
            self.unsound += unsound
            self.unequal += int((~fits).sum()) - unsound
            first = self.records + 2  # the names are in line 1
            self.numbers += (np.flatnonzero(~fits)[: 5 - len(self.numbers)] + first).tolist()
        self.records += part.records
        drops = np.zeros(part.records, dtype=np.bool_)
        for position, of_column in enumerate(codes):
            self._note_column(position, part.columns[position], of_column, drops)
        both = (persons[0] < 0, persons[1] == 0)
        for offenders, at, concerned in zip((self.nobody, self.last), people, both, strict=False):
            column, stays = part.columns[at], concerned & ~drops
            offenders.add(stays, column, _some(column, stays))
        self.dropped += int(drops.sum())

    def kept(self, blocks: Iterator[CodedBlock]) -> Iterator[CodedBlock]:
        """Count the records that are kept."""
        for block in blocks:
            self.counted += block.codes.shape[1]
            yield block

    def _note_column(self, position: int, entries: Any, codes: IntArray, drops: NDArray[np.bool_]) -> None:
        """Note the entries that are no values, and in ``drops`` the records that they leave out of every table."""
        is_wrong = codes < 0
        numeric = self.domain.attributes[position].numeric if position < len(self.domain) else None
        if numeric is not None and numeric.clipping:
            self.limits[position] += numeric.count_at_limits(codes)
        if not is_wrong.any():
            return
        if position < len(self.domain):
            attribute = self.domain.attributes[position]
            for code, rule in ((UNKNOWN, attribute.unknown), (MISSING, attribute.missing)):
                if rule == "drop":
                    drops |= codes == code
        else:
            is_wrong &= ~drops  # what is left out may have any weight
        for code in np.unique(codes[is_wrong]).tolist():
            concerned = is_wrong & (codes == code)
            shown = [] if code == MISSING else _some(entries, concerned)
            self.offenders.setdefault((position, code), Offenders()).add(concerned, entries, shown)


def _some(entries: Any, concerned: NDArray[np.bool_]) -> list[Any]:
    """Those of the entries that are concerned; of lines that are no records, which are last, there are none."""
    return python_entries(entries, concerned[: len(entries)]) if concerned.any() else []
