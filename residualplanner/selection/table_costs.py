"""The least weighted sum of variances where the cost is a sum of maxima over tables, with a certificate.

Reads: numbers only.  Gives: TableChoice.
Source: spec eq. (T4).

The problem is a cone program.  Its rows for the cells of tables are added as they are violated, since few of them hold
with equality.  The solver is only trusted to be close: the cost is computed again from all cells, and the bound is
computed here, from the solver's dual values, made weights that are exactly what the proof needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner._checks import FloatArray
from residualplanner.errors import SolverError

_ROUNDS = 30
#: Rows are added until the cost is within this fraction of the one that the solver knows of.
_ENOUGH = 1e-8


class Table(NamedTuple):
    """The cost of a class of mechanisms at unit precision: a product of columns.

    Attributes:
        axes: the axis of each column.
        columns: lengths, > 0, an array (g,) for each.
    """

    axes: tuple[int, ...]
    columns: tuple[FloatArray, ...]

    def cells(self, factor: float = 1.0) -> NDArray[np.float64]:
        """The product, with an axis for each column."""
        return reduce(lambda table, column: table[..., None] * column, self.columns, np.array(factor))


@dataclass(frozen=True, eq=False, slots=True)
class TableChoice:
    """Precisions, and a proof of how good they are.

    Attributes:
        precision (c,): of each table, of cost 1.
        messages: for each table of two columns or more an array (g,) for each of them; they prove the cost.
        loss: the weighted sum of variances.
        bound: no precisions and messages for which (T4) is 1 have a smaller one.
        status: of the solver.
    """

    precision: FloatArray
    messages: dict[int, list[FloatArray]]
    loss: float
    bound: float
    status: str


def minimize_over_tables(
    variance_weight: FloatArray, tables: Sequence[Table], start: FloatArray, messages: dict[int, list[FloatArray]]
) -> TableChoice:
    """Minimize ``sum_c v_c / w_c`` subject to a cost (T4) of 1, over precisions w > 0 and messages.

    The cost is ``sum_c max_r [w_c q_c(r) - sum_i phi_{c,i}(r_i)]`` over tables of two columns or more, and for each
    axis the maximum of ``sum_c w_c q_c + sum_c phi_{c,i}``, the first sum being over tables of this column only.

    Args:
        variance_weight (c,): v_c > 0.
        tables: q_c.
        start (c,): precisions near the best.
        messages: to begin with, for each table of two columns or more.

    Raises:
        SolverError: the solver gave no usable answer.

    Source: spec eq. (T4).
    """
    model = _Model(variance_weight, tables, start)
    model.add_worst(start, messages)
    best, bound, status = (start, messages), 0.0, ""
    cost = cost_of(tables, *best)
    loss = float((variance_weight / start).sum()) * cost
    for _ in range(_ROUNDS):
        answer, status = model.solve()
        precision, phis = model.read(answer.x)
        found = cost_of(tables, precision, phis)
        value = float((variance_weight / precision).sum()) * found
        bound = max(bound, model.bound(np.asarray(answer.z)))
        if value < loss:
            best, loss, cost = (precision, phis), value, found
        if loss <= bound * (1 + _ENOUGH) or not model.add_worst(precision, phis):
            break
    scaled = {number: [phi / cost for phi in phis] for number, phis in best[1].items()}
    return TableChoice(best[0] / cost, scaled, loss, min(bound, loss), f"clarabel: {status}")


def cost_of(tables: Sequence[Table], precision: FloatArray, messages: dict[int, list[FloatArray]]) -> float:
    """The right side of (T4), in floating point."""
    total, single = 0.0, dict[int, Any]()
    for number, table in enumerate(tables):
        w = float(precision[number])
        if not table.axes:
            total += w
        elif len(table.axes) == 1:
            single[table.axes[0]] = single.get(table.axes[0], 0.0) + w * table.columns[0]
        else:
            total += float(_rest(table, w, messages[number]).max())
            for axis, phi in zip(table.axes, messages[number], strict=True):
                single[axis] = single.get(axis, 0.0) + phi
    return total + sum(float(column.max()) for column in single.values())


def weights_with_margins(
    cells: NDArray[np.int64], weights: FloatArray, margins: Sequence[FloatArray]
) -> tuple[FloatArray, list[FloatArray]]:
    """Weights of cells made to agree with given margins of sum 1, up to rounding.

    Every axis is scaled down where it is above; what then is missing is the product of what each axis misses.

    Args:
        cells (m, k): the indices of cells; all others have weight 0.
        weights (m,): theirs, at least 0.
        margins: for each axis an array (g,).

    Returns:
        The weights, (m,), and for each axis the array (g,) whose product, divided by the k-1st power of its sum, is
        to be added.

    Source: Altschuler, Niles-Weed and Rigollet, NeurIPS 2017, Algorithm 2, for any number of axes.
    """
    weights = np.maximum(weights, 0.0)
    for axis, target in enumerate(margins):
        reached = np.bincount(cells[:, axis], weights, len(target))
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = weights * np.where(reached > target, target / reached, 1.0)[cells[:, axis]]
    missing = [
        np.maximum(target - np.bincount(cells[:, axis], weights, len(target)), 0.0)
        for axis, target in enumerate(margins)
    ]
    return weights, missing


def _rest(table: Table, w: float, phis: Sequence[FloatArray]) -> NDArray[np.float64]:
    """What a table's cost is above its messages."""
    return table.cells(w) - reduce(lambda total, phi: total[..., None] + phi, phis, np.array(0.0))


class _Model:
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
            rest = _rest(self.tables[number], float(precision[number]), messages[number])
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
                elif axis in table.axes:
                    first = self.message[number][table.axes.index(axis)]
                    entries.append((np.ones(size - 1), at[1:], first + np.arange(1, size)))
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

    def bound(self, dual: FloatArray) -> float:
        """What the loss is at least at cost 1, from dual values made weights of cells whose margins agree.

        Such weights make the cost a sum over tables of precision times mean length, at most, so by the inequality of
        Cauchy and Schwarz loss times cost is at least the square of ``sum_c sqrt(v_c E_c[q_c])``.
        """
        weights = {}
        for axis in self.axes:
            start = self.row_of[axis, "axis"]
            own = np.maximum(dual[start : start + self.sizes[axis]], 0.0)
            weights[axis] = own / own.sum() if own.sum() > 0 else np.full(len(own), 1 / len(own))
        root = 0.0
        for number, table in enumerate(self.tables):
            targets = [weights[axis] for axis in table.axes]
            if len(targets) < 2:
                mean = float(targets[0] @ table.columns[0]) if targets else 1.0
            else:
                cells, start = self.cells[number], self.row_of[number, "table"]
                mean = _mean_cost(table, cells, dual[start : start + len(cells)], targets)
            root += float(np.sqrt(self.weight[number] * mean))
        return root * root


def _mean_cost(table: Table, cells: NDArray[np.int64], dual: FloatArray, targets: list[FloatArray]) -> float:
    """The mean of a table's cost with weights near ``dual`` that have these margins."""
    total = float(np.maximum(dual, 0.0).sum())
    weights, missing = weights_with_margins(cells, dual / total if total > 0 else dual, targets)
    own = reduce(np.multiply, [column[cells[:, axis]] for axis, column in enumerate(table.columns)])
    left = min(float(part.sum()) for part in missing)
    mean = float(weights @ own)
    if left <= 0:
        return mean
    parts = [float(part @ column) / float(part.sum()) for part, column in zip(missing, table.columns, strict=True)]
    return mean + left * float(np.prod(parts))
