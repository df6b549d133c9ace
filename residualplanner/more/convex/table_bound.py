"""What a sum of variances is at least, where the cost is a sum of maxima over tables: a proof from weights of cells.

Source: eqs. (41) and (42).
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, IntArray


class CostTable(NamedTuple):
    """The cost of a class of mechanisms at unit precision: a product of columns.

    Attributes:
        axes: the axis of each column; one axis may have several.
        columns: lengths, > 0, an array (g,) for each.
    """

    axes: tuple[int, ...]
    columns: tuple[FloatArray, ...]


def product_table(factor: float, columns: Sequence[FloatArray]) -> NDArray[np.float64]:
    """The product of one entry from each column, times a factor: a table with an axis for each."""
    return reduce(lambda table, column: table[..., None] * column, columns, np.array(factor))


def sum_table(columns: Sequence[FloatArray]) -> NDArray[np.float64]:
    """The sum of one entry from each column: a table with an axis for each."""
    return reduce(lambda table, column: table[..., None] + column, columns, np.array(0.0))


def least_loss(
    variance_weight: FloatArray,
    tables: Sequence[CostTable],
    cells: Mapping[int, tuple[IntArray, FloatArray]],
    axes: Mapping[int, FloatArray],
) -> float:
    """What ``sum_c v_c / w_c`` is at least where (41) is 1, up to rounding, for any precisions w and messages.

    Weights of cells whose margins are the same in all tables make the cost no less than the sum over tables of
    precision times mean cost at unit precision: messages cancel.  So by the inequality of Cauchy and Schwarz loss times
    cost is at least the square of ``sum_c sqrt(v_c E_c[q_c])``.

    Args:
        variance_weight (c,): v_c.
        tables: q_c.
        cells: for tables of two columns or more indices of cells, (m, k), and weights, (m,), which are made to agree.
        axes: for each axis weights of its values, (g,).

    Source: eqs. (41) and (42).

    Example:
        >>> tables = [CostTable((0,), (np.array([1.0, 4.0]),)), CostTable((), ())]
        >>> least_loss(np.array([1.0, 4.0]), tables, {}, {0: np.array([0.0, 1.0])})  # (sqrt(1 * 4) + sqrt(4 * 1))**2
        16.0
    """
    margins = {axis: normalized(weights) for axis, weights in axes.items()}
    root = 0.0
    for number, table in enumerate(tables):
        targets = [margins[axis] for axis in table.axes]
        if len(targets) > 1:
            mean = _mean_cost(table, *cells[number], targets)
        else:
            mean = float(targets[0] @ table.columns[0]) if targets else 1.0
        root += float(np.sqrt(variance_weight[number] * mean))
    return root * root


def weights_with_margins(
    cells: IntArray, weights: FloatArray, margins: Sequence[FloatArray]
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


def normalized(weights: FloatArray) -> FloatArray:
    """The weights (m,) with sum 1, those below 0 left out; equal ones where nothing is left."""
    kept = np.maximum(weights, 0.0)
    total = float(kept.sum())
    return kept / total if 0 < total < np.inf else np.full(len(kept), 1 / max(len(kept), 1))
