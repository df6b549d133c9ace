"""A lower bound on the loss of any mechanism, from the singular values of the workload.

Reads: a workload, a loss.  Gives: a number.
Source: spec eq. (33) and section 10, warning 1.
"""

import math

import numpy as np

from residualplanner._checks import FloatArray
from residualplanner.errors import WorkloadError
from residualplanner.losses import Loss, MaxVariance, SumOfVariances, importance_of, read_loss
from residualplanner.optimize.bound.svd_blocks import Pattern, coordinates, distinct_rows, pattern_table
from residualplanner.optimize.bound.svd_factors import LARGEST, AttributeFactors, attribute_factors, root_trace
from residualplanner.optimize.bound.svd_maximum import greatest_bound
from residualplanner.workload import Workload, require_workload


def svd_bound(workload: Workload, *, loss: Loss = "sum") -> float:
    """No unbiased linear mechanism with Gaussian noise and privacy cost 1 has a loss below this.

    For the sum of all cell variances it is ``(sum of the singular values of W)**2 / N``, where W has a row for each
    cell of each query, times the root of its weight, and a column for each of the N cells of the domain.  The loss at
    privacy cost c is at least the bound over c.  Marginals reach it; what else is asked together may stay above it.

    For the largest cell variance it is the largest such bound of all sums in which cells have weights that add up to 1.

    Args:
        workload: the queries.
        loss: "sum", "max", `SumOfVariances` or `MaxVariance`, as for `select`.

    Returns:
        The bound, in counts squared; for "max" usually within 1e-5 of the best such bound.

    Raises:
        WorkloadError: it is another loss, its weights do not fit, or the eigenvalues of a matrix of more than 6,000
            rows would be needed (2,000 for "max", or a weight for each of more than 500,000 cells).

    Guarantees: up to rounding, a lower bound; of "max" so even where the search for weights stopped early.
    Cost: for marginals, and for queries that have all but marginals in common, as much as `select`.  Else eigenvalues
        of matrices whose rows are, for each set of attributes that are asked together in other kinds than identity,
        the product of their sizes less one; for "max" of some tens of them.
    Source: spec eq. (33).

    Example:
        >>> from residualplanner.domain import Domain
        >>> from residualplanner.queries import Prefix
        >>> from residualplanner.workload import marginals
        >>> cps = Domain({"income": 50, "age": 100, "race": 7, "marital": 4, "sex": 2})
        >>> pairs = marginals(cps, order=2)
        >>> round(float(svd_bound(pairs) / pairs.cells.sum()) ** 0.5, 3)  # root mean square error, spec section 9
        2.035
        >>> round(svd_bound(marginals(cps, order=1, kinds={"age": Prefix(), "income": Prefix()}), loss="max"), 3)
        9.603
    """
    require_workload("svd_bound", workload)
    asked = read_loss(loss)
    if not isinstance(asked, SumOfVariances | MaxVariance):
        raise WorkloadError("svd_bound is for the losses 'sum', 'max', SumOfVariances(...) and MaxVariance(...)")
    importance = importance_of(workload, asked.weights)
    matters = np.flatnonzero(importance > 0)
    if isinstance(asked, MaxVariance):
        return greatest_bound(workload.take(matters), importance[matters])
    return _bound_of_sum(workload.take(matters), (importance / workload.cells)[matters])


def _bound_of_sum(workload: Workload, weights: FloatArray) -> float:
    """The bound for the sum of all cell variances times the ``weights`` (q,) > 0 of their queries.

    Source: spec eq. (33).
    """
    factors = attribute_factors(workload)
    has_head = np.zeros(len(workload.domain), dtype=np.bool_)
    has_head[[attribute for attribute, _ in factors.heads]] = True
    table, patterns = pattern_table(workload, weights, factors.corner, factors.tail > 0, has_head)
    count = workload.closure.products(factors.tail)
    terms = np.diff(table.indptr)
    alone = terms == 1
    roots = np.array([math.prod(factors.roots[pair] for pair in pattern) for pattern in patterns])
    total = float((count[alone] * np.sqrt(table[alone].data) * roots[table[alone].indices]).sum())
    for columns, entries, scale in distinct_rows(table[terms > 1], count[terms > 1]):
        total += scale * _root_trace(workload, factors, [patterns[column] for column in columns], entries)
    return total * total


def _root_trace(workload: Workload, factors: AttributeFactors, patterns: list[Pattern], entries: FloatArray) -> float:
    """The sum of the roots of the eigenvalues of a block: the patterns' products of heads times ``entries``, added."""
    common = set.intersection(*map(set, patterns))
    rest = [tuple(pair for pair in pattern if pair not in common) for pattern in patterns]
    lengths = {attribute: len(head) for (attribute, _), head in factors.heads.items()}
    size, places = coordinates(rest, lengths, workload.domain.names, LARGEST)
    block = np.zeros((size, size))
    for pattern, place, entry in zip(rest, places, entries.tolist(), strict=True):
        heads: FloatArray = np.ones((1, 1))
        for pair in pattern:
            heads = np.asarray(np.kron(heads, factors.heads[pair]))
        block[np.ix_(place, place)] += entry * heads
    return root_trace(block) * math.prod(factors.roots[pair] for pair in common)
