"""The least weighted sum of variances where the cost is a sum of maxima over tables, with a certificate.

Reads: numbers only.  Gives: TableChoice.
Source: spec eq. (41).

The problem is a cone program.  Its rows for the cells of tables are added as they are violated, since few of them hold
with equality.  The solver is only trusted to be close: the cost is computed again from all cells, and the bound is
computed here, from the solver's dual values, made weights that are exactly what the proof needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from residualplanner._checks import FloatArray
from residualplanner.optimize.noise.table_bound import Table, least_loss
from residualplanner.optimize.noise.table_program import TableProgram, rest_table

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
    variance_weight: FloatArray, tables: Sequence[Table], start: FloatArray, messages: dict[int, list[FloatArray]]
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

    Source: spec eq. (41).
    """
    model = TableProgram(variance_weight, tables, start)
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


def cost_of(tables: Sequence[Table], precision: FloatArray, messages: dict[int, list[FloatArray]]) -> float:
    """The right side of (41), in floating point."""
    total, single = 0.0, dict[int, Any]()
    for number, table in enumerate(tables):
        w = float(precision[number])
        if not table.axes:
            total += w
        elif len(table.axes) == 1:
            single[table.axes[0]] = single.get(table.axes[0], 0.0) + w * table.columns[0]
        else:
            total += float(rest_table(table, w, messages[number]).max())
            for axis, phi in zip(table.axes, messages[number], strict=True):
                single[axis] = single.get(axis, 0.0) + phi
    return total + sum(float(column.max()) for column in single.values())
