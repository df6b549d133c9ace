"""What a pass over the records finds, for the holder of the records alone: which entries fit no value, and how many."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources.columns import python_entries
from residualplanner.gate.sources.rules import CodedBlock
from residualplanner.ground.checks import IntArray
from residualplanner.method.domain.domain import Domain
from residualplanner.method.domain.families import MISSING, UNKNOWN

#: How many different values of a column are remembered.
_DISTINCT = 1_000
#: How many numbers of lines are.
_LINES = 5


class Watch:
    """Is told what is read, in this order for each block of records; this one takes no notice."""

    def begin(self, records: int) -> None:
        """A block of so many records begins."""

    def lines(self, is_sound: NDArray[np.bool_], fits: NDArray[np.bool_]) -> None:
        """Which of its lines in a CSV file have quotes as they should be, and which are records."""

    def column(self, position: int, entries: Any, codes: IntArray) -> IntArray:
        """The codes of a column, which are returned, of so many entries and then of lines that are not records."""
        del position, entries
        return codes

    def people(self, columns: Sequence[Any], persons: IntArray) -> None:
        """Persons and positions of the block's records, and the columns that they come from."""

    def kept(self, blocks: Iterator[CodedBlock]) -> Iterator[CodedBlock]:
        """The blocks of the records that count, as they are given."""
        return blocks


NOT_WATCHED = Watch()


@dataclass(slots=True)
class Offenders:
    """Entries of a column under one rule."""

    records: int = 0  # how many
    #: how often each value comes, by the value as it is written and its type's name; at most a thousand
    values: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], Any] = field(default_factory=dict)  # one entry for each

    def add(self, records: int, entries: Sequence[Any]) -> None:
        """So many more, some of which have these entries."""
        self.records += records
        for entry in entries:
            key = (str(entry) if isinstance(entry, np.generic) else repr(entry), type(entry).__name__)
            if key in self.values or len(self.values) < _DISTINCT:
                self.values[key] += 1
                self.examples.setdefault(key, entry)


class Tally(Watch):
    """A watch that counts what does not fit a domain.

    Args:
        domain: the schema.
        has_order: whether a second column orders the records of a person.

    Attributes:
        records: how many were read.
        dropped: how many of them a rule leaves out of every table.
        counted: how many of the others are counted: fewer where people are limited.
        offenders: by a column's position and the code of what is wrong with its entries.
        nobody: records without a person.
        last: records without an entry to order by.
        unsound: lines with misplaced quotes and the like.
        unequal: lines with more or fewer fields than the first.
        numbers: of the first lines that are not records, from 1.
    """

    def __init__(self, domain: Domain, *, has_order: bool = False) -> None:
        self._domain, self._has_order = domain, has_order
        self.records = self.dropped = self.counted = self.unsound = self.unequal = 0
        self.numbers: list[int] = []
        self.offenders: dict[tuple[int, int], Offenders] = {}
        self.nobody, self.last = Offenders(), Offenders()
        self._drops = np.empty(0, dtype=np.bool_)

    def begin(self, records: int) -> None:
        """A block begins, and the one before has ended."""
        self.dropped += int(self._drops.sum())
        self._drops = np.zeros(records, dtype=np.bool_)
        self.records += records

    def lines(self, is_sound: NDArray[np.bool_], fits: NDArray[np.bool_]) -> None:
        """Count the lines that are not records."""
        unsound = int((~is_sound).sum())
        self.unsound += unsound
        self.unequal += int((~fits).sum()) - unsound
        first = self.records - len(fits) + 2  # the names are in line 1
        self.numbers += (np.flatnonzero(~fits)[: _LINES - len(self.numbers)] + first).tolist()

    def column(self, position: int, entries: Any, codes: IntArray) -> IntArray:
        """Note the entries that are no values."""
        is_wrong = codes < 0
        if not is_wrong.any():
            return codes
        if position < len(self._domain):
            attribute = self._domain.attributes[position]
            for code, rule in ((UNKNOWN, attribute.unknown), (MISSING, attribute.missing)):
                if rule == "drop":
                    self._drops |= codes == code
        else:
            is_wrong &= ~self._drops  # what is left out may have any weight
        for code in np.unique(codes[is_wrong]).tolist():
            concerned = is_wrong & (codes == code)
            shown = [] if code == MISSING else python_entries(entries, concerned[: len(entries)])
            self.offenders.setdefault((position, code), Offenders()).add(int(concerned.sum()), shown)
        return codes

    def people(self, columns: Sequence[Any], persons: IntArray) -> None:
        """Note the records without a person, and those without an entry to order by."""
        if not columns:
            return
        stays = ~self._drops
        noted = [(self.nobody, columns[0], stays & (persons[0] < 0))]
        noted += [(self.last, columns[1], stays & (persons[1] == 0))] if self._has_order else []
        for offenders, entries, concerned in noted:
            if concerned.any():
                offenders.add(int(concerned.sum()), python_entries(entries, concerned[: len(entries)]))

    def kept(self, blocks: Iterator[CodedBlock]) -> Iterator[CodedBlock]:
        """Count the records that are kept."""
        for block in blocks:
            self.counted += block.codes.shape[1]
            yield block
        self.begin(0)
