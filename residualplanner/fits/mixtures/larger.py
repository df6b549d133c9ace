"""The part of a loss that is about tables of three or more views that have all views but one in common.

Reads: measured tables.  Gives: PrefixTerm; tables in groups.
Source: eqs. (67) and (68).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.mixtures.blocks import Blocks
from residualplanner.fits.mixtures.khatri_rao import khatri_rao, slopes_of_factors
from residualplanner.fits.mixtures.terms import Measured, Point
from residualplanner.ground.checks import IntArray

Floats = NDArray[np.floating]
#: Groups are put together while the matrix of all has at most this many times the cells that were measured.
_WASTE = 1.25
#: The most products of common views that are put together.
_MOST_PRODUCTS = 2048


@dataclass(frozen=True, eq=False, slots=True)
class _Group:
    """Measured tables that have all views but the last in common.

    Attributes:
        prefix: the views in common.
        tables: by their last view, ascending, with values in the order of the prefix and the last.
        rows (r,): of the features of the last views, ascending.
    """

    prefix: tuple[int, ...]
    tables: dict[int, tuple[Measured, Floats]]
    rows: IntArray

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

    Attributes:
        layout: the rows of the features of each view.
        prefixes: the views that each group has in common.
        rows (r,): of the features of all last views; a slice where they stand side by side, which saves copies.
        values (p, r): what was measured: a row for each product of a group's common views; 0 where nothing was.
        precisions (p, r): of every entry; 0 where nothing was measured.
        of_last (g, v): the precision of each group's table with each view as the last.
        freedom: the degrees of freedom of the noise.
    """

    layout: Blocks
    prefixes: tuple[tuple[int, ...], ...]
    rows: IntArray | slice
    values: Floats
    precisions: Floats
    of_last: Floats
    freedom: int

    def add(self, point: Point, slope: Point) -> float:
        """The loss at a point; its slope is added to ``slope``."""
        factors = [[point.features[self.layout.rows(view)] for view in prefix] for prefix in self.prefixes]
        groups = [reduce(khatri_rao, each) for each in factors]
        products, others = np.concatenate(groups), point.features[self.rows]
        away = (products * point.weights) @ others.T
        away -= self.values
        pull = away * self.precisions
        loss = float(np.vdot(away, pull))
        pull *= 2
        of_products = pull @ others
        slope.weights[...] += np.einsum("rc,rc->c", products, of_products)
        of_products *= point.weights
        ends = np.cumsum([len(group) for group in groups])
        for prefix, own, part in zip(self.prefixes, factors, np.split(of_products, ends[:-1]), strict=True):
            for view, each in zip(prefix, slopes_of_factors(part, own), strict=True):
                slope.features[self.layout.rows(view)] += each
        of_others = pull.T @ products
        of_others *= point.weights
        slope.features[self.rows] += of_others  # no row is there twice
        return loss

    def add_variances(self, point: Point, variances: Floats) -> None:
        """Add the variances of the slopes of each view."""
        squares = self.layout.sums(point.features * point.features)
        scale = 4 * point.weights**2
        together = scale * (self.of_last @ squares)
        for prefix, own in zip(self.prefixes, together, strict=True):
            for position, view in enumerate(prefix):
                rest = [each for at, each in enumerate(prefix) if at != position]
                variances[view] += own * np.multiply.reduce(squares[rest])
        common = np.stack([np.multiply.reduce(squares[list(prefix)]) for prefix in self.prefixes])
        variances += scale * (self.of_last.T @ common)


def prefix_terms(layout: Blocks, tables: Sequence[Measured], dtype: type[np.floating]) -> Iterator[PrefixTerm]:
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
        yield PrefixTerm(layout, prefixes, _as_slice(rows), values, precisions, of_last, freedom)


def _groups(layout: Blocks, tables: Sequence[Measured]) -> list[_Group]:
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


def _as_slice(rows: IntArray) -> IntArray | slice:
    """Ascending rows without a gap as a slice, others as they are."""
    first, last = int(rows[0]), int(rows[-1])
    return slice(first, last + 1) if last + 1 - first == len(rows) else rows
