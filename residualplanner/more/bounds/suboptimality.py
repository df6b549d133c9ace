"""How far a plan can be from the best of all mechanisms: its errors over those that none can have smaller.

On domains of a few hundred cells explicit matrices make the bound as sharp as the time allows.  Let l be weights of the
rows w of all queries (1 for a sum, of sum 1 for the largest variance) and p weights of the cells (of the pairs of
cells, where records are replaced), of sum 1.  With V the sum of ``l w w'`` and L that of ``p d d'``, over unit vectors
d or differences of two, no loss times cost is below ``tr((L^1/2 V L^1/2)^1/2)**2``.  The mechanism
``K = L^-1/2 (L^1/2 V L^1/2)^1/2 L^-1/2`` tells which rows have large variances and which cells cost much: these gain
weight, as for given bases.

Source: eqs. (33), (126), (127) and (128), for any weights.
"""

import itertools
import math

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.process import one_thread
from residualplanner.method.bases.basis import Basis
from residualplanner.method.losses import Loss
from residualplanner.method.privacy import Neighbors
from residualplanner.method.workload.workload import Workload
from residualplanner.more.bounds.svd_bound import greatest_over_choices, sum_bound
from residualplanner.more.bounds.svd_maximum import greatest_bound
from residualplanner.more.replacement.one_way import one_way_problems

#: The most cells of a domain, the most entries of the matrix of all rows, and seconds a step takes for a cubed cell and
#: for an entry times a cell, on one core of one machine.
_CELLS, _ENTRIES, _CUBE, _ENTRY = 400, 2**21, 4e-9, 4e-10
#: The most steps; the exponent of the update and what it is multiplied by where the bound falls; the least weight.
_STEPS, _POWER, _SLOWER, _LEAST_POWER, _LEAST = 600, 1.8, 0.7, 0.3, 1e-13
#: It ends where so many steps bring less than this fraction.
_PATIENCE, _PROGRESS = 20, 1e-5
#: Eigenvalues below this fraction of the largest may be rounding, and count as 0; what rounding of the others may add
#: to the bound is less than this fraction of it.
_ROUNDING, _ROUNDED_UP = 1e-13, 1e-6


def least_variance(
    workload: Workload, loss: Loss, bases: tuple[Basis, ...], neighbors: Neighbors, *, seconds: float
) -> float:
    """No unbiased linear mechanism with Gaussian noise of cost 1 has a smaller largest or summed variance.

    ``bases`` (d,) are those that suit the workload, whose weights of values make the bound of a sum a good one.

    Raises:
        WorkloadError: none is known, and why in a few words; or it would take more than so many seconds.
    """
    importance = loss.importance(workload)
    values = {i: basis.value_weights for i, basis in enumerate(bases) if basis.value_weights is not None}
    bound, replaced, parts = greatest_bound if loss.is_of_maximum else sum_bound, neighbors.has_public_total, []
    if replaced:
        problems, rest = one_way_problems(workload, importance, of_maximum=loss.is_of_maximum)
        parts = [problem.least() for problem in problems.values()]
        # The number of records is free.
        rest = rest[(workload.orders[rest] > 0) & (importance[rest] > 0)]
        workload, importance = (workload.take(rest), importance[rest]) if len(rest) else (workload, importance[:0])
    if len(importance):
        parts.append(greatest_over_choices(bound, workload, importance, values, replaced=replaced, seconds=seconds))
    # Costs of the parts add up: the best division gives the sum of the largest variances, or of the roots of sums.
    least = sum(parts) if loss.is_of_maximum else sum(map(math.sqrt, parts)) ** 2
    return least * neighbors.cost_factor_up


def sharp_least_variance(
    workload: Workload, loss: Loss, neighbors: Neighbors, *, enough: float, seconds: float
) -> float:
    """The same from explicit matrices.

    It is 0 where the domain is too large or has one cell, a query is of a joint kind, or there is no time for a step.
    The search for weights ends at a bound that is large ``enough``.  Eigenvalues that may be rounding never raise it.
    """
    used = np.flatnonzero(workload.uses.any(axis=1)).tolist()
    sizes = [workload.domain.sizes[i] for i in used]
    cells, rows = math.prod(sizes), float(workload.cells.sum())
    if not 1 < cells <= _CELLS or cells * rows > _ENTRIES or any(kind.at_least for kind in workload.kinds):
        return 0.0
    steps = int(min(_STEPS, seconds / (_CUBE * cells**3 + _ENTRY * rows * cells**2)))
    importance, of_maximum = loss.importance(workload), loss.is_of_maximum
    weights = np.sqrt(importance if of_maximum else importance / workload.cells).tolist()
    matrices, numbers = [], itertools.count()
    for block in workload.blocks:
        for members, codes in zip(block.attributes.tolist(), block.kinds.tolist(), strict=True):
            kinds = {i: workload.kinds[code] for i, code in zip(members, codes, strict=True)}
            matrix = np.full((1, 1), weights[next(numbers)])
            for i, n in zip(used, sizes, strict=True):
                matrix = np.asarray(np.kron(matrix, kinds[i].matrix(n) if i in kinds else np.ones((1, n))))
            matrices.append(matrix)
    rows_of_all, replaced, factor = np.vstack(matrices), neighbors.has_public_total, neighbors.cost_factor_up
    with one_thread():
        return factor * _highest(rows_of_all, steps, of_maximum=of_maximum, replaced=replaced, enough=enough / factor)


def _highest(rows: FloatArray, steps: int, *, of_maximum: bool, replaced: bool, enough: float) -> float:
    """The highest bound for rows (q, n) that so many steps find."""
    size = rows.shape[1]
    # Where records are replaced, their number is public: what depends on it is free.
    space = np.linalg.qr(np.eye(size) - 1 / size)[0][:, : size - 1] if replaced else np.eye(size)
    inside = rows @ space
    inside[np.abs(inside) < _ROUNDING * np.abs(rows).max()] = 0.0
    of_rows = np.full(len(rows), 1 / len(rows)) if of_maximum else np.ones(len(rows))
    weights = (1 - np.eye(size)) / (size * size - size) if replaced else np.full(size, 1 / size)
    kept, bounds, power = (of_rows, weights), [0.0], _POWER
    for _ in range(steps):
        L = 2 * (np.diag(weights.sum(axis=1)) - weights) if replaced else np.diag(weights)
        try:
            half, back = _roots(space.T @ L @ space)
            between, inverse = _roots(half @ (inside.T * of_rows @ inside) @ half)
        except np.linalg.LinAlgError:  # LAPACK gives up on few matrices of a million; the bound so far holds
            break
        trace = float(np.trace(between))
        if not trace > 0:  # only the number of records is published
            break
        if trace * trace >= bounds[-1]:
            K = space @ back @ between @ back @ space.T
            costs = np.diag(K)[:, None] + np.diag(K) - 2 * K if replaced else np.diag(K)
            factor = inside @ half
            variances = np.maximum(np.einsum("ij,ij->i", factor @ inverse, factor), 0.0)
            kept, moves = (of_rows, weights), (variances / trace, costs / trace)
        else:
            power = max(power * _SLOWER, _LEAST_POWER)
        bounds.append(max(bounds[-1], trace * trace))
        before = bounds[max(0, len(bounds) - 1 - _PATIENCE)]
        if bounds[-1] >= enough or bounds[-1] - before < _PROGRESS * bounds[-1]:
            break
        of_rows, weights = kept
        weights = weights * np.maximum(moves[1], 1e-9) ** power + _LEAST * (weights > 0)
        weights = weights / weights.sum()
        if of_maximum:
            of_rows = np.maximum(of_rows * np.maximum(moves[0], 1e-9) ** power, _LEAST)
            of_rows = of_rows / of_rows.sum()
    return bounds[-1] * (1 - _ROUNDED_UP)


def _roots(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The root of a matrix, and its inverse on the space where that is not 0."""
    values, vectors = np.linalg.eigh(matrix)
    roots = np.sqrt(np.where(values > values[-1] * _ROUNDING, values, 0.0))
    inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)
    return (vectors * roots) @ vectors.T, (vectors * inverse) @ vectors.T
