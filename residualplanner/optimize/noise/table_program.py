"""The noise of mechanisms whose cost is a sum of maxima over tables, as a cone program with rows for some cells.

Reads: numbers only.  Gives: Clarabel's answer.
Source: spec eq. (41).

clarabel's home.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner._checks import FloatArray, IntArray
from residualplanner.errors import SolverError
from residualplanner.optimize.noise.table_bound import Table


class TableProgram:
    """The cone program: precisions relative to the start, their reciprocals, messages, maxima of tables and axes.

    The first message of each column is 0: a constant can go from a column to its table's maximum.
    """

    def __init__(self, variance_weight: FloatArray, tables: Sequence[Table], start: FloatArray) -> None:
        self.weight, self.tables, self.start = variance_weight, tables, start
        self.joint = [number for number, table in enumerate(tables) if len(table.axes) > 1]
        self.axes = sorted({axis for table in tables for axis in table.axes})
        self.sizes = {
            axis: len(column) for table in tables for axis, column in zip(table.axes, table.columns, strict=True)
        }
        place = 2 * len(tables)
        self.message: dict[int, list[int]] = {}
        for number in self.joint:
            self.message[number] = []
            for axis in tables[number].axes:
                self.message[number].append(place - 1)  # of the second value: the first has none
                place += self.sizes[axis] - 1
        self.table_maximum = {number: place + at for at, number in enumerate(self.joint)}
        place += len(self.joint)
        self.axis_maximum = {axis: place + at for at, axis in enumerate(self.axes)}
        self.columns = place + len(self.axes)
        self.cells = {number: np.empty((0, len(tables[number].axes)), dtype=np.int64) for number in self.joint}

    def add_worst(self, precision: FloatArray, messages: dict[int, list[FloatArray]]) -> bool:
        """Add rows for the cells of each table where most is above the messages, for each value of each column."""
        added = False
        for number in self.joint:
            rest = rest_table(self.tables[number], float(precision[number]), messages[number])
            found = []
            for axis in range(rest.ndim):
                turned = np.moveaxis(rest, axis, 0).reshape(rest.shape[axis], -1)
                shape = rest.shape[:axis] + rest.shape[axis + 1 :]
                others = np.column_stack(np.unravel_index(turned.argmax(axis=1), shape))
                found.append(np.insert(others, axis, np.arange(rest.shape[axis]), axis=1))
            every = np.unique(np.concatenate([self.cells[number], *found]), axis=0)
            added = added or len(every) > len(self.cells[number])
            self.cells[number] = every
        return added

    def solve(self) -> tuple[Any, str]:
        """Clarabel's answer to the program with the present rows."""
        import clarabel

        count, loss = len(self.tables), float((self.weight / self.start).sum())
        rows, self.row_of = self._limits()
        cone = sparse.csr_array(
            (
                np.tile([-1.0, -1.0, -1.0, 1.0], count),
                (
                    np.add.outer(3 * np.arange(count), [0, 0, 1, 1]).ravel(),
                    np.add.outer(np.arange(count), [0, count, 0, count]).ravel(),
                ),
            ),
            shape=(3 * count, self.columns),
        )
        A = sparse.csc_matrix(sparse.vstack([rows, cone]))
        limits = np.zeros(rows.shape[0])
        limits[-1] = 1.0
        b = np.concatenate([limits, np.tile([0.0, 0.0, 2.0], count)])
        q = np.zeros(self.columns)
        q[count : 2 * count] = self.weight / self.start / loss
        cones = [clarabel.NonnegativeConeT(rows.shape[0]), *[clarabel.SecondOrderConeT(3)] * count]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        answer = clarabel.DefaultSolver(sparse.csc_matrix((self.columns,) * 2), q, A, b, cones, settings).solve()
        x = np.asarray(answer.x)
        if len(x) != self.columns or not (np.isfinite(x).all() and (x[:count] > 0).all()):
            raise SolverError(
                "the solver gave no usable noise for bases by set; plan with bases='optimal'", status="no"
            )
        return answer, str(answer.status)

    def _limits(self) -> tuple[sparse.csr_array, dict[object, int]]:
        """The rows of what is at most 0, and of the cost, which is at most 1; and where those of each table start."""
        entries: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        row_of: dict[object, int] = {}
        row = 0
        for number in self.joint:
            table, cells = self.tables[number], self.cells[number]
            at = np.arange(row, row + len(cells))
            own = reduce(np.multiply, [column[cells[:, axis]] for axis, column in enumerate(table.columns)])
            entries.append((own * self.start[number], at, np.full(len(cells), number)))
            entries.append((np.full(len(cells), -1.0), at, np.full(len(cells), self.table_maximum[number])))
            for axis, first in enumerate(self.message[number]):
                some = cells[:, axis] > 0
                entries.append((np.full(int(some.sum()), -1.0), at[some], first + cells[some, axis]))
            row_of[number, "table"] = row
            row += len(cells)
        for axis in self.axes:
            size = self.sizes[axis]
            at = np.arange(row, row + size)
            entries.append((np.full(size, -1.0), at, np.full(size, self.axis_maximum[axis])))
            for number, table in enumerate(self.tables):
                if table.axes == (axis,):
                    entries.append((self.start[number] * table.columns[0], at, np.full(size, number)))
                elif number in self.message:
                    for mine, start in zip(table.axes, self.message[number], strict=True):
                        if mine == axis:
                            entries.append((np.ones(size - 1), at[1:], start + np.arange(1, size)))
            row_of[axis, "axis"] = row
            row += size
        constant = [number for number, table in enumerate(self.tables) if not table.axes]
        maxima = [*self.table_maximum.values(), *self.axis_maximum.values()]
        entries.append((self.start[constant], np.full(len(constant), row), np.array(constant, dtype=np.int64)))
        entries.append((np.ones(len(maxima)), np.full(len(maxima), row), np.array(maxima, dtype=np.int64)))
        values, rows, columns = (np.concatenate(part) for part in zip(*entries, strict=True))
        return sparse.csr_array((values, (rows, columns)), shape=(row + 1, self.columns)), row_of

    def read(self, x: Any) -> tuple[FloatArray, dict[int, list[FloatArray]]]:
        """The precisions and messages of an answer."""
        x = np.asarray(x)
        messages = {}
        for number in self.joint:
            messages[number] = [
                np.concatenate([[0.0], x[first + 1 : first + self.sizes[axis]]])
                for axis, first in zip(self.tables[number].axes, self.message[number], strict=True)
            ]
        return x[: len(self.tables)] * self.start, messages

    def weights(self, z: Any) -> tuple[dict[int, tuple[IntArray, FloatArray]], dict[int, FloatArray]]:
        """The dual values of an answer: of cells of the joint tables, and of the values of each axis."""
        dual, cells = np.asarray(z), {}
        for number in self.joint:
            start = self.row_of[number, "table"]
            cells[number] = self.cells[number], dual[start : start + len(self.cells[number])]
        starts = {axis: self.row_of[axis, "axis"] for axis in self.axes}
        return cells, {axis: dual[start : start + self.sizes[axis]] for axis, start in starts.items()}


def rest_table(table: Table, w: float, phis: Sequence[FloatArray]) -> NDArray[np.float64]:
    """What a table's cost is above its messages."""
    rest: NDArray[np.float64] = table.cells(w)
    rest -= reduce(lambda total, phi: total[..., None] + phi, phis, np.array(0.0))
    return rest
