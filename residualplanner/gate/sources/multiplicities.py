"""How often each record counts: as an integer says, or once where there are none (None).

Sums are those of int64 integers and exact: floats are nowhere, and what int64 cannot hold is refused before it is
added.  Source: eq. (100).
"""

from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import DataError

#: The most that all records together may count: what int64 holds.
MOST = 2**63 - 1


def exact_total(entries: IntArray) -> int:
    """The sum of integers that are not negative, however large it is."""
    high, low = entries >> 32, entries & 0xFFFFFFFF
    return (int(high.sum()) << 32) + int(low.sum())


def too_many() -> DataError:
    """The error for records that count more often together than int64 holds."""
    return DataError(
        "all records together count more than 64-bit integers hold; declare a larger unit, or smaller maxima"
    )


def products(often: IntArray | None, integers: IntArray) -> IntArray:
    """Products of integers (records,) that are not negative; DataError where int64 does not hold the sum of all."""
    if often is None or int(often.max(initial=0)) * int(integers.max(initial=0)) <= MOST:
        found = integers if often is None else often * integers
        if exact_total(found) <= MOST:
            return found
    elif (exact := often.astype(object) * integers).sum() <= MOST:
        return exact.astype("int64")
    raise too_many()
