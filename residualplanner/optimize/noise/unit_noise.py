"""The best noise at privacy cost 1 for losses that are proportional to it, so that one answer serves every budget.

Reads: a workload, the bases of its attributes, the importance of its queries, neighbors.  Gives: NoiseChoice.
Source: spec eqs. (14) to (17) and (37).
"""

import numpy as np
from scipy import sparse

from residualplanner._checks import FloatArray
from residualplanner.bases import Basis, ResidualNumbers
from residualplanner.errors import WorkloadError
from residualplanner.optimize.noise.cell_rows import CellRows, least_maximum_cell
from residualplanner.optimize.noise.choice import NoiseChoice
from residualplanner.optimize.noise.minimax_noise import MinimaxProblem, indicator, least_maximum_row
from residualplanner.optimize.noise.weighted_sum import minimize_weighted_variance
from residualplanner.privacy import Neighbors
from residualplanner.strategy import constant_strategy, has_equal_cells, variance_matrix, variance_weights
from residualplanner.workload import Workload, workload_orbits


def least_sum(
    workload: Workload, numbers: ResidualNumbers, importance: FloatArray, neighbors: Neighbors, *, gap: float
) -> NoiseChoice:
    """The least sum of average cell variances weighted by ``importance`` (q,), at privacy cost 1.

    It is a closed form, or where records are replaced a search like that of `least_maximum`, over one row.

    Raises:
        WorkloadError: some noise matters to no query of positive importance.

    Source: spec eq. (14); for "replace" eq. (37).
    """
    weights = variance_weights(workload, numbers, importance)
    require_limited(workload, weights)
    if neighbors.notion == "add-remove":
        cost = workload.closure.products(numbers.pcost) * neighbors.cost_factor
        return minimize_weighted_variance(cost, weights, pcost=1.0)
    orbits = workload_orbits(workload, numbers.code, importance)
    row, member = sparse.csr_array(weights[None, :]), np.arange(len(weights))
    if orbits is not None:
        row, member = row @ indicator(orbits.member), orbits.member
    problem = MinimaxProblem(workload.closure, numbers, neighbors, row, np.ones(1), member)
    return least_maximum_row(problem, gap)


def least_maximum(
    workload: Workload,
    bases: tuple[Basis, ...],
    numbers: ResidualNumbers,
    importance: FloatArray,
    neighbors: Neighbors,
    *,
    gap: float,
) -> NoiseChoice:
    """The least maximum of cell variances times the ``importance`` (q,) of their query, at privacy cost 1.

    Noise that is the same on each orbit of sets suffices, by convexity, where the workload is symmetric; one query of
    each orbit stands for all.

    Raises:
        WorkloadError: some noise matters to no query of positive importance.

    Source: spec eqs. (15) to (17) and (23); for "replace" eq. (37).
    """
    orbits = workload_orbits(workload, numbers.code, importance)
    closure = workload.closure
    # Ascending, as the queries that are taken come in the workload's order.
    chosen = np.arange(len(workload)) if orbits is None else np.sort(orbits.representative)
    queries = workload if orbits is None else workload.take(chosen)
    size = np.ones(len(chosen)) if orbits is None else orbits.query_size[orbits.query[chosen]].astype(np.float64)
    member = np.arange(len(closure)) if orbits is None else orbits.member
    matrix = variance_matrix(queries, closure, numbers)
    matrix.data *= np.repeat(importance[chosen], np.diff(matrix.indptr))
    if orbits is not None:
        matrix = matrix @ indicator(member)
    require_limited(workload, (matrix.T @ np.ones(len(chosen)))[member])
    average = MinimaxProblem(closure, numbers, neighbors, matrix, size, member)
    strategy = constant_strategy(closure, bases)
    if has_equal_cells(queries, strategy):
        return least_maximum_row(average, gap)
    return least_maximum_cell(average, CellRows.of(queries, strategy, importance[chosen]), gap)


def require_limited(workload: Workload, weights: FloatArray) -> None:
    """Refuse a loss that leaves some noise unlimited: queries of weight 0 would be answered with infinite noise."""
    unlimited = np.flatnonzero(~(weights > 0))
    if len(unlimited):
        names = tuple(workload.domain.names[position] for position in workload.closure[int(unlimited[0])])
        raise WorkloadError(
            f"every query that contains {names!r} has weight 0, so nothing limits its noise; "
            "give one of them a positive weight, or leave them out"
        )
