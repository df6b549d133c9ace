"""How far the tables of a mixture are from noisy answers, in units of the noise.  Source: eqs. (67) to (70).

Tables that have all views but one in common are one matrix product: such products are few and large, which is fast.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np

from residualplanner.fits.mixtures.mixture import OneHot, khatri_rao, slopes_of_factors
from residualplanner.fits.optimizers import Floats
from residualplanner.ground.checks import FloatArray, IntArray

#: Rounding errors of single precision, relative to the number of records, that products of columns add up to.
_SINGLE = 2.0**-20
#: Groups are put together while the matrix of all has at most this many times the cells that were measured.
_WASTE = 1.25
#: The most products of common views that are put together.
_MOST_PRODUCTS = 2048


class View(NamedTuple):
    """What is measured of an attribute's probabilities: the products of a matrix, such as a basis, with them.

    Or, without a matrix, these less their mean, a constant, as subtraction bases measure them.
    """

    attribute: int  # by position
    basis_rows: FloatArray | None = None  # (e, n): the matrix


class Features:
    """The numbers of several views, one below the other, in one array (m, c)."""

    def __init__(self, blocks: OneHot, views: Sequence[View]) -> None:
        self.blocks, self.views = blocks, tuple(views)  # of the probabilities; one or more, or several of one attribute
        rows = (blocks.sizes[at] if basis is None else len(basis) for at, basis in views)
        self.layout = OneHot(tuple(rows))  # the rows of each view, as blocks

    def apply(self, probabilities: Floats) -> Floats:
        """All numbers, (m, c), of probabilities (d', c)."""
        found = np.empty((self.layout.count, probabilities.shape[1]), dtype=probabilities.dtype)
        for number, (attribute, basis) in enumerate(self.views):
            own, out = probabilities[self.blocks.rows(attribute)], found[self.layout.rows(number)]
            if basis is None:
                np.subtract(own, 1 / len(own), out=out)
            else:
                out[...] = basis.astype(own.dtype, copy=False) @ own
        return found

    def pull(self, slope: Floats) -> Floats:
        """The slope in the probabilities, (d', c), from that in the numbers, (m, c)."""
        found = np.zeros((self.blocks.count, slope.shape[1]), dtype=slope.dtype)
        for number, (attribute, basis) in enumerate(self.views):
            own = slope[self.layout.rows(number)]
            found[self.blocks.rows(attribute)] += own if basis is None else basis.T.astype(own.dtype, copy=False) @ own
        return found


class Measured(NamedTuple):
    """A table of features that was measured."""

    views: tuple[int, ...]  # the numbers of the views whose product it is; none is the total
    values: FloatArray  # (e_1, .., e_k): what was measured, in counts
    precision: float  # one over the variance of its noise, which is white, in counts squared
    freedom: int  # the degrees of freedom of the noise: as many as there are values, or less where these are centered


#: Where a loss is evaluated, or its slope there: the features (m, c) of every class; and the weights (c,) of the
#: classes, times the number of records.
Point = tuple[Floats, Floats]


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
    """Groups of measured tables, each of which has all views but the last in common, by few matrix products.

    Single views have none in common: what is multiplied by the last one is a 1.
    """

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
        one = np.ones((1, len(weights)), dtype=weights.dtype)
        groups = [reduce(khatri_rao, each) if each else one for each in factors]
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
    """The terms of tables of one or more views: those that have all but their largest in common are put together."""
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


@dataclass(frozen=True, eq=False, slots=True)
class MixtureLoss:
    """A sum of terms, each a squared distance in units of its noise."""

    features: Features  # what the terms are about
    terms: tuple[PrefixTerm, ...]  # of the sum
    records: float  # the number of records
    dtype: type[np.floating]  # single precision where its rounding is far below the noise, or else double

    @property
    def blocks(self) -> OneHot:
        """The attributes of the mixture."""
        return self.features.blocks

    @property
    def freedom(self) -> int:
        """The expected value at the truth: the degrees of freedom of all noise."""
        return sum(term.freedom for term in self.terms)

    @property
    def enough(self) -> float:
        """Two standard deviations below the expected loss of the truth: nearer is noise.  Source: eq. (70)."""
        return self.freedom - 2 * math.sqrt(2 * self.freedom)

    def evaluate(self, probabilities: Floats, weights: Floats) -> tuple[float, Floats, Floats]:
        """The loss, and its slopes in probabilities (d', c) and weights (c,) of the classes, which add up to 1."""
        point = self.features.apply(probabilities), weights * self.dtype(self.records)
        slope = np.zeros_like(point[0]), np.zeros_like(point[1])
        loss = sum(term.add(point, slope) for term in self.terms)
        return loss, self.features.pull(slope[0]), slope[1] * self.dtype(self.records)

    def slope_variances(self, probabilities: Floats, weights: Floats) -> Floats:
        """The variances of slopes in the probabilities that the noise causes, (d', c).  Source: eq. (72)."""
        point = self.features.apply(probabilities), weights * self.dtype(self.records)
        variances = np.zeros((len(self.features.views), len(weights)), dtype=self.dtype)
        for term in self.terms:
            term.add_variances(point, variances)  # the same in every number of a view
        found = np.zeros_like(probabilities, dtype=self.dtype)
        for (attribute, basis), variance in zip(self.features.views, variances, strict=True):
            size = self.blocks.sizes[attribute]  # the squared length of each column of a view's matrix
            norms = np.full(size, 1 - 1 / size) if basis is None else (basis**2).sum(axis=0)
            found[self.blocks.rows(attribute)] += norms[:, None].astype(self.dtype) * variance
        return found


def loss_of(blocks: OneHot, views: Sequence[View], tables: Sequence[Measured], records: float) -> MixtureLoss:
    """The loss of a mixture beside measured tables of so many records, which is given: one of no view is left out."""
    features = Features(blocks, views)
    about = [table for table in tables if table.views]
    noise = min((1 / math.sqrt(table.precision) for table in about), default=math.inf)
    dtype = np.float32 if records * _SINGLE < noise / 4 else np.float64
    terms = prefix_terms(features.layout, about, dtype)
    return MixtureLoss(features, tuple(terms), records, dtype)
