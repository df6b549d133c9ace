"""Controlled rounding: integers next to numbers, with given sums of rows and columns.

Source: eq. (57); Cox and Ernst, INFOR 20 (1982); Cox, J. Am. Stat. Assoc. 82 (1987).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import SolverError

#: Numbers this close to an integer, relative to the largest, are that integer.
_INTEGRAL = 1e-9


def floors(numbers: FloatArray) -> FloatArray:
    """The largest integers below numbers, where numbers that are integers but for rounding are these."""
    nearest = np.rint(numbers)
    is_integer = np.abs(numbers - nearest) <= _INTEGRAL * max(1.0, float(np.abs(numbers).max(initial=0)))
    return np.where(is_integer, nearest, np.floor(numbers))


def apportioned(numbers: FloatArray, total: float) -> FloatArray:
    """Integers of a sum within 1 of that of numbers (n,): those below, and one more for the largest remainders."""
    found = floors(numbers)
    by_remainder = np.argsort(-(numbers - found), kind="stable")
    more = int(total - found.sum())
    # At most one more each, unless numbers and total do not fit together: then round after round.
    found += more // len(found)
    found[by_remainder[: more % len(found)]] += 1
    return found


def controlled_rounding(numbers: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """The integers nearest to numbers (n, m) with given sums of rows and columns, which are integers of one total.

    Each is one of the two next to its number, if such integers exist; else as few as possible are further away, and
    none falls below 0 whose number does not.  Source: eq. (57): a transportation problem, whose corners are integers.
    """
    low = floors(numbers)
    rest = numbers - low
    where = np.nonzero(rest > _INTEGRAL * max(1.0, float(np.abs(numbers).max(initial=0))))
    missing = rows - low.sum(axis=1), columns - low.sum(axis=0)
    added = _least_cost(where, 1 - 2 * rest[where], np.zeros(len(where[0])), np.ones(len(where[0])), missing)
    if added is not None:
        low[where] += added
        return low
    return low + _wider(low, rest, missing)


def _wider(low: FloatArray, rest: FloatArray, missing: tuple[FloatArray, FloatArray]) -> FloatArray:
    """What to add where the integers next to the numbers do not suffice: one up, more up, or down, at rising costs."""
    every = np.nonzero(np.ones(low.shape, dtype=np.bool_))
    where = tuple(np.tile(index, 3) for index in every)
    left, count = rest[every], low.size
    costs = np.concatenate([1 - 2 * left, 3 - 2 * left, 1 + 2 * left])
    signs = np.repeat([1.0, 1.0, -1.0], count)
    below = np.where(low[every] >= 0, low[every], np.inf)
    most = np.concatenate([np.ones(count), np.full(count, np.inf), below])
    amounts = _least_cost(where, costs, np.zeros(3 * count), most, missing, signs)
    if amounts is None:
        raise SolverError("the sums of rows and columns of a table do not fit together", status="infeasible")
    moved: FloatArray = (signs * amounts).reshape(3, *low.shape).sum(axis=0)
    return moved


def _least_cost(
    where: tuple[NDArray[np.int64], ...],
    costs: FloatArray,
    least: FloatArray,
    most: FloatArray,
    sums: tuple[FloatArray, FloatArray],
    signs: FloatArray | None = None,
) -> FloatArray | None:
    """The integers of least cost, between bounds, whose sums by row and column are given; None where there are none."""
    if not len(costs):
        return costs if not any(part.any() for part in sums) else None
    from scipy.optimize import linprog

    solve: Any = linprog
    n, count = len(sums[0]), len(costs)
    entries = np.ones(count) if signs is None else signs
    index = np.concatenate([where[0], n + where[1]]), np.tile(np.arange(count), 2)
    A: Any = sparse.csr_array((np.tile(entries, 2), index), shape=(n + len(sums[1]), count))
    result = solve(costs, A_eq=A, b_eq=np.concatenate(sums), bounds=np.column_stack([least, most]), method="highs-ds")
    if result.status == 2:
        return None
    found: FloatArray = np.rint(result.x) if result.x is not None else costs
    if result.status != 0 or (A @ found != np.concatenate(sums)).any():
        raise SolverError(f"no integers were found for a table: {result.message}", status=str(result.status))
    return found
