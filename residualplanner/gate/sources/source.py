"""Confidential records as a source of counts, and errors that carry no data away.

Libraries put record values into their messages, and error reporters print the variables of every frame along a
traceback.  So whatever a step that touches records raises ends in `guarded`: the exception, its traceback and its
context are discarded, and a new error with a fixed text takes its place.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, ParamSpec, TypeVar, final

import numpy as np

from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError, DomainError, MissingExtraError, ResourceError
from residualplanner.method.domain.domain import Domain


@dataclass(frozen=True, slots=True)
class MergedValues:
    """Of some attributes the values that keep their cells; all other values share one cell, which comes last.

    Every record still counts in one cell of each table, so that sums along an axis are those of the whole table.
    """

    #: positions of attributes that hold no amounts, each with the values that keep their cells: not all
    kept: tuple[tuple[int, range], ...] = ()

    def of_domain(self, domain: Domain) -> Domain:
        """The domain whose sizes tables have."""
        if not self.kept:
            return domain
        sizes = {domain.names[position]: len(values) + 1 for position, values in self.kept}
        return Domain({each.name: sizes.get(each.name, each) for each in domain.attributes})

    def of_table(self, counts: IntArray, positions: tuple[int, ...]) -> IntArray:
        """The counts (n_1, .., n_k) of a table over these positions, in the cells of that domain."""
        for position, values in self.kept:
            if position in positions:
                axis = positions.index(position)
                own = counts.take(values, axis=axis)
                others = counts.sum(axis=axis, keepdims=True) - own.sum(axis=axis, keepdims=True)
                counts = np.concatenate([own, others], axis=axis)
        return counts


#: Every value has its own cell.
NOTHING_MERGED = MergedValues()

P = ParamSpec("P")
T = TypeVar("T")

#: Called with the number of tables done and the number of tables to count; neither depends on the records.
Progress = Callable[[int, int], None]


class WantedTables(NamedTuple):
    """What is counted in one pass over the records, as the arguments of `Source.count` say it."""

    groups: Sequence[IntArray]
    merged: MergedValues
    progress: Progress | None
    later: Sequence[IntArray]


#: As `Source.count`, but an error in the records is returned instead of raised.
Count = Callable[[WantedTables], list[IntArray] | DataError | ResourceError]

_UNREADABLE = (
    "the records could not be read as a table.  What the reader said is withheld, because it may quote a record; "
    "open the same data with pandas, Polars or DuckDB to see it"
)


@final
class Source:
    """Confidential records, or counts of them, from which tables over a domain are counted, where they are."""

    def __init__(self, count: Count, blocks: Callable[[], Iterator[Any]] | None = None) -> None:
        self._count = count
        #: starts a stream of the records in a `CodedBlock` each; None where they are counts, or stay with an engine
        self.blocks = blocks

    def count(
        self,
        groups: Sequence[IntArray],
        *,
        merged: MergedValues = NOTHING_MERGED,
        progress: Progress | None = None,
        later: Sequence[IntArray] = (),
    ) -> list[IntArray]:
        """Count the records of each cell of each table.

        Each group (g, k) holds g sets of k ascending attribute positions, all of the same shape in the domain with
        merged values; it gives one int64 array (g, n1, .., nk).  Each record adds exactly one to one cell of each
        table, or, where an attribute's rule is "drop", nothing to any.  All columns of all records are checked, so that
        the same records can be counted in the ``later`` groups, too.

        DataError where records do not fit the domain, or cannot be read, or ready counts hold no such table: it names
        columns and rules, never a value or a number of records, and leads to none.  ResourceError for lost workers.
        """
        outcome = self._count(WantedTables(groups, merged, progress, later))
        del self  # the traceback must not lead to the records
        if not isinstance(outcome, list):
            raise outcome
        return outcome


def guarded(step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | DataError:
    """The step's result, or the error it ended in, not raised and without history."""
    try:
        return step(*args, **kwargs)
    except (DataError, DomainError, MissingExtraError) as error:
        return DataError(str(error), column=getattr(error, "column", None))
    except MemoryError:
        return DataError("there is not enough memory to read the records")
    except Exception:  # noqa: BLE001 - the text of a foreign error is an output, and may hold a record
        return DataError(_UNREADABLE)
