"""The cells of all classes of two own attributes or more, one after another, so that a step takes few operations.

Source: eq. (41).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.more.by_set.problem import BySetProblem


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
    return Runs(np.array([len(values)])).largest(values, sharpness, logs)


def summed_at(at: IntArray, values: Any, count: int) -> FloatArray:
    """The sums (count,) of the values (n,) that are at each of so many places, which are none for no values, too."""
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
