"""Integers that int64 cannot hold, as plain arrays of 64-bit words.

Reads: arrays of Python integers by group.  Gives: two int64 arrays, and back.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import IntArray, frozen
from residualplanner.ground.errors import FileFormatError
from residualplanner.method.strategy.basis_groups import BasisGroups

_WORD = 64


def wide_to_words(wide: Mapping[int, NDArray[Any]]) -> tuple[IntArray, IntArray]:
    """Write integers in words.

    Args:
        wide: for each of w groups an array of Python integers.

    Returns:
        The groups, ascending, (w,), and all their numbers (r, words), group after group in C order: each in two's
        complement, low word first, in as few words as the longest needs.

    Example:
        >>> wide_to_words({5: np.array([2**64 + 3, -1], dtype=object)})
        (array([5]), array([[ 3,  1],
               [-1, -1]]))
    """
    groups = sorted(wide)
    numbers = [number for group in groups for number in wide[group].ravel().tolist()]
    width = max((number.bit_length() // _WORD + 1 for number in numbers), default=2)
    data = b"".join(number.to_bytes(width * _WORD // 8, "little", signed=True) for number in numbers)
    words = np.frombuffer(data, dtype="<i8").reshape(len(numbers), width)
    return np.array(groups, dtype=np.int64), words.astype(np.int64, copy=False)


def wide_from_words(groups: BasisGroups, wide_groups: IntArray, words: IntArray) -> dict[int, NDArray[Any]]:
    """Undo `wide_to_words`.

    Args:
        groups: the sets by the bases of their attributes.
        wide_groups (w,): some of them.
        words (r, words): their numbers.

    Raises:
        FileFormatError: the arrays do not have these shapes, or were not written by `wide_to_words`.
    """
    numbers = wide_groups.tolist()
    if wide_groups.dtype != np.int64 or wide_groups.ndim != 1 or words.dtype != np.int64 or words.ndim != 2:
        raise FileFormatError("wide integers must be groups and words, of int64")
    if numbers != sorted(set(numbers) & set(range(len(groups.shapes)))):
        raise FileFormatError("the groups of wide integers must be ascending, and groups of the plan")
    shapes = [(len(groups.members[number]), *groups.answer_shapes[number]) for number in numbers]
    ends = np.cumsum([math.prod(shape) for shape in shapes], dtype=np.int64)
    if len(words) != (ends[-1] if numbers else 0) or words.shape[1] < 2:
        raise FileFormatError("there are more or fewer wide integers than their groups need")
    width = words.shape[1] * _WORD // 8
    data = np.ascontiguousarray(words).astype("<i8", copy=False).tobytes()
    values = np.empty(len(words), dtype=object)
    for row in range(len(words)):
        values[row] = int.from_bytes(data[row * width : (row + 1) * width], "little", signed=True)
    parts = np.split(values, ends[:-1]) if numbers else []
    wide = {number: frozen(part.reshape(shape)) for number, part, shape in zip(numbers, parts, shapes, strict=True)}
    if wide_to_words(wide)[1].shape != words.shape:
        raise FileFormatError("wide integers must not have more words than they need")
    return wide
