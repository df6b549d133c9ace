"""The least maximum of weighted sums of variances where the cost is a sum of maxima over tables, with a certificate.

Source: eqs. (41) and (42).

The problem is a cone program.  Its rows, for sums and for the cells of tables, are added as they are violated, since
few of them hold with equality.  The solver is only trusted to be close: loss and cost are computed again from all sums
and cells, and the bound is computed here, from the solver's dual values, made weights that are exactly what the proof
needs.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.ground.errors import SolverError
from residualplanner.more.convex.loss_function import normalized

_ROUNDS = 30
#: A cell is binding if its dual value is above this fraction of the largest.
_BINDING = 1e-6
#: Rows are added until the loss is within this fraction of its bound, where nothing else is asked for.
ENOUGH = 1e-8


class CostTable(NamedTuple):
    """The cost of a class of mechanisms at unit precision: a product of columns."""

    axes: tuple[int, ...]  # of each column; one axis may have several
    columns: tuple[FloatArray, ...]  # (g,): lengths, > 0


def product_table(factor: float, columns: Sequence[FloatArray]) -> NDArray[np.float64]:
    """The product of one entry from each column, times a factor: a table with an axis for each."""
    return reduce(lambda table, column: table[..., None] * column, columns, np.array(factor))


def sum_table(columns: Sequence[FloatArray]) -> NDArray[np.float64]:
    """The sum of one entry from each column: a table with an axis for each."""
    return reduce(lambda table, column: table[..., None] + column, columns, np.array(0.0))


#: From the precisions (n,) of all noises to the largest sum of their reciprocals, and what multiplies these, (k, n), in
#: some sums, the largest being among them.
Rows = Callable[[FloatArray], tuple[float, FloatArray]]


@dataclass(frozen=True, eq=False, slots=True)
class TableChoice:
    """Precisions, and a proof of how good they are."""

    precision: FloatArray  # (n,): of each noise, of cost 1
    messages: dict[int, list[FloatArray]]  # (g,) for each column of each table of two or more; they prove the cost
    loss: float  # the largest sum of variances
    bound: float  # no precisions and messages for which (41) is 1 have a smaller loss


def minimize_over_tables(
    rows: Rows,
    tables: Sequence[CostTable],
    table_of: IntArray,
    start: FloatArray,
    messages: dict[int, list[FloatArray]],
    cells: dict[int, IntArray] | None = None,
    *,
    enough: float = ENOUGH,
) -> TableChoice:
    """Minimize ``max_k sum_j v_kj / w_j`` subject to a cost of 1, over precisions w > 0 and messages.

    Each noise is of a table, ``table_of`` (n,).  The cost is ``sum_c max_r [w_c q_c(r) - sum_i phi_{c,i}(r_i)]`` over
    tables q_c of two columns or more, w_c the sum of their noises' precisions, and for each axis the maximum of
    ``sum_c w_c q_c + sum_c phi_{c,i}``, the first sum being over tables of this column only.  The search starts from
    precisions (n,) near the best, and messages for each table of two columns or more; and from ``cells`` (m, k) of such
    tables, which become the binding ones, so that the next search of the like begins with them.  It
    ends where the loss is within the fraction ``enough`` of its bound.

    Raises SolverError: the solver gave no usable answer.
    Source: eq. (41).
    """
    model = _Program(tables, table_of, start)

    def judged(precision: FloatArray, phis: dict[int, list[FloatArray]]) -> TableChoice:
        """A choice, scaled to cost 1; its largest sums and cells become rows of the program."""
        value, largest = rows(precision)
        cost = cost_of(tables, model.of_tables(precision), phis)
        model.add(precision, phis, largest)
        scaled = {number: [phi / cost for phi in each] for number, each in phis.items()}
        return TableChoice(precision / cost, scaled, value * cost, 0.0)

    cells = {} if cells is None else cells
    model.cells = model.cells | cells
    best, bound = judged(start, messages), 0.0
    for _ in range(_ROUNDS):
        known = model.size
        answer = model.solve(best.loss)
        bound = max(bound, least_loss(model.weights(answer.z), tables, table_of, *model.cell_weights(answer.z)))
        binding = model.binding(answer.z)
        found = judged(*model.read(answer.x))
        best = min(best, found, key=lambda choice: choice.loss)
        if best.loss <= bound * (1 + enough) or model.size == known:
            break
    cells |= binding
    return replace(best, bound=min(bound, best.loss))


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
    """The cone program: precisions relative to the start, their reciprocals, messages, maxima of tables and axes, loss.

    The first message of each column is 0: a constant can go from a column to its table's maximum.
    """

    def __init__(self, tables: Sequence[CostTable], table_of: IntArray, start: FloatArray) -> None:
        self.tables, self.table_of, self.start = tables, table_of, start
        self.joint = [number for number, table in enumerate(tables) if len(table.axes) > 1]
        self.axes = sorted({axis for table in tables for axis in table.axes})
        columns = (pair for table in tables for pair in zip(table.axes, table.columns, strict=True))
        self.sizes = {axis: len(column) for axis, column in columns}
        end = 2 * len(start)
        self.message: dict[int, list[int]] = {}
        for number in self.joint:
            self.message[number] = []
            for axis in tables[number].axes:
                self.message[number].append(end - 1)  # of the second value: the first has none
                end += self.sizes[axis] - 1
        self.table_maximum = {number: end + at for at, number in enumerate(self.joint)}
        end += len(self.joint)
        self.axis_maximum = {axis: end + at for at, axis in enumerate(self.axes)}
        self.loss = end + len(self.axes)
        self.cells = {number: np.empty((0, len(tables[number].axes)), dtype=np.int64) for number in self.joint}
        self.sums = np.empty((0, len(start)))

    @property
    def size(self) -> int:
        """How many rows there are for cells and sums."""
        return len(self.sums) + sum(map(len, self.cells.values()))

    def of_tables(self, precision: FloatArray) -> FloatArray:
        """The precision of each table, from that of each noise."""
        return np.bincount(self.table_of, precision, len(self.tables)).astype(np.float64)

    def add(self, precision: FloatArray, messages: dict[int, list[FloatArray]], sums: FloatArray) -> None:
        """Add sums, and the cells of each table where most is above the messages, for each value of each column."""
        self.sums = np.unique(np.concatenate([self.sums, sums]), axis=0)
        of_tables = self.of_tables(precision)
        for number in self.joint:
            rest = product_table(float(of_tables[number]), self.tables[number].columns) - sum_table(messages[number])
            self.cells[number] = np.unique(np.concatenate([self.cells[number], largest_cells(rest)]), axis=0)

    def solve(self, loss: float) -> Any:
        """Clarabel's answer to the program with the present rows, near a loss."""
        import clarabel

        count = len(self.start)
        rows, self.row_of = self._limits(loss)
        columns = (np.array([[-1.0], [sign], [0.0]]) for sign in (-1.0, 1.0))
        cone = [sparse.kron(sparse.eye_array(count), column, format="csr") for column in columns]
        others = sparse.csr_array((3 * count, self.loss + 1 - 2 * count))
        A = sparse.csc_matrix(sparse.vstack([rows, sparse.hstack([*cone, others])]))
        limits = np.zeros(rows.shape[0])
        limits[-1] = 1.0
        b = np.concatenate([limits, np.tile([0.0, 0.0, 2.0], count)])
        q = np.zeros(self.loss + 1)
        q[self.loss] = 1.0
        cones = [clarabel.NonnegativeConeT(rows.shape[0]), *[clarabel.SecondOrderConeT(3)] * count]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        answer = clarabel.DefaultSolver(sparse.csc_matrix((len(q),) * 2), q, A, b, cones, settings).solve()
        x = np.asarray(answer.x)
        if len(x) != len(q) or not (np.isfinite(x).all() and (x[:count] > 0).all()):
            raise SolverError(
                "the solver gave no usable noise for bases by set; plan with bases='optimal'", status="no"
            )
        return answer

    def _limits(self, loss: float) -> tuple[sparse.csr_array, dict[object, int]]:
        """The rows of what is at most 0, and of the cost, which is at most 1; and where those of each table start."""
        entries: list[Any] = []
        row_of: dict[object, int] = {}
        row, noises = 0, [np.flatnonzero(self.table_of == number) for number in range(len(self.tables))]

        def put(values: Any, rows: Any, columns: Any) -> None:
            entries.append([np.ravel(part) for part in np.broadcast_arrays(values, rows, columns)])

        for number in self.joint:
            table, cells = self.tables[number], self.cells[number]
            at = np.arange(row, row + len(cells))
            own = reduce(np.multiply, [column[cells[:, axis]] for axis, column in enumerate(table.columns)])
            put(own[:, None] * self.start[noises[number]], at[:, None], noises[number])
            put(-1.0, at, self.table_maximum[number])
            for axis, first in enumerate(self.message[number]):
                some = cells[:, axis] > 0
                put(-1.0, at[some], first + cells[some, axis])
            row_of[number, "table"] = row
            row += len(cells)
        for axis in self.axes:
            at = np.arange(row, row + self.sizes[axis])
            put(-1.0, at, self.axis_maximum[axis])
            for number, table in enumerate(self.tables):
                if table.axes == (axis,):
                    put(table.columns[0][:, None] * self.start[noises[number]], at[:, None], noises[number])
                for mine, first in zip(table.axes, self.message.get(number, []), strict=False):
                    if mine == axis:
                        put(1.0, at[1:], first + np.arange(1, len(at)))
            row_of[axis, "axis"] = row
            row += len(at)
        row_of["sums"], at = row, np.arange(row, row + len(self.sums))
        each, noise = np.nonzero(self.sums)
        put(self.sums[each, noise] / self.start[noise] / loss, at[each], len(self.start) + noise)
        put(-1.0, at, self.loss)
        row += len(at)
        constant = np.flatnonzero([not self.tables[number].axes for number in self.table_of.tolist()])
        put(self.start[constant], row, constant)
        put(1.0, row, np.array([*self.table_maximum.values(), *self.axis_maximum.values()], dtype=np.int64))
        values, rows, columns = (np.concatenate(part) for part in zip(*entries, strict=True))
        return sparse.csr_array((values, (rows, columns)), shape=(row + 1, self.loss + 1)), row_of

    def read(self, x: Any) -> tuple[FloatArray, dict[int, list[FloatArray]]]:
        x = np.asarray(x)
        messages = {}
        for number in self.joint:
            messages[number] = [
                np.concatenate([[0.0], x[first + 1 : first + self.sizes[axis]]])
                for axis, first in zip(self.tables[number].axes, self.message[number], strict=True)
            ]
        return x[: len(self.start)] * self.start, messages

    def weights(self, z: Any) -> FloatArray:
        """What multiplies each noise in the mean of the sums with the dual values of an answer, (n,)."""
        start = self.row_of["sums"]
        return normalized(np.asarray(z)[start : start + len(self.sums)]) @ self.sums

    def binding(self, z: Any) -> dict[int, IntArray]:
        """The cells (m, k) of each joint table that bind an answer: few; rows for the others only take time."""
        found = self.cell_weights(z)[0].items()
        return {number: cells[weights > _BINDING * weights.max()] for number, (cells, weights) in found}

    def cell_weights(self, z: Any) -> tuple[dict[int, tuple[IntArray, FloatArray]], dict[int, FloatArray]]:
        """The dual values of an answer: of cells of the joint tables, and of the values of each axis."""
        dual, cells = np.asarray(z), {}
        for number in self.joint:
            start = self.row_of[number, "table"]
            cells[number] = self.cells[number], dual[start : start + len(self.cells[number])]
        starts = {axis: self.row_of[axis, "axis"] for axis in self.axes}
        return cells, {axis: dual[start : start + self.sizes[axis]] for axis, start in starts.items()}


def largest_cells(table: NDArray[np.float64]) -> IntArray:
    """The largest cell for each value along each axis of a table of k axes, (cells, k)."""
    found = [np.zeros((1, 0), dtype=np.int64)] if not table.ndim else []
    for axis in range(table.ndim):
        turned = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
        shape, best = table.shape[:axis] + table.shape[axis + 1 :], turned.argmax(axis=1)
        others = np.column_stack(np.unravel_index(best, shape)) if shape else np.empty((len(best), 0))
        found.append(np.insert(others.astype(np.int64), axis, np.arange(table.shape[axis]), axis=1))
    return np.concatenate(found)


def least_loss(
    variance_weight: FloatArray,
    tables: Sequence[CostTable],
    table_of: IntArray,
    cells: Mapping[int, tuple[IntArray, FloatArray]],
    axes: Mapping[int, FloatArray],
) -> float:
    """What ``sum_j v_j / w_j`` is at least where (41) is 1, up to rounding, for any precisions w and messages.

    Weights of cells whose margins are the same in all tables make the cost no less than the sum over tables of
    precision times mean cost at unit precision: messages cancel.  So by the inequality of Cauchy and Schwarz loss times
    cost is at least the square of ``sum_j sqrt(v_j E_c[q_c])``, c the table of each noise j.

    The cells of tables of two columns or more are indices (m, k) and weights (m,), which are made to agree with the
    weights of the values of each axis (g,).

    Source: eqs. (41) and (42).
    """
    margins = {axis: normalized(weights) for axis, weights in axes.items()}
    root, roots = 0.0, np.bincount(table_of, np.sqrt(variance_weight), len(tables)).tolist()
    for number, table in enumerate(tables):
        targets = [margins[axis] for axis in table.axes]
        if len(targets) > 1:
            mean = _mean_cost(table, *cells[number], targets)
        else:
            mean = float(targets[0] @ table.columns[0]) if targets else 1.0
        root += roots[number] * math.sqrt(mean)
    return root * root


def weights_with_margins(
    cells: IntArray, weights: FloatArray, margins: Sequence[FloatArray]
) -> tuple[FloatArray, list[FloatArray]]:
    """Weights (m,) of some cells (m, k) made to agree with given margins (g,) of sum 1, up to rounding.

    Every axis is scaled down where it is above; what then is missing is the product of what each axis misses: of the
    arrays (g,) for each axis, divided by the k-1st power of their sum.

    Source: Altschuler, Niles-Weed and Rigollet, NeurIPS 2017, Algorithm 2, for any number of axes.
    """
    weights = np.maximum(weights, 0.0)
    for axis, target in enumerate(margins):
        sums = np.bincount(cells[:, axis], weights, len(target))
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = weights * np.where(sums > target, target / sums, 1.0)[cells[:, axis]]
    reached = [np.bincount(cells[:, axis], weights, len(target)) for axis, target in enumerate(margins)]
    return weights, [np.maximum(target - sums, 0.0) for target, sums in zip(margins, reached, strict=True)]


def _mean_cost(table: CostTable, cells: IntArray, weights: FloatArray, targets: list[FloatArray]) -> float:
    """The mean of a table's cost with weights near ``weights`` that have these margins."""
    weights, missing = weights_with_margins(cells, normalized(weights), targets)
    own = reduce(np.multiply, [column[cells[:, axis]] for axis, column in enumerate(table.columns)])
    left = min(float(part.sum()) for part in missing)
    mean = float(weights @ own)
    if left <= 0:
        return mean
    parts = [float(part @ column) / float(part.sum()) for part, column in zip(missing, table.columns, strict=True)]
    return mean + left * float(np.prod(parts))
