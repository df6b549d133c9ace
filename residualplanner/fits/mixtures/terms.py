"""The parts of a loss: squared distances between tables of a mixture's features and what was measured.

Reads: measured tables, their precisions.  Gives: Term, of which `PairTerm` and `TableTerm` are two sorts.
Source: eqs. (68) and (69).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.blocks import Blocks
from residualplanner.fits.mixtures.khatri_rao import product_sums, slopes_of_product_sums
from residualplanner.ground.checks import FloatArray
from residualplanner.method.kron import Scratch

Floats = NDArray[np.floating]
#: Rows of features whose pairs with all below are computed together.
_STRIP = 120


@dataclass(frozen=True, eq=False, slots=True)
class Measured:
    """A table of features that was measured.

    Attributes:
        views: the numbers of the views whose product it is; none is the total.
        values (e_1, .., e_k): what was measured, in counts.
        precision: one over the variance of its noise, which is white, in counts squared.
        freedom: the degrees of freedom of the noise: as many as there are values, or less where these are centered.
    """

    views: tuple[int, ...]
    values: FloatArray
    precision: float
    freedom: int


@dataclass(frozen=True, eq=False, slots=True)
class Point:
    """Where a loss is evaluated, or its slope there.

    Attributes:
        features (m, c): of every class.
        weights (c,): of the classes, times the number of records.
    """

    features: Floats
    weights: Floats


class Term(Protocol):
    """A part of a loss."""

    @property
    def freedom(self) -> int:
        """Its expected value at the truth: the degrees of freedom of its noise."""
        ...

    def add(self, point: Point, slope: Point) -> float:
        """The loss at a point; its slope is added to ``slope``."""
        ...

    def add_variances(self, point: Point, variances: Floats) -> None:
        """Add the variances of the slopes in the features of each view that noise alone has, to (v, c)."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class TableTerm:
    """One measured table: ``precision * sum (table of features - measured)**2``.

    Attributes:
        layout: the rows of the features of each view.
        measured: the table.
    """

    layout: Blocks
    measured: Measured

    @property
    def freedom(self) -> int:
        """The degrees of freedom of the noise."""
        return self.measured.freedom

    def add(self, point: Point, slope: Point) -> float:
        """The loss at a point; its slope is added to ``slope``."""
        factors = [point.features[self.layout.rows(view)] for view in self.measured.views]
        away = product_sums(factors, point.weights) - self.measured.values
        pull = (2 * self.measured.precision) * away
        of_factors, of_weights = slopes_of_product_sums(pull, factors, point.weights)
        for view, own in zip(self.measured.views, of_factors, strict=True):
            slope.features[self.layout.rows(view)] += own
        slope.weights[...] += of_weights
        return self.measured.precision * float(np.vdot(away, away))

    def add_variances(self, point: Point, variances: Floats) -> None:
        """Add the variances of the slopes of each view."""
        factors = [point.features[self.layout.rows(view)] for view in self.measured.views]
        squares = [np.einsum("rc,rc->c", factor, factor) for factor in factors]
        for position, view in enumerate(self.measured.views):
            others = np.prod([one for other, one in enumerate(squares) if other != position], axis=0)
            variances[view] += 4 * self.measured.precision * point.weights**2 * others


@dataclass(frozen=True, eq=False, slots=True)
class Strip:
    """Measured pairs of some views with these views and all below them.

    Attributes:
        first, last: the rows of the features of the former; the latter start at ``first``.
        values (last - first, m + 1 - first): what was measured; 0 where nothing was, or another strip has it.
        precisions (last - first, m + 1 - first): of every entry; 0 where nothing was measured.
    """

    first: int
    last: int
    values: Floats
    precisions: Floats


@dataclass(frozen=True, eq=False, slots=True)
class PairTerm:
    """All measured tables of one or two views, by few matrix products.

    Below the features stands a row of ones, so that single views are pairs, too.

    Attributes:
        layout: the rows of the features of each view.
        strips: of the symmetric matrix of all pairs, each so small that it stays in the processor's cache.
        of_views (v + 1, v + 1): the precision of each pair of views.
        freedom: the degrees of freedom of the noise.
    """

    layout: Blocks
    strips: tuple[Strip, ...]
    of_views: Floats
    freedom: int
    _scratch: Scratch = field(default_factory=Scratch, repr=False)

    def add(self, point: Point, slope: Point) -> float:
        """The loss at a point; its slope is added to ``slope``."""
        weights = point.weights
        features = np.vstack([point.features, np.ones((1, len(weights)), dtype=weights.dtype)])
        weighted, pulled, loss = features * weights, np.zeros_like(features), 0.0
        for strip in self.strips:
            own, below = slice(strip.first, strip.last), slice(strip.first, None)
            away = self._scratch.empty(0, strip.values.shape, strip.values)
            np.matmul(weighted[own], features[below].T, out=away)
            away -= strip.values
            pull = self._scratch.empty(1, strip.values.shape, strip.values)
            np.multiply(away, strip.precisions, out=pull)
            loss += float(np.vdot(away, pull))
            pulled[own] += pull @ features[below]
            pulled[below] += pull.T @ features[own]
        slope.features[...] += 2 * weights * pulled[:-1]
        slope.weights[...] += np.einsum("rc,rc->c", features, pulled)
        return loss

    def add_variances(self, point: Point, variances: Floats) -> None:
        """Add the variances of the slopes of each view."""
        squares = np.ones((len(self.of_views), len(point.weights)), dtype=point.weights.dtype)
        squares[:-1] = self.layout.sums(point.features * point.features)
        variances += 4 * point.weights**2 * (self.of_views @ squares)[:-1]


def pair_term(layout: Blocks, tables: Sequence[Measured], dtype: type[np.floating]) -> PairTerm:
    """The term of tables of one or two different views."""
    count, views = layout.count, len(layout.sizes)
    values, precisions = np.zeros((2, count + 1, count + 1), dtype=dtype)
    of_views = np.zeros((views + 1, views + 1), dtype=dtype)
    rows = [*(layout.rows(view) for view in range(views)), slice(count, count + 1)]
    for table in tables:
        one, other = (*table.views, views)[:2]
        numbers = table.values.reshape(-1, rows[other].stop - rows[other].start)
        one, other, numbers = (one, other, numbers) if one < other else (other, one, numbers.T)
        values[rows[one], rows[other]], precisions[rows[one], rows[other]] = numbers, table.precision
        of_views[one, other] = of_views[other, one] = table.precision
    strips = tuple(
        Strip(first, last, values[first:last, first:].copy(), precisions[first:last, first:].copy())
        for first, last in _strips(layout)
    )
    return PairTerm(layout, strips, of_views, sum(table.freedom for table in tables))


def _strips(layout: Blocks) -> Iterator[tuple[int, int]]:
    """Runs of the rows of whole views, with about `_STRIP` rows each."""
    first = 0
    for last in layout.offsets[1:].tolist():
        if last - first >= _STRIP or last == layout.count:
            yield first, last
            first = last
