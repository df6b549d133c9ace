"""The bases and noise of a search for bases by set, in real numbers; the cost that it descends, and its slopes.

Maxima are smooth.
Source: eqs. (24), (40) and (41).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.bases.matrix import inverse_parts
from residualplanner.more.by_set.problem import BySetProblem, OwnAxis
from residualplanner.more.by_set.table_costs import ENOUGH, CostTable, Rows, TableChoice, minimize_over_tables
from residualplanner.more.searches.basis_problem import UNUSED_LENGTH

#: Logarithms of weights are at least this, so that a cell that did not count can count again.
_LEAST_LOG = -60.0


@dataclass(frozen=True, eq=False, slots=True)
class GroupBasis:
    """A basis ``S = core (Z' - b 1')`` of directions that queries depend on; ``u = 1/g + Z b``, ``G = Z core^-1``."""

    axis: OwnAxis
    offset: FloatArray  # (r,): b
    core: FloatArray  # (r, r): invertible
    inverse: FloatArray  # (r, r): that of the core, Z' G
    S: FloatArray  # (r, g), or (g-1, g) with rows of directions that no query depends on
    form: FloatArray  # (r, r): Z' G G' Z
    lengths: FloatArray  # (g,): the squared lengths of the columns

    @classmethod
    def of(cls, axis: OwnAxis, offset: FloatArray, core: FloatArray) -> "GroupBasis":
        """The basis of b (r,) and an invertible core (r, r); LinAlgError where it is not invertible."""
        inverse = cast(FloatArray, np.linalg.inv(core))
        S = core @ (axis.Z.T - offset[:, None])
        return cls(axis, offset, core, inverse, S, inverse @ inverse.T, np.einsum("ij,ij->j", S, S))

    @classmethod
    def from_matrix(cls, axis: OwnAxis, matrix: NDArray[np.float64]) -> "GroupBasis":
        """The basis of a matrix (g-1, g), which may have rows of other directions; LinAlgError where it is none."""
        u, G = inverse_parts(matrix)
        G = axis.Z.T @ G
        inverse = np.linalg.cholesky(G @ G.T)
        basis = cls.of(axis, axis.Z.T @ u, np.linalg.inv(inverse))
        return replace(basis, S=matrix, lengths=np.einsum("ij,ij->j", matrix, matrix))

    @property
    def u(self) -> FloatArray:
        """U in coordinates, (1+r,)."""
        return np.concatenate([[1.0], self.offset])

    def matrix(self) -> FloatArray:
        """A matrix (g-1, g) whose longest column has length 1, with short rows for the other directions."""
        rows = self.S / np.sqrt(self.lengths.max())
        if len(rows) < self.axis.values - 1:
            rows = np.vstack([rows, UNUSED_LENGTH * self.axis.unused])
        return np.asarray(rows / np.sqrt((rows * rows).sum(axis=0).max()))

    def slopes(self, by_form: FloatArray, by_u: FloatArray, by_products: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Those by b and core, from the slopes by the form (r, r) and by u (1+r,), and by what depends on S alone.

        That is by the products ``S' S`` (g, g), or by its diagonal (g,); matrices are symmetric.  For a basis that `of`
        made: it has no rows for other directions.
        """
        by_S = 2 * (self.S * by_products if by_products.ndim == 1 else self.S @ by_products)
        by_inverse = self.inverse.T @ by_form @ self.form
        by_total = by_S.sum(axis=1)
        by_core = by_S @ self.axis.Z - np.outer(by_total, self.offset) - 2 * by_inverse
        return by_u[1:] - self.core.T @ by_total, by_core


@dataclass(frozen=True, eq=False, slots=True)
class Member:
    """A plan of the family of a search, in real numbers."""

    bases: tuple[GroupBasis, ...]  # of each group
    precision: FloatArray  # (noises,): 1 / sigma squared times the factors of other attributes, summed over its sets
    messages: dict[int, list[FloatArray]]  # (g,) for each own attribute of each class of two or more


@dataclass(frozen=True, eq=False, slots=True)
class Maxima:
    """How maxima are computed: those in the cost, and that of the logarithms of variances.

    That of x is ``log sum_r w_r exp(sharpness x_r) / sharpness``, or the maximum itself without a sharpness.  Where no
    weights w are known they are 1, with which it is not below the maximum.
    """

    sharpness: float | None = None
    cells: FloatArray | None = None  # logarithms of the weights of the cells of all classes
    #: Of those of the values of all attributes; where records are replaced, of those of the pairs of records.
    axes: FloatArray | None = None
    variances: FloatArray | None = None  # of those of the variances of all tables


class EvenLoss:
    """What losses in proportion to noise have in common where one noise stands for each orbit of sets."""

    effort: ClassVar[Mapping[str, float]] = {}  # how near its best noise is to be to a bound: as near as it comes
    problem: BySetProblem

    def settled(self, bases: Sequence[GroupBasis], precision: FloatArray) -> Self:
        """Itself: it is in proportion to noise, so that the best noise is the same at every cost."""
        del bases, precision
        return self

    def precision_of_sets(self, bases: Sequence[GroupBasis], precision: FloatArray) -> FloatArray:
        """The precision of every set, (m,), from that of each noise."""
        del bases
        return np.asarray(precision[self.problem.noise_of_set] / self.problem.even_factor)


@dataclass(frozen=True, eq=False, slots=True)
class LossSlopes:
    """Derivatives of the logarithm of the loss."""

    by_precision: FloatArray  # (noises,): by the logarithm of each noise's precision
    by_forms: list[FloatArray]  # (r, r): by the form of each group's basis, symmetric
    by_us: list[FloatArray]  # (1+r,): by its u
    variances: FloatArray | None  # by the logarithms of the variances whose maximum it is


@dataclass(frozen=True, eq=False, slots=True)
class CostSlopes:
    """Derivatives of the cost."""

    by_precision: FloatArray  # (noises,): by the logarithm of each noise's precision
    #: By the products of the columns of each group's basis, (g, g), or by their squared lengths alone, (g,).
    by_products: list[FloatArray]
    by_messages: FloatArray  # by the entries of all messages
    cells: FloatArray  # by what the cells of all classes cost above their messages
    axes: FloatArray  # by what all values of attributes cost, or the pairs of records

    def maxima(self, sharpness: float, loss: LossSlopes) -> Maxima:
        """Smooth maxima that are exact to first order here: what counts here has a larger weight.

        Source: Bertsekas, Constrained Optimization and Lagrange Multiplier Methods (1982), section 5.1.2, the
        exponential method of multipliers.
        """

        def logs(derivative: FloatArray) -> FloatArray:
            return np.log(np.maximum(derivative, math.exp(_LEAST_LOG)))

        variances = None if loss.variances is None else logs(loss.variances)
        return Maxima(sharpness, logs(self.cells), logs(self.axes), variances)


class Runs(NamedTuple):
    """Parts of an array, one after another."""

    lengths: IntArray

    @property
    def starts(self) -> IntArray:
        """Where each part starts."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def total(self) -> int:
        """How many entries all parts have."""
        return int(self.lengths.sum())

    def largest(self, values: FloatArray, sharpness: float | None, logs: FloatArray | None) -> tuple[float, FloatArray]:
        """The sum of the maxima of all parts, or of ``log sum exp(sharpness * values + logs) / sharpness``; its slope.

        Values and slope are arrays (n,).
        """
        starts = self.starts
        if sharpness is None:
            most = np.maximum.reduceat(values, starts)
            slope = (values == np.repeat(most, self.lengths)).astype(np.float64)
            return float(most.sum()), slope / np.repeat(np.add.reduceat(slope, starts), self.lengths)
        powers = values * sharpness
        if logs is not None:
            powers += logs
        most = np.maximum.reduceat(powers, starts)
        powers -= np.repeat(most, self.lengths)
        np.exp(powers, out=powers)
        totals = np.add.reduceat(powers, starts)
        powers /= np.repeat(totals, self.lengths)
        return float((most + np.log(totals)).sum()) / sharpness, powers


def largest(values: FloatArray, sharpness: float | None, logs: FloatArray | None) -> tuple[float, FloatArray]:
    """The maximum of an array (n,), or the smooth function above, and its slope."""
    if logs is not None and len(logs) < len(values):  # new values count as much as all do in the mean
        logs = np.pad(logs, (0, len(values) - len(logs)), constant_values=-math.log(len(values)))
    return Runs(np.array([len(values)])).largest(values, sharpness, logs)


def summed_at(at: IntArray, values: Any, count: int) -> FloatArray:
    """The sums (count,) of the values (n,) that are at each of so many positions; zeros where there are no values."""
    return np.bincount(at, values, count).astype(np.float64, copy=False)


class JointCells:
    """Where the cells of the classes are, and the entries of their messages and of the lengths of columns.

    Messages have an entry for each value of each own attribute of each class; the lengths of all groups' columns, and
    the values of all attributes, are one after another, too.
    """

    def __init__(self, problem: BySetProblem) -> None:
        values = [problem.axis(group).values for group in range(len(problem.attribute_of_group))]
        attributes, axis = np.unique(problem.attribute_of_group, return_inverse=True)
        self.axes = Runs(np.array([problem.axes[i].values for i in attributes.tolist()], dtype=np.int64))
        self.groups = Runs(np.array(values, dtype=np.int64))
        columns, of_axes = self.groups.starts, self.axes.starts[axis.ravel()]
        joint = [number for number, groups in enumerate(problem.classes) if len(groups) > 1]
        self.classes = np.array(joint, dtype=np.int64)
        #: How long the messages of each class are.
        self.message_lengths = {number: [values[group] for group in problem.classes[number]] for number in joint}
        sizes = [math.prod(lengths) for lengths in self.message_lengths.values()]
        self.cells = Runs(np.array(sizes, dtype=np.int64))
        owners = [group for number in joint for group in problem.classes[number]]
        #: (entries,): of each entry of a message the length of its column, and the value of its attribute.
        self.column, self.value = (_ranges(firsts, owners, values) for firsts in (columns, of_axes))
        #: (k, cells): the entries of each cell, padded with the number after the last.
        self.entries = _entries(list(self.message_lengths.values()), len(self.column))
        at, cell = np.nonzero(self.entries < len(self.column))
        incidence = (np.ones(len(cell)), (cell, self.entries[at, cell]))
        self.to_cells = sparse.csr_array(incidence, shape=(self.cells.total, len(self.column)))
        self.to_entries = sparse.csr_array(self.to_cells.T)
        alone = [(number, groups[0]) for number, groups in enumerate(problem.classes) if len(groups) == 1]
        single = [group for _, group in alone]
        #: Of each entry of what the classes of one own attribute cost: its class, and as above.
        self.single = np.repeat([number for number, _ in alone], [values[group] for group in single]).astype(np.int64)
        self.single_column, self.single_value = (_ranges(firsts, single, values) for firsts in (columns, of_axes))

    def costs(self, precision: FloatArray, lengths: FloatArray) -> FloatArray:
        """What all cells cost, from the precision of each class and the lengths of all columns."""
        columns, found = np.append(lengths[self.column], 1.0), np.repeat(precision[self.classes], self.cells.lengths)
        for entries in self.entries:
            found *= columns[entries]
        return found


def _ranges(firsts: IntArray, groups: list[int], values: list[int]) -> IntArray:
    """The numbers from the first of each of some groups on, as many as it has values."""
    parts = [np.arange(values[group]) + firsts[group] for group in groups]
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _entries(lengths: list[list[int]], end: int) -> IntArray:
    """The entries of all cells of classes whose messages have these lengths, (k, cells), padded with ``end``."""
    order, first = max(map(len, lengths), default=0), 0
    found = [np.empty((order, 0), dtype=np.int64)]
    for shape in lengths:
        starts = first + np.cumsum(shape) - shape
        part = np.indices(shape).reshape(len(shape), -1) + starts[:, None]
        found.append(np.pad(part, ((0, order - len(shape)), (0, 0)), constant_values=end))
        first += sum(shape)
    return np.concatenate(found, axis=1)


class TableCost:
    """The right side of (41): a bound of the privacy cost where records are added or removed, for any messages.

    The cost of a class of sets is a table over the values of their own attributes.  A class with two of these or more
    has a message (g,) for each.
    """

    def __init__(self, problem: BySetProblem) -> None:
        self._problem, self._cells = problem, JointCells(problem)
        self._empty = np.array([not groups for groups in problem.classes])
        self.message_lengths = self._cells.message_lengths
        self._known: dict[int, IntArray] = {}  # cells with rows in the last program for the best noise

    def value_and_slopes(self, member: Member, maxima: Maxima) -> tuple[float, CostSlopes]:
        """The bound, or a smooth function near it, and its slopes."""
        at, precision = self._cells, self._problem.of_classes(member.precision)
        lengths = np.concatenate([basis.lengths for basis in member.bases])
        sent = np.concatenate([np.empty(0), *(phi for phis in member.messages.values() for phi in phis)])
        own, alone = at.costs(precision, lengths), precision[at.single] * lengths[at.single_column]
        above, cells = at.cells.largest(own - at.to_cells @ sent, maxima.sharpness, maxima.cells)
        summed = summed_at(at.value, sent, at.axes.total) + summed_at(at.single_value, alone, at.axes.total)
        single, axes = at.axes.largest(summed, maxima.sharpness, maxima.axes)

        by_message = axes[at.value] - at.to_entries @ cells
        own *= cells
        alone *= axes[at.single_value]
        by_columns = summed_at(at.column, at.to_entries @ own, len(lengths))
        by_columns += summed_at(at.single_column, alone, len(lengths))
        by_columns = np.divide(by_columns, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        by_class = np.where(self._empty, precision, 0.0) + summed_at(at.single, alone, len(precision))
        by_class[at.classes] += np.add.reduceat(own, at.cells.starts)
        by_noise = (by_class / precision)[self._problem.class_of_noise] * member.precision
        by_products = np.split(by_columns, at.groups.starts[1:])
        cost = above + single + float(precision[self._empty].sum())
        return cost, CostSlopes(by_noise, by_products, by_message, cells, axes)

    def with_worst(self, member: Member) -> "TableCost":
        """The same: its maxima are over all cells."""
        del member
        return self

    def best_noise(self, member: Member, rows: Rows, *, enough: float = ENOUGH) -> TableChoice:
        """The best precisions and messages for a member's bases and the rows of a loss, near ``enough`` to a bound."""
        problem, lengths = self._problem, [basis.lengths for basis in member.bases]
        attribute: list[int] = problem.attribute_of_group.tolist()
        tables = [
            CostTable(tuple(attribute[group] for group in groups), tuple(lengths[group] for group in groups))
            for groups in problem.classes
        ]
        start = member.precision, member.messages, self._known
        return minimize_over_tables(rows, tables, problem.class_of_noise, *start, enough=enough)
