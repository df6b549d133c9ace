"""The records of several tables, joined by their units: computed columns beside those that are read.

All that a record gets depends on the records of its own unit alone, and of these on those that count.  The join is made
of codes, after the rules of every schema, so that it is the same whatever the records stand in: for frames and files in
this process, for frames of an engine at its workers, where all records of a unit are brought together.

Source: eq. (145).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ParamSpec, TypeVar

import numpy as np

from residualplanner.gate.sources.coding import blocks_of_batches
from residualplanner.gate.sources.limited_records import Contributions, LimitedRecords, contributions_of
from residualplanner.gate.sources.opening import engines, open_source
from residualplanner.gate.sources.records import source_of_blocks
from residualplanner.gate.sources.rules import CodedBlock, code_type
from residualplanner.gate.sources.source import Source, guarded
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError
from residualplanner.linked.tables import LinkedTables
from residualplanner.method.domain.domain import Domain
from residualplanner.method.privacy import Notion

P = ParamSpec("P")
T = TypeVar("T")

#: How many records of a unit count where all do.
_ALL = 2**40


class KeptRecords:
    """The records of one table that count, in blocks, with room for its computed columns."""

    def __init__(
        self, domain: Domain, derived: Iterable[str], blocks: Sequence[CodedBlock], numbers: Mapping[bytes, int]
    ) -> None:
        self._domain, self._names = domain, domain.names
        computed = domain.positions([*derived])
        self._given = [position for position in range(len(domain)) if position not in computed]
        self.blocks = [self._widened(block) for block in blocks]
        self.unit_count = len(numbers) + 1  # the last is for records that say none, which an error follows
        own = np.array([*(numbers[entry] for entry in _entries(blocks)), len(numbers)])
        self.units = own[_joined(block.persons[0] for block in blocks)]
        self.ranks = _joined(block.persons[1] for block in blocks)
        if blocks and blocks[0].people is not None:
            self.ranks = blocks[0].people.ranks(self.ranks)

    def codes(self, name: str) -> IntArray:
        """As `UnitRecords.codes`."""
        position = self._names.index(name)
        return _joined(block.codes[position] for block in self.blocks)

    def fill(self, name: str, of_units: IntArray) -> None:
        """Give each record the code of its unit, (units,)."""
        position, first = self._names.index(name), 0
        for block in self.blocks:
            block.codes[position] = of_units[self.units[first : first + block.codes.shape[1]]]
            first += block.codes.shape[1]

    def _widened(self, block: CodedBlock) -> CodedBlock:
        """The block with the columns of the whole domain, of which those that are computed are still 0."""
        codes = np.zeros((len(self._domain), block.codes.shape[1]), dtype=code_type(self._domain))
        codes[self._given] = block.codes
        positions = [*self._given, *range(len(self._domain), len(self._domain.columns) + 1)]  # weights, and persons
        breaches = frozenset((positions[position], rule) for position, rule in block.breaches)
        above = {positions[position]: steps for position, steps in block.above.items()}
        return CodedBlock(codes, breaches, above, often=block.often)


def _entries(blocks: Sequence[CodedBlock]) -> Iterable[bytes]:
    return blocks[0].people.entries if blocks and blocks[0].people is not None else ()


def _joined(arrays: Iterable[IntArray]) -> IntArray:
    return np.concatenate([np.empty(0, dtype=np.int64), *arrays])


def joined_blocks(tables: LinkedTables, read: Mapping[str, Iterable[CodedBlock]]) -> dict[str, list[CodedBlock]]:
    """The records that count of each table, with computed columns, from the columns read.  Source: eq. (145)."""
    held = {name: [*blocks] for name, blocks in read.items()}
    units = dict.fromkeys(entry for blocks in held.values() for entry in _entries(blocks))
    numbers = {entry: number for number, entry in enumerate(units)}
    kept = {name: KeptRecords(tables[name].domain, tables[name].derived, held.pop(name), numbers) for name in [*held]}
    for name, column in tables.derived:
        rule = tables[name].derived[column]
        other, target = tables[rule.of], tables[name].domain[column]
        kept[name].fill(column, rule.per_unit(target, other.domain, other.records, kept[rule.of]))
    return {name: each.blocks for name, each in kept.items()}


def blocks_of_target(
    tables: LinkedTables, contributions: Mapping[str, Contributions], target: str, batches: Iterable[tuple[int, Any]]
) -> Iterator[CodedBlock]:
    """The records of the target, from those of some units in all tables, each batch with its table's position."""
    held: dict[str, list[Any]] = {name: [] for name in contributions}
    names = [*held]
    for number, batch in batches:
        held[names[number]].append(batch)
    read = {name: blocks_of_batches(tables[name].read_domain, contributions[name], own) for name, own in held.items()}
    yield from joined_blocks(tables, read)[target]


def limited_data(tables: LinkedTables, data: Mapping[str, object], notion: Notion) -> dict[str, object]:
    """The records of each table, as many of each unit as count; all, where their number is public.

    DomainError where there are none for a table; DataError where they are limited already.
    """
    tables.require_mapping("data", data)
    for name, each in data.items():
        if isinstance(each, LimitedRecords):
            raise DataError(
                f"give the records of table {name!r} alone, without LimitedRecords: the plan says how many of a "
                'unit count with neighbors="add-remove", and all do where records are replaced'
            )
    if tables.neighbors(notion).has_public_total:
        return dict(data)
    key = LimitedRecords(None, tables.unit).key  # the same for all tables
    return {
        name: LimitedRecords(data[name], tables.unit, tables[name].records, tables[name].order, key) for name in tables
    }


class OpenedTables:
    """The records of all tables, as `limited_data` gives them, opened for counting; DataError names the table."""

    def __init__(self, tables: LinkedTables, data: Mapping[str, object], notion: Notion) -> None:
        self._tables, self._has_all = tables, tables.neighbors(notion).has_public_total
        self._joined: dict[str, list[CodedBlock]] = {}
        # with whose they are, which `limited_data` has said already where some are left out
        together: dict[str, Any] = {name: data[name] for name in tables.read_together}
        if self._has_all:
            together = {name: LimitedRecords(data[name], tables.unit, _ALL, tables[name].order) for name in together}
        sources = self._clusters(together)
        self._read = {} if sources else {name: self._opened(name, each) for name, each in together.items()}
        for name in tables:
            if name not in together:
                sources[name] = self._opened(name, data[name], tables[name].domain)
            elif name in self._read:
                sources[name] = source_of_blocks(tables[name].domain, partial(self._blocks, name))
        self.sources = sources

    def read(self) -> None:
        """Read those tables, once, that are joined in this process; DataError where one cannot be read."""
        found = {name: in_table(name, _read_all, source) for name, source in self._read.items()}
        self._joined = joined_blocks(self._tables, found) if found else {}

    def _blocks(self, name: str) -> Iterator[CodedBlock]:
        return iter(self._joined.pop(name))  # so that it is gone when it has been counted

    def _opened(self, name: str, data: object, domain: Domain | None = None) -> Source:
        table = self._tables[name]
        most = _ALL if self._has_all else table.records
        return in_table(name, open_source, data, domain or table.read_domain, records_per_person=most)

    def _clusters(self, together: Mapping[str, LimitedRecords]) -> dict[str, Source]:
        """The sources of tables that an engine joins where their records are; none where they are in no engine."""
        domains = {name: self._tables[name].read_domain for name in together}
        kept = {
            name: in_table(name, contributions_of, each, domains[name], each.keep or _ALL)
            for name, each in together.items()
        }
        frames = [(each.data, domains[name], kept[name]) for name, each in together.items()]
        found: dict[str, Source] = {}
        for name in together:
            reading = partial(blocks_of_target, self._tables, kept, name)  # it is sent to the workers
            cluster = guarded(engines().cluster_of_frames, frames, self._tables[name].domain, reading)
            if isinstance(cluster, DataError):
                raise cluster
            if cluster is not None:
                found[name] = cluster.source()
        return found


def _read_all(source: Source) -> list[CodedBlock]:
    assert source.blocks is not None  # counts and matrices do not say whose a record is, and are refused before
    outcome = guarded(list[CodedBlock], source.blocks())
    if isinstance(outcome, DataError):
        raise outcome
    return outcome


def in_table(name: str, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of a step; a DataError says which table it is about, and leads to no record."""
    try:
        return step(*args, **kwargs)
    except DataError as error:
        outcome = DataError(f"table {name!r}: {error}", column=error.column)
    raise outcome
