"""Which records of a person count: all of them, or at most some.

Reads: names of columns, a number.  Gives: Contributions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from residualplanner.gate.sources.people.entries import (
    NOBODY,
    PersonColumn,
    is_order_type,
    is_ordered_type,
    is_person_type,
)
from residualplanner.gate.sources.people.keeping import kept_blocks
from residualplanner.gate.sources.people.order import OrderColumn
from residualplanner.gate.sources.rules import NO_PERSONS, Block
from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


class Contributions(Protocol):
    """Which records of a person count."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read for it: of persons, then of the order, if there is one."""
        ...

    def reader(self) -> "PersonReader":
        """What reads these columns, block by block of one stream."""
        ...

    def require_types(self, types: Sequence[Any], *, is_order_declared: bool = False) -> None:
        """DataError unless columns of these Arrow types serve; None is a column that may hold anything.

        Args:
            types: of each column.
            is_order_declared: whether ordered dictionaries hold all values in the order declared.
        """
        ...


class PersonReader(Protocol):
    """Reads whose records are, and leaves out those that do not count."""

    def of_arrays(self, arrays: Sequence[Any], *, unknown: int = 0) -> IntArray:
        """Persons and order of a block's records as `Block.persons`, and of so many records without entries.

        Args:
            arrays: Arrow arrays, one of each column.
            unknown: how many further records there are.
        """
        ...

    def of_series(self, columns: "Sequence[pd.Series[Any]]") -> Callable[[slice], IntArray]:
        """The same for pandas columns, one of each column, a slice of them at a time."""
        ...

    def kept(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """Those of a stream's records that count."""
        ...


@dataclass(frozen=True, slots=True)
class AllRecords:
    """All records count."""

    columns: ClassVar[tuple[str, ...]] = ()

    def reader(self) -> PersonReader:
        """One that reads nothing."""
        return _NoReader()

    def require_types(self, types: Sequence[Any], *, is_order_declared: bool = False) -> None:
        """Nothing is required."""


@dataclass(frozen=True, slots=True)
class FirstRecords:
    """At most some records of each person count.

    Attributes:
        person: the column that says whose a record is: integers or text.
        keep: how many records of a person count at most.
        order: the column by which a person's records are ordered, the first of which are kept; None for a choice at
            random.  Records without an entry come last.
        key: 32 bytes from which every random choice follows, together with the person's own entry.
    """

    person: str
    keep: int
    order: str | None
    key: bytes = field(repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of persons, and that of the order, if there is one."""
        return (self.person,) if self.order is None else (self.person, self.order)

    def reader(self) -> PersonReader:
        """One that knows no person yet."""
        return _FirstReader(self)

    def require_types(self, types: Sequence[Any], *, is_order_declared: bool = False) -> None:
        """DataError unless persons are integers or text, and the order numbers, dates, moments or text."""
        person, *order = types
        if person is not None and not is_person_type(person):
            raise DataError(
                f"column {self.person!r} is of a type that holds no integers and no text, and says whose a record is; "
                'convert the column (in pandas, where a null turns integers into floats: dtype "Int64")',
                column=self.person,
            )
        for kind in order:
            self._require_order(kind, is_order_declared=is_order_declared)

    def _require_order(self, kind: Any, *, is_order_declared: bool) -> None:
        is_ordered = is_ordered_type(kind)
        if is_ordered and not is_order_declared:
            raise DataError(
                f"column {self.order!r} holds ordered categories, of which Arrow tables, Parquet files and unknown "
                "categories of Dask keep only those that occur; give the frame of pandas or Polars in which they were "
                "declared, or a column of integers in their order",
                column=self.order or "",
            )
        if kind is not None and not is_ordered and not is_order_type(kind):
            raise DataError(
                f"column {self.order!r} must hold numbers, dates, moments or text to order a person's records by it",
                column=self.order or "",
            )


@dataclass(frozen=True, slots=True)
class _NoReader:
    """Reads no persons."""

    def of_arrays(self, arrays: Sequence[Any], *, unknown: int = 0) -> IntArray:
        del arrays, unknown
        return NO_PERSONS

    def of_series(self, columns: "Sequence[pd.Series[Any]]") -> Callable[[slice], IntArray]:
        del columns
        return lambda _: NO_PERSONS

    def kept(self, blocks: Iterator[Block]) -> Iterator[Block]:
        return blocks


class _FirstReader:
    """Numbers persons."""

    def __init__(self, limit: FirstRecords) -> None:
        self._limit, self._persons, self._order = limit, PersonColumn(), OrderColumn()

    def of_arrays(self, arrays: Sequence[Any], *, unknown: int = 0) -> IntArray:
        person, *order = arrays
        persons = self._persons.of_array(person)
        positions = self._order.of_array(order[0]) if order else np.zeros_like(persons)
        of_unknown = np.array([[NOBODY], [0]]).repeat(unknown, axis=1)
        return np.concatenate([np.stack([persons, positions]), of_unknown], axis=1)

    def of_series(self, columns: "Sequence[pd.Series[Any]]") -> Callable[[slice], IntArray]:
        persons_of = self._persons.of_series(columns[0])
        if len(columns) == 1:
            return lambda rows: np.stack([persons := persons_of(rows), np.zeros_like(persons)])
        positions_of = self._order.of_series(columns[1])
        return lambda rows: np.stack([persons_of(rows), positions_of(rows)])

    def kept(self, blocks: Iterator[Block]) -> Iterator[Block]:
        return kept_blocks(blocks, self._persons, self._order, keep=self._limit.keep, key=self._limit.key)
