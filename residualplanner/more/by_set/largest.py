"""The largest variance of any cell in a search for bases by set, and its slopes.

A query's cells are an array with an axis of rows w for each of its own attributes.  The variance of a cell is a sum
over subsets of products: of ``||w G||**2`` for each own attribute inside, and the square of the w of those outside
applied to a rest table h, which for one of them is ``w u``.

In the coordinates of ``[1/g | Z]`` every u is ``(1, b)``, and the part of a table h at index 0 of some axes is the h of
the others: summing over an axis leaves index 0.  So a rest table has smaller ones as parts, and one part that is new.

Source: eqs. (39) and (40), for single cells.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray
from residualplanner.more.by_set.cost import EvenLoss, GroupBasis, LossSlopes, Maxima, largest
from residualplanner.more.by_set.problem import BySetProblem
from residualplanner.more.by_set.table_costs import Rows, largest_cells
from residualplanner.more.by_set.terms import RestTable, parts_of
from residualplanner.more.varying.varying_tables import along

#: Cells with less than this part of the largest variance are left out of the rows of a program.
_NEAR = 0.8
Table = NDArray[np.float64]
#: A rest table h in coordinates, (1+r_1, .., 1+r_k), and for the chain rule those whose axes were mapped in turn to
#: make the part that is new.
_Made = tuple[Table, list[Table]]


class RestTables:
    """Rest tables, those of fewer axes first, for the offsets b (r,) of each group."""

    def __init__(self, rests: Sequence[RestTable], offsets: Sequence[FloatArray]) -> None:
        self.rests, self._offsets, self._made = rests, offsets, list[_Made]()
        for rest in rests:
            self._made.append(_made(rest, self._made, offsets))

    def __getitem__(self, number: int) -> Table:
        """A rest table in coordinates, (1+r_1, .., 1+r_k)."""
        return self._made[number][0]

    def slopes(self, by_tables: dict[int, Table]) -> list[FloatArray]:
        """From the slopes by the entries of some tables: by b (r,) of each group."""
        by_b: list[FloatArray] = [np.zeros(len(b)) for b in self._offsets]
        by_table = [by_tables.get(number, np.zeros(table.shape)) for number, (table, _) in enumerate(self._made)]
        for number in range(len(self.rests) - 1, -1, -1):
            _back(self.rests[number], self._made[number][1], self._offsets, by_table, by_table[number], by_b)
        return by_b


def _made(rest: RestTable, smaller: list[_Made], offsets: Sequence[FloatArray]) -> _Made:
    """A rest table: the parts that it has from smaller ones, and the new one."""
    bs = [offsets[group] for group in rest.groups]
    table = np.zeros([1 + len(b) for b in bs])
    table[(0,) * len(bs)] = 1
    for part, number in zip(parts_of(tuple(range(len(bs)))), rest.parts, strict=True):
        new = offsets[number] if len(part) == 1 else _new(smaller[number][0])
        table[_where(len(bs), part)] = new
    steps: list[Table] = []
    left = table
    for axis, b in enumerate(bs):
        steps.append(left)
        absent, present = _split(left, axis)
        left = present - absent * along(b, axis, len(bs))
    table = table.copy()
    table[(slice(1, None),) * len(bs)] = -left
    return table, steps


def _back(
    rest: RestTable,
    steps: list[Table],
    offsets: Sequence[FloatArray],
    by_tables: list[Table],
    by_table: Table,
    by_b: list[FloatArray],
) -> None:
    """The chain rule of `_made`: from the slope by a rest table to those by the b and tables in it."""
    order = len(rest.groups)
    slope = -by_table[(slice(1, None),) * order]
    for axis in range(order - 1, -1, -1):
        b, (absent, _) = offsets[rest.groups[axis]], _split(steps[axis], axis)
        by_absent = -(slope * along(b, axis, order)).sum(axis=axis, keepdims=True)
        by_b[rest.groups[axis]] -= (slope * absent).sum(axis=tuple(other for other in range(order) if other != axis))
        slope = np.concatenate([by_absent, slope], axis=axis)
    slope = by_table + slope
    for part, number in zip(parts_of(tuple(range(order))), rest.parts, strict=True):
        mine = slope[_where(order, part)]
        if len(part) == 1:
            by_b[number] += mine
        else:
            _new(by_tables[number])[...] += mine


def _where(order: int, part: tuple[int, ...]) -> tuple[slice | int, ...]:
    """The index of a part of the axes in a rest table."""
    return tuple(slice(1, None) if axis in part else 0 for axis in range(order))


def _new(table: Table) -> Table:
    return table[(slice(1, None),) * table.ndim]


def _split(table: Table, axis: int) -> tuple[Table, Table]:
    """Index 0 of an axis, kept as an axis, and the others."""
    before = (slice(None),) * axis
    return table[(*before, slice(0, 1))], table[(*before, slice(1, None))]


def applied(matrices: Sequence[FloatArray], table: Table) -> Table:
    """A table with each of its axes multiplied by a matrix (n, m), (m_1, .., m_k)."""
    for matrix in matrices:
        # The first axis goes last, so that in the end all are in order.
        table = (table.reshape(len(matrix), -1).T @ matrix).reshape(*table.shape[1:], matrix.shape[1])
    return table


class _Factors(NamedTuple):
    """The factors of all rows for some bases, by number."""

    vectors: dict[int, FloatArray]  # (rows,): ``||w G||**2``, and behind those of all groups and kinds ``(w u)**2``
    rests: RestTables
    tables: list[Table]  # the rows applied to a rest table, for each form


class _Term(NamedTuple):
    """What the noise of one set adds to the variances of a query's cells: a product of vectors and a squared table."""

    noise: int
    weight: float  # what does not depend on the own attributes' bases, at a precision of 1
    vectors: dict[int, int]  # by axis, the number of the vector along it
    axes: tuple[int, ...]  # of the table, ascending: all others
    form: int  # which table

    def product(self, factors: _Factors) -> Table:
        order = len(self.vectors) + len(self.axes)
        found = np.expand_dims(factors.tables[self.form] ** 2, tuple(self.vectors)) if self.axes else np.ones(())
        for axis, number in self.vectors.items():
            found = found * along(factors.vectors[number], axis, order)
        return found

    def sums(self, factors: _Factors, cells: Table) -> dict[int, Table]:
        """A table of cells times the product, summed over all axes but one, without the factor along this one.

        By the axis; by -1 over those of the table.
        """
        found = {}
        for kept in (*self.vectors, *([-1] if self.axes else [])):
            left = cells
            if self.axes and kept >= 0:
                squares = np.expand_dims(factors.tables[self.form] ** 2, tuple(self.vectors))
                left = (left * squares).sum(axis=self.axes, keepdims=True)
            for axis in sorted(self.vectors, reverse=True):
                if axis != kept:
                    left = np.moveaxis(left, axis, -1) @ factors.vectors[self.vectors[axis]]
            found[kept] = left.ravel() if kept >= 0 else left
        return found


class LargestVariance(EvenLoss):
    """The largest variance of a cell times its query's importance."""

    def __init__(self, problem: BySetProblem) -> None:
        self.problem = problem
        groups, rows = problem.attribute_of_group.tolist(), {i: axis.rows() for i, axis in problem.axes.items()}
        self._factors = [(group, each) for group, i in enumerate(groups) for each in rows[i]]
        self._forms = [
            [rows[i][kind] for i, kind in zip(problem.terms.rests[number].attributes, kinds, strict=True)]
            for number, kinds in problem.terms.forms
        ]

    @cached_property
    def _queries(self) -> list[list[_Term]]:
        """The terms of each query that stands for its orbit."""
        terms, count, member = self.problem.terms, len(self._factors), self.problem.noise_of_set
        weights = terms.weight * self.problem.even_factor[terms.set]
        numbers = terms.query.tolist(), member[terms.set].tolist(), weights.tolist(), terms.form.tolist()
        found: dict[int, list[_Term]] = {}
        for query, noise, weight, form, present, inside in zip(
            *numbers, terms.present.tolist(), terms.inside, strict=True
        ):
            vectors = dict(zip(np.flatnonzero(inside).tolist(), present, strict=False))
            outside = tuple(np.flatnonzero(np.logical_not(inside)).tolist())
            if len(outside) == 1:
                vectors[outside[0]], outside = count + form - 1, ()
            found.setdefault(query, []).append(_Term(noise, weight, vectors, outside, form - 1 - count))
        return list(found.values())

    @cached_property
    def _used(self) -> list[int]:
        return sorted({number for terms in self._queries for term in terms for number in term.vectors.values()})

    def _at(self, bases: Sequence[GroupBasis]) -> _Factors:
        vectors, count = {}, len(self._factors)
        for number in self._used:
            group, rows = self._factors[number % count]
            if number < count:
                vectors[number] = np.einsum("ij,ij->i", rows[:, 1:] @ bases[group].form, rows[:, 1:])
            else:
                vectors[number] = (rows @ bases[group].u) ** 2
        rests = RestTables(self.problem.terms.rests, [basis.offset for basis in bases])
        pairs = zip(self.problem.terms.forms, self._forms, strict=True)
        return _Factors(vectors, rests, [applied([rows.T for rows in each], rests[n]) for (n, _), each in pairs])

    def _variances(self, factors: _Factors, noise: FloatArray) -> list[Table]:
        """The variances of all cells of each query times its importance, for noise (noises,) of 1 / precision."""
        found = []
        for terms in self._queries:
            each = [term.weight * float(noise[term.noise]) * term.product(factors) for term in terms]
            found.append(np.asarray(sum(each[:-1], start=each[-1])))  # the last has all axes
        return found

    def value(self, bases: Sequence[GroupBasis], precision: FloatArray) -> float:
        """The logarithm of the loss."""
        return math.log(max(float(each.max()) for each in self._variances(self._at(bases), 1 / precision)))

    def value_and_slopes(
        self, bases: Sequence[GroupBasis], precision: FloatArray, maxima: Maxima
    ) -> tuple[float, LossSlopes]:
        """The logarithm of the loss, and its slopes."""
        factors = self._at(bases)
        variances = self._variances(factors, 1 / precision)
        every = np.concatenate([each.ravel() for each in variances])
        value, cells = largest(np.log(every), maxima.sharpness, maxima.variances)
        by_cell = np.split(cells / every, np.cumsum([each.size for each in variances])[:-1])
        by_precision, by_vector = np.zeros(len(precision)), {n: np.zeros(len(v)) for n, v in factors.vectors.items()}
        by_table = [np.zeros(table.shape) for table in factors.tables]
        for terms, slopes, shape in zip(self._queries, by_cell, (each.shape for each in variances), strict=True):
            for term in terms:
                part = term.weight / float(precision[term.noise])
                sums, own = term.sums(factors, slopes.reshape(shape)), 0.0
                for axis, number in term.vectors.items():
                    by_vector[number] += part * sums[axis]
                    own = float(sums[axis] @ factors.vectors[number])
                if term.axes:
                    table = factors.tables[term.form]
                    by_table[term.form] += 2 * part * sums[-1] * table
                    own = float(np.vdot(sums[-1], table * table))
                by_precision[term.noise] -= part * (own if term.vectors or term.axes else float(slopes.sum()))
        return value, LossSlopes(by_precision, *self._slopes(bases, factors, by_vector, by_table), cells)

    def _slopes(
        self, bases: Sequence[GroupBasis], factors: _Factors, by_vector: dict[int, FloatArray], by_table: list[Table]
    ) -> tuple[list[FloatArray], list[FloatArray]]:
        """From the slopes by vectors and tables those by forms and by u."""
        by_rest: dict[int, Table] = {}
        for (number, _), matrices, table in zip(self.problem.terms.forms, self._forms, by_table, strict=True):
            by_rest[number] = by_rest.get(number, 0.0) + applied(matrices, table)
        by_forms, by_us = [np.zeros_like(basis.form) for basis in bases], [np.zeros_like(basis.u) for basis in bases]
        for each, by_b in zip(by_us, factors.rests.slopes(by_rest), strict=True):
            each[1:] += by_b
        for number, slope in by_vector.items():
            group, rows = self._factors[number % len(self._factors)]
            if number < len(self._factors):
                by_forms[group] += rows[:, 1:].T @ (slope[:, None] * rows[:, 1:])
            else:
                by_us[group] += 2 * (slope * (rows @ bases[group].u)) @ rows
        return by_forms, by_us

    def rows(self, bases: Sequence[GroupBasis]) -> Rows:
        """What multiplies each noise in the variances of the largest cells."""
        factors = self._at(bases)

        def largest_rows(precision: FloatArray) -> tuple[float, FloatArray]:
            variances = self._variances(factors, 1 / precision)
            most, rows = max(float(each.max()) for each in variances), []
            for terms, each in zip(self._queries, variances, strict=True):
                cells = largest_cells(each)
                cells = cells[each[tuple(cells.T)] >= _NEAR * min(most, float(each.max()))]
                found = np.zeros((len(cells), len(precision)))
                for term in terms:
                    product = np.broadcast_to(term.product(factors), each.shape)
                    found[:, term.noise] += term.weight * product[tuple(cells.T)]
                rows.append(found)
            return most, np.concatenate(rows)

        return largest_rows
