"""A block of the Gram matrix: a sum of products of heads, the trace of its root, and how long that takes.

Coordinates of a block belong to sets of attributes.  Where queries tie at most two attributes together, those of two
are on their own but for their ties to those of one and of none: with D for their diagonal and T for the ties, the block
is ``[[H, T^T], [T, D]]``, and for every x

    det(I + block / x**2) = det(I + D / x**2) det(I + (H - T^T (D + x**2)^{-1} T) / x**2) .

Since ``integral log(1 + a / x**2) dx = pi sqrt(a)`` over all x > 0, the trace is the sum of the roots of D and an
integral over determinants of matrices that are no larger than H, which is that of single attributes.

Source: eqs. (33) and (126).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.kron.axis_maps import kronecker

#: Attributes, each with its kind, by their numbers.
Pattern = tuple[tuple[int, int], ...]
#: The trapezoid rule in log x, whose error for each root is below a factor ``2 exp(-pi**2 / step)``; what lies beyond
#: its ends could only add to the integral.
_STEP, _ERROR, _LEAST, _MOST = 0.6, 2e-7, 1e-7, 1e7
#: A matrix off its diagonal, or a tie, is 0 below this fraction of the largest entry.
_ZERO = 1e-12
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


class Arrow(NamedTuple):
    """A head whose entries are in its first row and column and on its diagonal."""

    corner: float
    ties: FloatArray  # (r,)
    diagonal: FloatArray  # (r,)


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
            block[np.ix_(index, index)] += entry * kronecker(self.heads[pair] for pair in pattern)
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


def _arrow_of(head: NDArray[np.float64]) -> Arrow | None:
    """A head (1 + r, 1 + r) as an arrow; None if it is none."""
    largest = np.abs(head).max(initial=0.0)
    inner = head[1:, 1:]
    if np.abs(inner - np.diag(np.diag(inner))).max(initial=0.0) > _ZERO * largest:
        return None
    ties = np.where(np.abs(head[0, 1:]) > _ZERO * largest, head[0, 1:], 0.0)
    return Arrow(float(head[0, 0]), ties, np.maximum(np.diag(inner), 0.0))


def arrows_of(
    heads: Mapping[tuple[int, int], FloatArray], patterns: Sequence[Pattern]
) -> Mapping[tuple[int, int], Arrow] | None:
    """The patterns' heads as arrows; None if one is none, or a query ties coordinates of three attributes or more."""
    arrows: dict[tuple[int, int], Arrow] = {}
    for pair in {pair for pattern in patterns for pair in pattern}:
        if (arrow := _arrow_of(heads[pair])) is None:
            return None
        arrows[pair] = arrow
    has_ties = {pair for pair, arrow in arrows.items() if arrow.ties.any()}
    return None if any(len(pattern) > 2 and has_ties.intersection(pattern) for pattern in patterns) else arrows


def trace_of_pairs(
    patterns: Sequence[Pattern], entries: FloatArray, arrows: Mapping[tuple[int, int], Arrow], first: float
) -> float:
    """The trace of the root of a block: the patterns' products of arrows times ``entries`` (p,), added.

    The row and the column of its first coordinate, the corner, are multiplied by ``first``.
    """
    block = _PairedBlock(arrows)
    for pattern, entry in zip(patterns, entries.tolist(), strict=True):
        block.add(pattern, entry)
    block.low[0] *= first
    block.low[:, 0] *= first
    block.pairs = {key: pair._replace(corner=pair.corner * first) for key, pair in block.pairs.items()}
    return block.root_trace()


class _Pair(NamedTuple):
    """The coordinates (r, s) of two attributes: their diagonal, and their ties."""

    diagonal: FloatArray
    first: FloatArray  # to those of the first attribute
    second: FloatArray
    corner: FloatArray


class _PairedBlock:
    """A block while it is added up."""

    def __init__(self, arrows: Mapping[tuple[int, int], Arrow]) -> None:
        self.arrows = arrows
        lengths = {attribute: len(arrow.diagonal) for (attribute, _), arrow in arrows.items()}
        ends = np.cumsum([1, *lengths.values()]).tolist()
        self.parts = {name: slice(*ends[i : i + 2]) for i, name in enumerate(lengths)}
        self.low = np.zeros((ends[-1], ends[-1]))  # H, of the corner and of single attributes
        self.pairs: dict[tuple[int, int], _Pair] = {}
        self.larger: dict[tuple[int, ...], FloatArray] = {}  # the diagonals of larger sets, which have no ties

    def add(self, pattern: Pattern, entry: float) -> None:
        """Add the product of the arrows of a query, times its entry."""
        corner = entry * float(np.prod([self.arrows[pair].corner for pair in pattern]))
        self.low[0, 0] += corner
        for pair in pattern:
            inside, arrow = self.parts[pair[0]], self.arrows[pair]
            others = entry * float(np.prod([self.arrows[other].corner for other in pattern if other != pair]))
            self.low[inside, inside][np.diag_indices(len(arrow.diagonal))] += others * arrow.diagonal
            self.low[inside, 0] += others * arrow.ties
            self.low[0, inside] += others * arrow.ties
        for one, other in combinations(pattern, 2):
            rest = entry * float(np.prod([self.arrows[pair].corner for pair in pattern if pair not in (one, other)]))
            self._add_pair(one, other, rest)
        for order in range(3, len(pattern) + 1):
            for chosen in combinations(pattern, order):
                product = np.full((1,) * order, entry)
                for axis, pair in enumerate(chosen):
                    shape = [-1 if i == axis else 1 for i in range(order)]
                    product = product * self.arrows[pair].diagonal.reshape(shape)
                rest = float(np.prod([self.arrows[pair].corner for pair in pattern if pair not in chosen]))
                key = tuple(attribute for attribute, _ in chosen)
                self.larger[key] = self.larger.get(key, 0.0) + rest * product

    def _add_pair(self, one: tuple[int, int], other: tuple[int, int], entry: float) -> None:
        first, second = self.arrows[one], self.arrows[other]
        both = self.parts[one[0]], self.parts[other[0]]
        ties = entry * np.outer(first.ties, second.ties)
        self.low[both] += ties
        self.low[both[::-1]] += ties.T
        new = _Pair(
            entry * np.outer(first.diagonal, second.diagonal),
            entry * np.outer(first.diagonal, second.ties),
            entry * np.outer(first.ties, second.diagonal),
            ties,
        )
        key = one[0], other[0]
        known = self.pairs.get(key)
        self.pairs[key] = new if known is None else _Pair(*(a + b for a, b in zip(known, new, strict=True)))

    def root_trace(self) -> float:
        """The trace of its root; what is lost to rounding and at the ends of the integral makes it smaller."""
        total = sum(float(np.sqrt(pair.diagonal).sum()) for pair in self.pairs.values())
        total += sum(float(np.sqrt(diagonal).sum()) for diagonal in self.larger.values())
        scale = float(np.sqrt(np.trace(self.low)))
        grid = scale * np.exp(np.arange(np.log(_LEAST), np.log(_MOST), _STEP))
        heights = np.array([x * self._log_determinant(x * x) for x in grid.tolist()])
        # The determinant falls in x: below the first node it is at least what it is there.
        integral = _STEP * float(heights.sum()) + (1 - _STEP / 2) * float(heights[0])
        return total + integral / np.pi * (1 - _ERROR)

    def _log_determinant(self, square: float) -> float:
        """Of ``I + (H - T^T (D + square)^{-1} T) / square``."""
        low = self.low.copy()
        for (one, other), pair in self.pairs.items():
            if not pair.corner.any() and not pair.first.any() and not pair.second.any():
                continue
            first, second = self.parts[one], self.parts[other]
            scaled = _Pair(*(part / np.sqrt(pair.diagonal + square) for part in pair))
            low[0, 0] -= (scaled.corner**2).sum()
            cross = scaled.first * scaled.second
            for inside, ties, axis in ((first, scaled.first, 1), (second, scaled.second, 0)):
                low[inside, inside][np.diag_indices(inside.stop - inside.start)] -= (ties**2).sum(axis=axis)
                to_corner = (ties * scaled.corner).sum(axis=axis)
                low[inside, 0] -= to_corner
                low[0, inside] -= to_corner
            low[first, second] -= cross
            low[second, first] -= cross.T
        low /= square
        low[np.diag_indices(len(low))] += 1.0
        try:
            factor = scipy.linalg.cholesky(low, lower=True, overwrite_a=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            return 0.0  # rounding, for the least x: less than nothing is not added
        return max(0.0, 2 * float(np.log(np.diag(factor)).sum()))
