"""The trace of the root of a block in which queries tie at most two attributes together.

Its coordinates belong to sets of attributes.  Those of two attributes are on their own but for their ties to those of
one and of none: with D for their diagonal and T for the ties, the block is ``[[H, T^T], [T, D]]``, and for every x

    det(I + block / x**2) = det(I + D / x**2) det(I + (H - T^T (D + x**2)^{-1} T) / x**2) .

Since ``integral log(1 + a / x**2) dx = pi sqrt(a)`` over all x > 0, the trace is the sum of the roots of D and an
integral over determinants of matrices that are no larger than H, which is that of single attributes.

Source: eq. (126).
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray

#: Attributes, each with its kind, by their numbers.
Pattern = tuple[tuple[int, int], ...]
#: The trapezoid rule in log x, whose error for each root is below a factor ``2 exp(-pi**2 / step)``; what lies beyond
#: its ends could only add to the integral.
_STEP, _ERROR, _LEAST, _MOST = 0.6, 2e-7, 1e-7, 1e7
#: A matrix off its diagonal, or a tie, is 0 below this fraction of the largest entry.
_ZERO = 1e-12


class Arrow(NamedTuple):
    """A head whose entries are in its first row and column and on its diagonal."""

    corner: float
    ties: FloatArray  # (r,)
    diagonal: FloatArray  # (r,)


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
