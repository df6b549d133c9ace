"""The best noise of every set for any convex loss, and the least cost that reaches one, for either notion of neighbors.

Reads: a problem of noise, a search.  Gives: NoiseChoice.
Source: spec eqs. (18), (27) and (37).
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import sparse

from residualplanner._checks import FloatArray, frozen
from residualplanner.optimize.noise.choice import NoiseChoice
from residualplanner.optimize.noise.unit_noise import NoiseProblem
from residualplanner.strategy import unit_costs, variance_matrix

#: Up to this many attributes, all ways to differ are constraints of their own; above it a safe bound takes their place.
_CORNERS = 10
#: The noise of a total that costs nothing, relative to that of the first attribute.
_TIED = 2.0**-60


def convex_noise(problem: NoiseProblem, search: Callable[[FloatArray, sparse.csr_array], NoiseChoice]) -> NoiseChoice:
    """The noise of every set (m,) that a search finds: `minimize_convex_loss` or `minimize_privacy_cost`.

    Args:
        problem: the queries, and what is measured.
        search: from rows of costs (c, f) of the f sets whose noise is free to choose, one for each way to differ, and
            the variances (q, f) of the queries from their noise.

    Source: spec eqs. (18) and (37).
    """
    closure = problem.workload.closure
    costs = unit_costs(closure, problem.numbers, problem.neighbors, corner_limit=_CORNERS)
    rows, variance = costs.rows(), variance_matrix(problem.workload, closure, problem.numbers)
    noise, total = sparse.eye_array(len(closure), format="csr"), int(closure.offsets[1])
    if not (costs.largest > 0).all():
        tied = sparse.csr_array(([_TIED], ([0], [0])), shape=(total, len(closure) - total))
        noise = sparse.csr_array(sparse.vstack([tied, noise[total:, total:]]))
        rows, variance = rows[:, total:], sparse.csr_array(variance @ noise)
    found = search(rows, variance)
    noise_variance = np.asarray(noise @ found.noise_variance)
    return replace(found, noise_variance=frozen(noise_variance), status=found.status + costs.remark)
