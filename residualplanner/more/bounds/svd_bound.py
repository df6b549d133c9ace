"""A lower bound on the sum of variances of any mechanism, from the singular values of the workload.

Source: eqs. (33) and (61).

A block belongs to a set B of attributes present in their tails, and is a sum over the queries that contain B.  The term
of a query depends on its other attributes: those with no more than a corner give a number; the others, each with its
kind, are the query's pattern, and give a product of heads.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.workload.attribute_sets import row_numbers
from residualplanner.method.workload.closure import subset_products
from residualplanner.method.workload.workload import Workload
from residualplanner.more.bounds.svd_factors import LARGEST, AttributeFactors, attribute_factors, root_trace

#: Attributes, each with its kind, by their numbers.
Pattern = tuple[tuple[int, int], ...]
#: How many queries and subsets are worked on at a time.
CHUNK = 2**18


def sum_bound(workload: Workload, importance: FloatArray) -> float:
    """The bound for the sum of average cell variances times the ``importance`` (q,) of their queries.

    Raises:
        WorkloadError: the eigenvalues of too large matrices would be needed, or a threshold has an attribute on
            which there are queries for more than single values.

    Source: eqs. (33) and (61).
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
    size, indices = coordinates(rest, lengths, workload.domain.names, LARGEST)
    block = np.zeros((size, size))
    for pattern, index, entry in zip(rest, indices, entries.tolist(), strict=True):
        heads: FloatArray = np.ones((1, 1))
        for pair in pattern:
            heads = np.asarray(np.kron(heads, factors.heads[pair]))
        block[np.ix_(index, index)] += entry * heads
    return root_trace(block) * math.prod(factors.roots[pair] for pair in common)


def block_table(
    workload: Workload,
    weights: FloatArray,
    corner: FloatArray,
    has_tail: NDArray[np.bool_],
    columns: Iterable[NDArray[np.int64]],
    count: int,
) -> sparse.csr_array:
    """The coefficient of each of ``count`` columns in each block, (closure, columns).

    Args:
        workload: the queries.
        weights (q,): of the queries.
        corner (d, kinds): the factor of an attribute that is not in B.
        has_tail (d,): which attributes may be in B.
        columns: for each run of queries the column that each query counts for, (m, 1), or each with each B, (m, 2**k).
        count: how many columns there are.
    """
    positions, entries = [], []
    for (queries, run), column in zip(workload.runs(CHUNK), columns, strict=True):
        coefficients = subset_products(corner[run.attributes, run.kinds], has_tail[run.attributes])
        terms = coefficients * workload.joint_factors(run) ** 2 * weights[queries, None]
        kept = terms > 0
        row = workload.closure.subset_positions(run.attributes)[kept]
        positions.append(np.stack([row, np.broadcast_to(column, terms.shape)[kept]]))
        entries.append(terms[kept])
    where = tuple(np.concatenate(positions, axis=1))
    return sparse.csr_array(sparse.coo_array((np.concatenate(entries), where), shape=(len(workload.closure), count)))


def pattern_table(
    workload: Workload,
    weights: FloatArray,
    corner: FloatArray,
    has_tail: NDArray[np.bool_],
    has_head: NDArray[np.bool_],
) -> tuple[sparse.csr_array, list[Pattern]]:
    """The coefficient of each pattern in each block, (closure, patterns), and the patterns.

    Args:
        workload: the queries.
        weights (q,): of the queries.
        corner (d, kinds): as in `block_table`.
        has_tail (d,): as there.
        has_head (d,): which attributes, present or not in a query, have heads that are more than a corner.
    """
    kinds = len(workload.kinds)
    number: dict[tuple[int, ...], int] = {(): 0}
    columns = [
        _numbered(np.where(has_head[run.attributes], run.attributes * kinds + run.kinds, -1), number)
        for _, run in workload.runs(CHUNK)
    ]
    patterns = [tuple(divmod(code, kinds) for code in codes) for codes in number]
    return block_table(workload, weights, corner, has_tail, columns, len(patterns)), patterns


def _numbered(codes: NDArray[np.int64], number: dict[tuple[int, ...], int]) -> NDArray[np.int64]:
    """The pattern of what each subset leaves of each query's codes (m, k), of which -1 is none, (m, 2**k)."""
    count, order = codes.shape
    if not (codes >= 0).any():
        return np.zeros((count, 1 << order), dtype=np.int64)
    chosen = (np.arange(1 << order)[:, None] >> np.arange(order) & 1).astype(np.bool_)
    left = np.where(chosen, -1, codes[:, None, :]).reshape(-1, order)
    group = row_numbers(left + 1)
    first = np.unique(group, return_index=True)[1]
    keys = [tuple(code for code in row if code >= 0) for row in left[first].tolist()]
    known = np.array([number.setdefault(key, len(number)) for key in keys])
    return known[group].reshape(count, -1)


def distinct_rows(table: sparse.csr_array, factor: FloatArray) -> list[tuple[NDArray[np.int64], FloatArray, float]]:
    """The rows of ``table`` (b, columns), rows that are multiples of one another together.

    Returns:
        For each the columns of its entries, its entries with maximum 1, and the sum of ``factor`` (b,) times the roots
        of the multiples.
    """
    found: dict[bytes, tuple[NDArray[np.int64], FloatArray, float]] = {}
    for row in range(table.shape[0]):
        inside = slice(int(table.indptr[row]), int(table.indptr[row + 1]))
        columns, entries = table.indices[inside], table.data[inside]
        order = np.argsort(columns)
        columns, largest = columns[order], float(entries.max())
        entries = entries[order] / largest
        key = columns.tobytes() + np.round(entries, 12).tobytes()
        before = found[key][2] if key in found else 0.0
        found[key] = (columns.astype(np.int64), entries, before + float(factor[row]) * math.sqrt(largest))
    return list(found.values())


def coordinates(
    patterns: Sequence[Pattern], lengths: Mapping[int, int], names: Sequence[str], limit: int
) -> tuple[int, list[NDArray[np.int64]]]:
    """Coordinates for a block: one for each subset of a pattern's attributes and their values above the corner.

    Args:
        patterns: of the queries in the block.
        lengths: how large each attribute's head is.
        names: of all attributes, for the message.
        limit: how many coordinates there may be.

    Returns:
        How many coordinates there are, and for each pattern those of the entries of its product of heads.

    Raises:
        WorkloadError: there are more.

    Example:
        >>> total, indices = coordinates([((0, 0),), ((0, 0), (1, 0))], {0: 2, 1: 3}, ["a", "b"], 100)
        >>> total, [index.tolist() for index in indices]
        (6, [[0, 1], [0, 2, 3, 1, 4, 5]])
    """
    starts: dict[tuple[int, ...], int] = {}
    total = 0
    for pattern in patterns:
        for subset, shape, _ in _subsets(pattern, lengths):
            if subset not in starts:
                starts[subset] = total
                total += math.prod(shape)
    if total > limit:
        inside = sorted({attribute for pattern in patterns for attribute, _ in pattern})
        words = ", ".join(repr(names[attribute]) for attribute in inside)
        raise WorkloadError(
            f"the bound needs the eigenvalues of a matrix of {total:,} rows for the queries of {words} together; it "
            f"is computed up to {limit:,}: for marginals, and for products of one query, of any size; for other kinds "
            "use coarser values, or leave queries out"
        )
    indices = []
    for pattern in patterns:
        index = np.empty([lengths[attribute] for attribute, _ in pattern], dtype=np.int64)
        for subset, shape, part in _subsets(pattern, lengths):
            index[part] = starts[subset] + np.arange(math.prod(shape)).reshape(shape)
        indices.append(index.ravel())
    return total, indices


def _subsets(
    pattern: Pattern, lengths: Mapping[int, int]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[slice | int, ...]]]:
    """Every subset of a pattern's attributes, how many values each has above its corner, and which."""
    for present in product((False, True), repeat=len(pattern)):
        subset = tuple(attribute for (attribute, _), inside in zip(pattern, present, strict=True) if inside)
        shape = tuple(lengths[attribute] - 1 for attribute in subset)
        yield subset, shape, tuple(slice(1, None) if inside else 0 for inside in present)
