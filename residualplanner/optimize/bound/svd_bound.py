"""A lower bound on the sum of variances of any mechanism, from the singular values of the workload.

Reads: a workload, the importance of its queries.  Gives: a number.
Source: spec eq. (33).
"""

import math

import numpy as np

from residualplanner._checks import FloatArray
from residualplanner.optimize.bound.svd_blocks import Pattern, coordinates, distinct_rows, pattern_table
from residualplanner.optimize.bound.svd_factors import LARGEST, AttributeFactors, attribute_factors, root_trace
from residualplanner.workload import Workload


def sum_bound(workload: Workload, importance: FloatArray) -> float:
    """The bound for the sum of average cell variances times the ``importance`` (q,) of their queries.

    Raises:
        WorkloadError: the eigenvalues of too large matrices would be needed.

    Source: spec eq. (33).
    """
    matters = np.flatnonzero(importance > 0)
    workload, weights = workload.take(matters), (importance / workload.cells)[matters]
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
