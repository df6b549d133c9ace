"""Between which numbers the true counts of a table are known to be."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.fits.nonnegative.facts import Fact, Facts
from residualplanner.ground.checks import FloatArray, frozen
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.joint import answered_jointly
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.release.product import Origin
from residualplanner.release.table import Table


def origin_of(table: Table, facts: Facts) -> Origin:
    """What is known of the true counts of a table: unbiased estimates, and the least and the most that is possible.

    Counts are non-negative; those of a table whose attributes are all in a known one are known; a part of a known count
    is at most that; cells that cannot occur are 0.
    """
    axes = [_entries(kind, table.plan.domain.sizes[at]) for at, kind in zip(table.positions, table.kinds, strict=True)]
    signs, largest = ([axis[part] for axis in axes] for part in (0, 1))
    shape = _shape(table)
    is_sum = _product(signs, shape) > 0
    least, most = np.where(is_sum, 0.0, -np.inf), np.full(shape, np.inf)
    for fact in facts.impossible:
        can_be = _over(table, fact, largest) > 0
        most[is_sum & ~can_be] = 0.0
    for fact in facts.known:
        bound = _over(table, fact, largest)
        if _has_all(table.plan, table.positions, fact):
            least = most = bound
            break
        most = np.where(is_sum, np.minimum(most, bound), most)
    least, most = (frozen(np.array(ends).reshape(table.estimate.shape)) for ends in (least, most))
    return Origin(table.estimate, least, most)


def _over(table: Table, fact: Fact, largest: Sequence[FloatArray]) -> FloatArray:
    """The answers to a table's query of the counts of a fact, in the table's shape.

    Along axes that the fact says nothing about, as if all were at the value that counts most.  Where attributes are
    answered together, a fact that lacks some of the table's says nothing about those: a record need not match them.
    """
    tells_all = _has_all(table.plan, table.positions, fact)
    alone = [position for position, kind in zip(table.positions, table.kinds, strict=True) if not kind.at_least]
    common = [position for position in (table.positions if tells_all else alone) if position in fact.attributes]
    ascending = sorted(common)
    counts = fact.over(common).transpose([ascending.index(position) for position in common])
    axes = [axis for axis, position in enumerate(table.positions) if position in common]
    for number, axis in enumerate(axes):
        if not table.kinds[axis].is_identity:
            counts = table.kinds[axis].apply(counts, number)
    shape = _shape(table)
    counts = counts.reshape([size if axis in axes else 1 for axis, size in enumerate(shape)])
    others = [np.ones(1) if axis in axes else most for axis, most in enumerate(largest)]
    counts = counts * _product(others, (1,) * len(shape)) * np.ones(shape)
    return answered_jointly(counts, table.kinds) if tells_all else counts


def _shape(table: Table) -> tuple[int, ...]:
    """How many answers each attribute of a table has: one where records are only selected."""
    return WrittenQuery(table.positions, table.kinds).shape(table.plan.domain)


def _has_all(plan: Plan, positions: Sequence[int], fact: Fact) -> bool:
    return all(position in fact.attributes or plan.domain.sizes[position] == 1 for position in positions)


def _product(vectors: Sequence[FloatArray], shape: tuple[int, ...]) -> NDArray[np.float64]:
    found = np.ones(shape)
    for axis, vector in enumerate(vectors):
        found = found * vector.reshape(-1, *(1,) * (len(vectors) - axis - 1))
    return found


def _entries(kind: Kind, size: int) -> tuple[FloatArray, FloatArray]:
    """Of each row of a kind whether no entry is negative, as 1 or 0, and its largest entry."""
    if kind.is_identity:
        return np.ones(size), np.ones(size)
    matrix = kind.matrix(size)
    is_sum: FloatArray = np.all(matrix >= 0, axis=1).astype(np.float64)
    largest: FloatArray = np.max(matrix, axis=1)
    return is_sum, largest
