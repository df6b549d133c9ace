"""A block of the Gram matrix: a sum of products of heads, the trace of its root, and how long that takes.

Source: eqs. (33) and (126).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
import scipy
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.more.bounds.paired_blocks import Arrow, Pattern, arrows_of, trace_of_pairs

#: The most rows of a matrix whose eigenvalues are computed.
_LARGEST = 20_000
#: Seconds of one core for each cube of rows of a determinant, a third of that for eigenvalues, and for each entry; and
#: how many determinants there are.
CUBE, _ENTRY, _DETERMINANTS = 1e-10, 4e-8, 54
#: Seconds for each pattern of a block, before anything is computed.
TERM = 7e-5


def require_quick(estimated: float, seconds: float) -> None:
    """Raise WorkloadError where a computation takes longer than it may."""
    if estimated > seconds:
        raise WorkloadError(f"some {estimated:,.0f} seconds of computation, the limit is {seconds:,.0f}")


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """A block: the patterns' products of heads times ``entries``, added; its corner is multiplied by ``first``."""

    heads: Mapping[tuple[int, int], FloatArray]
    patterns: list[Pattern]
    entries: FloatArray
    first: float
    scale: float  # how much its trace counts
    seconds: float = 0.0  # how long its trace takes, about
    arrows: Mapping[tuple[int, int], Arrow] | None = None  # its heads as arrows, where determinants are quicker

    @classmethod
    def of(
        cls,
        heads: Mapping[tuple[int, int], FloatArray],
        roots: Mapping[tuple[int, int], float],
        patterns: list[Pattern],
        entries: FloatArray,
        first: float,
        scale: float,
    ) -> "Block":
        """The block, without the heads that all its patterns have: their traces are factors."""
        common = set.intersection(*map(set, patterns)) if first == 1 else set()
        rest = [tuple(pair for pair in pattern if pair not in common) for pattern in patterns]
        block = cls(heads, rest, entries, first, scale * math.prod(roots[pair] for pair in common))
        lengths = block.lengths
        ways = [replace(block, seconds=3 * CUBE * float(_row_count(rest, lengths)) ** 3)]
        if (arrows := arrows_of(heads, rest)) is not None:
            entry_count = sum(math.prod(lengths[attribute] for attribute, _ in pattern) for pattern in rest)
            quicker = _DETERMINANTS * (CUBE * sum(lengths.values()) ** 3 + _ENTRY * entry_count)
            ways.append(replace(block, arrows=arrows, seconds=quicker))
        return min(ways, key=lambda way: way.seconds)

    @property
    def lengths(self) -> dict[int, int]:
        """How many coordinates each attribute has."""
        return {pair[0]: len(self.heads[pair]) for pattern in self.patterns for pair in pattern}

    def root_trace(self) -> float:
        """The sum of the roots of its eigenvalues."""
        if self.arrows is not None:
            return trace_of_pairs(self.patterns, self.entries, self.arrows, self.first)
        size, indices = coordinates(self.patterns, self.lengths)
        block = np.zeros((size, size))
        for pattern, index, entry in zip(self.patterns, indices, self.entries.tolist(), strict=True):
            product: FloatArray = np.ones((1, 1))
            for pair in pattern:
                product = np.asarray(np.kron(product, self.heads[pair]))
            block[np.ix_(index, index)] += entry * product
        block[0] *= self.first
        block[:, 0] *= self.first
        return root_trace(block)


def renamed_once(
    rows: Iterable[tuple[list[Pattern], FloatArray, float, float]], heads: Mapping[tuple[int, int], FloatArray]
) -> list[tuple[list[Pattern], FloatArray, float, float]]:
    """Rows of patterns with their entries, corner and factor: those that differ in names of attributes alone once.

    The trace of a block is that of another one whose attributes have the same heads, in the same order.
    """
    found: dict[object, tuple[list[Pattern], FloatArray, float, float]] = {}
    for patterns, entries, first, factor in rows:
        members = sorted({attribute for pattern in patterns for attribute, _ in pattern})
        number = {attribute: position for position, attribute in enumerate(members)}
        named = [tuple((number[pair[0]], id(heads[pair])) for pair in pattern) for pattern in patterns]
        order = sorted(range(len(named)), key=named.__getitem__)
        key = tuple(named[each] for each in order), np.round(entries[order], 12).tobytes(), round(first, 12)
        before = found[key][3] if key in found else 0.0
        found[key] = patterns, entries, first, before + factor
    return [*found.values()]


def root_trace(matrix: NDArray[np.float64]) -> float:
    """The sum of the roots of the eigenvalues of a positive semidefinite matrix (n, n).

    Eigenvalues that cannot be told from 0 count as 0, which can only lower the sum.
    """
    values = scipy.linalg.eigvalsh(matrix, check_finite=False)
    return float(np.sqrt(np.where(values > len(values) * 2e-16 * values[-1], values, 0.0)).sum())


def _row_count(patterns: Sequence[Pattern], lengths: Mapping[int, int]) -> int:
    sets = {tuple(attribute for attribute, _ in pattern) for pattern in patterns}
    subsets = {subset for own in sets for order in range(len(own) + 1) for subset in combinations(own, order)}
    return sum(math.prod(lengths[attribute] - 1 for attribute in subset) for subset in subsets)


def coordinates(patterns: Sequence[Pattern], lengths: Mapping[int, int]) -> tuple[int, list[NDArray[np.int64]]]:
    """Coordinates for a block: one for each subset of a pattern's attributes and their values above the corner.

    From the patterns of the queries in the block, and how large each attribute's head is: how many there are, and for
    each pattern those of the entries of its product of heads.  The first is the corner of all attributes.

    Raises WorkloadError: there are too many for a matrix.
    """
    if (count := _row_count(patterns, lengths)) > _LARGEST:
        raise WorkloadError(f"eigenvalues of a matrix of {count:,} rows, the limit is {_LARGEST:,}")
    starts: dict[tuple[int, ...], int] = {}
    total = 0
    indices = []
    for pattern in patterns:
        index = np.empty([lengths[attribute] for attribute, _ in pattern], dtype=np.int64)
        for present in product((False, True), repeat=len(pattern)):
            subset = tuple(attribute for (attribute, _), inside in zip(pattern, present, strict=True) if inside)
            shape = tuple(lengths[attribute] - 1 for attribute in subset)
            if subset not in starts:
                starts[subset], total = total, total + math.prod(shape)
            part = tuple(slice(1, None) if inside else 0 for inside in present)
            index[part] = starts[subset] + np.arange(math.prod(shape)).reshape(shape)
        indices.append(index.ravel())
    return total, indices
