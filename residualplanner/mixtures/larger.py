"""The part of a loss that is about tables of three or more views that have all views but one in common.

Reads: measured tables.  Gives: PrefixTerm; tables in groups.
Source: spec eqs. (67) and (68); rap-and-microdata (A7).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from residualplanner._checks import IntArray
from residualplanner.mixtures.blocks import Blocks
from residualplanner.mixtures.khatri_rao import khatri_rao, slopes_of_factors
from residualplanner.mixtures.terms import Measured, Point

Floats = NDArray[np.floating]


@dataclass(frozen=True, eq=False, slots=True)
class PrefixTerm:
    """Measured tables that have all views but the last in common, by few matrix products.

    Attributes:
        layout: the rows of the features of each view.
        prefix: the views in common.
        last: the other view of each table.
        rows (r,): of the features of these, one after the other; a slice where they stand so, which saves copies.
        values (p, r): what was measured: a row for each product of the common views.
        precisions (r,): of every column.
        of_last (l,): the precision of each table.
        freedom: the degrees of freedom of the noise.
    """

    layout: Blocks
    prefix: tuple[int, ...]
    last: tuple[int, ...]
    rows: IntArray | slice
    values: Floats
    precisions: Floats
    of_last: Floats
    freedom: int

    def add(self, point: Point, slope: Point) -> float:
        """The loss at a point; its slope is added to ``slope``."""
        factors, products = self._prefix_of(point)
        others = point.features[self.rows]
        away = (products * point.weights) @ others.T
        away -= self.values
        pull = away * self.precisions
        loss = float(np.vdot(away, pull))
        pull *= 2
        of_products, of_others = pull @ others, pull.T @ products
        slope.weights[...] += np.einsum("rc,rc->c", products, of_products)
        for view, own in zip(self.prefix, slopes_of_factors(of_products * point.weights, factors), strict=True):
            slope.features[self.layout.rows(view)] += own
        slope.features[self.rows] += of_others * point.weights  # no row is there twice
        return loss

    def add_variances(self, point: Point, variances: Floats) -> None:
        """Add the variances of the slopes of each view."""
        squares = self.layout.sums(point.features * point.features)
        scale = 4 * point.weights**2
        together = self.of_last @ squares[list(self.last)]
        for position, view in enumerate(self.prefix):
            rest = [each for at, each in enumerate(self.prefix) if at != position]
            variances[view] += scale * together * np.multiply.reduce(squares[rest])
        common = np.multiply.reduce(squares[list(self.prefix)])
        for view, precision in zip(self.last, self.of_last, strict=True):
            variances[view] += scale * precision * common

    def _prefix_of(self, point: Point) -> tuple[list[Floats], Floats]:
        """The features of the common views, and their products."""
        factors = [point.features[self.layout.rows(view)] for view in self.prefix]
        products = factors[0]
        for factor in factors[1:]:
            products = khatri_rao(products, factor)
        return factors, products


def prefix_terms(layout: Blocks, tables: Sequence[Measured], dtype: type[np.floating]) -> Iterator[PrefixTerm]:
    """The terms of tables of two or more views: those that have all but their largest in common are put together."""
    groups: dict[tuple[int, ...], list[tuple[int, Measured, Floats]]] = {}
    for table in tables:
        order = sorted(range(len(table.views)), key=lambda axis: (table.values.shape[axis], table.views[axis]))
        views = [table.views[axis] for axis in order]
        values = table.values.transpose(order)
        groups.setdefault(tuple(views[:-1]), []).append((views[-1], table, values))
    for prefix, members in groups.items():
        members.sort(key=lambda member: member[0])
        last = tuple(view for view, _, _ in members)
        rows = np.concatenate([np.arange(layout.offsets[view], layout.offsets[view + 1]) for view in last])
        values = np.concatenate([part.reshape(-1, part.shape[-1]) for _, _, part in members], axis=1)
        of_last = np.array([table.precision for _, table, _ in members], dtype=dtype)
        precisions = np.repeat(of_last, [layout.sizes[view] for view in last])
        freedom = sum(table.freedom for _, table, _ in members)
        yield PrefixTerm(layout, prefix, last, _as_slice(rows), values.astype(dtype), precisions, of_last, freedom)


def _as_slice(rows: IntArray) -> IntArray | slice:
    """Ascending rows without a gap as a slice, others as they are."""
    first, last = int(rows[0]), int(rows[-1])
    return slice(first, last + 1) if last + 1 - first == len(rows) else rows
