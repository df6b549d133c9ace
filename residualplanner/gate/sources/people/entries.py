"""Entries that say whose a record is, as integers.

Reads: Arrow arrays, pandas columns.  Gives: int64 arrays; which integer stands for whom is remembered from block to
block.  Two entries are of one person by their own values alone.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.sources.columns import (
    each_object,
    entries_of_type,
    is_string,
    plain_array,
    rows_of_series,
    texts_of_array,
)
from residualplanner.ground.checks import IntArray

if TYPE_CHECKING:
    import pandas as pd

#: The number of a person where there is no entry, or one that is no integer and no text.
NOBODY: Final = -1


class PersonColumn:
    """Numbers the persons of a column of integers or text: 7 and "7" are the same person, "07" is another."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}

    @property
    def texts(self) -> list[bytes]:
        """The entry of each person, in the order of their numbers."""
        return list(self._known)

    def of_array(self, array: Any) -> IntArray:
        """The number of each record's person, NOBODY where the entry is missing, empty, or of another kind."""
        import pyarrow as pa

        plain = plain_array(array)
        if pa.types.is_integer(plain.type):
            plain = plain.cast(pa.large_string())
        elif not is_string(plain.type):
            return np.full(len(plain), NOBODY, dtype=np.int64)
        texts, slots = texts_of_array(plain)
        return np.array([*map(self._number, texts), NOBODY], dtype=np.int64)[slots]

    def of_series(self, column: "pd.Series[Any]") -> Callable[[slice], IntArray]:
        """The same for a pandas column, a slice of it at a time."""
        return rows_of_series(column, self.of_array, self._of_objects, np.array([NOBODY]))

    def _of_objects(self, values: NDArray[np.object_]) -> IntArray:
        return np.fromiter(each_object(self._number_of_entry, values), dtype=np.int64, count=len(values))

    def _number_of_entry(self, entry: object) -> int:
        if isinstance(entry, str):
            return self._number(entry.encode(errors="surrogatepass"))
        if isinstance(entry, int | np.integer) and not isinstance(entry, bool | np.timedelta64):
            return self._number(str(int(entry)).encode())
        return NOBODY

    def _number(self, text: bytes) -> int:
        return self._known.setdefault(text, len(self._known)) if text else NOBODY


def is_person_type(kind: Any) -> bool:
    """Whether entries of an Arrow type can say whose a record is."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_integer(kind) or is_string(kind) or pa.types.is_null(kind))


def is_ordered_type(kind: Any) -> bool:
    """Whether an Arrow type is one of categories with an order of their own."""
    import pyarrow as pa

    return kind is not None and pa.types.is_dictionary(kind) and bool(kind.ordered)


def is_order_type(kind: Any) -> bool:
    """Whether records can be ordered by entries of an Arrow type."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return is_person_type(kind) or entries_of_type(kind) is not None or bool(pa.types.is_timestamp(kind))
