"""How far the tables of a mixture are from noisy answers, in units of the noise.  Source: eqs. (67) to (70).

Tables that have all views but one in common are one matrix product: such products are few and large, which is fast.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy import sparse

from residualplanner.fits.mixtures.mixture import OneHot
from residualplanner.fits.optimizers import Floats
from residualplanner.ground.checks import FloatArray, IntArray

#: Rounding errors of single precision, relative to the number of records, that products of columns add up to.
_SINGLE = 2.0**-20
#: A fit ends at this part of two standard deviations below the expected loss of the truth.
_ENOUGH = 0.9
#: Sums of a column of a centered matrix that are 0 up to rounding.
_TINY = 1e-9
#: Groups are put together while the matrix of all has at most this many times the cells that were measured, and so
#: many more: a product of its own takes as long as these.
_WASTE, _SPARE = 1.25, 4000
#: The most products of common views that are put together.
_MOST_PRODUCTS = 2048


class View(NamedTuple):
    """What is measured of an attribute's probabilities: the products of a matrix, such as a basis, with them.

    Or, without a matrix, these less their mean, a constant, as subtraction bases measure them.
    """

    attribute: int  # by position
    basis_rows: FloatArray | None = None  # (e, n): the matrix

    def rows(self, size: int) -> int:
        """How many products there are of so many probabilities."""
        return size if self.basis_rows is None else len(self.basis_rows)

    @property
    def has_groups(self) -> bool:
        """Whether it is of the counts of values, or groups of them, less their mean."""
        rows = self.basis_rows
        return rows is None or bool((np.ptp(rows, axis=0) == 1).all() and np.abs(rows.sum(axis=0)).max() < _TINY)

    def applied(self, counts: FloatArray, axis: int) -> FloatArray:
        """The products with the counts along an axis."""
        if self.basis_rows is None:
            return np.asarray(counts - counts.mean(axis=axis, keepdims=True))
        return np.asarray(np.moveaxis(np.tensordot(self.basis_rows, counts, axes=(1, axis)), 0, axis))


class Features:
    """The numbers of several views, one below the other, in one array (m, c)."""

    def __init__(self, blocks: OneHot, views: Sequence[View]) -> None:
        self.blocks, self.views = blocks, tuple(views)  # of the probabilities; one or more, or several of one attribute
        rows = (view.rows(blocks.sizes[view.attribute]) for view in views)
        self.layout = OneHot(tuple(rows))  # the rows of each view, as blocks

    def apply(self, probabilities: Floats) -> Floats:
        """All numbers, and a row of ones below them, (m + 1, c), of probabilities (d', c)."""
        found = np.ones((self.layout.count + 1, probabilities.shape[1]), dtype=probabilities.dtype)
        for number, (attribute, basis) in enumerate(self.views):
            own, out = probabilities[self.blocks.rows(attribute)], found[self.layout.rows(number)]
            if basis is None:
                np.subtract(own, 1 / len(own), out=out)
            else:
                out[...] = basis.astype(own.dtype, copy=False) @ own
        return found

    def pull(self, slope: Floats) -> Floats:
        """The slope in the probabilities, (d', c), from that in the numbers, (m + 1, c)."""
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

    def averaged(self, other: "Measured") -> "Measured":
        """The mean of two measurements of the same table, by their precision."""
        precision = self.precision + other.precision
        values = (self.precision * self.values + other.precision * other.values) / precision
        return self._replace(values=values, precision=precision)


#: Where a loss is evaluated, or its slope there: the features of every class and a row of ones, (m + 1, c); and the
#: weights (c,) of the classes, times the number of records.
Point = tuple[Floats, Floats]


class _Group(NamedTuple):
    """Measured tables that have all views but the last in common."""

    prefix: tuple[int, ...]  # the views in common
    products: int  # how many products of these there are
    tables: dict[int, tuple[Measured, Floats]]  # by their last view, ascending, with values (products, e)
    rows: IntArray  # (r,): of the features of the last views, ascending


#: The k-th factor of each product: which row it is (p,), of the features or of the ones below them; and the transposed
#: map (m + 1, p), which adds up what each row has been used for.
_Factor = tuple[IntArray, sparse.csr_array]


def _factors(layout: OneHot, prefixes: Sequence[Sequence[int]], dtype: type[np.floating]) -> list[_Factor]:
    """The factors of all products of the rows of views, prefix after prefix; of one without views a single one, 1."""
    most, one = max(1, *map(len, prefixes)), np.array([layout.count])
    products = []
    for prefix in prefixes:
        axes = [np.arange(*layout.offsets[view : view + 2]) for view in prefix] + [one] * (most - len(prefix))
        products.append(np.stack(np.meshgrid(*axes, indexing="ij")).reshape(most, -1))
    found = []
    for rows in np.concatenate(products, axis=1):
        entries = np.ones(len(rows), dtype=dtype), (rows, np.arange(len(rows)))
        found.append((rows, sparse.csr_array(entries, shape=(layout.count + 1, len(rows)))))
    return found


@dataclass(frozen=True, eq=False, slots=True)
class PrefixTerm:
    """Groups of measured tables, each of which has all views but the last in common, by few matrix products.

    Single views have none in common: what is multiplied by the last one is a 1.
    """

    layout: OneHot  # the rows of the features of each view
    prefixes: tuple[tuple[int, ...], ...]  # the views that each group has in common
    factors: list[_Factor]  # of the products of the common views
    rows: IntArray | slice  # (r,): of the features of all last views; a slice, where it can be, saves copies
    values: Floats  # (p, r): what was measured: a row for each product of a group's common views; 0 where nothing was
    precisions: Floats  # (p, r): of every entry; 0 where nothing was measured
    of_last: Floats  # (g, v): the precision of each group's table with each view as the last
    freedom: int  # the degrees of freedom of the noise

    def add(self, point: Point, slope: Point) -> float:
        """The loss at a point; its slope is added to ``slope``."""
        (features, weights), (slopes, slopes_of_weights) = point, slope
        factors = [features[rows] for rows, _ in self.factors]
        products, others = reduce(np.multiply, factors), features[self.rows]
        away = (products * weights) @ others.T
        away -= self.values
        pull = away * self.precisions
        loss = float(np.vdot(away, pull))
        pull *= 2
        of_products = pull @ others
        slopes_of_weights += np.einsum("rc,rc->c", products, of_products)
        of_products *= weights
        for position, (_, sums) in enumerate(self.factors):
            rest = [each for other, each in enumerate(factors) if other != position]
            slopes += sums @ reduce(np.multiply, rest, of_products)
        of_others = pull.T @ products
        of_others *= weights
        slopes[self.rows] += of_others  # no row is there twice
        return loss

    def add_variances(self, point: Point, variances: Floats) -> None:
        """Add the variances of the slopes of each view."""
        features, weights = point
        squares = self.layout.sums(features[:-1] * features[:-1])
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
        factors = _factors(layout, prefixes, dtype)
        yield PrefixTerm(layout, prefixes, factors, own_rows, values, precisions, of_last, freedom)


def _groups(layout: OneHot, tables: Sequence[Measured]) -> list[_Group]:
    """Tables by all views but their largest, groups of many rows first."""
    members: dict[tuple[int, ...], dict[int, tuple[Measured, Floats]]] = {}
    for table in tables:
        order = sorted(range(len(table.views)), key=lambda axis: (table.values.shape[axis], table.views[axis]))
        *prefix, last = (table.views[axis] for axis in order)
        values = table.values.transpose(order).reshape(-1, layout.sizes[last])
        members.setdefault(tuple(prefix), {})[last] = (table, values)
    found = []
    for views, own in members.items():
        by_last = dict(sorted(own.items()))
        rows = np.concatenate([np.arange(*layout.offsets[view : view + 2]) for view in by_last])
        found.append(_Group(views, math.prod(layout.sizes[view] for view in views), by_last, rows))
    return sorted(found, key=lambda group: (-len(group.rows), int(group.rows[0]), group.prefix))


def _stacks(groups: Sequence[_Group]) -> Iterator[list[_Group]]:
    """Runs of groups whose rows are so similar that one matrix of all has few cells that were not measured."""
    stack: list[_Group] = []
    rows, products, cells = np.empty(0, dtype=np.int64), 0, 0
    for group in groups:
        own = group.products * len(group.rows)
        union, count, area = np.union1d(rows, group.rows), products + group.products, cells + own
        if stack and (count > _MOST_PRODUCTS or count * len(union) > _WASTE * area + _SPARE):
            yield stack
            stack, union, count, area = [], group.rows, group.products, own
        stack.append(group)
        rows, products, cells = union, count, area
    if stack:
        yield stack


@dataclass(frozen=True, eq=False, slots=True)
class IndependencePull:
    """The squared distances of all tables of pairs from independence, in units of their expected counts, with weights.

    A pair's is ``sum (q_xy - p_x p_y)**2 / ((p_x + e) (p_y + e))``, where q is the mixture's table and p is fixed.  All
    pairs together take one product of the scaled probabilities of each attribute with themselves.
    Source: eq. (78).
    """

    blocks: OneHot  # the attributes
    scales: Floats  # (d',): one over the root of p + e
    expected: Floats  # (d',): p times its scale
    strengths: Floats  # (d, d): of each pair, symmetric; 0 where a pair is not pulled

    def evaluate(self, probabilities: Floats, weights: Floats) -> tuple[float, Floats, Floats]:
        """The sum, and its slopes in probabilities (d', c) and weights (c,)."""
        # Independence is one class more, of weight -1.
        signed = np.append(weights, weights.dtype.type(-1))
        scaled = np.column_stack([probabilities * self.scales[:, None], self.expected])
        parts = [scaled[self.blocks.rows(attribute)] for attribute in range(len(self.blocks.sizes))]
        grams = np.stack([part.T @ part for part in parts])
        others = (self.strengths @ grams.reshape(len(grams), -1)).reshape(grams.shape)
        form = np.einsum("icd,icd->cd", grams, others)
        slope_of_weights = form @ signed
        others *= np.multiply.outer(signed, signed)
        slope = np.concatenate([part @ other[:, :-1] for part, other in zip(parts, others, strict=True)])
        slope *= 2 * self.scales[:, None]
        return float(signed @ slope_of_weights) / 2, slope, slope_of_weights[:-1]


class Evaluation(NamedTuple):
    """A loss at a point."""

    distance: float  # from what was measured
    pull: float  # what distance from independence adds to it
    slope: Floats  # (d', c): of both in the probabilities
    slope_of_weights: Floats  # (c,): of both in the weights of the classes


@dataclass(frozen=True, eq=False, slots=True)
class MixtureLoss:
    """A sum of terms, each a squared distance in units of its noise, and of pulls to independence."""

    features: Features  # what the terms are about
    terms: tuple[PrefixTerm, ...]  # of the distance
    pull: IndependencePull | None  # what is added to it
    records: float  # the number of records
    dtype: type[np.floating]  # single precision where its rounding is far below the noise, or else double

    @property
    def freedom(self) -> int:
        """The expected value at the truth: the degrees of freedom of all noise."""
        return sum(term.freedom for term in self.terms)

    @property
    def enough(self) -> float:
        """Where a fit ends: nearer than nine tenths of what noise explains is noise.  Source: eq. (70)."""
        return _ENOUGH * (self.freedom - 2 * math.sqrt(2 * self.freedom))

    def evaluate(self, probabilities: Floats, weights: Floats) -> Evaluation:
        """The loss, and its slopes in probabilities (d', c) and weights (c,) of the classes, which add up to 1."""
        point = self.features.apply(probabilities), weights * self.dtype(self.records)
        slope = np.zeros_like(point[0]), np.zeros_like(point[1])
        distance = sum(term.add(point, slope) for term in self.terms)
        of_probabilities, of_weights, added = self.features.pull(slope[0]), slope[1] * self.dtype(self.records), 0.0
        if self.pull is not None:
            added, more, more_of_weights = self.pull.evaluate(probabilities, weights)
            of_probabilities += more
            of_weights += more_of_weights
        return Evaluation(distance, added, of_probabilities, of_weights)

    def slope_variances(self, probabilities: Floats, weights: Floats) -> Floats:
        """The variances of slopes in the probabilities that the noise causes, (d', c).  Source: eq. (72)."""
        point = self.features.apply(probabilities), weights * self.dtype(self.records)
        variances = np.zeros((len(self.features.views), len(weights)), dtype=self.dtype)
        for term in self.terms:
            term.add_variances(point, variances)  # the same in every number of a view
        found = np.zeros_like(probabilities, dtype=self.dtype)
        for (attribute, basis), variance in zip(self.features.views, variances, strict=True):
            size = self.features.blocks.sizes[attribute]  # the squared length of each column of a view's matrix
            norms = np.full(size, 1 - 1 / size) if basis is None else (basis**2).sum(axis=0)
            found[self.features.blocks.rows(attribute)] += norms[:, None].astype(self.dtype) * variance
        return found


def loss_of(
    blocks: OneHot,
    views: Sequence[View],
    tables: Sequence[Measured],
    records: float,
    *,
    near: Sequence[FloatArray] = (),
    strengths: FloatArray | None = None,
) -> MixtureLoss:
    """The loss of a mixture beside measured tables, of one or more views each, of so many records.

    With ``strengths`` (d, d) it has a pull of pairs to the independence of attributes with probabilities ``near``.
    """
    features = Features(blocks, views)
    noise = min((1 / math.sqrt(table.precision) for table in tables), default=math.inf)
    dtype = np.float32 if records * _SINGLE < noise / 4 else np.float64
    pull = None
    if strengths is not None and strengths.any():
        alone = np.concatenate(near)
        scales = 1 / np.sqrt(alone + 1 / records)
        pull = IndependencePull(blocks, scales.astype(dtype), (scales * alone).astype(dtype), strengths.astype(dtype))
    return MixtureLoss(features, tuple(prefix_terms(features.layout, tables, dtype)), pull, records, dtype)
