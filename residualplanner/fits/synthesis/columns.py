"""Columns of records: codes as the labels of the domain, or as numbers that stand for bins.

Reads: codes, attributes.  Gives: columns.
"""

import datetime as dt
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray
from residualplanner.ground.errors import ArgumentError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.domain.domain import Domain

#: How bins are shown.
BinsName = Literal["labels", "middles"]
#: The name of the column of weights: the first of these that no attribute has.
_WEIGHTS = ("weight", "record_weight", "weight_of_record")


def weight_column(domain: Domain) -> str:
    """The name of the column of weights.

    Example:
        >>> weight_column(Domain({"weight": 3, "sex": 2}))
        'record_weight'
    """
    free = (name for name in _WEIGHTS if name not in domain.names)
    return next(free, f"{'_'.join(domain.names)}_weight")


def column_of(attribute: Attribute, codes: IntArray, bins: BinsName) -> NDArray[Any]:
    """The entries of a column for codes (n,), as objects or integers.

    Args:
        attribute: of the column.
        codes (n,): of the records.
        bins: "labels", or "middles": the middle of each bin, and None for a label that is not a bin.

    Raises:
        ArgumentError: there is no such way to show bins.
    """
    if bins not in ("labels", "middles"):
        raise ArgumentError(f'bins must be "labels" or "middles", got {bins!r}')
    if bins == "middles" and attribute.bins is not None:
        own: list[object] = [None] * len(attribute.own_labels)
        return _entries([*middles(attribute.bins), *own])[codes]
    return _entries(attribute.value_labels)[codes]


def middles(bins: Bins) -> list[float | dt.date]:
    """The middle of each bin; of a bin without an end, the edge that it has.

    Example:
        >>> middles(Bins([0, 10, float("inf")]))
        [5.0, 10.0]
        >>> middles(Bins.months("2020-01", "2020-01"))
        [datetime.date(2020, 1, 16)]
    """
    return [_middle(low, high) for low, high in zip(bins.edges[:-1], bins.edges[1:], strict=True)]


def _middle(low: Any, high: Any) -> Any:
    if _is_infinite(low):
        return 0.0 if _is_infinite(high) else high
    if _is_infinite(high):
        return low
    return low + (high - low) // 2 if isinstance(low, dt.date) else float(low) + (float(high) - float(low)) / 2


def _is_infinite(edge: object) -> bool:
    return isinstance(edge, float) and math.isinf(edge)


def _entries(values: Sequence[object]) -> NDArray[Any]:
    """Values of one type as an array: integers as such, all others as objects."""
    if all(type(value) in (int, float) for value in values):
        return np.array(values)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
