"""Plans with bases by set as explicit matrices over the whole domain, from the definition."""

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

import dense
from residualplanner.bases import Basis
from residualplanner.plan import Plan
from residualplanner.workload import BasesBySet, Workload

Matrix = NDArray[np.float64]


def whitened(basis: Basis) -> Matrix:
    """What is measured of one attribute with independent noise: ``Sub Sub^T`` is noise of that sort, turned."""
    if basis.matrix is not None:
        return basis.matrix.astype(float)
    return linalg.null_space(np.ones((1, basis.size))).T


def rows_of(sizes: dense.Sizes, by_set: BasesBySet) -> list[Matrix]:
    """What each set of the closure measures with unit noise, over the whole domain."""
    return [
        dense.product(whitened(by_set.basis(A, i)) if i in A else np.ones((1, n)) for i, n in enumerate(sizes))
        for A in by_set.closure
    ]


def cost_of(rows: list[Matrix], precision: Matrix) -> float:
    """The privacy cost of all: the largest squared length of a column, over what the noise is."""
    return float(sum(w * (part * part).sum(axis=0) for w, part in zip(precision.tolist(), rows, strict=True)).max())


def query_covariances(workload: Workload, rows: list[Matrix], precision: Matrix) -> list[Matrix]:
    """The covariance of the best linear unbiased estimate of every query."""
    stacked = np.vstack([np.sqrt(w) * part for w, part in zip(precision.tolist(), rows, strict=True)])
    found = []
    for query in workload_queries(workload):
        wanted = dense.generalized_marginal(workload.domain.sizes, query)
        estimator, *_ = np.linalg.lstsq(stacked.T, wanted.T, rcond=1e-12)
        np.testing.assert_allclose(stacked.T @ estimator, wanted.T, atol=1e-7 * np.abs(wanted).max())
        found.append(estimator.T @ estimator)
    return found


def workload_queries(workload: Workload) -> list[dict[int, Matrix]]:
    """The basic matrices of every query, by attribute."""
    return [
        {i: workload.kinds[code].matrix(workload.domain.sizes[i]) for i, code in zip(places, codes, strict=True)}
        for block in workload.blocks
        for places, codes in zip(block.attributes.tolist(), block.kinds.tolist(), strict=True)
    ]


def loss_and_cost(plan: Plan) -> tuple[float, float]:
    """The weighted sum of all cell variances, and the privacy cost."""
    assert plan.bases_by_set is not None
    rows, precision = rows_of(plan.domain.sizes, plan.bases_by_set), 1 / plan.noise_array
    traces = [float(np.trace(found)) for found in query_covariances(plan.workload, rows, precision)]
    return float(plan.workload.weights @ traces), cost_of(rows, precision)
