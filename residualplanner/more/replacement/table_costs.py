"""The least weighted sum of variances where the cost is a sum of maxima over tables, with a certificate.

Source: eq. (41).

The problem is a cone program.  Its rows for the cells of tables are added as they are violated, since few of them hold
with equality.  The solver is only trusted to be close: the cost is computed again from all cells, and the bound is
computed here, from the solver's dual values, made weights that are exactly what the proof needs.

clarabel's home.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import SolverError
from residualplanner.more.convex.table_bound import CostTable, least_loss, product_table, sum_table

_ROUNDS = 30
#: Rows are added until the cost is within this fraction of the one that the solver knows of.
_ENOUGH = 1e-8


@dataclass(frozen=True, eq=False, slots=True)
class TableChoice:
    """Precisions, and a proof of how good they are.

    Attributes:
        precision (c,): of each table, of cost 1.
        messages: for each table of two columns or more an array (g,) for each of them; they prove the cost.
        loss: the weighted sum of variances.
        bound: no precisions and messages for which (41) is 1 have a smaller one.
        status: of the solver.
    """

    precision: FloatArray
    messages: dict[int, list[FloatArray]]
    loss: float
    bound: float
    status: str


def minimize_over_tables(
    variance_weight: FloatArray, tables: Sequence[CostTable], start: FloatArray, messages: dict[int, list[FloatArray]]
) -> TableChoice:
    """Minimize ``sum_c v_c / w_c`` subject to a cost (41) of 1, over precisions w > 0 and messages.

    The cost is ``sum_c max_r [w_c q_c(r) - sum_i phi_{c,i}(r_i)]`` over tables of two columns or more, and for each
    axis the maximum of ``sum_c w_c q_c + sum_c phi_{c,i}``, the first sum being over tables of this column only.

    Args:
        variance_weight (c,): v_c > 0.
        tables: q_c.
        start (c,): precisions near the best.
        messages: to begin with, for each table of two columns or more.

    Raises:
        SolverError: the solver gave no usable answer.

    Source: eq. (41).
    """
    model = _Program(variance_weight, tables, start)
    model.add_worst(start, messages)
    best, bound, status = (start, messages), 0.0, ""
    cost = cost_of(tables, *best)
    loss = float((variance_weight / start).sum()) * cost
    for _ in range(_ROUNDS):
        answer, status = model.solve()
        precision, phis = model.read(answer.x)
        found = cost_of(tables, precision, phis)
        value = float((variance_weight / precision).sum()) * found
        bound = max(bound, least_loss(variance_weight, tables, *model.weights(answer.z)))
        if value < loss:
            best, loss, cost = (precision, phis), value, found
        if loss <= bound * (1 + _ENOUGH) or not model.add_worst(precision, phis):
            break
    scaled = {number: [phi / cost for phi in phis] for number, phis in best[1].items()}
    return TableChoice(best[0] / cost, scaled, loss, min(bound, loss), f"clarabel: {status}")


def cost_of(tables: Sequence[CostTable], precision: FloatArray, messages: dict[int, list[FloatArray]]) -> float:
    """The right side of (41), in floating point."""
    total, single = 0.0, dict[int, Any]()
    for number, table in enumerate(tables):
        w = float(precision[number])
        if not table.axes:
            total += w
        elif len(table.axes) == 1:
            single[table.axes[0]] = single.get(table.axes[0], 0.0) + w * table.columns[0]
        else:
            total += float((product_table(w, table.columns) - sum_table(messages[number])).max())
            for axis, phi in zip(table.axes, messages[number], strict=True):
                single[axis] = single.get(axis, 0.0) + phi
    return total + sum(float(column.max()) for column in single.values())


class _Program:
    """The cone program: precisions relative to the start, their reciprocals, messages, maxima of tables and axes.

    The first message of each column is 0: a constant can go from a column to its table's maximum.
    """

    def __init__(self, variance_weight: FloatArray, tables: Sequence[CostTable], start: FloatArray) -> None:
        self.weight, self.tables, self.start = variance_weight, tables, start
        self.joint = [number for number, table in enumerate(tables) if len(table.axes) > 1]
        self.axes = sorted({axis for table in tables for axis in table.axes})
        self.sizes = {
            axis: len(column) for table in tables for axis, column in zip(table.axes, table.columns, strict=True)
        }
        end = 2 * len(tables)
        self.message: dict[int, list[int]] = {}
        for number in self.joint:
            self.message[number] = []
            for axis in tables[number].axes:
                self.message[number].append(end - 1)  # of the second value: the first has none
                end += self.sizes[axis] - 1
        self.table_maximum = {number: end + at for at, number in enumerate(self.joint)}
        end += len(self.joint)
        self.axis_maximum = {axis: end + at for at, axis in enumerate(self.axes)}
        self.columns = end + len(self.axes)
        self.cells = {number: np.empty((0, len(tables[number].axes)), dtype=np.int64) for number in self.joint}

    def add_worst(self, precision: FloatArray, messages: dict[int, list[FloatArray]]) -> bool:
        """Add rows for the cells of each table where most is above the messages, for each value of each column."""
        added = False
        for number in self.joint:
            rest = product_table(float(precision[number]), self.tables[number].columns) - sum_table(messages[number])
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
