"""The parts of a loss: squared distances between tables of a mixture's features and what was measured.

Source: eqs. (67) to (69).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from residualplanner.fits.mixtures.mixture import (
    OneHot,
    khatri_rao,
    product_sums,
    slopes_of_factors,
    slopes_of_product_sums,
)
from residualplanner.fits.optimizers import Floats
from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.kron import Scratch

#: Rows of features whose pairs with all below are computed together.
_STRIP = 120
#: Groups are put together while the matrix of all has at most this many times the cells that were measured.
_WASTE = 1.25
#: The most products of common views that are put together.
_MOST_PRODUCTS = 2048


@dataclass(frozen=True, eq=False, slots=True)
class Measured:
    """A table of features that was measured."""

    views: tuple[int, ...]  # the numbers of the views whose product it is; none is the total
    values: FloatArray  # (e_1, .., e_k): what was measured, in counts
    precision: float  # one over the variance of its noise, which is white, in counts squared
    freedom: int  # the degrees of freedom of the noise: as many as there are values, or less where these are centered


#: Where a loss is evaluated, or its slope there: the features (m, c) of every class; and the weights (c,) of the
#: classes, times the number of records.
Point = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False, slots=True)
class TableTerm:
    """One measured table: ``precision * sum (table of features - measured)**2``."""

    layout: OneHot  # the rows of the features of each view
    measured: Measured  # the table

    @property
    def freedom(self) -> int:
        """The degrees of freedom of the noise."""
        return self.measured.freedom

    def add(self, point: Point, slope: Point) -> float:
        """The loss at a point; its slope is added to ``slope``."""
        (features, weights), (slopes, slopes_of_weights) = point, slope
        factors = [features[self.layout.rows(view)] for view in self.measured.views]
        away = product_sums(factors, weights) - self.measured.values
        pull = (2 * self.measured.precision) * away
        of_factors, of_weights = slopes_of_product_sums(pull, factors, weights)
        for view, own in zip(self.measured.views, of_factors, strict=True):
            slopes[self.layout.rows(view)] += own
        slopes_of_weights += of_weights
        return self.measured.precision * float(np.vdot(away, away))

    def add_variances(self, point: Point, variances: Floats) -> None:
        """Add the variances of the slopes of each view."""
        features, weights = point
        factors = [features[self.layout.rows(view)] for view in self.measured.views]
        squares = [np.einsum("rc,rc->c", factor, factor) for factor in factors]
        for position, view in enumerate(self.measured.views):
            others = np.prod([one for other, one in enumerate(squares) if other != position], axis=0)
            variances[view] += 4 * self.measured.precision * weights**2 * others


#: Measured pairs of some views with these views and all below them: the rows of the features of the former, after which
#: the latter start; what was measured, 0 where nothing was, or another strip has it; and the precision of every entry.
Strip = tuple[slice, Floats, Floats]


@dataclass(frozen=True, eq=False, slots=True)
class PairTerm:
    """All measured tables of one or two views; a row of ones below the features makes single views pairs, too."""

    layout: OneHot  # the rows of the features of each view
    strips: tuple[Strip, ...]  # of the symmetric matrix of all pairs, so small that each stays in the cache
    of_views: Floats  # (v + 1, v + 1): the precision of each pair of views
    freedom: int  # the degrees of freedom of the noise
    _scratch: Scratch = field(default_factory=Scratch, repr=False)

    def add(self, point: Point, slope: Point) -> float:
        """The loss at a point; its slope is added to ``slope``."""
        (own_features, weights), (slopes, slopes_of_weights) = point, slope
        features = np.vstack([own_features, np.ones((1, len(weights)), dtype=weights.dtype)])
        weighted, pulled, loss = features * weights, np.zeros_like(features), 0.0
        for own, values, precisions in self.strips:
            below = slice(own.start, None)
            away = self._scratch.empty(0, values.shape, values)
            np.matmul(weighted[own], features[below].T, out=away)
            away -= values
            pull = self._scratch.empty(1, values.shape, values)
            np.multiply(away, precisions, out=pull)
            loss += float(np.vdot(away, pull))
            pulled[own] += pull @ features[below]
            pulled[below] += pull.T @ features[own]
        slopes += 2 * weights * pulled[:-1]
        slopes_of_weights += np.einsum("rc,rc->c", features, pulled)
        return loss

    def add_variances(self, point: Point, variances: Floats) -> None:
        """Add the variances of the slopes of each view."""
        features, weights = point
        squares = np.ones((len(self.of_views), len(weights)), dtype=weights.dtype)
        squares[:-1] = self.layout.sums(features * features)
        variances += 4 * weights**2 * (self.of_views @ squares)[:-1]


def pair_term(layout: OneHot, tables: Sequence[Measured], dtype: type[np.floating]) -> PairTerm:
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
    strips, first = [], 0
    for last in layout.offsets[1:].tolist():  # rows of whole views
        if last - first >= _STRIP or last == count:
            own = slice(first, last)
            strips.append((own, values[own, first:].copy(), precisions[own, first:].copy()))
            first = last
    return PairTerm(layout, tuple(strips), of_views, sum(table.freedom for table in tables))


@dataclass(frozen=True, eq=False, slots=True)
class _Group:
    """Measured tables that have all views but the last in common."""

    prefix: tuple[int, ...]  # the views in common
    tables: dict[int, tuple[Measured, Floats]]  # by their last view, ascending, with values in the order of all
    rows: IntArray  # (r,): of the features of the last views, ascending

    @property
    def products(self) -> int:
        """How many products of the common views there are."""
        return len(next(iter(self.tables.values()))[1])

    @property
    def cells(self) -> int:
        """How many cells were measured."""
        return self.products * len(self.rows)


@dataclass(frozen=True, eq=False, slots=True)
class PrefixTerm:
    """Groups of measured tables, each of which has all views but the last in common, by few matrix products."""

    layout: OneHot  # the rows of the features of each view
    prefixes: tuple[tuple[int, ...], ...]  # the views that each group has in common
    rows: IntArray | slice  # (r,): of the features of all last views; a slice, where it can be, saves copies
    values: Floats  # (p, r): what was measured: a row for each product of a group's common views; 0 where nothing was
    precisions: Floats  # (p, r): of every entry; 0 where nothing was measured
    of_last: Floats  # (g, v): the precision of each group's table with each view as the last
    freedom: int  # the degrees of freedom of the noise

    def add(self, point: Point, slope: Point) -> float:
        """The loss at a point; its slope is added to ``slope``."""
        (features, weights), (slopes, slopes_of_weights) = point, slope
        factors = [[features[self.layout.rows(view)] for view in prefix] for prefix in self.prefixes]
        groups = [reduce(khatri_rao, each) for each in factors]
        products, others = np.concatenate(groups), features[self.rows]
        away = (products * weights) @ others.T
        away -= self.values
        pull = away * self.precisions
        loss = float(np.vdot(away, pull))
        pull *= 2
        of_products = pull @ others
        slopes_of_weights += np.einsum("rc,rc->c", products, of_products)
        of_products *= weights
        ends = np.cumsum([len(group) for group in groups])
        for prefix, own, part in zip(self.prefixes, factors, np.split(of_products, ends[:-1]), strict=True):
            for view, each in zip(prefix, slopes_of_factors(part, own), strict=True):
                slopes[self.layout.rows(view)] += each
        of_others = pull.T @ products
        of_others *= weights
        slopes[self.rows] += of_others  # no row is there twice
        return loss

    def add_variances(self, point: Point, variances: Floats) -> None:
        """Add the variances of the slopes of each view."""
        features, weights = point
        squares = self.layout.sums(features * features)
        scale = 4 * weights**2
        together = scale * (self.of_last @ squares)
        for prefix, own in zip(self.prefixes, together, strict=True):
            for position, view in enumerate(prefix):
                rest = [each for at, each in enumerate(prefix) if at != position]
                variances[view] += own * np.multiply.reduce(squares[rest])
        common = np.stack([np.multiply.reduce(squares[list(prefix)]) for prefix in self.prefixes])
        variances += scale * (self.of_last.T @ common)


def prefix_terms(layout: OneHot, tables: Sequence[Measured], dtype: type[np.floating]) -> Iterator[PrefixTerm]:
    """The terms of tables of two or more views: those that have all but their largest in common are put together."""
    for groups in _stacks(_groups(layout, tables)):
        rows = reduce(np.union1d, [group.rows for group in groups])
        values, precisions = np.zeros((2, sum(group.products for group in groups), len(rows)), dtype=dtype)
        of_last = np.zeros((len(groups), len(layout.sizes)), dtype=dtype)
        first = 0
        for number, group in enumerate(groups):
            own = slice(first, first + group.products)
            for view, (table, numbers) in group.tables.items():
                start = int(np.searchsorted(rows, layout.offsets[view]))
                columns = slice(start, start + layout.sizes[view])
                values[own, columns], precisions[own, columns] = numbers, table.precision
                of_last[number, view] = table.precision
            first = own.stop
        freedom = sum(table.freedom for group in groups for table, _ in group.tables.values())
        prefixes = tuple(group.prefix for group in groups)
        found, end = slice(int(rows[0]), int(rows[0]) + len(rows)), int(rows[-1]) + 1
        own_rows = found if found.stop == end else rows  # ascending rows without a gap are a slice
        yield PrefixTerm(layout, prefixes, own_rows, values, precisions, of_last, freedom)


def _groups(layout: OneHot, tables: Sequence[Measured]) -> list[_Group]:
    """Tables by all views but their largest, groups of many rows first."""
    members: dict[tuple[int, ...], dict[int, tuple[Measured, Floats]]] = {}
    for table in tables:
        order = sorted(range(len(table.views)), key=lambda axis: (table.values.shape[axis], table.views[axis]))
        views = [table.views[axis] for axis in order]
        values = table.values.transpose(order).reshape(-1, table.values.shape[order[-1]])
        members.setdefault(tuple(views[:-1]), {})[views[-1]] = (table, values)
    found = []
    for prefix, own in members.items():
        last = sorted(own)
        rows = np.concatenate([np.arange(layout.offsets[view], layout.offsets[view + 1]) for view in last])
        found.append(_Group(prefix, {view: own[view] for view in last}, rows))
    return sorted(found, key=lambda group: (-len(group.rows), int(group.rows[0]), group.prefix))


def _stacks(groups: Sequence[_Group]) -> Iterator[list[_Group]]:
    """Runs of groups whose rows are so similar that one matrix of all has few cells that were not measured."""
    stack: list[_Group] = []
    rows, products, cells = np.empty(0, dtype=np.int64), 0, 0
    for group in groups:
        union, count, area = np.union1d(rows, group.rows), products + group.products, cells + group.cells
        if stack and (count > _MOST_PRODUCTS or count * len(union) > _WASTE * area):
            yield stack
            stack, union, count, area = [], group.rows, group.products, group.cells
        stack.append(group)
        rows, products, cells = union, count, area
    if stack:
        yield stack


#: A part of a loss: its degrees of freedom, and its value, slope and the variances of slopes at a point.
LossTerm = TableTerm | PairTerm | PrefixTerm
