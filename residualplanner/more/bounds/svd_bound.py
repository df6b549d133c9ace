"""A lower bound on the sum of variances of any mechanism, from the singular values of the workload.

Source: eqs. (33), (61), (127) and (138).

With the roots of the values' weights for the first coordinate, ``1/sqrt(n)`` where they are equal, a kind's Gram matrix
times these roots on both sides is ``[[a, b^T], [b, C]]``, and that of an attribute that is summed out has a single 1 in
its corner.  In the eigenvectors of C only one direction for each distinct eigenvalue can be tied to the corner by b:
these make up the head.  The others, the tail, are on their own: wherever one of them is present so is the attribute,
and its eigenvalue is a factor of everything.

A block belongs to a set B of attributes present in their tails, and is a sum over the queries that contain B.  The term
of a query depends on its other attributes: those with no more than a corner give a number; the others, each with its
kind, are the query's pattern, and give a product of heads.
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.attribute_sets import row_numbers
from residualplanner.method.workload.closure import subset_products
from residualplanner.method.workload.workload import Workload
from residualplanner.more.bounds.blocks import CUBE, TERM, Block, renamed_once, require_quick, root_trace
from residualplanner.more.searches.eigen import eigen, reflected_form
from residualplanner.more.searches.merged_grams import exchangeable_groups

#: A bound from queries, their importance (q,), weights of values, a law of pairs of records, and so many seconds; it
#: raises WorkloadError where it would take more.
BoundFor = Callable[[Workload, FloatArray, Mapping[int, FloatArray], float | None, float], float]
#: How many queries and subsets are worked on at a time.
CHUNK = 2**18
#: How many coordinates each head has at most: all, or as few as the time is enough for.
_LENGTHS = (sys.maxsize, 16, 12, 9, 7, 5, 4, 3, 2)
#: Eigenvalues that differ by less than this fraction of the largest are equal; ties weaker than the second are none.
_SAME, _NO_TIE = 1e-13, 1e-14


@dataclass(frozen=True, eq=False, slots=True)
class _AttributeFactors:
    heads: Mapping[tuple[int, int], FloatArray]  # (r, r), by attribute and kind, where it is larger than its corner
    roots: Mapping[tuple[int, int], float]  # the sum of the roots of the eigenvalues of each of them
    corner: FloatArray  # (d, kinds): the corner a, where that is all of the head; else 1
    tail: FloatArray  # (d,): the sum of the roots of the eigenvalues in the tail; 0 where there is none


def greatest_over_choices(
    bound: BoundFor,
    workload: Workload,
    importance: FloatArray,
    values: Mapping[int, FloatArray],
    *,
    replaced: bool,
    seconds: float,
) -> float:
    """The greatest of the bounds for some weights of values, for the queries that have an importance, at cost 1.

    Weights of the values of some attributes (n,) that suit their bases, with sum 1, are for those that have one kind of
    query; for others it is the larger of the bounds with these and with equal weights.  Where records are ``replaced``
    it is the largest for three laws of pairs of records: independent ones; such that differ in all attributes of single
    values; and half of each.

    Raises:
        WorkloadError: it would take more than so many seconds, or a threshold has an attribute on which there are
            queries for more than single values.
    """
    matters = np.flatnonzero(importance > 0)
    workload, importance = workload.take(matters), importance[matters]
    one_kind = {i: values[i] for i in np.flatnonzero(workload.uses.sum(axis=1) == 1).tolist() if i in values}
    # Equal weights are seldom better, and have a small part of the time where there are others.
    choices = [(values, 0.4), (one_kind, 0.4), ({}, 0.2)]
    choices = [each for number, each in enumerate(choices) if each[0] not in [chosen for chosen, _ in choices[:number]]]
    laws = (1.0, 0.5, 0.0) if replaced else (None,)
    each = seconds / sum(part for _, part in choices) / len(laws)
    found, refused = 0.0, WorkloadError("no weights were tried")
    for (chosen, part), law in product(choices, laws):
        try:
            found = max(found, bound(workload, importance, chosen, law, each * part))
        except WorkloadError as error:  # other weights may be quicker
            refused = error
    if not found:
        raise refused
    return (2 if replaced else 1) * found


def corner_factors(workload: Workload, law: float | None) -> FloatArray:
    """What the corner of the block of each set counts, (m,): 1 where one record is added or removed.

    Where one is replaced pairs of records differ in all attributes of single values with the probability ``law``, and
    are independent otherwise.  Source: eq. (127).
    """
    if law is None:
        return np.ones(len(workload.closure))
    sizes, other = np.array(workload.domain.sizes), [not kind.is_identity for kind in workload.kinds]
    is_counted = (sizes > 1) & ~workload.uses[:, other].any(axis=1)
    apart = workload.closure.products(np.where(is_counted, -1 / np.maximum(sizes - 1, 1), 0.0))
    corners: FloatArray = np.sqrt(np.maximum(1 - law * apart, 0.0))
    corners[0] = 0.0  # both data sets have as many records
    return corners


def sum_bound(
    workload: Workload, importance: FloatArray, values: Mapping[int, FloatArray], law: float | None, seconds: float
) -> float:
    """The bound for the sum of average cell variances times the ``importance`` (q,) of their queries.

    Attributes without weights of values (n,), with sum 1, have equal weights.
    """
    weights = importance / workload.cells
    require_quick(_seconds_for_factors(workload, values), seconds)
    has_one_kind, longest = workload.uses.sum(axis=1) == 1, math.inf
    for most in _LENGTHS[: len(_LENGTHS) if law is None else 1]:
        if most >= longest:  # no head would become shorter
            continue
        factors = _attribute_factors(workload, values, most, whole=law is not None)
        longest = max((len(head) for (i, _), head in factors.heads.items() if has_one_kind[i]), default=0)
        total, blocks = _blocks(workload, weights, factors, law, seconds)
        needed = sum(block.seconds for block in blocks)
        if needed <= seconds:
            break
    require_quick(needed, seconds)
    total += sum(block.scale * block.root_trace() for block in blocks)
    return total * total


def _blocks(
    workload: Workload, weights: FloatArray, factors: _AttributeFactors, law: float | None, seconds: float
) -> tuple[float, list[Block]]:
    """The sum of the traces of the blocks that are products, and the others."""
    has_head = np.zeros(len(workload.domain), dtype=np.bool_)
    has_head[[attribute for attribute, _ in factors.heads]] = True
    kinds = len(workload.kinds)
    number: dict[tuple[int, ...], int] = {(): 0}
    columns_of = [
        _numbered(np.where(has_head[run.attributes], run.attributes * kinds + run.kinds, -1), number)
        for _, run in workload.runs(CHUNK)
    ]
    patterns = [tuple(divmod(code, kinds) for code in codes) for codes in number]
    table = block_table(workload, weights, factors.corner, factors.tail > 0, columns_of, len(patterns))
    count, corner = workload.closure.products(factors.tail), corner_factors(workload, law)
    terms = np.diff(table.indptr)
    alone = terms == 1
    if law is not None:  # where the corner counts otherwise, a product has no longer the product of the traces
        alone[alone] = (table[alone].indices == 0) | (corner[alone] == 1)
    roots = np.array([math.prod(factors.roots[pair] for pair in pattern) for pattern in patterns])
    total = float((count[alone] * corner[alone] * np.sqrt(table[alone].data) * roots[table[alone].indices]).sum())
    rest = (terms > 0) & ~alone
    require_quick(TERM * float(terms[rest].sum()), seconds)
    rows = distinct_rows(table[rest], count[rest], corner[rest])
    named = (([patterns[column] for column in row[0]], *row[1:]) for row in rows)
    blocks = [Block.of(factors.heads, factors.roots, *row) for row in renamed_once(named, factors.heads)]
    return total, blocks


def _seconds_for_factors(workload: Workload, values: Mapping[int, FloatArray]) -> float:
    """How long the eigenvalues of single attributes take, about."""
    other, sizes = [not kind.is_identity for kind in workload.kinds], workload.domain.sizes
    uneven = np.flatnonzero(workload.uses[:, other].any(axis=1)).tolist()
    different = {(sizes[i], workload.uses[i].tobytes(), id(values.get(i))): i for i in uneven}
    seconds = 0.0
    for (size, *_), i in different.items():
        group = _groups(size, [workload.kinds[code] for code in np.flatnonzero(workload.uses[i])], values.get(i))
        seconds += 10 * CUBE * float(group.max() + 1) ** 3
    return seconds


def _attribute_factors(
    workload: Workload, values: Mapping[int, FloatArray], most: int, *, whole: bool
) -> _AttributeFactors:
    """What every attribute of a workload contributes, with the weights of ``values``; heads have ``most`` rows at most.

    Source: eq. (33).

    Where all queries have one kind of an attribute, its singular values are factors of all others: all of it is tail,
    unless the corner is needed, ``whole``.  An attribute with several kinds has no tail.

    Raises WorkloadError: an attribute has joint and other kinds.
    """
    require_exchangeable_values(workload)
    sizes = workload.domain.sizes
    corner, tail = np.ones(workload.uses.shape), np.zeros(len(sizes))
    heads: dict[tuple[int, int], FloatArray] = {}
    roots: dict[tuple[int, int], float] = {}
    known: dict[tuple[int, tuple[int, ...], bool, int], tuple[list[FloatArray], list[float], float]] = {}
    times = np.zeros(workload.uses.shape, dtype=np.int64)
    for block in workload.blocks:
        np.add.at(times, (block.attributes, block.kinds), 1)
    always = times == len(workload)
    for attribute, size in enumerate(sizes):
        codes = tuple(np.flatnonzero(workload.uses[attribute]).tolist())
        kinds = [workload.kinds[code] for code in codes]
        weights = values.get(attribute)
        key = (size, codes, bool(always[attribute].any()) and not kinds[0].at_least and not whole, id(weights))
        if key not in known:
            found, rest = _head_and_tail(size, kinds, key[2], weights, most)
            known[key] = found, [root_trace(head) for head in found], rest
        found, traces, tail[attribute] = known[key]
        for code, head, trace in zip(codes, found, traces, strict=True):
            if len(head) > 1:
                heads[attribute, code], roots[attribute, code] = head, trace
            else:
                corner[attribute, code] = head[0, 0]
    return _AttributeFactors(heads, roots, corner, tail)


def require_exchangeable_values(workload: Workload) -> None:
    """Raise WorkloadError where a threshold has an attribute whose values other queries tell apart.

    Its Gram matrix is then no product over attributes.
    """
    joint = np.array([kind.at_least > 0 for kind in workload.kinds])
    other = np.array([not kind.is_identity for kind in workload.kinds])
    mixed = np.flatnonzero(workload.uses[:, joint].any(axis=1) & workload.uses[:, other].any(axis=1))
    if len(mixed):
        name = workload.domain.names[mixed[0]]
        raise WorkloadError(f"{name!r} is in thresholds and has other kinds of query than single values")


def _head_and_tail(
    size: int, kinds: list[Kind], always: bool, weights: FloatArray | None, most: int
) -> tuple[list[FloatArray], float]:
    """The head of one attribute in each kind, and its tail."""
    if all(kind.is_identity for kind in kinds):
        n, is_tail = float(size), always and size > 1
        corner = np.full((1, 1), 0.0 if is_tail else 1 / n)
        return [corner] * len(kinds), n**0.5 if is_tail else (n - 1) / n**0.5
    group = _groups(size, kinds, weights)
    root = np.sqrt(np.full(size, 1 / size) if weights is None else weights)
    merged = [_merged(kind, root, group) for kind in kinds]
    contrasts = merged[0][1]  # none where there are several kinds
    if always and size > 1:
        return [np.zeros((1, 1))], root_trace(merged[0][0]) + contrasts
    first = np.sqrt(np.bincount(group, weights=root**2))
    turned = [reflected_form(form, first) for form, _ in merged]
    if len(turned) > 1:
        return _together(turned), 0.0
    head, tail = _arrow(turned[0])
    if len(head[0]) > most:
        head, tail = _shortened(turned[0], most)
    return head, tail + contrasts


def _groups(size: int, kinds: list[Kind], weights: FloatArray | None) -> NDArray[np.int64]:
    """The group of each value, (n,), of values that can be exchanged: each its own where there are several kinds."""
    group = exchangeable_groups(kinds, size) if len(kinds) == 1 else np.arange(size)
    if weights is not None and np.ptp(weights - weights[np.unique(group, return_index=True)[1]][group]) > 0:
        return np.arange(size)
    return group


def _merged(kind: Kind, root: FloatArray, group: NDArray[np.int64]) -> tuple[FloatArray, float]:
    """The Gram matrix times roots (n,) on the sums of groups, of length 1, (g, g); the roots of its other eigenvalues.

    Those, added up, are of contrasts among the values of a group, which all have one eigenvalue.
    """
    width = np.bincount(group)
    if len(width) == len(group):
        return root[:, None] * kind.gram(len(root)) * root, 0.0
    rows = sparse.csr_array(kind.sparse_rows(len(root)) * root)
    of_sums = rows @ sparse.csr_array((1 / np.sqrt(width[group]), group, np.arange(len(group) + 1)))
    form: FloatArray = (of_sums.T @ of_sums).toarray()
    squares = np.asarray(rows.multiply(rows).sum(axis=0))
    inside = (np.bincount(group, weights=squares) - np.diag(form))[width > 1]
    return form, float(np.sqrt(np.maximum(inside, 0.0) * (width[width > 1] - 1)).sum())


def _together(turned: list[NDArray[np.float64]]) -> list[FloatArray]:
    """Several matrices in coordinates in which the first that is no multiple of the identity is an arrow."""
    inner = [matrix[1:, 1:] for matrix in turned]
    uneven = [
        matrix for matrix in inner if np.abs(matrix - np.eye(len(matrix)) * matrix[:1, :1]).max(initial=0) > _SAME
    ]
    vectors = eigen(uneven[0])[1] if uneven else np.eye(len(inner[0]))
    found: list[FloatArray] = []
    for matrix in turned:
        head = matrix.copy()
        head[1:, 1:] = vectors.T @ matrix[1:, 1:] @ vectors
        head[0, 1:] = head[1:, 0] = vectors.T @ matrix[1:, 0]
        found.append(head)
    return found


def _arrow(turned: NDArray[np.float64]) -> tuple[list[FloatArray], float]:
    """The head of a single matrix (n, n), with entries in its first row and column and on its diagonal; its tail."""
    corner = turned[0, 0]
    values, vectors = eigen(turned[1:, 1:])
    values = np.maximum(values, 0.0)
    largest = max(corner, float(values.max(initial=0.0)))
    group = np.cumsum(np.diff(values, prepend=values[:1]) > _SAME * largest)
    count = np.bincount(group)
    value = np.bincount(group, weights=values) / count
    tie = np.sqrt(np.bincount(group, weights=(vectors.T @ turned[1:, 0]) ** 2))
    tied = tie > _NO_TIE * largest
    head = np.diag(np.concatenate([[corner], value[tied]]))
    head[0, 1:] = head[1:, 0] = tie[tied]
    return [head], float(((count - tied) * np.sqrt(value)).sum())


def _shortened(turned: NDArray[np.float64], most: int) -> tuple[list[FloatArray], float]:
    """A head of ``most`` coordinates, and a tail, of which no bound is larger than of the matrix (n, n) itself.

    Its eigenvectors that the first coordinate has a part of are divided into bands, the more in one the lower the
    eigenvalues; each band has one direction, along that part.  Source: eq. (138).
    """
    values, vectors = eigen(turned)
    roots, parts = np.sqrt(np.maximum(values[::-1], 0.0)), vectors[0, ::-1] ** 2
    tied = np.flatnonzero(parts > _NO_TIE**2)
    count = min(most, len(tied))
    ends = np.maximum(np.arange(1, count + 1), np.geomspace(1, len(tied), count).astype(int))
    band = np.repeat(np.arange(count), np.diff(ends, prepend=0))
    weight = np.bincount(band, weights=parts[tied])
    root = np.bincount(band, weights=parts[tied] * roots[tied]) / weight
    head, _ = _arrow(reflected_form(np.diag(root * root), np.sqrt(weight / weight.sum())))
    return head, float(roots.sum() - root.sum())


def block_table(
    workload: Workload,
    weights: FloatArray,
    corner: FloatArray,
    has_tail: NDArray[np.bool_],
    columns: Iterable[NDArray[np.int64]],
    count: int,
) -> sparse.csr_array:
    """The coefficient of each of ``count`` columns in each block, (closure, columns).

    Queries have weights (q,), attributes in a kind the factor ``corner`` (d, kinds) where they are not in B; those that
    may be in B are said by ``has_tail`` (d,).  For each run of queries ``columns`` has the column that each query
    counts for, (m, 1), or each with each B, (m, 2**k).
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


def distinct_rows(
    table: sparse.csr_array, factor: FloatArray, corner: FloatArray
) -> list[tuple[NDArray[np.int64], FloatArray, float, float]]:
    """The rows of ``table`` (b, columns), rows that are multiples of one another and have one ``corner`` (b,) together.

    For each the columns of its entries, its entries with maximum 1, its corner, and the sum of ``factor`` (b,) times
    the roots of the multiples.
    """
    found: dict[tuple[bytes, bytes, float], tuple[NDArray[np.int64], FloatArray, float, float]] = {}
    for row in range(table.shape[0]):
        inside = slice(int(table.indptr[row]), int(table.indptr[row + 1]))
        columns, entries = table.indices[inside], table.data[inside]
        order = np.argsort(columns)
        columns, largest = columns[order], float(entries.max())
        entries = entries[order] / largest
        key = columns.tobytes(), np.round(entries, 12).tobytes(), round(float(corner[row]), 12)
        before = found[key][3] if key in found else 0.0
        more = float(factor[row]) * math.sqrt(largest)
        found[key] = (columns.astype(np.int64), entries, float(corner[row]), before + more)
    return list(found.values())
