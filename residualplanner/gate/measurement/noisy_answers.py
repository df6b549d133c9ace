"""Counts, integer noise, noisy answers: one stack of tables, exact whatever the size of the numbers.

NumPy only, as counts stay on the machine that reads them.  Source: eqs. (34) to (36) and (44).
"""

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residualplanner.gate.measurement.double_word import combine_words, float_identifies, products_modulo
from residualplanner.gate.measurement.precision import gamma2_ratio
from residualplanner.ground.checks import FloatArray, IntArray, frozen
from residualplanner.ground.errors import FileFormatError
from residualplanner.method.bases.basis import Basis
from residualplanner.method.kron.arrays import Scratch
from residualplanner.method.kron.integers import differences_of_tables, integer_products
from residualplanner.method.strategy.basis_groups import BasisGroups

#: Below this many records the width that numbers are computed with depends on the plan alone.
RECORDS = 2**33
_INT64_ROOM = 2**62


class Width(Enum):
    """How wide the numbers between counts and noisy answers are.

    INT64: no number can exceed int64, which holds them all.
    DOUBLE_WORD: the noise cannot, but other numbers may: modulo ``2**64``, and in double precision beside it, which
        together give the answers (`kron.combine_words`).
    PYTHON: Python integers, forty times as slow.
    """

    INT64 = 1
    DOUBLE_WORD = 2
    PYTHON = 3


def noisy_answers(
    counts: IntArray,
    noise: NDArray[Any],
    *,
    bases: Sequence[Basis],
    divisor: int,
    records: int,
    width: Width = Width.INT64,
    scratch: Scratch | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Multiply the counts by integers, add the noise, and take differences, all in integers.

    ``(kron F) (f (kron M) v + z)``: for an attribute that has the subtraction basis M is ``n I`` and F is ``Sub``, for
    one that has a matrix B, M is B and F the identity; f makes the lattice of the noise fine.  As ``Sub 1 = 0``, these
    are the integers that ``n I - 1 1^T`` in place of ``n I`` gives, which is the mechanism of eq. (35) and what
    the cost is about.

    The counts (b, n_1, .., n_k) of at most so many records have been multiplied by the denominators of the bases (k,).
    The noise (b, ..) has a number per value for the subtraction basis, per answer for the others: Python integers where
    int64 cannot hold it, which are then used throughout.  The answers (b, m_1, .., m_k) have been multiplied by the
    divisor: f times these denominators, times the n_i of the attributes that have the subtraction basis.  They are in
    ``out`` if they are of its type; if not, what is there is undefined.

    Guarantees: exact.  The steps depend on the bases, ``records``, ``width`` and the answers alone.
    Source: eqs. (35), (36) and (44).
    """
    scratch = scratch or Scratch()
    matrices = {axis: matrix for axis, basis in enumerate(bases, start=1) for matrix in basis.integer_maps}
    axes = [axis for axis, basis in enumerate(bases, start=1) if basis.takes_differences]
    denominator = math.prod(basis.denominator for basis in bases)

    def finish(products: NDArray[Any], target: NDArray[Any] | None = None) -> NDArray[Any]:
        noisy = np.multiply(products, divisor // denominator, out=scratch.empty(0, products.shape, products))
        noisy += noise
        target = target if target is not None and target.dtype == noisy.dtype else None
        return np.asarray(differences_of_tables(noisy, axes=axes, scratch=scratch, out=target))

    if width is Width.DOUBLE_WORD and noise.dtype == np.int64:
        low, near = products_modulo(counts, matrices, total=records * denominator)
        return combine_words(finish(low, out), finish(near))
    exact = integer_products(counts, matrices, total=records * denominator)
    return finish(exact.astype(noise.dtype, copy=False), out)


def widths(groups: BasisGroups, precision: FloatArray, divisors: Sequence[int], *, records: int) -> list[Width]:
    """The width for each group."""
    most = max(records, RECORDS)
    return [
        width_of(bases, float(precision[members].min()), divisor, most)
        for bases, members, divisor in zip(groups.bases, groups.members, divisors, strict=True)
    ]


def width_of(bases: Sequence[Basis], precision: float, divisor: int, records: int) -> Width:
    """The least width for tables of at most so many records with these bases; ``precision`` is their least.

    Guarantees: with `Width.DOUBLE_WORD` the answers are exact for every noise that int64 holds.  A term of an answer is
        a count, converted to a float, multiplied by entries of matrices, added to others, multiplied by the divisor
        (converted, too), added to the noise, and subtracted: these are the roundings counted here.  The terms of one
        answer add up to at most f ``records`` times the largest entries, and the noise of each of the ``2**d`` numbers
        that differences are taken of.
    """
    numerator, denominator = gamma2_ratio(divisor, precision)
    noise = math.isqrt(4096 * numerator // denominator) + 1  # 64 gamma, rounded up
    doubled = sum(basis.takes_differences for basis in bases)
    # What counts become, and their differences, are at most f ``records`` in size times the largest entry of each
    # matrix that they are multiplied by, n for ``n I - 1 1^T``.  Differences double the noise once for each axis that
    # they are taken along.  A draw beyond 64 gamma has probability below exp(-2000), and gets Python integers.
    largest = records * divisor * math.prod(basis.largest_entry for basis in bases)
    if noise < _INT64_ROOM // 2 and largest + (noise << doubled) < _INT64_ROOM:
        return Width.INT64
    roundings = sum(matrix.roundings for basis in bases for matrix in basis.integer_maps) + doubled + 4
    if noise < _INT64_ROOM // 2 and float_identifies(largest + (2**63 << doubled), roundings):
        return Width.DOUBLE_WORD
    return Width.PYTHON


_WORD = 64


def wide_to_words(wide: Mapping[int, NDArray[Any]]) -> tuple[IntArray, IntArray]:
    """The groups (w,), ascending, and all their integers (r, words), group after group in C order.

    Each integer is in two's complement, low word first, in as few words as the longest needs.
    """
    groups = sorted(wide)
    numbers = [number for group in groups for number in wide[group].ravel().tolist()]
    width = max((number.bit_length() // _WORD + 1 for number in numbers), default=2)
    data = b"".join(number.to_bytes(width * _WORD // 8, "little", signed=True) for number in numbers)
    words = np.frombuffer(data, dtype="<i8").reshape(len(numbers), width)
    return np.array(groups, dtype=np.int64), words.astype(np.int64, copy=False)


def wide_from_words(groups: BasisGroups, wide_groups: IntArray, words: IntArray) -> dict[int, NDArray[Any]]:
    """Undo `wide_to_words`; FileFormatError where it cannot have written these arrays (w,) and (r, words)."""
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
