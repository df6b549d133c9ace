"""How the variances of queries follow from the noise of the base mechanisms: linear maps, as arrays.

Source: eqs. (11), (14) and (60); paper Theorem 4.4.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse

from residualplanner.ground.checks import FloatArray, IntArray
from residualplanner.method.bases.numbers import ResidualNumbers
from residualplanner.method.workload.closure import Closure, subset_products
from residualplanner.method.workload.workload import Workload

#: How many (query, subset) pairs are worked on at a time.
CHUNK = 2**19

#: Some queries, their sets, and the coefficient of the noise of each in the variance of an average cell, (m, s) both.
Piece = tuple[slice | IntArray, IntArray, FloatArray]


def variance_pieces(
    workload: Workload, closure: Closure, numbers: ResidualNumbers
) -> Iterator[tuple[slice, IntArray, FloatArray]]:
    """For runs of queries: which they are, the closure sets within each and their coefficients, both (m, 2**k).

    Source: eqs. (11) and (60): the variance of an average cell of Q is ``sum_A m_{Q,A} sigma_A**2``.
    """
    for queries, run in workload.runs(CHUNK):
        absent, present = (factors[run.attributes, run.kinds] for factors in (numbers.absent, numbers.present))
        coefficients = subset_products(absent, present) * workload.joint_factors(run) ** 2
        yield queries, closure.subset_positions(run.attributes), coefficients


def variance_matrix(workload: Workload, closure: Closure, numbers: ResidualNumbers) -> sparse.csr_array:
    """The matrix m of docs/mathematics.md section 3, sparse: a row per query (q,), a column per closure set (m,)."""
    columns, entries, counts = [], [], []
    for _, positions, coefficients in variance_pieces(workload, closure, numbers):
        columns.append(positions.astype(np.int32).ravel())
        entries.append(coefficients.ravel())
        counts.append(np.full(len(positions), positions.shape[1]))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    shape = (len(workload), len(closure))
    return sparse.csr_array((np.concatenate(entries), np.concatenate(columns), starts), shape=shape)


def variance_weights(workload: Workload, numbers: ResidualNumbers, importance: FloatArray) -> FloatArray:
    """The weight v_A of each closure set's noise (m,) in a sum of variances weighted by ``importance`` (q,).

    Source: eq. (14).
    """
    return noise_weights(variance_pieces(workload, workload.closure, numbers), importance, len(workload.closure))


def noise_weights(pieces: Iterable[Piece], importance: FloatArray, count: int) -> FloatArray:
    """The weight of the noise of each of ``count`` sets in a sum of variances weighted by ``importance`` (q,), (m,).

    Source: eq. (14).
    """
    weights = np.zeros(count)
    for queries, positions, coefficients in pieces:
        weighted = coefficients * importance[queries, None]
        weights += np.bincount(positions.ravel(), weights=weighted.ravel(), minlength=count)
    return weights
