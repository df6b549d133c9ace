"""Entries that say whose a record is, and where it stands in the order of that person's records, as integers.

Reads: Arrow arrays.  Gives: int64 arrays; which integer stands for which text is remembered from block to block.
"""

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import IntArray
from residualplanner.errors import DataError
from residualplanner.sources.columns import entries_of_type, is_string

#: The number of a person where there is no entry, or one that is no integer and no text.
NOBODY: Final = -1
#: Where a record without an entry stands: after all others.
LAST: Final = np.iinfo(np.int64).max
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_SIGN = np.int64(np.iinfo(np.int64).min)


class Texts:
    """Numbers texts in the order in which they come.

    Attributes:
        known: the number of each text.
    """

    def __init__(self) -> None:
        self.known: dict[bytes, int] = {}

    def numbers(self, array: Any) -> IntArray:
        """The number of each text of an Arrow array, -1 where there is none."""
        import pyarrow as pa

        encoded = array.cast(pa.large_binary()).dictionary_encode()
        own = [self.known.setdefault(text, len(self.known)) for text in encoded.dictionary.to_pylist()]
        slots = encoded.indices.cast(pa.int64()).fill_null(len(own)).to_numpy(zero_copy_only=False)
        return np.asarray(np.array([*own, -1], dtype=np.int64)[slots])


class PersonColumn:
    """Numbers the persons of a column of integers or text: 7 and "7" are the same person, "07" is another."""

    def __init__(self) -> None:
        self._texts = Texts()

    @property
    def texts(self) -> list[bytes]:
        """The entry of each person, in the order of their numbers."""
        return list(self._texts.known)

    def numbers(self, array: Any) -> IntArray:
        """The number of each record's person, NOBODY where the entry is missing, empty, or of another kind."""
        import pyarrow as pa

        plain = plain_array(array)
        if pa.types.is_integer(plain.type):
            plain = plain.cast(pa.large_string())
        elif not is_string(plain.type):
            return np.full(len(plain), NOBODY, dtype=np.int64)
        numbers = self._texts.numbers(plain)
        empty = self._texts.known.get(b"", NOBODY)
        return np.where(numbers == empty, NOBODY, numbers)


class OrderColumn:
    """Where records stand by a column of integers, floats, moments, dates or text.

    Text is ordered by its bytes, but what is written as a decimal number comes first, by its size: so "10" follows "9",
    and dates as ISO 8601 writes them are in order.
    """

    def __init__(self) -> None:
        self._texts = Texts()
        self._form = ""

    def positions(self, array: Any) -> IntArray:
        """Integers in the order of the entries, LAST where there is none; of texts their numbers, see `ranks`."""
        import pyarrow as pa

        plain = plain_array(array)
        if pa.types.is_null(plain.type):
            return np.full(len(plain), LAST, dtype=np.int64)
        form, positions = self._positions(plain)
        if self._form not in ("", form):
            raise DataError("the order of a person's records has entries of different types; write them as one type")
        self._form = form
        return np.where(np.asarray(plain.is_null()), LAST, positions)

    def ranks(self, positions: IntArray) -> IntArray:
        """The positions among all that have been read, texts included."""
        if self._form != "text":
            return positions
        texts = list(self._texts.known)
        rank = np.full(len(texts) + 1, LAST, dtype=np.int64)
        rank[sorted(range(len(texts)), key=lambda number: _text_key(texts[number]))] = np.arange(len(texts))
        return rank[np.where(positions == LAST, len(texts), positions)]

    def _positions(self, plain: Any) -> tuple[str, IntArray]:
        import pyarrow as pa

        types = pa.types
        if is_string(plain.type):
            return "text", self._texts.numbers(plain)
        if types.is_timestamp(plain.type) or types.is_date(plain.type):
            return "moment", _filled(plain.cast(pa.timestamp("us"), safe=False).cast(pa.int64()))
        if types.is_floating(plain.type) or types.is_decimal(plain.type):
            return "float", _ordered_bits(plain.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False))
        if types.is_uint64(plain.type):
            return "unsigned", plain.fill_null(0).to_numpy(zero_copy_only=False).view(np.int64) ^ _SIGN
        if types.is_integer(plain.type) or types.is_boolean(plain.type):
            return "integer", _filled(plain.cast(pa.int64()))
        raise DataError("the order of a person's records must be numbers, dates, moments or text")


def is_person_type(kind: Any) -> bool:
    """Whether entries of an Arrow type can say whose a record is."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_integer(kind) or is_string(kind) or pa.types.is_null(kind))


def is_order_type(kind: Any) -> bool:
    """Whether records can be ordered by entries of an Arrow type."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return is_person_type(kind) or entries_of_type(kind) is not None or bool(pa.types.is_timestamp(kind))


def plain_array(array: Any) -> Any:
    """An Arrow array without chunks, dictionary or extension."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    return array.cast(pa.large_string()) if pa.types.is_string_view(array.type) else array


def _filled(array: Any) -> IntArray:
    return np.asarray(array.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)


def _ordered_bits(numbers: NDArray[np.float64]) -> IntArray:
    """Integers in the order of floats; NaN stands last."""
    bits = (numbers + 0.0).view(np.int64)  # -0.0 becomes 0.0
    ordered = np.where(bits < 0, ~bits ^ _SIGN, bits)
    return np.where(np.isnan(numbers), LAST, ordered)


def _text_key(text: bytes) -> tuple[bool, float, bytes]:
    """Numbers first, by their size, then the others by their bytes."""
    written = text.decode(errors="replace")
    is_number = _NUMBER.fullmatch(written) is not None
    return not is_number, float(written) if is_number else 0.0, text
